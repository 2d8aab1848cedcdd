"""Tests of alterations: whether chance explains what a class adds to a pattern."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled
from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, Costs
from saltmine.mdl.evidence import log_likelihood_ratios, pattern_density


def alteration_evidence(costs: Costs, cells: Ints, carry: Bools, background: Floats) -> Floats:
    """Return the evidence for what every class adds to a pattern, (c,); infinite where it adds nothing.

    Among the rows of the class that use the pattern, chance gives every item that the class might have added its
    background frequency. We count the added items that reach some evidence, and compare with the number that chance is
    expected to show; see `levels_evidence`.

    Infinite also where fewer than two items are shared: what a class adds is then the pattern itself, and its evidence
    that of the pattern.
    """
    shared: Bools = np.logical_and.reduce(carry, axis=0)
    evidence = np.full(len(carry), np.inf)
    if costs.weights @ shared < 2:
        return evidence
    for_one, for_zero = np.zeros(carry.shape[1]), np.zeros(carry.shape[1])
    log_likelihood_ratios(background, pattern_density(costs, cells, carry), for_one, for_zero)
    for a in np.flatnonzero((carry & ~shared).any(axis=1)):
        added = carry[a] & ~shared
        shown = (cells[OPEN_ONES, a] * for_one + cells[OPEN_ZEROS, a] * for_zero)[added]
        trials = cells[OPEN_ONES, a] + cells[OPEN_ZEROS, a]
        levels = evidence_levels(shown, costs.weights[added])
        expected = [
            expected_items(level, trials, background, for_one, for_zero, costs.weights, ~shared) for level in levels
        ]
        evidence[a] = levels_evidence(shown, costs.weights[added], levels, np.array(expected))
    return evidence


def evidence_levels(evidence: Floats, weights: Ints) -> Floats:
    """Return the levels at which added items are counted: the least evidence of all, and the median.

    ``weights`` says how many items of the input stand behind each.
    """
    order = np.argsort(evidence, kind="stable")
    so_far = np.cumsum(weights[order])
    median = int(np.searchsorted(so_far, (so_far[-1] - 1) // 2, side="right"))
    return np.unique(evidence[order[[0, median]]])


def levels_evidence(evidence: Floats, weights: Ints, levels: Floats, expected: Floats) -> float:
    """Return the evidence for the items that a class adds, at the level that tells most.

    ``expected`` is how many items chance is expected to show at each level.
    """
    found = [int(weights @ (evidence >= level)) for level in levels]
    pairs = zip(found, expected.tolist(), strict=True)
    return max(count_evidence(count, by_chance, len(levels)) for count, by_chance in pairs)


def count_evidence(found: int, expected: float, n_levels: int) -> float:
    """Return minus the logarithm of the probability that chance, which is expected to show so many items, shows more.

    The levels are taken from the items themselves, which makes chance look rarer by a factor of up to two, and there
    are ``n_levels`` of them.
    """
    if found <= expected:
        return 0.0
    p_value = gammainc(found, max(expected, 1e-300))
    return max(0.0, float(-np.log(max(p_value, 1e-300)) - np.log(2 * n_levels)))


@compiled()
def expected_items(
    level: float, trials: Ints, background: Floats, for_one: Floats, for_zero: Floats, weights: Ints, candidates: Bools
) -> float:
    """Return how many candidate items chance is expected to show with this evidence; all are (n,)."""
    expected = 0.0
    for i in range(len(trials)):
        if candidates[i] and for_one[i] > 0.0:
            expected += weights[i] * chance_of_evidence(level, trials[i], background[i], (for_one[i], for_zero[i]))
    return expected


@compiled()
def chance_of_evidence(level: float, trials: int, background: float, ratio: tuple[float, float]) -> float:
    """Return the probability that so many cells of an item show this evidence by chance.

    ``ratio`` is the log-likelihood ratio of a one and of a zero.
    """
    least = np.ceil((level - trials * ratio[1]) / (ratio[0] - ratio[1]) - 1e-9)
    return binomial_tail(int(max(least, 0.0)), trials, background)


@compiled()
def binomial_tail(least: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many successes."""
    if least <= 0:
        return 1.0
    if least > trials or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return 1.0
    # Summed up away from the most probable count, so that the first term is never too small.
    upwards = least > trials * chance
    first = least if upwards else least - 1
    log_first = first * np.log(chance) + (trials - first) * np.log(1.0 - chance)
    for k in range(first):
        log_first += np.log((trials - k) / (first - k))
    term = np.exp(log_first)
    tail, odds = term, chance / (1.0 - chance)
    if upwards:
        for k in range(first, trials):
            term *= (trials - k) / (k + 1) * odds
            tail += term
        return float(min(tail, 1.0))
    for k in range(first, 0, -1):
        term *= k / ((trials - k + 1) * odds)
        tail += term
    return float(max(1.0 - tail, 0.0))
