"""A model of all items, in blocks of them.

Given who uses which pattern, every item is chosen on its own, block by block; then every row is weighed by all items,
and so on in turn while rows change. What leaves a block are sums over items, a few numbers per pattern and one per
pattern and row, and at the end the evidence of added items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import Layout, count_bits
from saltmine.data.item_counts import defined_by_all_items
from saltmine.mdl.alteration_tests import evidence_levels, levels_evidence
from saltmine.mdl.evidence import EvidenceSums, class_choices, evidence_from_sums
from saltmine.mdl.scores import ModelSums, PatternScores, ScoreSums, make_model_sums, model_length, score
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.item_kernels import Plan
from saltmine.solver.significance import drop_class_use, drop_patterns, drop_until_significant

Tuple = TypeVar("Tuple", bound=NamedTuple)

# Turns of items and rows; two or three are the rule.
MAX_TURNS = 6


@dataclass(frozen=True)
class WideStart:
    """What a search in a sample says of the whole: rows of every pattern, and what its items are like."""

    usage: Words  # (R, W)
    density: Floats  # (R,): share of ones among its open cells
    share: Floats  # (R,): share of all items that it has
    errors: float  # errors per item


class WideModel:
    """A model of all items, in blocks.

    Parameters
    ----------
    executor : BlockExecutor
        Blocks of items (`item_block.ItemBlock`).
    layout : Layout
        Where rows stand in words, the same in all blocks.
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
    """

    def __init__(
        self, executor: BlockExecutor[ItemBlock], layout: Layout, *, alterations: bool = True, alpha: float = 0.01
    ) -> None:
        self.executor = executor
        self.layout = layout
        self.alterations = alterations
        self.log_alpha = float(np.log(alpha))
        self.class_sizes = self._per_class(layout.row_mask[None])[0]
        counts = executor.query(ItemBlock.count)
        self._ones, self.n_items = sum(ones for ones, _, _ in counts), sum(items for _, items, _ in counts)
        self.plan: Plan
        self.turns = 0
        # Whether items were cleared since the last plan.
        self._cleared = False
        self._class_of_row = np.zeros(layout.n_rows, dtype=np.intp)
        self._class_of_row[layout.rows] = np.searchsorted(64 * layout.edges, layout.places, side="right") - 1

    def _per_class(self, usage: Words) -> Ints:
        """Count the rows of the input of every pattern and class, (R, c)."""
        words = [self.layout.words(a) for a in range(len(self.layout.edges) - 1)]
        return np.stack([count_bits(usage[:, of], self.layout.weights[of]) for of in words], axis=1)

    # ------------------------------------------------------------ solving

    def run(self, start: WideStart) -> None:
        """Solve all items and rows from what a sample says."""
        self._begin(len(start.usage))
        items = np.maximum(start.share * self.n_items, 1)
        total = start.errors * self.n_items + self._per_class(start.usage).sum()
        self._set_plan(start.usage, start.density, items, total)
        self._solve()
        while drop_patterns(self) or drop_class_use(self):
            self._solve()
        drop_until_significant(self)

    def take(self, model: BinaryModel) -> None:
        """Take over a model, which the only block has in memory, as it is."""
        self._begin(model.rank)
        self.executor.update(ItemBlock.take, model)
        rank = model.rank
        self._set_plan(self.layout.pack(model.Y.T), np.full(rank, 0.5), np.ones(rank), 1.0)
        self._take(_added(self.executor.query(ItemBlock.sum, self.plan)))

    def _begin(self, rank: int) -> None:
        self._barred = np.zeros((rank, len(self.class_sizes)), dtype=bool)
        self.executor.clear_log()
        self._null_code = np.sum(self.executor.update(ItemBlock.begin, self._ones, self.n_items, rank), axis=0)

    def _set_plan(self, usage: Words, density: Floats, items: Floats | Ints, total: float) -> None:
        """Set what the next choice of items depends on, and forget what was summed up before."""
        c = len(self.class_sizes)
        used = self._per_class(usage)
        share = np.maximum(items, 1) / self.n_items
        self.plan = Plan(
            usage=usage,
            used=used,
            density=density,
            min_evidence=np.stack([-np.log(share), np.log(c) - np.log(share)], axis=1),
            of_all=np.logical_and.reduce(used > 0, axis=1),
            log_total=float(np.log(max(total, 1))),
            alterations=self.alterations and c > 1,
        )
        self._usage, self._outdated = usage.copy(), False
        self._weighed: tuple[Floats, Floats] | None = None
        self._scored: ScoreSums | None = None
        self._added_evidence: Floats | None = None

    def _solve(self) -> None:
        """Choose items for the rows and rows for the items in turn, while rows change."""
        for _ in range(MAX_TURNS):
            self.turns += 1
            self._take(_added(self.executor.update(ItemBlock.solve, self.plan)))
            if not self.plan.used.any():
                return
            usage = self._better_rows()
            if np.array_equal(usage, self.plan.usage):
                return
            self._set_plan(usage, self.plan.density, self._sums.items, self.total)
        self._take(_added(self.executor.update(ItemBlock.solve, self.plan)))

    def _take(self, sums: ModelSums) -> None:
        """Keep the sums, and what the next choice depends on."""
        self._sums = sums
        density = (sums.open_ones + 0.5) / (sums.open_ones + sums.open_zeros + 1.0)
        self._set_plan(self.plan.usage, density, sums.items, self.total)

    @property
    def sums(self) -> ModelSums:
        """Sums over all items, for the present rows."""
        if self._outdated:
            self._take(_added(self.executor.query(ItemBlock.sum, self.plan)))
        return self._sums

    @property
    def total(self) -> float:
        """All usage and errors."""
        return float(self.plan.used.sum() + self._sums.code[0])

    def _better_rows(self) -> Words:
        """Return the rows of all patterns after every row has changed at most one of them, that which gains most."""
        gains, evidence = self._weigh()
        used = np.maximum(self.plan.used.sum(axis=1), 1)[:, None]
        present = self.layout.unpack(self.plan.usage)
        gains = self._of_rows(gains) - np.log(self.total / used)
        enough = self._of_rows(evidence) >= np.log(self.class_sizes.sum() / used)
        flips = np.where(present, -gains, np.where(enough, gains, -np.inf))
        flips[self._barred[:, self._class_of_row] & ~present] = -np.inf
        # A row that shows too little goes, even if it pays.
        flips = np.where(present & ~enough, np.maximum(flips, 1e-6), flips)
        flips[~self.plan.used.any(axis=1)] = -np.inf
        best, row = flips.argmax(axis=0), np.arange(flips.shape[1])
        changing = flips[best, row] > 0
        present[best[changing], row[changing]] ^= True
        trivial = (self._per_class(self.layout.pack(present)).sum(axis=1) < 2) | (self._sums.items < 2)
        present[trivial] = False
        return self.layout.pack(present)

    def _weigh(self) -> tuple[Floats, Floats]:
        """Return what every bit of all patterns saves, and its evidence, (R, 64 W) each."""
        if self._weighed is None:
            gains, evidence = zip(*self.executor.query(ItemBlock.weigh, self.plan, self.total), strict=True)
            self._weighed = np.sum(gains, axis=0), np.sum(evidence, axis=0)
        return self._weighed

    def _of_rows(self, figures: Floats) -> Floats:
        """Return figures per bit as figures per row, (R, m)."""
        rows = np.zeros((len(figures), self.layout.n_rows))
        rows[:, self.layout.rows] = figures[:, self.layout.places]
        return rows

    # ------------------------------------------------------------ significance

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns that rows use."""
        return [int(s) for s in np.flatnonzero(self.plan.used.any(axis=1))]

    def _scores(self) -> ScoreSums:
        """Return what the scores of the present patterns need, summed up once."""
        if self._outdated or self._scored is None:
            _ = self.sums
            self._scored = _added(self.executor.query(ItemBlock.score, self.plan))
        return self._scored

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence for a pattern."""
        scores = self._scores()
        of_items = EvidenceSums(scores.evidence, scores.shared, scores.added)
        return float(evidence_from_sums(of_items, s, self.n_items, self.class_sizes, self.plan.used[s]))

    def class_evidence(self, s: int) -> Floats:
        """Return the evidence that every class uses a pattern, (c,); infinite where it does not."""
        scores, sums, used = self._scores(), self.sums, self.plan.used[s]
        evidence = np.full(len(used), np.inf)
        for a in np.flatnonzero(used):
            size, items = self.class_sizes[a], (sums.items[s], sums.carried[s, a], sums.alone[s, a])
            evidence[a] = scores.class_evidence[s, a] - class_choices(self.n_items, size, used[a], *items)
        return evidence

    def alteration_evidence(self, s: int) -> Floats:
        """Return the evidence for what every class adds to a pattern, (c,); infinite where it adds nothing."""
        evidence: Floats = self._all_alteration_evidence()[s]
        return evidence

    def _all_alteration_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c)."""
        if self._outdated or self._added_evidence is None:
            sums, plan = self.sums, self.plan
            wanted = (sums.carried > sums.shared[:, None]) & ((sums.shared >= 2) & plan.used.any(axis=1))[:, None]
            self._added_evidence = np.full(wanted.shape, np.inf)
            if wanted.any():
                self._test_added(wanted, self._added_evidence)
        return self._added_evidence

    def _test_added(self, wanted: Bools, evidence: Floats) -> None:
        """Fill in the evidence for what classes add to patterns, where ``wanted``, (R, c)."""
        parts = zip(*self.executor.query(ItemBlock.added_items, self.plan, wanted), strict=True)
        entries, shown = (np.concatenate(part) for part in parts)
        levels, own = np.full((*wanted.shape, 2), np.inf), dict[tuple[int, int], NDArray[np.intp]]()
        for s, a in np.argwhere(wanted).tolist():
            own[s, a] = np.flatnonzero((entries[:, 0] == s) & (entries[:, 1] == a))
            distinct = evidence_levels(shown[own[s, a]], entries[own[s, a], 2])
            levels[s, a, : len(distinct)] = distinct
        expected = np.sum(self.executor.query(ItemBlock.expected_items, self.plan, levels), axis=0)
        for (s, a), items in own.items():
            finite = np.isfinite(levels[s, a])
            found = levels_evidence(shown[items], entries[items, 2], levels[s, a, finite], expected[s, a, finite])
            evidence[s, a] = found

    def overlapping(self, s: int) -> list[int]:
        """Return all patterns: one pass over the items gives the evidence of all."""
        return self.patterns()

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self._usage[s] = 0

    def reduce(self, s: int, classes: Bools, *, use: bool) -> None:
        """Take away what these classes add to a pattern and, with ``use``, their use of it."""
        if use:
            # For good: its rows pay, and would come back.
            self._barred[s] |= classes
            for a in np.flatnonzero(classes).tolist():
                self._usage[s, self.layout.words(a)] = 0
        self.executor.update(ItemBlock.clear_added, s, classes)
        self._cleared = True

    def update(self) -> None:
        """Make a new plan after parts were taken away; sums are made anew when they are next needed."""
        if self._cleared or not np.array_equal(self._usage, self.plan.usage):
            self._set_plan(self._usage, self.plan.density, self._sums.items, self.total)
            self._outdated = True
        self._cleared = False

    # ------------------------------------------------------------ results

    def length(self, *, printed: bool) -> float:
        """Return f, with S as the paper prints it or as the search weighs it."""
        return model_length(self.plan.used, self.sums, printed=printed)

    def null_length(self) -> float:
        """Return f of the model without patterns."""
        c = len(self.class_sizes)
        without_patterns = make_model_sums(0, c)._replace(code=self._null_code)
        return model_length(np.zeros((0, c), dtype=np.int64), without_patterns, printed=False)

    def scores(self) -> PatternScores:
        """Return the evidence and the gain of every part of the model."""
        scores, added = self._scores(), self._all_alteration_evidence()
        return score(self.plan.used, self.class_sizes, self.n_items, self.sums, scores, added.T)

    def find_carriers(self) -> Bools:
        """Return which rows have more than half of the items that define a pattern, (m, R)."""
        sums = self.sums
        by_all = defined_by_all_items((self.plan.used > 0).sum(axis=1), sums.shared)
        counts = np.sum(self.executor.query(ItemBlock.count_carried, by_all), axis=0)
        carriers: Bools = 2 * counts > np.where(by_all, sums.items, sums.shared)
        return carriers


def _added(parts: Sequence[Tuple]) -> Tuple:
    """Add up the sums of all blocks, field by field."""
    return type(parts[0])(*(sum(field) for field in zip(*parts, strict=True)))
