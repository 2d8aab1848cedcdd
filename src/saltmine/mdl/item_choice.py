"""Which items a pattern has, and in which classes: by what shortens f, and by the evidence that is asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled
from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, Costs, item_length, specificity
from saltmine.mdl.evidence import min_item_evidence

# An item that half of the open cells or more have joins by f alone: what is frequent everywhere shows nothing, and a
# row that needs one pattern for all of it is shorter than one that needs two.
FREQUENT = 0.5
# Nats by which an item must differ between the classes that carry it and the others that use the pattern.
DIFFERENCE = 1.0


@compiled(forceinline=True)
def evidence_to_join(code: float, background: float, n_items: int) -> float:
    """Return the evidence that an item must show to join a pattern of so many items; of none, whatever it shows.

    Examples
    --------
    >>> float(evidence_to_join(3.0, 0.6, 10)), float(evidence_to_join(3.0, 0.1, 0)), evidence_to_join(3.0, 0.1, 2) > 2
    (-inf, -inf, True)
    """
    return min_item_evidence(code, 0 if background >= FREQUENT else n_items)


@compiled(forceinline=True)
def rate_length(ones: int, zeros: int) -> float:
    """Return the length of so many ones and zeros by the code of their own rate."""
    if ones == 0 or zeros == 0:
        return 0.0
    return -ones * np.log(ones / (ones + zeros)) - zeros * np.log(zeros / (ones + zeros))


@compiled(forceinline=True)
def difference(cells: Ints, i: int, some: Bools) -> float:
    """Return the log-likelihood ratio of two rates of an item, in some classes and in the others, against one.

    Zero where the rate in those classes is not higher.
    """
    ones, zeros, other_ones, other_zeros = 0, 0, 0, 0
    for a in range(len(some)):
        if some[a]:
            ones += cells[OPEN_ONES, a, i]
            zeros += cells[OPEN_ZEROS, a, i]
        else:
            other_ones += cells[OPEN_ONES, a, i]
            other_zeros += cells[OPEN_ZEROS, a, i]
    if ones * other_zeros <= other_ones * zeros:
        return 0.0
    together = rate_length(ones + other_ones, zeros + other_zeros)
    return together - rate_length(ones, zeros) - rate_length(other_ones, other_zeros)


@compiled(forceinline=True)
def may_join(
    counted: Floats,
    code: float,
    log_total: float,
    cells: Ints,
    i: int,
    errors: int,
    ratio: tuple[float, float],
    min_evidence: float,
) -> bool:
    """Say whether any choice of classes may pay for an item and show enough: few items get further."""
    most, at_most = 0, 0.0
    for a in range(cells.shape[1]):
        most += max(cells[OPEN_ONES, a, i] - cells[OPEN_ZEROS, a, i], 0)
        at_most += max(cells[OPEN_ONES, a, i] * ratio[0] + cells[OPEN_ZEROS, a, i] * ratio[1], 0.0)
    saved = item_length(counted, code, errors, log_total) - item_length(counted, code, errors - most, log_total)
    return most > 0 and saved > code and at_most >= min_evidence


@compiled(forceinline=True)
def choose_carriers(
    terms: tuple[Floats, Floats, float, float],
    cells: Ints,
    i: int,
    errors: int,
    may_alter: Bools,
    ratio: tuple[float, float],
    min_evidence: float,
    carriers: Bools,
    some: Bools,
) -> int:
    """Choose the classes that carry an item in a pattern, by what shortens f most: none, all, or some of them.

    ``terms`` are `Costs.counted`, `Costs.cross`, the code length of the item, and the logarithm of all usage and
    errors: single arrays, because numba counts references to every array of a tuple that it cannot follow. The item is
    number i of ``cells``, (3, c, ...); ``errors`` counts its errors without the pattern, ``ratio`` is the
    log-likelihood ratio of a one and of a zero. The evidence must reach ``min_evidence``.
    All classes are alike unless the data shows that they differ: some may carry it alone, out of those that
    ``may_alter``, if the others that use the pattern have it more rarely. Returns the errors with the pattern;
    ``some``, (c,), is scratch.
    """
    counted, cross, code, log_total = terms
    c = len(carriers)
    left = errors
    saved, evidence = 0, 0.0
    for a in range(c):
        carriers[a] = False
        some[a] = False
        saved += cells[OPEN_ONES, a, i] - cells[OPEN_ZEROS, a, i]
        evidence += cells[OPEN_ONES, a, i] * ratio[0] + cells[OPEN_ZEROS, a, i] * ratio[1]
    if may_join(counted, code, log_total, cells, i, errors, ratio, min_evidence):
        best = item_length(counted, code, errors, log_total)
        length = item_length(counted, code, errors - saved, log_total) + code
        if length < best and evidence >= min_evidence:
            best = length
            left = errors - saved
            for a in range(c):
                carriers[a] = True
        # The best proper subset: classes join in the order of what they gain.
        saved, evidence = 0, 0.0
        for k in range(1, c):
            joining, most = -1, 0
            for a in range(c):
                gain = cells[OPEN_ONES, a, i] - cells[OPEN_ZEROS, a, i]
                if may_alter[a] and not some[a] and gain > most:
                    joining, most = a, gain
            if joining < 0:
                break
            some[joining] = True
            saved += most
            evidence += cells[OPEN_ONES, joining, i] * ratio[0] + cells[OPEN_ZEROS, joining, i] * ratio[1]
            length = item_length(counted, code, errors - saved, log_total) + k * code
            # What takes longest comes last, and S only adds to the length.
            if length >= best or evidence < min_evidence:
                continue
            length += specificity(cross, cells, i, some)
            if length < best and difference(cells, i, some) >= DIFFERENCE:
                best = length
                left = errors - saved
                for a in range(c):
                    carriers[a] = some[a]
    return left


class ItemsWithout(NamedTuple):
    """The items as they look without a pattern, and the counts of its cells."""

    costs: Costs
    cells: Ints  # (3, c, n)
    background: Floats  # (n,): share of ones among the open cells
    errors: Ints  # (n,)
    log_total: float  # logarithm of all usage and errors
    may_alter: Bools  # (c,): classes that may add items


@compiled()
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
    c, n = carry.shape
    carriers, some = np.zeros(c, dtype=np.bool_), np.zeros(c, dtype=np.bool_)
    # Arrays are taken out of their tuples before the loop, or references to them are counted for every item.
    counted, cross, codes = items.costs.counted, items.costs.cross, items.costs.codes
    background, cells, errors, may_alter = items.background, items.cells, items.errors, items.may_alter
    log_total, (for_one, for_zero) = items.log_total, ratios
    # Most items have more zeros than ones in every class. Class by class, in the order of memory, that is soon seen.
    pays = np.zeros(n, dtype=np.bool_)
    for a in range(c):
        for i in range(n):
            pays[i] |= cells[OPEN_ONES, a, i] > cells[OPEN_ZEROS, a, i]
            carry[a, i] = False
    for i in range(n):
        left[i] = errors[i]
    # Of the others most may not join either. A loop of its own for them takes a tenth of the time.
    joining, count = np.empty(n, dtype=np.int64), 0
    for i in np.flatnonzero(pays):
        ratio, least = (for_one[i], for_zero[i]), evidence_to_join(codes[i], background[i], n_items)
        if may_join(counted, codes[i], log_total, cells, i, errors[i], ratio, least):
            joining[count] = i
            count += 1
    for i in joining[:count]:
        ratio, least = (for_one[i], for_zero[i]), evidence_to_join(codes[i], background[i], n_items)
        terms = counted, cross, codes[i], log_total
        left[i] = choose_carriers(terms, cells, i, errors[i], may_alter, ratio, least, carriers, some)
        for a in range(c):
            carry[a, i] = carriers[a]
