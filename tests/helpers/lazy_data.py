"""The same cells in every form that is read lazily; each function takes the cells and a folder it may write to."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr


def _chunks(cells):
    """Cut each axis into several chunks of which the last is smaller."""
    return tuple(-(-length // 3) + 1 for length in cells.shape)


def of_dask(cells, folder):
    return da.from_array(cells, chunks=_chunks(cells))


def of_sparse_dask(cells, folder):
    return of_dask(cells, folder).map_blocks(sp.csr_matrix)


def of_zarr(cells, folder):
    array = zarr.open_array(
        str(folder / "cells.zarr"), mode="w", shape=cells.shape, chunks=_chunks(cells), dtype=cells.dtype
    )
    array[:] = cells
    return array


def of_zarr_path(cells, folder):
    of_zarr(cells, folder)
    return folder / "cells.zarr"


def _each_file(cells, folder, save):
    """Save the rows in four files, one of them empty."""
    m = len(cells)
    for number, (begin, end) in enumerate(pairwise([0, m * 2 // 5, m * 2 // 5, m * 3 // 5, m])):
        save(folder / f"rows-{number}", cells[begin:end])
    return folder


def of_npz(cells, folder):
    return _each_file(cells, folder, lambda path, rows: np.savez(path, X=rows, y=rows[:, 0]))


def of_sparse_npz(cells, folder):
    """Return the folder as text."""
    return str(_each_file(cells, folder, lambda path, rows: sp.save_npz(path, sp.csc_array(rows))))


def names_of(cells):
    """Return the names that Parquet files give the columns."""
    return [f"item {column}" for column in range(cells.shape[1])]


def of_parquet(cells, folder):
    """Columns are in another order in all files but the first, and rows have an index that says nothing."""
    names = names_of(cells)

    def save(path, rows):
        order = names if path.name.endswith("0") else names[::-1]
        pd.DataFrame(rows, columns=names)[order].set_index(np.arange(len(rows)) * 3).to_parquet(f"{path}.parquet")

    return _each_file(cells, folder, save)


KINDS = {
    "dask": of_dask,
    "dask, sparse": of_sparse_dask,
    "zarr": of_zarr,
    "zarr path": of_zarr_path,
    "npz": of_npz,
    "npz, sparse": of_sparse_npz,
    "parquet": of_parquet,
}
