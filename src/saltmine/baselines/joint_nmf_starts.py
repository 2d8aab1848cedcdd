"""Where the joint factorizations start: a plain factorization of all rows, its patterns sorted by the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from saltmine.baselines.joint_nmf_descent import OnCheck, descend
from saltmine.baselines.joint_nmf_objectives import Bools, SharedSubspaces
from saltmine.solver.relaxed.operator import Floats, Operator

# A pattern that has this share of its usage in one class belongs to it.
CLASS_WISE_FROM = 0.9
# Iterations of the plain factorization: enough to see which class uses what.
PLAIN_ITERATIONS = 20
# Random numbers of up to this share of the mean entry are added to what singular vectors give: they leave zeros, which
# would stay zero for long, and without chance all restarts would be the same.
FILLING = 1.0


@dataclass(frozen=True)
class Start:
    """Patterns (n, r), shared ones first, usage (m, r), and which class may use which pattern, (c, r)."""

    patterns: Floats
    usage: Floats
    uses: Bools


def make_start(
    data: Operator, matrix: sp.csr_array, ranks: tuple[int, ...] | int, rng: np.random.Generator, on_check: OnCheck
) -> Start:
    """Start from ranks (r0, r1, ..., rc), or from a number of patterns, split as the classes use them."""
    if isinstance(ranks, tuple) and not ranks[0]:
        # Without shared patterns every class is a problem of its own.
        return _apart(data, matrix, ranks, rng)
    total = ranks if isinstance(ranks, int) else sum(ranks)
    patterns, usage = plain_start(data, matrix, total, rng, on_check)
    shares = class_shares(usage, data.blocks)
    if isinstance(ranks, int):
        ranks = split_ranks(shares)
    order = sort_by_class(shares, ranks)
    uses = allowed(ranks)
    usage = usage[:, order]
    for a, rows in enumerate(data.blocks):
        usage[rows] *= uses[a]
    return Start(patterns[:, order], usage, uses)


def _apart(data: Operator, matrix: sp.csr_array, ranks: tuple[int, ...], rng: np.random.Generator) -> Start:
    patterns, usage = np.zeros((data.shape[1], sum(ranks))), np.zeros((data.shape[0], sum(ranks)))
    uses = allowed(ranks)
    for rows, own in zip(data.blocks, uses, strict=True):
        if own.any():
            patterns[:, own], usage[rows, own] = singular_start(matrix[rows], int(own.sum()), rng)
    return Start(patterns, usage, uses)


def plain_start(
    data: Operator, matrix: sp.csr_array, rank: int, rng: np.random.Generator, on_check: OnCheck
) -> tuple[Floats, Floats]:
    """Return patterns of length 1, (n, r), and usage, (m, r), of a short factorization in which all is shared."""
    patterns, usage = singular_start(matrix, rank, rng)
    ones = np.array([float(matrix[rows].nnz) for rows in data.blocks])
    uses = np.ones((len(data.blocks), rank), dtype=bool)
    everything = SharedSubspaces(patterns, uses, ones)
    descend(data, everything, usage, max_iter=PLAIN_ITERATIONS, tol=0, on_check=on_check)
    return everything.patterns[0], usage


def singular_start(matrix: sp.csr_array, rank: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return patterns (n, r) and usage (m, r) from the positive or the negative parts of the singular vectors.

    Of both, the pair whose product is larger is taken (Boutsidis & Gallopoulos 2008); beyond the rank of the data, all
    entries are random.
    """
    m, n = matrix.shape
    filling = FILLING * max(matrix.nnz, 1) / (m * n)
    patterns, usage = filling * rng.random((n, rank)), filling * rng.random((m, rank))
    k = min(rank, m, n)
    seed = int(rng.integers(np.iinfo(np.int32).max))
    left, sizes, right = randomized_svd(matrix, n_components=k, random_state=seed)
    sizes_of_parts = [
        np.linalg.norm(np.maximum(sign * left, 0), axis=0) * np.linalg.norm(np.maximum(sign * right, 0), axis=1)
        for sign in (1, -1)
    ]
    signs = np.where(sizes_of_parts[0] >= sizes_of_parts[1], 1, -1)
    scale = signs * np.sqrt(sizes)
    usage[:, :k] += np.maximum(left * scale, 0)
    patterns[:, :k] += np.maximum(right.T * scale, 0)
    return patterns, usage


def class_shares(usage: Floats, blocks: list[slice]) -> Floats:
    """Return the share of every class in the usage of every pattern, (c, r), as if all had the same number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> usage = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    >>> class_shares(usage, [slice(0, 1), slice(1, 3)])
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    means = np.stack([(usage[rows] ** 2).sum(axis=0) / max(rows.stop - rows.start, 1) for rows in blocks])
    sums = means.sum(axis=0)
    shares: Floats = np.where(sums > 0, means / np.where(sums > 0, sums, 1), 1 / len(blocks))
    return shares


def split_ranks(shares: Floats) -> tuple[int, ...]:
    """Count the patterns that belong to single classes by their usage, and those that do not: (r0, r1, ..., rc).

    Examples
    --------
    >>> import numpy as np
    >>> split_ranks(np.array([[0.5, 0.0, 0.7], [0.5, 1.0, 0.3]]))
    (2, 0, 1)
    """
    if len(shares) == 1:
        return shares.shape[1], 0
    own = np.count_nonzero(shares >= CLASS_WISE_FROM, axis=1).tolist()
    return shares.shape[1] - sum(own), *own


def sort_by_class(shares: Floats, ranks: tuple[int, ...]) -> list[int]:
    """Return the patterns in an order that fits the ranks: shared ones, then those of each class.

    The patterns that one class uses most, relative to the others, become its own.

    Examples
    --------
    >>> import numpy as np
    >>> sort_by_class(np.array([[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]]), (1, 1, 1))
    [1, 0, 2]
    """
    free = set(range(shares.shape[1]))
    own: list[list[int]] = [[] for _ in shares]
    for flat in np.argsort(-shares, axis=None, kind="stable").tolist():
        a, s = divmod(flat, shares.shape[1])
        if s in free and len(own[a]) < ranks[1 + a]:
            own[a].append(s)
            free.remove(s)
    return sorted(free) + [s for of_class in own for s in of_class]


def allowed(ranks: tuple[int, ...]) -> Bools:
    """Return which class may use which pattern, (c, r).

    Examples
    --------
    >>> allowed((1, 2, 0)).astype(int)
    array([[1, 1, 1],
           [1, 0, 0]])
    """
    owner = np.repeat(np.arange(-1, len(ranks) - 1), ranks)
    own: Bools = owner == np.arange(len(ranks) - 1)[:, None]
    either: Bools = own | (owner == -1)
    return either
