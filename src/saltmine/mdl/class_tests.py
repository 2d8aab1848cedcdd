"""Tests of what is said about classes: that use of a pattern differs, and that a class adds items to it.

Under the null the labels say nothing: within rows of about the same size, any of them might have any label. All
p-values are for one class against all other rows that the claim is about, together. They hold for every single claim;
what the choice of a claim costs is added by `evidence.item_choices`, by `added_items` and by `correct`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.compiled import compiled
from saltmine.mdl.correction import correct
from saltmine.mdl.evidence import log_choices

# Groups of rows of about the same size.
MAX_STRATA = 8
# Fewer rows than this in a group are taken together with those of the next size.
MIN_ROWS_OF_STRATUM = 40
# With more values than this a count is bounded rather than summed up, and in a single group as if rows were drawn with
# replacement.
MAX_VALUES = 512
# Steps of Newton's method towards the best bound.
MAX_STEPS = 40


def size_strata(sizes: Ints, weights: Ints) -> Indices:
    """Return the group of every row: at most `MAX_STRATA`, by its number of ones; ``weights`` counts equal rows.

    Examples
    --------
    >>> size_strata(np.array([3, 9, 3, 4]), np.ones(4, dtype=int)).tolist()
    [0, 2, 0, 1]
    """
    group = np.unique(sizes, return_inverse=True)[1]
    count = np.bincount(group, weights)
    # The middle of the rows of every size decides, so that equal sizes stay together.
    middle = (np.cumsum(count) - count / 2) / max(count.sum(), 1)
    stratum: Indices = np.unique((MAX_STRATA * middle).astype(np.intp), return_inverse=True)[1]
    return stratum[group]


@compiled()
def cumulant(shift: float, successes: int, trials: int, rows: int) -> tuple[float, float, float]:
    """Return log E exp(shift x), and its first two derivatives, of a hypergeometric count x, or a bound of them.

    ``trials`` of the ``rows`` belong to the class, and ``successes`` of the rows are successes.
    """
    least, most = max(0, trials + successes - rows), min(trials, successes)
    if most - least > MAX_VALUES:
        # Hoeffding: no more than with replacement. The smaller of the two ways to see it.
        draws = min(trials, successes)
        chance = max(trials, successes) / rows
        tilted = chance * np.exp(shift) / (1.0 - chance + chance * np.exp(shift))
        return draws * np.log(1.0 - chance + chance * np.exp(shift)), draws * tilted, draws * tilted * (1.0 - tilted)
    log_first = log_choices(trials, least) + log_choices(rows - trials, successes - least)
    log_first -= log_choices(rows, successes)
    term, highest = log_first + shift * least, -np.inf
    terms = np.empty(most - least + 1)
    for x in range(least, most + 1):
        terms[x - least] = term
        highest = max(highest, term)
        if x < most:
            term += shift + np.log((trials - x) * (successes - x) / ((x + 1.0) * (rows - trials - successes + x + 1.0)))
    total, first, second = 0.0, 0.0, 0.0
    for x in range(least, most + 1):
        share = np.exp(terms[x - least] - highest)
        total += share
        first += share * x
        second += share * x * x
    first /= total
    return highest + np.log(total), first, second / total - first * first


@compiled()
def log_tail(observed: int, most: int, successes: Ints, trials: Ints, rows: Ints) -> float:
    """Return the logarithm of the probability of at least so many hits in all groups, at most ``most``."""
    chance = np.zeros(most + 1)
    chance[0] = 1.0
    for g in range(len(rows)):
        least, highest = max(0, trials[g] + successes[g] - rows[g]), min(trials[g], successes[g])
        so_far = chance.copy()
        chance[:] = 0.0
        for x in range(least, highest + 1):
            log_of_x = log_choices(trials[g], x) + log_choices(rows[g] - trials[g], successes[g] - x)
            of_x = np.exp(log_of_x - log_choices(rows[g], successes[g]))
            for k in range(most + 1 - x):
                chance[k + x] += so_far[k] * of_x
    return float(min(np.log(max(chance[observed:].sum(), 1e-300)), 0.0))


@compiled()
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
    observed, expected, most, log_most = 0.0, 0.0, 0.0, 0.0
    for g in range(len(hits)):
        if rows[g] == 0:
            continue
        observed += hits[g]
        expected += successes[g] * trials[g] / rows[g]
        highest = min(trials[g], successes[g])
        most += highest
        log_most += log_choices(trials[g], highest) + log_choices(rows[g] - trials[g], successes[g] - highest)
        log_most -= log_choices(rows[g], successes[g])
    if observed <= expected:
        return 0.0
    if observed >= most:
        return log_most
    if most <= MAX_VALUES:
        return log_tail(int(observed), int(most), successes, trials, rows)
    shift, low, high, best = 0.5, 0.0, np.inf, 0.0
    for _ in range(MAX_STEPS):
        length, mean, variance = 0.0, 0.0, 0.0
        for g in range(len(hits)):
            if rows[g] > 0 and successes[g] > 0 and trials[g] > 0:
                of_group = cumulant(shift, successes[g], trials[g], rows[g])
                length, mean, variance = length + of_group[0], mean + of_group[1], variance + of_group[2]
        best = min(best, length - shift * observed)
        if abs(mean - observed) < 1e-3:
            break
        if mean < observed:
            low = shift
        else:
            high = shift
        step = (observed - mean) / max(variance, 1e-9)
        shift += min(max(step, -2.0), 2.0)
        if shift <= low or shift >= high:
            shift = (low + high) / 2 if high < np.inf else low + 1.0
        if shift > 60.0:
            break
    return best


@compiled()
def join_strata(counts: Ints) -> Ints:
    """Return for every group of rows, in the order of their sizes, which it is taken together with: (groups,).

    ``counts`` are the rows of every group, (groups,).
    """
    joined = np.zeros(len(counts), dtype=np.int64)
    number, rows, left = 0, 0, counts.sum()
    for g in range(len(counts)):
        joined[g] = number
        rows += counts[g]
        left -= counts[g]
        if rows >= MIN_ROWS_OF_STRATUM and left >= MIN_ROWS_OF_STRATUM:
            number, rows = number + 1, 0
    return joined


@compiled()
def join(counts: Ints, joined: Ints) -> Ints:
    """Add up the counts, (groups, c), of groups that are taken together."""
    sums = np.zeros((joined[-1] + 1, counts.shape[1]), dtype=np.int64)
    for g in range(len(counts)):
        for a in range(counts.shape[1]):
            sums[joined[g], a] += counts[g, a]
    return sums


@compiled()
def sum_classes(counts: Ints) -> Ints:
    """Add up the counts of all classes, (groups,); numpy's sum along an axis takes much longer to compile."""
    sums = np.zeros(len(counts), dtype=np.int64)
    for g in range(len(counts)):
        for a in range(counts.shape[1]):
            sums[g] += counts[g, a]
    return sums


@compiled()
def log_p_values(hits: Ints, rows: Ints) -> Floats:
    """Test that each class has more hits than the others together: (c,); ``hits`` and ``rows`` are (groups, c)."""
    joined = join_strata(sum_classes(rows))
    hits, rows = join(hits, joined), join(rows, joined)
    all_hits, all_rows = sum_classes(hits), sum_classes(rows)
    log_p = np.zeros(hits.shape[1])
    for a in range(len(log_p)):
        log_p[a] = log_p_twice(hits[:, a].copy(), all_hits, rows[:, a].copy(), all_rows)
    return log_p


@compiled()
def log_p_twice(hits: Ints, successes: Ints, trials: Ints, rows: Ints) -> float:
    """Return the larger of two p-values, as a logarithm: among rows of the same size, and among all.

    A class of small rows has less of everything; and if one class is large by another pattern, then among rows of the
    same size it has less of everything else. Neither is a difference in the use of this pattern.
    """
    by_size = log_p_value(hits, successes, trials, rows)
    if len(rows) == 1 or by_size == 0.0:
        return by_size
    totals = np.array([hits.sum(), successes.sum(), trials.sum(), rows.sum()])
    return max(by_size, log_p_value(totals[:1], totals[1:2], totals[2:3], totals[3:]))


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
