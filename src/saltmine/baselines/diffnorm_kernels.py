"""Compiled kernels of DiffNorm: covers of 64 rows at once, and estimates of what the union of two patterns gains.

Every pattern has a slot, and the single items have the first n of them. A word holds rows of one class.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.compiled import compiled
from saltmine.data.bit_kernels import ZERO, count_ones

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ALL_ROWS = ~ZERO


class Cover(NamedTuple):
    """The data, the patterns, and which rows use which of them."""

    data: Words  # (W, n): rows that have an item
    class_of: Ints  # (W,): class of a word
    usage: Words  # (W, slots): rows that use a pattern
    counts: Ints  # (c, slots): number of rows that use a pattern
    members: Bools  # (c, slots): patterns of a class's coding set, single items left out
    begins: Ints  # (slots,): where the items of a pattern begin in `items`
    sizes: Ints  # (slots,): number of items
    costs: Floats  # (slots,): code lengths of the items, summed up
    items: Ints


class Prices(NamedTuple):
    """What codes cost, as far as estimates need it."""

    subsets: Bools  # (J, c): classes of every pattern set
    used: Floats  # (largest class + 1,): log of Gamma(k + 1/2) / Gamma(1/2)
    numbers: Floats  # (n + 1,): universal code of the numbers
    scales: Floats  # (c,): uses of all patterns, half the size of the coding set added
    rooms: Floats  # (c,): what one pattern more spares in the normalisation of the code


@compiled()
def cover_word(cover: Cover, order: Ints, w: int, left: Words, used: Words) -> None:
    """Cover the rows of a word; ``used``, (slots,), gets the rows of every pattern. ``left`` is room, (n,)."""
    a, n = cover.class_of[w], len(left)
    left[:] = cover.data[w]
    used[:] = ZERO
    for s in order:
        if cover.members[a, s]:
            begin, end = cover.begins[s], cover.begins[s] + cover.sizes[s]
            rows = ALL_ROWS
            for k in range(begin, end):
                rows &= left[cover.items[k]]
                if rows == ZERO:
                    break
            if rows != ZERO:
                used[s] = rows
                for k in range(begin, end):
                    left[cover.items[k]] &= ~rows
    used[:n] = left


@compiled()
def cover_words(cover: Cover, order: Ints, words: Ints, fresh: Words, counts: Ints) -> None:
    """Cover the rows of some words anew: ``fresh`` gets their usage; ``counts`` begins as those of the cover."""
    left = np.empty(cover.data.shape[1], dtype=np.uint64)
    for j in range(len(words)):
        w = words[j]
        a = cover.class_of[w]
        cover_word(cover, order, w, left, fresh[j])
        for s in range(counts.shape[1]):
            counts[a, s] += count_ones(fresh[j, s]) - count_ones(cover.usage[w, s])


@compiled()
def sum_up(counts: Ints, used: Floats, totals: Ints, logs: Floats) -> None:
    """Add the uses of every class, and the logarithms that the prequential code has of them."""
    for a in range(len(counts)):
        totals[a], logs[a] = 0, 0.0
        for s in range(counts.shape[1]):
            totals[a] += counts[a, s]
            logs[a] += used[counts[a, s]]


@compiled()
def count_shared(cover: Cover, x: int, shared: Ints) -> None:
    """Count the rows that use pattern ``x`` together with every other one, per class."""
    shared[:] = 0
    for w in range(len(cover.usage)):
        rows = cover.usage[w, x]
        if rows != ZERO:
            of_class = shared[cover.class_of[w]]
            for y in range(shared.shape[1]):
                of_class[y] += count_ones(rows & cover.usage[w, y])


@compiled()
def estimate(cover: Cover, prices: Prices, x: int, y: int, shared: Ints) -> float:
    """Return what the union of two patterns gains in the best pattern set, if it replaces both wherever they meet.

    Patterns that meet have no items in common, as covers do not overlap.
    """
    best = -np.inf
    cost = prices.numbers[cover.sizes[x] + cover.sizes[y]] + (cover.costs[x] + cover.costs[y])
    for classes in prices.subsets:
        gain, left_x, left_y = -cost, 0, 0
        for a in range(len(classes)):
            u, v = cover.counts[a, x], cover.counts[a, y]
            if classes[a]:
                k = shared[a, y]
                fewer = k - 0.5
                codes = prices.used[k] + (prices.used[u - k] + prices.used[v - k]) - (prices.used[u] + prices.used[v])
                # Gamma(a) / Gamma(b) is a power of what lies between a and b.
                gain += codes + prices.rooms[a] + fewer * log(max(prices.scales[a] - 0.5 * (fewer + 1), 0.5))
                u, v = u - k, v - k
            left_x, left_y = left_x + u, left_y + v
        # A pattern that no row uses any longer is taken out.
        for s, left in ((x, left_x), (y, left_y)):
            if left == 0 and cover.sizes[s] > 1:
                gain += prices.numbers[cover.sizes[s]] + cover.costs[s]
        best = max(best, gain)
    return float(best)


@compiled()
def best_partner(cover: Cover, prices: Prices, x: int, floors: Floats, shared: Ints) -> tuple[float, int]:
    """Return the highest estimate above ``floors``, (slots,), that a pattern has with another, and which that is.

    ``shared`` is room, (c, slots).
    """
    count_shared(cover, x, shared)
    best, partner = 0.0, x
    for y in range(shared.shape[1]):
        meet = 0
        for a in range(len(shared)):
            meet += shared[a, y]
        # What only one row needs costs more as a pattern than it spares.
        if meet > 1 and y != x:
            gain = estimate(cover, prices, x, y, shared)
            if gain > best and gain > floors[y]:
                best, partner = gain, y
    return best, partner
