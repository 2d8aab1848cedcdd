"""Rows stacked class by class, items that never occur left out, identical rows and columns folded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Indices
from saltmine.data.folding import Weights, column_keys, group, row_keys, take
from saltmine.data.order import Order, inverse
from saltmine.data.validation import BinaryMatrix


@dataclass(frozen=True)
class Labels:
    """The class numbers of the rows of the input.

    Examples
    --------
    >>> import numpy as np
    >>> Labels(np.array([1, 0, 1]), 2).blocks()
    [slice(0, 1, None), slice(1, 3, None)]
    """

    numbers: Indices
    n_classes: int

    def merged(self) -> Labels:
        """Return labels with all rows in one class."""
        return Labels(np.zeros_like(self.numbers), 1)

    def sort(self, order: Order) -> Labels:
        """Return the labels of rows, and the numbers of classes, in another order.

        Examples
        --------
        >>> import numpy as np
        >>> Labels(np.array([1, 0, 1]), 2).sort(Order(rows=np.array([1, 0, 2]), classes=np.array([1, 0]))).numbers
        array([1, 0, 0])
        """
        numbers = order.sort_rows(self.numbers)
        return Labels(numbers if order.classes is None else inverse(order.classes)[numbers], self.n_classes)

    def blocks(self) -> list[slice]:
        """Return the rows of every class, stacked class by class."""
        return class_blocks(self.numbers, self.n_classes)

    def count(self, usage: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the rows of every class that use every pattern, (c, r); ``usage`` is (m, r)."""
        return np.stack([usage[self.numbers == a].sum(axis=0) for a in range(self.n_classes)])


def class_blocks(numbers: Indices, n_classes: int) -> list[slice]:
    """Return the rows of every class after stacking."""
    edges = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n_classes))]).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]


@dataclass(frozen=True)
class StackedMatrix:
    """Binary data in the form that all later stages work on.

    Attributes
    ----------
    matrix : bool ndarray or CSR of ones, (m, n)
        Rows of class 0 first, then class 1, ...; every item occurs.
    blocks : list of slice
        The rows of each class.
    order : (m,) int
        ``order[k]`` is the row of the input that stands in row k here, the first of those that are folded to one.
    items : (n,) int
        ``items[i]`` is the column of the input that stands in column i here, likewise.
    row_of : (rows of the input,) int
        Where every row of the input stands here.
    item_of : (columns of the input,) int
        Where every column of the input stands here; -1 for one that never occurs.
    weights : Weights
        How many rows and columns of the input stand behind every one here.
    """

    matrix: BinaryMatrix
    blocks: list[slice]
    order: Indices
    items: Indices
    row_of: Indices
    item_of: Indices
    weights: Weights

    @classmethod
    def from_rows(
        cls,
        matrix: BinaryMatrix,
        numbers: Indices,
        n_classes: int,
        keep_absent: bool = False,
        fold: bool = False,
        fold_rows: bool = True,
    ) -> StackedMatrix:
        """Stack the rows by class number; inside a class they keep their order. Absent items go, unless kept.

        ``fold`` makes one of identical columns, and, with ``fold_rows``, one of identical rows of a class.

        Examples
        --------
        >>> import numpy as np
        >>> data = np.array([[1, 0, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]], dtype=bool)
        >>> stacked = StackedMatrix.from_rows(data, np.array([1, 0, 1]), 2)
        >>> stacked.blocks, stacked.items.tolist()
        ([slice(0, 1, None), slice(1, 3, None)], [0, 2, 3])
        >>> StackedMatrix.from_rows(data, np.array([1, 0, 1]), 2, fold=True).item_of
        array([ 0, -1,  1,  0])
        """
        m, n = matrix.shape
        item_of, items = group(column_keys(matrix)) if fold else (np.arange(n), np.arange(n))
        row_of, order = group(row_keys(matrix, numbers)) if fold and fold_rows else (np.arange(m), np.arange(m))
        if not keep_absent:
            item_of, items = _without_absent(matrix, item_of, items)
        # The rows that stay, class by class.
        stacked = np.argsort(numbers[order], kind="stable")
        row_of, order = np.argsort(stacked)[row_of], order[stacked]
        return cls(
            matrix=take(matrix, order, items, item_of),
            blocks=class_blocks(numbers[order], n_classes),
            order=order,
            items=items,
            row_of=row_of,
            item_of=item_of,
            weights=Weights(
                np.bincount(item_of[item_of >= 0], minlength=len(items)), np.bincount(row_of, minlength=len(order))
            ),
        )


def _without_absent(matrix: BinaryMatrix, item_of: Indices, items: Indices) -> tuple[Indices, Indices]:
    """Leave out the items that never occur, and number the others anew."""
    if isinstance(matrix, np.ndarray):
        occurs = np.logical_or.reduce(matrix, axis=0)[items]
    else:
        somewhere = np.zeros(matrix.shape[1], dtype=bool)
        somewhere[matrix.indices] = True
        occurs = somewhere[items]
    if occurs.all():
        return item_of, items
    number = np.where(occurs, np.cumsum(occurs) - 1, -1)
    return number[item_of], items[occurs]
