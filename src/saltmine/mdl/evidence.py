"""Evidence that the items of a pattern go together; in nats.

Chance knows both margins: how frequent every item is, and how large every row is, among the open cells, those that no
other pattern covers. ``exp(evidence)`` is a likelihood ratio whose mean under chance is at most one for every single
choice of rows and items; what the choice costs is subtracted. So the probability that chance shows as much anywhere is
at most ``exp(-evidence)``. `class_tests` has the other kind of evidence, that classes differ.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled
from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, Costs, count_carriers
from saltmine.mdl.typical import TYPICAL_SHARE

# Densities that the evidence of a pattern is measured against: 1/20, ..., 19/20.
DENSITIES = 20
# The level of the test is shared by two tests of a pattern: 99 % for all of its items, 1 % for the strong ones.
FOR_ALL_ITEMS, FOR_STRONG_ITEMS = float(np.log(1 / 0.99)), float(np.log(1 / 0.01))
# More than nothing.
LEAST_EVIDENCE = 1e-9


class EvidenceSums(NamedTuple):
    """The evidence of the items of every pattern, their number and their code lengths: all items, and the strong ones.

    ``[..., 0]`` are those that all classes carry, ``[..., 1 + a]`` what class a adds; of evidence ``[..., 1]`` is that
    of all items that some class adds.
    """

    evidence: Floats  # (2, R, 2)
    items: Ints  # (2, R, 1 + c)
    codes: Floats  # (2, R, 1 + c)


@compiled()
def make_evidence_sums(rank: int, n_classes: int) -> EvidenceSums:
    """Return sums of nothing."""
    return EvidenceSums(
        np.zeros((2, rank, 2)),
        np.zeros((2, rank, 1 + n_classes), dtype=np.int64),
        np.zeros((2, rank, 1 + n_classes)),
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
def item_choices(n_items: int, chosen: int, codes: float) -> float:
    """Return what the choice of so many items costs whose code lengths add up to ``codes``.

    A union bound holds for any weights of the choices that sum to at most one. Half of the weight goes by code lengths,
    which makes frequent items cheap (``exp(-u)`` sums to one over all items, so its products over sets of k items to
    at most ``1 / k!``), the other half alike to all sets of the same size.

    Examples
    --------
    >>> item_choices(10, 0, 0.0), item_choices(10, 1, 1.0) < item_choices(10, 1, 4.0)
    (0.0, True)
    """
    if chosen == 0:
        return 0.0
    by_code = codes - lgamma(chosen + 1.0)
    # Sizes have the weights 1 / (k (k + 1)), and each half of the weight costs log 2.
    return min(by_code, log_choices(n_items, chosen)) + np.log(2.0 * chosen * (chosen + 1.0))


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
    count = 0
    for i in np.flatnonzero(count_carriers(carry)):
        count += costs.weights[i]
    return count


# ------------------------------------------------------------ patterns

# Rows that a pattern must have: one in so many of all, but no more than five.
ONE_IN, ENOUGH_ROWS = 300, 5


@compiled()
def min_rows(n_rows: int) -> int:
    """Return the number of rows that a pattern must have: what two or three rows share is no pattern of many.

    Examples
    --------
    >>> min_rows(56), min_rows(150), min_rows(10_000)
    (2, 2, 5)
    """
    return min(max(n_rows // ONE_IN, 2), ENOUGH_ROWS)


@compiled()
def is_typical(used: int, n_rows: int) -> bool:
    """Say whether a pattern is the typical row of all rows or of a large part: at least two in five use it.

    It stays because it shortens f, without evidence that its items go together, and says nothing more than that they
    are frequent.

    Examples
    --------
    >>> is_typical(40, 100), is_typical(39, 100)
    (True, False)
    """
    return used >= TYPICAL_SHARE * n_rows


@compiled(forceinline=True)
def add_item_evidence(
    sums: EvidenceSums,
    s: int,
    weight: int,
    code: float,
    evidence: float,
    min_evidence: float,
    carriers: Bools,
    n_carriers: int,
) -> None:
    """Add one item to the sums of pattern ``s``; it is strong if its evidence reaches ``min_evidence``."""
    c = len(carriers)
    for strong in range(2):
        if strong == 0 or evidence >= min_evidence:
            sums.evidence[strong, s, int(n_carriers < c)] += weight * evidence
            if n_carriers == c:
                sums.items[strong, s, 0] += weight
                sums.codes[strong, s, 0] += weight * code
            else:
                for a in range(c):
                    sums.items[strong, s, 1 + a] += weight * carriers[a]
                    sums.codes[strong, s, 1 + a] += weight * carriers[a] * code


@compiled()
def evidence_from_sums(
    sums: EvidenceSums, s: int, n_items: int, class_sizes: Ints, used: Ints, shared_only: bool
) -> float:
    """Return the evidence for pattern ``s``, which so many rows of every class use.

    Frequent items add little evidence in many rows, and less than the choice of them costs. What the pattern shows
    without them, as a pattern of its own, holds for the whole: so the better of both sums counts. With ``shared_only``
    nothing counts that classes add.
    """
    best = -np.inf
    parts = 1 if shared_only else sums.items.shape[2]
    for strong in range(2):
        evidence = sums.evidence[strong, s, 0]
        if parts > 1:
            evidence += sums.evidence[strong, s, 1]
        for a in range(parts):
            evidence -= item_choices(n_items, sums.items[strong, s, a], sums.codes[strong, s, a])
        best = max(best, evidence - (FOR_STRONG_ITEMS if strong else FOR_ALL_ITEMS))
    return best - row_choices(class_sizes, used) - np.log(DENSITIES - 1.0)


@compiled()
def min_item_evidence(code: float, n_items: int) -> float:
    """Return the evidence that an item must show to pay for the choice of it, as one of so many of a pattern.

    None is asked as long as the pattern has no items. One that shows nothing pays for nothing, however cheap.
    """
    return max(code - np.log(n_items), LEAST_EVIDENCE) if n_items > 0 else -np.inf


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
def pattern_evidence(costs: Costs, carry: Bools, shown: Floats, class_sizes: Ints, used: Ints) -> float:
    """Return the evidence for a pattern from that of its items, (n,)."""
    c = len(carry)
    items = count_items(costs, carry)
    sums = make_evidence_sums(1, c)
    n_carriers = count_carriers(carry)
    for i in np.flatnonzero(n_carriers):
        least = min_item_evidence(costs.codes[i], items)
        add_item_evidence(sums, 0, costs.weights[i], costs.codes[i], shown[i], least, carry[:, i], n_carriers[i])
    return evidence_from_sums(sums, 0, costs.n_items, class_sizes, used, False)
