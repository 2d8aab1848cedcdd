"""Evidence that the items of a pattern go together; in nats.

Chance knows both margins: how frequent every item is, and how large every row is, among the open cells, those that no
other pattern covers. ``exp(evidence)`` is a likelihood ratio whose mean under chance is at most one for every single
choice of rows and items; what the choice costs is subtracted. So the probability that chance shows as much anywhere is
at most ``exp(-evidence)``. `class_tests` has the other kind of evidence, that classes differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints
from saltmine.mdl.code_length import Costs
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


def log_likelihood_ratio(background: float, density: float) -> tuple[float, float]:
    """Return the log-likelihood ratio of a one and of a zero: density of the pattern against that of the item.

    An item that is at least as frequent everywhere is no evidence.
    """
    ratio: tuple[float, float] = _core.ratio_of_item(background, density)
    return ratio


def log_likelihood_ratios(background: Floats, density: float, for_one: Floats, for_zero: Floats) -> None:
    """Fill in the ratios of every item."""
    rarer = (background > 0) & (background < density)
    for_one[:] = for_zero[:] = 0.0
    for_one[rarer] = np.log(density / background[rarer])
    for_zero[rarer] = np.log((1.0 - density) / (1.0 - background[rarer]))


def log_choices(size: int, chosen: int) -> float:
    """Return the logarithm of the number of subsets.

    Examples
    --------
    >>> round(log_choices(5, 2), 6) == round(float(np.log(10)), 6)
    True
    """
    return float(_core.log_choices(size, chosen))


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
    return float(_core.item_choices(n_items, chosen, codes))


def pattern_density(costs: Costs, cells: Ints, carry: Bools) -> float:
    """Return the share of ones among the open cells of a pattern, never quite 0 or 1."""
    return float(_core.density_of_pattern(costs, cells, carry))


def rounded_density(density: float) -> float:
    """Return the nearest of the densities that evidence is measured against."""
    return float(_core.rounded_density(density))


def count_items(costs: Costs, carry: Bools) -> int:
    """Count the items of the input that any class carries; ``carry`` is (c, n)."""
    return int(costs.weights @ np.logical_or.reduce(carry, axis=0))


# ------------------------------------------------------------ patterns

# Rows that a pattern must have: one in so many of all, but no more than five.
ONE_IN, ENOUGH_ROWS = 300, 5


def min_rows(n_rows: int) -> int:
    """Return the number of rows that a pattern must have: what two or three rows share is no pattern of many.

    Examples
    --------
    >>> min_rows(56), min_rows(150), min_rows(10_000)
    (2, 2, 5)
    """
    return int(_core.min_rows(n_rows))


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


def evidence_from_sums(
    sums: EvidenceSums, s: int, n_items: int, class_sizes: Ints, used: Ints, shared_only: bool
) -> float:
    """Return the evidence for pattern ``s``, which so many rows of every class use.

    Frequent items add little evidence in many rows, and less than the choice of them costs. What the pattern shows
    without them, as a pattern of its own, holds for the whole: so the better of both sums counts. With ``shared_only``
    nothing counts that classes add.
    """
    return float(_core.sum_up_evidence(sums, s, n_items, class_sizes, used, shared_only))


def min_item_evidence(code: float, n_items: int) -> float:
    """Return the evidence that an item must show to pay for the choice of it, as one of so many of a pattern.

    None is asked as long as the pattern has no items. One that shows nothing pays for nothing, however cheap.
    """
    return float(_core.min_item_evidence(code, n_items))


def row_choices(class_sizes: Ints, used: Ints) -> float:
    """Return the logarithm of the ways to choose so many rows of every class."""
    return float(_core.choices_of_rows(class_sizes, used))


def pattern_evidence(costs: Costs, carry: Bools, shown: Floats, class_sizes: Ints, used: Ints) -> float:
    """Return the evidence for a pattern from that of its items, (n,)."""
    return float(_core.evidence_of_pattern(costs, carry, shown, class_sizes, used))
