"""What chance explains: evidence for the alterations of a pattern; that of whole patterns is in `kernels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc
from scipy.stats import binom


def alteration_evidence(
    ones: NDArray[np.int64],
    zeros: NDArray[np.int64],
    background: NDArray[np.float64],
    for_one: NDArray[np.float64],
    for_zero: NDArray[np.float64],
    altered: NDArray[np.bool_],
    candidates: NDArray[np.bool_],
) -> float:
    """Return minus the logarithm of the probability that chance shows as many items as the class adds to a pattern.

    Among the rows of the class that use the pattern, chance gives every candidate item its background frequency. We
    count the altered items that reach some evidence, and the number expected by chance to reach it; that evidence is
    the least of all altered items, or their median, whichever tells more.

    Parameters
    ----------
    ones, zeros : (n,) int
        Open cells of the class among the rows of the pattern.
    background, for_one, for_zero : (n,) float
        Frequency of the items, and what a one and a zero say.
    altered, candidates : (n,) bool
        Items that the class adds, and those it might have added.
    """
    shown = ones * for_one + zeros * for_zero
    trials = ones + zeros
    might = candidates & (for_one > 0)
    levels = np.unique(np.quantile(shown[altered], [0.0, 0.5], method="lower"))
    best = 0.0
    for level in levels:
        successes = np.ceil((level - trials[might] * for_zero[might]) / (for_one - for_zero)[might] - 1e-9)
        expected = float(binom.sf(successes - 1, trials[might], background[might]).sum())
        found = np.count_nonzero(shown[altered] >= level)
        if found > expected:
            by_chance = gammainc(found, max(expected, 1e-300))
            # The levels are taken from the items themselves; that makes chance look rarer by a factor of up to two.
            best = max(best, -np.log(max(by_chance, 1e-300)) - np.log(2 * len(levels)))
    return float(best)
