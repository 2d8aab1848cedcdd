"""The exact description length f of a binary model, in nats; docs/paper.md has the formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix


def item_codes(
    item_counts: NDArray[np.int64], weights: NDArray[np.int64] | None = None, ones: int | None = None
) -> NDArray[np.float64]:
    """Code length ``u_i`` of every item; infinite for one that never occurs.

    ``weights`` says how many items of the input stand behind every one, ``ones`` how many there are in all, where
    these are not all items.

    Examples
    --------
    >>> import numpy as np
    >>> item_codes(np.array([1, 3, 0])).round(3)
    array([1.386, 0.288,   inf])
    """
    if ones is None:
        ones = int(item_counts.sum() if weights is None else weights @ item_counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(item_counts > 0, -np.log(item_counts / ones), np.inf)


def description_length(bits: BitMatrix, model: BinaryModel) -> float:
    """Return f: codes of patterns and noise, the code table itself, and the specificity term S."""
    used = bits.used(model.Y).sum(axis=0)
    noise = bits.noise_counts(model).sum(axis=0)
    table = table_costs(bits, model)[:, used > 0].sum()
    return code_length(bits, used, noise) + float(table + specificity_terms(bits, model).sum())


def code_length(bits: BitMatrix, used: NDArray[np.int64], noise: NDArray[np.int64]) -> float:
    """Return the length of all codes, and of the code table's entries for single items.

    ``used`` and ``noise`` count how often each pattern and each single item is needed.
    """
    items = bits.weights.items
    total = int(used.sum() + items @ noise)
    noisy = noise > 0
    codes = item_codes(bits.item_counts, items)[noisy]
    noise_codes = _codes(noise[noisy], total) + codes
    return float(_codes(used[used > 0], total).sum() + items[noisy] @ noise_codes)


def table_costs(bits: BitMatrix, model: BinaryModel) -> NDArray[np.float64]:
    """Return what the code table takes for the shared part of every pattern and for each class's part, (1 + c, r)."""
    u = bits.weights.items * item_codes(bits.item_counts, bits.weights.items)
    return np.stack([[float(u[part[:, s]].sum()) for s in range(model.rank)] for part in (model.X, *model.V)])


def null_length(bits: BitMatrix) -> float:
    """Return f of the model without patterns."""
    return description_length(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)))


def specificity(bits: BitMatrix, model: BinaryModel) -> float:
    """Return S: zeros that alterations cover in their own class plus ones that they meet in the others."""
    return float(specificity_terms(bits, model).sum())


def specificity_terms(bits: BitMatrix, model: BinaryModel) -> NDArray[np.float64]:
    """Return the share of every class and pattern in S, (c, r)."""
    usage, used = bits.layout.pack(model.Y.T), bits.used(model.Y)
    terms = np.zeros(used.shape)
    for s in np.flatnonzero(model.V.any(axis=(0, 1))):
        items = np.flatnonzero(model.V[:, :, s].any(axis=0))
        weights, hits = bits.weights.items[items], bits.hits(usage[s], items)
        elsewhere = hits.sum(axis=0)
        for a, altered in enumerate(model.V[:, items, s]):
            terms[a, s] = weights[altered] @ (used[a, s] + elsewhere - 2 * hits[a])[altered]
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


def _codes(counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    return np.log(counts / total) * -(counts + 1)
