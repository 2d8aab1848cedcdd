"""Columns of the input as a block, on whatever machine: folded, packed, and solved there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.data.bits import BitMatrix, Words
from saltmine.data.stacking import LabelledMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.solver.item_block import ItemBlock, carried_model
from saltmine.solver.items import ItemFigures


class ColumnBlock(ItemBlock):
    """Some columns of the input, all rows.

    Parameters
    ----------
    matrix : bool ndarray or CSR of ones, (m, columns)
    numbers : (m,) int
        Class numbers of the rows.
    n_classes : int
    """

    def __init__(self, matrix: BinaryMatrix, numbers: NDArray[np.intp], n_classes: int) -> None:
        data = LabelledMatrix.from_rows(matrix, numbers, n_classes, fold=True, fold_rows=False)
        self._item_of = data.item_of
        super().__init__(BitMatrix(data.matrix, data.blocks, data.weights))

    def n_present(self) -> int:
        """Return how many columns have a one."""
        return int(np.count_nonzero(self._item_of >= 0))

    def sample(self, ranks: NDArray[np.intp]) -> Words:
        """Return columns, packed; ``ranks`` are their places among those that have a one."""
        return self.bits.columns[self._item_of[self._item_of >= 0][ranks]]

    def figures(self, patterns: NDArray[np.intp], usage: NDArray[np.bool_], carriers: NDArray[np.bool_]) -> ItemFigures:
        """Return what the model knows of these columns; usage and carriers of these patterns are (m, r)."""
        model = carried_model([self], patterns, usage)
        return ItemFigures.of(self.bits, model, carriers, self._item_of)
