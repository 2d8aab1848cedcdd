"""From a sample of the rows to all of them: the patterns that a search found, used by whoever they fit.

What a pattern consists of is known from the sample. So every row is weighed where it is, block by block; the items are
then chosen anew by the counts of all rows, pattern by pattern, while f falls. Only counts leave a block, a few
numbers per item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel, Bools
from saltmine.data.bits import Ints
from saltmine.distributed.executor import Crew
from saltmine.mdl.alterations import Cells, alteration_evidence
from saltmine.solver import kernels
from saltmine.solver.description import cross_weights, item_codes
from saltmine.solver.judgement import Judgement
from saltmine.solver.kernels import Data, Opened, Pattern
from saltmine.solver.local_search import LEAST, ROUNDS
from saltmine.solver.row_block import Choice, Chosen, RowFigures

Floats = NDArray[np.float64]

# Sweeps over patterns that still change, and rounds of what chance explains; one or two are the rule.
MOST_SWEEPS, MOST_ROUNDS = 4, 5


@dataclass(frozen=True)
class RowStart:
    """What a search on a sample of the rows says of the whole."""

    carry: Bools  # (R, c, n): items of every pattern
    density: Floats  # (R,): share of ones among its cells
    used: Floats  # (R,): rows that may be expected to use it
    noise: Ints  # (n,): errors that may be expected of every item


class View(NamedTuple):
    """The whole data without one pattern, and the cells of its rows."""

    opened: Opened
    cells: Ints  # (3, c, n)


@dataclass(frozen=True)
class Rows:
    """Rows for a pattern: how they are chosen, or None for those it has, and what they sum up to."""

    choice: Choice | None
    dropped: Bools  # (c,): classes whose rows are left out after all
    counts: Ints  # (c,)
    cells: Ints  # (3, c, n)


@dataclass(frozen=True)
class Fit:
    """A pattern that was fitted, and what f needs of it."""

    rows: Rows
    carry: Bools  # (c, n)
    noise: Ints  # (n,)
    extra: float


class TallExtension:
    """A model of all rows, in blocks.

    Parameters
    ----------
    crew : Crew
        Blocks of rows (`row_block.RowBlock`).
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
    tell : callable or None
        Called with the number of patterns, f and the share of the work that is usually done by then.
    """

    def __init__(
        self, crew: Crew, *, alterations: bool, alpha: float, tell: Callable[[int, float, float], None] | None = None
    ) -> None:
        self.crew = crew
        self._tell = tell
        self.sizes, self.item_counts = (np.sum(part, axis=0) for part in zip(*crew.run("count"), strict=True))
        self.alterations = alterations and len(self.sizes) > 1
        self.log_alpha = float(np.log(alpha))
        self.data = self._prepare()
        self.sweeps = 0
        self._begin(0)

    def _prepare(self) -> Data:
        """Return the constants of f without any cells; a class is one row, which counts for all of its rows."""
        n, c = len(self.item_counts), len(self.sizes)
        counts = np.arange(1, self.sizes.sum() + 2, dtype=np.float64)
        return Data(
            columns=np.zeros((n, 0), dtype=np.uint64),
            weights=np.ones(n, dtype=np.int64),
            row_weights=self.sizes,
            valid=np.ones(c, dtype=np.uint64),
            lanes=np.ones(c, dtype=np.int64),
            edges=np.arange(c + 1),
            codes=item_codes(self.item_counts),
            cross=cross_weights(self.sizes.tolist()),
            counted=np.concatenate([[0.0], -(counts + 1) * np.log(counts)]),
            n_items=int(np.count_nonzero(self.item_counts)),
        )

    def _begin(self, rank: int) -> None:
        n, c = len(self.item_counts), len(self.sizes)
        self.crew.forget()
        self.crew.run("begin", self.sizes, rank, changes=True)
        self.used = np.zeros((rank, c), dtype=np.int64)
        self.carry = np.zeros((rank, c, n), dtype=bool)
        self.extra = np.zeros(rank)
        self.noise = self.item_counts.copy()
        # What was seen since the last change.
        self._views: dict[int, View] = {}

    @property
    def length(self) -> float:
        """Return f with the specificity term of the search."""
        return self._length(self.used.sum(axis=1), self.extra, self.noise)

    def null_length(self) -> float:
        """Return f of the model without patterns."""
        return self._length(np.zeros(0, dtype=np.int64), np.zeros(0), self.item_counts)

    def _length(self, used: Ints, extra: Floats, noise: Ints) -> float:
        return float(kernels.total_length(self.data, used, extra, noise))

    def _length_with(self, s: int, count: int, extra: float, noise: Ints) -> float:
        """Return f if pattern ``s`` had so many rows."""
        used, extras = self.used.sum(axis=1), self.extra.copy()
        used[s], extras[s] = count, extra
        return self._length(used, extras, noise)

    @property
    def kept(self) -> NDArray[np.intp]:
        """Numbers of the patterns that rows use."""
        return np.flatnonzero(self.used.any(axis=1))

    # ------------------------------------------------------------ solving

    def run(self, start: RowStart) -> None:
        """Find the rows of all patterns, and improve both rows and items."""
        self._begin(len(start.carry))
        items = np.logical_or.reduce(start.carry, axis=1).sum(axis=1)
        for s in np.argsort(-start.used * items, kind="stable").tolist():
            self._place(s, start)
        self._report(0.3)
        self.polish()
        for k in range(MOST_ROUNDS):
            self._report(0.7 + 0.3 * k / MOST_ROUNDS)
            if not self.gate():
                break
            self.polish()
        # The gate only takes away, so this ends.
        while self.gate():
            pass
        if self.length >= self.null_length():
            self._begin(0)

    def _report(self, done: float) -> None:
        if self._tell is not None:
            self._tell(len(self.kept), self.length, done)

    def _place(self, s: int, start: RowStart) -> None:
        """Give a pattern the rows that its items suggest, at the prices of the whole model."""
        view = self._look(s)
        total, used = float(start.noise.sum() + start.used.sum()), max(start.used[s], 2.0)
        evidence = self._evidence_of_cells(view, start.density[s])
        prices = float(np.log(total / used)), float(np.log(self.sizes.sum() / used))
        rows = self._choose(s, Choice(start.carry[s], start.noise, total, evidence, *prices))
        if rows.counts.sum() >= 2:
            self._put(s, self._fitted(rows, start.carry[s], view))

    def _look(self, s: int) -> View:
        """Look at the data without pattern ``s``, once between two changes."""
        if s not in self._views:
            self._views[s] = self._new_view(s)
        return self._views[s]

    def _new_view(self, s: int) -> View:
        whole, cells = (np.sum(part, axis=0) for part in zip(*self.crew.run("look", s), strict=True))
        open_ones, open_zeros, ones = whole.sum(axis=1)
        size = open_ones + open_zeros
        covered_zeros = self.sizes.sum() - ones - open_zeros
        background = np.where(size > 0, open_ones / np.maximum(size, 1), 1.0)
        # The cells themselves stay in the blocks.
        return View(Opened(np.zeros((0, 0), dtype=np.uint64), open_ones + covered_zeros, background), cells)

    def _evidence_of_cells(self, view: View, density: float) -> tuple[Floats, Floats]:
        for_one, for_zero = np.zeros(len(self.noise)), np.zeros(len(self.noise))
        kernels.evidence_of_cells(view.opened.background, density, for_one, for_zero)
        return for_one, for_zero

    def _choose(self, s: int, choice: Choice) -> Rows:
        """Choose the rows of a pattern; a class whose rows chance explains does not use it at all."""
        sums = [np.sum(part, axis=0) for part in zip(*self.crew.run("choose", s, choice), strict=True)]
        found = Chosen(*sums)
        dropped = np.zeros(len(self.sizes), dtype=bool)
        for a in np.flatnonzero(found.counts):
            choices = kernels.class_choices(self.data, choice.carry, int(a), int(found.counts[a]))
            dropped[a] = found.shown[a] - choices < -self.log_alpha
        cells = found.cells * ~dropped[None, :, None]
        return Rows(choice, dropped, found.counts * ~dropped, cells)

    def _fit(self, s: int, view: View) -> tuple[float, Fit | None]:
        """Optimise a pattern against the others, as `kernels.fit_pattern` does; returns f with it."""
        others = int(self.used.sum() - self.used[s].sum())
        new = Pattern(self.data.valid, np.zeros_like(self.carry[s]), view.opened.noise.copy())
        rows = Rows(None, np.zeros(len(self.sizes), dtype=bool), self.used[s], view.cells)
        evidence = np.zeros(len(self.noise)), np.zeros(len(self.noise))
        needed_items = -np.inf, -np.inf
        length, best = np.inf, None
        for turn in range(ROUNDS):
            log_total = float(np.log(others + rows.counts.sum() + new.noise.sum()))
            known = self.data, rows.cells, view.opened, log_total, self.alterations
            if (rows.counts > 0).all():
                kernels.choose_items(*known, True, evidence, needed_items, new)
            else:
                kernels.choose_items_of_some(*known, evidence, needed_items, new)
            used, items = int(rows.counts.sum()), int(new.carry.any(axis=0).sum())
            if items < 2 or used < 2:
                break
            if turn > 0:
                fit = self._fitted(rows, new.carry, view)
                now = self._length_with(s, used, fit.extra, fit.noise)
                if now >= length - 1e-9:
                    break
                length, best = now, fit
            evidence = self._evidence_of_cells(view, kernels.density_of(self.data, rows.cells, new.carry))
            total = float(others + used + new.noise.sum())
            needed_items = tuple(np.log(np.array([1, len(self.sizes)]) * self.data.n_items / items).tolist())
            prices = float(np.log(total / used)), float(np.log(self.sizes.sum() / used))
            rows = self._choose(s, Choice(new.carry.copy(), new.noise.copy(), total, evidence, *prices))
        return length, best

    def _fitted(self, rows: Rows, carry: Bools, view: View) -> Fit:
        """Return a pattern of these rows and items, without what classes add that have none of the rows."""
        carry = carry.copy()
        carry[rows.counts == 0] &= carry.all(axis=0)
        gained = (rows.cells[kernels.OPEN_ONES] - rows.cells[kernels.OPEN_ZEROS]) * carry
        extra = float(kernels.extra_length(self.data, rows.cells, carry))
        return Fit(rows, carry, view.opened.noise - gained.sum(axis=0), extra)

    def _put(self, s: int, fit: Fit) -> None:
        """Make this pattern number ``s``."""
        self.crew.run("replace", s, fit.rows.choice, fit.rows.dropped, fit.carry, changes=True)
        self._views.clear()
        self.used[s], self.carry[s], self.extra[s], self.noise = fit.rows.counts, fit.carry, fit.extra, fit.noise

    def _reduce(self, s: int, view: View, dropped: Bools, carry: Bools) -> None:
        """Keep these items of a pattern, and its rows but for some classes and for those without items."""
        dropped = dropped | ~carry.any(axis=1)
        carry = carry if not dropped.all() else np.zeros_like(carry)
        rows = Rows(None, dropped, self.used[s] * ~dropped, view.cells * ~dropped[None, :, None])
        self._put(s, self._fitted(rows, carry, view))

    def _remove(self, s: int, view: View) -> None:
        self._reduce(s, view, np.ones(len(self.sizes), dtype=bool), self.carry[s])

    def polish(self) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes."""
        waiting: Iterable[int] = self.kept.tolist()
        for _ in range(MOST_SWEEPS):
            self.sweeps += 1
            changed = [s for s in waiting if self._polish_one(s)]
            if not changed:
                return
            waiting = self._touched(changed)

    def _polish_one(self, s: int) -> bool:
        view, before = self._look(s), self.length
        length, fit = self._fit(s, view)
        if fit is not None and length < before - LEAST:
            self._put(s, fit)
            return True
        if self._length_with(s, 0, 0.0, view.opened.noise) < before - LEAST:
            self._remove(s, view)
            return True
        return False

    def _touched(self, changed: list[int]) -> list[int]:
        """Return the patterns that share items with those that changed."""
        items = np.logical_or.reduce(self.carry, axis=1)
        shared = (items @ items[changed].T.astype(np.int64)).any(axis=1)
        return [s for s in self.kept.tolist() if shared[s] or s in changed]

    # ------------------------------------------------------------ chance

    def gate(self) -> bool:
        """Take away what chance explains: patterns, the weakest first, then use by single classes, then alterations."""
        before = self.used.copy(), self.carry.copy()
        evidence = {s: self._pattern_evidence(s, self._look(s)) for s in self.kept.tolist()}
        while evidence and min(evidence.values()) < -self.log_alpha:
            weakest = min(evidence, key=evidence.__getitem__)
            touched = self._touched([weakest])
            self._remove(weakest, self._look(weakest))
            del evidence[weakest]
            # Cells that two patterns shared now speak for one.
            evidence |= {s: self._pattern_evidence(s, self._look(s)) for s in touched if s in evidence}
        for s in evidence:
            view = self._look(s)
            weak = self._class_evidence(s, view) < -self.log_alpha
            if weak.any():
                self._reduce(s, view, weak, self._without_alterations(s, weak))
        for s in self.kept.tolist():
            view = self._look(s)
            weak = self._alteration_evidence(s, view) < -self.log_alpha
            if weak.any():
                self._reduce(s, view, np.zeros_like(weak), self._without_alterations(s, weak))
        return not (np.array_equal(before[0], self.used) and np.array_equal(before[1], self.carry))

    def _without_alterations(self, s: int, classes: Bools) -> Bools:
        carry: Bools = self.carry[s].copy()
        carry[classes] &= carry.all(axis=0)
        return carry

    def _pattern_evidence(self, s: int, view: View) -> float:
        """Return the evidence for a pattern; see `kernels.pattern_evidence`."""
        carry, counts, c = self.carry[s], self.used[s], len(self.sizes)
        steps = kernels.DENSITIES
        step = min(max(round(steps * kernels.density_of(self.data, view.cells, carry)), 1), steps - 1)
        evidence = self._evidence_of_cells(view, step / steps)
        needed = -np.inf, float(np.log(self.data.n_items / max(int(carry.any(axis=0).sum()), 1)))
        every, strong = (kernels.evidence_of_items(self.data, view.cells, carry, *evidence, k) for k in needed)
        shown = max(every - kernels.FOR_ALL_ITEMS, strong - kernels.FOR_STRONG_ITEMS)
        choose = kernels.log_choices
        pairs = zip(self.sizes.tolist(), counts.tolist(), strict=True)
        by_class = choose(int(counts.sum()) + c - 1, c - 1) + sum(choose(size, count) for size, count in pairs)
        choices = min(by_class, choose(int(self.sizes.sum()), int(counts.sum())))
        return float(shown - choices - np.log(steps - 1.0))

    def _class_evidence(self, s: int, view: View) -> Floats:
        """Return the evidence that every class uses a pattern; infinite where it does not."""
        carry, counts = self.carry[s], self.used[s]
        shown = (self._shown(s, view) * carry).sum(axis=1)
        evidence = np.full(len(counts), np.inf)
        for a in np.flatnonzero(counts):
            evidence[a] = shown[a] - kernels.class_choices(self.data, carry, int(a), int(counts[a]))
        return evidence

    def _shown(self, s: int, view: View) -> Floats:
        """Return what the cells of every class and item show for a pattern, (c, n)."""
        density = kernels.density_of(self.data, view.cells, self.carry[s])
        for_one, for_zero = self._evidence_of_cells(view, density)
        shown: Floats = view.cells[kernels.OPEN_ONES] * for_one + view.cells[kernels.OPEN_ZEROS] * for_zero
        return shown

    def _alteration_evidence(self, s: int, view: View) -> Floats:
        """Return the evidence for what every class adds; see `Refinement.alteration_evidence`."""
        carry = self.carry[s]
        shared = carry.all(axis=0)
        evidence = np.full(len(carry), np.inf)
        if shared.sum() < 2:
            return evidence
        says = self._evidence_of_cells(view, kernels.density_of(self.data, view.cells, carry))
        for a in np.flatnonzero((carry & ~shared).any(axis=1)):
            ones, zeros = view.cells[kernels.OPEN_ONES, a], view.cells[kernels.OPEN_ZEROS, a]
            cells = Cells(ones, zeros, view.opened.background, *says, self.data.weights)
            evidence[a] = alteration_evidence(cells, carry[a] & ~shared, ~shared)
        return evidence

    # ------------------------------------------------------------ results

    def model(self) -> BinaryModel:
        """Return the items of the patterns that are kept; the rows are in the blocks."""
        carry = self.carry[self.kept]
        shared: Bools = np.logical_and.reduce(carry, axis=1)
        V = (carry & ~shared[:, None]).transpose(1, 2, 0)
        return BinaryModel(shared.T.copy(), V.copy(), np.zeros((0, len(shared)), dtype=bool))

    def judge(self) -> tuple[Judgement, float]:
        """Return what speaks for every part of the patterns that are kept, and f as the paper prints it."""
        kept, c = self.kept, len(self.sizes)
        views = [self._look(s) for s in kept.tolist()]
        pattern = np.array([self._pattern_evidence(s, view) for s, view in zip(kept, views, strict=True)])
        added = np.full((c, len(kept)), np.nan)
        gain, added_gain = np.zeros(len(kept)), np.full((c, len(kept)), np.nan)
        table = np.zeros((len(self.used), 1 + c))
        for s, view in zip(kept.tolist(), views, strict=True):
            table[s] = self._table(s, view)
        used, printed = self.used.sum(axis=1), table.sum(axis=1)
        length = self._length(used, printed, self.noise)
        for k, (s, view) in enumerate(zip(kept.tolist(), views, strict=True)):
            evidence = self._alteration_evidence(s, view)
            added[:, k] = np.where(np.isinf(evidence), np.nan, evidence)
            without, extra = used.copy(), printed.copy()
            without[s], extra[s] = 0, 0.0
            gain[k] = self._length(without, extra, view.opened.noise) - length
            altered = self.carry[s] & ~self.carry[s].all(axis=0)
            lost = view.cells[kernels.OPEN_ONES] - view.cells[kernels.OPEN_ZEROS]
            for a in np.flatnonzero(altered.any(axis=1)):
                extra[s] = printed[s] - table[s, 1 + a]
                added_gain[a, k] = self._length(used, extra, self.noise + lost[a] * altered[a]) - length
        return Judgement(pattern, added, gain, added_gain), length

    def _table(self, s: int, view: View) -> Floats:
        """Return what the shared part of a pattern takes, and each class's, code table and S as printed: (1 + c,)."""
        carry, ones = self.carry[s], view.cells[kernels.ONES]
        shared = carry.all(axis=0)
        table = [float(self.data.codes[shared].sum())]
        for a, altered in enumerate(carry & ~shared):
            met = self.used[s, a] + ones.sum(axis=0) - 2 * ones[a]
            table.append(float((self.data.codes + met)[altered].sum()))
        return np.array(table)

    def told_by(self) -> Bools:
        """Return the items that tell who carries a pattern, (n, r); see `association.find_carriers`."""
        carry = self.carry[self.kept]
        several = (self.used[self.kept] > 0).sum(axis=1) >= 2
        shared: Bools = np.logical_and.reduce(carry, axis=1)
        whole = ~several | (shared.sum(axis=1) < 2)
        items: Bools = np.where(whole[:, None], np.logical_or.reduce(carry, axis=1), shared)
        return items.T.copy()

    def figures(self, model: BinaryModel, told_by: Bools) -> RowFigures:
        """Count what the tables need, by the classes of the labels, which ``model`` has alterations for."""
        parts = self.crew.run("figures", self.kept, model, told_by)
        return RowFigures(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))

    def usage(self) -> Bools:
        """Return who uses the patterns that are kept, (m, r), rows as the blocks have them one after the other."""
        usage: Bools = np.concatenate(self.crew.run("usage", self.kept))
        return usage
