"""How many patterns to start from: singular values that stand out of the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.solver.relaxed.operator import Operator

Floats = NDArray[np.float32]

# Half-steps of the subspace iteration; the values that matter stand clear of the rest.
SWEEPS = 3
BLOCK = 48


def count_signals(data: Operator, rng: np.random.Generator, most: int) -> int:
    """Count the singular values of the standardised data above the edge of pure noise, at most ``most``.

    With every item brought to mean 0 and variance 1, the largest singular value of noise is near ``sqrt(m) +
    sqrt(n)``, whatever the frequencies of the items (Marchenko & Pastur). What exceeds it is structure: a lower bound
    of the number of patterns that does not depend on luck. Folded data gives the values of the input.
    """
    edge = np.sqrt(data.weights.shape).sum()
    most_values = min(data.shape)
    block = BLOCK
    while True:
        block = min(block, most_values)
        values = _largest(data, block, rng)
        count = int(np.count_nonzero(values > edge))
        # If the whole block stands out, there may be more.
        if count < block or block >= min(most_values, most):
            return min(count, most)
        block *= 2


def _largest(data: Operator, block: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return estimates of the largest singular values by subspace iteration, from below."""
    c = len(data.blocks)
    frequency = (data.item_counts / data.weights.shape[0]).astype(np.float32)
    scale = _item_scale(data)
    # k identical rows have the singular values of one, times sqrt(k).
    root = np.sqrt(data.weights.rows, dtype=np.float32)[:, None]
    right = rng.standard_normal((data.shape[1], block), dtype=np.float32)
    for _ in range(SWEEPS):
        weights = np.ascontiguousarray(scale * right)
        left = root * (data.times(np.repeat(weights[None], c, axis=0)) - frequency @ weights)
        left = np.ascontiguousarray(root * np.linalg.qr(left)[0])
        projected = scale * (data.transposed_times(left).sum(axis=0) - np.outer(frequency, left.sum(axis=0)))
        right, upper = np.linalg.qr(projected)
    return np.linalg.svd(upper.astype(np.float64), compute_uv=False)


def _item_scale(data: Operator) -> Floats:
    """Return what brings every item to variance 1, as a column, times the root of how often the item occurs."""
    share = data.item_counts / data.weights.shape[0]
    varies = share < 1
    scale = np.zeros(data.shape[1], dtype=np.float32)
    scale[varies] = np.sqrt(data.weights.items[varies] / (share[varies] * (1 - share[varies])))
    return scale[:, None]
