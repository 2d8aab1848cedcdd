"""MatrixMarket text becomes a matrix; scipy's own reader crashes on some files that are damaged."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import demand_no_zero_byte, lines_of, parsing
from saltmine.io.table import ReadError

if TYPE_CHECKING:
    import pandas as pd

_Type: TypeAlias = "type[np.float64] | type[np.int64]"
_TYPES: dict[str, _Type] = {"real": np.float64, "double": np.float64, "integer": np.int64, "unsigned-integer": np.int64}


@dataclass(frozen=True)
class _Header:
    """What the lines above the entries say, and how many lines and bytes they are."""

    is_sparse: bool
    is_symmetric: bool
    field: str
    shape: tuple[int, int]
    n_entries: int
    n_lines: int
    n_bytes: int

    @property
    def types(self) -> dict[str, _Type]:
        """Return what stands in a line of entries, and the type of each."""
        places: dict[str, _Type] = {"row": np.int64, "column": np.int64} if self.is_sparse else {}
        return places if self.field == "pattern" else places | {"value": _TYPES[self.field]}


def parse_matrixmarket(data: bytes, path: Path) -> NDArray[Any] | sp.csr_array:
    """Return the matrix that a file holds: sparse if it has coordinates, else dense."""
    demand_no_zero_byte(data, path)
    header = _header(data, path)
    entries = _entries(data, header, path)
    if len(entries) != header.n_entries:
        raise ReadError(
            f"{path} has {len(entries)} entries, but by its line {header.n_lines} there should be {header.n_entries}; "
            "get or write the file again."
        )
    with parsing(path, "MatrixMarket file that fits in memory"):
        return _sparse(entries, header) if header.is_sparse else _dense(entries["value"].to_numpy(), header)


def _header(data: bytes, path: Path) -> _Header:
    stream = io.BytesIO(data)
    kind = stream.readline().decode("latin-1").lower().split()
    if len(kind) != 5 or kind[:2] != ["%%matrixmarket", "matrix"]:
        raise ReadError(
            f"{path} is no MatrixMarket file: the first line should be '%%MatrixMarket matrix' with form, field and "
            "symmetry; check the format."
        )
    form, field, symmetry = kind[2:]
    fields = {"coordinate": (*_TYPES, "pattern"), "array": tuple(_TYPES)}
    if field not in fields.get(form, ()) or symmetry not in ("general", "symmetric"):
        raise ReadError(
            f"{path}, line 1: matrices of the kind '{form} {field} {symmetry}' are not read; write one of the kind "
            "'coordinate real general'."
        )
    n_lines, sizes = 2, stream.readline()
    while sizes.startswith(b"%") or sizes.isspace():
        n_lines, sizes = n_lines + 1, stream.readline()
    numbers = [int(size) for size in sizes.split() if size.isdigit() and len(size) <= 18]
    if len(numbers) != len(sizes.split()) or len(numbers) != (3 if form == "coordinate" else 2):
        raise ReadError(
            f"{path}, line {n_lines}: here should be the numbers of rows, of columns and, if there are coordinates, of "
            "entries; get or write the file again."
        )
    n_rows, n_columns = numbers[:2]
    if symmetry == "symmetric" and n_rows != n_columns:
        raise ReadError(f"{path}: a matrix of {n_rows} rows and {n_columns} columns cannot be symmetric.")
    n_half = n_rows * (n_rows + 1) // 2
    n_entries = numbers[2] if form == "coordinate" else n_half if symmetry == "symmetric" else n_rows * n_columns
    shape = (n_rows, n_columns)
    return _Header(form == "coordinate", symmetry == "symmetric", field, shape, n_entries, n_lines, stream.tell())


def _entries(data: bytes, header: _Header, path: Path) -> pd.DataFrame:
    """Read the lines below the header; rows and columns are counted from 0 in the result."""
    import pandas as pd

    body = io.BytesIO(data)
    body.seek(header.n_bytes)
    types = header.types
    entries: pd.DataFrame
    try:
        with warnings.catch_warnings():
            # Told where the first line has too many fields.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            entries = pd.read_csv(
                body,
                sep=r"\s+",
                header=None,
                names=list(types),
                index_col=False,
                dtype=types,
                na_filter=False,
                comment="%",
            )
    except pd.errors.EmptyDataError:
        return pd.DataFrame({name: np.empty(0, dtype=kind) for name, kind in types.items()})
    except (ValueError, OverflowError, pd.errors.ParserWarning):
        raise _explained(data, header, path) from None
    for name, size in zip(("row", "column"), header.shape, strict=True):
        if header.is_sparse:
            entries[name] -= 1
            if not entries[name].between(0, size - 1).all():
                raise _explained(data, header, path)
    return entries


def _explained(data: bytes, header: _Header, path: Path) -> ReadError:
    """Say which line is wrong, and what about it."""
    body = lines_of(data[header.n_bytes :].decode("latin-1"))
    for number, line in enumerate(body, start=header.n_lines + 1):
        fields = line.partition("%")[0].split()
        problem = _problem(fields, header) if fields else None
        if problem is not None:
            return ReadError(f"{path}, line {number}: {problem}; mend the line.")
    return ReadError(f"{path} is no MatrixMarket file that can be read; get or write it again.")


def _problem(fields: list[str], header: _Header) -> str | None:
    if len(fields) != len(header.types):
        return f"{len(fields)} fields where there should be {len(header.types)}"
    for text, kind in zip(fields, header.types.values(), strict=True):
        try:
            is_finite = np.isfinite(kind(text))
        except (ValueError, OverflowError):
            is_finite = False
        if not is_finite:
            return f"{text[:40]!r} is no {'whole' if kind is np.int64 else 'finite'} number"
    if header.is_sparse and not all(
        1 <= int(text) <= size for text, size in zip(fields[:2], header.shape, strict=True)
    ):
        n_rows, n_columns = header.shape
        return f"row {fields[0]} and column {fields[1]} lie outside of {n_rows} rows and {n_columns} columns"
    return None


def _sparse(entries: pd.DataFrame, header: _Header) -> sp.csr_array:
    rows, columns = entries["row"].to_numpy(), entries["column"].to_numpy()
    is_pattern = header.field == "pattern"
    values = np.ones(len(entries), dtype=bool) if is_pattern else entries["value"].to_numpy()
    if header.is_symmetric:
        mirrored = rows != columns
        rows, columns = np.append(rows, columns[mirrored]), np.append(columns, rows[mirrored])
        values = np.append(values, values[mirrored])
    matrix = sp.csr_array((values, (rows, columns)), shape=header.shape)
    return matrix.astype(np.int8) if is_pattern else matrix


def _dense(values: NDArray[Any], header: _Header) -> NDArray[Any]:
    if not header.is_symmetric:
        return values.reshape(header.shape, order="F")
    # Column by column from the diagonal down, which mirrored is row by row from the diagonal on.
    matrix = np.zeros(header.shape, dtype=values.dtype)
    half = np.triu_indices(header.shape[0])
    matrix[half] = values
    matrix.T[half] = values
    return matrix
