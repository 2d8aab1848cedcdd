"""The labelled matrix: rows stacked class by class, items that never occur left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.matrix.validation import BinaryMatrix


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
        ``order[k]`` is the row of the input that stands in row k here.
    items : (n,) int
        ``items[i]`` is the column of the input that stands in column i here.
    n_features : int
        Columns of the input.
    """

    matrix: BinaryMatrix
    blocks: list[slice]
    order: NDArray[np.intp]
    items: NDArray[np.intp]
    n_features: int

    @classmethod
    def from_rows(
        cls, matrix: BinaryMatrix, numbers: NDArray[np.intp], n_classes: int, keep_absent: bool = False
    ) -> LabelledMatrix:
        """Stack the rows by class number; inside a class they keep their order. Absent items go, unless kept.

        Examples
        --------
        >>> import numpy as np
        >>> data = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1]], dtype=bool)
        >>> stacked = LabelledMatrix.from_rows(data, np.array([1, 0, 1]), 2)
        >>> stacked.blocks, stacked.items.tolist()
        ([slice(0, 1, None), slice(1, 3, None)], [0, 2])
        """
        order = np.argsort(numbers, kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n_classes))]).tolist()
        if keep_absent:
            items = np.arange(matrix.shape[1])
        elif isinstance(matrix, np.ndarray):
            items = np.flatnonzero(matrix.any(axis=0))
        else:
            items = np.unique(matrix.indices).astype(np.intp)
        return cls(
            matrix=matrix[order][:, items],
            blocks=[slice(edges[a], edges[a + 1]) for a in range(n_classes)],
            order=order,
            items=items,
            n_features=int(matrix.shape[1]),
        )
