"""What every pattern and every alteration is worth: by how much f would grow without it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.solver.description import code_length, specificity_terms, table_costs

Nats = NDArray[np.float64]


def gains_of(bits: BitMatrix, model: BinaryModel) -> tuple[Nats, Nats]:
    """Return the gain of every pattern, (r,), and of what every class adds to it, (c, r), in nats.

    A gain is f without the part minus f with it, all else left as it is. NaN where a class adds nothing.
    """
    alterations = np.full((len(bits.blocks), model.rank), np.nan)
    if not model.rank:
        return np.zeros(0), alterations
    ledger = _Ledger(bits, model)
    patterns = np.array([ledger.gain_of_pattern(s) for s in range(model.rank)])
    for a, s in np.argwhere(model.V.any(axis=1)):
        alterations[a, s] = ledger.gain_of_alteration(a, s)
    return patterns, alterations


class _Ledger:
    """The counts behind f, so that leaving out a part costs no more than the columns it touches."""

    def __init__(self, bits: BitMatrix, model: BinaryModel) -> None:
        self.bits = bits
        self.model = model
        self.used = bits.used(model.Y).sum(axis=0)
        self.usage = bits.layout.pack(model.Y.T)
        self.carried = [np.ascontiguousarray(model.X | V) for V in model.V]
        self.noise = bits.noise_counts(model)
        self.table = table_costs(bits, model)
        self.specificity = specificity_terms(bits, model)
        self.length = code_length(bits, self.used, self.noise.sum(axis=0))

    def gain_of_pattern(self, s: int) -> float:
        used = self.used.copy()
        used[s] = 0
        total = self.noise.sum(axis=0)
        for a, carried in enumerate(self.carried):
            items = np.flatnonzero(carried[:, s])
            total[items] += self._noise_without(a, s, items) - self.noise[a, items]
        return self._grown(used, total) - float(self.table[:, s].sum() + self.specificity[:, s].sum())

    def gain_of_alteration(self, a: int, s: int) -> float:
        items = np.flatnonzero(self.model.V[a, :, s])
        total = self.noise.sum(axis=0)
        total[items] += self._noise_without(a, s, items) - self.noise[a, items]
        return self._grown(self.used, total) - float(self.table[1 + a, s] + self.specificity[a, s])

    def _grown(self, used: NDArray[np.int64], noise: NDArray[np.int64]) -> float:
        return code_length(self.bits, used, noise) - self.length

    def _noise_without(self, a: int, s: int, items: NDArray[np.intp]) -> NDArray[np.int64]:
        """Count the errors of class a in these columns if the pattern did not have them."""
        # Compiled code is loaded when it is needed.
        from saltmine.solver.kernels import count_noise

        of = self.bits.layout.words(a)
        carried = self.carried[a][items]
        carried[:, s] = False
        noise = np.empty(len(items), dtype=np.int64)
        count_noise(self.bits.columns[items, of], self.usage[:, of], self.bits.layout.weights[of], carried, noise)
        return noise
