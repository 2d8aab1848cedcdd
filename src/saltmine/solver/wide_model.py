"""A model of all items, in blocks of them.

Given who uses which pattern, every item is chosen on its own, block by block; then every row is weighed by all items,
and so on in turn while rows change. What leaves a block are sums over items, a few numbers per pattern and one per
pattern and row, and at the end the evidence of added items.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.checkpoint import Part, State
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import Layout, count_bits
from saltmine.deadline import Deadline, TimeOver
from saltmine.mdl.added_items import simes
from saltmine.mdl.class_tests import join_strata, size_strata, use_log_p
from saltmine.mdl.correction import correct
from saltmine.mdl.evidence import EvidenceSums, evidence_from_sums, is_typical, item_choices, min_rows
from saltmine.mdl.row_sizes import FrequencyBins, row_shifts
from saltmine.mdl.scores import ModelSums, ScoreSums, gains, make_model_sums, model_length
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.item_kernels import Carriers, Plan
from saltmine.solver.significance import choices_to_pay, drop_insignificant, drop_patterns
from saltmine.solver.steps import Steps

Tuple = TypeVar("Tuple", bound=NamedTuple)

# Turns of items and rows; two or three are the rule.
MAX_TURNS = 6
# What a turn takes before the first one was timed: operations for every word of an item and pattern
# (docs/benchmarks/scale.md), and operations in a second, about those measured for 60 x 1,000,000. After the
# last turn, tests, scores and counts take as long as so many turns.
WORDS_PER_TURN, WORDS_PER_SECOND, TURNS_AFTER = 30, 1e10, 2.0


@dataclass(frozen=True)
class WideStart:
    """What a search in a sample says of the whole: rows of every pattern, and what its items are like."""

    usage: Words  # (R, W)
    density: Floats  # (R,): share of ones among its open cells
    share: Floats  # (R,): share of all items that it has
    errors: float  # errors per item
    typical: list[int]  # patterns that are asked for no evidence


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
        sizes, bins = zip(*executor.query(ItemBlock.row_sizes), strict=True)
        self.row_sizes: Ints = np.sum(sizes, axis=0)
        frequencies = FrequencyBins(*(np.sum(part, axis=0) for part in zip(*bins, strict=True)))
        self._shifts = row_shifts(self.row_sizes, frequencies, int(self.class_sizes.sum()))
        self.plan: Plan
        self.turns = 0
        # Whether items were cleared since the last plan.
        self._cleared = False
        self._class_of_row = np.zeros(layout.n_rows, dtype=np.intp)
        self._class_of_row[layout.rows] = np.searchsorted(64 * layout.edges, layout.places, side="right") - 1
        # Every row as often as it stands for one of the input.
        self._input_rows = np.repeat(layout.rows, layout.weights[layout.places // 64])

    def _per_class(self, usage: Words) -> Ints:
        """Count the rows of the input of every pattern and class, (R, c)."""
        words = [self.layout.words(a) for a in range(len(self.layout.edges) - 1)]
        return np.stack([count_bits(usage[:, of], self.layout.weights[of]) for of in words], axis=1)

    # ------------------------------------------------------------ solving

    def run(self, start: WideStart, part: Part | None = None, deadline: Deadline | None = None) -> None:
        """Solve all items and rows from what a sample says; ``part`` is what a checkpoint has of this."""
        self._sizes = self.executor.query(ItemBlock.size)
        if part is not None and part.state is not None and part.state["state"]["sizes"] != self._sizes:
            # Other blocks, as on a cluster with more workers.
            part.state = None
        self._deadline = deadline or Deadline()
        words = len(start.usage) * len(self.layout.weights) * sum(self._sizes)
        self._expect(WORDS_PER_TURN * words / WORDS_PER_SECOND)
        steps = Steps(self, part, self._deadline)
        try:
            self._run(start, steps)
        except TimeOver:
            self._cut_short()
        steps.keep()

    def _run(self, start: WideStart, steps: Steps) -> None:
        self._begin(len(start.usage))
        self._typical[start.typical] = True
        items = np.maximum(start.share * self.n_items, 1)
        total = start.errors * self.n_items + self._per_class(start.usage).sum()
        self._set_plan(start.usage, start.density, items, total)
        self._solve(steps)
        while steps.take(lambda: drop_patterns(self)):
            self._solve(steps)
        while steps.take(lambda: drop_insignificant(self)):
            # Items that a class does not add after all may be shared.
            self._solve(steps)

    def _cut_short(self) -> None:
        """End with what there is, but for what is not shown; with no pattern if no item was chosen yet."""
        if not self.turns:
            self._begin(0)
            self._set_plan(self.plan.usage[:0], self.plan.density[:0], self.plan.items[:0], 1.0)
            self._take(_added(self.executor.query(ItemBlock.sum, self.plan)))
        # Rows may have changed since.
        self._outdated = True
        while drop_insignificant(self):
            pass

    def state(self) -> State:
        """Return all that the next steps depend on, also what the blocks have."""
        return {
            "plan": self.plan._asdict(),
            "sums": self._sums._asdict(),
            "alike": self._alike,
            "typical": self._typical,
            "usage": self._usage,
            "flags": [self._outdated, self._cleared],
            "turns": self.turns,
            "sizes": self._sizes,
            "blocks": self.executor.query(ItemBlock.save),
        }

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self._begin(len(state["usage"]))
        self.executor.update_each(ItemBlock.restore, [(block,) for block in state["blocks"]])
        self.plan, self._sums = Plan(**state["plan"]), ModelSums(**state["sums"])
        self._alike, self._typical, self._usage = state["alike"], state["typical"], state["usage"]
        (self._outdated, self._cleared), self.turns = state["flags"], state["turns"]
        self._forget()

    def take(self, model: BinaryModel) -> None:
        """Take over a model, which the only block has in memory, as it is."""
        self._begin(model.rank)
        self.executor.update(ItemBlock.take, model)
        rank = model.rank
        self._set_plan(self.layout.pack(model.Y.T), np.full(rank, 0.5), np.ones(rank), 1.0)
        self._take(_added(self.executor.query(ItemBlock.sum, self.plan)))

    def _begin(self, rank: int) -> None:
        self._alike = np.zeros((rank, len(self.class_sizes)), dtype=bool)
        self._typical = np.zeros(rank, dtype=bool)
        self.executor.clear_log()
        self._null_code = np.sum(
            self.executor.update(ItemBlock.begin, self._ones, self.n_items, self._shifts, rank), axis=0
        )

    def _set_plan(self, usage: Words, density: Floats, items: Floats | Ints, total: float) -> None:
        """Set what the next choice of items depends on, and forget what was summed up before."""
        c = len(self.class_sizes)
        used = self._per_class(usage)
        self.plan = Plan(
            usage=usage,
            used=used,
            density=density,
            items=np.maximum(items, 1).astype(np.int64),
            typical=self._typical & np.asarray(is_typical(used.sum(axis=1), self.class_sizes.sum())),
            log_total=float(np.log(max(total, 1))),
            may_alter=~self._alike & (self.alterations and c > 1),
        )
        self._usage, self._outdated = usage.copy(), False
        self._forget()

    def _forget(self) -> None:
        """Forget what was summed up before."""
        self._scored: ScoreSums | None = None
        self._carriers: Bools | None = None
        self._claimed: Floats | None = None

    def _solve(self, steps: Steps) -> None:
        """Choose items for the rows and rows for the items in turn, while rows change."""
        for _ in range(MAX_TURNS):
            if not steps.take(self._turn, self._turn_seconds):
                return
        steps.take(self._choose_items, self._turn_seconds)

    def _turn(self) -> bool:
        """Choose items, then rows; return whether rows have changed."""
        begin = time.perf_counter()
        changed = self._choose_both()
        seconds = time.perf_counter() - begin
        # What is like the turn before is not solved again; what comes at the end is.
        self._expect(max(seconds, self._turn_seconds) if self.turns > 1 else seconds)
        return changed

    def _expect(self, seconds: float) -> None:
        """Expect the next turn to take so many seconds, and what comes after the last one its share of that."""
        self._turn_seconds = seconds
        self._deadline.reserve = TURNS_AFTER * seconds

    def _choose_both(self) -> bool:
        self._choose_items()
        self.turns += 1
        if not self.plan.used.any():
            return False
        usage = self._better_rows()
        if np.array_equal(usage, self.plan.usage):
            return False
        self._set_plan(usage, self.plan.density, self._sums.items, self.total)
        return True

    def _choose_items(self) -> None:
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
        used = np.maximum(self.plan.used.sum(axis=1), 1)[:, None]
        present = self.layout.unpack(self.plan.usage)
        saved = np.sum(self.executor.query(ItemBlock.weigh, self.plan, self.total), axis=0)
        gain = self._of_rows(saved) - np.log(self.total / used)
        flips = np.where(present, -gain, gain)
        flips[~self.plan.used.any(axis=1)] = -np.inf
        best, row = flips.argmax(axis=0), np.arange(flips.shape[1])
        changing = flips[best, row] > 0
        present[best[changing], row[changing]] ^= True
        trivial = (self._per_class(self.layout.pack(present)).sum(axis=1) < min_rows(int(self.class_sizes.sum()))) | (
            self._sums.items < 2
        )
        present[trivial] = False
        return self.layout.pack(present)

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
        """Return the evidence for a pattern: that its items go together, or that classes differ in its use."""
        return np.inf if self.plan.typical[s] else max(self.together(s), self._use_evidence(s))

    def evidence_of_all(self, patterns: list[int]) -> list[float]:
        """Return the evidence for each of these patterns."""
        return [self.pattern_evidence(s) for s in patterns]

    def together(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together."""
        scores = self._scores()
        of_items = EvidenceSums(scores.evidence, scores.items, scores.codes)
        figures = self.n_items, self.class_sizes, self.plan.used[s]
        # What classes add to the typical row is no evidence that its own items go together.
        return float(evidence_from_sums(of_items, s, *figures, bool(self.plan.typical[s])))

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""
        scores = self._scores()
        return float(item_choices(self.n_items, int(scores.items[0, s, 0]), float(scores.codes[0, s, 0])))

    def _use_evidence(self, s: int) -> float:
        c = len(self.class_sizes)
        if c < 2 or not self.alterations:
            return -np.inf
        return float(-self._use_log_p()[:, s].min() - self.item_choice(s) - np.log(c))

    def carriers(self) -> Bools:
        """Return which rows carry a pattern, (m, R): it would shorten their description if there were no other."""
        if self._outdated or self._carriers is None:
            sums = self.sums
            saved = np.sum(self.executor.query(ItemBlock.weigh_carriers, self.plan, self.total), axis=0)
            price = np.log(self.total / np.maximum(self.plan.used.sum(axis=1), 1))
            carriers: Bools = (self._of_rows(saved) > price[:, None]).T
            # Where fewer than two items are shared all rows are compared.
            self._carriers = carriers | (sums.shared < 2)
        return self._carriers

    def _use_log_p(self) -> Floats:
        """Test that more rows of each class carry each pattern than of the others, (c, R)."""
        rows, strata = self._input_rows, self._strata()
        return use_log_p(self.carriers()[rows], self._class_of_row[rows], len(self.class_sizes), strata[rows])

    def _strata(self) -> Indices:
        """Return groups of rows of about the same size, (m,)."""
        return size_strata(self.row_sizes, np.bincount(self._input_rows, minlength=len(self.row_sizes)))

    def added_log_p(self) -> tuple[Floats, Bools]:
        """Test what every class adds to every pattern, (R, c); and say where it adds anything."""
        sums, plan = self.sums, self.plan
        adding: Bools = (sums.carried > sums.shared[:, None]) & (plan.used.sum(axis=1) > 0)[:, None]
        log_p = np.zeros(adding.shape)
        if adding.any():
            packed = self.layout.pack(self.carriers().T)
            stratum = self._strata()
            strata = self.layout.pack(stratum == np.arange(int(stratum.max(initial=0)) + 1)[:, None])
            sizes = np.stack([self._per_class(packed & group) for group in strata], axis=1)
            joined = np.array([join_strata(of_pattern.sum(axis=1)) for of_pattern in sizes])
            among = Carriers(packed, strata, joined, sizes)
            parts = zip(*self.executor.query(ItemBlock.test_added, among, adding), strict=True)
            entries, found = (np.concatenate(part) for part in parts)
            for s, a in np.argwhere(adding).tolist():
                own = (entries[:, 0] == s) & (entries[:, 1] == a)
                log_p[s, a] = simes(found[own], entries[own, 2], self.n_items - int(sums.shared[s]))
        return log_p, adding

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""
        if self._outdated or self._claimed is None:
            log_p, adding = self.added_log_p()
            self._claimed = np.full(adding.shape, np.inf)
            if adding.any():
                on = self.patterns()
                use = np.minimum(
                    self._use_log_p().T[on] + choices_to_pay(self, on, [self.together(s) for s in on])[:, None], 0.0
                )
                q = correct(np.stack([use, log_p[on]]))[1]
                self._claimed[on] = np.where(adding[on], -q, np.inf)
        return self._claimed

    def overlapping(self, s: int) -> list[int]:
        """Return all patterns: one pass over the items gives the evidence of all."""
        return self.patterns()

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self._usage[s] = 0

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""
        self._alike[s] |= classes
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

    def gains(self) -> tuple[Floats, Floats]:
        """Return what every pattern saves, (R,), and what every class saves by what it adds to it, (c, R)."""
        return gains(self.plan.used, self.sums, self._scores())


def _added(parts: Sequence[Tuple]) -> Tuple:
    """Add up the sums of all blocks, field by field."""
    return type(parts[0])(*(sum(field) for field in zip(*parts, strict=True)))
