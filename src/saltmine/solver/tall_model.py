"""A model of all rows, in blocks of them.

Given what the patterns consist of, every row is weighed where it is, block by block; the items are then chosen anew by
the counts of all rows, pattern by pattern, while f falls. Only counts leave a block, a few numbers per item.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from saltmine.arrays import Bools, Floats, Ints
from saltmine.data.binary_model import BinaryModel
from saltmine.data.item_counts import defined_by_all_items
from saltmine.mdl import evidence as stats
from saltmine.mdl import scores as scoring
from saltmine.mdl.alteration_tests import alteration_evidence
from saltmine.mdl.code_length import NO_CODE, OPEN_ONES, OPEN_ZEROS, errors_code, make_costs, pattern_extra
from saltmine.mdl.item_choice import ItemsWithout, choose_items, choose_items_of_some
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.kernels import state_length
from saltmine.solver.local_search import LEAST, ROUNDS
from saltmine.solver.row_block import RowBlock, RowCounts, RowRule
from saltmine.solver.significance import drop_insignificant, drop_until_significant
from saltmine.solver.solution import OnRefine

# Sweeps over patterns that still change, and rounds of the significance filter; one or two are the rule.
MAX_SWEEPS, MAX_ROUNDS = 4, 5


@dataclass(frozen=True)
class TallStart:
    """What a search in a sample of the rows says of the whole."""

    carry: Bools  # (R, c, n): items of every pattern
    density: Floats  # (R,): share of ones among its cells
    used: Floats  # (R,): rows that may be expected to use it
    errors: Ints  # (n,): errors that may be expected of every item


@dataclass(frozen=True)
class View:
    """The whole data without one pattern, and the counts of the cells of its rows."""

    errors: Ints  # (n,)
    background: Floats  # (n,): share of ones among the open cells
    cells: Ints  # (3, c, n)


@dataclass(frozen=True)
class ChosenRows:
    """Rows for a pattern: the rule that chooses them, or None for those it has, and their counts."""

    rule: RowRule | None
    dropped: Bools  # (c,): classes whose rows are left out after all
    counts: Ints  # (c,)
    cells: Ints  # (3, c, n)


@dataclass(frozen=True)
class Fit:
    """A pattern that was fitted, and what f needs of it."""

    rows: ChosenRows
    carry: Bools  # (c, n)
    errors: Ints  # (n,)
    extra: float


class TallModel:
    """A model of all rows, in blocks.

    Parameters
    ----------
    executor : BlockExecutor
        Blocks of rows (`row_block.RowBlock`).
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
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
        self.executor = executor
        self._on_refine = on_refine
        parts = zip(*executor.query(RowBlock.count), strict=True)
        self.class_sizes, self.item_counts = (np.sum(part, axis=0) for part in parts)
        self.alterations = alterations and len(self.class_sizes) > 1
        self.log_alpha = float(np.log(alpha))
        n_items = int(np.count_nonzero(self.item_counts))
        self.costs = make_costs(self.item_counts, self.class_sizes.tolist(), n_items=n_items)
        self.sweeps = 0
        self._begin(0)

    def _begin(self, rank: int) -> None:
        n, c = len(self.item_counts), len(self.class_sizes)
        self.executor.clear_log()
        self.executor.update(RowBlock.begin, self.class_sizes, rank)
        self.used = np.zeros((rank, c), dtype=np.int64)
        self.carry = np.zeros((rank, c, n), dtype=bool)
        self.extra = np.zeros(rank)
        self.errors = self.item_counts.copy()
        # What was seen since the last change.
        self._views: dict[int, View] = {}

    @property
    def length(self) -> float:
        """Return f with the specificity term of the search."""
        return self._length(self.used.sum(axis=1), self.extra, self.errors)

    def null_length(self) -> float:
        """Return f of the model without patterns."""
        return scoring.null_length(self.costs, self.item_counts)

    def _length(self, used: Ints, extra: Floats, errors: Ints) -> float:
        return float(state_length(self.costs, used, extra, errors))

    def _length_with(self, s: int, count: int, extra: float, errors: Ints) -> float:
        """Return f if pattern ``s`` had so many rows."""
        used, extras = self.used.sum(axis=1), self.extra.copy()
        used[s], extras[s] = count, extra
        return self._length(used, extras, errors)

    # ------------------------------------------------------------ solving

    def run(self, start: TallStart) -> None:
        """Find the rows of all patterns, and improve both rows and items."""
        self._begin(len(start.carry))
        items = np.logical_or.reduce(start.carry, axis=1).sum(axis=1)
        for s in np.argsort(-start.used * items, kind="stable").tolist():
            self._place(s, start)
        self._report(0.3)
        self.refit()
        for k in range(MAX_ROUNDS):
            self._report(0.7 + 0.3 * k / MAX_ROUNDS)
            if not drop_insignificant(self):
                break
            self.refit()
        drop_until_significant(self)
        if self.length >= self.null_length():
            self._begin(0)

    def _report(self, done: float) -> None:
        self._on_refine(len(self.patterns()), self.length, done)

    def _place(self, s: int, start: TallStart) -> None:
        """Give a pattern the rows that its items suggest, at the prices of the whole model."""
        view = self._look(s)
        total, used = float(start.errors.sum() + start.used.sum()), max(start.used[s], 2.0)
        ratios = self._ratios(view, start.density[s])
        rows = self._choose(s, self._rule(start.carry[s], start.errors, total, used, ratios))
        if rows.counts.sum() >= 2:
            self._put(s, self._fitted(rows, start.carry[s], view))

    def _rule(self, carry: Bools, errors: Ints, total: float, used: float, ratios: tuple[Floats, Floats]) -> RowRule:
        """Return what decides who uses a pattern that so many rows use."""
        price, min_evidence = float(np.log(total / used)), float(np.log(self.class_sizes.sum() / used))
        return RowRule(carry.copy(), errors.copy(), total, ratios, price, min_evidence)

    def _look(self, s: int) -> View:
        """Look at the data without pattern ``s``, once between two changes."""
        if s not in self._views:
            self._views[s] = self._new_view(s)
        return self._views[s]

    def _new_view(self, s: int) -> View:
        parts = zip(*self.executor.query(RowBlock.look, s), strict=True)
        whole, cells = (np.sum(part, axis=0) for part in parts)
        open_ones, open_zeros, ones = whole.sum(axis=1)
        size = open_ones + open_zeros
        covered_zeros = self.class_sizes.sum() - ones - open_zeros
        background = np.where(size > 0, open_ones / np.maximum(size, 1), 1.0)
        return View(open_ones + covered_zeros, background, cells)

    def _ratios(self, view: View, density: float) -> tuple[Floats, Floats]:
        for_one, for_zero = np.zeros(len(self.errors)), np.zeros(len(self.errors))
        stats.log_likelihood_ratios(view.background, density, for_one, for_zero)
        return for_one, for_zero

    def _choose(self, s: int, rule: RowRule) -> ChosenRows:
        """Choose the rows of a pattern; a class whose rows chance explains does not use it at all."""
        parts = zip(*self.executor.query(RowBlock.choose, s, rule), strict=True)
        counts, evidence, cells = (np.sum(part, axis=0) for part in parts)
        dropped = np.zeros(len(self.class_sizes), dtype=bool)
        for a in np.flatnonzero(counts).tolist():
            items = stats.count_class_items(self.costs, rule.carry, a)
            choices = stats.class_choices(self.costs.n_items, self.class_sizes[a], counts[a], *items)
            dropped[a] = evidence[a] - choices < -self.log_alpha
        return ChosenRows(rule, dropped, counts * ~dropped, cells * ~dropped[None, :, None])

    def _fit(self, s: int, view: View) -> tuple[float, Fit | None]:
        """Optimise a pattern against the others, as `kernels.fit_pattern` does; returns f with it."""
        costs, c = self.costs, len(self.class_sizes)
        others = int(self.used.sum() - self.used[s].sum())
        carry, errors = np.zeros_like(self.carry[s]), view.errors.copy()
        rows = ChosenRows(None, np.zeros(c, dtype=bool), self.used[s], view.cells)
        ratios = np.zeros(len(errors)), np.zeros(len(errors))
        min_evidence = -np.inf, -np.inf
        length, best = np.inf, None
        for turn in range(ROUNDS):
            log_total = float(np.log(others + rows.counts.sum() + errors.sum()))
            seen = ItemsWithout(costs, rows.cells, view.background, view.errors, log_total, self.alterations)
            if (rows.counts > 0).all():
                choose_items(seen, True, ratios, min_evidence, carry, errors)
            else:
                choose_items_of_some(seen, ratios, min_evidence, carry, errors)
            used, items = int(rows.counts.sum()), int(carry.any(axis=0).sum())
            if items < 2 or used < 2:
                break
            if turn > 0:
                fit = self._fitted(rows, carry, view)
                now = self._length_with(s, used, fit.extra, fit.errors)
                if now >= length - 1e-9:
                    break
                length, best = now, fit
            ratios = self._ratios(view, stats.pattern_density(costs, rows.cells, carry))
            min_evidence = float(np.log(costs.n_items / items)), float(np.log(c * costs.n_items / items))
            rows = self._choose(s, self._rule(carry, errors, float(others + used + errors.sum()), used, ratios))
        return length, best

    def _fitted(self, rows: ChosenRows, carry: Bools, view: View) -> Fit:
        """Return a pattern of these rows and items, without what classes add that have none of the rows."""
        carry = carry.copy()
        carry[rows.counts == 0] &= carry.all(axis=0)
        gained = (rows.cells[OPEN_ONES] - rows.cells[OPEN_ZEROS]) * carry
        extra = float(pattern_extra(self.costs, rows.cells, carry))
        return Fit(rows, carry, view.errors - gained.sum(axis=0), extra)

    def _put(self, s: int, fit: Fit) -> None:
        """Make this pattern number ``s``."""
        self.executor.update(RowBlock.replace, s, fit.rows.rule, fit.rows.dropped, fit.carry)
        self._views.clear()
        self.used[s], self.carry[s], self.extra[s], self.errors = fit.rows.counts, fit.carry, fit.extra, fit.errors

    def refit(self) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes."""
        waiting: Iterable[int] = self.patterns()
        for _ in range(MAX_SWEEPS):
            self.sweeps += 1
            changed = [s for s in waiting if self._refit_one(s)]
            if not changed:
                return
            waiting = self._touched(changed)

    def _refit_one(self, s: int) -> bool:
        view, before = self._look(s), self.length
        length, fit = self._fit(s, view)
        if fit is not None and length < before - LEAST:
            self._put(s, fit)
            return True
        if self._length_with(s, 0, 0.0, view.errors) < before - LEAST:
            self.remove(s)
            return True
        return False

    def _touched(self, changed: list[int]) -> list[int]:
        """Return the patterns that share items with those that changed."""
        items = np.logical_or.reduce(self.carry, axis=1)
        shared = (items @ items[changed].T.astype(np.int64)).any(axis=1)
        return [s for s in self.patterns() if shared[s] or s in changed]

    # ------------------------------------------------------------ significance

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns that rows use."""
        return [int(s) for s in np.flatnonzero(self.used.any(axis=1))]

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence for a pattern."""
        view = self._look(s)
        known = self.costs, view.cells, self.carry[s], view.background
        return float(stats.pattern_evidence(*known, self.class_sizes, self.used[s]))

    def class_evidence(self, s: int) -> Floats:
        """Return the evidence that every class uses a pattern, (c,); infinite where it does not."""
        view, evidence = self._look(s), np.empty(len(self.class_sizes))
        known = self.costs, view.cells, self.carry[s], view.background
        stats.class_evidence(*known, self.class_sizes, self.used[s], evidence)
        return evidence

    def alteration_evidence(self, s: int) -> Floats:
        """Return the evidence for what every class adds to a pattern, (c,); infinite where it adds nothing."""
        view = self._look(s)
        return alteration_evidence(self.costs, view.cells, self.carry[s], view.background)

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns that share items with this one."""
        return self._touched([s])

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self.reduce(s, np.ones(len(self.class_sizes), dtype=bool), use=True)

    def reduce(self, s: int, classes: Bools, *, use: bool) -> None:
        """Take away what these classes add to a pattern and, with ``use``, their use of it."""
        view, carry = self._look(s), self.carry[s].copy()
        carry[classes] &= carry.all(axis=0)
        # Rows of classes without items go as well.
        dropped = (classes & use) | ~carry.any(axis=1)
        carry = carry if not dropped.all() else np.zeros_like(carry)
        rows = ChosenRows(None, dropped, self.used[s] * ~dropped, view.cells * ~dropped[None, :, None])
        self._put(s, self._fitted(rows, carry, view))

    def update(self) -> None:
        """Do nothing: f is computed when it is asked for."""

    # ------------------------------------------------------------ results

    def model(self) -> BinaryModel:
        """Return the items of the patterns that rows use; the rows are in the blocks."""
        carry = self.carry[self.patterns()]
        shared: Bools = np.logical_and.reduce(carry, axis=1)
        V = (carry & ~shared[:, None]).transpose(1, 2, 0)
        return BinaryModel(shared.T.copy(), V.copy(), np.zeros((0, len(shared)), dtype=bool))

    def scores(self) -> tuple[scoring.PatternScores, float]:
        """Return the evidence and the gain of every part of the model, and f as the paper prints it."""
        kept, c = self.patterns(), len(self.class_sizes)
        used, added = self.used[kept], np.zeros((c, len(kept)))
        sums, scores = scoring.make_model_sums(len(kept), c), scoring.make_score_sums(len(kept), c)
        sums.code[:] = errors_code(self.costs, self.errors, NO_CODE)
        for k, s in enumerate(kept):
            view, carry = self._look(s), self.carry[s]
            density = stats.pattern_density(self.costs, view.cells, carry)
            n_items = max(int(carry.any(axis=0).sum()), 1)
            pattern = scoring.PatternState(
                density, stats.rounded_density(density), float(np.log(self.costs.n_items / n_items))
            )
            scoring.sum_pattern(self.costs, view.cells, carry, self.used[s], k, sums)
            known = self.costs, view.cells, carry, view.background, self.errors, view.errors
            scoring.score_pattern(*known, pattern, k, scores)
            added[:, k] = self.alteration_evidence(s)
        found = scoring.score(used, self.class_sizes, self.costs.n_items, sums, scores, added)
        return found, scoring.model_length(used, sums, printed=True)

    def defining_items(self) -> Bools:
        """Return the items that tell who carries a pattern, (n, r)."""
        carry = self.carry[self.patterns()]
        shared: Bools = np.logical_and.reduce(carry, axis=1)
        by_all = defined_by_all_items((self.used[self.patterns()] > 0).sum(axis=1), shared.sum(axis=1))
        items: Bools = np.where(by_all[:, None], np.logical_or.reduce(carry, axis=1), shared)
        return items.T.copy()

    def row_counts(self, model: BinaryModel) -> RowCounts:
        """Count what the tables need, by the classes of the labels, which ``model`` has alterations for."""
        parts = self.executor.query(RowBlock.row_counts, self.patterns(), model, self.defining_items())
        return RowCounts(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))

    def usage(self) -> Bools:
        """Return who uses the patterns, (m, r), rows as the blocks have them one after the other."""
        usage: Bools = np.concatenate(self.executor.query(RowBlock.usage_of, self.patterns()))
        return usage
