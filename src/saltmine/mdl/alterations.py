"""What chance explains: evidence for the alterations of a pattern; that of whole patterns is in `kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc


class Cells(NamedTuple):
    """The open cells of one class among the rows of a pattern, all (n,)."""

    ones: NDArray[np.int64]
    zeros: NDArray[np.int64]
    background: NDArray[np.float64]  # frequency of the items
    for_one: NDArray[np.float64]  # what a one and a zero say
    for_zero: NDArray[np.float64]
    weights: NDArray[np.int64]  # items of the input behind every item


def alteration_evidence(cells: Cells, altered: NDArray[np.bool_], candidates: NDArray[np.bool_]) -> float:
    """Return minus the logarithm of the probability that chance shows as many items as the class adds to a pattern.

    Among the rows of the class that use the pattern, chance gives every candidate item its background frequency. We
    count the altered items that reach some evidence, and the number expected by chance to reach it; that evidence is
    the least of all altered items, or their median, whichever tells more.

    ``altered`` and ``candidates``, (n,), are the items that the class adds, and those it might have added.
    """
    # Compiled code is loaded when it is needed.
    from saltmine.solver.kernels import expected_to_show

    shown = cells.ones * cells.for_one + cells.zeros * cells.for_zero
    chance = cells.background, cells.for_one, cells.for_zero, cells.weights
    levels = np.unique(least_and_median(shown[altered], cells.weights[altered]))
    best = 0.0
    for level in levels:
        expected = float(expected_to_show(level, cells.ones + cells.zeros, *chance, candidates))
        found = int(cells.weights[altered] @ (shown[altered] >= level))
        best = max(best, evidence_of_count(found, expected, len(levels)))
    return best


def evidence_of_count(found: int, expected: float, n_levels: int) -> float:
    """Return minus the logarithm of the probability that chance, which expects so many items, shows so many.

    The levels that are looked at are taken from the items themselves; that makes chance look rarer by a factor of up
    to two, and there are ``n_levels`` of them.
    """
    if found <= expected:
        return 0.0
    p_value = gammainc(found, max(expected, 1e-300))
    return max(0.0, float(-np.log(max(p_value, 1e-300)) - np.log(2 * n_levels)))


def least_and_median(shown: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the least value and the lower median of values that occur so many times."""
    order = np.argsort(shown, kind="stable")
    so_far = np.cumsum(weights[order])
    middle = int(np.searchsorted(so_far, (so_far[-1] - 1) // 2, side="right"))
    return shown[order[[0, middle]]]
