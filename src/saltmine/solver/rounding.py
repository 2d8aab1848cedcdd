"""From relaxed factors to a binary model: the thresholds with the lowest description length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, drop_trivial, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.solver.relaxed.operator import Floats
from saltmine.solver.scoring import description_length

THRESHOLDS = np.arange(21) / 20


def round_factors(
    X: Floats, V: Floats, Y: Floats, bits: BitMatrix, thresholds: NDArray[np.float64] = THRESHOLDS
) -> tuple[BinaryModel, float]:
    """Return the best binary model over both thresholds, and its f.

    Every candidate is first made to satisfy the definition of alterations and loses its trivial patterns, so f is
    that of the model one would get.
    """
    return best_thresholds(
        X, V, Y, bits.blocks, lambda model: description_length(bits, model), thresholds, bits.weights
    )


def best_thresholds(
    X: Floats,
    V: Floats,
    Y: Floats,
    blocks: list[slice],
    loss: Callable[[BinaryModel], float],
    thresholds: NDArray[np.float64] = THRESHOLDS,
    weights: Weights | None = None,
) -> tuple[BinaryModel, float]:
    """Return the thresholded model with the lowest loss; equal models are judged once."""
    best: tuple[BinaryModel, float] | None = None
    for t2 in _distinct(thresholds, Y):
        for t1 in _distinct(thresholds, X, V):
            model = threshold(X, V, Y, blocks, t1, t2, weights)
            value = loss(model)
            if best is None or value < best[1]:
                best = model, value
    assert best is not None  # a threshold of 0 always gives a candidate
    return best


def threshold(
    X: Floats, V: Floats, Y: Floats, blocks: list[slice], t1: float, t2: float, weights: Weights | None = None
) -> BinaryModel:
    """Return the binary model at two thresholds, made to satisfy the definition and without trivial patterns."""
    patterns = t1 <= X
    model = BinaryModel(patterns, repair_alterations(patterns, t1 <= V), t2 <= Y)
    return drop_trivial(drop_idle_parts(model, blocks), weights)


def _distinct(thresholds: NDArray[np.float64], *factors: Floats) -> list[float]:
    """Keep the thresholds that change something; sets of entries above a rising threshold are nested."""
    counts = [tuple(int(np.count_nonzero(factor >= t)) for factor in factors) for t in thresholds]
    return [float(t) for k, t in enumerate(thresholds) if k == 0 or counts[k] != counts[k - 1]]
