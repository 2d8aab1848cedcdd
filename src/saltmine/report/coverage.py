"""How many of the ones in the data the patterns explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1000


def share_of_ones_covered(model: Any, numbers: NDArray[np.intp]) -> float:
    """Return the share of ones in cells that the model says are ones; ``numbers`` are the classes of the rows.

    The data are not kept, but the counts are: ones + covered cells = 2 covered ones + cells that are wrong.
    """
    ones = int(model.item_counts_.sum())
    if not ones or not model.n_components_:
        return 0.0
    covered = sum(
        _covered_cells(model.usage_[numbers == a], model.components_ | altered)
        for a, altered in enumerate(model.alterations_)
    )
    return (ones + covered - int(model.noise_counts_.sum())) / 2 / ones


def _covered_cells(usage: NDArray[np.bool_], patterns: NDArray[np.bool_]) -> int:
    """Count the ones of the Boolean product; equal rows and equal items are multiplied once."""
    rows, row_counts = _distinct(usage)
    items, item_counts = _distinct(patterns.T)
    right = items.T.astype(np.float32)
    cells = 0
    for begin in range(0, len(rows), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        covered = rows[chunk].astype(np.float32) @ right > 0
        cells += int(row_counts[chunk] @ (covered @ item_counts))
    return cells


def _distinct(rows: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    packed, counts = np.unique(np.packbits(rows, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=rows.shape[1]).astype(bool), counts
