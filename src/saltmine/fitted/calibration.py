"""From code lengths to probabilities of classes."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Floats, Indices

# Code lengths are divided by at most this much, and never multiplied: what was seen is no better than that.
MAX_TEMPERATURE = 100.0
# Steps of the search for the best; each shrinks the interval by the golden ratio.
STEPS = 40


def log_probabilities(scores: Floats) -> Floats:
    """Return the logarithms of probabilities from logarithms that lack a constant per row, (m, c).

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_probabilities(np.log([[1.0, 3.0]]))).round(2).tolist()
    [[0.25, 0.75]]
    """
    shifted = scores - scores.max(axis=1, keepdims=True)
    logarithms: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logarithms


def fit_temperature(scores: Floats, numbers: Indices) -> float:
    """Return what scores, (m, c), are to be divided by so that the classes of the rows are as probable as possible.

    The loss is convex in its inverse. At least 1, which is also what no rows say.

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.array([[9.0, 0.0]] * 10)
    >>> fit_temperature(sure, np.zeros(10, dtype=int)), round(fit_temperature(sure, np.array([1] + [0] * 9)), 1)
    (1.0, 4.1)
    """
    if len(scores) == 0:
        return 1.0

    def loss(inverse: float) -> float:
        return -float(log_probabilities(inverse * scores)[np.arange(len(numbers)), numbers].mean())

    low, high, ratio = 1 / MAX_TEMPERATURE, 1.0, (np.sqrt(5) - 1) / 2
    for _ in range(STEPS):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        if loss(one) < loss(other):
            high = other
        else:
            low = one
    best = (low + high) / 2
    return 1.0 if loss(1.0) <= loss(best) else float(1 / best)
