"""AnnData files (.h5ad): cells by genes, with columns that describe the cells."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import parsing
from saltmine.io.naming import no_such_column
from saltmine.io.sheets import labelled
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

# How the matrix says that it is sparse, now and before anndata 0.7.
_SPARSE = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array, "csr": sp.csr_array, "csc": sp.csc_array}
_CATEGORIES_OF_ALL = "__categories"


def read_h5ad(
    path: Path,
    *,
    target: str | int | None = None,
    labels: str | PathLike[str] | None = None,
    group: str | int | None = None,
) -> Table:
    """Read the matrix X of an AnnData file; other layers and the raw matrix are left alone.

    Parameters
    ----------
    path : Path
    target : str, optional
        Column of obs with the classes.
    labels : path, optional
        File with the classes of the cells instead; ``target`` is then a column of it.
    group : str, optional
        Column of obs that says which cells belong together, as those of a donor.
    """
    h5py = _h5py()
    _demand_hdf5(h5py, path)
    with parsing(path, "AnnData file"), h5py.File(path, "r") as file:
        return _table(_AnnData(h5py, path, file), target, labels, group)


class _AnnData(NamedTuple):
    h5py: Any
    path: Path
    file: Any

    def is_group(self, node: Any) -> bool:
        return isinstance(node, self.h5py.Group)


class _Column(NamedTuple):
    values: NDArray[Any]
    missing: NDArray[np.bool_]


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise ReadError("AnnData files need the library h5py; pip install 'saltmine[bio]'.") from None
    return h5py


def _demand_hdf5(h5py: Any, path: Path) -> None:
    if path.is_dir():
        raise ReadError(f"{path} is a folder, not an AnnData file; name the .h5ad file.")
    if not h5py.is_hdf5(path):
        raise ReadError(
            f"{path} is no AnnData file: it is not HDF5; check the file, and decompress it if it is compressed."
        )


def _table(
    data: _AnnData, target: str | int | None, labels: str | PathLike[str] | None, group: str | int | None
) -> Table:
    cells, genes = _index(data, "obs"), _index(data, "var")
    group_is_here = group is not None and (labels is None or str(group) in data.file["obs"])
    groups = as_names(_labels(data, str(group), cells, "group")) if group_is_here else None
    y = _labels(data, str(target), cells, "target") if target is not None and labels is None else None
    # The matrix last: to read it may take long.
    rows = Table(sp.csr_array((len(cells), 0)), y, cells, groups=groups)
    if labels is not None:
        rows = labelled(rows, data.path, labels, target, None if group_is_here else group)
    return replace(rows, X=_matrix(data, (len(cells), len(genes))), item_names=genes)


def _matrix(data: _AnnData, shape: tuple[int, int]) -> NDArray[Any] | sp.csr_array:
    node = data.file.get("X")
    if node is None or getattr(node, "shape", ()) is None:
        raise ReadError(f"{data.path} has no matrix X, and nothing else is read; copy the layer that you want to X.")
    values = node["data"] if data.is_group(node) else node
    if values.dtype.kind not in "biuf" or (values is node and node.ndim != 2):
        raise ReadError(
            f"{data.path}: X is no matrix of numbers, but {values.dtype} of shape {values.shape}; check it."
        )
    X = _sparse_matrix(data, node) if data.is_group(node) else node[()]
    if X.shape != shape:
        raise ReadError(
            f"{data.path}: X is {X.shape[0]} x {X.shape[1]}, but obs has {shape[0]} rows and var {shape[1]}; check it."
        )
    if 0 in shape:
        raise ReadError(f"{data.path}: X is {shape[0]} x {shape[1]}, so there is no data in it; check the file.")
    return X


def _sparse_matrix(data: _AnnData, node: Any) -> sp.csr_array:
    form = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format"))
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    if form not in _SPARSE or shape is None:
        raise ReadError(f"{data.path}: X is stored as {form!r}; only dense, CSR and CSC matrices can be read.")
    parts = tuple(node[name][()] for name in ("data", "indices", "indptr"))
    X = _SPARSE[form](parts, shape=tuple(int(length) for length in shape))
    # Indices beyond the matrix would be written to memory that belongs to something else.
    X.check_format(full_check=True)
    X = X.tocsr()
    X.sum_duplicates()
    return X


def _index(data: _AnnData, name: str) -> NDArray[Any]:
    """Return the names of the cells (obs) or genes (var)."""
    table = data.file.get(name)
    if not data.is_group(table):
        raise ReadError(
            f"{data.path}: {name} is not stored as by anndata since 0.7; read and write the file again with anndata."
        )
    index = table.attrs.get("_index", "_index")
    if index not in table:
        raise ReadError(f"{data.path}: {name} has no index {index!r}; write the file again with anndata.")
    names = as_names(_column(data, table[index]).values)
    demand_distinct(names, "cells" if name == "obs" else "variables", str(data.path))
    return names


def _labels(data: _AnnData, name: str, cells: NDArray[Any], what: str) -> NDArray[Any]:
    """Return a column of obs that has a value for every cell."""
    obs = data.file["obs"]
    columns = [column for column in obs if column not in (obs.attrs.get("_index", "_index"), _CATEGORIES_OF_ALL)]
    if name not in columns:
        raise no_such_column(data.path, name, columns, f"{what} in obs")
    values, missing = _column(data, obs[name], obs.get(f"{_CATEGORIES_OF_ALL}/{name}"))
    if values.shape != cells.shape:
        raise ReadError(
            f"{data.path}: obs column {name!r} has {len(values)} values for {len(cells)} cells; check the file."
        )
    if missing.any():
        cell = cells[missing.argmax()]
        raise ReadError(f"{data.path}: the cell {cell!r} has no {name!r}; give it one, or leave the cell out.")
    return values.astype(str) if values.dtype.kind in "OSU" else values


def _column(data: _AnnData, node: Any, categories: Any = None) -> _Column:
    """Read a column however anndata stores it: categories, values with a mask, text or numbers."""
    if not data.is_group(node):
        if categories is not None:
            return _categorical(data, node, categories)
        if data.h5py.check_string_dtype(node.dtype):
            texts = node.asstr()[()]
            return _Column(texts, texts == "")
        values = node[()]
        return _Column(values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool))
    if "codes" in node:
        return _categorical(data, node["codes"], node["categories"])
    if "mask" in node:
        return _Column(_column(data, node["values"]).values, node["mask"][()].astype(bool))
    raise ReadError(f"{data.path}: {node.name} is stored as {node.attrs.get('encoding-type')!r}, which cannot be read.")


def _categorical(data: _AnnData, codes: Any, categories: Any) -> _Column:
    known, numbers = _column(data, categories), codes[()]
    if len(numbers) and numbers.max() >= len(known.values):
        raise ReadError(
            f"{data.path}: {codes.name} names category {numbers.max()} of {len(known.values)}; check the file."
        )
    missing = numbers < 0
    if missing.all():
        return _Column(numbers, missing)
    numbers = np.where(missing, 0, numbers)
    return _Column(known.values[numbers], missing | known.missing[numbers])
