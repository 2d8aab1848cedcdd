"""Items whose combination classes use differently, whether or not the items go together.

A beam search for sets of items: from pairs, the item that makes the difference between a class and the others clearest
joins, while it pays for its choice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import count_ones
from saltmine.mdl.evidence import item_choices
from saltmine.mdl.item_choice import rate_length
from saltmine.solver.kernels import Data

# Pairs are made of all items if they are few, otherwise of those that differ most between classes, with all.
MAX_FIRST = 128
# Pairs with every first item, pairs that are grown, and sets that are kept.
PARTNERS, MAX_PAIRS, MAX_SETS = 16, 300, 200
MAX_ITEMS = 12


class Contrast(NamedTuple):
    """A set of items, and the evidence that a class uses it more than the others."""

    items: Bools  # (n,)
    evidence: float


@compiled()
def count_common(data: Data, rows: Words, column: Words, counts: Ints) -> None:
    """Count the rows of every class that have an item, (c,)."""
    for a in range(len(counts)):
        counts[a] = 0
        for w in range(data.edges[a], data.edges[a + 1]):
            counts[a] += data.row_weights[w] * count_ones(rows[w] & column[w])


@compiled()
def difference_of(counts: Ints, sizes: Ints, a: int) -> float:
    """Return the log-likelihood ratio of two rates, in class a and in the others, against one; zero if not higher."""
    others, rest = counts.sum() - counts[a], sizes.sum() - sizes[a]
    zeros, other_zeros = sizes[a] - counts[a], rest - others
    if counts[a] * rest <= others * sizes[a]:
        return 0.0
    together = rate_length(counts[a] + others, zeros + other_zeros)
    return together - rate_length(counts[a], zeros) - rate_length(others, other_zeros)


@compiled()
def score_with(data: Data, columns: Words, rows: Words, shown: Floats) -> None:
    """Fill in how much every class differs in the rows that also have each item, (n, c)."""
    counts = np.empty(len(data.class_sizes), dtype=np.int64)
    for i in range(len(columns)):
        count_common(data, rows, columns[i], counts)
        for a in range(len(counts)):
            shown[i, a] = difference_of(counts, data.class_sizes, a)


@compiled()
def grow(data: Data, columns: Words, first: int, second: int, a: int, items: Bools) -> float:
    """Grow a pair of items to the set that shows most for class a, less what the choice of it costs."""
    costs = data.costs
    rows = columns[first] & columns[second]
    items[:] = False
    items[first] = True
    items[second] = True
    codes = costs.codes[first] + costs.codes[second]
    counts = np.empty(len(data.class_sizes), dtype=np.int64)
    count_common(data, rows, rows, counts)
    best = difference_of(counts, data.class_sizes, a) - item_choices(costs.n_items, 2, codes)
    for size in range(3, MAX_ITEMS + 1):
        joining = -1
        for i in range(len(columns)):
            if not items[i]:
                count_common(data, rows, columns[i], counts)
                choice = item_choices(costs.n_items, size, codes + costs.codes[i])
                now = difference_of(counts, data.class_sizes, a) - choice
                if now > best + 1e-9:
                    best, joining = now, i
        if joining < 0:
            break
        items[joining] = True
        codes += costs.codes[joining]
        for w in range(len(rows)):
            rows[w] &= columns[joining, w]
    return best


def find_contrasts(data: Data, columns: Words, least: float) -> list[Contrast]:
    """Return sets of items that a class uses more than the others, the clearest first.

    ``columns``, (n, W), are the cells to look at, ``least`` is the evidence that a set must show.
    """
    n, c = len(columns), len(data.class_sizes)
    shown = np.empty((n, c))
    score_with(data, columns, data.row_mask, shown)
    firsts = np.arange(n) if n <= MAX_FIRST else np.sort(np.argsort(-shown.max(axis=1), kind="stable")[:MAX_FIRST])
    pairs = list[tuple[float, int, int, int]]()
    for i in firsts.tolist():
        score_with(data, columns, columns[i], shown)
        shown[i] = -np.inf
        shown -= (data.costs.codes[i] + data.costs.codes)[:, None]
        best = np.argpartition(-shown, min(PARTNERS, shown.size - 1), axis=None)[:PARTNERS]
        pairs += [(-float(shown.flat[k]), i, *divmod(int(k), c)) for k in best if k // c != i]
    found, items = dict[bytes, Contrast](), np.zeros(n, dtype=bool)
    for _, i, j, a in sorted(pairs)[:MAX_PAIRS]:
        evidence = float(grow(data, columns, i, j, a, items))
        if evidence >= least:
            found[items.tobytes()] = Contrast(items.copy(), evidence)
    return sorted(found.values(), key=lambda contrast: -contrast.evidence)[:MAX_SETS]
