"""The description length f, in nats, as a function of counts; docs/paper.md has the formula.

f is a function of a *code*, three sums over all patterns and items: how often they are used or in error, the same plus
one for each that is, and the lengths that do not depend on the whole. Codes add up, so blocks of items can be summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled

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
    return Costs(
        weights=weights,
        codes=item_codes(item_counts, weights, ones),
        cross=cross_weights(class_sizes),
        counted=count_lengths(sum(class_sizes)),
        n_items=int(weights.sum()) if n_items is None else n_items,
    )


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


@compiled()
def costs_of_classes(costs: Costs, classes: Ints) -> Costs:
    """Return the constants for some of the classes."""
    cross = np.empty((len(classes), len(classes)))
    for k in range(len(classes)):
        for j in range(len(classes)):
            cross[k, j] = costs.cross[classes[k], classes[j]]
    return Costs(costs.weights, costs.codes, cross, costs.counted, costs.n_items)


@compiled()
def description_length(code: Code) -> float:
    """Return f from the code of all patterns and errors."""
    total, weight, length = code
    return length + weight * np.log(max(total, 1.0))


@compiled()
def patterns_code(counted: Floats, used: Ints, extra: Floats) -> Code:
    """Return the code of patterns that so many rows use; ``extra`` is their part of the code table and of S."""
    total, weight, length = 0, 0, 0.0
    for s in range(len(used)):
        if used[s] > 0:
            total += used[s]
            weight += used[s] + 1
            length += counted[used[s]] + extra[s]
    return float(total), float(weight), length


@compiled()
def errors_code(costs: Costs, errors: Ints, onto: Code) -> Code:
    """Return the code of the errors of all items, added to that of the patterns."""
    total, weight, length = onto
    for i in range(len(errors)):
        if errors[i] > 0:
            total += costs.weights[i] * errors[i]
            weight += costs.weights[i] * (errors[i] + 1)
            length += costs.weights[i] * (costs.counted[errors[i]] + costs.codes[i])
    return total, weight, length


@compiled(forceinline=True)
def add_errors(costs: Costs, i: int, errors: int, weight: int, code: Floats) -> None:
    """Add the errors of one item, ``weight`` times, to a code of three sums."""
    if errors > 0:
        code[0] += weight * errors
        code[1] += weight * (errors + 1)
        code[2] += weight * (costs.counted[errors] + costs.codes[i])


@compiled()
def count_errors(costs: Costs, errors: Ints) -> int:
    """Count the errors of all columns of the input."""
    count = 0
    for i in range(len(errors)):
        count += costs.weights[i] * errors[i]
    return count


@compiled(forceinline=True)
def item_length(counted: Floats, code: float, errors: int, log_total: float) -> float:
    """Return the length of the errors of one item at the present size of the description."""
    if errors == 0:
        return 0.0
    return counted[errors] + code + (errors + 1) * log_total


@compiled(forceinline=True)
def specificity(cross: Floats, cells: Ints, i: int, carriers: Bools) -> float:
    """Return S of item i of ``cells`` as the search weighs it: ones in the classes that do not carry the item."""
    term = 0.0
    for a in range(len(carriers)):
        if carriers[a]:
            for b in range(len(carriers)):
                if not carriers[b]:
                    term += cross[a, b] * cells[ONES, b, i]
    return term


@compiled()
def count_carriers(carry: Bools) -> Ints:
    """Count the classes that carry every item, (n,); ``carry`` is (c, n).

    Examples
    --------
    >>> import numpy as np
    >>> count_carriers(np.array([[True, False, True], [True, False, False]]))
    array([2, 0, 1])
    """
    c, n = carry.shape
    counts = np.zeros(n, dtype=np.int64)
    # Class by class, in the order of the memory.
    for a in range(c):
        for i in range(n):
            counts[i] += carry[a, i]
    return counts


@compiled()
def pattern_extra(costs: Costs, cells: Ints, carry: Bools) -> float:
    """Return the code table entry of a pattern and its specificity; ``carry`` is (c, n)."""
    extra = 0.0
    n_carriers = count_carriers(carry)
    items: Ints = np.flatnonzero(n_carriers)
    for i in items:
        if n_carriers[i] == len(carry):
            extra += costs.weights[i] * costs.codes[i]
        else:
            own = specificity(costs.cross, cells, i, carry[:, i])
            extra += costs.weights[i] * (n_carriers[i] * costs.codes[i] + own)
    return extra
