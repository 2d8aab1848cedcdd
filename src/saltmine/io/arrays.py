"""Matrices: archives of numpy and scipy, and MatrixMarket files."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import parsing, read_bytes
from saltmine.io.matrixmarket import parse_matrixmarket
from saltmine.io.sheets import labelled, read_names
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

# What the arrays of an archive are called.
_DATA = ("X", "x", "data", "arr_0")
_LABELS = "y"
_ROW_NAMES = ("row_names",)
_ITEM_NAMES = ("item_names", "feature_names", "columns")


def read_npz(
    path: Path,
    *,
    target: str | int | None = None,
    labels: str | PathLike[str] | None = None,
    group: str | int | None = None,
    items: str | PathLike[str] | None = None,
) -> Table:
    """Read a sparse matrix that scipy saved, or an archive of arrays.

    In an archive the data is called X, x, data or arr_0, or is the only array with two dimensions; y has the classes,
    row_names and item_names (or feature_names, columns) the names.

    Parameters
    ----------
    path : Path
    target : str, optional
        Array with the classes, "y" by default; with ``labels``, column of the label file.
    labels : path, optional
        File with the classes of the rows.
    group : str, optional
        Array that says which rows belong together; with ``labels``, column of the label file.
    items : path, optional
        File with the names of the items, one per line.
    """
    archive = _Archive(path)
    if archive.is_sparse:
        return _finished(Table(archive.sparse_matrix()), path, items, labels, target, group)
    table = Table(archive.matrix())
    n_rows, n_items = table.shape
    y = groups = None
    if labels is None:
        if target is not None or _LABELS in archive.contents:
            y = archive.column(_LABELS if target is None else str(target), n_rows, "target")
        groups = None if group is None else as_names(archive.column(str(group), n_rows, "group"))
        target = group = None
    row_names = archive.names(_ROW_NAMES, n_rows, "rows")
    item_names = archive.names(_ITEM_NAMES, n_items, "columns") if items is None else None
    return _finished(Table(table.X, y, row_names, item_names, groups), path, items, labels, target, group)


def read_mtx(
    path: Path,
    *,
    labels: str | PathLike[str] | None = None,
    target: str | int | None = None,
    group: str | int | None = None,
    items: str | PathLike[str] | None = None,
) -> Table:
    """Read a MatrixMarket file; sparse if it has coordinates.

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
    """
    matrix = parse_matrixmarket(read_bytes(path), path)
    return _finished(Table(matrix), path, items, labels, target, group)


class _Archive:
    """The arrays of an npz file; nothing in it is ever unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = read_bytes(path)
        if not zipfile.is_zipfile(io.BytesIO(self._data)):
            raise ReadError(
                f"{path} is no npz archive, or is cut off; write one with scipy.sparse.save_npz or numpy.savez."
            )
        with parsing(path, "npz archive"):
            self._arrays = np.load(io.BytesIO(self._data), allow_pickle=False)
            self.contents: list[str] = self._arrays.files

    @property
    def is_sparse(self) -> bool:
        """Whether scipy saved a matrix in it."""
        return {"format", "shape", "data"} <= set(self.contents)

    def sparse_matrix(self) -> sp.csr_array:
        with parsing(self.path, "sparse matrix as scipy.sparse.save_npz writes it"):
            return _csr(sp.load_npz(io.BytesIO(self._data)))

    def matrix(self) -> NDArray[Any]:
        """Return the data: by its name, or because it is the only array with two dimensions."""
        for name in _DATA:
            if name in self.contents:
                array = self._array(name)
                if array.ndim == 2:
                    return array
        matrices = [array for array in map(self._array, self.contents) if array.ndim == 2]
        if len(matrices) != 1:
            raise ReadError(
                f"{self.path} has {len(matrices)} arrays with two dimensions (its arrays are "
                f"{', '.join(self.contents) or 'none'}); call the one that is the data X."
            )
        return matrices[0]

    def column(self, name: str, n_rows: int, what: str) -> NDArray[Any]:
        """Return one value per row, text or numbers, none of them missing."""
        if name not in self.contents:
            raise ReadError(f"{self.path} has no array {name!r} for {what}; its arrays are {', '.join(self.contents)}.")
        column = self._vector(name, n_rows, "rows")
        missing = np.isnan(column) if column.dtype.kind == "f" else column == ""
        if np.any(missing):
            row = int(np.argmax(missing)) + 1
            raise ReadError(f"{self.path}, array {name!r}: row {row} has no value; give the row one or remove it.")
        return column

    def names(self, called: tuple[str, ...], length: int, what: str) -> NDArray[Any] | None:
        """Return the names of rows or columns, if there is an array of them."""
        for name in called:
            if name in self.contents:
                names = as_names(self._vector(name, length, what))
                demand_distinct(names, what, f"{self.path}, array {name!r}")
                return names
        return None

    def _vector(self, name: str, length: int, what: str) -> NDArray[Any]:
        vector = self._array(name)
        if vector.shape != (length,):
            raise ReadError(
                f"{self.path}: the array {name!r} has the shape {vector.shape}, but the data has {length} {what}; it "
                "should have one value for each."
            )
        if vector.dtype.kind == "S":
            with parsing(self.path, "archive of text in UTF-8"):
                vector = np.char.decode(vector, "utf-8")
        if vector.dtype.kind not in "biufU":
            raise ReadError(
                f"{self.path}: the array {name!r} holds {vector.dtype}, not text or numbers; change its type."
            )
        return vector

    def _array(self, name: str) -> NDArray[Any]:
        with parsing(self.path, "npz archive"):
            try:
                array = self._arrays[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                raise ReadError(
                    f"{self.path}: the array {name!r} holds Python objects, which could run code and are not read; "
                    "save text as array.astype(str), a sparse matrix with scipy.sparse.save_npz."
                ) from None
        if not isinstance(array, np.ndarray):
            raise ReadError(f"{self.path} is an archive, but {name!r} in it is no array; write one with numpy.savez.")
        return array


def _csr(matrix: Any) -> sp.csr_array:
    # Indices out of bounds would make compiled code use memory that is not its own. The first check is part of the
    # second, but left out there if the last of the pointers is 0.
    if hasattr(matrix, "indptr"):
        if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):
            raise ValueError("its index pointer decreases")
        matrix.check_format(full_check=True)
    rows = sp.csr_array(matrix)
    rows.sum_duplicates()
    return rows


def _finished(
    table: Table,
    path: Path,
    items: str | PathLike[str] | None,
    labels: str | PathLike[str] | None,
    target: str | int | None,
    group: str | int | None,
) -> Table:
    """Check the values, and add what stands in files beside the data."""
    _demand_finite(table.X, path)
    if items is not None:
        table = replace(table, item_names=read_names(items, table.shape[1]))
    return labelled(table, path, labels, target, group)


def _demand_finite(X: Any, path: Path) -> None:
    if 0 in X.shape:
        raise ReadError(f"{path} has {X.shape[0]} rows and {X.shape[1]} columns; there is no data in it.")
    if X.dtype.kind not in "biuf":
        raise ReadError(f"{path} holds values of the type {X.dtype}; it should hold numbers.")
    values = X.data if sp.issparse(X) else X
    if X.dtype.kind != "f" or np.isfinite(values).all():
        return
    first = int(np.argmin(np.isfinite(values)))
    if sp.issparse(X):
        row, column = np.searchsorted(X.indptr, first, side="right") - 1, X.indices[first]
    else:
        row, column = np.unravel_index(first, X.shape)
    raise ReadError(
        f"{path}: the value in row {row + 1}, column {column + 1} is {values.flat[first]}; every value has to be a "
        "finite number."
    )
