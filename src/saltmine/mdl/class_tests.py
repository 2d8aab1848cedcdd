"""Tests of what is said about classes: that use of a pattern differs, and that a class adds items to it.

Under the null the labels say nothing: within rows of about the same size, any of them might have any label. All
p-values are for one class against all other rows that the claim is about, together. They hold for every single claim;
what the choice of a claim costs is added by `evidence.item_choices`, by `added_items` and by `correct`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.mdl.correction import correct

# Groups of rows of about the same size.
MAX_STRATA = 8


def size_strata(sizes: Ints, weights: Ints, most: int = MAX_STRATA) -> Indices:
    """Return the group of every row: at most ``most``, by its number of ones; ``weights`` counts equal rows.

    Examples
    --------
    >>> size_strata(np.array([3, 9, 3, 4]), np.ones(4, dtype=int)).tolist()
    [0, 2, 0, 1]
    """
    group = np.unique(sizes, return_inverse=True)[1]
    count = np.bincount(group, weights)
    # The middle of the rows of every size decides, so that equal sizes stay together.
    middle = (np.cumsum(count) - count / 2) / max(count.sum(), 1)
    stratum: Indices = np.unique((min(most, MAX_STRATA) * middle).astype(np.intp), return_inverse=True)[1]
    return stratum[group]


def vary_in_size(sizes: Ints, item_counts: Ints) -> bool:
    """Return whether rows vary in size by more than independent items make them.

    In a table of categories they vary by less; there the number of other items says which of some a row has.

    Examples
    --------
    >>> vary_in_size(np.array([1, 1, 1, 1]), np.array([2, 2])), vary_in_size(np.array([0, 2, 0, 2]), np.array([2, 2]))
    (False, True)
    """
    share = np.asarray(item_counts) / len(sizes)
    return bool(np.var(sizes) > (share * (1 - share)).sum())


def log_p_value(hits: Ints, successes: Ints, trials: Ints, rows: Ints) -> float:
    """Return the logarithm of a bound on the probability of at least so many hits, summed over groups of rows.

    In every group ``trials`` of the ``rows`` belong to the class, ``successes`` of the rows are successes, ``hits`` of
    those are in the class; all are (groups,). Chance draws the successes from the rows of every group. With few hits it
    is the probability itself, with many Chernoff's bound.

    Examples
    --------
    >>> one = lambda k: np.array([k])
    >>> round(float(np.exp(log_p_value(one(3), one(3), one(4), one(8)))), 4)  # 4 / 56
    0.0714
    """
    return float(_core.log_p_value(hits, successes, trials, rows))


def join_strata(counts: Ints) -> Ints:
    """Return for every group of rows, in the order of their sizes, which it is taken together with: (groups,).

    ``counts`` are the rows of every group, (groups,).

    Examples
    --------
    >>> join_strata(np.array([50, 10, 30, 80])).tolist()
    [0, 1, 1, 2]
    """
    joined: Ints = _core.join_strata(counts)
    return joined


def join(counts: Ints, joined: Ints) -> Ints:
    """Add up the counts, (groups, c), of groups that are taken together.

    Examples
    --------
    >>> join(np.array([[1, 2], [3, 4], [5, 6]]), np.array([0, 1, 1])).tolist()
    [[1, 2], [8, 10]]
    """
    sums: Ints = _core.join(np.ascontiguousarray(counts), joined)
    return sums.reshape(-1, counts.shape[1])


def log_p_values(hits: Ints, rows: Ints) -> Floats:
    """Test that each class has more hits than the others together: (c,); ``hits`` and ``rows`` are (groups, c).

    The larger of two p-values counts, among rows of the same size, and among all. A class of small rows has less of
    everything; and if one class is large by another pattern, then among rows of the same size it has less of everything
    else. Neither is a difference in the use of this pattern.
    """
    log_p: Floats = _core.log_p_values(hits, rows)
    return log_p


def count_by_stratum(rows: Bools, classes: Indices, n_classes: int, strata: Indices) -> Ints:
    """Count rows in every group of rows of a size and every class, (r, G, c); ``rows`` is (m, r)."""
    n_strata = int(strata.max(initial=0)) + 1
    group = strata * n_classes + classes
    counts = [np.bincount(group[chosen], minlength=n_strata * n_classes) for chosen in rows.T]
    return np.array(counts, dtype=np.int64).reshape(rows.shape[1], n_strata, n_classes)


def use_log_p(carriers: Bools, classes: Indices, n_classes: int, strata: Indices) -> Floats:
    """Test that a larger share of each class carries each pattern than of all other rows, (c, r).

    Examples
    --------
    >>> classes = np.repeat([0, 1], 10)
    >>> log_p = use_log_p((classes == 0)[:, None], classes, 2, np.zeros(20, dtype=int))
    >>> log_p.round(2).tolist()  # one of 184,756 ways to choose ten rows
    [[-12.13], [0.0]]
    """
    everyone = count_by_stratum(np.ones((len(classes), 1), dtype=bool), classes, n_classes, strata)[0]
    hits = count_by_stratum(carriers, classes, n_classes, strata)
    found = [log_p_values(of_pattern, everyone) for of_pattern in hits]
    return np.array(found, dtype=np.float64).reshape(-1, n_classes).T


class Claims(NamedTuple):
    """p- and q-values of what is said about classes, (c, r) each.

    That a class uses a pattern more than the others, and that it adds items; NaN where it adds none, or where there is
    only one class.
    """

    use_p: Floats
    use_q: Floats
    added_p: Floats
    added_q: Floats

    def keep(self, patterns: Indices) -> Claims:
        """Return the claims about these patterns, in this order."""
        return Claims(*(figures[:, patterns] for figures in self))

    def of_classes(self, classes: Indices) -> Claims:
        """Return the claims about these classes, in this order."""
        return Claims(*(figures[classes] for figures in self))


def make_claims(use: Floats, choice: Floats, added: Floats, adding: Bools) -> Claims:
    """Return all claims of a model from the logarithms of its p-values, (c, r).

    ``choice``, (r,), is what the choice of the items of a pattern costs where only the labels speak for it, else 0.
    """
    if len(use) < 2:
        nothing = np.full(use.shape, np.nan)
        return Claims(nothing, nothing, nothing, nothing)
    log_p = np.stack([np.minimum(use + choice, 0.0), np.where(adding, added, 0.0)])
    p, q = np.exp(log_p), np.exp(correct(log_p))
    return Claims(p[0], q[0], np.where(adding, p[1], np.nan), np.where(adding, q[1], np.nan))
