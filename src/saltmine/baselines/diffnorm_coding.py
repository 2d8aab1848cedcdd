"""The coding sets of DiffNorm: patterns, the covers of all rows by them, and the exact length in nats.

Every pattern has a slot; the first n slots are those of the single items. Rows are covered 64 at a time, as the bits of
a word, which holds rows of one class.
"""

from __future__ import annotations

from bisect import bisect_left
from math import log, log2
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.mdl.code_length import item_codes

Items = tuple[int, ...]
# Sort key of the cover: longer patterns first, then more frequent ones in all rows, then smaller items.
SortKey = tuple[int, int, Items]

# Slots for patterns at the beginning.
INITIAL_SLOTS = 64
# Relative differences in length below this are rounding errors.
ROUNDING = 1e-12


class Cover(NamedTuple):
    """The data, the patterns, and which rows use which of them."""

    data: Words  # (W, n): rows that have an item
    class_of: Ints  # (W,): class of a word
    usage: Words  # (W, slots): rows that use a pattern
    counts: Ints  # (c, slots): number of rows that use a pattern
    members: Bools  # (c, slots): patterns of a class's coding set, without single items
    begins: Ints  # (slots,): where the items of a pattern begin in `items`
    sizes: Ints  # (slots,): number of items
    costs: Floats  # (slots,): code lengths of the items, summed up
    items: Ints


class CodeCosts(NamedTuple):
    """The parts of the code lengths that estimates of gains need."""

    subsets: Bools  # (J, c): classes of every pattern set
    log_gamma: Floats  # (largest class + 1,): log of Gamma(k + 1/2) / Gamma(1/2)
    integers: Floats  # (n + 1,): universal code of the integers
    totals: Floats  # (c,): uses of all patterns, plus half the size of the coding set
    normalisation: Floats  # (c,): change of the normalisation of the code by one more pattern


def sum_usage(counts: Ints, log_gamma: Floats) -> tuple[Ints, Floats]:
    """Return the uses of every class, and the sums of their logarithms in the prequential code."""
    totals, logs = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts))
    _core.sum_usage(counts, log_gamma, totals, logs)
    return totals, logs


def integer_code(number: int) -> float:
    """Return the length of Rissanen's universal code for an integer of at least 1, in nats.

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


class Change(NamedTuple):
    """New covers of some words, valid until the next change is tried; ``length`` is the total afterwards."""

    words: Ints
    usage: Words
    counts: Ints
    length: float


class Addition(NamedTuple):
    """A new pattern in the pattern set ``set_index``.

    ``unused`` are slots that no row uses afterwards. ``duplicates`` are slots with the same items in other pattern
    sets, which the new pattern replaces. Both are removed.
    """

    change: Change
    slot: int
    key: SortKey
    set_index: int
    unused: list[int]
    duplicates: list[int]


class CodingSets:
    """Pattern sets for subsets of the classes, and the cover of all rows by them.

    The coding set of a class has all single items, and the patterns of every set that the class belongs to. A row is
    covered by the first pattern of its coding set whose items it all has, then by the next one that fits into the
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
    patterns, set_of : dict
        Items and pattern set of every slot that holds a pattern.
    order : (P,) int
        These slots in the order of the cover.
    cover : Cover
    """

    def __init__(self, bits: BitMatrix, subsets: Bools) -> None:
        n, c = bits.shape[1], len(bits.blocks)
        self.subsets, self.n_items = subsets, n
        self.patterns: dict[int, Items] = {}
        self.set_of: dict[int, int] = {}
        self._slots_of: dict[Items, list[int]] = {}
        self._free_slots, self._items_end = list[int](), n
        # Numbers of patterns in the coding set of every class and in every pattern set, and their total cost.
        self._sizes = np.zeros(c, np.int64), np.zeros(len(subsets), np.int64), 0.0
        self._keys, self.order = list[SortKey](), np.zeros(0, dtype=np.int64)
        self._log_gamma: Floats = gammaln(np.arange(max(bits.class_sizes) + 1) + 0.5) - gammaln(0.5)
        self._integers = np.array([0.0] + [integer_code(k) for k in range(1, n + 1)])
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
        self._add_slots(INITIAL_SLOTS)
        self.length = self._total(*sum_usage(self.cover.counts, self._log_gamma), [])

    # ------------------------------------------------------------------ lengths

    def code_costs(self) -> CodeCosts:
        """Return what estimates of gains need."""
        sizes = 0.5 * (self.n_items + self._sizes[0])
        normalisation = gammaln(sizes + 0.5) - gammaln(sizes)
        totals = self.cover.counts.sum(axis=1) + sizes
        return CodeCosts(self.subsets, self._log_gamma, self._integers, totals, normalisation)

    def _total(self, totals: Ints, logs: Floats, removed: list[int], *added: tuple[int, int]) -> float:
        """Return the length of model and data with these uses, for removed slots and an added (slot, set)."""
        changes = [(slot, self.set_of[slot], -1) for slot in removed] + [(*pattern, 1) for pattern in added]
        coding_sizes, set_sizes, model = self._sizes_after(*changes)
        sizes = 0.5 * (self.n_items + coding_sizes)
        data = gammaln(totals + sizes) - gammaln(sizes) - logs
        return float(data.sum()) + model + sum(integer_code(1 + k) for k in set_sizes.tolist())

    def _sizes_after(self, *changes: tuple[int, int, int]) -> tuple[Ints, Ints, float]:
        """Return the sizes of coding and pattern sets and the length of the model after (slot, set, 1 or -1)."""
        coding_sizes, set_sizes, length = self._sizes
        coding_sizes, set_sizes = coding_sizes.copy(), set_sizes.copy()
        for slot, set_index, sign in changes:
            coding_sizes += sign * self.subsets[set_index]
            set_sizes[set_index] += sign
            length += sign * float(self._integers[self.cover.sizes[slot]] + self.cover.costs[slot])
        return coding_sizes, set_sizes, length

    # ------------------------------------------------------------------ trying a change

    def union(self, x: int, y: int) -> Items:
        """Return the items of two slots."""
        return tuple(sorted(self.patterns.get(x, (x,)) + self.patterns.get(y, (y,))))

    def try_adding(self, items: Items) -> Addition | None:
        """Return the addition of a pattern to the set with the shortest total; None if no set shortens it."""
        slot = self._write_items(items)
        cover = self.cover
        # Classes that have the pattern already need no new cover.
        same_items = self._slots_of.get(items, [])
        known = np.logical_or.reduce(cover.members[:, same_items], axis=1)
        rows = np.bitwise_and.reduce(cover.data[:, items], axis=1)
        words = np.flatnonzero((rows != 0) & ~known[cover.class_of])
        key = -len(items), -int(count_bits(rows)), items
        cover.members[:, slot] = ~known
        usage, counts = self._cover_again(np.insert(self.order, bisect_left(self._keys, key), slot), words)
        cover.members[:, slot] = False
        before, after = (sum_usage(of, self._log_gamma) for of in (cover.counts, counts))
        less_used = [s for s in np.flatnonzero((counts < cover.counts).any(axis=0)).tolist() if s in self.patterns]
        best, shortest = None, self.length * (1 - ROUNDING)
        for set_index, classes in enumerate(self.subsets):
            # The new pattern replaces one with the same items if it serves all classes of that one.
            duplicates = [s for s in same_items if (self.subsets[self.set_of[s]] & classes).any()]
            kept_elsewhere = any((self.subsets[self.set_of[s]] & ~classes).any() for s in duplicates)
            if known[classes].all() or kept_elsewhere:
                continue
            unused = [s for s in less_used if not np.where(classes, counts[:, s], cover.counts[:, s]).any()]
            sums = np.where(classes, after[0], before[0]), np.where(classes, after[1], before[1])
            length = self._total(*sums, unused + duplicates, (slot, set_index))
            if length < shortest:
                change, shortest = Change(words, usage, counts, length), length
                best = Addition(change, slot, key, set_index, unused, duplicates)
        return best

    def try_removing(self, slot: int) -> Change | None:
        """Return the covers without a pattern; None if the total does not fall."""
        words = np.flatnonzero(self.cover.usage[:, slot])
        usage, counts = self._cover_again(self.order[self.order != slot], words)
        length = self._total(*sum_usage(counts, self._log_gamma), [slot])
        return Change(words, usage, counts, length) if length < self.length * (1 - ROUNDING) else None

    def _cover_again(self, order: Ints, words: Ints) -> tuple[Words, Ints]:
        usage, counts = self._buffer[: len(words)], self.cover.counts.copy()
        _core.cover_words(self.cover, order, words, usage, counts)
        return usage, counts

    # ------------------------------------------------------------------ making a change

    def add(self, addition: Addition) -> set[int]:
        """Add the pattern, and return the slots whose usage changed."""
        cover, change, slot = self.cover, addition.change, addition.slot
        classes = self.subsets[addition.set_index]
        self._insert(slot, addition.key, addition.set_index)
        of_classes = classes[cover.class_of[change.words]]
        changed = self._replace_usage(change.words[of_classes], change.usage[of_classes])
        cover.counts[classes] = change.counts[classes]
        for duplicate in addition.duplicates:
            cover.usage[:, slot] |= cover.usage[:, duplicate]
            cover.counts[:, slot] += cover.counts[:, duplicate]
            cover.usage[:, duplicate], cover.counts[:, duplicate] = 0, 0
        for removed in addition.unused + addition.duplicates:
            self._delete(removed)
        self.length = change.length
        return changed | {slot, *addition.duplicates}

    def remove(self, slot: int, change: Change) -> set[int]:
        """Remove the pattern, and return the slots whose usage changed."""
        changed = self._replace_usage(change.words, change.usage)
        self.cover.counts[:] = change.counts
        self._delete(slot)
        self.length = change.length
        return changed

    def _replace_usage(self, words: Ints, usage: Words) -> set[int]:
        changed = np.flatnonzero((self.cover.usage[words] != usage).any(axis=0))
        self.cover.usage[words] = usage
        return set(changed.tolist())

    def _insert(self, slot: int, key: SortKey, set_index: int) -> None:
        place, items = bisect_left(self._keys, key), key[2]
        self.order = np.insert(self.order, place, slot)
        self._keys.insert(place, key)
        self.patterns[slot], self.set_of[slot] = items, set_index
        self._slots_of.setdefault(items, []).append(slot)
        self.cover.members[:, slot] = self.subsets[set_index]
        self._sizes = self._sizes_after((slot, set_index, 1))
        self._free_slots.remove(slot)
        self._items_end += len(items)

    def _delete(self, slot: int) -> None:
        items, set_index = self.patterns.pop(slot), self.set_of.pop(slot)
        place = int(np.flatnonzero(self.order == slot)[0])
        self.order = np.delete(self.order, place)
        del self._keys[place]
        self._slots_of[items].remove(slot)
        self.cover.members[:, slot] = False
        self._sizes = self._sizes_after((slot, set_index, -1))
        self._free_slots.append(slot)

    # ------------------------------------------------------------------ slots

    def _write_items(self, items: Items) -> int:
        """Write the items to a free slot, which the pattern gets if it is added."""
        if not self._free_slots:
            self._add_slots(self.cover.usage.shape[1] // 4)
        slot, end = self._free_slots[-1], self._items_end + len(items)
        if end > len(self.cover.items):
            self.cover = self.cover._replace(items=np.resize(self.cover.items, 2 * end))
        self.cover.items[self._items_end : end] = items
        self.cover.begins[slot], self.cover.sizes[slot] = self._items_end, len(items)
        self.cover.costs[slot] = self._codes[list(items)].sum()
        return slot

    def _add_slots(self, count: int) -> None:
        n_slots = self.cover.usage.shape[1]
        wider = {
            name: np.concatenate([array, np.zeros((*array.shape[:-1], count), array.dtype)], axis=-1)
            for name, array in self.cover._asdict().items()
            if name in ("usage", "counts", "members", "begins", "sizes", "costs")
        }
        self.cover = self.cover._replace(**wider)
        self._buffer = np.empty_like(self.cover.usage)
        self._free_slots += range(n_slots + count - 1, n_slots - 1, -1)
