"""Where a pattern may still hide: groups of similar rows and of similar items in what the model leaves uncovered."""

from __future__ import annotations

import numpy as np

from saltmine import _core
from saltmine.arrays import Ints, Words
from saltmine.data.bits import BitMatrix

# Rows, and items, to look for further patterns from, time after time; more where the first look found some.
SEEDS = (400, 1000, 1000)
# The same where there are few rows, and only identical columns are looked at.
SEEDS_OF_FEW_ROWS = (200, 200, 200)
# A seed is a row, or an item, with so many others that are most like it: few for small patterns, more where noise hides
# the similarity of single ones.
NEIGHBOURS = (5, 20)


def seed_rows(
    bits: BitMatrix,
    open_ones: Words,
    max_n: int,
    rng: np.random.Generator,
    *,
    by_similarity: bool = True,
    n_threads: int = 1,
    seconds: float = -1.0,
) -> Words:
    """Return sets of rows to start a pattern from, (k, W); at most ``max_n`` rows, and as many items, are looked at.

    After ``seconds`` there are no further ones; a negative number is no limit.

    ``open_ones``, (n, W), are the ones that no pattern covers. Similarity is the correlation of items, or rows, scaled
    to unit variance: two rows that share rare items are alike. Small patterns that the singular vectors of the data do
    not show (they drown in the noise of all columns) are still seen by their own rows.

    There are also the rows of columns that most items have in common, where several do. With few rows and many items
    this is the clearest sign of a pattern: more items than chance allows have ones in exactly the same rows. Without
    ``by_similarity`` these are all.
    """
    m, n = bits.shape
    rows, items = (_draw(count, max_n, rng) if by_similarity else _draw(0, 0, rng) for count in (m, n))
    layout, weights = bits.layout, bits.weights
    found: Words = _core.find_seeds(
        open_ones,
        layout.rows,
        layout.places,
        weights.rows,
        weights.items,
        rows,
        items,
        np.array(NEIGHBOURS),
        max_n,
        n_threads,
        float(seconds),
    )
    return found.reshape(-1, len(layout.weights))


def _draw(count: int, max_n: int, rng: np.random.Generator) -> Ints:
    return np.arange(count) if count <= max_n else np.sort(rng.choice(count, max_n, replace=False))
