"""Tables in text files: csv, tsv and their kin."""

from __future__ import annotations

import io
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltmine.io.columns import Columns
from saltmine.io.files import (
    decode,
    demand_no_zero_byte,
    is_compressed,
    is_utf8,
    likely_separator,
    opened,
    read_bytes,
    records,
    suffix_of,
)
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

if TYPE_CHECKING:
    import pandas as pd

# Separators that a header is looked through for, by suffix; Excel writes semicolons where commas are decimal marks.
_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".txt": "\t,;"}
_OTHER_SEPARATORS = ",;\t"
# Bytes to look at first, and at a time.
_BEGINNING = 1 << 22
# What a column without a name, which may hold the names of the rows, is called while it is read.
_UNNAMED = ""


def read_csv(
    path: Path,
    *,
    target: str | int | None = None,
    row_names: str | None = None,
    group: str | int | None = None,
    labels: str | PathLike[str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table with a header, one row per line.

    Empty fields, NA, NaN and the other marks that pandas knows are missing values. A first column without a name, as
    pandas and R write it, holds the names of the rows.

    Parameters
    ----------
    path : Path
        May be compressed.
    target : str, optional
        Column with the classes, or, with ``labels``, column of the label file.
    row_names : str, optional
        Column with the names of the rows.
    group : str, optional
        Column that says which rows belong together.
    labels : path, optional
        File with the classes of the rows.
    separator : str, optional
        One character; by default comma, semicolon or tab, whichever the header has, and in .tsv files always tab.
    encoding : str, default "utf-8"
    """
    columns = read_columns(path, separator, encoding, as_text=[str(name) for name in (row_names, group) if name])
    return columns.split(target=target, row_names=row_names, group=group, labels=labels)


def read_columns(
    path: Path, separator: str | None = None, encoding: str | None = None, as_text: Iterable[str] = ()
) -> Columns:
    """Read all columns of a table, those of ``as_text`` as they are written, the others as pandas understands them."""
    file = _File.read(path, separator, encoding or "utf-8")
    frame = file.parse(as_text)
    names = None
    if file.columns[0] == _UNNAMED:
        unnamed = frame.pop(_UNNAMED)
        if unnamed.hasnans or not unnamed.is_unique:
            raise ReadError(
                f"{path}: the first column has no name and does not name the rows, as values of it repeat or are "
                "missing; give it a name or remove it."
            )
        names = as_names(unnamed)
    return Columns(path, frame, file.place, names)


@dataclass(frozen=True)
class _File:
    """A delimited file: what stands between fields, what its columns are called, and its contents in UTF-8.

    The contents are None where they are plain ASCII on disk: pandas reads them there, and nobody else needs them unless
    something is wrong.
    """

    path: Path
    contents: bytes | None
    is_as_on_disk: bool
    has_blanks: bool
    separator: str
    columns: list[str]

    @property
    def data(self) -> bytes:
        return read_bytes(self.path) if self.contents is None else self.contents

    @classmethod
    def read(cls, path: Path, separator: str | None, encoding: str) -> _File:
        glance = _Glance.at(path) if is_utf8(encoding) and path.is_file() and not is_compressed(path) else None
        if glance is not None:
            separator = _separator(path, glance.beginning, separator)
            columns = _column_names(path, glance.beginning, separator)
            return cls(path, None, True, glance.has_blanks, separator, columns)
        data = read_bytes(path)
        is_as_on_disk = is_utf8(encoding) and path.is_file() and not is_compressed(path)
        # ASCII is UTF-8, and to see whether it is that is far cheaper than to decode it.
        if not (is_utf8(encoding) and data.isascii()):
            data = decode(data, path, encoding).encode()
        demand_no_zero_byte(data, path)
        separator = _separator(path, data, separator)
        return cls(path, data, is_as_on_disk, b" " in data, separator, _column_names(path, data, separator))

    def parse(self, as_text: Iterable[str]) -> pd.DataFrame:
        options: dict[str, Any] = {
            "sep": self.separator,
            "header": 0,
            "names": self.columns,
            "index_col": False,
            "dtype": {name: str for name in (_UNNAMED, *as_text) if name in self.columns},
            "skipinitialspace": self._has_blanks_before_fields(),
            "compression": None,
            "decimal": _decimal_mark(self.data) if self.separator == ";" else ".",
        }
        try:
            frame = self._frame(options)
        except (ValueError, OverflowError) as error:
            raise self._explained(error) from None
        # Too many fields are an error to pandas, but where there are too few it takes the last columns for missing.
        if frame.iloc[:, -1].hasnans and (ragged := self._ragged_line()):
            raise ragged
        return frame

    def _frame(self, options: dict[str, Any]) -> pd.DataFrame:
        import pandas as pd

        # pandas reads large files on several threads, but only if it may open them itself.
        source = self.path if self.is_as_on_disk else io.BytesIO(self.data)
        frame: pd.DataFrame
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.DtypeWarning)
                frame = pd.read_csv(source, **options)
        except pd.errors.DtypeWarning:
            # It read the file in parts, and some column was numbers in one of them and text in another.
            frame = pd.read_csv(io.BytesIO(self.data), low_memory=False, **options)
        return frame

    def _has_blanks_before_fields(self) -> bool:
        # Where there are none pandas need not look for them, which makes it a third faster.
        if not self.has_blanks:
            return False
        data = self.data
        return any(edge + b" " in data for edge in (self.separator.encode(), b"\n"))

    def place(self, row: int) -> str:
        """Say in which line a row begins; rows are counted from 0, without the header."""
        number, _ = next(islice(self._records(), row + 1, None), (f"of row {row + 1}", []))
        return f"{self.path}, line {number}"

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        return _records(self.path, self.data, self.separator)

    def _ragged_line(self) -> ReadError | None:
        """Look for a line with more or fewer fields than there are columns."""
        width = len(self.columns)
        separator = self.separator.encode()
        data = self.data
        if b'"' not in data:
            # To count separators is much faster than to split, and enough in most cases.
            blanks = b" \t".replace(separator, b"")
            lines = data.splitlines()[1:]
            if all(line.count(separator) == width - 1 or not line.strip(blanks) for line in lines):
                return None
        for number, fields in islice(self._records(), 1, None):
            if len(fields) != width:
                return _ragged(self.path, number, len(fields), width)
        return None

    def _explained(self, error: Exception) -> ReadError:
        """Say what pandas stumbled over, and where."""
        if "EOF inside string" in str(error):
            number, _ = deque(self._records(), maxlen=1).pop()
            return ReadError(f"{self.path}, line {number}: a quote is opened in this row and never closed; close it.")
        said = " ".join(str(error).split()).rstrip(".")
        return self._ragged_line() or ReadError(
            f"{self.path} is no table that pandas can read ({said}); check the separator and the quotes."
        )


@dataclass(frozen=True)
class _Glance:
    """What can be seen of a file of plain text in passing, without keeping it: far cheaper than to read it."""

    beginning: bytes
    has_blanks: bool

    @classmethod
    def at(cls, path: Path) -> _Glance | None:
        """Look through a file; None if there is more to it than ASCII, or its beginning does not tell its header."""
        has_blanks = False
        with opened(path) as stream:
            beginning = stream.read(_BEGINNING)
            part = beginning
            while part:
                if not part.isascii() or b"\0" in part:
                    return None
                has_blanks = has_blanks or b" " in part
                part = stream.read(_BEGINNING)
        # The header and a row have to be whole; quotes may hold line ends.
        whole = beginning[: beginning.rfind(b"\n") + 1]
        if b'"' in whole or len([line for line in whole.split(b"\n", 20) if line.strip()]) < 3:
            return None
        return cls(whole, has_blanks)


def _records(path: Path, data: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a table, header included, with their numbers; lines with nothing in them are left out."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    for number, fields in records(lines, path, separator):
        if len(fields) > 1 or any(field.strip() for field in fields):
            yield number, fields


def _separator(path: Path, data: bytes, given: str | None) -> str:
    if given is None:
        header = next((line for line in io.BytesIO(data) if line.strip()), b"")
        return likely_separator(header.decode(), _SEPARATORS.get(suffix_of(path), _OTHER_SEPARATORS))
    separator = "\t" if given == "\\t" else given
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise ReadError(f"The separator {given!r} is not one character; give one, as ',' ';' '|' or '\\t'.")
    return separator


def _column_names(path: Path, data: bytes, separator: str) -> list[str]:
    """Read and check the header, and that the first row has as many fields."""
    lines = _records(path, data, separator)
    header = next(lines, None)
    if header is None:
        raise ReadError(f"{path} is empty; it should have a header and rows.")
    columns = [name.strip() for name in header[1]]
    _demand_header(path, header[0], columns)
    first = next(lines, None)
    if first is None:
        raise ReadError(f"{path} has a header, but no rows below it; there is no data in it.")
    number, fields = first
    if len(fields) == len(columns) + 1 and fields[-1]:
        # As R writes a table with row names: they have no field in the header.
        columns = [_UNNAMED, *columns]
    if len(fields) != len(columns):
        raise _ragged(path, number, len(fields), len(columns))
    for position, name in enumerate(columns[1:], start=2):
        if not name:
            raise ReadError(f"{path}: column {position} has no name; give it one in the first line, or remove it.")
    demand_distinct(as_names(columns), "columns", str(path))
    return columns


def _demand_header(path: Path, number: int, columns: list[str]) -> None:
    """Refuse a first line that is data: numbers that repeat, or numbers only, unless they count the columns."""
    numbers = [name for name in columns if _is_number(name)]
    counts = [str(k) for k in range(len(columns) + 1)]
    is_counted = len(columns) > 2 and columns in (counts[:-1], counts[1:])
    if len(set(numbers)) < len(numbers) or (len(numbers) == len(columns) and not is_counted):
        shown = ", ".join(columns[:5]) + (", ..." if len(columns) > 5 else "")
        raise ReadError(
            f"{path}, line {number}: {shown} looks like data, but the file needs a header; put a line with the names "
            "of the columns on top."
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _decimal_mark(data: bytes) -> str:
    """Return the decimal mark of a file with semicolons: comma if there are numbers with one and none with a point."""
    number = rb"(?:^|;)\s*[-+]?\d+%s\d+(?=[;\r\n]|\Z)"
    with_comma = re.search(number % b",", data, re.MULTILINE)
    with_point = re.search(number % rb"\.", data, re.MULTILINE)
    return "," if with_comma and not with_point else "."


def _ragged(path: Path, number: int, n_fields: int, width: int) -> ReadError:
    return ReadError(
        f"{path}, line {number}: {n_fields} fields where there are {width} columns; mend the line, or name the "
        "separator if it is another one."
    )
