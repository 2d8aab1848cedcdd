"""A block of items: some columns of the data with all rows, and the patterns that carry them.

Blocks know nothing of each other. What they return are sums over their items; `wide_model.WideModel` adds them up,
decides about rows, and tells all blocks. A model in memory is scored as one block.
"""

from __future__ import annotations

import numpy as np

from saltmine import native
from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import StackedMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.code_length import NO_CODE, errors_code
from saltmine.mdl.row_sizes import FrequencyBins, frequency_bins
from saltmine.mdl.scores import ModelSums, ScoreSums, make_model_sums, make_score_sums
from saltmine.solver.item_kernels import Carriers, Plan
from saltmine.solver.kernels import make_data


class ItemBlock:
    """Some items of the data.

    Parameters
    ----------
    bits : BitMatrix
        The items of this block, all rows.
    item_of : (columns,) int, optional
        The item of every column of the input, -1 for one without ones; by default columns are items.
    merge_classes : bool
        Whether the search takes all classes for one, and only the counts for tables tell them apart.
    """

    def __init__(self, bits: BitMatrix, item_of: Indices | None = None, merge_classes: bool = False) -> None:
        self.bits = bits.merge_classes() if merge_classes else bits
        self._by_class = bits
        self._item_of = np.arange(bits.shape[1]) if item_of is None else item_of
        self.data = make_data(self.bits)
        self.masks: Words = np.zeros((len(self.bits.blocks), bits.shape[1], 0), dtype=np.uint64)

    def count(self) -> tuple[int, int, int]:
        """Return the ones and the items of the input that stand behind this block, and the columns with a one."""
        weights = self.bits.weights
        return int(weights.items @ self.bits.item_counts), weights.shape[1], int(np.count_nonzero(self._item_of >= 0))

    def sample(self, ranks: Indices) -> Words:
        """Return columns, packed; ``ranks`` are their places among those that have a one."""
        return self.bits.columns[self._item_of[self._item_of >= 0][ranks]]

    def row_sizes(self) -> tuple[Ints, FrequencyBins]:
        """Return how many items every row has, (m,), and how frequent they are."""
        bits = self.bits
        bins = frequency_bins(bits.item_counts, bits.weights.items, sum(bits.class_sizes))
        return bits.row_sizes, bins

    def begin(self, ones: int, n_items: int, shifts: Floats, rank: int) -> Floats:
        """Start from no pattern in a whole of so many ones and items; returns the code of all ones as errors."""
        self.data = make_data(self.bits, ones, n_items, shifts)
        self.masks = np.zeros((len(self.bits.blocks), self.bits.shape[1], -(-rank // 64)), dtype=np.uint64)
        return np.array(errors_code(self.data.costs, self.bits.item_counts, NO_CODE))

    def take(self, model: BinaryModel) -> None:
        """Let the items be carried as in a model."""
        carried = (model.X | model.V).transpose(2, 0, 1)
        for s in range(model.rank):
            self.masks[:, :, s // 64] |= carried[s].astype(np.uint64) << np.uint64(s % 64)

    def solve(self, plan: Plan) -> ModelSums:
        """Choose the items of every pattern for its rows, and sum up what comes of it."""
        native.solve_items(self.data, plan, self.masks)
        return self.sum(plan)

    def sum(self, plan: Plan) -> ModelSums:
        """Sum up what f and the next plan need."""
        sums = make_model_sums(*plan.used.shape)
        native.sum_items(self.data, plan, self.masks, sums)
        return sums

    def score(self, plan: Plan) -> ScoreSums:
        """Sum up the evidence of every pattern, and what f would be without it."""
        sums = make_score_sums(*plan.used.shape)
        native.score_items(self.data, plan, self.masks, sums)
        return sums

    def weigh(self, plan: Plan, total: float) -> Floats:
        """Return what every row saves by using every pattern, (R, 64 W)."""
        gains = np.zeros((len(plan.used), 64 * len(self.data.row_mask)))
        native.weigh_all_rows(self.data, plan, self.masks, total, gains)
        return gains

    def weigh_carriers(self, plan: Plan, total: float) -> Floats:
        """Return what every row would save by using every pattern if there were no other, (R, 64 W)."""
        gains = np.zeros((len(plan.used), 64 * len(self.data.row_mask)))
        native.weigh_carriers(self.data, plan, self.masks, total, gains)
        return gains

    def test_added(self, carriers: Carriers, wanted: Bools) -> tuple[Ints, Floats]:
        """Test what classes add to patterns, where ``wanted``, (R, c), among the rows that carry them.

        Of the rows that carry a pattern, do more in this class have the item than in all others of their size? Returns
        pattern, class and weight of every item, (k, 3), and the logarithm of its p-value, (k,).
        """
        entries, log_p = native.test_added_items(self.data, carriers, self.masks, wanted)
        entries = entries.reshape(-1, 3)
        entries[:, 2] = self.bits.weights.items[entries[:, 2]]
        return entries, log_p

    def clear_added(self, s: int, classes: Bools) -> None:
        """Take away what these classes add to pattern ``s``."""
        word, bit = s // 64, np.uint64(1) << np.uint64(s % 64)
        shared = (self.masks[:, :, word] & bit).all(axis=0)
        self.masks[classes, :, word] &= ~np.where(shared, np.uint64(0), bit)

    def item_counts(self, patterns: Indices, usage: Bools) -> ItemCounts:
        """Return what the tables need of these columns; usage of these patterns is (m, r)."""
        return ItemCounts.of(self._by_class, self.model(patterns, usage), self._item_of)

    def model(self, patterns: Indices, usage: Bools) -> BinaryModel:
        """Return these patterns as a model of the items of this block."""
        c, n = len(self._by_class.blocks), self.bits.shape[1]
        X, V = np.empty((n, len(patterns)), dtype=bool), np.zeros((c, n, len(patterns)), dtype=bool)
        for k, s in enumerate(patterns):
            carried = self._carriers_of(int(s))
            X[:, k] = np.logical_and.reduce(carried, axis=0)
            if len(carried) == c:
                V[:, :, k] = carried & ~X[:, k]
        # Classes that never use a pattern add nothing to it; usage is that of all blocks.
        used = np.stack([usage[rows].any(axis=0) for rows in self._by_class.blocks])
        return BinaryModel(X, V & used[:, None], usage)

    def _carriers_of(self, s: int) -> Bools:
        """Return which classes carry which items in a pattern, (c, n)."""
        carried: Bools = (self.masks[:, :, s // 64] >> np.uint64(s % 64) & np.uint64(1)).astype(bool)
        return carried


def make_item_block(matrix: BinaryMatrix, numbers: Indices, n_classes: int, merge_classes: bool = False) -> ItemBlock:
    """Make a block of some columns of the input, all rows with these class numbers."""
    data = StackedMatrix.from_rows(matrix, numbers, n_classes, fold=True, fold_rows=False)
    return ItemBlock(BitMatrix(data.matrix, data.blocks, data.weights), data.item_of, merge_classes)
