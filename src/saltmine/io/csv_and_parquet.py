"""Tables: csv, tsv and other delimited text, and Parquet."""

from __future__ import annotations

import io
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.extras import needing
from saltmine.io import files
from saltmine.io.files import ReadError, parsing, read_bytes
from saltmine.io.labels import table_of_frame
from saltmine.io.table import ColumnArg, PathArg, Table
from saltmine.names import as_text, check_distinct

# Candidates for the separator, by suffix; Excel writes semicolons where commas are decimal marks.
_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".txt": "\t,;"}
_OTHER_SEPARATORS = ",;\t"
_CHUNK_BYTES = 1 << 22
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
        scanned = _scan_ascii(path) if self.is_utf8_on_disk else None
        if scanned is not None:
            data, self.has_blanks = scanned
        else:
            data = read_bytes(path)
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

    @property
    def data(self) -> bytes:
        return read_bytes(self.path) if self.contents is None else self.contents

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
            # Beside the markers of pandas, such as NA, n/a and empty fields, which it knows without a blank after them.
            "na_values": ["?", *(f"{marker} " for marker in ("?", "NA", "N/A", "n/a", "NaN"))],
            "decimal": _decimal_mark(self.data) if self.separator == ";" else ".",
        }
        try:
            frame: pd.DataFrame = self._frame(options)
        except (ValueError, OverflowError) as error:
            raise self._explained(error) from None
        # pandas refuses lines with too many fields, but fills lines with too few with missing values.
        if frame.iloc[:, -1].hasnans and (ragged := self._ragged_line()):
            raise ragged
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
        width, separator, data = len(self.columns), self.separator.encode(), self.data
        if b'"' not in data:
            # Counting separators is much faster than splitting, and sufficient in most cases.
            blanks = b" \t".replace(separator, b"")
            lines = data.splitlines()[1:]
            if all(line.count(separator) == width - 1 or not line.strip(blanks) for line in lines):
                return None
        body = islice(_nonblank_records(data, self.separator), 1, None)
        return next((_ragged(number, len(fields), width) for number, fields in body if len(fields) != width), None)

    def _explained(self, error: Exception) -> ReadError:
        """Return the error of pandas in other words, with its place."""
        if "EOF inside string" in str(error):
            number, _ = deque(_nonblank_records(self.data, self.separator), maxlen=1).pop()
            return ReadError("a quote is opened in this row and never closed; close it.", number)
        problem = f"pandas cannot read this table ({files.summary(error)}); check the separator and the quotes."
        return self._ragged_line() or ReadError(problem)


def _scan_ascii(path: Path) -> tuple[bytes, bool] | None:
    """Return the first lines of a file and whether it has blanks; None if it is not ASCII or the header is unclear.

    The file is not kept in memory, which is much cheaper than reading it.
    """
    has_blanks = False
    with files.opened(path) as stream:
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
        raise _ragged(number, len(fields), len(columns))
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


def _ragged(number: int, n_fields: int, width: int) -> ReadError:
    problem = f"{n_fields} fields where there are {width} columns; fix the line, or name the separator."
    return ReadError(problem, number)


def read_parquet(
    path: Path,
    *,
    target: ColumnArg = None,
    row_names: str | None = None,
    group: ColumnArg = None,
    labels: PathArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read a Parquet table.

    A stored index of pandas names the rows if it is distinct and not just a count; it is not data.

    Parameters
    ----------
    path : Path
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
    """
    frame, index = _frame(path)
    if len(frame) == 0:
        raise ReadError("there are no rows, so there is no data in the file.")
    used = [str(name) for name in (target, row_names, group)]
    names = _take_index(frame, [name for name in index if name not in used])
    columns: dict[str, Any] = {"target": target, "row_names": row_names, "group": group}
    return table_of_frame(
        frame, lambda row: f"row {row + 1}", names, **columns, labels=labels, drop_unlabelled=drop_unlabelled
    )


def _frame(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return all columns, and the names of those that are an index of pandas."""
    with needing("parquet", "Reading a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    data = read_bytes(path)
    with parsing("Parquet file"):
        file = pq.ParquetFile(pa.BufferReader(data))
        check_distinct(file.schema_arrow.names, "columns", ReadError)
        stored = file.read()
        for position, field in enumerate(stored.schema):
            if not _is_plain(pa.types, field.type):
                problem = f"the column {field.name!r} holds {field.type}, not numbers or text"
                raise ReadError(f"{problem}; split it or leave it out.")
            if pa.types.is_decimal(field.type):
                stored = stored.set_column(position, field.name, stored.column(position).cast(pa.float64()))
        metadata = stored.schema.pandas_metadata or {}
        # An index that only counts may be stored as begin and end, not as the name of a column.
        index = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        # The metadata of pandas would turn some names into numbers and hide other columns in the index.
        return stored.to_pandas(ignore_metadata=True), index


def _is_plain(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return not (types.is_nested(kind) or is_binary)


def _take_index(frame: pd.DataFrame, index: list[str]) -> NDArray[Any] | None:
    """Remove the index from the frame, and return it as names of the rows if it is distinct and not just a count."""
    parts = [frame.pop(name) for name in index]
    if not parts or (len(parts) == 1 and np.array_equal(parts[0], np.arange(len(frame)))):
        return None
    names = as_text(" ".join(map(str, row)) for row in zip(*parts, strict=True))
    return names if len(set(names)) == len(names) else None
