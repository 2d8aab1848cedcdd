"""What the solver asks of the data: two products and the item counts, nothing else.

Rows are stacked class by class; ``blocks`` are the row ranges of the classes. ``D_a`` are the rows of class a.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.data.weights import Weights

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]

STORAGES = ("auto", "dense", "sparse")
# From this share of ones on dense products are faster than sparse ones (benchmarks/products.py --crossing).
DENSE_FROM = 0.4
# Data of fewer cells is held dense: products take no time then, and loading compiled code takes some.
FEWEST_SPARSE_CELLS = 1 << 16
# Data that came sparse is never held dense above this size.
MOST_DENSE_BYTES = 1 << 31
# Below this share of ones scipy is faster with sparse arrays than numpy with dense ones.
SPARSE_DENSITY = 0.05

# Work on sparse data, counted in ones: how much makes a panel, and what an item of one class, and a row, cost in an
# iteration beside the products.
PANEL_WORK = 1 << 19
ITEM_WORK, ROW_WORK = 150, 60

# A factor of more items than these does not fit into the cache, and every row would fetch it anew. So panels of several
# rows go through the items strip by strip, if rows have enough ones in a strip.
ITEMS_IN_CACHE = 1 << 17
STRIP_ITEMS, STRIP_ONES, STRIP_ROWS = 1 << 12, 100, 14

# Called with the result and the part of it that is complete, in the thread that made it.
AfterItems = Callable[[Floats, slice], None]
AfterRows = Callable[[Floats, int, slice], None]


class Operator(Protocol):
    """A data matrix as the solver sees it.

    Products are with the data as it stands; ``weights`` says how many identical items and rows of the input stand
    behind one of it, and it is for the solver to multiply by them. ``item_counts`` are rows of the input.
    """

    shape: tuple[int, int]
    blocks: list[slice]
    weights: Weights
    item_counts: NDArray[np.int64]

    def transposed_times(self, usage: Floats, then: AfterItems | None = None) -> Floats:
        """Return ``D_a^T Y_a`` for every class, shape (c, n, r); ``usage`` is (m, r).

        ``then(result, items)`` is called for every panel of items, once all classes are in.
        """

    def times(self, weights: Floats, then: AfterRows | None = None) -> Floats:
        """Return ``D_a W_a`` for every class, stacked to (m, r); ``weights`` is (c, n, r).

        ``then(result, a, rows)`` is called for every panel of rows of one class.
        """


class DenseOperator:
    """Data held as a dense array, multiplied by BLAS in panels."""

    def __init__(
        self,
        matrix: NDArray[np.bool_],
        blocks: list[slice],
        team: ThreadTeam,
        dtype: type[np.floating] = np.float64,
        weights: Weights | None = None,
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks = blocks
        self.weights = weights or Weights.ones(self.shape)
        # Panel by panel: numpy would turn the whole matrix into long integers.
        self.item_counts = np.zeros(self.shape[1], dtype=np.int64)
        for rows in cut(*self.shape):
            self.item_counts += self.weights.rows[rows] @ matrix[rows]
        self._data = np.ascontiguousarray(matrix, dtype=dtype)
        self._team = team
        self._row_panels = _panels_of_rows(blocks, lambda block: cut(block.stop - block.start, self.shape[1]))

    def transposed_times(self, usage: Floats, then: AfterItems | None = None) -> Floats:
        """Return ``D_a^T Y_a`` for every class, panels of items side by side."""
        m, n = self.shape
        out = np.empty((len(self.blocks), n, usage.shape[1]), dtype=self._data.dtype)

        def panel(items: slice) -> None:
            for a, rows in enumerate(self.blocks):
                np.matmul(self._data[rows, items].T, usage[rows], out=out[a, items])
            if then is not None:
                then(out, items)

        self._team.run(panel, [(items,) for items in cut(n, m)])
        return out

    def times(self, weights: Floats, then: AfterRows | None = None) -> Floats:
        """Return ``D_a W_a`` for every class, panels of rows side by side."""
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._data.dtype)

        def panel(a: int, rows: slice) -> None:
            np.matmul(self._data[rows], weights[a], out=out[rows])
            if then is not None:
                then(out, a, rows)

        self._team.run(panel, self._row_panels)
        return out


class SparseOperator:
    """Data held as CSR, and once more as CSR of the ``D_a^T``, one below the other: both products run over rows.

    All values are one, so none are kept. Indices of 32 bits are shared with ``matrix``, not copied.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        blocks: list[slice],
        team: ThreadTeam,
        dtype: type[np.floating] = np.float64,
        weights: Weights | None = None,
    ) -> None:
        # Compiled code is loaded when it is needed: it would double the time of the import.
        from saltmine.solver.relaxed import product_kernels as kernels

        self._kernels = kernels
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks = blocks
        self.weights = weights or Weights.ones(self.shape)
        self._team = team
        self._dtype = dtype
        n_strips = _strips_of_items(matrix)
        if n_strips > 1 and not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        starts = matrix.indptr.astype(_index_type(matrix.nnz), copy=False)
        self._items = matrix.indices.astype(_index_type(max(self.shape)), copy=False)
        self._places = np.empty((n_strips + 1, self.shape[0]), dtype=starts.dtype)
        kernels.find_places(starts, self._items, STRIP_ITEMS, self._places)
        self.item_counts = np.zeros(self.shape[1], dtype=np.int64)
        item_starts, self._rows = self._transpose_and_count(starts)
        self._item_starts = item_starts[:-1].reshape(len(blocks), self.shape[1])
        self._item_ends = item_starts[1:].reshape(len(blocks), self.shape[1])
        self._item_panels = self._panels_of_items()
        self._row_panels = self._panels_of_rows(least=STRIP_ROWS if n_strips > 1 else 1)

    def _transpose_and_count(self, row_starts: Integers) -> tuple[Integers, Integers]:
        """Return starts and row numbers of the transposed classes, one below the other; fill the item counts."""
        n = self.shape[1]
        starts = np.zeros(len(self.blocks) * n + 1, dtype=row_starts.dtype)
        rows = np.empty(len(self._items), dtype=self._items.dtype)
        data = row_starts, self._items
        for a, block in enumerate(self.blocks):
            ones = starts[1 + a * n : 1 + (a + 1) * n]
            self._kernels.count_ones(*data, self.weights.rows, block.start, block.stop, ones, self.item_counts)
        np.cumsum(starts, out=starts)
        for a, block in enumerate(self.blocks):
            places = starts[a * n : (a + 1) * n].copy()
            self._kernels.transpose(*data, block.start, block.stop, places, rows)
        return starts, rows

    def _panels_of_items(self) -> list[tuple[slice]]:
        ones = (self._item_ends - self._item_starts).sum(axis=0)
        return [(items,) for items in _even_cut(ones, len(self.blocks) * ITEM_WORK)]

    def _panels_of_rows(self, least: int) -> list[tuple[int, slice]]:
        ones = self._places[-1] - self._places[0]
        return _panels_of_rows(self.blocks, lambda block: _even_cut(ones[block], ROW_WORK, least))

    def transposed_times(self, usage: Floats, then: AfterItems | None = None) -> Floats:
        """Return ``D_a^T Y_a`` for every class, panels of items side by side."""
        usage = np.ascontiguousarray(usage, dtype=self._dtype)
        out = np.empty((len(self.blocks), self.shape[1], usage.shape[1]), dtype=self._dtype)

        def panel(items: slice) -> None:
            for a in range(len(self.blocks)):
                part = self._item_starts[a, items], self._item_ends[a, items]
                self._kernels.add_rows(*part, self._rows, usage, out[a, items])
            if then is not None:
                then(out, items)

        self._team.run(panel, self._item_panels)
        return out

    def times(self, weights: Floats, then: AfterRows | None = None) -> Floats:
        """Return ``D_a W_a`` for every class, panels of rows side by side."""
        weights = np.ascontiguousarray(weights, dtype=self._dtype)
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._dtype)

        def panel(a: int, rows: slice) -> None:
            self._kernels.add_rows_by_strips(self._places, self._items, weights[a], rows.start, rows.stop, out)
            if then is not None:
                then(out, a, rows)

        self._team.run(panel, self._row_panels)
        return out


def _index_type(largest: int) -> type[np.integer]:
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def _strips_of_items(matrix: sp.csr_array) -> int:
    """Return into how many strips of items rows are cut; one, unless there are very many items."""
    m, n = matrix.shape
    n_strips = -(-int(n) // STRIP_ITEMS)
    return n_strips if n > ITEMS_IN_CACHE and matrix.nnz > STRIP_ONES * m * n_strips else 1


def _panels_of_rows(blocks: list[slice], cut_block: Callable[[slice], list[slice]]) -> list[tuple[int, slice]]:
    """Cut the rows of every class into panels; ``cut_block`` cuts one class, counting from its first row."""
    panels = []
    for a, block in enumerate(blocks):
        for part in cut_block(block):
            panels.append((a, slice(block.start + part.start, block.start + part.stop)))
    return panels


def _even_cut(ones: Integers, more: int, least: int = 1) -> list[slice]:
    """Cut rows into panels of about the same work: the ``ones`` of every row, and ``more`` for each row.

    A panel has about ``least`` rows if that is more.

    Examples
    --------
    >>> _even_cut(np.array([PANEL_WORK, 0, 0, PANEL_WORK]), 0)
    [slice(0, 1, None), slice(1, 4, None)]
    """
    work = np.cumsum(ones, dtype=np.int64) + more * np.arange(1, len(ones) + 1)
    total = int(work[-1]) if len(work) else 0
    count = max(1, min(-(-total // PANEL_WORK), len(ones) // least))
    inner = 1 + np.searchsorted(work, [total * k // count for k in range(1, count)])
    edges = np.unique([0, *inner, len(ones)]).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]


def make_operator(
    matrix: BinaryMatrix,
    blocks: list[slice],
    team: ThreadTeam,
    dtype: type[np.floating] = np.float64,
    weights: Weights | None = None,
    storage: str = "auto",
) -> DenseOperator | SparseOperator:
    """Hold the data dense or sparse, whatever form it came in.

    ``storage`` is "dense", "sparse", or "auto": what is faster by size and share of ones, unless it would be huge.
    """
    if storage not in STORAGES:
        raise ValueError(f"storage must be one of {', '.join(map(repr, STORAGES))}, not {storage!r}.")
    if storage == "sparse" or (storage == "auto" and _better_sparse(matrix, dtype)):
        return SparseOperator(sp.csr_array(matrix), blocks, team, dtype, weights)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
    return DenseOperator(dense, blocks, team, dtype, weights)


def _better_sparse(matrix: BinaryMatrix, dtype: type[np.floating]) -> bool:
    cells = int(matrix.shape[0]) * int(matrix.shape[1])
    if not isinstance(matrix, np.ndarray) and cells * np.dtype(dtype).itemsize > MOST_DENSE_BYTES:
        return True
    ones = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else int(matrix.nnz)
    return cells >= FEWEST_SPARSE_CELLS and bool(ones < DENSE_FROM * cells)
