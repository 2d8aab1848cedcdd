"""Another order of rows, items, classes and groups, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Floats, Indices
from saltmine.data.validation import BinaryMatrix


@dataclass(frozen=True)
class Order:
    """What stands at every place, by its number in the input; None where all is as it was.

    Attributes
    ----------
    rows, items, classes, groups : (k,) int or None
    """

    rows: Indices | None = None
    items: Indices | None = None
    classes: Indices | None = None
    groups: Indices | None = None

    @property
    def back(self) -> Order:
        """The order that leads back to the input."""
        parts = (None if part is None else inverse(part) for part in (self.rows, self.items, self.classes, self.groups))
        return Order(*parts)

    def sort_rows(self, figures: NDArray[Any]) -> NDArray[Any]:
        """Return figures of rows, (m, ...), in this order."""
        return figures if self.rows is None else figures[self.rows]

    def sort_groups(self, numbers: Indices) -> Indices:
        """Return the numbers of the groups of all rows in this order."""
        numbers = self.sort_rows(numbers)
        return numbers if self.groups is None else inverse(self.groups)[numbers]

    def sort_classes(self, figures: Floats) -> Floats:
        """Return figures of classes, (c, ...), in this order."""
        return figures if self.classes is None else figures[self.classes]

    def sort(self, matrix: BinaryMatrix) -> BinaryMatrix:
        """Return data with rows and items in this order."""
        rows, items = (
            np.arange(size) if order is None else order
            for order, size in zip((self.rows, self.items), matrix.shape, strict=True)
        )
        if isinstance(matrix, np.ndarray):
            return np.ascontiguousarray(matrix[np.ix_(rows, items)])
        taken = sp.csr_array(matrix[rows])
        places = inverse(items).astype(taken.indices.dtype)[taken.indices]
        # In rising order: sums over a row are made in the order of its entries.
        moved = sp.csr_array((taken.data, places, taken.indptr), shape=matrix.shape)
        moved.sort_indices()
        return moved


def inverse(order: Indices) -> Indices:
    """Return the place of everything that an order has.

    Examples
    --------
    >>> inverse(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
