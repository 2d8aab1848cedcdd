"""What the solver asks of the data: two products and the item counts, nothing else.

Rows are stacked class by class; ``blocks`` are the row ranges of the classes. ``D_a`` are the rows of class a.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.matrix.threads import ThreadTeam, cut
from saltmine.matrix.validation import BinaryMatrix
from saltmine.matrix.weights import Weights

Floats = NDArray[np.floating]

# Below this share of ones two sparse products are faster than two dense ones.
SPARSE_DENSITY = 0.05


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
        self.item_counts = self.weights.rows @ matrix
        self._data = np.ascontiguousarray(matrix, dtype=dtype)
        self._team = team
        self._row_panels = _panels_of_rows(blocks, lambda block: self.shape[1])

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
    """Data held as CSR panels of ``D`` and of its transpose, so that both products run over rows."""

    def __init__(
        self,
        matrix: sp.csr_array,
        blocks: list[slice],
        team: ThreadTeam,
        dtype: type[np.floating] = np.float64,
        weights: Weights | None = None,
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks = blocks
        self.weights = weights or Weights.ones(self.shape)
        self.item_counts = matrix.T @ self.weights.rows
        self._team = team
        self._dtype = dtype
        data = sp.csr_array(matrix, dtype=dtype)
        per_row = [data[block].nnz // max(1, block.stop - block.start) for block in blocks]
        row_panels = _panels_of_rows(blocks, lambda block: per_row[blocks.index(block)])
        self._by_rows = [(a, rows, data[rows]) for a, rows in row_panels]
        transposed = [sp.csr_array(data[block].T) for block in blocks]
        per_item = max(1, data.nnz) // max(1, self.shape[1])
        self._by_items = [(items, [part[items] for part in transposed]) for items in cut(self.shape[1], per_item)]

    def transposed_times(self, usage: Floats, then: AfterItems | None = None) -> Floats:
        """Return ``D_a^T Y_a`` for every class, panels of items side by side."""
        out = np.empty((len(self.blocks), self.shape[1], usage.shape[1]), dtype=self._dtype)

        def panel(items: slice, parts: list[sp.csr_array]) -> None:
            for a, part in enumerate(parts):
                out[a, items] = part @ usage[self.blocks[a]]
            if then is not None:
                then(out, items)

        self._team.run(panel, self._by_items)
        return out

    def times(self, weights: Floats, then: AfterRows | None = None) -> Floats:
        """Return ``D_a W_a`` for every class, panels of rows side by side."""
        out = np.empty((self.shape[0], weights.shape[2]), dtype=self._dtype)

        def panel(a: int, rows: slice, part: sp.csr_array) -> None:
            out[rows] = part @ weights[a]
            if then is not None:
                then(out, a, rows)

        self._team.run(panel, self._by_rows)
        return out


def _panels_of_rows(blocks: list[slice], width: Callable[[slice], int]) -> list[tuple[int, slice]]:
    """Cut the rows of every class into panels; ``width`` is how many cells a row of the class has."""
    panels = []
    for a, block in enumerate(blocks):
        for part in cut(block.stop - block.start, width(block)):
            panels.append((a, slice(block.start + part.start, block.start + part.stop)))
    return panels


def make_operator(
    matrix: BinaryMatrix,
    blocks: list[slice],
    team: ThreadTeam,
    dtype: type[np.floating] = np.float64,
    weights: Weights | None = None,
) -> DenseOperator | SparseOperator:
    """Choose the operator by the share of ones, whatever form the data came in."""
    ones = np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz
    if ones < SPARSE_DENSITY * matrix.shape[0] * matrix.shape[1]:
        return SparseOperator(sp.csr_array(matrix), blocks, team, dtype, weights)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
    return DenseOperator(dense, blocks, team, dtype, weights)
