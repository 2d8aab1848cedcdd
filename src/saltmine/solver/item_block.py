"""A block: some items of the data with all rows, and the patterns that carry them, solved for given rows.

Blocks know nothing of each other. What they return are sums over their items; `extension.Extension` adds them up,
decides about rows, and tells all blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix, Ints, Words
from saltmine.solver import item_kernels as kernels
from saltmine.solver.item_kernels import Evidence, Plan, Sums
from saltmine.solver.prepared import prepare

Floats = NDArray[np.float64]


class ItemBlock:
    """Some items of the data.

    Parameters
    ----------
    bits : BitMatrix
        The items of this block, all rows.
    """

    def __init__(self, bits: BitMatrix) -> None:
        self.bits = bits
        self.data = prepare(bits)
        self.masks: Words = np.zeros((len(bits.blocks), bits.shape[1], 0), dtype=np.uint64)

    def count(self) -> tuple[int, int]:
        """Return the ones and the items of the input that stand behind this block."""
        return int(self.bits.weights.items @ self.bits.item_counts), self.bits.weights.shape[1]

    def begin(self, ones: int, n_items: int, rank: int) -> Floats:
        """Start from no pattern in a whole of so many ones and items; returns the code of all ones as errors."""
        self.data = prepare(self.bits, ones, n_items)
        self.masks = np.zeros((len(self.bits.blocks), self.bits.shape[1], -(-rank // 64)), dtype=np.uint64)
        code = np.zeros(3)
        kernels.add_codes(self.data, self.bits.item_counts, code)
        return code

    def solve(self, plan: Plan) -> Sums:
        """Choose the items of every pattern for its rows, and sum up what comes of it."""
        kernels.solve_items(self.data, plan, 0, self.bits.shape[1], self.masks)
        return self.sum(plan)

    def sum(self, plan: Plan) -> Sums:
        """Sum up what f and the next plan need."""
        rank, c = len(plan.used), len(self.bits.blocks)
        sums = Sums(np.zeros(3), np.zeros(rank), *_counts(rank, (), (), (c,), (c,), (), ()))
        kernels.sum_items(self.data, plan, self.masks, 0, self.bits.shape[1], sums)
        return sums

    def weigh(self, plan: Plan, total: float) -> tuple[Floats, Floats]:
        """Return what every row saves by using every pattern, and what it shows: (R, 64 W) each."""
        gains = np.zeros((len(plan.used), 64 * len(self.data.valid)))
        shown = np.zeros_like(gains)
        kernels.weigh_all_rows(self.data, plan, self.masks, total, 0, self.bits.shape[1], gains, shown)
        return gains, shown

    def judge(self, plan: Plan) -> Evidence:
        """Sum up the evidence of every pattern, and what f would be without it."""
        rank, c = len(plan.used), len(self.bits.blocks)
        found = Evidence(
            np.zeros((2, rank)),
            np.zeros((2, rank), dtype=np.int64),
            np.zeros((2, rank, c), dtype=np.int64),
            np.zeros((rank, 3)),
            np.zeros((rank, c, 3)),
            np.zeros((rank, 1 + c)),
        )
        kernels.judge_items(self.data, plan, self.masks, 0, self.bits.shape[1], found)
        return found

    def altered(self, plan: Plan, wanted: NDArray[np.bool_]) -> tuple[Ints, Floats]:
        """Return what classes add to patterns, where ``wanted``, (R, c).

        Pattern, class and weight of every item, (k, 3), and what it shows, (k,).
        """
        most = int(kernels.count_altered(self.masks, len(plan.used)))
        entry, shown = np.empty((most, 3), dtype=np.int64), np.empty(most)
        n = self.bits.shape[1]
        count = kernels.shown_by_alterations(self.data, plan, self.masks, wanted, 0, n, entry, shown)
        entry, shown = entry[:count], shown[:count]
        entry[:, 2] = self.bits.weights.items[entry[:, 2]]
        return entry, shown

    def expected(self, plan: Plan, levels: Floats) -> Floats:
        """Return how many items chance expects to show as much as every level, (R, c, k), in class and pattern."""
        expected = np.zeros_like(levels)
        kernels.expected_by_chance(self.data, plan, self.masks, levels, 0, self.bits.shape[1], expected)
        return expected

    def clear(self, s: int, a: int) -> None:
        """Take away what class ``a`` adds to pattern ``s``."""
        word, bit = s // 64, np.uint64(1) << np.uint64(s % 64)
        carried = self.masks[:, :, word] & bit
        self.masks[a, :, word] &= ~np.where(carried.all(axis=0), np.uint64(0), bit)

    def carried(self, plan: Plan, whole: NDArray[np.bool_]) -> Ints:
        """Count how many items of every pattern each row has, (m, R): the shared ones, or all where ``whole``."""
        counts = np.zeros((self.bits.shape[0], len(plan.used)), dtype=np.int64)
        for s in range(len(plan.used)):
            carried = self.carriers_of(s)
            chosen = np.logical_or if whole[s] else np.logical_and
            counts[:, s] = self.bits.carried(chosen.reduce(carried, axis=0))
        return counts

    def carriers_of(self, s: int) -> NDArray[np.bool_]:
        """Return which classes carry which items in a pattern, (c, n)."""
        carried: NDArray[np.bool_] = (self.masks[:, :, s // 64] >> np.uint64(s % 64) & np.uint64(1)).astype(bool)
        return carried

    def errors(self, plan: Plan) -> Ints:
        """Count the cells of every class and item that the model gets wrong, (c, n)."""
        errors = np.empty((len(self.bits.blocks), self.bits.shape[1]), dtype=np.int64)
        kernels.count_class_errors(self.data, plan.usage, self.masks, 0, self.bits.shape[1], errors)
        return errors


def _counts(rank: int, *shapes: tuple[int, ...]) -> list[Any]:
    return [np.zeros((rank, *shape), dtype=np.int64) for shape in shapes]


def carried_model(blocks: Sequence[ItemBlock], patterns: NDArray[np.intp], usage: NDArray[np.bool_]) -> BinaryModel:
    """Return the model of these patterns, whose items are in these blocks, one after the other."""
    classes = blocks[0].bits.blocks
    n, c, rank = sum(block.bits.shape[1] for block in blocks), len(classes), len(patterns)
    X, V = np.empty((n, rank), dtype=bool), np.empty((c, n, rank), dtype=bool)
    at = 0
    for block in blocks:
        part = slice(at, at + block.bits.shape[1])
        for k, s in enumerate(patterns):
            carried = block.carriers_of(int(s))
            shared = np.logical_and.reduce(carried, axis=0)
            X[part, k], V[:, part, k] = shared, carried & ~shared
        at = part.stop
    return drop_idle_parts(BinaryModel(X, V, usage), classes)
