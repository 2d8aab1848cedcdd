"""Tables of independent items, of 14 kinds: whatever goes together in them is chance. Used by `benchmarks.power`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from saltmine.arrays import Bools, Floats

Rng = np.random.Generator
Labels = NDArray[np.int64]


def make_independent(kind: str, seed: int) -> tuple[Bools, Labels]:
    """Return a table of one of `KINDS`, and labels that have nothing to do with it."""
    rng = np.random.default_rng([seed, *kind.encode()])
    X, sizes = MAKERS[kind](rng)
    return X, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


Made = tuple[Bools, list[int]]


def _draw(m: int, frequencies: Any, rng: Rng, row_odds: Floats | float = 0.0) -> Bools:
    """Draw items of given frequencies for m rows, whose log odds may be shifted."""
    odds = logit(np.clip(frequencies, 1e-4, 1 - 1e-4)) + np.reshape(row_odds, (-1, 1))
    return np.asarray(rng.random((m, len(frequencies))) < expit(odds))


def _beta(rng: Rng) -> Made:
    return _draw(200, rng.beta(0.5, 2, 100), rng), [100, 100]


def _beta_and_row_sizes(rng: Rng) -> Made:
    return _draw(300, rng.beta(0.5, 2, 100), rng, rng.normal(0, 1, 300)), [100, 100, 100]


def _heavy_rows(rng: Rng) -> Made:
    """One row in twenty has most of the items."""
    return _draw(200, rng.beta(1, 6, 80), rng, np.where(rng.random(200) < 0.05, 3.0, 0.0)), [100, 100]


def _two_sizes_of_rows(rng: Rng) -> Made:
    """Half of the rows are measured with another depth."""
    return _draw(400, rng.beta(1, 4, 60), rng, np.where(rng.random(400) < 0.5, 1.0, -1.0)), [200, 200]


def _above_the_median(rng: Rng) -> Made:
    """Numbers, each one if above the median of its column."""
    values = rng.normal(size=(150, 50))
    return values > np.median(values, axis=0), [75, 75]


def _one_hot(rng: Rng) -> Made:
    """Twenty questions with two to six answers each."""
    return _answers(300, [rng.dirichlet(np.ones(k)) for k in rng.integers(2, 7, 20)], rng), [150, 150]


def _quartiles(rng: Rng) -> Made:
    """Twelve numbers, each as the quarter that it is in."""
    return _answers(400, [np.full(4, 0.25)] * 12, rng), [200, 200]


def _answers(m: int, probabilities: list[Floats], rng: Rng) -> Bools:
    columns = [np.eye(len(p), dtype=bool)[rng.choice(len(p), m, p=p)] for p in probabilities]
    return np.hstack(columns)


def _few_rows(rng: Rng) -> Made:
    return _draw(12, rng.beta(1, 2, 200), rng), [6, 6]


def _wide(rng: Rng) -> Made:
    return _draw(50, rng.beta(0.5, 3, 1000), rng), [25, 25]


def _narrow(rng: Rng) -> Made:
    return _draw(1000, np.full(10, 0.05), rng), [500, 500]


def _rare(rng: Rng) -> Made:
    return _draw(1000, np.full(100, 0.01), rng), [500, 500]


def _frequent(rng: Rng) -> Made:
    return _draw(200, rng.uniform(0.7, 0.98, 60), rng), [100, 100]


def _like_words(rng: Rng) -> Made:
    """Frequencies by Zipf's law and texts of different length."""
    return _draw(300, 0.5 / np.arange(1, 601), rng, rng.normal(0, 0.7, 300)), [150, 150]


def _many_classes(rng: Rng) -> Made:
    """Twelve classes from 4 to 48 rows."""
    sizes = [4 * k for k in range(1, 13)]
    return _draw(sum(sizes), rng.beta(0.7, 2, 60), rng), sizes


MAKERS: dict[str, Callable[[Rng], Made]] = {
    "Beta": _beta,
    "Beta and row sizes": _beta_and_row_sizes,
    "heavy rows": _heavy_rows,
    "two sizes of rows": _two_sizes_of_rows,
    "above the median": _above_the_median,
    "one-hot": _one_hot,
    "quartiles": _quartiles,
    "12 x 200": _few_rows,
    "50 x 1000": _wide,
    "1000 x 10": _narrow,
    "rare": _rare,
    "frequent": _frequent,
    "like words": _like_words,
    "twelve classes": _many_classes,
}
KINDS = tuple(MAKERS)
