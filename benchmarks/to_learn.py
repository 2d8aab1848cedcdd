"""What there is to learn in a table besides single items: used by `benchmarks.structure`.

All models are of one class and give the log-likelihood of new rows: independent items, mixtures of independent items,
and trees of pairs of items (Chow and Liu).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import logsumexp

from saltmine.arrays import Bools, Floats

PSEUDO_COUNT = 0.5
COMPONENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
MAX_STEPS, TOLERANCE = 100, 1e-4
# Of smaller classes no rows are set aside to choose the number of components: it is one.
FEWEST_TO_CHOOSE = 16
SET_ASIDE = 4  # one row in so many

#: Log-likelihood of every row.
Density = Callable[[Bools], Floats]


def frequencies(X: Bools, pseudo_count: float = PSEUDO_COUNT) -> Floats:
    """Return the frequency of every item with a pseudo-count for each of its values."""
    return np.asarray((X.sum(axis=0) + pseudo_count) / (len(X) + 2 * pseudo_count))


def _log_bernoulli(X: Bools, p: Floats) -> Floats:
    """Return the log-likelihood of every row (m,) or, of (k, n) frequencies, of every row and component (m, k)."""
    ones = np.asarray(X, dtype=np.float64)
    found: Floats = ones @ (np.log(p) - np.log1p(-p)).T + np.log1p(-p).sum(axis=-1)
    return found


def independent(X: Bools, rng: np.random.Generator) -> Density:
    p = frequencies(X)
    return lambda rows: _log_bernoulli(rows, p)


def mixture(X: Bools, rng: np.random.Generator) -> Density:
    """Choose the number of components by rows that are set aside, then fit all rows."""
    if len(X) < FEWEST_TO_CHOOSE:
        return independent(X, rng)
    aside = np.zeros(len(X), dtype=bool)
    aside[rng.permutation(len(X))[: len(X) // SET_ASIDE]] = True
    best, number = -np.inf, 1
    for k in COMPONENTS:
        if 2 * k > (~aside).sum():
            break
        likelihood = _fit_mixture(X[~aside], k, rng)(X[aside]).sum()
        if likelihood > best:
            best, number = likelihood, k
        elif k > 2 * number:
            break
    return _fit_mixture(X, number, rng)


def _fit_mixture(X: Bools, k: int, rng: np.random.Generator) -> Density:
    """Fit k components by expectation and maximisation, from random rows; frequencies are shrunk to those of all."""
    overall, ones = frequencies(X), np.asarray(X, dtype=np.float64)
    p = 0.5 * overall + 0.5 * np.clip(ones[rng.choice(len(X), k, replace=False)], 0.1, 0.9)
    weights, before = np.full(k, 1 / k), -np.inf
    for _ in range(MAX_STEPS):
        joint = _log_bernoulli(X, p) + np.log(weights)
        total = logsumexp(joint, axis=1)
        belongs = np.exp(joint - total[:, None])
        sizes = belongs.sum(axis=0)
        weights = (sizes + 1) / (len(X) + k)
        p = (belongs.T @ ones + 2 * overall) / (sizes[:, None] + 2)
        if total.sum() - before < TOLERANCE * len(X):
            break
        before = total.sum()
    return lambda rows: np.asarray(logsumexp(_log_bernoulli(rows, p) + np.log(weights), axis=1))


def tree(X: Bools, rng: np.random.Generator) -> Density:
    """Fit the tree of pairs of items with the largest mutual information."""
    p = frequencies(X)
    order, parents = _spanning_tree(X, p)
    ones = np.asarray(X, dtype=np.float64)
    given = [_given(ones, parents, p, value) for value in (0, 1)]
    root = order[0]

    def density(rows: Bools) -> Floats:
        conditional = np.where(rows[:, parents], given[1], given[0])
        conditional[:, root] = p[root]
        return np.asarray(np.where(rows, np.log(conditional), np.log1p(-conditional)).sum(axis=1))

    return density


def _spanning_tree(X: Bools, p: Floats) -> tuple[Floats, Floats]:
    """Return the items in an order from the root, and the parent of every item; that of the root is itself."""
    ones, m, n = np.asarray(X, dtype=np.float64), len(X), X.shape[1]
    both = (ones.T @ ones + PSEUDO_COUNT / 2) / (m + 2 * PSEUDO_COUNT)
    information = np.zeros((n, n))
    for own, q in ((p, 1), (1 - p, 0)):
        for other, r in ((p, 1), (1 - p, 0)):
            joint = both if q and r else p[:, None] - both if q else p - both if r else 1 - p[:, None] - p + both
            joint = np.maximum(joint, 1e-9)
            information += joint * np.log(joint / (own[:, None] * other))
    # A spanning tree needs weights other than zero; the least are those of the largest information.
    found = minimum_spanning_tree(information.max() + 1 - information)
    order, parents = breadth_first_order(found, 0, directed=False)
    return order, np.where(parents < 0, 0, parents)


def _given(ones: Floats, parents: Floats, p: Floats, value: int) -> Floats:
    """Return the frequency of every item in rows where its parent has a value, shrunk to that of all rows."""
    has = ones[:, parents] == value
    return np.asarray(((has * ones).sum(axis=0) + p) / (has.sum(axis=0) + 1))


DENSITIES: dict[str, Callable[[Bools, np.random.Generator], Density]] = {
    "independent": independent,
    "mixtures": mixture,
    "tree": tree,
}
