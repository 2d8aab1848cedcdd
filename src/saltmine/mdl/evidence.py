"""Evidence that chance does not explain a pattern, or its use by a class; in nats.

`alteration_tests` has the evidence for what a class adds.

Chance shuffles every item over its open cells, those that no other pattern covers. ``exp(evidence)`` is a likelihood
ratio whose mean under chance is at most one for every single choice of rows and items; the logarithm of the number of
choices is subtracted. So the probability that chance shows as much anywhere is at most ``exp(-evidence)``.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled
from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, Costs

# Densities that the evidence of a pattern is measured against: 1/20, ..., 19/20.
DENSITIES = 20
# The level of the test is shared by two tests of a pattern: 99 % for all of its items, 1 % for the strong ones.
FOR_ALL_ITEMS, FOR_STRONG_ITEMS = float(np.log(1 / 0.99)), float(np.log(1 / 0.01))


class EvidenceSums(NamedTuple):
    """The evidence of the items of every pattern, and how many they are: all items, and the strong ones."""

    evidence: Floats  # (2, R)
    shared: Ints  # (2, R): items that all classes carry
    added: Ints  # (2, R, c): items that some carry


@compiled()
def make_evidence_sums(rank: int, n_classes: int) -> EvidenceSums:
    """Return sums of nothing."""
    return EvidenceSums(
        np.zeros((2, rank)), np.zeros((2, rank), dtype=np.int64), np.zeros((2, rank, n_classes), dtype=np.int64)
    )


@compiled(error_model="numpy")
def log_likelihood_ratio(background: float, density: float) -> tuple[float, float]:
    """Return the log-likelihood ratio of a one and of a zero: density of the pattern against that of the item.

    An item that is at least as frequent everywhere is no evidence.
    """
    if 0.0 < background < density:
        return np.log(density / background), np.log((1.0 - density) / (1.0 - background))
    return 0.0, 0.0


@compiled()
def log_likelihood_ratios(background: Floats, density: float, for_one: Floats, for_zero: Floats) -> None:
    """Fill in the ratios of every item."""
    for i in range(len(background)):
        for_one[i], for_zero[i] = log_likelihood_ratio(background[i], density)


@compiled()
def log_choices(size: int, chosen: int) -> float:
    """Return the logarithm of the number of subsets.

    Examples
    --------
    >>> round(log_choices(5, 2), 6) == round(float(np.log(10)), 6)
    True
    """
    return lgamma(size + 1.0) - lgamma(chosen + 1.0) - lgamma(size - chosen + 1.0)


@compiled()
def pattern_density(costs: Costs, cells: Ints, carry: Bools) -> float:
    """Return the share of ones among the open cells of a pattern, never quite 0 or 1."""
    c, n = carry.shape
    ones, zeros = 0, 0
    for a in range(c):
        for i in range(n):
            if carry[a, i]:
                ones += costs.weights[i] * cells[OPEN_ONES, a, i]
                zeros += costs.weights[i] * cells[OPEN_ZEROS, a, i]
    return (ones + 0.5) / (ones + zeros + 1.0)


@compiled()
def rounded_density(density: float) -> float:
    """Return the nearest of the densities that evidence is measured against."""
    return min(max(round(DENSITIES * density), 1), DENSITIES - 1) / DENSITIES


@compiled()
def count_items(costs: Costs, carry: Bools) -> int:
    """Count the items of the input that any class carries; ``carry`` is (c, n)."""
    c, n = carry.shape
    count = 0
    for i in range(n):
        carried = False
        for a in range(c):
            carried |= carry[a, i]
        count += costs.weights[i] * carried
    return count


# ------------------------------------------------------------ patterns


@compiled(forceinline=True)
def add_item_evidence(
    sums: EvidenceSums, s: int, weight: int, evidence: float, min_evidence: float, carriers: Bools, n_carriers: int
) -> None:
    """Add one item to the sums of pattern ``s``; it is strong if its evidence reaches ``min_evidence``."""
    c = len(carriers)
    for strong in range(2):
        if strong == 0 or evidence >= min_evidence:
            sums.evidence[strong, s] += weight * evidence
            if n_carriers == c:
                sums.shared[strong, s] += weight
            else:
                for a in range(c):
                    sums.added[strong, s, a] += weight * carriers[a]


@compiled()
def evidence_from_sums(sums: EvidenceSums, s: int, n_items: int, class_sizes: Ints, used: Ints) -> float:
    """Return the evidence for pattern ``s``, which so many rows of every class use.

    Frequent items add little evidence in many rows, and less than the choice of them costs. What the pattern shows
    without them, as a pattern of its own, holds for the whole: so the better of both sums counts.
    """
    best = -np.inf
    for strong in range(2):
        evidence = sums.evidence[strong, s] - log_choices(n_items, sums.shared[strong, s])
        for a in range(len(class_sizes)):
            evidence -= log_choices(n_items, sums.added[strong, s, a])
        best = max(best, evidence - (FOR_STRONG_ITEMS if strong else FOR_ALL_ITEMS))
    return best - row_choices(class_sizes, used) - np.log(DENSITIES - 1.0)


@compiled()
def row_choices(class_sizes: Ints, used: Ints) -> float:
    """Return the logarithm of the ways to choose so many rows of every class."""
    c = len(class_sizes)
    # Rows are chosen from all; or it is chosen how many each class has, and then which.
    by_class = log_choices(used.sum() + c - 1, c - 1)
    for a in range(c):
        by_class += log_choices(class_sizes[a], used[a])
    return min(by_class, log_choices(class_sizes.sum(), used.sum()))


@compiled()
def pattern_evidence(
    costs: Costs, cells: Ints, carry: Bools, background: Floats, class_sizes: Ints, used: Ints
) -> float:
    """Return the evidence for a pattern from the counts of its cells."""
    c, n = carry.shape
    density = rounded_density(pattern_density(costs, cells, carry))
    min_evidence = np.log(costs.n_items / max(count_items(costs, carry), 1))
    sums = make_evidence_sums(1, c)
    carriers = np.zeros(c, dtype=np.bool_)
    for i in range(n):
        n_carriers = 0
        for a in range(c):
            carriers[a] = carry[a, i]
            n_carriers += carriers[a]
        if n_carriers > 0:
            ratio = log_likelihood_ratio(background[i], density)
            evidence = 0.0
            for a in range(c):
                if carriers[a]:
                    evidence += cells[OPEN_ONES, a, i] * ratio[0] + cells[OPEN_ZEROS, a, i] * ratio[1]
            add_item_evidence(sums, 0, costs.weights[i], evidence, min_evidence, carriers, n_carriers)
    return evidence_from_sums(sums, 0, costs.n_items, class_sizes, used)


# ------------------------------------------------------------ use by a class


@compiled()
def class_choices(n_items: int, class_size: int, used: int, items: int, carried: int, alone: int) -> float:
    """Return the logarithm of the ways in which a class can use a pattern that the other classes define.

    It chooses its rows, which ``items`` of the others it shares, and which it has alone. ``items`` counts those of any
    class, ``carried`` those of this class, and ``alone`` those of no other.
    """
    choices = log_choices(class_size, used) + log_choices(n_items, alone)
    return choices + log_choices(items - alone, carried - alone)


@compiled()
def count_class_items(costs: Costs, carry: Bools, a: int) -> tuple[int, int, int]:
    """Count the items of a pattern that any class carries, that class a carries, and that it carries alone."""
    c, n = carry.shape
    items, carried, alone = 0, 0, 0
    for i in range(n):
        n_carriers = 0
        for b in range(c):
            n_carriers += carry[b, i]
        items += costs.weights[i] * (n_carriers > 0)
        carried += costs.weights[i] * carry[a, i]
        alone += costs.weights[i] * (carry[a, i] and n_carriers == 1)
    return items, carried, alone


@compiled()
def class_evidence(
    costs: Costs, cells: Ints, carry: Bools, background: Floats, class_sizes: Ints, used: Ints, evidence: Floats
) -> None:
    """Fill in the evidence that every class uses a pattern; infinite where it does not."""
    c, n = carry.shape
    for_one, for_zero = np.zeros(n), np.zeros(n)
    log_likelihood_ratios(background, pattern_density(costs, cells, carry), for_one, for_zero)
    for a in range(c):
        evidence[a] = np.inf
        if used[a] > 0:
            items, carried, alone = count_class_items(costs, carry, a)
            evidence[a] = -class_choices(costs.n_items, class_sizes[a], used[a], items, carried, alone)
            for i in range(n):
                if carry[a, i]:
                    shown = cells[OPEN_ONES, a, i] * for_one[i] + cells[OPEN_ZEROS, a, i] * for_zero[i]
                    evidence[a] += costs.weights[i] * shown
