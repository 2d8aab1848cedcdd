"""A block of rows: some rows of the data with all items, and the patterns that they use.

Blocks know nothing of each other. They count cells and weigh their rows; what they return are sums over rows, a few
numbers per item. `tall_model.TallModel` adds them up and decides about items.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.data.content_colours import mix, mix_numbers, sum_by
from saltmine.data.folding import Keys, Weights, group, row_keys
from saltmine.data.item_counts import count_hits, entries
from saltmine.data.stacking import class_blocks
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.code_length import Costs, cross_weights
from saltmine.solver import kernels
from saltmine.solver.block_state import Bytes, compress, decompress, mix_words, sum_of_keys
from saltmine.solver.kernels import WithoutPattern, make_state, make_without, pack_data
from saltmine.solver.sampling import find, find_candidates


class RowRule(NamedTuple):
    """What decides who uses a pattern."""

    carry: Bools  # (c, n): items of the pattern in every class
    errors: Ints  # (n,): errors of every item with the pattern, in all blocks
    total: float  # all usage and errors
    price: float  # what one more usage costs


class ClassCells(NamedTuple):
    """Counts of the cells of some rows, of the classes that have any: of many classes, most have none."""

    classes: Ints  # (k,)
    counts: Ints  # (3, k, n): see `kernels.count_cells`

    def of_all(self, n_classes: int) -> Ints:
        """Return the counts of all classes, (3, c, n)."""
        counts = np.zeros((3, n_classes, self.counts.shape[2]), dtype=np.int64)
        counts[:, self.classes] = self.counts
        return counts


class RowSums(NamedTuple):
    """The rows that a rule chooses, summed up."""

    counts: Ints  # (c,): rows of every class
    cells: ClassCells


class CarrierRule(NamedTuple):
    """What decides who carries a pattern."""

    items: Bools  # (n,): those that all classes have in it
    worth: Floats  # (n,): what covering a one saves
    price: float  # what a usage costs; minus infinity for all rows


class RowSizes(NamedTuple):
    """What the whole data says of rows by their size, the number of their ones."""

    shifts: Floats  # (n + 1,): by how much the log-odds of a one are higher in a row of each size
    strata: Indices  # (n + 1,): groups of about the same size


class RowCounts(NamedTuple):
    """What a fitted model knows of its items and patterns, summed up over rows, by the classes of the labels."""

    item_counts: Ints  # (c, n)
    noise_counts: Ints  # (c, n)
    hits: Ints  # (c, entries): see `ItemCounts`


class RowBlock:
    """Some rows of the data, identical ones of a class folded, with all items.

    Parameters
    ----------
    matrix : bool ndarray or CSR of ones, (rows, n)
    numbers : (rows,) int
        Class numbers of the rows; a class may have none here.
    n_classes : int
    merge_classes : bool
        Whether the search takes all classes for one, and only the counts for tables tell them apart.
    """

    def __init__(self, matrix: BinaryMatrix, numbers: Indices, n_classes: int, merge_classes: bool = False) -> None:
        number, first = group(row_keys(matrix, numbers))
        stacked = np.argsort(numbers[first], kind="stable")
        weights = Weights(np.ones(matrix.shape[1], dtype=np.int64), np.bincount(number)[stacked])
        blocks = class_blocks(numbers[first], n_classes)
        self.bits = BitMatrix(matrix[first[stacked]], blocks, weights)
        self._row_of = np.argsort(stacked)[number]
        self._sizes = self.bits.row_sizes
        self._merge_classes = merge_classes
        self._set_edges()

    def _set_edges(self) -> None:
        edges, n = self.bits.layout.edges, self.bits.shape[1]
        self._edges = edges[[0, -1]] if self._merge_classes else edges
        alike = RowSizes(np.zeros(n + 1), np.zeros(n + 1, dtype=np.intp))
        self.begin(np.ones(len(self._edges) - 1, dtype=np.int64), alike, 0)

    # ------------------------------------------------------------ order and sample

    def sum_keys(self, items: Keys, classes: Keys) -> tuple[Keys, Keys]:
        """Return for every item, (n, 2), and every class, (c, 2), a sum over its rows.

        Each row has a sum over the numbers of its items, and that of its class.
        """
        keys, of_class = self._keys(items, classes)
        keys = mix(keys) * np.repeat(self.bits.layout.weights, 64).astype(np.uint64)[:, None]
        sums = np.zeros_like(items)
        _core.add_bits_to_columns(self.bits.columns, keys, sums)
        places = self.bits.layout.places
        return sums, sum_by(of_class[places], keys[places], len(classes))

    def item_contents(self, block: int) -> Keys:
        """Return keys that are equal for items with the same rows here, (n, 2); this is the block of that number."""
        numbers = mix_numbers((block << 40) + np.arange(64 * self.bits.columns.shape[1]))
        keys = np.zeros((self.bits.shape[1], 2), dtype=np.uint64)
        _core.add_bits_to_columns(self.bits.columns, numbers, keys)
        return keys

    def _keys(self, items: Keys, classes: Keys) -> tuple[Keys, Indices]:
        """Return a sum for every place, (64 W, 2): the numbers of its class and its items; and its class."""
        of_class = np.repeat(np.arange(len(self._edges) - 1), 64 * np.diff(self._edges))
        keys = classes[of_class]
        _core.add_bits_to_rows(self.bits.columns, items, keys)
        return keys, of_class

    def arrange(self, items: Indices, classes: Indices) -> None:
        """Put items and classes into another order: ``items[k]`` comes to stand at place k."""
        bits = self.bits
        columns = bits.columns[np.ix_(items, bits.layout.words_of(classes))]
        blocks = [bits.blocks[a] for a in classes]
        self.bits = BitMatrix.of_columns(columns, bits.layout.sort_classes(classes), blocks, bits.weights)
        self._set_edges()

    def _contents(self) -> tuple[Keys, Indices]:
        """Return keys of the folded rows by their class and items, as these are arranged, and their classes."""
        n, c = self.bits.shape[1], len(self._edges) - 1
        keys, of_class = self._keys(mix_numbers(np.arange(n)), mix_numbers(n + np.arange(c)))
        place = self._place()
        return keys[place], of_class[place]

    def _place(self) -> Indices:
        """Return a place of every folded row."""
        layout = self.bits.layout
        place = np.zeros(layout.n_rows, dtype=np.intp)
        place[layout.rows] = layout.places
        return place

    def row_keys(self) -> Words:
        """Return a number of every row, as they were given, that is the same for the same content."""
        keys: Words = self._contents()[0][self._row_of, 0]
        return keys

    def candidates(self, shares: Floats, seed: int, n_blocks: int) -> tuple[Keys, Floats]:
        """Return the keys of rows that may be in a sample, and the share of their copies that is: that of the class."""
        keys, of_class = self._contents()
        first, copies = self._distinct(keys)
        return find_candidates(keys[first], copies, shares[of_class[first]], seed, n_blocks)

    def _distinct(self, keys: Keys) -> tuple[Indices, Ints]:
        """Return the first of folded rows with the same keys, as classes that are merged may have, and their copies."""
        number, first = group(keys)
        return first, np.rint(np.bincount(number, self.bits.weights.rows)).astype(np.int64)

    def count_copies(self, keys: Keys) -> Ints:
        """Count the rows of the input that have each of these keys, (k,)."""
        own = self._contents()[0]
        first, copies = self._distinct(own)
        places = find(keys, own[first])
        return np.where(places >= 0, copies[places], 0)

    def sample(self, keys: Keys) -> NDArray[Any]:
        """Return the rows of these keys, which are all here: class ``number`` and ``cells``, (n,)."""
        own, of_class = self._contents()
        first = self._distinct(own)[0]
        rows = first[find(keys, own[first])]
        places = self._place()[rows]
        drawn = np.empty(len(rows), dtype=[("number", np.intp), ("cells", bool, (self.bits.shape[1],))])
        drawn["number"] = of_class[rows]
        cells = self.bits.columns[:, places // 64] >> (places % 64).astype(np.uint64) & np.uint64(1)
        drawn["cells"] = cells.astype(bool).T
        return drawn

    # ------------------------------------------------------------ figures

    def count(self) -> tuple[Ints, Ints, Ints]:
        """Return the rows of every class, (c,), how often every item occurs, (n,), and how many rows have k items."""
        by_size = np.bincount(self._sizes, self.bits.weights.rows, minlength=self.bits.shape[1] + 1)
        return self._per_class(self.bits.layout.row_mask), self.bits.item_counts, by_size.astype(np.int64)

    def begin(self, sizes: Ints, by_size: RowSizes, rank: int, unit: float = 1.0) -> None:
        """Start from no pattern, with room for so many, in a whole with classes of these sizes.

        Evidence is in multiples of ``unit``.
        """
        columns, n = self.bits.columns, self.bits.shape[1]
        # Lengths are not for a block to know.
        nothing = np.zeros(1)
        costs = Costs(self.bits.weights.items, np.zeros(n), cross_weights(sizes.tolist()), nothing, n, unit)
        layout, stratum = self.bits.layout, by_size.strata[self._sizes]
        self.data = pack_data(columns, layout, self._edges, sizes, costs, by_size.shifts[self._sizes])
        self._shifts, self._size_at = by_size.shifts, np.zeros(64 * len(layout.weights), dtype=np.int64)
        self._size_at[layout.places] = self._sizes[layout.rows]
        self._strata = layout.pack(stratum == np.arange(int(by_size.strata.max()) + 1)[:, None])
        self.state = make_state(columns, rank, len(self._edges) - 1)
        self._without = make_without(columns)
        self._ranges = kernels.class_ranges(self.data)
        self._items = np.zeros((rank, n), dtype=bool)
        # The cells of all rows without the pattern that is left out, and the items to look at for another one.
        self._whole = np.zeros((3, 1, n), dtype=np.int64)
        self._left_out, self._changed = -1, np.ones(n, dtype=bool)

    # ------------------------------------------------------------ one pattern

    def look(self, s: int) -> tuple[Ints, ClassCells]:
        """Count the cells without pattern ``s``: of all rows, (3, n), and of those that use it."""
        self._leave_out(s)
        return self._whole[:, 0].copy(), self._cells(s, self.state.usage[s])

    def choose(self, s: int, rule: RowRule) -> RowSums:
        """Sum up the rows that would use pattern ``s``; nothing changes yet."""
        rows = self._rows(s, rule)
        return RowSums(self._per_class(rows), self._cells(s, rows))

    def evidence(self, s: int, carry: Bools, background: Floats, density: float) -> Floats:
        """Return the evidence of every item in the rows that use pattern ``s``, (n,)."""
        without = self._leave_out(s)._replace(background=background)
        by_size = self._size_at, self._shifts
        return kernels.item_evidence(self.data, without, self.state.usage[s], carry, density, *by_size)

    def count_carriers(self, rule: CarrierRule) -> Ints:
        """Count the rows that carry a pattern, (G, c)."""
        return kernels.count_by_stratum(self.data, self._strata, self._carriers(rule))

    def count_hits(self, rule: CarrierRule, items: Indices) -> Ints:
        """Count how often the rows that carry a pattern have each of these items, (G, c, k)."""
        rows, edges = self._carriers(rule), [slice(begin, end) for begin, end in pairwise(self._edges)]
        columns, weights = self.data.columns[items], self.data.row_weights
        hits = [[count_bits(columns[:, of] & group[of], weights[of]) for of in edges] for group in self._strata & rows]
        return np.array(hits)

    def count_strata(self) -> Ints:
        """Count all rows, (G, c)."""
        return kernels.count_by_stratum(self.data, self._strata, self.data.row_mask)

    def carriers_of(self, rules: Sequence[CarrierRule]) -> Bools:
        """Return which rows, as they were given, carry patterns: (rows, r)."""
        words = np.zeros((len(rules), len(self.data.row_mask)), dtype=np.uint64)
        for k, rule in enumerate(rules):
            words[k] = self._carriers(rule)
        return self.bits.layout.unpack(words).T[self._row_of]

    def row_sizes(self) -> Ints:
        """Return how many items every row has, as they were given."""
        return np.asarray(self._sizes[self._row_of])

    def _carriers(self, rule: CarrierRule) -> Words:
        return kernels.find_carriers(self.data, rule.items, rule.worth, rule.price)

    def replace(self, s: int, rule: RowRule | None, dropped: Bools, carry: Bools) -> None:
        """Give pattern ``s`` the rows of a rule, or leave it those it has, but for classes that drop it."""
        rows = self.state.usage[s].copy() if rule is None else self._rows(s, rule)
        for a in np.flatnonzero(dropped):
            rows[self._edges[a] : self._edges[a + 1]] = 0
        self._exchange(s, rows, carry)

    def _exchange(self, s: int, rows: Words, carry: Bools) -> None:
        kernels.exchange(self.data, self.state, s, rows, carry)
        # What it carried before looks different as well.
        self._changed |= self._items[s]
        np.logical_or.reduce(carry, axis=0, out=self._items[s])
        self._changed |= self._items[s]
        self._left_out = -1

    def _leave_out(self, s: int) -> WithoutPattern:
        """Look at the data without pattern ``s``, once between two changes; only at items that look different."""
        if self._left_out != s:
            items = np.flatnonzero(self._changed | self._items[s])
            kernels.leave_out(self.data, self.state, s, items, self._without)
            every_word = self._edges[[0, -1]][None]
            kernels.count_cells(self.data, self._without.open_cells, self.data.row_mask, items, self._whole, every_word)
            self._left_out, self._changed = s, self._items[s].copy()
        return self._without

    def _cells(self, s: int, rows: Words) -> ClassCells:
        n, classes = self.bits.shape[1], np.flatnonzero([rows[begin:end].any() for begin, end in self._ranges])
        counts = np.empty((3, len(classes), n), dtype=np.int64)
        open_cells, ranges = self._leave_out(s).open_cells, self._ranges[classes]
        kernels.count_cells(self.data, open_cells, rows, np.arange(n), counts, ranges)
        return ClassCells(classes, counts)

    def _rows(self, s: int, rule: RowRule) -> Words:
        """Return the rows that save more than they cost."""
        open_cells = self._leave_out(s).open_cells
        gains = kernels.weigh_rows(self.data, open_cells, rule.carry, rule.errors, rule.total)
        return kernels.choose_rows(self.data, gains, rule.price)

    def _per_class(self, rows: Words) -> Ints:
        words = [slice(begin, end) for begin, end in pairwise(self._edges)]
        return np.array([count_bits(rows[of], self.data.row_weights[of]) for of in words], dtype=np.int64)

    # ------------------------------------------------------------ checkpoints

    def digest(self, first: int) -> int:
        """Return a number that tells other data apart, to be added up; ``first`` is the number of the first row."""
        bits, rng = self.bits, np.random.default_rng(0)
        keys = np.zeros(bits.shape[0], dtype=np.uint64)
        for _ in range(2):
            # Sums of these stay below 2^63.
            of_items = rng.integers(2**31, size=bits.shape[1], dtype=np.int64)
            keys = mix_words(keys ^ bits.sum_in_rows(of_items).astype(np.uint64))
        return sum_of_keys(keys[self._row_of], first)

    def given(self) -> int:
        """Return how many rows it was made of."""
        return len(self._row_of)

    def size(self) -> int:
        """Return how many rows there are to look at."""
        return self.bits.shape[0]

    def save(self) -> Bytes:
        """Return who uses what, in few bytes."""
        return compress(self.state.usage)

    def restore(self, state: Bytes, carry: Bools) -> None:
        """Let the rows use patterns as in a state, whose items are (R, c, n), after `begin`."""
        for s, rows in enumerate(decompress(state, self.state.usage)):
            self._exchange(s, rows, carry[s])

    # ------------------------------------------------------------ results

    def usage_of(self, patterns: Sequence[int]) -> Bools:
        """Return which rows, as they were given, use these patterns: (rows, r)."""
        return self._usage(patterns)[self._row_of]

    def _usage(self, patterns: Sequence[int]) -> Bools:
        return self.bits.layout.unpack(self.state.usage[list(patterns)]).T

    def row_counts(self, patterns: Sequence[int], model: BinaryModel) -> RowCounts:
        """Count what the tables need of these patterns, whose items are those of ``model``."""
        bits, usage = self.bits, self._usage(patterns)
        pattern, item, _ = entries(model.X.T, model.V.transpose(0, 2, 1))
        noise = bits.noise_counts(BinaryModel(model.X, model.V, usage))
        return RowCounts(bits.class_counts, noise, count_hits(bits, usage, pattern, item))


def make_row_block(
    source: tuple[BinaryMatrix, NDArray[np.integer[Any]]], n_classes: int, merge_classes: bool
) -> RowBlock:
    """Make a block of some rows and their class numbers."""
    matrix, numbers = source
    return RowBlock(matrix, numbers.astype(np.intp), n_classes, merge_classes)
