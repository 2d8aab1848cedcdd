"""Tables: csv, tsv and other delimited text."""

from __future__ import annotations

import io
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from saltmine.io import files
from saltmine.io.files import ReadError, read_bytes
from saltmine.io.labels import table_of_frame
from saltmine.io.limits import FREE, Account, TextCost, check_memory, is_limit_given
from saltmine.io.table import ColumnArg, PathArg, Table
from saltmine.io.wide import WIDE, ragged_line, wide_frame
from saltmine.names import as_text, check_distinct

# Candidates for the separator, by suffix; Excel writes semicolons where commas are decimal marks.
_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".txt": "\t,;"}
_OTHER_SEPARATORS = ",;\t"
_CHUNK_BYTES = 1 << 22
# Memory for a byte of the file itself, and for a line, which has a label and perhaps a name. The first lines tell what
# the columns take.
_COST = TextCost(byte=2, line=100, longest=10)
# Memory that pandas takes for a column besides its values, and for a byte of text: at most, if the values are
# short, and usually.
_COLUMN_BYTES, _MOST_PER_BYTE, _USUAL_PER_BYTE = 1100, 12, 6
# With more columns that are not all numbers, pandas takes minutes.
_MAX_COLUMNS = 100_000
# What stands for a missing value: some have a blank after them, which pandas does not know.
_MISSING = ["?", *(f"{marker} " for marker in ("?", "NA", "N/A", "n/a", "NaN"))]
_MISSING_IN_PANDAS = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"]
_MISSING_IN_PANDAS += ["N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
# pandas takes a little more than the columns while it joins their parts.
_MEASURED = 1.2
# The name, while the file is read, of a first column without a name, which may hold the names of the rows.
_UNNAMED = ""


def read_csv(
    path: Path,
    *,
    target: ColumnArg = None,
    row_names: str | None = None,
    group: ColumnArg = None,
    labels: PathArg = None,
    drop_unlabelled: bool = False,
    separator: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table with a header, one row per line.

    Empty fields, ``?``, NA, n/a, NaN and the other markers of pandas are missing values. A first column without a name,
    as written by pandas and R, holds the names of the rows.

    Parameters
    ----------
    path : Path
        May be compressed.
    target : str, optional
        Column with the classes; with ``labels``, column of the label file.
    row_names : str, optional
        Column with the names of the rows.
    group : str, optional
        Column that tells which rows belong together.
    labels : path, optional
        File with the classes of the rows.
    drop_unlabelled : bool
        Leave out rows without a class.
    separator : str, optional
        One character. By default comma, semicolon or tab, whichever the header has; in .tsv files always tab.
    encoding : str, default "utf-8"
    """
    file = _File(path, separator, encoding or "utf-8")
    frame = file.parse(text_columns=[str(name) for name in (row_names, group) if name])
    names = None
    if file.columns[0] == _UNNAMED:
        unnamed = frame.pop(_UNNAMED)
        if unnamed.hasnans or not unnamed.is_unique:
            problem = "the first column has no name, and its values repeat or are missing"
            raise ReadError(f"{problem}; give it a name or remove it.")
        names = as_text(unnamed)
    columns: dict[str, Any] = {"target": target, "row_names": row_names, "group": group}
    return table_of_frame(frame, file.place, names, **columns, labels=labels, drop_unlabelled=drop_unlabelled)


class _File:
    """A delimited file: its separator, the names of its columns, and its contents in UTF-8.

    The contents are None if the file is plain ASCII: pandas reads it from disk, and the contents are needed only for
    error messages.
    """

    def __init__(self, path: Path, separator: str | None, encoding: str) -> None:
        """Check the text and the header of a file."""
        self.path = path
        self.is_utf8_on_disk = files.is_utf8(encoding) and path.is_file() and not files.is_compressed(path)
        self.contents: bytes | None = None
        self.account = files.account_of(path, _COST)
        scanned = _scan_ascii(path, self.account) if self.is_utf8_on_disk else None
        if scanned is not None:
            data, self.has_blanks = scanned
        else:
            self.account = files.account_of(path, _COST)
            data = read_bytes(path, self.account)
            # ASCII is UTF-8, and checking for ASCII is much cheaper than decoding.
            if not (files.is_utf8(encoding) and data.isascii()):
                data = files.decode(data, encoding).encode()
            files.check_no_zero_byte(data)
            self.contents, self.has_blanks = data, b" " in data
        header = next((line for line in io.BytesIO(data) if line.strip()), b"").decode()
        candidates = _SEPARATORS.get(files.suffix_of(path), _OTHER_SEPARATORS)
        self.separator = files.choose_separator(separator, header, candidates)
        if not self.separator.isascii():
            raise ReadError(f"the separator {self.separator!r} is not one character in ASCII; use another one.")
        self.columns = _column_names(data, self.separator)
        self._check_memory(data[:_CHUNK_BYTES])

    @property
    def data(self) -> bytes:
        return read_bytes(self.path, files.account_of(self.path, _COST)) if self.contents is None else self.contents

    def _check_memory(self, beginning: bytes) -> None:
        """Refuse a table that needs too much memory, judging by its first rows."""
        n_bytes = self.account.n_bytes
        others = self.account.needed + _COLUMN_BYTES * len(self.columns)
        if _MOST_PER_BYTE * n_bytes + others > FREE:
            sample = beginning[: beginning.rfind(b"\n") + 1]
            others += _MEASURED * n_bytes * self._bytes_per_byte(sample)
        check_memory(others, f"a table of {len(self.columns):,} columns", self.account.size)

    def _bytes_per_byte(self, sample: bytes) -> float:
        """Return the memory of a part of the table for a byte of its text."""
        if len(self.columns) > WIDE or not sample:
            return _USUAL_PER_BYTE
        try:
            frame = pd.read_csv(io.BytesIO(sample), sep=self.separator, header=0, names=self.columns, index_col=False)
        except (ValueError, OverflowError):
            return 0  # what is wrong with it is found when the whole file is read
        return float(frame.memory_usage(index=False, deep=True).sum()) / len(sample) if len(frame) else _MOST_PER_BYTE

    def parse(self, text_columns: Iterable[str]) -> pd.DataFrame:
        """Return all columns, the ``text_columns`` as they are written."""
        options: dict[str, Any] = {
            "sep": self.separator,
            "header": 0,
            "names": self.columns,
            "index_col": False,
            "dtype": {name: str for name in (_UNNAMED, *text_columns) if name in self.columns},
            "skipinitialspace": self._has_blanks_before_fields(),
            "compression": None,
            "na_values": _MISSING,
            "decimal": _decimal_mark(self.data) if self.separator == ";" else ".",
        }
        if len(self.columns) > WIDE and (wide := self._wide_frame(options["dtype"])) is not None:
            return wide  # type: ignore[no-any-return]
        try:
            frame: pd.DataFrame = self._frame(options)
        except (ValueError, OverflowError) as error:
            raise self._explained(error) from None
        # pandas refuses lines with too many fields, but fills lines with too few with missing values.
        if frame.iloc[:, -1].hasnans and (ragged := self._ragged_line()):
            raise ragged
        return frame

    def _wide_frame(self, types: dict[str, type]) -> Any:
        """Return a table of very many columns of numbers; None if it has others."""
        is_plain = not self.has_blanks and self.separator != ";" and b'"' not in self.data
        known = [*_MISSING, *_MISSING_IN_PANDAS]
        options: dict[str, Any] = {"na_values": _MISSING, "dtype": types}
        frame = wide_frame(self.data, self.separator, self.columns, known, **options) if is_plain else None
        if frame is None and len(self.columns) > _MAX_COLUMNS and not is_limit_given():
            problem = (
                f"there are {len(self.columns):,} columns that are not all numbers, for which pandas takes very long"
            )
            remedy = "write numbers as a matrix (.npz or .mtx)"
            raise ReadError(f"{problem}; {remedy}, or allow it with a limit of memory (max_memory, --max-memory).")
        return frame

    def _frame(self, options: dict[str, Any]) -> Any:
        # pandas reads large files on several threads, but only if it opens them itself.
        source = self.path if self.is_utf8_on_disk else io.BytesIO(self.data)
        try:
            with warnings.catch_warnings(action="error", category=pd.errors.DtypeWarning):
                return pd.read_csv(source, **options)
        except pd.errors.DtypeWarning:
            # pandas read the file in parts, and a column was numbers in one part and text in another.
            return pd.read_csv(io.BytesIO(self.data), low_memory=False, **options)

    def _has_blanks_before_fields(self) -> bool:
        # Without such blanks pandas need not look for them, which makes it a third faster.
        data = self.data if self.has_blanks else b""
        return any(edge + b" " in data for edge in (self.separator.encode(), b"\n"))

    def place(self, row: int) -> str:
        """Return the line where a row begins; rows are counted from 0, without the header."""
        found = islice(_nonblank_records(self.data, self.separator), row + 1, None)
        number, _ = next(found, (f"of row {row + 1}", []))
        return f"line {number}"

    def _ragged_line(self) -> ReadError | None:
        """Return the error for the first line with more or fewer fields than there are columns."""
        width, data = len(self.columns), self.data
        if b'"' not in data:
            # Counting separators is much faster than splitting, and sufficient in most cases.
            blanks = " \t\n".replace(self.separator, "")
            # As text, because bytes are split at \n alone; not all lines at once, because there may be very many.
            lines = islice(io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"), 1, None)
            if all(line.count(self.separator) == width - 1 or not line.strip(blanks) for line in lines):
                return None
        body = islice(_nonblank_records(data, self.separator), 1, None)
        return next((ragged_line(number, len(fields), width) for number, fields in body if len(fields) != width), None)

    def _explained(self, error: Exception) -> ReadError:
        """Return the error of pandas in other words, with its place."""
        if "EOF inside string" in str(error):
            number, _ = deque(_nonblank_records(self.data, self.separator), maxlen=1).pop()
            return ReadError("a quote is opened in this row and never closed; close it.", number)
        problem = f"pandas cannot read this table ({files.summary(error)}); check the separator and the quotes."
        return self._ragged_line() or ReadError(problem)


def _scan_ascii(path: Path, account: Account) -> tuple[bytes, bool] | None:
    """Return the first lines of a file and whether it has blanks; None if it is not ASCII or the header is unclear.

    The file is not kept in memory, which is much cheaper than reading it.
    """
    has_blanks = False
    with files.opened(path, account) as stream:
        beginning = chunk = stream.read(_CHUNK_BYTES)
        while chunk:
            if not chunk.isascii() or b"\0" in chunk:
                return None
            has_blanks = has_blanks or b" " in chunk
            chunk = stream.read(_CHUNK_BYTES)
    # The header and a row have to be complete; quotes may hold line ends.
    complete = beginning[: beginning.rfind(b"\n") + 1]
    if b'"' in complete or len([line for line in complete.split(b"\n", 20) if line.strip()]) < 3:
        return None
    return complete, has_blanks


def _nonblank_records(data: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of all lines that are not blank, header included, with their line numbers."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    for number, fields in files.records(lines, separator):
        if len(fields) > 1 or any(field.strip() for field in fields):
            yield number, fields


def _column_names(data: bytes, separator: str) -> list[str]:
    """Return the names in the header, after checking them and the number of fields in the first row."""
    lines = _nonblank_records(data, separator)
    number, header = next(lines, (0, []))
    if not header:
        raise ReadError("the file is empty; it should have a header and rows.")
    columns = [name.strip() for name in header]
    _check_header(number, columns)
    number, fields = next(lines, (0, []))
    if not fields:
        raise ReadError("there is a header, but no rows below it; there is no data in the file.")
    if len(fields) == len(columns) + 1 and fields[-1]:
        # R writes tables with row names like this: they have no field in the header.
        columns = [_UNNAMED, *columns]
    if len(fields) != len(columns):
        raise ragged_line(number, len(fields), len(columns))
    if "" in columns[1:]:
        position = columns.index("", 1) + 1
        raise ReadError(f"column {position} has no name; give it one in the first line, or remove it.")
    check_distinct(columns, "columns", ReadError)
    return columns


def _check_header(number: int, columns: list[str]) -> None:
    """Refuse a first line that is data: repeated numbers, or numbers only, unless they count the columns."""
    numbers = [name for name in columns if _is_number(name)]
    counts = [str(k) for k in range(len(columns) + 1)]
    is_counted = len(columns) > 2 and columns in (counts[:-1], counts[1:])
    if len(set(numbers)) < len(numbers) or (len(numbers) == len(columns) and not is_counted):
        listed = ", ".join(columns[:5]) + (", ..." if len(columns) > 5 else "")
        problem = f"{listed} looks like data, but the file needs a header; add a line with the column names."
        raise ReadError(problem, number)


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
