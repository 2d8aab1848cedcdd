"""Data cut into sources of blocks: slices of a matrix in memory, or delayed parts of what is read lazily."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from saltmine.arrays import Indices
from saltmine.data.lazy import LazyMatrix
from saltmine.data.stacking import Labels
from saltmine.data.threads import cut
from saltmine.data.validation import BinaryMatrix

if TYPE_CHECKING:
    from distributed import Client

# Cells of a block of data in memory: of columns, which are folded in every block, and of rows.
COLUMN_BLOCK_CELLS, ROW_BLOCK_CELLS = 1 << 24, 1 << 23
# Rows of such a block for every class there is: it counts every item by class, so short blocks of many classes count
# more cells than they have.
ROWS_PER_CLASS = 256
# Places where some rows of lazy data are read.
WINDOWS = 8


def column_sources(data: LazyMatrix | BinaryMatrix, client: Client | None, binarize: float | None) -> Sequence[Any]:
    """Cut data into blocks of columns, at least one for every thread of a cluster."""
    n_threads = count_threads(client)
    if isinstance(data, LazyMatrix):
        return data.sources(1, data.edges(1, n_threads), binarize)
    m, n = data.shape
    parts = cut(n, m, max(1, min(COLUMN_BLOCK_CELLS, m * n // n_threads)))
    columns = data if isinstance(data, np.ndarray) else sp.csc_array(data)
    return [columns[:, part] if isinstance(data, np.ndarray) else sp.csr_array(columns[:, part]) for part in parts]


def row_sources(
    data: LazyMatrix | BinaryMatrix, labels: Labels, client: Client | None, binarize: float | None, n_classes: int
) -> Sequence[Any]:
    """Cut data into blocks of rows, each with the class numbers of its rows; the search knows so many classes."""
    n_threads = count_threads(client)
    if isinstance(data, LazyMatrix):
        edges = data.edges(0, n_threads)
    else:
        m, n = data.shape
        cells = max(ROW_BLOCK_CELLS, ROWS_PER_CLASS * n_classes * n)
        edges = [0, *(part.stop for part in cut(m, n, min(cells, max(1, m * n // n_threads))))]
    # The smallest type that holds the classes: the numbers travel with the rows.
    numbers = labels.numbers.astype(np.min_scalar_type(labels.n_classes))
    classes = [numbers[begin:end] for begin, end in pairwise(edges)]
    if not isinstance(data, LazyMatrix):
        return [(data[begin:end], of) for (begin, end), of in zip(pairwise(edges), classes, strict=True)]
    # An optional extra, which lazy data comes from.
    from dask import delayed

    parts = data.sources(0, edges, binarize)
    return [delayed(tuple)([part, of]) for part, of in zip(parts, classes, strict=True)]


def count_threads(client: Client | None) -> int:
    """Count the threads of a cluster; 1 where there is none, so that blocks do not depend on this machine."""
    return 1 if client is None else max(1, sum(client.nthreads().values()))


def read_source(source: Any) -> Any:
    """Return what a block is made of; data in memory does without Dask."""
    return source.compute(scheduler="threads") if hasattr(source, "dask") else source


def read_whole(data: LazyMatrix | BinaryMatrix, binarize: float | None, client: Client | None = None) -> BinaryMatrix:
    """Return the data in this memory."""
    if not isinstance(data, LazyMatrix):
        return data
    return _read(data.sources(0, data.edges(0), binarize), client)


def read_some(
    data: LazyMatrix | BinaryMatrix, count: int, binarize: float | None, client: Client | None = None
) -> tuple[BinaryMatrix, Indices]:
    """Return about so many rows in this memory, always the same, and their numbers; of lazy data in a few windows."""
    m, rng = data.shape[0], np.random.default_rng(0)
    if not isinstance(data, LazyMatrix):
        rows = np.sort(rng.permutation(m)[:count])
        return data[rows], rows
    if m <= count:
        return read_whole(data, binarize, client), np.arange(m)
    size = -(-count // WINDOWS)
    parts = [slice(m * k // WINDOWS, m * (k + 1) // WINDOWS) for k in range(WINDOWS)]
    begins = [int(rng.integers(part.start, max(part.stop - size, part.start) + 1)) for part in parts]
    windows = [(begin, min(begin + size, part.stop)) for begin, part in zip(begins, parts, strict=True)]
    sources = [source for window in windows for source in data.sources(0, window, binarize)]
    return _read(sources, client), np.concatenate([np.arange(*window) for window in windows])


def _read(sources: list[Any], client: Client | None) -> BinaryMatrix:
    """Return delayed parts of the rows as one matrix."""
    # An optional extra, which lazy data comes from.
    from dask import compute

    parts = compute(*sources, scheduler="threads") if client is None else client.gather(client.compute(sources))
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
