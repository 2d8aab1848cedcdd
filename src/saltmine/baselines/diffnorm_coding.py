"""The coding sets of DiffNorm: patterns, the covers they give, and the exact length of model and data, in nats."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import log, log2

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from saltmine.baselines.diffnorm_kernels import Cover, Prices, cover_words, sum_up
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.mdl.code_length import item_codes

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Items = tuple[int, ...]
# What comes first in a cover: longer patterns, then more frequent ones in all rows, then the smaller items.
Rank = tuple[int, int, Items]

# Slots for patterns there is room for at first.
FIRST_SLOTS = 64
# Differences in length below this share of it are rounding.
ROUNDING = 1e-12


def integer_code(number: int) -> float:
    """Return the length of Rissanen's universal code for a whole number of at least 1, in nats.

    Examples
    --------
    >>> round(integer_code(1), 3), round(integer_code(4), 3)
    (1.053, 3.132)
    """
    length, left = log(2.865064), log2(number)
    while left > 0:
        length += left * log(2)
        left = log2(left)
    return length


@dataclass(frozen=True)
class Change:
    """New covers of some words of rows, until the next one is tried; ``length`` is the total afterwards."""

    words: Ints
    usage: Words
    counts: Ints
    length: float


@dataclass(frozen=True)
class Addition:
    """A pattern more in pattern set ``home``; the patterns in the slots ``idle`` go, as no row needs them then.

    ``twins`` are slots with the same items in other pattern sets, which this one takes the place of.
    """

    change: Change
    slot: int
    rank: Rank
    home: int
    idle: list[int]
    twins: list[int]


class CodingSets:
    """Pattern sets for subsets of the classes, and the cover of all rows by them.

    The coding set of a class has all single items, and the patterns of every set that the class belongs to. A row is
    covered by the first pattern of its coding set that it has all items of, then by the next one that fits into the
    rest, and so on; single items cover what is left.

    Parameters
    ----------
    bits : BitMatrix
        The data; every row and item counts once.
    subsets : (J, c) bool
        The classes of every pattern set.

    Attributes
    ----------
    length : float
        Nats for model and data.
    patterns, home : dict
        Items of the pattern in every slot that has one, and its pattern set.
    order : (P,) int
        These slots in the order of the cover.
    cover : Cover
    """

    def __init__(self, bits: BitMatrix, subsets: Bools) -> None:
        n, c = bits.shape[1], len(bits.blocks)
        self.subsets, self.n_items = subsets, n
        self.patterns: dict[int, Items] = {}
        self.home: dict[int, int] = {}
        self._slots_of: dict[Items, list[int]] = {}
        self._free, self._end = list[int](), n
        # Patterns of every class's coding set and of every pattern set, and what all of them cost.
        self._members, self._held, self._model = np.zeros(c, np.int64), np.zeros(len(subsets), np.int64), 0.0
        self._ranks, self.order = list[Rank](), np.zeros(0, dtype=np.int64)
        self._used: Floats = gammaln(np.arange(max(bits.class_sizes) + 1) + 0.5) - gammaln(0.5)
        self._numbers = np.array([0.0] + [integer_code(k) for k in range(1, n + 1)])
        self._codes = item_codes(bits.item_counts)
        data = np.ascontiguousarray(bits.columns.T)
        self.cover = Cover(
            data=data,
            class_of=np.repeat(np.arange(c), np.diff(bits.layout.edges)),
            usage=data.copy(),
            counts=bits.class_counts.astype(np.int64),
            members=np.zeros((c, n), dtype=bool),
            begins=np.arange(n),
            sizes=np.ones(n, dtype=np.int64),
            costs=self._codes.copy(),
            items=np.arange(n),
        )
        self._grow(FIRST_SLOTS)
        self.length = self._total(*self._sums(self.cover.counts), [])

    # ------------------------------------------------------------------ lengths

    def prices(self) -> Prices:
        """Return what estimates of gains need to know."""
        sizes = 0.5 * (self.n_items + self._members)
        rooms = gammaln(sizes + 0.5) - gammaln(sizes)
        return Prices(self.subsets, self._used, self._numbers, self.cover.counts.sum(axis=1) + sizes, rooms)

    def _cost(self, slot: int) -> float:
        """Return what the model pays for a pattern: the number of its items, and each of them."""
        return float(self._numbers[self.cover.sizes[slot]] + self.cover.costs[slot])

    def _sums(self, counts: Ints) -> tuple[Ints, Floats]:
        """Return the uses of every class, and the logarithms that the prequential code has of them."""
        totals, logs = np.empty(len(counts), dtype=np.int64), np.empty(len(counts))
        sum_up(counts, self._used, totals, logs)
        return totals, logs

    def _total(self, totals: Ints, logs: Floats, gone: list[int], new: tuple[int, int] | None = None) -> float:
        """Return the length of everything with these uses, without some patterns, with a new one in (slot, set)."""
        members, held, model = self._members.copy(), self._held.copy(), self._model
        for slot in gone:
            members -= self.subsets[self.home[slot]]
            held[self.home[slot]] -= 1
            model -= self._cost(slot)
        if new is not None:
            members += self.subsets[new[1]]
            held[new[1]] += 1
            model += self._cost(new[0])
        sizes = 0.5 * (self.n_items + members)
        data = gammaln(totals + sizes) - gammaln(sizes) - logs
        return float(data.sum()) + model + sum(integer_code(1 + k) for k in held.tolist())

    # ------------------------------------------------------------------ changes that are tried

    def union(self, x: int, y: int) -> Items:
        """Return the items of two slots."""
        return tuple(sorted(self.patterns.get(x, (x,)) + self.patterns.get(y, (y,))))

    def try_adding(self, items: Items) -> Addition | None:
        """Return the addition of a pattern to the set where the total falls most; None if it falls in none."""
        slot = self._describe(items)
        cover = self.cover
        # Classes that have the pattern already need no new cover.
        twins = self._slots_of.get(items, [])
        known = np.logical_or.reduce(cover.members[:, twins], axis=1)
        rows = np.bitwise_and.reduce(cover.data[:, items], axis=1)
        words = np.flatnonzero((rows != 0) & ~known[cover.class_of])
        rank = -len(items), -int(count_bits(rows)), items
        order = np.insert(self.order, bisect_left(self._ranks, rank), slot)
        cover.members[:, slot] = ~known
        usage, counts = self._cover_anew(order, words)
        cover.members[:, slot] = False
        before, after = self._sums(cover.counts), self._sums(counts)
        fallen = [s for s in np.flatnonzero((counts < cover.counts).any(axis=0)).tolist() if s in self.patterns]
        best, shortest = None, self.length * (1 - ROUNDING)
        for home, classes in enumerate(self.subsets):
            # The new pattern takes the place of one with the same items, if it serves all classes of that one.
            met = [twin for twin in twins if (self.subsets[self.home[twin]] & classes).any()]
            if known[classes].all() or any((self.subsets[self.home[twin]] & ~classes).any() for twin in met):
                continue
            idle = [s for s in fallen if not np.where(classes, counts[:, s], cover.counts[:, s]).any()]
            sums = np.where(classes, after[0], before[0]), np.where(classes, after[1], before[1])
            length = self._total(*sums, idle + met, (slot, home))
            if length < shortest:
                best, shortest = Addition(Change(words, usage, counts, length), slot, rank, home, idle, met), length
        return best

    def try_dropping(self, slot: int) -> Change | None:
        """Return what becomes of the rows without a pattern; None if the total does not fall."""
        words = np.flatnonzero(self.cover.usage[:, slot])
        usage, counts = self._cover_anew(self.order[self.order != slot], words)
        length = self._total(*self._sums(counts), [slot])
        return Change(words, usage, counts, length) if length < self.length * (1 - ROUNDING) else None

    def _cover_anew(self, order: Ints, words: Ints) -> tuple[Words, Ints]:
        usage, counts = self._room[: len(words)], self.cover.counts.copy()
        cover_words(self.cover, order, words, usage, counts)
        return usage, counts

    # ------------------------------------------------------------------ changes that are made

    def add(self, addition: Addition) -> set[int]:
        """Add the pattern, and return the slots whose usage is another one now."""
        cover, change, slot, home = self.cover, addition.change, addition.slot, addition.home
        classes = self.subsets[home]
        self._enter(slot, addition.rank, home)
        here = classes[cover.class_of[change.words]]
        changed = self._replace(change.words[here], change.usage[here])
        cover.counts[classes] = change.counts[classes]
        for twin in addition.twins:
            cover.usage[:, slot] |= cover.usage[:, twin]
            cover.counts[:, slot] += cover.counts[:, twin]
            cover.usage[:, twin], cover.counts[:, twin] = 0, 0
        for gone in addition.idle + addition.twins:
            self._forget(gone)
        self.length = change.length
        return changed | {slot, *addition.twins}

    def drop(self, slot: int, change: Change) -> set[int]:
        """Drop the pattern, and return the slots whose usage is another one now."""
        changed = self._replace(change.words, change.usage)
        self.cover.counts[:] = change.counts
        self._forget(slot)
        self.length = change.length
        return changed

    def _replace(self, words: Ints, usage: Words) -> set[int]:
        changed = np.flatnonzero((self.cover.usage[words] != usage).any(axis=0))
        self.cover.usage[words] = usage
        return set(changed.tolist())

    def _enter(self, slot: int, rank: Rank, home: int) -> None:
        place, items = bisect_left(self._ranks, rank), rank[2]
        self.order = np.insert(self.order, place, slot)
        self._ranks.insert(place, rank)
        self.patterns[slot], self.home[slot] = items, home
        self._slots_of.setdefault(items, []).append(slot)
        self._members += self.subsets[home]
        self._held[home] += 1
        self._model += self._cost(slot)
        self.cover.members[:, slot] = self.subsets[home]
        self._free.remove(slot)
        self._end += len(items)

    def _forget(self, slot: int) -> None:
        items, home = self.patterns.pop(slot), self.home.pop(slot)
        place = int(np.flatnonzero(self.order == slot)[0])
        self.order = np.delete(self.order, place)
        del self._ranks[place]
        self._slots_of[items].remove(slot)
        self._members -= self.subsets[home]
        self._held[home] -= 1
        self._model -= self._cost(slot)
        self.cover.members[:, slot] = False
        self._free.append(slot)

    # ------------------------------------------------------------------ slots

    def _describe(self, items: Items) -> int:
        """Write the items to a free slot, which the pattern is given if it is added."""
        if not self._free:
            self._grow(self.cover.usage.shape[1] // 4)
        slot, end = self._free[-1], self._end + len(items)
        if end > len(self.cover.items):
            self.cover = self.cover._replace(items=np.resize(self.cover.items, 2 * end))
        self.cover.items[self._end : end] = items
        self.cover.begins[slot], self.cover.sizes[slot] = self._end, len(items)
        self.cover.costs[slot] = self._codes[list(items)].sum()
        return slot

    def _grow(self, more: int) -> None:
        """Make room for more patterns."""
        cover, slots = self.cover, self.cover.usage.shape[1]
        wider = {
            name: np.concatenate([array, np.zeros((*array.shape[:-1], more), array.dtype)], axis=-1)
            for name, array in cover._asdict().items()
            if name in ("usage", "counts", "members", "begins", "sizes", "costs")
        }
        self.cover = cover._replace(**wider)
        self._room = np.empty_like(self.cover.usage)
        self._free += range(slots + more - 1, slots - 1, -1)
