"""The correction of p-values for many tests; without compiled code, for tables as well as for the search."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Floats


def correct(log_p: Floats) -> Floats:
    """Return the logarithm of Benjamini and Hochberg's q-values, over all entries.

    Examples
    --------
    >>> np.exp(correct(np.log([0.01, 0.04, 1.0]))).round(3).tolist()
    [0.03, 0.06, 1.0]
    """
    flat = log_p.ravel()
    order = np.argsort(flat, kind="stable")
    raised = flat[order] + np.log(max(len(flat), 1)) - np.log(np.arange(1, len(flat) + 1))
    q = np.empty_like(flat)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 0.0)
    return q.reshape(log_p.shape)
