"""A block of items: some columns of the data with all rows, and the patterns that carry them.

Blocks know nothing of each other. What they return are sums over their items; `wide_model.WideModel` adds them up,
decides about rows, and tells all blocks. A model in memory is scored as one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, Layout
from saltmine.data.content_colours import mix, mix_numbers
from saltmine.data.folding import Keys
from saltmine.data.item_counts import ItemCounts
from saltmine.data.order import Order
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.code_length import NO_CODE, errors_code
from saltmine.mdl.row_sizes import FrequencyBins, frequency_bins
from saltmine.mdl.scores import ModelSums, ScoreSums, make_model_sums, make_score_sums
from saltmine.solver.block_state import Bytes, compress, decompress, mix_words, sum_of_keys
from saltmine.solver.item_kernels import Carriers, Plan
from saltmine.solver.kernels import make_data
from saltmine.solver.sampling import find, find_candidates


class ItemBlock:
    """Some items of the data.

    Parameters
    ----------
    bits : BitMatrix
        The items of this block, all rows.
    item_of : (columns,) int, optional
        The item of every column of the input, -1 for one without ones; by default columns are items.
    labels : Labels, optional
        The classes of the rows, where the search takes all for one and only the counts for tables tell them apart.
    """

    def __init__(self, bits: BitMatrix, item_of: Indices | None = None, labels: Labels | None = None) -> None:
        self._item_of = np.arange(bits.shape[1]) if item_of is None else item_of
        self._labels = labels
        self._take_bits(bits)

    def _take_bits(self, bits: BitMatrix) -> None:
        self.bits = bits
        self.data = make_data(self.bits)
        self.masks: Words = np.zeros((len(self.bits.blocks), bits.shape[1], 0), dtype=np.uint64)

    # ------------------------------------------------------------ order and sample

    def sum_keys(self, numbers: Keys) -> Keys:
        """Return for every row a sum over its items, each of which has a sum over the numbers of its rows, (m, 2)."""
        layout, columns, weights = self.bits.layout, self.bits.columns, self.bits.weights.items
        of_places = np.zeros((64 * columns.shape[1], 2), dtype=np.uint64)
        of_places[layout.places] = numbers[layout.rows]
        keys = np.zeros((len(columns), 2), dtype=np.uint64)
        _core.add_bits_to_columns(columns, of_places, keys)
        return self._sum_in_rows(mix(keys) * weights.astype(np.uint64)[:, None])

    def row_contents(self, block: int) -> Keys:
        """Return keys that are equal for rows with the same items here, (m, 2); this is the block of that number."""
        return self._sum_in_rows(mix_numbers((block << 40) + np.arange(self.bits.shape[1])))

    def _sum_in_rows(self, numbers: Keys) -> Keys:
        layout, columns = self.bits.layout, self.bits.columns
        of_places = np.zeros((64 * columns.shape[1], 2), dtype=np.uint64)
        _core.add_bits_to_rows(columns, numbers, of_places)
        rows = np.empty((layout.n_rows, 2), dtype=np.uint64)
        rows[layout.rows] = of_places[layout.places]
        return rows

    def arrange(self, rows: Indices, class_sizes: Sequence[int]) -> None:
        """Put the rows into another order, with classes of these sizes: ``rows[k]`` comes to stand at place k."""
        self._take_bits(self._in_order(rows, class_sizes))
        self._labels = None if self._labels is None else self._labels.sort(Order(rows))

    def _in_order(self, rows: Indices, class_sizes: Sequence[int]) -> BitMatrix:
        bits = self.bits
        edges = np.concatenate([[0], np.cumsum(class_sizes)]).tolist()
        blocks = [slice(begin, end) for begin, end in pairwise(edges)]
        layout = Layout(blocks, bits.weights.rows[rows])
        place = np.empty(layout.n_rows, dtype=np.int64)
        place[bits.layout.rows] = bits.layout.places
        columns = np.zeros((bits.shape[1], len(layout.weights)), dtype=np.uint64)
        _core.move_bits(bits.columns, place[rows[layout.rows]], layout.places, columns)
        return BitMatrix.of_columns(columns, layout, blocks, bits.weights)

    def contents(self) -> Keys:
        """Return keys of the columns by the rows that they have, as these are arranged, (n, 2)."""
        keys = np.zeros((self.bits.shape[1], 2), dtype=np.uint64)
        for w, words in enumerate(self.bits.columns.T):
            keys = mix(keys + words[:, None] + np.uint64(w))
        return keys

    def candidates(self, share: float, seed: int, n_blocks: int) -> tuple[Keys, Floats]:
        """Return the keys of columns that may be in a sample, and the share of their copies that is."""
        return find_candidates(self.contents(), self.bits.weights.items, share, seed, n_blocks)

    def count_copies(self, keys: Keys) -> Ints:
        """Count the columns of the input that have each of these keys, (k,)."""
        places = find(keys, self.contents())
        # The last entry is for keys that are not here (-1): a block of columns without ones has no other.
        return np.append(self.bits.weights.items, 0)[places]

    def sample(self, keys: Keys) -> Words:
        """Return the columns of these keys, which are all here, packed."""
        return self.bits.columns[find(keys, self.contents())]

    # ------------------------------------------------------------ figures and patterns

    def count(self) -> tuple[int, int, int]:
        """Return the ones and the items of the input that stand behind this block, and the columns with a one."""
        weights = self.bits.weights
        return int(weights.items @ self.bits.item_counts), weights.shape[1], int(np.count_nonzero(self._item_of >= 0))

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
        carried = np.packbits(model.X | model.V, axis=2, bitorder="little")
        self.masks.view(np.uint8)[:, :, : carried.shape[2]] |= carried

    def solve(self, plan: Plan) -> ModelSums:
        """Choose the items of every pattern for its rows, and sum up what comes of it."""
        _core.solve_items(self.data, plan, self.masks)
        return self.sum(plan)

    def sum(self, plan: Plan) -> ModelSums:
        """Sum up what f and the next plan need."""
        sums = make_model_sums(*plan.used.shape)
        _core.sum_items(self.data, plan, self.masks, sums)
        return sums

    def score(self, plan: Plan) -> ScoreSums:
        """Sum up the evidence of every pattern, and what f would be without it."""
        sums = make_score_sums(*plan.used.shape)
        _core.score_items(self.data, plan, self.masks, sums)
        return sums

    def weigh(self, plan: Plan, total: float) -> Floats:
        """Return what every row saves by using every pattern, (R, 64 W)."""
        gains = np.zeros((len(plan.used), 64 * len(self.data.row_mask)))
        _core.weigh_all_rows(self.data, plan, self.masks, total, gains)
        return gains

    def weigh_carriers(self, plan: Plan, total: float) -> Floats:
        """Return what every row would save by using every pattern if there were no other, (R, 64 W)."""
        gains = np.zeros((len(plan.used), 64 * len(self.data.row_mask)))
        _core.weigh_carriers(self.data, plan, self.masks, total, gains)
        return gains

    def test_added(self, carriers: Carriers, wanted: Bools) -> tuple[Ints, Floats]:
        """Test what classes add to patterns, where ``wanted``, (R, c), among the rows that carry them.

        Of the rows that carry a pattern, do more in this class have the item than in all others of their size? Returns
        pattern, class and weight of every item, (k, 3), and the logarithm of its p-value, (k,).
        """
        entries, log_p = _core.test_added_items(self.data, carriers, self.masks, wanted)
        entries = entries.reshape(-1, 3)
        entries[:, 2] = self.bits.weights.items[entries[:, 2]]
        return entries, log_p

    def clear_added(self, s: int, classes: Bools) -> None:
        """Take away what these classes add to pattern ``s``."""
        word, bit = s // 64, np.uint64(1) << np.uint64(s % 64)
        shared = (self.masks[:, :, word] & bit).all(axis=0)
        self.masks[classes, :, word] &= ~np.where(shared, np.uint64(0), bit)

    # ------------------------------------------------------------ checkpoints

    def digest(self, first: int) -> int:
        """Return a number that tells other data apart, to be added up; ``first`` is the number of the first column."""
        columns = self.bits.columns
        factors = np.random.default_rng(0).integers(2**63, size=columns.shape[1], dtype=np.uint64) | np.uint64(1)
        keys = np.append(mix_words(columns @ factors), np.uint64(0))
        return sum_of_keys(keys[self._item_of], first)

    def given(self) -> int:
        """Return how many columns it was made of."""
        return len(self._item_of)

    def size(self) -> int:
        """Return how many items there are to look at."""
        return self.bits.shape[1]

    def save(self) -> Bytes:
        """Return who carries what, in few bytes."""
        return compress(self.masks)

    def restore(self, state: Bytes) -> None:
        """Let the items be carried as in a state, after `begin`."""
        self.masks = decompress(state, self.masks)

    # ------------------------------------------------------------ results

    def item_counts(self, patterns: Indices, usage: Bools) -> ItemCounts:
        """Return what the tables need of these columns; usage of these patterns is (m, r)."""
        model = self.model(patterns, usage)
        if self._labels is None:
            return ItemCounts.of(self.bits, model, self._item_of)
        numbers, c = self._labels.numbers, self._labels.n_classes
        rows = np.argsort(numbers, kind="stable")
        model = BinaryModel(model.X, np.zeros((c, *model.X.shape), dtype=bool), usage[rows])
        by_class = self._in_order(rows, np.bincount(numbers, minlength=c).tolist())
        return ItemCounts.of(by_class, model, self._item_of)

    def model(self, patterns: Indices, usage: Bools) -> BinaryModel:
        """Return these patterns as a model of the items of this block."""
        c, n = len(self.bits.blocks), self.bits.shape[1]
        # Pattern by pattern in memory, as they are written here and read by tables.
        X = np.empty((len(patterns), n), dtype=bool).T
        V = np.zeros((c, len(patterns), n), dtype=bool).transpose(0, 2, 1)
        for k, s in enumerate(patterns):
            carried = self._carriers_of(int(s))
            X[:, k] = np.logical_and.reduce(carried, axis=0)
            V[:, :, k] = carried & ~X[:, k]
        # Classes that never use a pattern add nothing to it; usage is that of all blocks.
        used = np.stack([usage[rows].any(axis=0) for rows in self.bits.blocks])
        return BinaryModel(X, V & used[:, None], usage)

    def _carriers_of(self, s: int) -> Bools:
        """Return which classes carry which items in a pattern, (c, n)."""
        carried: Bools = (self.masks[:, :, s // 64] >> np.uint64(s % 64) & np.uint64(1)).astype(bool)
        return carried


def make_item_block(matrix: BinaryMatrix, numbers: Indices, n_classes: int, merge_classes: bool = False) -> ItemBlock:
    """Make a block of some columns of the input, all rows with these class numbers."""
    labels = Labels(numbers, n_classes)
    searched = labels.merged() if merge_classes else labels
    data = StackedMatrix.from_rows(matrix, searched.numbers, searched.n_classes, fold=True, fold_rows=False)
    bits = BitMatrix(data.matrix, data.blocks, data.weights)
    return ItemBlock(bits, data.item_of, labels if merge_classes else None)
