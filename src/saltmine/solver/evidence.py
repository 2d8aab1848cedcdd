"""How far chance is from explaining a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix


def evidence_of(bits: BitMatrix, model: BinaryModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the evidence for every pattern, (r,), and for what every class adds to it, (c, r), in nats.

    NaN where a class adds nothing, or where fewer than two items are shared that it could add to.
    """
    if not model.rank:
        return np.zeros(0), np.zeros((len(bits.blocks), 0))
    # Compiled code is loaded when it is needed.
    from saltmine.solver.local_search import Refinement

    refinement = Refinement(bits, model)
    patterns = np.array([refinement.evidence(s) for s in range(model.rank)])
    added = np.stack([refinement.alteration_evidence(s) for s in range(model.rank)], axis=1)
    return patterns, np.where(np.isinf(added), np.nan, added)
