"""The search in all rows, in blocks of them.

Given what the patterns consist of, every row is weighed where it is, block by block; the items are then chosen anew by
the counts of all rows, pattern by pattern, while f falls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.checkpoint import Part, State
from saltmine.deadline import Deadline, TimeOver
from saltmine.mdl import evidence as stats
from saltmine.mdl.item_choice import ItemsWithout, choose_items
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.row_block import RowBlock, RowRule
from saltmine.solver.significance import drop_insignificant, drop_until_significant
from saltmine.solver.solution import OnRefine
from saltmine.solver.steps import Steps
from saltmine.solver.tall_state import ChosenRows, Fit, TallState, View

# Sweeps over patterns that still change, and rounds of the significance filter; one or two are the rule.
MAX_SWEEPS, MAX_ROUNDS = 4, 5
# After the last sweep, tests, scores and counts of a pattern take so many times as long as to place it; and more where
# classes add items to it.
PLACES_AFTER, MORE_AFTER = 3.0, 1.5
# As in the search in memory: turns of rows and items in one fit of a pattern, and by how much f must fall.
ROUNDS, LEAST = 6, 1e-6


@dataclass(frozen=True)
class TallStart:
    """What a search in a sample of the rows says of the whole."""

    carry: Bools  # (R, c, n): items of every pattern
    used: Floats  # (R,): rows that may be expected to use it
    errors: Ints  # (n,): errors that may be expected of every item
    typical: list[int]  # patterns that are asked for no evidence


class TallModel(TallState):
    """A model of all rows that can be improved; `TallState` has its other parameters.

    Parameters
    ----------
    on_refine : callable
        Called with the number of patterns, f and the share of the work that is usually done by then.
    """

    def __init__(
        self,
        executor: BlockExecutor[RowBlock],
        *,
        alterations: bool,
        alpha: float,
        on_refine: OnRefine = lambda rank, length, done: None,
    ) -> None:
        super().__init__(executor, alterations=alterations, alpha=alpha)
        self._on_refine = on_refine
        # Seconds that it takes to place a pattern, and whether there is no time left to fit any.
        self.sweeps, self._placing, self._is_over = 0, 0.0, False

    def run(self, start: TallStart, part: Part | None = None, deadline: Deadline | None = None) -> None:
        """Find the rows of all patterns, and improve both rows and items; ``part`` is what a checkpoint has of this."""
        self._sizes = self.executor.query(RowBlock.size)
        if part is not None and part.state is not None and part.state["state"]["sizes"] != self._sizes:
            # Other blocks, as on a cluster with more workers.
            part.state = None
        self._deadline = deadline or Deadline()
        # What a search in a sample expected is over.
        self._deadline.reserve = 0.0
        steps = Steps(self, part, self._deadline)
        try:
            self._run(start, steps)
        except TimeOver:
            self._is_over = True
            drop_until_significant(self)
        if self.length >= self.null_length():
            self._begin(0)
        steps.keep()

    def _run(self, start: TallStart, steps: Steps) -> None:
        self._begin(len(start.carry))
        self._typical[start.typical] = True
        items = np.logical_or.reduce(start.carry, axis=1).sum(axis=1)
        for s in np.argsort(-start.used * items, kind="stable").tolist():
            steps.take(partial(self._place_timed, s, start))
        self._report(0.3, steps)
        self.refit(steps)
        for k in range(MAX_ROUNDS):
            self._report(0.7 + 0.3 * k / MAX_ROUNDS, steps)
            if not steps.take(lambda: drop_insignificant(self)):
                break
            self.refit(steps)
        steps.take(lambda: drop_until_significant(self))

    def state(self) -> State:
        """Return all that the next steps depend on, also what the blocks have."""
        return {
            "used": self.used,
            "carry": self.carry,
            "extra": self.extra,
            "errors": self.errors,
            "alike": self._alike,
            "typical": self._typical,
            "sweeps": self.sweeps,
            "placing": self._placing,
            "sizes": self._sizes,
            "blocks": self.executor.query(RowBlock.save),
        }

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self._begin(len(state["used"]))
        self.executor.update_each(RowBlock.restore, [(block, state["carry"]) for block in state["blocks"]])
        self.used, self.carry, self.extra = state["used"], state["carry"], state["extra"]
        self.errors, self.sweeps, self._placing = state["errors"], state["sweeps"], state["placing"]
        self._alike, self._typical = state["alike"], state["typical"]
        shared = np.logical_and.reduce(self.carry, axis=1)
        self._altered = np.logical_or.reduce(self.carry & ~shared[:, None], axis=(1, 2))
        self._expect_end()

    def _report(self, done: float, steps: Steps) -> None:
        if not steps.are_repeated:
            self._on_refine(len(self.patterns()), self.length, done)

    def _place_timed(self, s: int, start: TallStart) -> None:
        """Place a pattern, and expect tests and counts at the end to take a multiple of the time for each."""
        begin, n_before = time.perf_counter(), len(self.patterns())
        self._place(s, start)
        seconds = time.perf_counter() - begin
        self._placing += (seconds - self._placing) / (n_before + 1)
        self._expect_end()

    def _expect_end(self) -> None:
        patterns, altered = len(self.patterns()), int(self._altered.sum())
        self._deadline.reserve = self._placing * (PLACES_AFTER * patterns + MORE_AFTER * altered)

    def _place(self, s: int, start: TallStart) -> None:
        """Give a pattern the rows that its items suggest, at the prices of the whole model."""
        view = self._look(s)
        total, used = float(start.errors.sum() + start.used.sum()), max(start.used[s], 2.0)
        rows = self._choose(s, self._rule(start.carry[s], start.errors, total, used))
        if rows.counts.sum() >= stats.min_rows(int(self.class_sizes.sum())):
            self._put(s, self._fitted(rows, start.carry[s], view))

    def _rule(self, carry: Bools, errors: Ints, total: float, used: float) -> RowRule:
        """Return what decides who uses a pattern that so many rows use."""
        return RowRule(carry.copy(), errors.copy(), total, float(np.log(total / used)))

    def _ratios(self, view: View, density: float) -> tuple[Floats, Floats]:
        for_one, for_zero = np.zeros(len(self.errors)), np.zeros(len(self.errors))
        stats.log_likelihood_ratios(view.background, density, for_one, for_zero)
        return for_one, for_zero

    def _fit(self, s: int, view: View) -> tuple[float, Fit | None]:
        """Optimise a pattern against the others, as `kernels.fit_pattern` does; returns f with it."""
        c = len(self.class_sizes)
        others = int(self.used.sum() - self.used[s].sum())
        carry, errors = np.zeros_like(self.carry[s]), view.errors.copy()
        rows = ChosenRows(None, np.zeros(c, dtype=bool), self.used[s], view.cells)
        ratios = np.zeros(len(errors)), np.zeros(len(errors))
        items, length, best = 0, np.inf, None
        may_alter = self._may_alter & ~self._alike[s]
        for turn in range(ROUNDS):
            log_total = float(np.log(others + rows.counts.sum() + errors.sum()))
            # Classes without rows have nothing to say: what all others carry, all carry.
            using, costs = rows.cells.classes, self._costs_of(rows.cells.classes)
            seen = ItemsWithout(costs, rows.cells.counts, view.background, view.errors, log_total, may_alter[using])
            used, own = int(rows.counts.sum()), np.zeros((len(using), len(errors)), dtype=bool)
            choose_items(seen, ratios, 0 if self._is_typical(s, used) else items, own, errors)
            carry[:] = own.all(axis=0) & (len(using) > 0)
            carry[using] = own
            items = int(own.any(axis=0).sum())
            if items < 2 or used < stats.min_rows(int(self.class_sizes.sum())):
                break
            if turn > 0:
                fit = self._fitted(rows, carry, view)
                now = self._length_with(s, used, fit.extra, fit.errors)
                if now >= length - 1e-9:
                    break
                length, best = now, fit
            ratios = self._ratios(view, stats.pattern_density(costs, rows.cells.counts, own))
            rows = self._choose(s, self._rule(carry, errors, float(others + used + errors.sum()), used))
        return length, best

    def refit(self, steps: Steps | None = None) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes."""
        steps = steps or Steps(self, None, Deadline())
        waiting: list[int] = steps.take(self._begin_sweep)
        for sweep in range(MAX_SWEEPS):
            changed = [s for s in waiting if steps.take(partial(self._refit_one, s))]
            if not changed:
                return
            last = sweep + 1 == MAX_SWEEPS
            waiting = [] if last else steps.take(partial(self._begin_sweep, changed))

    def _begin_sweep(self, changed: list[int] | None = None) -> list[int]:
        """Return the patterns to fit: all of them, or those that others which changed may have changed."""
        self.sweeps += 1
        return self.patterns() if changed is None else self._touched(changed)

    def _refit_one(self, s: int) -> bool:
        self._expect_end()
        view, before = self._look(s), self.length
        length, fit = self._fit(s, view)
        if fit is not None and length < before - LEAST:
            self._put(s, fit)
            return True
        if self._length_with(s, 0, 0.0, view.errors) < before - LEAST:
            self.remove(s)
            return True
        return False

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""
        self._alike[s] |= classes
        fit = self._without_added(s, classes) if self._is_over else self._fit(s, self._look(s))[1]
        if fit is None:
            self.remove(s)
        else:
            self._put(s, fit)

    def _without_added(self, s: int, classes: Bools) -> Fit | None:
        """Return a pattern as it is but for what these classes add; fitted anew if they share too little without it."""
        view, carry = self._look(s), self.carry[s].copy()
        carry[classes] &= carry.all(axis=0)
        if carry.all(axis=0).sum() < 2:
            return self._fit(s, view)[1]
        as_before = ChosenRows(None, np.zeros(len(self.class_sizes), dtype=bool), self.used[s], view.cells)
        return self._fitted(as_before, carry, view)
