"""MatrixMarket files; not with scipy's reader, which crashes on some damaged files."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.arrays import with_names_and_labels
from saltmine.io.files import ReadError, account_of, check_no_zero_byte, parsing, read_bytes
from saltmine.io.limits import MAX_RATIO_OF_LISTS, TextCost, check_shape
from saltmine.io.table import ColumnArg, PathArg, Table

_Type: TypeAlias = "type[np.float64] | type[np.int64]"
# Memory for a byte and a line of the file, as text and as table of pandas, and for an entry of the matrix.
_COST, _ENTRY_BYTES = TextCost(byte=1.5, line=30, longest=10, ratio=MAX_RATIO_OF_LISTS), 50
_TYPES: dict[str, _Type] = {"real": np.float64, "double": np.float64, "integer": np.int64, "unsigned-integer": np.int64}


@dataclass(frozen=True)
class _Header:
    """The lines above the entries: what they say, and their numbers of lines and bytes."""

    is_sparse: bool
    is_symmetric: bool
    field: str
    shape: tuple[int, int]
    n_entries: int
    n_lines: int
    n_bytes: int

    @property
    def types(self) -> dict[str, _Type]:
        """Return the fields of an entry and the type of each."""
        places: dict[str, _Type] = {"row": np.int64, "column": np.int64} if self.is_sparse else {}
        return places if self.field == "pattern" else places | {"value": _TYPES[self.field]}


def read_mtx(
    path: Path,
    *,
    labels: PathArg = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
    items: PathArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read a MatrixMarket file: a sparse matrix if it has coordinates, else a dense one.

    Parameters
    ----------
    path : Path
        May be compressed.
    labels : path, optional
        File with the classes of the rows.
    target, group : str or int, optional
        Columns of the label file.
    items : path, optional
        File with the names of the items, one per line.
    drop_unlabelled : bool
        Leave out rows without a class.
    """
    account = account_of(path, _COST)
    data = read_bytes(path, account)
    check_no_zero_byte(data)
    header = _header(data)
    # As many entries as there are lines: that the file has fewer than it says is found when they are counted.
    n_entries = min(header.n_entries, account.n_bytes) if header.is_sparse else header.shape[0] * header.shape[1]
    check_shape(*header.shape, account.needed + _ENTRY_BYTES * n_entries, account.size)
    entries = _entries(data, header)
    if len(entries) != header.n_entries:
        stated = f"{header.n_entries} as in line {header.n_lines}"
        found = f"more than {header.n_entries}" if len(entries) > header.n_entries else str(len(entries))
        raise ReadError(f"there are {found} entries, not {stated}; get the file again.")
    with parsing("MatrixMarket file"):
        X = _sparse(entries, header) if header.is_sparse else _dense(entries["value"].to_numpy(), header)
    return with_names_and_labels(Table(X), items, labels, target, group, drop_unlabelled)


def _header(data: bytes) -> _Header:
    stream = io.BytesIO(data)
    kind = stream.readline().decode("latin-1").lower().split()
    if len(kind) != 5 or kind[:2] != ["%%matrixmarket", "matrix"]:
        first_line = "'%%MatrixMarket matrix', form, field, symmetry"
        raise ReadError(f"this is not a MatrixMarket file: its first line should be {first_line}.")
    form, field, symmetry = kind[2:]
    fields = {"coordinate": (*_TYPES, "pattern"), "array": tuple(_TYPES)}
    if field not in fields.get(form, ()) or symmetry not in ("general", "symmetric"):
        problem = f"a '{form} {field} {symmetry}' matrix cannot be read; write a 'coordinate real general' one."
        raise ReadError(problem, 1)
    n_lines, sizes = 2, stream.readline()
    while sizes.startswith(b"%") or sizes.isspace():
        n_lines, sizes = n_lines + 1, stream.readline()
    numbers = [int(size) for size in sizes.split() if size.isdigit() and len(size) <= 18]
    if len(numbers) != len(sizes.split()) or len(numbers) != (3 if form == "coordinate" else 2):
        problem = "the numbers of rows, columns and, if sparse, entries should be here; get or write the file again."
        raise ReadError(problem, n_lines)
    n_rows, n_columns = numbers[:2]
    if symmetry == "symmetric" and n_rows != n_columns:
        raise ReadError(f"a matrix of {n_rows} rows and {n_columns} columns cannot be symmetric.")
    n_half = n_rows * (n_rows + 1) // 2
    n_entries = numbers[2] if form == "coordinate" else n_half if symmetry == "symmetric" else n_rows * n_columns
    shape = (n_rows, n_columns)
    return _Header(form == "coordinate", symmetry == "symmetric", field, shape, n_entries, n_lines, stream.tell())


def _entries(data: bytes, header: _Header) -> pd.DataFrame:
    """Return the lines below the header."""
    body = io.BytesIO(data)
    body.seek(header.n_bytes)
    types = header.types
    form: dict[str, Any] = {"sep": r"\s+", "index_col": False, "na_filter": False, "comment": "%"}
    try:
        # pandas refuses what is not a whole number after a cast that numpy warns of.
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            # The warning of a first line with too many fields.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # One more than there should be: the rest need not be read to see that there are more.
            n_rows = min(header.n_entries, len(data)) + 1
            entries: pd.DataFrame = pd.read_csv(body, names=list(types), dtype=types, nrows=n_rows, **form)
    except pd.errors.EmptyDataError:
        return pd.DataFrame({name: np.empty(0, dtype=kind) for name, kind in types.items()})
    except (ValueError, OverflowError, pd.errors.ParserWarning):
        raise _explained(data, header) from None
    for name, size in zip(("row", "column"), header.shape, strict=True):
        if header.is_sparse and not entries[name].between(1, size).all():
            raise _explained(data, header)
    return entries


def _explained(data: bytes, header: _Header) -> ReadError:
    """Return the error for the first invalid line."""
    stream = io.BytesIO(data)
    stream.seek(header.n_bytes)
    # Not all lines at once, because there may be very many.
    body = io.TextIOWrapper(stream, encoding="latin-1")
    for number, line in enumerate(body, start=header.n_lines + 1):
        fields = line.partition("%")[0].split()
        problem = _problem(fields, header) if fields else None
        if problem is not None:
            return ReadError(f"{problem}; fix the line.", number)
    return ReadError("this MatrixMarket file cannot be read; get or write it again.")


def _problem(fields: list[str], header: _Header) -> str | None:
    if len(fields) != len(header.types):
        return f"{len(fields)} fields where there should be {len(header.types)}"
    for text, kind in zip(fields, header.types.values(), strict=True):
        try:
            is_finite = np.isfinite(kind(text))
        except (ValueError, OverflowError):
            is_finite = False
        if not is_finite:
            return f"{text[:40]!r} is not a {'whole' if kind is np.int64 else 'finite'} number"
    n_rows, n_columns = header.shape
    if header.is_sparse and not (1 <= int(fields[0]) <= n_rows and 1 <= int(fields[1]) <= n_columns):
        return f"row {fields[0]} and column {fields[1]} are outside of {n_rows} rows and {n_columns} columns"
    return None


def _sparse(entries: pd.DataFrame, header: _Header) -> sp.csr_array:
    rows, columns = entries["row"].to_numpy() - 1, entries["column"].to_numpy() - 1
    is_pattern = header.field == "pattern"
    values = np.ones(len(entries), dtype=bool) if is_pattern else entries["value"].to_numpy()
    if header.is_symmetric:
        mirrored = rows != columns
        rows, columns = np.append(rows, columns[mirrored]), np.append(columns, rows[mirrored])
        values = np.append(values, values[mirrored])
    matrix = sp.csr_array((values, (rows, columns)), shape=header.shape)
    matrix.sum_duplicates()  # scipy 1.13 keeps them
    return matrix.astype(np.int8) if is_pattern else matrix


def _dense(values: NDArray[Any], header: _Header) -> NDArray[Any]:
    if not header.is_symmetric:
        return values.reshape(header.shape, order="F")
    # Stored by columns from the diagonal down, which is the transpose of rows from the diagonal on.
    matrix = np.zeros(header.shape, dtype=values.dtype)
    half = np.triu_indices(header.shape[0])
    matrix[half] = values
    matrix.T[half] = values
    return matrix
