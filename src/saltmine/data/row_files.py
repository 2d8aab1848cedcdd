"""Folders of files, each with some of the rows: headers are read when the folder is opened, cells by workers."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.validation import BinaryMatrix, TableNames, as_binary, reject_unreadable
from saltmine.extras import needing
from saltmine.io.files import ReadError, opened, parsing
from saltmine.names import as_text, check_distinct


@dataclass(frozen=True)
class PlacedNames(TableNames):
    """Names for a part of a table, so that errors give the position in the whole table.

    Examples
    --------
    >>> PlacedNames(first_row=100, first_column=20).cell(3, 4, "2.0")
    'Column 23 holds 2.0 in row 104'
    """

    first_row: int = 0
    first_column: int = 0

    def cell(self, column: int, row: int, what: str) -> str:
        """Return a phrase with the contents and the position of a cell."""
        return super().cell(column + self.first_column, row + self.first_row, what)


def check_binary(part: Any, binarize: float | None, names: TableNames) -> BinaryMatrix:
    """Return a part of a table, a numpy array or sparse, as a boolean array or a CSR array of ones."""
    if hasattr(part, "tocsr"):
        return as_binary(sp.csr_array(part.tocsr()), binarize, names)
    reject_unreadable(part, names)
    return as_binary(np.asarray(part), binarize, names)


@dataclass(frozen=True)
class RowFile:
    """A file with some of the rows, of which only the header has been read."""

    kind: ClassVar[str]
    path: Path
    n_rows: int
    n_columns: int
    n_bytes: int
    item_names: NDArray[Any] | None = None

    def read(self, binarize: float | None, first_row: int) -> BinaryMatrix:
        """Read the rows as 0/1; ``first_row`` is the number of the first one in the whole table."""
        raise NotImplementedError  # each subclass reads its own format


@dataclass(frozen=True)
class NpzFile(RowFile):
    """A sparse matrix saved by scipy, or an archive of arrays, one of which has two dimensions."""

    kind = "npz"
    # Array with the cells; None for a sparse matrix of scipy.
    array: str | None = None

    @classmethod
    def of(cls, path: Path) -> NpzFile:
        """Read the headers of a file."""
        with opened(path) as stream, parsing("npz archive"), zipfile.ZipFile(stream) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
            shapes = {name.removesuffix(".npy"): _shape_in(archive, name) for name in archive.namelist()}
            if {"format", "shape", "data"} <= set(shapes):
                with archive.open("shape.npy") as member:
                    n_rows, n_columns = np.lib.format.read_array(member).tolist()
                return cls(path, n_rows, n_columns, n_bytes)
            matrices = [name for name, shape in shapes.items() if len(shape) == 2]
            if len(matrices) != 1:
                raise ReadError(
                    f"there are {len(matrices)} arrays with two dimensions (the arrays are "
                    f"{', '.join(shapes) or 'none'}); save one, with the rows of this file, or a sparse matrix."
                )
            n_rows, n_columns = shapes[matrices[0]]
            return cls(path, n_rows, n_columns, n_bytes, array=matrices[0])

    def read(self, binarize: float | None, first_row: int) -> BinaryMatrix:
        """Read the rows as 0/1; ``first_row`` is the number of the first one in the whole table."""
        with opened(self.path) as stream, parsing("npz archive"):
            part = sp.load_npz(stream) if self.array is None else np.load(stream, allow_pickle=False)[self.array]
        return check_binary(part, binarize, PlacedNames(first_row=first_row))


def _shape_in(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return header(member)[0]


@dataclass(frozen=True)
class ParquetFile(RowFile):
    """A Parquet table; a stored index of pandas is not data."""

    kind = "parquet"

    @classmethod
    def of(cls, path: Path) -> ParquetFile:
        """Read the metadata of a file."""
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
                    raise ReadError(
                        f"the column {field.name!r} holds {field.type}, not numbers; make it 0/1 first, or leave it "
                        "out if it is the label."
                    )
            names = as_text(field.name for field in fields)
            check_distinct(names, "columns", ReadError)
        return cls(path, n_rows, len(names), n_rows * len(names), names)

    def read(self, binarize: float | None, first_row: int) -> BinaryMatrix:
        """Read the rows as 0/1; ``first_row`` is the number of the first one in the whole table."""
        import pyarrow.parquet as pq  # an optional extra, which `of` has found

        assert self.item_names is not None
        with opened(self.path) as stream, parsing("Parquet file"):
            table = pq.ParquetFile(stream).read(columns=self.item_names.tolist())
        part = np.empty((self.n_rows, self.n_columns), dtype=bool)
        # Column by column, because numbers take up to eight times the memory of truth values.
        for number, name in enumerate(self.item_names):
            names = PlacedNames(self.item_names, first_row=first_row, first_column=number)
            values = np.asarray(table.column(name).to_pandas())
            part[:, number] = check_binary(values[:, None], binarize, names)[:, 0]
        return part


_KINDS: dict[str, type[NpzFile | ParquetFile]] = {".npz": NpzFile, ".parquet": ParquetFile, ".pq": ParquetFile}


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
    kinds = {_KINDS.get(path.suffix.lower()): path for path in paths}
    if len(kinds) > 1 or None in kinds:
        names = " and ".join(sorted(path.name for path in kinds.values()))
        raise ReadError(
            f"The folder {folder} must hold either .npz or .parquet files and nothing else, but it holds {names}; move "
            "other files elsewhere."
        )
    kind = _KINDS[paths[0].suffix.lower()]
    first, *others = (kind.of(path.resolve()) for path in paths)
    files = [first, *(_with_columns_of(file, first) for file in others)]
    if not first.n_columns or not any(file.n_rows for file in files):
        raise ReadError(f"The files of {folder} have no cells; at least one row and one column are needed.")
    return files


def _with_columns_of(file: RowFile, first: RowFile) -> RowFile:
    """Return a file with its columns in the order of the first file, or say how the two differ."""
    if file.n_columns != first.n_columns:
        raise ReadError(
            f"{first.path} has {first.n_columns} columns and {file.path} has {file.n_columns}; each file must have "
            "some of the rows and all of the columns."
        )
    if file.item_names is None or first.item_names is None:
        return file
    missing = set(first.item_names) - set(file.item_names)
    if missing:
        raise ReadError(
            f"{file.path} has no column {min(missing)!r}, which {first.path} has; all files must have the same columns."
        )
    return replace(file, item_names=first.item_names)
