"""A block of rows: some rows of the data with all items, and the patterns that they use.

Blocks know nothing of each other. They count cells and weigh their rows; what they return are sums over rows, a few
numbers per item. `tall_extension.TallExtension` adds them up and decides about items.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel, Bools
from saltmine.data.bits import BitMatrix, Ints, Words, count_bits
from saltmine.data.folding import group, row_keys
from saltmine.data.validation import BinaryMatrix
from saltmine.data.weights import Weights
from saltmine.solver import kernels
from saltmine.solver.description import cross_weights
from saltmine.solver.items import count_hits, entries
from saltmine.solver.kernels import Data, Opened, Pattern, State

Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """What decides who uses a pattern."""

    carry: Bools  # (c, n): items of the pattern in every class
    noise: Ints  # (n,): errors of every item with the pattern, in all blocks
    total: float  # all usage and errors
    evidence: tuple[Floats, Floats]  # (n,) each: what a one and a zero say
    price: float  # what one more usage costs
    needed: float  # evidence that a row must show


class Chosen(NamedTuple):
    """The rows that a choice gives, summed up."""

    counts: Ints  # (c,): rows of every class
    shown: Floats  # (c,): their evidence
    cells: Ints  # (3, c, n): see `kernels.count_cells`


class RowFigures(NamedTuple):
    """What a fitted model knows of its items and patterns, summed up over rows, by the classes of the labels."""

    item_counts: Ints  # (c, n)
    noise_counts: Ints  # (c, n)
    hits: Ints  # (c, entries): see `model.items.ItemFigures`
    carrier_hits: Ints  # (c, entries)
    carrier_counts: Ints  # (c, r)


class RowBlock:
    """Some rows of the data, identical ones of a class folded, with all items.

    Parameters
    ----------
    matrix : bool ndarray or CSR of ones, (rows, n)
    numbers : (rows,) int
        Class numbers of the rows; a class may have none here.
    n_classes : int
    as_one : bool
        Whether the search takes all classes for one, and only the figures tell them apart.
    """

    def __init__(self, matrix: BinaryMatrix, numbers: NDArray[np.intp], n_classes: int, as_one: bool = False) -> None:
        number, first = group(row_keys(matrix, numbers))
        stacked = np.argsort(numbers[first], kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(numbers[first], minlength=n_classes))]).tolist()
        weights = Weights(np.ones(matrix.shape[1], dtype=np.int64), np.bincount(number)[stacked])
        blocks = [slice(begin, end) for begin, end in pairwise(edges)]
        self.bits = BitMatrix(matrix[first[stacked]], blocks, weights)
        self._row_of = np.argsort(stacked)[number]
        layout = self.bits.layout
        self._edges = layout.edges[[0, -1]] if as_one else layout.edges
        self._row_weights = np.repeat(layout.weights, 64)
        self.begin(np.ones(len(self._edges) - 1, dtype=np.int64), 0)

    def count(self) -> tuple[Ints, Ints]:
        """Return the rows of every class, (c,), and how often every item occurs, (n,)."""
        return self._per_class(self.bits.layout.valid), self.bits.item_counts

    def sample(self, rows: NDArray[np.intp]) -> Bools:
        """Return some rows as they were given, (k, n)."""
        layout = self.bits.layout
        place = np.zeros(layout.n_rows, dtype=np.int64)
        place[layout.rows] = layout.places
        places = place[self._row_of[rows]]
        cells = self.bits.columns[:, places // 64] >> (places % 64).astype(np.uint64) & np.uint64(1)
        return np.ascontiguousarray(cells.astype(bool).T)

    def begin(self, sizes: Ints, rank: int) -> None:
        """Start from no pattern, with room for so many, in a whole with classes of these sizes."""
        layout, (n, n_words), c = self.bits.layout, self.bits.columns.shape, len(self._edges) - 1
        self.data = Data(
            columns=self.bits.columns,
            weights=self.bits.weights.items,
            row_weights=layout.weights,
            valid=layout.valid,
            lanes=np.bitwise_count(layout.valid).astype(np.int64),
            edges=self._edges,
            # Lengths are not for a block to know.
            codes=np.zeros(n),
            cross=cross_weights(sizes.tolist()),
            counted=np.zeros(1),
            n_items=n,
        )
        self.state = State(
            usage=np.zeros((rank, n_words), dtype=np.uint64),
            carry=np.zeros((rank, c, n), dtype=bool),
            masks=np.zeros((c, n, -(-rank // 64)), dtype=np.uint64),
            once=np.zeros_like(self.bits.columns),
            twice=np.zeros_like(self.bits.columns),
            used=np.zeros(rank, dtype=np.int64),
            extra=np.zeros(rank),
            noise=np.zeros(n, dtype=np.int64),
        )
        self._opened = Opened(np.empty_like(self.bits.columns), np.empty(n, dtype=np.int64), np.empty(n))
        self._opened_for = -1

    # ------------------------------------------------------------ one pattern

    def look(self, s: int) -> tuple[Ints, Ints]:
        """Count the cells without pattern ``s``: of all rows, and of those that use it, (3, c, n) each."""
        return self._cells(s, self.data.valid), self._cells(s, self.state.usage[s])

    def choose(self, s: int, choice: Choice) -> Chosen:
        """Sum up the rows that would use pattern ``s``; nothing changes yet."""
        rows, shown = self._rows(s, choice)
        evidence = [float(shown[begin:end].sum()) for begin, end in pairwise(64 * self._edges)]
        return Chosen(self._per_class(rows), np.array(evidence), self._cells(s, rows))

    def replace(self, s: int, choice: Choice | None, dropped: Bools, carry: Bools) -> None:
        """Give pattern ``s`` the rows of a choice, or leave it those it has, but for classes that drop it."""
        rows = self.state.usage[s].copy() if choice is None else self._rows(s, choice)[0]
        for a in np.flatnonzero(dropped):
            rows[self._edges[a] : self._edges[a + 1]] = 0
        opened = self._open(s)
        kernels.take_out(self.data, self.state, s)
        kernels.put(self.data, self.state, s, opened, rows, carry)
        self._opened_for = -1

    def _open(self, s: int) -> Opened:
        """Look at the data without pattern ``s``, once between two changes."""
        if self._opened_for != s:
            kernels.open_cells(self.data, self.state, s, self._opened)
            self._opened_for = s
        return self._opened

    def _cells(self, s: int, rows: Words) -> Ints:
        cells = np.empty((3, *self.state.carry.shape[1:]), dtype=np.int64)
        kernels.count_cells(self.data, self._open(s), rows, cells)
        return cells

    def _rows(self, s: int, choice: Choice) -> tuple[Words, Floats]:
        """Return the rows that save more than they cost and show enough, and what every place of them shows."""
        gains, shown = np.empty(len(self._row_weights)), np.empty(len(self._row_weights))
        pattern = Pattern(self.data.valid, choice.carry, choice.noise)
        kernels.weigh_rows(self.data, self._open(s), pattern, choice.total, choice.evidence, gains, shown)
        use = (gains > choice.price) & (shown >= choice.needed)
        use &= np.unpackbits(self.data.valid.view(np.uint8), bitorder="little").view(bool)
        return np.packbits(use, bitorder="little").view(np.uint64), shown * self._row_weights * use

    def _per_class(self, rows: Words) -> Ints:
        words = [slice(begin, end) for begin, end in pairwise(self._edges)]
        return np.array([count_bits(rows[of], self.data.row_weights[of]) for of in words], dtype=np.int64)

    # ------------------------------------------------------------ results

    def usage(self, patterns: NDArray[np.intp]) -> Bools:
        """Return which rows, as they were given, use these patterns: (rows, r)."""
        return self._usage(patterns)[self._row_of]

    def _usage(self, patterns: NDArray[np.intp]) -> Bools:
        return self.bits.layout.unpack(self.state.usage[patterns]).T

    def figures(self, patterns: NDArray[np.intp], model: BinaryModel, told_by: Bools) -> RowFigures:
        """Count what the tables need of these patterns, whose items are those of ``model``.

        ``told_by``, (n, r), are the items that show who carries a pattern: see `association.find_carriers`.
        """
        bits, usage = self.bits, self._usage(patterns)
        carriers = np.empty_like(usage)
        for k in range(len(patterns)):
            carriers[:, k] = 2 * bits.carried(told_by[:, k]) > np.count_nonzero(told_by[:, k])
        pattern, item, _ = entries(model.X.T, model.V.transpose(0, 2, 1))
        return RowFigures(
            bits.class_counts,
            bits.noise_counts(BinaryModel(model.X, model.V, usage)),
            count_hits(bits, usage, pattern, item),
            count_hits(bits, carriers, pattern, item),
            bits.used(carriers),
        )
