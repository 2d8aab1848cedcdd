"""Which items a pattern has, and in which classes: by what shortens f, and by the evidence that is asked for."""

from __future__ import annotations

from typing import NamedTuple

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints
from saltmine.mdl.code_length import Costs

# An item that half of the open cells or more have joins by f alone: what is frequent everywhere shows nothing, and a
# row that needs one pattern for all of it is shorter than one that needs two.
FREQUENT = 0.5
# Nats by which an item must differ between the classes that carry it and the others that use the pattern.
DIFFERENCE = 1.0


def evidence_to_join(code: float, background: float, n_items: int) -> float:
    """Return the evidence that an item must show to join a pattern of so many items; of none, whatever it shows.

    Examples
    --------
    >>> float(evidence_to_join(3.0, 0.6, 10)), float(evidence_to_join(3.0, 0.1, 0)), evidence_to_join(3.0, 0.1, 2) > 2
    (-inf, -inf, True)
    """
    return float(_core.evidence_to_join(code, background, n_items))


def rate_length(ones: int, zeros: int) -> float:
    """Return the length of so many ones and zeros by the code of their own rate."""
    return float(_core.rate_length(ones, zeros))


def difference(cells: Ints, i: int, some: Bools) -> float:
    """Return the log-likelihood ratio of two rates of an item, in some classes and in the others, against one.

    Zero where the rate in those classes is not higher.
    """
    return float(_core.difference_of_classes(cells, i, some))


def choose_carriers(
    terms: tuple[Floats, Floats, float, float],
    cells: Ints,
    i: int,
    errors: int,
    may_alter: Bools,
    ratio: tuple[float, float],
    min_evidence: float,
    carriers: Bools,
) -> int:
    """Choose the classes that carry an item in a pattern, by what shortens f most: none, all, or some of them.

    ``terms`` are `Costs.counted`, `Costs.cross`, the code length of the item, and the logarithm of all usage and
    errors. The item is number i of ``cells``, (3, c, ...); ``errors`` counts its errors without the pattern, ``ratio``
    is the log-likelihood ratio of a one and of a zero. The evidence must reach ``min_evidence``.
    All classes are alike unless the data shows that they differ: some may carry it alone, out of those that
    ``may_alter``, if the others that use the pattern have it more rarely. Returns the errors with the pattern.
    """
    return int(_core.carriers_of_item(*terms, cells, i, errors, may_alter, *ratio, min_evidence, carriers))


class ItemsWithout(NamedTuple):
    """The items as they look without a pattern, and the counts of its cells."""

    costs: Costs
    cells: Ints  # (3, c, n)
    background: Floats  # (n,): share of ones among the open cells
    errors: Ints  # (n,)
    log_total: float  # logarithm of all usage and errors
    may_alter: Bools  # (c,): classes that may add items


def choose_items(
    items: ItemsWithout,
    ratios: tuple[Floats, Floats],
    n_items: int,
    carry: Bools,
    left: Ints,
) -> None:
    """Choose for every item what shortens f most: not in the pattern, shared, or carried by some classes.

    The choice is written to ``carry``, (c, n), and the errors with it to ``left``. The pattern has about ``n_items``;
    0 asks for no evidence at all.
    """
    _core.items_of_pattern(*items, *ratios, n_items, carry, left)
