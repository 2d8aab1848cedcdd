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

from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.data.folding import Weights, group, row_keys
from saltmine.data.item_counts import count_hits, entries
from saltmine.data.stacking import class_blocks
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.code_length import Costs, cross_weights
from saltmine.solver import kernels
from saltmine.solver.kernels import WithoutPattern, make_state, make_without, pack_data


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
        layout = self.bits.layout
        self._edges = layout.edges[[0, -1]] if merge_classes else layout.edges
        self._row_weights = np.repeat(layout.weights, 64)
        self._sizes = self.bits.row_sizes
        n = matrix.shape[1]
        alike = RowSizes(np.zeros(n + 1), np.zeros(n + 1, dtype=np.intp))
        self.begin(np.ones(len(self._edges) - 1, dtype=np.int64), alike, 0)

    def count(self) -> tuple[Ints, Ints, Ints]:
        """Return the rows of every class, (c,), how often every item occurs, (n,), and how many rows have k items."""
        by_size = np.bincount(self._sizes, self.bits.weights.rows, minlength=self.bits.shape[1] + 1)
        return self._per_class(self.bits.layout.row_mask), self.bits.item_counts, by_size.astype(np.int64)

    def sample(self, rows: Indices) -> Bools:
        """Return some rows as they were given, (k, n)."""
        layout = self.bits.layout
        place = np.zeros(layout.n_rows, dtype=np.int64)
        place[layout.rows] = layout.places
        places = place[self._row_of[rows]]
        cells = self.bits.columns[:, places // 64] >> (places % 64).astype(np.uint64) & np.uint64(1)
        return np.ascontiguousarray(cells.astype(bool).T)

    def begin(self, sizes: Ints, by_size: RowSizes, rank: int) -> None:
        """Start from no pattern, with room for so many, in a whole with classes of these sizes."""
        columns, n = self.bits.columns, self.bits.shape[1]
        # Lengths are not for a block to know.
        nothing = np.zeros(1)
        costs = Costs(self.bits.weights.items, np.zeros(n), cross_weights(sizes.tolist()), nothing, n)
        layout, stratum = self.bits.layout, by_size.strata[self._sizes]
        self.data = pack_data(columns, layout, self._edges, sizes, costs, by_size.shifts[self._sizes])
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
        return kernels.item_evidence(self.data, without, self.state.usage[s], carry, density)

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
