"""Matrices: archives of numpy and scipy."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError, parsing, read_bytes
from saltmine.io.labels import read_names, with_labels
from saltmine.io.table import DROP_UNLABELLED, ColumnArg, PathArg, Table, drop_unlabelled_rows, missing_mask
from saltmine.names import as_text, check_distinct

# Names of the arrays of an archive.
_DATA = ("X", "x", "data", "arr_0")
_LABELS = "y"
_ROW_NAMES = ("row_names",)
_ITEM_NAMES = ("item_names", "feature_names", "columns")


def read_npz(
    path: Path,
    *,
    target: ColumnArg = None,
    labels: PathArg = None,
    group: ColumnArg = None,
    items: PathArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read a sparse matrix saved by scipy, or an archive of arrays.

    In an archive, the data is the array X, x, data or arr_0, or the only array with two dimensions; y has the classes,
    row_names and item_names (or feature_names, columns) the names.

    Parameters
    ----------
    path : Path
    target : str, optional
        Array with the classes, "y" by default; with ``labels``, column of the label file.
    labels : path, optional
        File with the classes of the rows.
    group : str, optional
        Array that tells which rows belong together; with ``labels``, column of the label file.
    items : path, optional
        File with the names of the items, one per line.
    drop_unlabelled : bool
        Leave out rows without a class.
    """
    archive = _Archive(path)
    X, (n_rows, n_items) = archive.matrix, archive.matrix.shape
    if sp.issparse(X):
        return with_names_and_labels(Table(X), items, labels, target, group, drop_unlabelled)
    row_names = archive.names(_ROW_NAMES, n_rows, "rows")
    item_names = archive.names(_ITEM_NAMES, n_items, "columns") if items is None else None
    table = Table(X, None, row_names, item_names)
    if labels is None:
        table = archive.with_columns(table, target, group, drop_unlabelled)
        target = group = None
    return with_names_and_labels(table, items, labels, target, group, drop_unlabelled)


class _Archive:
    """The arrays of an npz file; nothing is unpickled."""

    def __init__(self, path: Path) -> None:
        data = read_bytes(path)
        if not zipfile.is_zipfile(io.BytesIO(data)):
            raise ReadError("not an npz archive, or truncated; write one with scipy.sparse.save_npz or numpy.savez.")
        with parsing("npz archive"):
            self._arrays = np.load(io.BytesIO(data), allow_pickle=False)
            self.contents: list[str] = self._arrays.files
        if {"format", "shape", "data"} <= set(self.contents):
            with parsing("sparse matrix of scipy.sparse.save_npz"):
                self.matrix = checked_csr(sp.load_npz(io.BytesIO(data)))
        else:
            self.matrix = self._dense_matrix()

    def _dense_matrix(self) -> NDArray[Any]:
        """Return the data, found by its name or as the only array with two dimensions."""
        for name in _DATA:
            if name in self.contents and (array := self._array(name)).ndim == 2:
                return array
        matrices = [array for array in map(self._array, self.contents) if array.ndim == 2]
        if len(matrices) != 1:
            found = f"{len(matrices)} arrays with two dimensions (the arrays are {', '.join(self.contents) or 'none'})"
            raise ReadError(f"there are {found}; name the one with the data X.")
        return matrices[0]

    def with_columns(self, table: Table, target: ColumnArg, group: ColumnArg, drop_unlabelled: bool) -> Table:
        """Return the table with the classes and the groups of arrays of the archive."""
        n_rows, y = table.shape[0], None
        if target is not None or _LABELS in self.contents:
            name = _LABELS if target is None else str(target)
            y = self._column(name, n_rows, "target")
            if not drop_unlabelled:
                _refuse_gaps(name, y, f"give the row a class, {DROP_UNLABELLED}")
        groups = None if group is None else self._column(str(group), n_rows, "group")
        table = replace(table, y=y, groups=groups, group_name=None if group is None else str(group))
        if drop_unlabelled and y is not None:
            table = drop_unlabelled_rows(table)
        if table.groups is None:
            return table
        _refuse_gaps(str(group), table.groups, "give the row one or remove it")
        return replace(table, groups=as_text(table.groups))

    def _column(self, name: str, n_rows: int, what: str) -> NDArray[Any]:
        if name not in self.contents:
            raise ReadError(f"there is no array {name!r} for {what}; the arrays are {', '.join(self.contents)}.")
        return self._vector(name, n_rows, "rows")

    def names(self, candidates: tuple[str, ...], length: int, what: str) -> NDArray[Any] | None:
        """Return the names of rows or columns from the first candidate that is in the archive, if any."""
        name = next((name for name in candidates if name in self.contents), None)
        if name is None:
            return None
        names = as_text(self._vector(name, length, what))
        check_distinct(names, f"{what} in the array {name!r}", ReadError)
        return names

    def _vector(self, name: str, length: int, what: str) -> NDArray[Any]:
        vector = self._array(name)
        if vector.shape != (length,):
            problem = f"the array {name!r} has the shape {vector.shape}"
            raise ReadError(f"{problem}, but one value for each of {length} {what} is needed.")
        if vector.dtype.kind == "S":
            with parsing("archive of text in UTF-8"):
                vector = np.char.decode(vector, "utf-8")
        if vector.dtype.kind not in "biufU":
            raise ReadError(f"the array {name!r} holds {vector.dtype}, not text or numbers; change its type.")
        return vector

    def _array(self, name: str) -> NDArray[Any]:
        with parsing("npz archive"):
            try:
                array = self._arrays[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                problem = f"the array {name!r} holds Python objects, which could run code and are not read"
                remedy = "save text as array.astype(str), a sparse matrix with scipy.sparse.save_npz"
                raise ReadError(f"{problem}; {remedy}.") from None
        if not isinstance(array, np.ndarray):
            raise ReadError(f"the file is an archive, but {name!r} in it is not an array; write one with numpy.savez.")
        return array


def _refuse_gaps(name: str, column: NDArray[Any], remedy: str) -> None:
    missing = missing_mask(column)
    if missing.any():
        raise ReadError(f"row {int(missing.argmax()) + 1} has no value; {remedy}.", f"array {name!r}")


def checked_csr(matrix: Any) -> sp.csr_array:
    """Return a sparse matrix as CSR without duplicates, or raise ValueError if its indices are invalid."""
    # Compiled code would access foreign memory with indices out of bounds. The first check is part of the second, but
    # skipped there if the last pointer is 0.
    if hasattr(matrix, "indptr"):
        if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):
            raise ValueError("its index pointer decreases")
        matrix.check_format(full_check=True)
    rows = sp.csr_array(matrix)
    rows.sum_duplicates()
    return rows


def with_names_and_labels(
    table: Table, items: PathArg, labels: PathArg, target: ColumnArg, group: ColumnArg, drop_unlabelled: bool = False
) -> Table:
    """Return a matrix, after checking its values, with the names of its items and the labels of its rows."""
    _check_finite(table.X)
    if items is not None:
        table = replace(table, item_names=read_names(items, table.shape[1]))
    return with_labels(table, labels, target, group, drop_unlabelled=drop_unlabelled)


def _check_finite(X: Any) -> None:
    if 0 in X.shape:
        raise ReadError(f"there are {X.shape[0]} rows and {X.shape[1]} columns, so there is no data in the file.")
    if X.dtype.kind not in "biuf":
        raise ReadError(f"the values are of the type {X.dtype}; they should be numbers.")
    values = X.data if sp.issparse(X) else X
    if X.dtype.kind != "f" or np.isfinite(values).all():
        return
    first = int(np.argmin(np.isfinite(values)))
    if sp.issparse(X):
        row, column = np.searchsorted(X.indptr, first, side="right") - 1, X.indices[first]
    else:
        row, column = np.unravel_index(first, X.shape)
    raise ReadError(f"row {row + 1}, column {column + 1} is {values.flat[first]}; every value must be a finite number.")
