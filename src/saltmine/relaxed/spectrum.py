"""How many patterns to start from: singular values that stand out of the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.matrix.operator import Operator

Floats = NDArray[np.float32]

# Half-steps of the subspace iteration; the values that matter stand clear of the rest.
SWEEPS = 3
BLOCK = 48


def count_signals(data: Operator, rng: np.random.Generator, most: int) -> int:
    """Count the singular values of the standardised data above the edge of pure noise, at most ``most``.

    With every item brought to mean 0 and variance 1, the largest singular value of noise is near ``sqrt(m) +
    sqrt(n)``, whatever the frequencies of the items (Marchenko & Pastur). What exceeds it is structure: a lower bound
    of the number of patterns that does not depend on luck.
    """
    (m, n) = data.shape
    frequency = (data.item_counts / m).astype(np.float32)
    varies = data.item_counts < m
    scale = np.zeros(n, dtype=np.float32)
    scale[varies] = 1 / np.sqrt(frequency[varies] * (1 - frequency[varies]))
    edge = np.sqrt(m) + np.sqrt(n)
    block = BLOCK
    while True:
        block = min(block, m, n)
        values = _largest(data, frequency, scale, block, rng)
        count = int(np.count_nonzero(values > edge))
        # If the whole block stands out, there may be more.
        if count < block or block >= min(m, n, most):
            return min(count, most)
        block *= 2


def _largest(
    data: Operator, frequency: Floats, scale: Floats, block: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return estimates of the largest singular values by subspace iteration, from below."""
    c = len(data.blocks)
    right = rng.standard_normal((data.shape[1], block), dtype=np.float32)
    for _ in range(SWEEPS):
        weights = np.ascontiguousarray(scale[:, None] * right)
        left = data.times(np.repeat(weights[None], c, axis=0)) - frequency @ weights
        left = np.ascontiguousarray(np.linalg.qr(left)[0])
        projected = scale[:, None] * (data.transposed_times(left).sum(axis=0) - np.outer(frequency, left.sum(axis=0)))
        right, upper = np.linalg.qr(projected)
    return np.linalg.svd(upper.astype(np.float64), compute_uv=False)
