"""The description length f, in nats, as a function of counts; docs/method/objective.md has the formula.

f is a function of a *code*, three sums over all patterns and items: how often they are used or in error, the same plus
one for each that is, and the lengths that do not depend on the whole. Codes add up, so blocks of items can be summed.
The formulas themselves are in ``core/code_length.hpp``, where the search needs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints

Code = tuple[float, float, float]

NO_CODE = (0.0, 0.0, 0.0)

# Rows in `cells`, (3, c, n): cells of the rows of a pattern that no other pattern covers, ones and zeros, and all ones.
OPEN_ONES, OPEN_ZEROS, ONES = 0, 1, 2


class Costs(NamedTuple):
    """The constants of f."""

    weights: Ints  # (n,): columns of the input behind every item
    codes: Floats  # (n,): code length u of the items
    cross: Floats  # (c, c): weight of ones of class b under an alteration of class a
    counted: Floats  # (m+2,): -(k+1) log k, zero at 0
    n_items: int  # items of the input
    unit: float  # what all lengths are multiples of


def make_costs(
    item_counts: Ints,
    class_sizes: Sequence[int],
    weights: Ints | None = None,
    ones: int | None = None,
    n_items: int | None = None,
) -> Costs:
    """Return the constants of f.

    ``ones`` and ``n_items`` count the whole input where ``item_counts`` are those of a part of its items.
    """
    weights = np.ones(len(item_counts), dtype=np.int64) if weights is None else weights
    ones = int(weights @ item_counts) if ones is None else ones
    n_items = int(weights.sum()) if n_items is None else n_items
    unit = unit_of_lengths(ones, n_items)
    return Costs(
        weights=weights,
        codes=np.rint(item_codes(item_counts, weights, ones) / unit) * unit,
        cross=np.rint(cross_weights(class_sizes) / unit) * unit,
        counted=np.rint(count_lengths(sum(class_sizes)) / unit) * unit,
        n_items=n_items,
        unit=unit,
    )


def unit_of_lengths(ones: int, n_items: int) -> float:
    """Return what lengths are multiples of, in nats: a power of two.

    Sums of multiples are exact as long as they are below 2^52 units. So they depend neither on the order of the items
    nor on the blocks that these are in. With 64 nats for every one and every item there is room enough.

    Examples
    --------
    >>> unit_of_lengths(10_000, 100) < 1e-9, unit_of_lengths(2 * 10**7, 4 * 10**6) < 1e-6
    (True, True)
    """
    return 2.0 ** (math.ceil(math.log2(64 * (ones + n_items + 1))) - 52)


def count_lengths(n_rows: int) -> Floats:
    """Return ``-(k+1) log k`` for all counts up to ``n_rows + 1``, zero at 0."""
    counts = np.arange(1, n_rows + 2, dtype=np.float64)
    return np.concatenate([[0.0], -(counts + 1) * np.log(counts)])


def item_codes(item_counts: Ints, weights: Ints | None = None, ones: int | None = None) -> Floats:
    """Return the code length ``u_i`` of every item; infinite for one that never occurs.

    Examples
    --------
    >>> import numpy as np
    >>> item_codes(np.array([1, 3, 0])).round(3)
    array([1.386, 0.288,   inf])
    """
    if ones is None:
        ones = int(item_counts.sum() if weights is None else weights @ item_counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(item_counts > 0, -np.log(item_counts / ones), np.inf)


def cross_weights(class_sizes: Sequence[int]) -> Floats:
    """Return the weight of ones that an alteration of class a meets in class b: ``min(1, m_a / m_b) / (c - 1)``.

    However many other classes there are and however large they are, together they weigh no more than the class itself.

    Examples
    --------
    >>> cross_weights([100, 900]).round(2).tolist()
    [[0.0, 0.11], [1.0, 0.0]]
    """
    sizes = np.maximum(np.asarray(class_sizes, dtype=np.float64), 1)
    weights: Floats = np.minimum(1, sizes[:, None] / sizes) / max(len(sizes) - 1, 1)
    np.fill_diagonal(weights, 0)
    return weights


def description_length(code: Code) -> float:
    """Return f from the code of all patterns and errors."""
    return float(_core.length_of_code(*code))


def patterns_code(counted: Floats, used: Ints, extra: Floats) -> Code:
    """Return the code of patterns that so many rows use; ``extra`` is their part of the code table and of S."""
    code: Code = _core.code_of_patterns(counted, used, extra)
    return code


def errors_code(costs: Costs, errors: Ints, onto: Code) -> Code:
    """Return the code of the errors of all items, added to that of the patterns."""
    code: Code = _core.code_of_errors(costs, errors, *onto)
    return code


def count_errors(costs: Costs, errors: Ints) -> int:
    """Count the errors of all columns of the input."""
    return int(costs.weights @ errors)


def item_length(counted: Floats, code: float, errors: int, log_total: float) -> float:
    """Return the length of the errors of one item at the present size of the description."""
    return float(_core.length_of_item(counted, code, errors, log_total))


def specificity(cross: Floats, cells: Ints, i: int, carriers: Bools) -> float:
    """Return S of item i of ``cells`` as the search weighs it: ones in the classes that do not carry the item."""
    return float(_core.specificity_of_item(cross, cells, i, carriers))


def pattern_extra(costs: Costs, cells: Ints, carry: Bools) -> float:
    """Return the code table entry of a pattern and its specificity; ``carry`` is (c, n)."""
    return float(_core.extra_of_pattern(costs, cells, carry))
