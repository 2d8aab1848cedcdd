"""Weights: how many identical items, and identical rows, of the input stand behind one of the folded data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Weights:
    """How often every item, (n,), and every row, (m,), of folded data occurs in the input."""

    items: Counts
    rows: Counts

    @classmethod
    def ones(cls, shape: tuple[int, int]) -> Weights:
        """Return the weights of data that is not folded.

        Examples
        --------
        >>> Weights.ones((2, 3)).shape
        (2, 3)
        """
        m, n = shape
        return cls(np.ones(n, dtype=np.int64), np.ones(m, dtype=np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and items of the input."""
        return int(self.rows.sum()), int(self.items.sum())

    def class_sizes(self, blocks: list[slice]) -> list[int]:
        """Return the rows that every class has in the input."""
        return [int(self.rows[block].sum()) for block in blocks]
