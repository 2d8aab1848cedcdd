"""The exact description length f of a binary model, in nats; docs/paper.md has the formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saltmine.binary.bits import BitMatrix
from saltmine.binary.model import BinaryModel


def item_codes(item_counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Code length ``u_i`` of every item; infinite for one that never occurs.

    Examples
    --------
    >>> import numpy as np
    >>> item_codes(np.array([1, 3, 0])).round(3)
    array([1.386, 0.288,   inf])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(item_counts > 0, -np.log(item_counts / item_counts.sum()), np.inf)


def description_length(bits: BitMatrix, model: BinaryModel) -> float:
    """Return f: codes of patterns and noise, the code table itself, and the specificity term S."""
    u = item_codes(bits.item_counts)
    used = model.Y.sum(axis=0)
    noise = bits.noise_counts(model).sum(axis=0)
    table = table_costs(u, model)[:, used > 0].sum()
    return code_length(used, noise, u) + float(table + specificity_terms(bits, model).sum())


def code_length(used: NDArray[np.int64], noise: NDArray[np.int64], u: NDArray[np.float64]) -> float:
    """Return the length of all codes, and of the code table's entries for single items.

    ``used`` and ``noise`` count how often each pattern and each single item is needed.
    """
    total = int(used.sum() + noise.sum())
    noisy = noise > 0
    return _code(used[used > 0], total) + _code(noise[noisy], total) + float(u[noisy].sum())


def table_costs(u: NDArray[np.float64], model: BinaryModel) -> NDArray[np.float64]:
    """Return what the code table takes for the shared part of every pattern and for each class's part, (1 + c, r)."""
    return np.stack([[float(u[part[:, s]].sum()) for s in range(model.rank)] for part in (model.X, *model.V)])


def null_length(bits: BitMatrix) -> float:
    """Return f of the model without patterns."""
    return description_length(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)))


def specificity(bits: BitMatrix, model: BinaryModel) -> float:
    """Return S: zeros that alterations cover in their own class plus ones that they meet in the others."""
    return float(specificity_terms(bits, model).sum())


def specificity_terms(bits: BitMatrix, model: BinaryModel) -> NDArray[np.float64]:
    """Return the share of every class and pattern in S, (c, r)."""
    usage = bits.pack_usage(model.Y)
    used = np.stack([model.Y[rows].sum(axis=0) for rows in bits.blocks])
    terms = np.zeros(used.shape)
    for s in np.flatnonzero(model.V.any(axis=(0, 1))):
        items = np.flatnonzero(model.V[:, :, s].any(axis=0))
        hits = bits.hits(usage, items, int(s))
        elsewhere = hits.sum(axis=0)
        for a, altered in enumerate(model.V[:, items, s]):
            terms[a, s] = used[a, s] * altered.sum() + (elsewhere - 2 * hits[a])[altered].sum()
    return terms


def cross_weights(class_sizes: Sequence[int]) -> NDArray[np.float64]:
    """Weight of ones that an alteration of class a meets in class b: ``min(1, m_a / m_b) / (c - 1)``.

    However many other classes there are and however large they are, together they weigh no more than the class itself.

    Examples
    --------
    >>> cross_weights([100, 900]).round(2).tolist()
    [[0.0, 0.11], [1.0, 0.0]]
    """
    sizes = np.maximum(np.asarray(class_sizes, dtype=np.float64), 1)
    weights: NDArray[np.float64] = np.minimum(1, sizes[:, None] / sizes) / max(len(sizes) - 1, 1)
    np.fill_diagonal(weights, 0)
    return weights


def _code(counts: NDArray[np.int64], total: int) -> float:
    return float(-((counts + 1) @ np.log(counts / total))) if counts.size else 0.0
