"""Data cut into sources of blocks: slices of a matrix in memory, or delayed parts of what is read lazily."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import getitem
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


def column_sources(data: LazyMatrix | BinaryMatrix, client: Client | None, binarize: float | None) -> Iterable[Any]:
    """Cut data into blocks of columns, at least one for every thread of a cluster; those in memory one by one."""
    n_threads = count_threads(client)
    if isinstance(data, LazyMatrix):
        return data.sources(1, data.edges(1, n_threads), binarize)
    m, n = data.shape
    parts = cut(n, m, max(1, min(COLUMN_BLOCK_CELLS, m * n // n_threads)))
    return (data[:, part] for part in parts) if isinstance(data, np.ndarray) else _cut_columns(data, parts)


def _cut_columns(data: sp.csr_array, parts: Sequence[slice]) -> Iterator[sp.csr_array]:
    """Cut rows whose items are sorted: every part is a range of them, so nothing but that is copied."""
    if not data.has_sorted_indices:
        data = data.sorted_indices()
    edges = np.array([0, *(part.stop for part in parts)], dtype=data.indices.dtype)
    rows = list(pairwise(data.indptr.tolist()))
    places = np.array([begin + np.searchsorted(data.indices[begin:end], edges) for begin, end in rows]).T
    for part, ranges in zip(parts, pairwise(places.tolist()), strict=True):
        yield _cut_rows(data, list(zip(*ranges, strict=True)), part)


def _cut_rows(data: sp.csr_array, ranges: list[tuple[int, int]], part: slice) -> sp.csr_array:
    """Return the columns of a part, which every row has in this range."""
    indices = np.concatenate([data.indices[begin:end] for begin, end in ranges])
    indices -= part.start
    indptr = np.concatenate([[0], np.cumsum([end - begin for begin, end in ranges])]).astype(data.indptr.dtype)
    ones = np.ones(len(indices), dtype=data.dtype)
    return sp.csr_array((ones, indices, indptr), shape=(len(ranges), part.stop - part.start))


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


def read_rows(
    data: LazyMatrix | BinaryMatrix, rows: Indices, binarize: float | None, client: Client | None = None
) -> BinaryMatrix:
    """Return these rows in this memory; of lazy data only the chunks that have any are read."""
    if not isinstance(data, LazyMatrix):
        return data[rows]
    # An optional extra, which lazy data comes from.
    from dask import delayed

    numbers = np.sort(rows)
    parts = zip(data.sources(0, data.row_edges, binarize), pairwise(data.row_edges), strict=True)
    own = [(part, numbers[(begin <= numbers) & (numbers < end)] - begin) for part, (begin, end) in parts]
    whole = _read([delayed(getitem)(part, places) for part, places in own if len(places)], client)
    return whole[np.searchsorted(numbers, rows)]


def _read(sources: list[Any], client: Client | None) -> BinaryMatrix:
    """Return delayed parts of the rows as one matrix."""
    # An optional extra, which lazy data comes from.
    from dask import compute

    parts = compute(*sources, scheduler="threads") if client is None else client.gather(client.compute(sources))
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
