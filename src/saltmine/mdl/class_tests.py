"""Fisher's exact test of what is said to belong to a class, corrected for the number of tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, hypergeom

from saltmine.arrays import Floats, Ints


def fisher_tests(successes: Ints, trials: Ints, other_successes: Ints, other_trials: Ints) -> Floats:
    """Return one-sided p-values of Fisher's exact test: that the first share is no higher than the second.

    Examples
    --------
    >>> import numpy as np
    >>> fisher_tests(np.array([8]), np.array([10]), np.array([1]), np.array([6])).round(4)
    array([0.0245])
    """
    all_rows, all_successes = trials + other_trials, successes + other_successes
    p_values: Floats = hypergeom.sf(successes - 1, all_rows, all_successes, trials)
    # No rows: p = 1.
    return np.where(all_rows > 0, p_values, 1.0)


def highest_of_all(owner: NDArray[np.intp], successes: Ints, trials: Ints, others: NDArray[np.bool_]) -> Floats:
    """Test that a class has a higher share than every single one of the others: the largest of the p-values.

    Parameters
    ----------
    owner : (k,) int
        The class that each claim is about.
    successes, trials : (c, k) int
        Ints of every class.
    others : (c, k) bool
        The classes to compare with.
    """
    claims = np.arange(len(owner))
    p_values = np.zeros(len(owner))
    for b in range(len(successes)):
        against = fisher_tests(successes[owner, claims], trials[owner, claims], successes[b], trials[b])
        p_values = np.where(others[b] & (owner != b), np.maximum(p_values, against), p_values)
    return p_values


def correct(p_values: Floats) -> Floats:
    """Return Benjamini and Hochberg's q-values; NaN stays NaN and counts as no test.

    Examples
    --------
    >>> import numpy as np
    >>> correct(np.array([0.01, np.nan, 0.04]))
    array([0.02,  nan, 0.04])
    """
    tested = ~np.isnan(p_values)
    q_values = np.full(len(p_values), np.nan)
    if tested.any():
        q_values[tested] = false_discovery_control(np.clip(p_values[tested], 0, 1))
    return q_values
