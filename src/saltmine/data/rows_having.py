"""Rows that have all, or most, of the items of a pattern, whether they use it or not."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Bools, Indices, Ints
from saltmine.data.threads import cut
from saltmine.data.validation import BinaryMatrix

# Cells of the rows that are looked at together.
PART_CELLS = 1 << 24


def count_rows_having(rows: BinaryMatrix, patterns: Bools, numbers: Indices, n_classes: int) -> tuple[Ints, Ints]:
    """Count the rows of every class that have all items of every pattern, and more than half of them, (c, r) each.

    ``patterns`` is (r, n), ``numbers`` are the classes of the rows.

    Examples
    --------
    >>> rows = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=bool)
    >>> [counts.tolist() for counts in count_rows_having(rows, np.ones((1, 3), dtype=bool), np.array([0, 0, 1]), 2)]
    [[[1], [0]], [[2], [0]]]
    """
    items = np.flatnonzero(patterns.any(axis=0))
    members = np.ascontiguousarray(patterns[:, items].T).astype(np.float32)
    sizes = patterns.sum(axis=1)
    having_all, having_most = (np.zeros((n_classes, len(patterns)), dtype=np.int64) for _ in range(2))
    for part in cut(rows.shape[0], max(len(items), len(patterns), 1), PART_CELLS):
        hits = np.asarray(rows[part][:, items].astype(np.float32) @ members)
        for a in range(n_classes):
            own = hits[numbers[part] == a]
            having_all[a] += np.count_nonzero(own >= sizes, axis=0)
            having_most[a] += np.count_nonzero(2 * own > sizes, axis=0)
    return having_all, having_most
