"""Compiled kernels of the greedy covers: candidates from associations, and what rows gain by using them.

Candidates and rows are bit sets over the items, (K, W) and (m, W). A cell is *open* while no pattern covers it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.compiled import compiled
from saltmine.data.bit_kernels import count_ones

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ONE = np.uint64(1)
# Words one by one take about so many times as long as all of them in a row.
FEW_WORDS = 3


@compiled()
def associate(columns: Words, begin: int, end: int, tau: float, first: int, last: int, candidates: Words) -> None:
    """Set bit j of candidate i where item j is in a share of at least ``tau`` of the rows that item i is in.

    The rows are words ``begin`` to ``end`` of the columns, the candidates those from ``first`` to ``last``.
    """
    for i in range(first, last):
        rows = 0
        for w in range(begin, end):
            rows += count_ones(columns[i, w])
        if rows == 0:
            continue
        for j in range(len(columns)):
            both = 0
            for w in range(begin, end):
                both += count_ones(columns[i, w] & columns[j, w])
            # A quotient rounds as the tau that a user writes does: 3 of 10 rows are 0.3, but 10 times 0.3 may not be 3.
            if both / rows >= tau:
                candidates[i, j >> 6] |= ONE << np.uint64(j & 63)


@compiled()
def count_covered(items: Words, ones: Words, zeros: Words) -> tuple[int, int]:
    """Count the open ones and the open zeros of a row that a set of items covers."""
    covered_ones, covered_zeros = 0, 0
    for w in range(len(items)):
        covered_ones += count_ones(items[w] & ones[w])
        covered_zeros += count_ones(items[w] & zeros[w])
    return covered_ones, covered_zeros


@compiled()
def count_covered_at(items: Words, places: Ints, ones: Words, zeros: Words) -> tuple[int, int]:
    """Count as `count_covered` does, where all items are in these words; faster if they are few."""
    covered_ones, covered_zeros = 0, 0
    for w in places:
        covered_ones += count_ones(items[w] & ones[w])
        covered_zeros += count_ones(items[w] & zeros[w])
    return covered_ones, covered_zeros


@compiled()
def find_places(items: Words, places: Ints) -> int:
    """Write the numbers of the words that are not empty, and return how many these are."""
    count = 0
    for w in range(len(items)):
        if items[w]:
            places[count] = w
            count += 1
    return count


@compiled()
def gains_of_rows(
    candidate: Words, rows: Ints, open_ones: Words, open_zeros: Words, w_plus: float, w_minus: float, gains: Floats
) -> None:
    """Write what each of these rows gains by using a candidate."""
    for k, row in enumerate(rows):
        ones, zeros = count_covered(candidate, open_ones[row], open_zeros[row])
        gains[k] = w_plus * ones - w_minus * zeros


@compiled()
def add_gains(
    candidates: Words,
    first: int,
    last: int,
    items: Words,
    rows: Ints,
    class_of: Ints,
    open_ones: Words,
    open_zeros: Words,
    w_plus: float,
    w_minus: float,
    gains: Floats,
) -> None:
    """Add to ``gains``, (K, c), what changes for the candidates ``first`` to ``last`` when rows use a pattern.

    ``items`` are those of the pattern, and the cells are as they were before. A pattern without items stands for the
    beginning: what the rows gain by every candidate is added. Rows that lose by a candidate do not use it.
    """
    n_words = candidates.shape[1]
    places, common_places = np.empty(n_words, dtype=np.int64), np.empty(n_words, dtype=np.int64)
    common = np.empty(n_words, dtype=np.uint64)
    beginning = find_places(items, places) == 0
    for k in range(first, last):
        candidate = candidates[k]
        for w in range(n_words):
            common[w] = candidate[w] & items[w]
        shared = common_places[: find_places(common, common_places)]
        if not beginning and len(shared) == 0:
            continue
        there = places[: find_places(candidate, places)]
        # Candidates of data with many items, as texts, have most words empty.
        few = FEW_WORDS * len(there) < n_words
        for row in rows:
            if few:
                ones, zeros = count_covered_at(candidate, there, open_ones[row], open_zeros[row])
            else:
                ones, zeros = count_covered(candidate, open_ones[row], open_zeros[row])
            gained = max(w_plus * ones - w_minus * zeros, 0.0)
            if not beginning:
                lost_ones, lost_zeros = count_covered_at(common, shared, open_ones[row], open_zeros[row])
                gained = max(w_plus * (ones - lost_ones) - w_minus * (zeros - lost_zeros), 0.0) - gained
            gains[k, class_of[row]] += gained
