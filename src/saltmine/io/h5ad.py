"""AnnData files (.h5ad): cells by genes, with columns that describe the cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.arrays import checked_csr
from saltmine.io.files import ReadError, parsing
from saltmine.io.labels import with_labels
from saltmine.io.limits import check_expansion, check_shape, file_size
from saltmine.io.parser_process import Parsed, check_library, parse_apart
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

_WHAT = "AnnData file"
# Memory for a byte of the matrix: a dense one is checked, a sparse one is also brought into the order of its rows.
_DENSE_BYTES, _SPARSE_BYTES = 2, 3


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
    check_library("h5py", "bio", _WHAT)
    if path.is_dir():
        raise ReadError("this is a folder, not an AnnData file; name the .h5ad file.")
    names = {"group": group, "target": target if labels is None else None}
    columns = {what: str(name) for what, name in names.items() if name is not None}
    with parse_apart("h5ad", _WHAT, path, {"columns": columns}) as parsed, parsing(_WHAT):
        cells, genes = _names(parsed, "cells"), _names(parsed, "genes", "variables")
        found = parsed.facts("columns")
        for what, name in columns.items():
            if what not in found["found"] and (what == "target" or labels is None):
                raise no_such_column(None, name, found["listed"], f"{what} in obs", found["count"])
        # In the order in which they are sent; the matrix is read last, because it may take long.
        values = {what: _column(parsed, what) for what in columns if what in found["found"]}
        rows = _rows(cells, values, columns)
        if labels is not None:
            group = None if "group" in values else group
            rows = with_labels(rows, labels, target, group, drop_unlabelled=drop_unlabelled)
        elif "target" in values:
            y = _labels(values["target"], columns["target"], cells, "target", gaps=drop_unlabelled)
            rows = drop_unlabelled_rows(replace(rows, y=y)) if drop_unlabelled else replace(rows, y=y)
        X = _matrix(parsed, (len(cells), len(genes)), file_size(path))
        rows = replace(rows, notes=rows.notes + parsed.notes)
    return replace(rows, X=rows_of(X, kept_rows(cells, rows)), item_names=genes)


class _Column(NamedTuple):
    values: NDArray[Any]
    missing: NDArray[np.bool_]


def _names(parsed: Parsed, what: str, title: str = "cells") -> NDArray[Any]:
    names = as_text(_column(parsed, what).values)
    check_distinct(names, title, ReadError)
    return names


def _column(parsed: Parsed, what: str) -> _Column:
    """Return a column as the parser sends it: categories with codes, values with a mask, text or numbers."""
    form = parsed.facts("column")
    values = parsed.values(f"{what} values")
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = values == ""
    else:
        missing = np.zeros(values.shape, dtype=bool)
    if form["is_coded"]:
        return _categorical(str(form["name"]), parsed.values(f"{what} codes"), values, missing)
    if form["is_masked"]:
        return _Column(values, parsed.values(f"{what} mask").astype(bool))
    return _Column(values, missing)


def _categorical(name: str, codes: NDArray[Any], known: NDArray[Any], unknown: NDArray[np.bool_]) -> _Column:
    if len(codes) and codes.max() >= len(known):
        raise ReadError(f"the column {name!r} refers to category {codes.max()} of {len(known)}; check the file.")
    missing = codes < 0
    if missing.all():
        return _Column(codes, missing)
    codes = np.where(missing, 0, codes)
    return _Column(known[codes], missing | unknown[codes])


def _rows(cells: NDArray[Any], values: dict[str, _Column], columns: dict[str, str]) -> Table:
    """Return the cells, without their matrix, and their groups."""
    rows = Table(sp.csr_array((len(cells), 0)), None, cells)
    if "group" not in values:
        return rows
    groups = as_text(_labels(values["group"], columns["group"], cells, "group"))
    return replace(rows, groups=groups, group_name=columns["group"])


def _labels(column: _Column, name: str, cells: NDArray[Any], what: str, gaps: bool = False) -> NDArray[Any]:
    """Return a column of obs that has a value for every cell; with ``gaps``, missing values are empty."""
    values, missing = column
    if values.shape != cells.shape:
        raise ReadError(f"the obs column {name!r} has {len(values)} values for {len(cells)} cells; check the file.")
    missing = missing | missing_mask(values)
    if missing.any() and not gaps:
        remedy = DROP_UNLABELLED if what == "target" else "or leave the cell out"
        raise ReadError(f"the cell {cells[missing.argmax()]!r} has no {name!r}; add it, {remedy}.")
    if missing.any():
        return np.array(["" if gap else str(value) for gap, value in zip(missing, values.tolist(), strict=True)])
    return values.astype(str) if values.dtype.kind in "OSU" else values


def _matrix(parsed: Parsed, shape: tuple[int, int], size: int | None) -> NDArray[Any] | sp.csr_array:
    """Return X, after checking its size against the names of cells and genes before it is read."""
    matrix = parsed.facts("matrix")
    n_rows, n_columns = matrix["shape"]
    if (n_rows, n_columns) != shape:
        lengths = f"obs has {shape[0]} rows and var {shape[1]}"
        raise ReadError(f"X is {n_rows} x {n_columns}, but {lengths}; check the file.")
    if 0 in shape:
        raise ReadError(f"X is {n_rows} x {n_columns}, so there is no data in it; check the file.")
    is_dense = matrix["form"] == "dense"
    check_expansion(matrix["n_bytes"], matrix["n_stored"], "X")
    check_shape(n_rows, n_columns, matrix["n_bytes"] * (_DENSE_BYTES if is_dense else _SPARSE_BYTES), size)
    if is_dense:
        return parsed.values("X")
    data, indices, indptr = (parsed.values(name) for name in ("data", "indices", "indptr"))
    if any(places.dtype.kind not in "iu" for places in (indices, indptr)):
        raise ReadError("the indices of X are no whole numbers; check the file.")
    # Of the same type, or all indices would be copied to the larger one.
    if indptr.min(initial=0) >= 0 and indptr.max(initial=0) <= np.iinfo(indices.dtype).max:
        indptr = indptr.astype(indices.dtype, copy=False)
    return checked_csr({"csr": sp.csr_array, "csc": sp.csc_array}[matrix["form"]]((data, indices, indptr), shape=shape))
