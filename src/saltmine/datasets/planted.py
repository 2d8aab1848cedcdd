"""Planted patterns with class-specific alterations, as in the experiments of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from saltmine.arrays import Bools

#: Which classes use which pattern, for 2, 3 and 4 classes; repeated up to the rank.
C2 = np.array([[1, 0, 1], [1, 1, 0]], dtype=bool)
C3 = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], dtype=bool)
C4 = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 1, 1]], dtype=bool)
_MEMBERSHIPS = {2: C2, 3: C3, 4: C4}


@dataclass(frozen=True)
class Planted:
    """A generated matrix and its planted factors, in the shapes of a fitted model.

    Attributes
    ----------
    X : (m, n) bool
    y : (m,) int
    components : (r, n) bool
    alterations : (c, r, n) bool
    usage : (m, r) bool

    Examples
    --------
    >>> planted = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> planted.usage.sum(axis=0).tolist()  # rows that use each pattern
    [6, 4, 5]
    """

    X: Bools
    y: NDArray[np.int64]
    components: Bools
    alterations: Bools
    usage: Bools


def make_planted(
    n_features: int,
    class_sizes: Sequence[int],
    rank: int,
    membership: ArrayLike | None = None,
    noise: float = 0.1,
    random_state: Any = None,
    *,
    largest: bool = False,
) -> Planted:
    """Plant patterns and class-specific alterations, then flip every cell with probability ``noise``.

    A pattern has at least n/100 items that no other pattern has, and at most n/10 items. In every class that uses it,
    it has at least m_a/100 rows of its own, and at most m_a/10 rows. Sizes are uniform in between. Patterns that
    several classes use are altered: every altered item is added in some of these classes, not all, and the number of
    added entries is at most 2/3 of the pattern's items.

    Parameters
    ----------
    n_features : int
        Columns, n.
    class_sizes : sequence of int
        Rows of each class, m_a.
    rank : int
        Number of patterns, r.
    membership : (c, k) array of 0/1, optional
        Which class uses which pattern, repeated along the patterns; `C2`, `C3` or `C4` by default, and for one
        class, or more than four, all classes use all patterns.
    noise : float
        Probability of a flip.
    random_state : int, RandomState or None
    largest : bool
        Plant every pattern with the maximum size, n/10 items and m_a/10 rows, so that all overlap heavily.

    Returns
    -------
    Planted
        The data and what was planted.

    Examples
    --------
    >>> planted = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> planted.X.shape, planted.components.shape, planted.alterations.shape, planted.usage.shape
    ((100, 100), (3, 100), (2, 3, 100), (100, 3))
    """
    try:
        n_features, rank, sizes = index(n_features), index(rank), [index(size) for size in class_sizes]
    except TypeError:
        raise TypeError(
            "n_features and rank must be whole numbers and class_sizes a list of them, "
            f"not {n_features!r}, {rank!r} and {class_sizes!r}."
        ) from None
    if n_features < 1 or rank < 0 or not sizes or min(sizes) < 1:
        raise ValueError("make_planted needs at least one column, one class and one row in every class, and rank >= 0.")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is the probability of a flip, between 0 and 1, not {noise!r}.")
    uses = membership_of(membership, len(sizes), rank)
    rng = check_random_state(random_state)
    components = _draw_sets(n_features, np.ones(rank, dtype=bool), f"{n_features} columns", rng, largest)
    usage = np.vstack([_draw_sets(m, uses[a], f"class {a} with {m} rows", rng, largest).T for a, m in enumerate(sizes)])
    alterations = _draw_alterations(components, uses, rng)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.zeros((len(y), n_features), dtype=bool)
    for a in range(len(sizes)):
        rows = y == a
        X[rows] = (usage[rows].astype(np.float32) @ (components | alterations[a]).astype(np.float32)) > 0
    X ^= rng.random_sample(X.shape) < noise
    return Planted(X, y, components, alterations, usage)


def membership_of(membership: ArrayLike | None, n_classes: int, rank: int) -> Bools:
    """Return which class uses which pattern.

    Parameters
    ----------
    membership : (c, k) array of 0/1, or None
        As in `make_planted`.
    n_classes : int
    rank : int
        Number of patterns.

    Returns
    -------
    (c, r) bool

    Examples
    --------
    >>> membership_of(None, 2, 4).astype(int).tolist()
    [[1, 0, 1, 1], [1, 1, 0, 1]]
    """
    known = _MEMBERSHIPS.get(n_classes, np.ones((n_classes, 1), dtype=bool))
    pattern = known if membership is None else np.asarray(membership).astype(bool)
    if pattern.ndim != 2 or pattern.shape[0] != n_classes or pattern.shape[1] == 0:
        raise ValueError(
            f"membership must have one row per class ({n_classes}) and a column per pattern, not shape {pattern.shape}."
        )
    return np.tile(pattern, -(-rank // pattern.shape[1]))[:, :rank]


def _draw_sets(length: int, used: Bools, where: str, rng: Any, largest: bool) -> Bools:
    """Draw one set per pattern, (r, length): 1/100 of the entries are its own, and at most 1/10 are in it."""
    own = -(-length // 100)
    max_size = max(own, length // 10)
    patterns = np.flatnonzero(used)
    if own * len(patterns) > length:
        raise ValueError(
            f"{len(patterns)} patterns with {own} entries of their own each do not fit into {where}; plant fewer "
            "patterns or make it larger."
        )
    shuffled = rng.permutation(length)
    free = shuffled[own * len(patterns) :]
    sets = np.zeros((len(used), length), dtype=bool)
    for k, s in enumerate(patterns):
        sets[s, shuffled[own * k : own * (k + 1)]] = True
        more = max_size - own if largest else rng.randint(0, max_size - own + 1)
        sets[s, rng.choice(free, min(more, len(free)), replace=False)] = True
    return sets


def _draw_alterations(components: Bools, uses: Bools, rng: Any) -> Bools:
    """Draw the alterations of every pattern that several classes use, (c, r, n)."""
    alterations = np.zeros((len(uses), *components.shape), dtype=bool)
    for s, pattern in enumerate(components):
        classes = np.flatnonzero(uses[:, s])
        if len(classes) < 2:
            continue
        left = rng.randint(0, 2 * int(pattern.sum()) // 3 + 1)
        for item in rng.permutation(np.flatnonzero(~pattern)):
            if left <= 0:
                break
            # A proper subset of these classes: an item that all of them add would be part of the pattern itself.
            chosen = rng.permutation(classes)[: rng.randint(1, min(left, len(classes) - 1) + 1)]
            alterations[chosen, s, item] = True
            left -= len(chosen)
    return alterations
