"""Rows that have all, or most, of the items of a pattern, whether they use it or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints
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


class AddedShares(NamedTuple):
    """How frequent added items are among the rows that have most of what classes share in the pattern, (2, c, r).

    ``[0, a, s]`` is about the rows of class a, which adds items to pattern s, ``[1, a, s]`` about those of the classes
    that do not add the same. Shares are means over the added items; NaN where a class adds nothing, or no row is there.
    """

    shares: Floats
    rows: Ints


def added_shares(
    rows: BinaryMatrix, components: Bools, alterations: Bools, numbers: Indices, n_classes: int
) -> AddedShares:
    """Return how frequent what classes add is; where they share fewer than two items, all rows count.

    Examples
    --------
    >>> rows = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=bool)
    >>> shared = np.array([[True, True, False]])
    >>> added = np.array([[[False, False, True]], [[False, False, False]]])
    >>> found = added_shares(rows, shared, added, np.array([0, 0, 1, 1]), 2)
    >>> found.shares[:, 0, 0].tolist(), found.rows[:, 0, 0].tolist()
    ([1.0, 0.0], [2, 1])
    """
    rank = len(components)
    shares = np.full((2, n_classes, rank), np.nan)
    counts = np.zeros((2, n_classes, rank), dtype=np.int64)
    adding: Bools = np.logical_or.reduce(alterations, axis=2)
    for s in np.flatnonzero(adding.any(axis=0)).tolist():
        items = np.flatnonzero(components[s])
        carrying = np.arange(rows.shape[0])
        if len(items) >= 2:
            hits = np.asarray(rows[:, items].sum(axis=1)).ravel()
            carrying = np.flatnonzero(2 * hits > len(items))
        of_class = [carrying[numbers[carrying] == a] for a in range(n_classes)]
        for a in np.flatnonzero(adding[:, s]).tolist():
            added = np.flatnonzero(alterations[a, s])
            lacking = [b for b in range(n_classes) if not alterations[b, s, added].all()]
            counts[:, a, s] = len(of_class[a]), sum(len(of_class[b]) for b in lacking)
            if len(of_class[a]):
                shares[0, a, s] = rows[of_class[a]][:, added].sum() / (len(of_class[a]) * len(added))
            ones, cells = 0, 0
            for b in lacking:
                # Of every class only the items that it does not add itself.
                items = added[~alterations[b, s, added]]
                ones, cells = ones + rows[of_class[b]][:, items].sum(), cells + len(of_class[b]) * len(items)
            if cells:
                shares[1, a, s] = ones / cells
    return AddedShares(shares, counts)
