"""From relaxed factors to a binary model: the thresholds with the lowest description length."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, drop_trivial, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.solver.relaxed.operator import Floats
from saltmine.solver.scoring import description_length

THRESHOLDS = np.arange(21) / 20


def round_factors(
    X: Floats, V: Floats, Y: Floats, bits: BitMatrix, thresholds: Floats = THRESHOLDS
) -> tuple[BinaryModel, float]:
    """Return the best binary model over both thresholds, and its f.

    Every candidate is first made to satisfy the definition of alterations and loses its trivial patterns, so f is
    that of the model one would get.
    """
    return best_thresholds(X, V, Y, bits, lambda model: description_length(bits, model), thresholds)


def best_thresholds(
    X: Floats, V: Floats, Y: Floats, bits: BitMatrix, loss: Callable[[BinaryModel], float], thresholds: Floats
) -> tuple[BinaryModel, float]:
    """Return the thresholded model with the lowest loss; equal models are judged once."""
    pairs = product(_distinct(thresholds, Y), _distinct(thresholds, X, V))
    models = (threshold(X, V, Y, bits, t1, t2) for t2, t1 in pairs)
    return min(((model, loss(model)) for model in models), key=lambda found: found[1])


def threshold(X: Floats, V: Floats, Y: Floats, bits: BitMatrix, t1: float, t2: float) -> BinaryModel:
    """Return the binary model at two thresholds, made to satisfy the definition and without trivial patterns."""
    patterns = t1 <= X
    model = BinaryModel(patterns, repair_alterations(patterns, t1 <= V), t2 <= Y)
    return drop_trivial(drop_idle_parts(model, bits.blocks), bits.weights)


def _distinct(thresholds: Floats, *factors: Floats) -> list[float]:
    """Keep the thresholds that change something; sets of entries above a rising threshold are nested."""
    counts = [tuple(int(np.count_nonzero(factor >= t)) for factor in factors) for t in thresholds]
    return [float(t) for k, t in enumerate(thresholds) if k == 0 or counts[k] != counts[k - 1]]
