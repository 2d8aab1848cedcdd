"""Matrices: archives of numpy and scipy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError, parsing
from saltmine.io.labels import read_names, with_labels
from saltmine.io.npz import Archive, open_archive
from saltmine.io.sparse_indices import find_flaw
from saltmine.io.table import DROP_UNLABELLED, ColumnArg, PathArg, Table, drop_unlabelled_rows, missing_mask
from saltmine.names import as_text, check_distinct

# Names of the arrays of an archive.
_DATA = ("X", "x", "data", "arr_0")
_LABELS = "y"
_ROW_NAMES = ("row_names",)
_MAX_LISTED = 20
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
    with open_archive(path) as archive:
        if archive.is_sparse:
            with parsing("sparse matrix of scipy.sparse.save_npz"):
                table = Table(checked_csr(archive.sparse()))
        else:
            X, vectors = archive.array(_data_name(archive)), _Vectors(archive)
            row_names = vectors.names(_ROW_NAMES, X.shape[0], "rows")
            item_names = vectors.names(_ITEM_NAMES, X.shape[1], "columns") if items is None else None
            table = Table(X, None, row_names, item_names)
            if labels is None:
                table = vectors.with_columns(table, target, group, drop_unlabelled)
                target = group = None
    return with_names_and_labels(table, items, labels, target, group, drop_unlabelled)


def _data_name(archive: Archive) -> str:
    """Return the name of the data: one of the usual names, or the only array with two dimensions."""
    n_dimensions = {name: len(header.shape) for name, header in archive.headers.items() if header is not None}
    matrices = [name for name, count in n_dimensions.items() if count == 2]
    usual = next((name for name in _DATA if name in matrices), None)
    if usual is None and len(matrices) != 1:
        for name, header in archive.headers.items():
            if header is None or header.dtype.hasobject:
                archive.array(name)  # says why it cannot be read
        found = f"{len(matrices)} arrays with two dimensions (the arrays are {_listed(archive.headers) or 'none'})"
        raise ReadError(f"there are {found}; name the one with the data X.")
    return usual or matrices[0]


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_MAX_LISTED]) + (", ..." if len(names) > _MAX_LISTED else "")


class _Vectors:
    """The arrays of an archive that belong to the rows or the columns of its matrix."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.contents = archive.headers.keys()

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
            raise ReadError(f"there is no array {name!r} for {what}; the arrays are {_listed(self.contents)}.")
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
        header = self._archive.headers[name]
        if header is not None and header.shape != (length,):
            problem = f"the array {name!r} has the shape {header.shape}"
            raise ReadError(f"{problem}, but one value for each of {length} {what} is needed.")
        vector = self._archive.array(name)
        if vector.dtype.kind == "S":
            with parsing("archive of text in UTF-8"):
                vector = np.char.decode(vector, "utf-8")
        if vector.dtype.kind not in "biufU":
            raise ReadError(f"the array {name!r} holds {vector.dtype}, not text or numbers; change its type.")
        return vector


def _refuse_gaps(name: str, column: NDArray[Any], remedy: str) -> None:
    missing = missing_mask(column)
    if missing.any():
        raise ReadError(f"row {int(missing.argmax()) + 1} has no value; {remedy}.", f"array {name!r}")


def checked_csr(matrix: Any) -> sp.csr_array:
    """Return a sparse matrix as CSR without duplicates, or raise ValueError if its indices are invalid."""
    check_indices(matrix)
    rows = sp.csr_array(matrix)
    rows.sum_duplicates()
    return rows


def check_indices(matrix: Any) -> None:
    """Raise ValueError if the indices of a sparse matrix are invalid."""
    flaw = find_flaw(matrix) if sp.issparse(matrix) else None
    if flaw is not None:
        raise ValueError(f"its {flaw}")


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
