"""Folders of files, each with some of the rows: headers are read when the folder is opened, cells by workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.validation import BinaryMatrix, TableNames, as_binary, reject_unreadable
from saltmine.extras import needing
from saltmine.io.arrays import check_indices
from saltmine.io.files import ReadError, opened, parsing, reading
from saltmine.io.limits import check_shape, file_size, reading_within
from saltmine.io.npz import open_archive
from saltmine.names import as_text, check_distinct, quoted

# Memory for a cell of a Parquet file: a number, and the truth value of it.
_CELL_BYTES = 9


def check_binary(part: Any, binarize: float | None, names: TableNames) -> BinaryMatrix:
    """Return a part of a table, a numpy array or sparse, as a boolean array or a CSR array of ones."""
    if sp.issparse(part):
        reject_unreadable(part, names)
    if hasattr(part, "tocsr"):
        return as_binary(sp.csr_array(part.tocsr()), binarize, names)
    reject_unreadable(part, names)
    return as_binary(np.asarray(part), binarize, names)


@dataclass(frozen=True)
class RowFile:
    """A file with some of the rows, of which only the header has been read.

    An npz file has a sparse matrix saved by scipy, or arrays, one of which, ``array``, has two dimensions. A stored
    index of pandas in a Parquet file is not data.
    """

    kind: str
    path: Path
    n_rows: int
    n_columns: int
    n_bytes: int
    item_names: NDArray[Any] | None = None
    array: str | None = None

    def read(self, binarize: float | None, first_row: int) -> BinaryMatrix:
        """Read the rows as 0/1; ``first_row`` is the number of the first one in the whole table."""
        with reading(self.path), reading_within(None, share=1):
            return self._read(binarize, first_row)

    def _read(self, binarize: float | None, first_row: int) -> BinaryMatrix:
        if self.item_names is not None:
            return self._read_parquet(self.item_names, binarize, first_row)
        with open_archive(self.path) as archive, parsing("npz archive"):
            part = archive.sparse() if self.array is None else archive.array(self.array)
            check_indices(part)
            if part.shape != (self.n_rows, self.n_columns):
                raise ReadError("the file has changed since it was opened; open the folder again.")
        return check_binary(part, binarize, TableNames(first_row=first_row))

    def _read_parquet(self, item_names: NDArray[Any], binarize: float | None, first_row: int) -> BinaryMatrix:
        import pyarrow.parquet as pq  # an optional extra, which `_open_parquet` has found

        check_shape(self.n_rows, self.n_columns, _CELL_BYTES * self.n_rows * self.n_columns, file_size(self.path))
        with opened(self.path) as stream, parsing("Parquet file"):
            table = pq.ParquetFile(stream).read(columns=item_names.tolist())
        part = np.empty((self.n_rows, self.n_columns), dtype=bool)
        # Column by column, because numbers take up to eight times the memory of truth values.
        for number, name in enumerate(item_names):
            names = TableNames(item_names, first_row=first_row, first_column=number)
            values = np.asarray(table.column(name).to_pandas())
            part[:, number] = check_binary(values[:, None], binarize, names)[:, 0]
        return part


def _open_npz(path: Path) -> RowFile:
    with reading(path), open_archive(path) as archive, parsing("npz archive"):
        headers = {name: header for name, header in archive.headers.items() if header is not None}
        n_bytes = sum(header.n_bytes for header in headers.values())
        if archive.is_sparse:
            return RowFile("npz", path, *archive.sparse_shape(), n_bytes)
        matrices = [name for name, header in headers.items() if len(header.shape) == 2]
        if len(matrices) != 1:
            found = f"{len(matrices)} arrays with two dimensions (the arrays are {', '.join(headers) or 'none'})"
            raise ReadError(f"there are {found}; save one, with the rows of this file, or a sparse matrix.")
        n_rows, n_columns = headers[matrices[0]].shape
        return RowFile("npz", path, n_rows, n_columns, n_bytes, array=matrices[0])


def _open_parquet(path: Path) -> RowFile:
    with needing("parquet", "A folder of Parquet files"):
        import pyarrow.parquet as pq
        from pyarrow import types
    with opened(path) as stream, parsing("Parquet file"):
        file = pq.ParquetFile(stream)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        fields = [field for field in schema if field.name not in index]
        for field in fields:
            kind = field.type.value_type if types.is_dictionary(field.type) else field.type
            is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
            if not (is_number or types.is_boolean(kind) or types.is_null(kind)):
                problem = f"the column {quoted(field.name)} holds {field.type}, not numbers"
                raise ReadError(f"{problem}; make it 0/1 first, or leave it out if it is the label.")
        names = as_text(field.name for field in fields)
        check_distinct(names, "columns", ReadError)
    return RowFile("parquet", path, n_rows, len(names), n_rows * len(names), names)


_OPENERS = {".npz": _open_npz, ".parquet": _open_parquet, ".pq": _open_parquet}


def open_folder(folder: Path) -> list[RowFile]:
    """Return the files of a folder in the order of their names, after checking that they fit together."""
    if not folder.exists():
        raise ReadError(f"There is no folder {folder}; check the path.")
    if not folder.is_dir():
        problem = f"{folder} is a file, not a folder of .npz or .parquet files"
        raise ReadError(f"{problem}; saltmine.read reads single files.")
    # Files that programs leave beside the data are hidden, or begin with _ as in _SUCCESS.
    paths = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    if not paths:
        raise ReadError(f"The folder {folder} is empty; .npz or .parquet files are needed, each with some of the rows.")
    kinds = {_OPENERS.get(path.suffix.lower()): path for path in paths}
    if len(kinds) > 1 or None in kinds:
        names = " and ".join(sorted(path.name for path in kinds.values()))
        problem = f"The folder {folder} must hold either .npz or .parquet files and nothing else, but it holds {names}"
        raise ReadError(f"{problem}; move other files elsewhere.")
    open_file = _OPENERS[paths[0].suffix.lower()]
    first, *others = (open_file(path.resolve()) for path in paths)
    files = [first, *(_with_columns_of(file, first) for file in others)]
    if not first.n_columns or not any(file.n_rows for file in files):
        raise ReadError(f"The files of {folder} have no cells; at least one row and one column are needed.")
    return files


def _with_columns_of(file: RowFile, first: RowFile) -> RowFile:
    """Return a file with its columns in the order of the first file, or say how the two differ."""
    if file.n_columns != first.n_columns:
        problem = f"{first.path} has {first.n_columns} columns and {file.path} has {file.n_columns}"
        raise ReadError(f"{problem}; each file must have some of the rows and all of the columns.")
    if file.item_names is None or first.item_names is None:
        return file
    missing = set(first.item_names) - set(file.item_names)
    if missing:
        problem = f"{file.path} has no column {quoted(min(missing))}, which {first.path} has"
        raise ReadError(f"{problem}; all files must have the same columns.")
    return replace(file, item_names=first.item_names)
