"""From code lengths to probabilities of classes."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Floats, Indices

# Code lengths are divided by at most this much, and never multiplied: what was seen is no better than that.
MAX_TEMPERATURE = 100.0
# Steps of the search for the best; each halves the interval.
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


def fit_temperature(scores: Floats, numbers: Indices, prior: Floats | None = None) -> float:
    """Return what scores, (m, c), are to be divided by so that the classes of the rows are as probable as possible.

    ``prior``, (c,), is what is added to the scores after they are divided. The loss is convex in the inverse of what is
    returned. At least 1, which is also what no rows say.

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.array([[9.0, 0.0]] * 10)
    >>> fit_temperature(sure, np.zeros(10, dtype=int)), round(fit_temperature(sure, np.array([1] + [0] * 9)), 1)
    (1.0, 4.1)
    """
    if len(scores) == 0:
        return 1.0

    surplus = scores - scores[np.arange(len(numbers)), numbers][:, None]
    before = np.zeros_like(surplus) if prior is None else prior - prior[numbers][:, None]

    def slope(inverse: float) -> float:
        """Return by how much the loss rises with the inverse."""
        return float((np.exp(log_probabilities(inverse * surplus + before)) * surplus).sum(axis=1).mean())

    if slope(1.0) <= 0:
        return 1.0
    low, high = 1 / MAX_TEMPERATURE, 1.0
    # The sign of the slope is exact where the loss itself is too flat to compare.
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return float(2 / (low + high))
