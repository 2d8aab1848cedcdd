"""What speaks for every part of a model: evidence against chance, and what the description would be without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.solver.evidence import evidence_of
from saltmine.solver.gains import gains_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """Evidence and gain of every pattern, (r,), and of what every class adds to it, (c, r), in nats.

    NaN where a class adds nothing; there is no evidence either where fewer than two items are shared.
    """

    evidence: Floats
    alteration_evidence: Floats
    gain: Floats
    alteration_gain: Floats

    @classmethod
    def of(cls, bits: BitMatrix, model: BinaryModel) -> Judgement:
        """Judge a model by all the data."""
        evidence, added_evidence = evidence_of(bits, model)
        gain, added_gain = gains_of(bits, model)
        return cls(evidence, added_evidence, gain, added_gain)

    def keep(self, patterns: NDArray[np.intp]) -> Judgement:
        """Return the judgement of these patterns, in this order."""
        return Judgement(
            self.evidence[patterns],
            self.alteration_evidence[:, patterns],
            self.gain[patterns],
            self.alteration_gain[:, patterns],
        )
