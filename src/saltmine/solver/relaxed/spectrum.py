"""The number of patterns to start from: singular values above the noise level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.solver.relaxed.operator import Operator

# Few iterations are enough: the values that matter are well separated from the rest.
N_ITERATIONS = 3
# Singular values that are computed first; the number is doubled while all of them are above the noise level.
FIRST_BLOCK = 48


def count_signals(data: Operator, rng: np.random.Generator, max_n: int) -> int:
    """Count the singular values of the standardised data above those of pure noise, at most ``max_n``.

    With every item scaled to mean 0 and variance 1, the largest singular value of noise is near ``sqrt(m) + sqrt(n)``
    for any frequencies of the items (Marchenko & Pastur). The number of larger values is a lower bound of the number of
    patterns that does not depend on a random start. Folded data gives the values of the input.
    """
    edge = np.sqrt(data.weights.shape).sum()
    n_values = min(data.shape)
    block = FIRST_BLOCK
    while True:
        block = min(block, n_values)
        count = int(np.count_nonzero(_largest_singular_values(data, block, rng) > edge))
        # If all values of the block are above the edge, there may be more.
        if count < block or block >= min(n_values, max_n):
            return min(count, max_n)
        block *= 2


def _largest_singular_values(data: Operator, block: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return estimates of the largest singular values by subspace iteration, from below."""
    c = len(data.blocks)
    share = data.item_counts / data.weights.shape[0]
    frequency, varies = share.astype(np.float32), share < 1
    # Scales items to variance 1, times the roots of their multiplicities.
    scale = np.zeros((data.shape[1], 1), dtype=np.float32)
    scale[varies, 0] = np.sqrt(data.weights.items[varies] / (share[varies] * (1 - share[varies])))
    # k identical rows have the singular values of one, times sqrt(k).
    root = np.sqrt(data.weights.rows, dtype=np.float32)[:, None]
    right = rng.standard_normal((data.shape[1], block), dtype=np.float32)
    for _ in range(N_ITERATIONS):
        weights = np.ascontiguousarray(scale * right)
        left = root * (data.times(np.repeat(weights[None], c, axis=0)) - frequency @ weights)
        left = np.ascontiguousarray(root * np.linalg.qr(left)[0])
        projected = scale * (data.transposed_times(left).sum(axis=0) - np.outer(frequency, left.sum(axis=0)))
        right, upper = np.linalg.qr(projected)
    return np.linalg.svd(upper.astype(np.float64), compute_uv=False)
