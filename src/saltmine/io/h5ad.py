"""AnnData files (.h5ad): cells by genes, with columns that describe the cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.extras import needing
from saltmine.io.arrays import checked_csr
from saltmine.io.files import ReadError, parsing
from saltmine.io.labels import with_labels
from saltmine.io.table import (
    DROP_UNLABELLED,
    ColumnArg,
    PathArg,
    Table,
    drop_unlabelled_rows,
    kept_rows,
    missing_mask,
    no_such_column,
    rows_of,
)
from saltmine.names import as_text, check_distinct

# Formats of a sparse matrix, now and before anndata 0.7.
_SPARSE = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array, "csr": sp.csr_array, "csc": sp.csc_array}
# Group of obs with the categories of all columns, before anndata 0.8.
_CATEGORIES = "__categories"


def read_h5ad(
    path: Path,
    *,
    target: ColumnArg = None,
    labels: PathArg = None,
    group: ColumnArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read the matrix X of an AnnData file; other layers and the raw matrix are ignored.

    Parameters
    ----------
    path : Path
    target : str, optional
        Column of obs with the classes.
    labels : path, optional
        File with the classes of the cells instead; ``target`` is then a column of it.
    group : str, optional
        Column of obs that tells which cells belong together, for example those of a donor.
    drop_unlabelled : bool
        Leave out cells without a class.
    """
    with needing("bio", "Reading an AnnData file"):
        import h5py
    if path.is_dir():
        raise ReadError("this is a folder, not an AnnData file; name the .h5ad file.")
    if not h5py.is_hdf5(path):
        raise ReadError("this is not an AnnData file: it is not HDF5; check the file, and decompress it if needed.")
    with parsing("AnnData file"), h5py.File(path, "r") as file:
        return _table(file, target, labels, group, drop_unlabelled)


class _Column(NamedTuple):
    values: NDArray[Any]
    missing: NDArray[np.bool_]


def _is_group(node: Any) -> bool:
    return hasattr(node, "keys")


def _table(file: Any, target: ColumnArg, labels: PathArg, group: ColumnArg, drop_unlabelled: bool) -> Table:
    cells, genes = _index(file, "obs"), _index(file, "var")
    group_is_here = group is not None and (labels is None or str(group) in file["obs"])
    groups = as_text(_labels(file["obs"], str(group), cells, "group")) if group_is_here else None
    # The matrix is read last, because it may take long.
    rows = Table(sp.csr_array((len(cells), 0)), None, cells, groups=groups)
    rows = replace(rows, group_name=str(group) if group_is_here else None)
    if labels is not None:
        group = None if group_is_here else group
        rows = with_labels(rows, labels, target, group, drop_unlabelled=drop_unlabelled)
    elif target is not None:
        rows = replace(rows, y=_labels(file["obs"], str(target), cells, "target", gaps=drop_unlabelled))
        rows = drop_unlabelled_rows(rows) if drop_unlabelled else rows
    X = _matrix(file.get("X"), (len(cells), len(genes)))
    return replace(rows, X=rows_of(X, kept_rows(cells, rows)), item_names=genes)


def _matrix(node: Any, shape: tuple[int, int]) -> NDArray[Any] | sp.csr_array:
    if node is None or getattr(node, "shape", ()) is None:
        raise ReadError("there is no matrix X, and nothing else is read; copy the layer that you want to X.")
    values = node["data"] if _is_group(node) else node
    if values.dtype.kind not in "biuf" or (values is node and node.ndim != 2):
        raise ReadError(f"X is not a matrix of numbers, but {values.dtype} of shape {values.shape}; check it.")
    X = _sparse_matrix(node) if _is_group(node) else node[()]
    if X.shape != shape:
        lengths = f"obs has {shape[0]} rows and var {shape[1]}"
        raise ReadError(f"X is {X.shape[0]} x {X.shape[1]}, but {lengths}; check the file.")
    if 0 in shape:
        raise ReadError(f"X is {shape[0]} x {shape[1]}, so there is no data in it; check the file.")
    return X


def _sparse_matrix(node: Any) -> sp.csr_array:
    form = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format"))
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    if form not in _SPARSE or shape is None:
        raise ReadError(f"X is stored as {form!r}; only dense, CSR and CSC matrices can be read.")
    parts = tuple(node[name][()] for name in ("data", "indices", "indptr"))
    return checked_csr(_SPARSE[form](parts, shape=tuple(int(length) for length in shape)))


def _index(file: Any, name: str) -> NDArray[Any]:
    """Return the names of the cells (obs) or genes (var)."""
    table = file.get(name)
    if not _is_group(table):
        raise ReadError(f"{name} is not stored as by anndata since 0.7; read the file with anndata and write it again.")
    index = table.attrs.get("_index", "_index")
    if index not in table:
        raise ReadError(f"{name} has no index {index!r}; write the file again with anndata.")
    names = as_text(_column(table[index]).values)
    check_distinct(names, "cells" if name == "obs" else "variables", ReadError)
    return names


def _labels(obs: Any, name: str, cells: NDArray[Any], what: str, gaps: bool = False) -> NDArray[Any]:
    """Return a column of obs that has a value for every cell; with ``gaps``, missing values are empty."""
    columns = [column for column in obs if column not in (obs.attrs.get("_index", "_index"), _CATEGORIES)]
    if name not in columns:
        raise no_such_column(None, name, columns, f"{what} in obs")
    values, missing = _column(obs[name], obs.get(f"{_CATEGORIES}/{name}"))
    if values.shape != cells.shape:
        raise ReadError(f"the obs column {name!r} has {len(values)} values for {len(cells)} cells; check the file.")
    missing = missing | missing_mask(values)
    if missing.any() and not gaps:
        remedy = DROP_UNLABELLED if what == "target" else "or leave the cell out"
        raise ReadError(f"the cell {cells[missing.argmax()]!r} has no {name!r}; add it, {remedy}.")
    if missing.any():
        return np.array(["" if gap else str(value) for gap, value in zip(missing, values.tolist(), strict=True)])
    return values.astype(str) if values.dtype.kind in "OSU" else values


def _column(node: Any, categories: Any = None) -> _Column:
    """Return a column in any of the ways anndata stores it: categories, values with a mask, text or numbers."""
    import h5py  # an optional extra, which `read_h5ad` has found

    if not _is_group(node):
        if categories is not None:
            return _categorical(node, categories)
        if h5py.check_string_dtype(node.dtype):
            texts = node.asstr()[()]
            return _Column(texts, texts == "")
        values = node[()]
        return _Column(values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool))
    if "codes" in node:
        return _categorical(node["codes"], node["categories"])
    if "mask" in node:
        return _Column(_column(node["values"]).values, node["mask"][()].astype(bool))
    raise ReadError(f"{node.name} is stored as {node.attrs.get('encoding-type')!r}, which cannot be read.")


def _categorical(codes: Any, categories: Any) -> _Column:
    known, numbers = _column(categories), codes[()]
    if len(numbers) and numbers.max() >= len(known.values):
        raise ReadError(f"{codes.name} refers to category {numbers.max()} of {len(known.values)}; check the file.")
    missing = numbers < 0
    if missing.all():
        return _Column(numbers, missing)
    numbers = np.where(missing, 0, numbers)
    return _Column(known.values[numbers], missing | known.missing[numbers])
