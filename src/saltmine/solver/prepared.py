"""The data with the constants of f, as the compiled kernels take it."""

from __future__ import annotations

import numpy as np

from saltmine.data.bits import BitMatrix
from saltmine.solver.description import cross_weights, item_codes
from saltmine.solver.kernels import Data


def prepare(bits: BitMatrix, ones: int | None = None, n_items: int | None = None) -> Data:
    """Return the data of all items, or of some where ``ones`` and ``n_items`` count those of the whole input."""
    sizes = bits.class_sizes
    counts = np.arange(1, sum(sizes) + 2, dtype=np.float64)
    return Data(
        columns=bits.columns,
        weights=bits.weights.items,
        row_weights=bits.layout.weights,
        valid=bits.layout.valid,
        lanes=np.bitwise_count(bits.layout.valid).astype(np.int64),
        edges=bits.layout.edges,
        codes=item_codes(bits.item_counts, bits.weights.items, ones),
        cross=cross_weights(sizes),
        counted=np.concatenate([[0.0], -(counts + 1) * np.log(counts)]),
        n_items=bits.weights.shape[1] if n_items is None else n_items,
    )
