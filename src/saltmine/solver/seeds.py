"""Where a pattern may still hide: groups of similar rows and of similar items in what the model leaves uncovered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices
from saltmine.data.folding import Weights, column_keys, group
from saltmine.data.validation import BinaryMatrix

# Rows, and items, to look for further patterns from, time after time; more where the first look found some.
SEEDS = (400, 1000, 1000)
# The same where there are few rows, and only identical columns are looked at.
SEEDS_OF_FEW_ROWS = (200, 200, 200)
# A seed is a row, or an item, with so many others that are most like it: few for small patterns, more where noise hides
# the similarity of single ones.
NEIGHBOURS = (5, 20)


def seed_rows(residual: BinaryMatrix, weights: Weights, max_n: int, rng: np.random.Generator) -> Bools:
    """Return sets of rows to start a pattern from, (k, m); at most ``max_n`` rows, and as many items, are looked at.

    Similarity is the correlation of items, or rows, scaled to unit variance: two rows that share rare items are alike.
    Small patterns that the singular vectors of the data do not show (they drown in the noise of all columns) are
    still seen by their own rows.
    """
    matrix: Any = residual.astype(np.float32)
    m, n = matrix.shape
    of_rows, of_items = weights.rows.astype(np.float32), weights.items.astype(np.float32)
    frequency = np.asarray(matrix.T @ of_rows, dtype=np.float32).ravel() / of_rows.sum()
    scale = 1 / np.sqrt(np.maximum(frequency * (1 - frequency), 1 / of_rows.sum()))
    rows = _draw(m, max_n, rng)
    similarity = matrix @ ((_dense(matrix[rows]) - frequency) * scale**2 * of_items).T
    seeds = [_nearest(similarity, rows, count, weights.rows) for count in NEIGHBOURS]
    items = _draw(n, max_n, rng)
    similarity = (matrix.T @ ((_dense(matrix[:, items]) - frequency[items]) * of_rows[:, None])) * scale[:, None]
    for count in NEIGHBOURS:
        groups = _nearest(similarity, items, count, weights.items) * of_items
        # Rows that have most of the items.
        seeds.append(groups.sum(axis=1)[:, None] < (matrix @ groups.T).T * 2)
    seeds.append(identical_columns(residual, weights, max_n, rng))
    every = np.concatenate(seeds)
    return every[every @ weights.rows >= 2]


def identical_columns(residual: BinaryMatrix, weights: Weights, max_n: int, _: np.random.Generator) -> Bools:
    """Return the rows of those columns that most items have in common, where several do.

    With few rows and many items this is the clearest sign of a pattern: more items than chance allows have ones in
    exactly the same rows.
    """
    number, first = group(column_keys(residual))
    items = np.bincount(number, weights.items)
    rows = np.asarray(residual.T @ weights.rows)[first]
    shown = items * rows * np.log(weights.shape[0] / np.maximum(rows, 1))
    shown[(items < 2) | (rows < 2)] = 0
    best = np.argsort(-shown, kind="stable")[:max_n]
    return np.asarray(_dense(residual[:, first[best[shown[best] > 0]]]).T != 0)


def _draw(count: int, max_n: int, rng: np.random.Generator) -> Indices:
    return np.arange(count) if count <= max_n else np.sort(rng.choice(count, max_n, replace=False))


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _nearest(similarity: NDArray[np.float32], own: Indices, count: int, weights: NDArray[np.int64]) -> Bools:
    """Return a set for every column: itself and the most alike, until there are ``count`` others of the input."""
    similarity[own, np.arange(len(own))] = np.inf
    take = min(count + 1, len(similarity))
    nearest = np.argpartition(-similarity, take - 1, axis=0)[:take].T
    order = np.argsort(-np.take_along_axis(similarity.T, nearest, axis=1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, axis=1)
    before = np.cumsum(weights[nearest], axis=1) - weights[nearest]
    sets = np.zeros((len(own), len(similarity)), dtype=bool)
    np.put_along_axis(sets, nearest, before <= count, axis=1)
    return sets
