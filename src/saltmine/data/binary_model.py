"""A binary model, and the definition of class-specific alterations it has to satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools
from saltmine.data.folding import Weights


@dataclass(frozen=True)
class BinaryModel:
    """Patterns ``X`` (n, r), alterations ``V`` (c, n, r) and usage ``Y`` (m, r), rows stacked class by class."""

    X: Bools
    V: Bools
    Y: Bools

    @classmethod
    def empty(cls, m: int, n: int, c: int) -> BinaryModel:
        """Return the model without patterns."""
        return cls(np.zeros((n, 0), bool), np.zeros((c, n, 0), bool), np.zeros((m, 0), bool))

    @property
    def rank(self) -> int:
        """Number of patterns."""
        return int(self.X.shape[1])

    def keep(self, patterns: NDArray[np.intp] | Bools) -> BinaryModel:
        """Return the model with these patterns only, in this order."""
        return BinaryModel(self.X[:, patterns], self.V[:, :, patterns], self.Y[:, patterns])


def repair_alterations(X: Bools, V: Bools) -> Bools:
    """Set to zero what the definition forbids: items that X has already, and items that all classes carry.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[True], [False], [False]])
    >>> V = np.array([[[True], [True], [True]], [[False], [True], [False]]])
    >>> repair_alterations(X, V)[:, :, 0].astype(int)
    array([[0, 0, 1],
           [0, 0, 0]])
    """
    return V & ~(X | V.all(axis=0))


def drop_idle_parts(model: BinaryModel, blocks: list[slice]) -> BinaryModel:
    """Clear what describes no data: alterations of a class that never uses the pattern, usage where it has no items."""
    used = np.stack([model.Y[rows].any(axis=0) for rows in blocks])
    V = model.V & used[:, None, :]
    has_items = np.logical_or.reduce(model.X, axis=0) | np.logical_or.reduce(V, axis=1)
    Y = np.concatenate([model.Y[rows] & has_items[a] for a, rows in enumerate(blocks)])
    return BinaryModel(model.X, V, Y)


def drop_trivial(model: BinaryModel, weights: Weights) -> BinaryModel:
    """Remove patterns with fewer than two items or fewer than two rows of the input."""
    items = weights.items @ (model.X | model.V.any(axis=0))
    rows = weights.rows @ model.Y
    return model.keep((items >= 2) & (rows >= 2))
