"""Tests of what classes add to a pattern, among the rows that use it.

Which rows use a pattern is decided by its shared items, without the labels. Two things must be shown. An e-value
compares, for every item that a class might add, the odds of having it with those of the other classes, given how many
rows have it; which items are added is averaged out, so that their choice costs nothing. And more rows of the class must
have most of the added items than of classes that do not add them, in an exact test: so items that go together for
another reason do not count as many.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.mdl.added_items import can_shuffle, test_added
from saltmine.mdl.class_tests import MAX_STRATA, log_p_value, size_strata

# Odds of an item in the class against those in the other classes, averaged.
LOG_ODDS = np.log([3.0, 9.0, 27.0, 81.0])
# Numbers of items that a class is expected to add, averaged.
EXPECTED = (1.0, 3.0, 10.0, 30.0, 100.0)
# Rows of every class that use a pattern in a group of rows of about the same size, as a rule.
FEWEST_IN_GROUP = 5


def alteration_log_p(
    cells: Bools, classes: Indices, added: Bools, sizes: Ints, level: float, elsewhere: tuple[Ints, Ints] | None = None
) -> Floats:
    """Return the logarithm of a p-value for what every class adds to a pattern, (c,); 0 where it adds nothing.

    It is the smaller of those of two tests, doubled: the e-value sees few clear items and classes with few rows,
    shuffled labels (`added_items`) see many items none of which is clear by itself.

    Parameters
    ----------
    cells : (rows, n) bool
        Rows that use the pattern, and all items that a class might add.
    classes : (rows,) int
    added : (c, n) bool
        Which class adds which item.
    sizes : (rows,) int
        Ones of every row among items that nobody adds.
    level : float
        Of the exact test of rows that have most of the added items.
    elsewhere : two arrays or None
        Ones of every class and item, (c, n), and rows of every class, (c,), that do not use the pattern: how classes
        differ there they may differ among users.

    Examples
    --------
    >>> classes, added = np.repeat([0, 1], 20), np.array([[True, True, False], [False, False, False]])
    >>> cells = np.zeros((40, 3), dtype=bool)
    >>> cells[:20, :2] = True
    >>> log_p = alteration_log_p(cells, classes, added, np.ones(40, dtype=int), 0.01)
    >>> bool(log_p[0] < -20), float(log_p[1])
    (True, 0.0)
    """
    c, shown = len(added), np.flatnonzero(added.any(axis=0))
    log_p, rows = np.zeros(c), np.bincount(classes, minlength=c)
    if not rows.any():
        return log_p
    items, n_items = (slice(None), None) if can_shuffle(*cells.shape) else (shown, cells.shape[1])
    by_shuffling = test_added(
        cells[:, items].astype(np.uint8),
        classes,
        added[:, items],
        _groups(sizes, int(rows[rows > 0].min())),
        np.ones(added[:, items].shape[1], dtype=np.int64),
        float(np.log(level)),
        n_items,
    )
    hits = np.stack([cells[classes == a].sum(axis=0) for a in range(c)])
    for a in np.flatnonzero(added.any(axis=1) & (rows > 0)).tolist():
        # Classes that add an item as well are none to compare with.
        others = ~added
        others[a] = False
        counts = hits[a], (hits * others).sum(axis=0), int(rows[a]), rows @ others
        compared = others[:, added[a]].mean(axis=1) > 0.5
        compared[a] = True
        chosen = compared[classes]
        most = cells[chosen][:, added[a]]
        # Each class is tested.
        if _log_p_of_most(most, classes[chosen] == a, sizes[chosen]) <= np.log(level / max(c - 1, 1)):
            log_e = _log_e_values(*counts, _log_odds(elsewhere, a, others))
            # Items that the class does not add say nothing for those that it adds.
            log_p[a] = -_evidence(np.where(added[a], log_e, np.minimum(log_e, 0.0)))
    found: Floats = np.minimum(np.minimum(log_p, by_shuffling) + np.log(2), 0.0)
    return found


def _evidence(log_e: Floats) -> float:
    """Return the logarithm of an e-value that some items are added, each with a probability that is averaged."""
    n = len(log_e)
    shares = np.array([share for share in EXPECTED if share < n / 2] or [0.5]) / n
    each = [np.logaddexp(np.log1p(-share), np.log(share) + log_e).sum() for share in shares]
    return float(logsumexp(each) - np.log(len(each)))


def _log_odds(elsewhere: tuple[Ints, Ints] | None, a: int, others: Bools) -> Floats:
    """Return the logarithms of the odds of items in a class against the others, (n,), in rows without the pattern.

    Classes that have an item less often there are taken as alike.
    """
    if elsewhere is None:
        return np.zeros(others.shape[1])
    ones, rows = elsewhere
    zeros = rows[:, None] - ones
    own = np.log((ones[a] + 0.5) / (zeros[a] + 0.5))
    rest = np.log(((ones * others).sum(axis=0) + 0.5) / ((zeros * others).sum(axis=0) + 0.5))
    found: Floats = np.maximum(own - rest, 0.0)
    return found


def _log_e_values(own: Ints, others: Ints, n_own: int, n_others: Ints, usual: Floats | float = 0.0) -> Floats:
    """Return the logarithms of e-values, (k,), that a class has items with larger odds than others.

    Given how many rows have an item, chance draws those of the class from all of them, with odds of which ``usual`` are
    the logarithms.
    """
    total = own + others
    x = np.arange(n_own + 1)[:, None]
    fits = (x <= total) & (total - x <= n_others)
    ways = _log_choices(n_own, x) + _log_choices(n_others, np.clip(total - x, 0, n_others))
    ways = np.where(fits, ways + x * usual, -np.inf)
    even = logsumexp(ways, axis=0)
    ratios = [own * odds + even - logsumexp(ways + x * odds, axis=0) for odds in LOG_ODDS]
    found: Floats = logsumexp(ratios, axis=0) - np.log(len(LOG_ODDS))
    return found


def _groups(sizes: Ints, fewest: int) -> Indices:
    """Return the group of every row by its size: groups in which a class has few rows say little."""
    return size_strata(sizes, np.ones(len(sizes), dtype=np.int64), max(min(fewest // FEWEST_IN_GROUP, MAX_STRATA), 1))


def _log_p_of_most(cells: Bools, is_own: Bools, sizes: Ints) -> float:
    """Return the logarithm of a p-value that more rows of the class have at least half of the items."""
    has_most = 2 * cells.sum(axis=1) >= cells.shape[1]
    strata = _groups(sizes, int(min(is_own.sum(), (~is_own).sum())))

    def count(rows: Bools) -> Ints:
        return np.bincount(strata[rows], minlength=int(strata.max(initial=0)) + 1).astype(np.int64)

    return log_p_value(count(has_most & is_own), count(has_most), count(is_own), count(np.ones(len(sizes), dtype=bool)))


def _log_choices(n: Floats | Ints | int, k: Floats | Ints | int) -> Floats:
    found: Floats = gammaln(np.asarray(n) + 1) - gammaln(np.asarray(k) + 1) - gammaln(np.asarray(n) - k + 1)
    return found
