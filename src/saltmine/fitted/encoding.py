"""Encode rows with the patterns of a class: which patterns a row uses, and its code length in nats.

Every class has its own code table, from its rows of the training data and one average row of all classes: a pattern or
an item that is rare in a class is expensive there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Ints
from saltmine.data.threads import cut
from saltmine.data.validation import BinaryMatrix

# Pseudo-count for patterns and items that were never used: the code exists, but it is long.
PSEUDO_COUNT = 0.5
# Gains are compared after rounding, so that rounding errors never decide.
DECIMALS = 9

Nats = NDArray[np.float64]


@dataclass(frozen=True)
class CodeTable:
    """Patterns of one class, (r, n), and the code lengths of patterns and of single items in nats."""

    patterns: Bools
    pattern_nats: Nats
    item_nats: Nats

    @classmethod
    def from_counts(
        cls, patterns: Bools, usage: Ints, noise: Ints, occurs: Bools, prior: Nats | float = PSEUDO_COUNT
    ) -> CodeTable:
        """Return the table of a class from its counts of pattern usage and of errors per item.

        ``prior``, (r + n,), is added to the counts. Items that occur nowhere in the training data take no share of the
        code, so that empty columns change nothing; in new rows they cost as much as an item without errors.

        Examples
        --------
        >>> import numpy as np
        >>> table = CodeTable.from_counts(np.ones((1, 2), bool), np.array([6]), np.array([1, 1]), np.ones(2, bool))
        >>> bool(table.pattern_nats[0] < table.item_nats[0])
        True
        """
        counts = np.concatenate([usage, noise]) + prior
        total = counts[: len(usage)].sum() + counts[len(usage) :][occurs].sum()
        # A class without any ones still has codes, all equally long.
        nats = -np.log(counts / max(total, counts.min()))
        return cls(patterns, nats[: len(usage)], nats[len(usage) :])


def shared_codes(used: Ints, errors: Ints, weights: Ints | None = None) -> tuple[Nats, Nats]:
    """Return the code lengths of patterns and of items in f, which knows no classes.

    ``used``, (r,), counts the rows of every pattern, ``errors``, (n,), the errors of every item, behind each of which
    there are ``weights`` columns.

    Examples
    --------
    >>> import numpy as np
    >>> pattern_nats, item_nats = shared_codes(np.array([6]), np.array([1, 1]), np.array([1, 1]))
    >>> bool(pattern_nats[0] < item_nats[0])
    True
    """
    weights = np.ones(len(errors), dtype=np.int64) if weights is None else weights
    total = max(float(used.sum() + weights @ errors), 1.0)
    pattern_nats: Nats = np.log(total / np.maximum(used, PSEUDO_COUNT))
    item_nats: Nats = np.log(total / np.maximum(errors, PSEUDO_COUNT)) * weights
    return pattern_nats, item_nats


def class_prior(usage: Ints, noise: Ints, n_rows: int, occurs: Bools) -> Nats:
    """Return what the code of every class begins with, (r + n,): one row as it is on average over all classes.

    A small class then has codes like those of the others where its own few rows say nothing. ``usage`` is (c, r),
    ``noise`` (c, n).

    Examples
    --------
    >>> import numpy as np
    >>> class_prior(np.array([[6], [2]]), np.array([[0], [7]]), 4, np.ones(1, bool)).round(2).tolist()
    [1.99, 1.76]
    """
    counts = np.concatenate([usage.sum(axis=0), noise.sum(axis=0)]) + PSEUDO_COUNT
    counted = np.concatenate([np.ones(usage.shape[1], dtype=bool), occurs])
    # Rows without any ones say nothing about the size of one either.
    per_row = max((usage.sum() + noise.sum()) / max(n_rows, 1), PSEUDO_COUNT)
    prior: Nats = counts * (per_row / max(counts[counted].sum(), PSEUDO_COUNT))
    return prior


def lengths_left_out(rows: BinaryMatrix, usage: Bools, patterns: Bools, used: Ints, noise: Ints, prior: Nats) -> Nats:
    """Return the code lengths of rows of the fit by codes that do not know them, (m,): their own counts are taken off.

    ``usage``, (m, r), are the patterns that they use; ``used`` and ``noise`` count what the class has with them.

    Examples
    --------
    >>> import numpy as np
    >>> row, nothing = np.array([[True, True]]), np.zeros((1, 0), dtype=bool)
    >>> of_two = lengths_left_out(row, nothing, np.zeros((0, 2), bool), np.zeros(0, int), np.array([3, 1]), np.ones(2))
    >>> bool(np.isclose(of_two[0], -np.log(3 / 4) - np.log(1 / 4)))
    True
    """
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray() != 0
    parts = np.hstack([usage, dense != _covered(usage, patterns)])
    counts = np.concatenate([used, noise])
    total = (counts + prior).sum() - parts.sum(axis=1)
    nats = -np.log(np.maximum(counts - 1, 0) + prior)
    lengths: Nats = parts @ nats + parts.sum(axis=1) * np.log(np.maximum(total, prior.min()))
    return lengths


def encode(rows: BinaryMatrix, table: CodeTable) -> tuple[Bools, Nats]:
    """Return for every row the patterns that shorten its code, (m, r), and its code length in nats, (m,).

    Greedy: the pattern that saves most is added until none saves; patterns that others made superfluous are removed;
    every pattern is tried without; all of this is repeated until nothing shortens the code.
    """
    length = np.asarray(rows @ table.item_nats, dtype=np.float64).copy()
    usage = np.zeros((rows.shape[0], len(table.patterns)), dtype=bool)
    for part, terms in _panels(rows, table):
        usage[part] = _choose(*terms)
        length[part] -= _saved(usage[part], *terms)
    return usage, length


def shorten(rows: BinaryMatrix, usage: Bools, table: CodeTable) -> Bools:
    """Return the patterns that `encode` gives every row, or those it uses, (m, r), where they are shorter."""
    best = usage.copy()
    for part, terms in _panels(rows, table):
        other = _choose(*terms)
        best[part] = np.where((_saved(other, *terms) >= _saved(usage[part], *terms))[:, None], other, usage[part])
    return best


def _panels(rows: BinaryMatrix, table: CodeTable) -> Iterator[tuple[slice, tuple[Nats, Bools, Nats]]]:
    """Yield some of the rows at a time: what covering their cells saves, the patterns, and their code lengths."""
    items = np.flatnonzero(table.patterns.any(axis=0))
    if len(items) == 0:
        return
    patterns, item_nats = table.patterns[:, items], table.item_nats[items]
    for part in cut(rows.shape[0], len(items), panel_cells=1 << 22):
        panel = rows[part][:, items]
        dense = panel if isinstance(panel, np.ndarray) else panel.toarray() != 0
        # Covering a one saves its code; covering a zero costs as much.
        yield part, (np.where(dense, item_nats, -item_nats), patterns, table.pattern_nats)


def _choose(savings: Nats, patterns: Bools, pattern_nats: Nats) -> Bools:
    usage = np.zeros((len(savings), len(patterns)), dtype=bool)
    active = np.arange(len(savings))
    while len(active):
        before = usage[active]
        covered = _cover(before.copy(), savings[active], patterns, pattern_nats)
        pruned = _prune(covered, savings[active], patterns, pattern_nats)
        usage[active] = _exchange(pruned, savings[active], patterns, pattern_nats)
        active = active[(usage[active] != before).any(axis=1)]
    return usage


def _covered(usage: Bools, patterns: Bools) -> Bools:
    return np.asarray(usage.astype(np.float64) @ patterns > 0)


def _saved(usage: Bools, savings: Nats, patterns: Bools, pattern_nats: Nats) -> Nats:
    """Return how much the patterns shorten the code of every row."""
    saved: Nats = (savings * _covered(usage, patterns)).sum(axis=1) - usage @ pattern_nats
    return saved.round(DECIMALS)


def _exchange(usage: Bools, savings: Nats, patterns: Bools, pattern_nats: Nats) -> Bools:
    """Return the usage after trying every pattern of every row without: others may cover the row in fewer nats."""
    for s in range(len(patterns)):
        rows = np.flatnonzero(usage[:, s])
        if len(rows) == 0:
            continue
        trial = usage[rows]
        trial[:, s] = False
        trial = _cover(trial, savings[rows], patterns, pattern_nats, barred=s)
        # Where no other takes its place, the pattern is worth its code.
        replaced = trial.sum(axis=1) >= usage[rows].sum(axis=1)
        rows, terms = rows[replaced], (savings[rows[replaced]], patterns, pattern_nats)
        trial = _prune(trial[replaced], *terms)
        better = _saved(trial, *terms) > _saved(usage[rows], *terms)
        usage[rows[better]] = trial[better]
    return usage


def _cover(usage: Bools, savings: Nats, patterns: Bools, pattern_nats: Nats, barred: int | None = None) -> Bools:
    """Return the usage after adding the pattern with the largest gain to every row until none gains.

    The pattern ``barred`` is not added.
    """
    left = savings * ~_covered(usage, patterns)
    columns = patterns.T.astype(np.float64)
    active = np.arange(len(savings))
    while len(active):
        gains = np.round(left[active] @ columns - pattern_nats, DECIMALS)
        gains[usage[active]] = -np.inf
        if barred is not None:
            gains[:, barred] = -np.inf
        best = gains.argmax(axis=1)
        helps = gains[np.arange(len(active)), best] > 0
        active, best = active[helps], best[helps]
        usage[active, best] = True
        left[active] *= ~patterns[best]
    return usage


def _prune(usage: Bools, savings: Nats, patterns: Bools, pattern_nats: Nats) -> Bools:
    """Return the usage without the patterns whose cells that no other pattern covers do not pay for them."""
    cover_count = usage.astype(np.int64) @ patterns
    for s in np.flatnonzero(usage.any(axis=0)):
        rows = np.flatnonzero(usage[:, s])
        alone = (cover_count[rows] == 1) & patterns[s]
        gain = np.round((savings[rows] * alone).sum(axis=1) - pattern_nats[s], DECIMALS)
        superfluous = rows[gain <= 0]
        usage[superfluous, s] = False
        cover_count[superfluous] -= patterns[s]
    return usage
