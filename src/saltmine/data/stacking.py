"""The labelled matrix: rows stacked class by class, items that never occur left out, what is identical folded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.data.validation import BinaryMatrix
from saltmine.data.weights import Weights


@dataclass(frozen=True)
class LabelledMatrix:
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
    order: NDArray[np.intp]
    items: NDArray[np.intp]
    row_of: NDArray[np.intp]
    item_of: NDArray[np.intp]
    weights: Weights

    @property
    def n_features(self) -> int:
        """Columns of the input."""
        return len(self.item_of)

    @classmethod
    def from_rows(
        cls,
        matrix: BinaryMatrix,
        numbers: NDArray[np.intp],
        n_classes: int,
        keep_absent: bool = False,
        fold: bool = False,
        fold_rows: bool = True,
    ) -> LabelledMatrix:
        """Stack the rows by class number; inside a class they keep their order. Absent items go, unless kept.

        ``fold`` makes one of identical columns, and, with ``fold_rows``, one of identical rows of a class.

        Examples
        --------
        >>> import numpy as np
        >>> data = np.array([[1, 0, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]], dtype=bool)
        >>> stacked = LabelledMatrix.from_rows(data, np.array([1, 0, 1]), 2)
        >>> stacked.blocks, stacked.items.tolist()
        ([slice(0, 1, None), slice(1, 3, None)], [0, 2, 3])
        >>> LabelledMatrix.from_rows(data, np.array([1, 0, 1]), 2, fold=True).item_of
        array([ 0, -1,  1,  0])
        """
        # Compiled code is loaded when it is needed.
        from saltmine.data.folding import column_keys, group, row_keys, take

        m, n = matrix.shape
        item_of, items = group(column_keys(matrix)) if fold else (np.arange(n), np.arange(n))
        row_of, order = group(row_keys(matrix, numbers)) if fold and fold_rows else (np.arange(m), np.arange(m))
        if not keep_absent:
            item_of, items = _without_absent(matrix, item_of, items)
        # The rows that stay, class by class.
        stacked = np.argsort(numbers[order], kind="stable")
        row_of, order = np.argsort(stacked)[row_of], order[stacked]
        edges = np.concatenate([[0], np.cumsum(np.bincount(numbers[order], minlength=n_classes))]).tolist()
        return cls(
            matrix=take(matrix, order, items, item_of),
            blocks=[slice(edges[a], edges[a + 1]) for a in range(n_classes)],
            order=order,
            items=items,
            row_of=row_of,
            item_of=item_of,
            weights=Weights(
                np.bincount(item_of[item_of >= 0], minlength=len(items)), np.bincount(row_of, minlength=len(order))
            ),
        )


def _without_absent(
    matrix: BinaryMatrix, item_of: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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
