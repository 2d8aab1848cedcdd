"""Where a pattern may still hide: groups of similar rows and of similar items in what the model leaves uncovered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.binary.model import Bools
from saltmine.matrix.validation import BinaryMatrix

# A seed is a row, or an item, with so many others that are most like it.
NEIGHBOURS = 5


def seed_rows(residual: BinaryMatrix, most: int, rng: np.random.Generator) -> Bools:
    """Return sets of rows to start a pattern from, (k, m): at most ``most`` from rows, and as many from items.

    Likeness is the correlation of items, or rows, scaled to unit variance: two rows that share rare items are alike.
    Small patterns that the singular vectors of the data do not show (they drown in the noise of all columns) are
    still seen by their own rows.
    """
    matrix: Any = residual.astype(np.float32)
    m, n = matrix.shape
    frequency = np.asarray(matrix.mean(axis=0), dtype=np.float32).ravel()
    scale = 1 / np.sqrt(np.maximum(frequency * (1 - frequency), 1 / m))
    rows = _some(m, most, rng)
    weights = ((_dense(matrix[rows]) - frequency) * scale**2).T
    near_rows = _nearest(matrix @ weights, rows)
    from_rows = np.zeros((len(rows), m), dtype=bool)
    np.put_along_axis(from_rows, near_rows, True, axis=1)
    items = _some(n, most, rng)
    weights = _dense(matrix[:, items]) - frequency[items]
    near_items = _nearest((matrix.T @ weights) * scale[:, None], items)
    chosen = np.zeros((n, len(items)), dtype=np.float32)
    np.put_along_axis(chosen, near_items.T, 1.0, axis=0)
    from_items = near_items.shape[1] < (matrix @ chosen).T * 2
    seeds: Bools = np.concatenate([from_rows, from_items])
    enough: Bools = seeds[seeds.sum(axis=1) >= 2]
    return enough


def _some(count: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))


def _dense(matrix: Any) -> NDArray[np.float32]:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _nearest(likeness: NDArray[np.float32], own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return, for every column, its own index and those of the most alike, (columns, neighbours + 1)."""
    likeness[own, np.arange(len(own))] = np.inf
    take = min(NEIGHBOURS + 1, len(likeness))
    nearest: NDArray[np.intp] = np.argpartition(-likeness, take - 1, axis=0)[:take].T
    return nearest
