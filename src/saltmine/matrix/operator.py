"""What the solver asks of the data: two products and the item counts, nothing else.

Rows are stacked class by class; ``blocks`` are the row ranges of the classes. ``D_a`` are the rows of class a.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.matrix.threads import ThreadTeam, cut
from saltmine.matrix.validation import BinaryMatrix

Floats = NDArray[np.floating]

# Below this share of ones two sparse products are faster than two dense ones.
SPARSE_DENSITY = 0.05


class Operator(Protocol):
    """A data matrix as the solver sees it."""

    shape: tuple[int, int]
    blocks: list[slice]
    item_counts: NDArray[np.int64]

    def transposed_times(self, usage: Floats) -> Floats:
        """Return ``D_a^T Y_a`` for every class, shape (c, n, r); ``usage`` is (m, r)."""

    def times(self, weights: Floats) -> Floats:
        """Return ``D_a W_a`` for every class, stacked to (m, r); ``weights`` is (c, n, r)."""


class DenseOperator:
    """Data held as a dense array, multiplied by BLAS in panels."""

    def __init__(
        self, matrix: NDArray[np.bool_], blocks: list[slice], team: ThreadTeam, dtype: type[np.floating] = np.float64
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks = blocks
        self.item_counts = np.count_nonzero(matrix, axis=0).astype(np.int64)
        self._data = np.ascontiguousarray(matrix, dtype=dtype)
        self._team = team

    def transposed_times(self, usage: Floats) -> Floats:
        """Return ``D_a^T Y_a`` for every class, panels of items side by side."""
        n, rank = self.shape[1], usage.shape[1]
        out = np.empty((len(self.blocks), n, rank), dtype=self._data.dtype)

        def panel(a: int, items: slice) -> None:
            rows = self.blocks[a]
            np.matmul(self._data[rows, items].T, usage[rows], out=out[a, items])

        self._team.run(panel, self._panels(by_items=True))
        return out

    def times(self, weights: Floats) -> Floats:
        """Return ``D_a W_a`` for every class, panels of rows side by side."""
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._data.dtype)

        def panel(a: int, rows: slice) -> None:
            np.matmul(self._data[rows], weights[a], out=out[rows])

        self._team.run(panel, self._panels(by_items=False))
        return out

    def _panels(self, by_items: bool) -> list[tuple[int, slice]]:
        n = self.shape[1]
        panels = []
        for a, rows in enumerate(self.blocks):
            size = rows.stop - rows.start
            if by_items:
                panels += [(a, items) for items in cut(n, size)]
            else:
                panels += [(a, slice(rows.start + s.start, rows.start + s.stop)) for s in cut(size, n)]
        return panels


class SparseOperator:
    """Data held as CSR panels of ``D`` and of its transpose, so that both products run over rows."""

    def __init__(
        self, matrix: sp.csr_array, blocks: list[slice], team: ThreadTeam, dtype: type[np.floating] = np.float64
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks = blocks
        self.item_counts = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
        self._team = team
        self._dtype = dtype
        self._by_rows: list[tuple[int, slice, sp.csr_array]] = []
        self._by_items: list[tuple[int, slice, sp.csr_array]] = []
        for a, block in enumerate(blocks):
            class_rows = sp.csr_array(matrix[block], dtype=dtype)
            stored = max(1, class_rows.nnz)
            for part in cut(class_rows.shape[0], stored // max(1, class_rows.shape[0])):
                rows = slice(block.start + part.start, block.start + part.stop)
                self._by_rows.append((a, rows, class_rows[part]))
            class_items = sp.csr_array(class_rows.T)
            for items in cut(class_items.shape[0], stored // max(1, class_items.shape[0])):
                self._by_items.append((a, items, class_items[items]))

    def transposed_times(self, usage: Floats) -> Floats:
        """Return ``D_a^T Y_a`` for every class, panels of items side by side."""
        out = np.empty((len(self.blocks), self.shape[1], usage.shape[1]), dtype=self._dtype)

        def panel(a: int, items: slice, transposed: sp.csr_array) -> None:
            out[a, items] = transposed @ usage[self.blocks[a]]

        self._team.run(panel, self._by_items)
        return out

    def times(self, weights: Floats) -> Floats:
        """Return ``D_a W_a`` for every class, panels of rows side by side."""
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._dtype)

        def panel(a: int, rows: slice, part: sp.csr_array) -> None:
            out[rows] = part @ weights[a]

        self._team.run(panel, self._by_rows)
        return out


def make_operator(
    matrix: BinaryMatrix, blocks: list[slice], team: ThreadTeam, dtype: type[np.floating] = np.float64
) -> DenseOperator | SparseOperator:
    """Choose the operator by the share of ones, whatever form the data came in."""
    ones = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz
    if ones < SPARSE_DENSITY * matrix.shape[0] * matrix.shape[1]:
        return SparseOperator(sp.csr_array(matrix), blocks, team, dtype)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
    return DenseOperator(dense, blocks, team, dtype)
