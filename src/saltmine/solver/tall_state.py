"""The state of a model of all rows, in blocks of them: patterns, f, and the evidence for each.

Only counts leave a block, a few numbers per item. What was counted and tested is kept until a change that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.binary_model import BinaryModel
from saltmine.mdl import evidence as stats
from saltmine.mdl import scores as scoring
from saltmine.mdl.added_items import simes_log_p
from saltmine.mdl.class_tests import join, join_strata, log_p_values, size_strata
from saltmine.mdl.code_length import NO_CODE, OPEN_ONES, OPEN_ZEROS, Costs, errors_code, make_costs, pattern_extra
from saltmine.mdl.correction import correct
from saltmine.mdl.row_sizes import frequency_bins, row_shifts
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.kernels import state_length
from saltmine.solver.row_block import CarrierRule, ClassCells, RowBlock, RowCounts, RowRule, RowSizes
from saltmine.solver.significance import choices_to_pay


@dataclass(frozen=True)
class View:
    """The whole data without one pattern, and the counts of the cells of its rows."""

    errors: Ints  # (n,)
    background: Floats  # (n,): share of ones among the open cells
    cells: ClassCells


@dataclass(frozen=True)
class ChosenRows:
    """Rows for a pattern: the rule that chooses them, or None for those it has, and their counts."""

    rule: RowRule | None
    dropped: Bools  # (c,): classes whose rows are left out after all
    counts: Ints  # (c,)
    cells: ClassCells


@dataclass(frozen=True)
class Fit:
    """A pattern that was fitted, and what f needs of it."""

    rows: ChosenRows
    carry: Bools  # (c, n)
    errors: Ints  # (n,)
    extra: float


class TallState:
    """A model of all rows, in blocks: its patterns, and figures of each.

    Parameters
    ----------
    executor : BlockExecutor
        Blocks of rows (`row_block.RowBlock`).
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
    """

    def __init__(
        self,
        executor: BlockExecutor[RowBlock],
        *,
        alterations: bool,
        alpha: float,
    ) -> None:
        self.executor = executor
        parts = zip(*executor.query(RowBlock.count), strict=True)
        self.class_sizes, self.item_counts, by_size = (np.sum(part, axis=0) for part in parts)
        self._may_alter = np.full(len(self.class_sizes), alterations and len(self.class_sizes) > 1)
        self.row_sizes = self._row_sizes(by_size)
        self.log_alpha = float(np.log(alpha))
        n_items = int(np.count_nonzero(self.item_counts))
        self.costs = make_costs(self.item_counts, self.class_sizes.tolist(), n_items=n_items)
        self._begin(0)

    def _row_sizes(self, by_size: Ints) -> RowSizes:
        """Return what the whole data says of rows of each size; ``by_size`` counts them, (n + 1,)."""
        m, sizes = int(self.class_sizes.sum()), np.arange(len(by_size))
        bins = frequency_bins(self.item_counts, np.ones(len(self.item_counts), dtype=np.int64), m)
        return RowSizes(row_shifts(sizes, bins, m), size_strata(sizes, by_size))

    def _begin(self, rank: int) -> None:
        n, c = len(self.item_counts), len(self.class_sizes)
        self.executor.clear_log()
        self.executor.update(RowBlock.begin, self.class_sizes, self.row_sizes, rank, self.costs.unit)
        self._all_rows: Ints = np.sum(self.executor.query(RowBlock.count_strata), axis=0)
        self._alike = np.zeros((rank, c), dtype=bool)
        self.used = np.zeros((rank, c), dtype=np.int64)
        self._typical = np.zeros(rank, dtype=bool)
        self.carry = np.zeros((rank, c, n), dtype=bool)
        self._altered = np.zeros(rank, dtype=bool)
        self.extra = np.zeros(rank)
        self.errors = self.item_counts.copy()
        # What was seen and tested since the last change; whether items go together, since one of overlapping patterns.
        self._views: dict[int, View] = {}
        self._together: dict[int, float] = {}
        self._use: dict[int, Floats] = {}
        self._added: dict[int, Floats] = {}

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

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns that rows use."""
        return [int(s) for s in np.flatnonzero(self.used.any(axis=1))]

    # ------------------------------------------------------------ one pattern

    def _look(self, s: int) -> View:
        """Look at the data without pattern ``s``, once between two changes."""
        if s not in self._views:
            self._views[s] = self._new_view(s)
        return self._views[s]

    def _new_view(self, s: int) -> View:
        wholes, cells = zip(*self.executor.query(RowBlock.look, s), strict=True)
        open_ones, open_zeros, ones = add_up(wholes)
        size = open_ones + open_zeros
        covered_zeros = self.class_sizes.sum() - ones - open_zeros
        background = np.where(size > 0, open_ones / np.maximum(size, 1), 1.0)
        return View(open_ones + covered_zeros, background, add_cells(cells))

    def _choose(self, s: int, rule: RowRule) -> ChosenRows:
        """Choose the rows of a pattern."""
        counts, cells = zip(*self.executor.query(RowBlock.choose, s, rule), strict=True)
        return ChosenRows(rule, np.zeros(len(self.class_sizes), dtype=bool), add_up(counts), add_cells(cells))

    def _costs_of(self, classes: Ints) -> Costs:
        """Return the constants for some of the classes."""
        return self.costs._replace(cross=self.costs.cross[np.ix_(classes, classes)])

    def _fitted(self, rows: ChosenRows, carry: Bools, view: View) -> Fit:
        """Return a pattern of these rows and items, without what classes add that have none of the rows."""
        carry, using, counts = carry.copy(), rows.cells.classes, rows.cells.counts
        carry[rows.counts == 0] &= carry.all(axis=0)
        own = carry[using]
        gained = ((counts[OPEN_ONES] - counts[OPEN_ZEROS]) * own).sum(axis=0)
        return Fit(rows, carry, view.errors - gained, pattern_extra(self._costs_of(using), counts, own))

    def _put(self, s: int, fit: Fit) -> None:
        """Make this pattern number ``s``."""
        self.executor.update(RowBlock.replace, s, fit.rows.rule, fit.rows.dropped, fit.carry)
        for known in (self._views, self._use, self._added):
            known.clear()
        now = fit.carry.any(axis=0)
        items = self.carry[s].any(axis=0) | now
        for other in [other for other in self._together if other == s or self.carry[other][:, items].any()]:
            del self._together[other]
        self._altered[s] = (now & ~fit.carry.all(axis=0)).any()
        self.used[s], self.carry[s], self.extra[s], self.errors = fit.rows.counts, fit.carry, fit.extra, fit.errors

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        view, everyone = self._look(s), np.ones(len(self.class_sizes), dtype=bool)
        nothing = ChosenRows(
            None, everyone, np.zeros_like(self.used[s]), ClassCells(view.cells.classes[:0], view.cells.counts[:, :0])
        )
        self._put(s, self._fitted(nothing, np.zeros_like(self.carry[s]), view))

    def _touched(self, changed: list[int]) -> list[int]:
        """Return the patterns that share items with those that changed."""
        items = np.logical_or.reduce(self.carry, axis=1)
        shared = (items @ items[changed].T.astype(np.int64)).any(axis=1)
        return [s for s in self.patterns() if shared[s] or s in changed]

    # ------------------------------------------------------------ significance

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together if it is enough, else also that of its use."""
        if self._is_typical(s, int(self.used[s].sum())):
            return np.inf
        together = self.together(s)
        return together if together >= -self.log_alpha else max(together, self._use_evidence(s))

    def _is_typical(self, s: int, used: int) -> bool:
        return bool(self._typical[s] and stats.is_typical(used, int(self.class_sizes.sum())))

    def evidence_of_all(self, patterns: list[int]) -> list[float]:
        """Return the evidence for each of these patterns."""
        return [self.pattern_evidence(s) for s in patterns]

    def together(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together; nothing but overlapping patterns matters."""
        if s not in self._together:
            self._together[s] = self._test_together(s)
        return self._together[s]

    def _test_together(self, s: int) -> float:
        carry = self.carry[s]
        if self._is_typical(s, int(self.used[s].sum())):
            # What classes add to the typical row is no evidence that its own items go together.
            carry = np.repeat(carry.all(axis=0)[None], len(carry), axis=0)
        shown = self._item_evidence(s, carry)
        return float(stats.pattern_evidence(self.costs, carry, shown, self.class_sizes, self.used[s]))

    def _item_evidence(self, s: int, carry: Bools) -> Floats:
        """Return the evidence of every item of a pattern that classes carry, (n,)."""
        view = self._look(s)
        using, counts = view.cells
        density = stats.rounded_density(stats.pattern_density(self._costs_of(using), counts, carry[using]))
        shown: Floats = np.sum(self.executor.query(RowBlock.evidence, s, carry, view.background, density), axis=0)
        return shown

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""
        shared = self.carry[s].all(axis=0)
        codes = float(self.costs.codes[shared].sum())
        return float(stats.item_choices(self.costs.n_items, int(shared.sum()), codes))

    def _use_evidence(self, s: int) -> float:
        if not self._may_alter.any():
            return -np.inf
        log_p = self.use_log_p(s)
        return float(-log_p.min() - self.item_choice(s) - np.log(len(log_p)))

    def carrier_rule(self, s: int) -> CarrierRule:
        """Return what decides who carries a pattern: it would shorten the row if there were no other."""
        shared = self.carry[s].all(axis=0)
        total = float(self.used.sum() + self.errors.sum())
        worth = np.log(total / np.maximum(self.errors, 0.5))
        # Where fewer than two items are shared all rows are compared.
        price = float(np.log(total / max(int(self.used[s].sum()), 1))) if shared.sum() >= 2 else -np.inf
        return CarrierRule(shared, worth, price)

    def _count_carriers(self, s: int) -> Ints:
        """Count the rows that carry a pattern, (G, c)."""
        rows: Ints = np.sum(self.executor.query(RowBlock.count_carriers, self.carrier_rule(s)), axis=0)
        return rows

    def use_log_p(self, s: int) -> Floats:
        """Test that more rows of each class carry a pattern than of the others, (c,)."""
        if s not in self._use:
            self._use[s] = log_p_values(self._count_carriers(s), self._all_rows)
        return self._use[s]

    def added_log_p(self, s: int) -> Floats:
        """Test what every class adds to a pattern, (c,)."""
        if s not in self._added:
            self._added[s] = self._test_added(s)
        return self._added[s]

    def _test_added(self, s: int) -> Floats:
        carry, shared = self.carry[s], self.carry[s].all(axis=0)
        items = np.flatnonzero(carry.any(axis=0) & ~shared)
        if not len(items):
            return np.zeros(len(carry))
        rows = self._count_carriers(s)
        hits = np.sum(self.executor.query(RowBlock.count_hits, self.carrier_rule(s), items), axis=0)
        joined = join_strata(rows.sum(axis=1))
        by_group = join(hits.reshape(len(hits), -1), joined).reshape(-1, *hits.shape[1:])
        # All items that are not shared were there to choose from.
        n_items = int(self.costs.weights[~shared & (self.item_counts > 0)].sum())
        return simes_log_p(by_group, join(rows, joined), self.costs.weights[items], carry[:, items], n_items)

    def adding(self, s: int) -> Bools:
        """Return which classes add items to a pattern, (c,)."""
        carry = self.carry[s]
        adds: Bools = np.logical_or.reduce(carry & ~np.logical_and.reduce(carry, axis=0), axis=1)
        return adds

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""
        evidence = np.full(self.used.shape, np.inf)
        on = self.patterns()
        adding = np.array([self.adding(s) for s in on])
        if adding.any():
            use, added = (np.array([test(s) for s in on]) for test in (self.use_log_p, self.added_log_p))
            use = np.minimum(use + choices_to_pay(self, on, [self.together(s) for s in on])[:, None], 0.0)
            evidence[on] = np.where(adding, -correct(np.stack([use, added]))[1], np.inf)
        return evidence

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns that share items with this one."""
        return self._touched([s])

    def update(self) -> None:
        """Do nothing: f is computed when it is asked for."""

    # ------------------------------------------------------------ results

    def model(self) -> BinaryModel:
        """Return the items of the patterns that rows use; the rows are in the blocks."""
        carry = self.carry[self.patterns()]
        shared: Bools = np.logical_and.reduce(carry, axis=1)
        V = (carry & ~shared[:, None]).transpose(1, 2, 0)
        return BinaryModel(shared.T.copy(), V.copy(), np.zeros((0, len(shared)), dtype=bool))

    def gains(self) -> tuple[Floats, Floats, float]:
        """Return what every pattern and alteration saves, (r,) and (c, r), and f as the paper prints it."""
        kept, c = self.patterns(), len(self.class_sizes)
        sums, scores = scoring.make_model_sums(len(kept), c), scoring.make_score_sums(len(kept), c)
        sums.code[:] = errors_code(self.costs, self.errors, NO_CODE)
        nothing = np.zeros(len(self.errors))
        for k, s in enumerate(kept):
            view, carry = self._look(s), self.carry[s]
            cells = view.cells.of_all(c)
            scoring.sum_pattern(self.costs, cells, carry, self.used[s], k, sums)
            scoring.score_pattern(self.costs, cells, carry, nothing, self.errors, view.errors, k, scores)
        gain, added = scoring.gains(self.used[kept], sums, scores)
        return gain, added, scoring.model_length(self.used[kept], sums, printed=True)

    def row_counts(self, model: BinaryModel) -> RowCounts:
        """Count what the tables need, by the classes of the labels, which ``model`` has alterations for."""
        parts = self.executor.query(RowBlock.row_counts, self.patterns(), model)
        return RowCounts(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))

    def carriers(self) -> Bools:
        """Return who carries the patterns, (m, r), rows as the blocks have them one after the other."""
        rules = [self.carrier_rule(s) for s in self.patterns()]
        carriers: Bools = np.concatenate(self.executor.query(RowBlock.carriers_of, rules))
        return carriers

    def strata_of_rows(self) -> Indices:
        """Return the group of rows of about the same size that each row belongs to, (m,)."""
        sizes = np.concatenate(self.executor.query(RowBlock.row_sizes))
        return np.asarray(self.row_sizes.strata[sizes])

    def usage(self) -> Bools:
        """Return who uses the patterns, (m, r), rows as the blocks have them one after the other."""
        usage: Bools = np.concatenate(self.executor.query(RowBlock.usage_of, self.patterns()))
        return usage


def add_cells(parts: Sequence[ClassCells]) -> ClassCells:
    """Add up the counts of blocks, each of which knows the classes of its own rows."""
    classes = np.unique(np.concatenate([part.classes for part in parts]))
    counts = np.zeros((3, len(classes), parts[0].counts.shape[2]), dtype=np.int64)
    for part in parts:
        counts[:, np.searchsorted(classes, part.classes)] += part.counts
    return ClassCells(classes, counts)


def add_up(parts: Sequence[Ints]) -> Ints:
    """Add up arrays one by one: `numpy.sum` would first make one of them all.

    Examples
    --------
    >>> import numpy as np
    >>> add_up([np.array([1, 2]), np.array([3, 4]), np.array([5, 6])])
    array([ 9, 12])
    """
    if len(parts) == 1:
        return parts[0]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    return total
