"""The data as a linear operator: the solver needs two products and the item counts, nothing else.

Rows are stacked class by class; ``blocks`` are the row ranges of the classes. ``D_a`` are the rows of class a.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine import _core
from saltmine.data.folding import Weights
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.solver.relaxed.device import HOST, Array, Device

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

STORAGES = ("auto", "dense", "sparse")
# From this share of ones on, dense products are faster than sparse ones (benchmarks/products.py --crossing).
MIN_DENSE_SHARE = 0.4
# Data of fewer cells is held dense: its products take no time in either form.
MIN_SPARSE_CELLS = 1 << 16
# Sparse input is never held dense above this size.
MAX_DENSE_BYTES = 1 << 31
# Below this share of ones scipy is faster with sparse arrays than numpy with dense ones.
SPARSE_DENSITY = 0.05

# Work on sparse data, in units of one stored one: the work of a panel, and the work of an iteration per item of one
# class, and per row, besides the products.
PANEL_WORK = 1 << 18
ITEM_WORK, ROW_WORK = 150, 60

# Products of fewer ones, or of fewer cells of dense data, take no longer than it takes to share them out to threads.
MIN_SHARED_CELLS = 1 << 16

# A factor of more items than this does not fit into the cache, and every row would load it again. So panels of several
# rows go through the items strip by strip, if rows have enough ones in a strip.
ITEMS_IN_CACHE = 1 << 17
STRIP_ITEMS, STRIP_ONES, STRIP_ROWS = 1 << 12, 100, 14

# Called with the result and the part of it that is complete, in the thread that computed it.
OnItems = Callable[[Floats, slice], None]
OnRows = Callable[[Floats, int, slice], None]


class Operator(Protocol):
    """A binary data matrix with its products.

    Products are those of the stored data. ``weights`` has the multiplicities of folded items and rows, which the solver
    multiplies by. ``item_counts`` count rows of the input. Factors and products are arrays of ``device``.
    """

    device: Device
    shape: tuple[int, int]
    blocks: list[slice]
    weights: Weights
    item_counts: NDArray[np.int64]

    def transposed_times(self, usage: Array) -> Array:
        """Return ``D_a^T Y_a`` for every class, shape (c, n, r); ``usage`` is (m, r)."""

    def times(self, weights: Array) -> Array:
        """Return ``D_a W_a`` for every class, stacked to (m, r); ``weights`` is (c, n, r)."""


class HostOperator(ABC):
    """Products on the processor: threads compute panels of items or of rows."""

    device: Device = HOST
    _item_panels: list[tuple[slice]]
    _row_panels: list[tuple[int, slice]]

    def __init__(
        self,
        matrix: Any,
        blocks: list[slice],
        team: ThreadTeam,
        dtype: type[np.floating] = np.float64,
        weights: Weights | None = None,
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks, self.weights = blocks, weights or Weights.ones(self.shape)
        self.item_counts = np.zeros(self.shape[1], dtype=np.int64)
        self._dtype = dtype
        cells = matrix.shape[0] * matrix.shape[1] if isinstance(matrix, np.ndarray) else matrix.nnz
        # A team that nobody opens has one thread.
        self._team = team if cells >= MIN_SHARED_CELLS else ThreadTeam(1)
        self._hold(matrix)

    @abstractmethod
    def _hold(self, matrix: Any) -> None:
        """Keep the data in the form that the products need, count the items, and cut the panels."""

    @abstractmethod
    def _multiply_items(self, items: slice, usage: Floats, out: Floats) -> None:
        """Write ``D_a^T Y_a`` for a panel of items and every class."""

    @abstractmethod
    def _multiply_rows(self, a: int, rows: slice, weights: Floats, out: Floats) -> None:
        """Write ``D_a W_a`` for a panel of rows of class a."""

    def transposed_times(self, usage: Floats, on_panel: OnItems = lambda result, items: None) -> Floats:
        """Return ``D_a^T Y_a`` for every class; see `Operator`.

        ``on_panel(result, items)`` is called for every panel of items when all classes are computed.
        """
        usage = np.ascontiguousarray(usage, dtype=self._dtype)
        out = np.empty((len(self.blocks), self.shape[1], usage.shape[1]), dtype=self._dtype)

        def panel(items: slice) -> None:
            self._multiply_items(items, usage, out)
            on_panel(out, items)

        self._team.run(panel, self._item_panels)
        return out

    def times(self, weights: Floats, on_panel: OnRows = lambda result, a, rows: None) -> Floats:
        """Return ``D_a W_a`` for every class; see `Operator`.

        ``on_panel(result, a, rows)`` is called for every panel of rows of one class.
        """
        weights = np.ascontiguousarray(weights, dtype=self._dtype)
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._dtype)

        def panel(a: int, rows: slice) -> None:
            self._multiply_rows(a, rows, weights, out)
            on_panel(out, a, rows)

        self._team.run(panel, self._row_panels)
        return out


class DenseOperator(HostOperator):
    """Data held as a dense array, multiplied by BLAS in panels."""

    def _hold(self, matrix: NDArray[np.bool_]) -> None:
        m, n = self.shape
        # Panel by panel: numpy would convert the whole matrix to 64-bit integers.
        for rows in cut(m, n):
            self.item_counts += self.weights.rows[rows] @ matrix[rows]
        self._data = np.ascontiguousarray(matrix, dtype=self._dtype)
        self._item_panels = [(items,) for items in cut(n, m)]
        self._row_panels = _row_panels(self.blocks, lambda block: cut(block.stop - block.start, n))

    def _multiply_items(self, items: slice, usage: Floats, out: Floats) -> None:
        for a, rows in enumerate(self.blocks):
            np.matmul(self._data[rows, items].T, usage[rows], out=out[a, items])

    def _multiply_rows(self, a: int, rows: slice, weights: Floats, out: Floats) -> None:
        np.matmul(self._data[rows], weights[a], out=out[rows])


class SparseOperator(HostOperator):
    """Data held as CSR, and as CSR of the stacked ``D_a^T``, so that both products run over rows.

    All values are one, so none are stored. Indices of 32 bits are shared with ``matrix``, not copied.
    """

    def _hold(self, matrix: sp.csr_array) -> None:
        n_classes, n = len(self.blocks), self.shape[1]
        n_strips = _count_strips(matrix)
        if n_strips > 1 and not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        starts = matrix.indptr.astype(np.int64, copy=False)
        self._items = matrix.indices.astype(np.int32, copy=False)
        self._strip_starts = np.empty((n_strips + 1, self.shape[0]), dtype=np.int64)
        _core.find_strip_starts(starts, self._items, STRIP_ITEMS, self._strip_starts)
        self._item_starts, self._rows = self._transpose_and_count(starts)
        ones_of_items = np.diff(self._item_starts).reshape(n_classes, n).sum(axis=0)
        self._item_panels = [(items,) for items in _balanced_panels(ones_of_items, n_classes * ITEM_WORK)]
        ones, min_rows = np.diff(starts), STRIP_ROWS if n_strips > 1 else 1
        self._row_panels = _row_panels(self.blocks, lambda block: _balanced_panels(ones[block], ROW_WORK, min_rows))

    def _transpose_and_count(self, row_starts: Integers) -> tuple[Integers, Indices]:
        """Return starts and row indices of the stacked transposed classes, and fill the item counts."""
        n, data = self.shape[1], (row_starts, self._items)
        starts = np.zeros(len(self.blocks) * n + 1, dtype=np.int64)
        rows = np.empty_like(self._items)
        for a, block in enumerate(self.blocks):
            ones = starts[1 + a * n : 1 + (a + 1) * n]
            _core.count_items(*data, self.weights.rows, block.start, block.stop, ones, self.item_counts)
        np.cumsum(starts, out=starts)
        for a, block in enumerate(self.blocks):
            ends = starts[a * n : (a + 1) * n].copy()
            _core.transpose(*data, block.start, block.stop, ends, rows)
        return starts, rows

    def _multiply_items(self, items: slice, usage: Floats, out: Floats) -> None:
        _core.multiply_items(self._item_starts, self._rows, usage, items.start, items.stop, out)

    def _multiply_rows(self, a: int, rows: slice, weights: Floats, out: Floats) -> None:
        _core.multiply_rows(self._strip_starts, self._items, weights[a], rows.start, rows.stop, out)


def _count_strips(matrix: sp.csr_array) -> int:
    """Return the number of strips of items that rows are cut into; 1 unless there are very many items."""
    m, n = matrix.shape
    n_strips = -(-int(n) // STRIP_ITEMS)
    return n_strips if n > ITEMS_IN_CACHE and matrix.nnz > STRIP_ONES * m * n_strips else 1


def _row_panels(blocks: list[slice], cut_block: Callable[[slice], list[slice]]) -> list[tuple[int, slice]]:
    """Cut the rows of every class into panels; ``cut_block`` cuts one class, counting from its first row."""
    return [
        (a, slice(block.start + part.start, block.start + part.stop))
        for a, block in enumerate(blocks)
        for part in cut_block(block)
    ]


def _balanced_panels(ones: Integers, row_work: int, min_rows: int = 1) -> list[slice]:
    """Cut rows into panels of about the same work: the ``ones`` of every row, and ``row_work`` for each row.

    A panel has at least about ``min_rows`` rows.

    Examples
    --------
    >>> _balanced_panels(np.array([PANEL_WORK, 0, 0, PANEL_WORK]), 0)
    [slice(0, 1, None), slice(1, 4, None)]
    """
    work = np.cumsum(ones, dtype=np.int64) + row_work * np.arange(1, len(ones) + 1)
    total = int(work[-1]) if len(work) else 0
    count = max(1, min(-(-total // PANEL_WORK), len(ones) // min_rows))
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
) -> HostOperator:
    """Return an operator that holds the data dense or sparse, independent of the form of ``matrix``.

    ``storage`` is "dense", "sparse", or "auto": the faster one by size and share of ones, unless it would be huge.
    """
    if storage not in STORAGES:
        raise ValueError(f"storage must be one of {', '.join(map(repr, STORAGES))}, not {storage!r}.")
    if storage == "sparse" or (storage == "auto" and _is_faster_sparse(matrix, dtype)):
        return SparseOperator(sp.csr_array(matrix), blocks, team, dtype, weights)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
    return DenseOperator(dense, blocks, team, dtype, weights)


def _is_faster_sparse(matrix: BinaryMatrix, dtype: type[np.floating]) -> bool:
    cells = int(matrix.shape[0]) * int(matrix.shape[1])
    if not isinstance(matrix, np.ndarray) and cells * np.dtype(dtype).itemsize > MAX_DENSE_BYTES:
        return True
    ones = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else int(matrix.nnz)
    return cells >= MIN_SPARSE_CELLS and bool(ones < MIN_DENSE_SHARE * cells)
