"""Simulated clinical tables with known patterns, for `benchmarks.power`.

Rows are patients of two or three classes, items are findings of very different frequency, and rows differ in size. Each
table has three to six patterns of three to eight items in 10 to 30 % of the rows, most of whose items a user has. A
pattern is shared, only in one class, mostly in one class (two to five times the rate), or altered: one class adds
items. No two patterns have an item in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from saltmine.arrays import Bools

SHARED, ONLY, MOSTLY, ALTERED = KINDS = ("shared", "only", "mostly", "altered")
N_ROWS, N_ITEMS, N_CLASSES = (100, 200, 400), (30, 100, 300), (2, 3)
N_PATTERNS, SIZES, N_ADDED = (3, 6), (3, 8), (2, 4)  # smallest and largest
USED_BY, DENSITY, RATIO = (
    (0.1, 0.3),
    (0.6, 0.9),
    (2.0, 5.0),
)  # of rows; of ones in them; of rates, "mostly"
MOST_USED = 0.9
FREQUENCY, RARE, FREQUENT = (0.5, 2.0), 0.005, 0.95  # parameters of a Beta distribution, and its limits
ROW_SPREAD = 0.5  # standard deviation of the sizes of rows, as log odds


@dataclass(frozen=True)
class PlantedPattern:
    """One planted pattern.

    Attributes
    ----------
    items, added : frozenset of int
        Columns of the pattern, and those that the class ``role`` adds.
    kind : {"shared", "only", "mostly", "altered"}
    role : int
        The class that it is about; -1 if it is shared.
    users : (m,) bool
    """

    items: frozenset[int]
    added: frozenset[int]
    kind: str
    role: int
    users: Bools

    @property
    def whole(self) -> frozenset[int]:
        """All of its items, added ones included."""
        return self.items | self.added


class ClinicalTable(NamedTuple):
    """A table, its labels and its truth."""

    X: Bools
    y: NDArray[np.int64]
    patterns: list[PlantedPattern]


def simulate(seed: int) -> ClinicalTable:
    """Return a random table; the same for the same seed."""
    rng = np.random.default_rng(seed)
    m, n, c = (int(rng.choice(values)) for values in (N_ROWS, N_ITEMS, N_CLASSES))
    y = rng.permutation(np.arange(m) % c)
    frequencies = np.clip(rng.beta(*FREQUENCY, n), RARE, FREQUENT)
    X = rng.random((m, n)) < expit(logit(frequencies) + rng.normal(0, ROW_SPREAD, (m, 1)))
    free, patterns = rng.permutation(n).tolist(), []
    for _ in range(_between(rng, N_PATTERNS)):
        size, kind = _between(rng, SIZES), str(rng.choice(KINDS))
        n_added = _between(rng, N_ADDED) if kind == ALTERED else 0
        if len(free) < size + n_added:
            break
        chosen, free = free[: size + n_added], free[size + n_added :]
        role = int(rng.integers(c))
        users = rng.random(m) < _rates(kind, role, c, rng)[y]
        _plant(X, users, chosen[:size], rng)
        _plant(X, users & (y == role), chosen[size:], rng)
        about = -1 if kind == SHARED else role
        patterns.append(PlantedPattern(frozenset(chosen[:size]), frozenset(chosen[size:]), kind, about, users))
    return ClinicalTable(X, y, patterns)


def _between(rng: np.random.Generator, limits: tuple[int, int]) -> int:
    return int(rng.integers(limits[0], limits[1] + 1))


def _rates(kind: str, role: int, n_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the rate of use in every class; over all rows it is about the same whatever the kind."""
    weights = np.ones(n_classes)
    if kind == ONLY:
        weights = np.eye(n_classes)[role]
    elif kind == MOSTLY:
        weights[role] = rng.uniform(*RATIO)
    rates: NDArray[np.float64] = rng.uniform(*USED_BY) * n_classes * weights / weights.sum()
    return np.minimum(rates, MOST_USED)


def _plant(X: Bools, rows: Bools, items: Sequence[int], rng: np.random.Generator) -> None:
    """Give the rows most of the items."""
    cells = np.ix_(rows, np.array(items, dtype=np.intp))
    X[cells] |= rng.random((int(rows.sum()), len(items))) < rng.uniform(*DENSITY)
