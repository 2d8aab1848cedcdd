"""Row sizes: by how much the odds of a one are higher in a large row than in a usual one.

Chance gives item i of row j the log-odds ``logit(frequency_i) + shift_j``. The shift of a row is such that as many ones
are expected in it as it has; so a long document or a large basket is no pattern. Items are taken together in bins of
similar frequency.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Floats, Ints

# Bins of items by their log-odds, a quarter of a nat wide; the outer ones take the rest.
BINS, WIDTH = 81, 0.25
# Steps of Newton's method; four are the rule.
MAX_STEPS = 50
# Standard deviation of the shifts before a row is looked at: so that rows without ones or zeros have one.
PRIOR = 3.0


class FrequencyBins(NamedTuple):
    """Items in bins of similar frequency: how many, and how often they occur; sums of blocks of items add up."""

    items: Ints  # (BINS,)
    ones: Ints  # (BINS,)
    always: int  # items that every row has


def frequency_bins(item_counts: Ints, weights: Ints, n_rows: int) -> FrequencyBins:
    """Return the items in bins, without those that no row has, or every row.

    Examples
    --------
    >>> int(frequency_bins(np.array([1, 5, 5, 10]), np.ones(4, dtype=int), 10).items.sum())
    3
    """
    every = weights
    inside = (item_counts > 0) & (item_counts < n_rows)
    counts, weights = item_counts[inside], weights[inside]
    place = np.rint(np.log(counts / (n_rows - counts)) / WIDTH).astype(np.int64) + BINS // 2
    bins = np.clip(place, 0, BINS - 1)
    items, ones = (np.bincount(bins, figure, minlength=BINS) for figure in (weights, weights * counts))
    always = int(every[item_counts >= n_rows].sum())
    return FrequencyBins(np.rint(items).astype(np.int64), np.rint(ones).astype(np.int64), always)


def row_shifts(sizes: Ints, bins: FrequencyBins, n_rows: int) -> Floats:
    """Return the shift of every row from its number of ones.

    Examples
    --------
    >>> bins = frequency_bins(np.full(20, 5), np.ones(20, dtype=int), 10)
    >>> row_shifts(np.array([5, 10, 15]), bins, 10).round(1).tolist()
    [-1.1, 0.0, 1.1]
    """
    distinct, row_of = np.unique(sizes, return_inverse=True)
    some = bins.items > 0
    frequency = bins.ones[some] / (n_rows * bins.items[some])
    log_odds = np.log(frequency / (1 - frequency))
    shift = np.zeros(len(distinct))
    for _ in range(MAX_STEPS):
        chance = 1 / (1 + np.exp(-log_odds - shift[:, None]))
        expected = chance @ bins.items[some] + shift / PRIOR**2
        slope = (chance * (1 - chance)) @ bins.items[some] + 1 / PRIOR**2
        # Never far at once: the slope may change much.
        step = np.clip((distinct - bins.always - expected) / slope, -1, 1)
        shift += step
        if np.abs(step).max(initial=0) < 1e-6:
            break
    return np.asarray(shift[row_of])
