"""What loops over the items of a block are given, beside its data: `core/item_blocks.cpp` has the loops.

Given who uses which pattern, the choice of one item does not depend on any other. So an item is taken up once, all
patterns are weighed for it while its few words are at hand, and nothing is kept of it but the patterns that carry it
(``masks``). The rows are then weighed for all patterns in one pass over the items.
"""

from __future__ import annotations

from typing import NamedTuple

from saltmine.arrays import Bools, Floats, Ints, Words


class Plan(NamedTuple):
    """What the choice of an item depends on besides its own column."""

    usage: Words  # (R, W)
    used: Ints  # (R, c): rows of every pattern
    density: Floats  # (R,): share of ones among the open cells of a pattern
    items: Ints  # (R,): items of every pattern, as far as they are known
    typical: Bools  # (R,): patterns that are asked for no evidence
    log_total: float  # logarithm of all usage and errors
    may_alter: Bools  # (R, c): classes that may add items


class Carriers(NamedTuple):
    """The rows that carry patterns, and groups of rows of about the same size."""

    rows: Words  # (R, W)
    strata: Words  # (G, W)
    joined: Ints  # (R, G): groups that are taken together
    sizes: Ints  # (R, G, c): rows of every group and class
