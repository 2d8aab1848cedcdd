"""From a sample to everything: the patterns that a search found on some items are solved for all of them.

Who uses a pattern is known from the sample. So every item of the whole data is chosen on its own, block by block;
then every row is weighed by all items, and so on in turn while rows change. What leaves a block are sums over items, a
few numbers per pattern and one per pattern and row, and at the end what altered items show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from saltmine.data.bits import Ints, Layout, Words, count_bits
from saltmine.distributed.executor import Crew
from saltmine.mdl.alterations import evidence_of_count, least_and_median
from saltmine.solver.item_kernels import Evidence, Plan, Sums
from saltmine.solver.judgement import Judgement

Floats = NDArray[np.float64]
Tuple = TypeVar("Tuple", bound=NamedTuple)

# Turns of items and rows; two or three are the rule.
MOST_TURNS = 6


@dataclass(frozen=True)
class Start:
    """What a search on a sample says of the whole: rows of every pattern, and what its items are like."""

    usage: Words  # (R, W)
    density: Floats  # (R,): share of ones among its open cells
    share: Floats  # (R,): share of all items that it has
    errors: float  # errors per item


class Extension:
    """A model of all items, in blocks.

    Parameters
    ----------
    crew : Crew
        Blocks of items (`block.ItemBlock`).
    layout : Layout
        Where rows stand in words, the same in all blocks.
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
    """

    def __init__(self, crew: Crew, layout: Layout, *, alterations: bool, alpha: float) -> None:
        self.crew = crew
        self.layout = layout
        self.alterations = alterations
        self.log_alpha = float(np.log(alpha))
        self.sizes = self._per_class(layout.valid[None])[0]
        counts = crew.run("count")
        self.n_items = sum(items for _, items in counts)
        self._ones = sum(ones for ones, _ in counts)
        self.plan: Plan
        self.sums: Sums
        self.turns = 0
        self._class_of_row = np.zeros(layout.n_rows, dtype=np.intp)
        self._class_of_row[layout.rows] = np.searchsorted(64 * layout.edges, layout.places, side="right") - 1
        self._weighed: tuple[Plan, Floats, Floats] | None = None
        self._found: tuple[Plan, Evidence] | None = None

    def _per_class(self, usage: Words) -> Ints:
        """Count the rows of the input of every pattern and class, (R, c)."""
        words = [self.layout.words(a) for a in range(len(self.layout.edges) - 1)]
        return np.stack([count_bits(usage[:, of], self.layout.weights[of]) for of in words], axis=1)

    # ------------------------------------------------------------ solving

    def run(self, start: Start) -> None:
        """Solve all items and rows from what a sample says."""
        self._begin(len(start.usage))
        items = np.maximum(start.share * self.n_items, 1)
        total = start.errors * self.n_items + self._per_class(start.usage).sum()
        self.plan = self._make_plan(start.usage, start.density, items, total)
        self._solve()
        while self._remove_weak():
            self._solve()
        self._settle()

    def _begin(self, rank: int) -> None:
        self._barred = np.zeros((rank, len(self.sizes)), dtype=bool)
        self.crew.forget()
        codes = self.crew.run("begin", self._ones, self.n_items, rank, changes=True)
        self.null_code = np.sum(codes, axis=0)

    def _make_plan(self, usage: Words, density: Floats, items: Floats | Ints, total: float) -> Plan:
        c = len(self.sizes)
        per_class = self._per_class(usage)
        share = np.maximum(items, 1) / self.n_items
        return Plan(
            usage=usage,
            used=per_class.sum(axis=1),
            density=density,
            needed=np.stack([-np.log(share), np.log(c) - np.log(share)], axis=1),
            of_all=np.logical_and.reduce(per_class > 0, axis=1),
            log_total=float(np.log(max(total, 1))),
            alterations=self.alterations and c > 1,
        )

    def _solve(self) -> None:
        """Choose items for the rows and rows for the items in turn, while rows change."""
        for _ in range(MOST_TURNS):
            self.turns += 1
            self._take(_added(self.crew.run("solve", self.plan, changes=True)))
            if not self.plan.used.any():
                return
            usage = self._better_rows()
            if np.array_equal(usage, self.plan.usage):
                return
            self.plan = self._make_plan(usage, self.plan.density, self.sums.items, self.total)
        self._take(_added(self.crew.run("solve", self.plan, changes=True)))

    def _take(self, sums: Sums) -> None:
        """Keep the sums, and what the next choice depends on."""
        self.sums = sums
        density = (sums.open_ones + 0.5) / (sums.open_ones + sums.open_zeros + 1.0)
        self.plan = self._make_plan(self.plan.usage, density, sums.items, self.total)

    @property
    def total(self) -> float:
        """All usage and errors."""
        return float(self.plan.used.sum() + self.sums.code[0])

    def _better_rows(self) -> Words:
        """Return the rows of all patterns after every row has changed at most one of them, that which gains most."""
        gains, shown = self._weigh()
        used = np.maximum(self.plan.used, 1)[:, None]
        present = self.layout.unpack(self.plan.usage)
        gains = self._of_rows(gains) - np.log(self.total / used)
        enough = self._of_rows(shown) >= np.log(self.sizes.sum() / used)
        flips = np.where(present, -gains, np.where(enough, gains, -np.inf))
        flips[self._barred[:, self._class_of_row] & ~present] = -np.inf
        # A row that shows too little goes, even if it pays.
        flips = np.where(present & ~enough, np.maximum(flips, 1e-6), flips)
        flips[self.plan.used == 0] = -np.inf
        best, row = flips.argmax(axis=0), np.arange(flips.shape[1])
        changing = flips[best, row] > 0
        present[best[changing], row[changing]] ^= True
        trivial = (self._per_class(self.layout.pack(present)).sum(axis=1) < 2) | (self.sums.items < 2)
        present[trivial] = False
        return self.layout.pack(present)

    def _weigh(self) -> tuple[Floats, Floats]:
        """Return what every bit of all patterns saves and shows, (R, 64 W) each; of the present plan once."""
        if self._weighed is None or self._weighed[0] is not self.plan:
            gains, shown = (sum(part) for part in zip(*self.crew.run("weigh", self.plan, self.total), strict=True))
            self._weighed = self.plan, gains, shown
        return self._weighed[1:]

    def _judged(self) -> Evidence:
        """Return the evidence and the code of all patterns; of the present plan once."""
        if self._found is None or self._found[0] is not self.plan:
            self._found = self.plan, _added(self.crew.run("judge", self.plan))
        return self._found[1]

    def _of_rows(self, figures: Floats) -> Floats:
        """Return figures per bit as figures per row, (R, m)."""
        rows = np.zeros((len(figures), self.layout.n_rows))
        rows[:, self.layout.rows] = figures[:, self.layout.places]
        return rows

    # ------------------------------------------------------------ chance

    def _remove_weak(self) -> bool:
        """Take away patterns that chance explains or, if there are none, the use of patterns by single classes."""
        usage = self.plan.usage.copy()
        found = self._judged()
        weak = (self.plan.used > 0) & (self._pattern_evidence(found) < -self.log_alpha)
        usage[weak] = 0
        if not weak.any():
            weak_use = self._class_evidence() < -self.log_alpha
            # For good: its rows pay, and would come back.
            self._barred |= weak_use
            for s, a in np.argwhere(weak_use):
                usage[s, self.layout.words(a)] = 0
        if not np.array_equal(usage, self.plan.usage):
            self.plan = self._make_plan(usage, self.plan.density, self.sums.items, self.total)
            return True
        return False

    def _settle(self) -> None:
        """Take away until nothing is left that chance explains; nothing is added any more, so this ends."""
        self._clear_weak_alterations()
        while self._remove_weak():
            self._take(_added(self.crew.run("sum", self.plan)))
            self._clear_weak_alterations()

    def _clear_weak_alterations(self) -> None:
        """Take away what a class adds if chance explains it; what stays is then looked at anew."""
        while True:
            self.alteration_evidence = self._alteration_evidence()
            weak = np.argwhere(self.alteration_evidence < -self.log_alpha)
            if not len(weak):
                return
            for a, s in weak:
                self.crew.run("clear", int(s), int(a), changes=True)
            self._take(_added(self.crew.run("sum", self.plan)))

    def _pattern_evidence(self, found: Evidence) -> Floats:
        """Return the evidence for every pattern; see `kernels.pattern_evidence`."""
        from saltmine.solver.kernels import DENSITIES, FOR_ALL_ITEMS, FOR_STRONG_ITEMS

        items = found.shown - _log_choices(self.n_items, found.shared)
        items -= _log_choices(self.n_items, found.added).sum(axis=2)
        per_class, c = self._per_class(self.plan.usage), len(self.sizes)
        by_class = _log_choices(self.sizes, per_class).sum(axis=1) + _log_choices(self.plan.used + c - 1, c - 1)
        choices = np.minimum(by_class, _log_choices(self.sizes.sum(), self.plan.used))
        best = np.maximum(items[0] - FOR_ALL_ITEMS, items[1] - FOR_STRONG_ITEMS)
        evidence: Floats = best - choices - np.log(DENSITIES - 1.0)
        return evidence

    def _class_evidence(self) -> Floats:
        """Return the evidence that every class uses a pattern, (R, c); infinite where it does not."""
        shown = self._of_rows(self._weigh()[1]) * self.layout.unpack(self.plan.usage)
        weighted = shown[:, self.layout.rows] * np.repeat(self.layout.weights, 64)[self.layout.places]
        of_class = self._class_of_row[self.layout.rows]
        evidence = np.stack([weighted[:, of_class == a].sum(axis=1) for a in range(len(self.sizes))], axis=1)
        per_class, sums = self._per_class(self.plan.usage), self.sums
        others, alone = sums.items[:, None] - sums.alone, sums.alone
        choices = _log_choices(self.sizes, per_class) + _log_choices(self.n_items, alone)
        choices = choices + _log_choices(others, sums.carried - alone)
        return np.where(per_class > 0, evidence - choices, np.inf)

    def _alteration_evidence(self) -> Floats:
        """Return the evidence for what every class adds to a shared pattern, (c, R); infinite where it adds nothing."""
        sums, plan = self.sums, self.plan
        wanted = (sums.carried > sums.shared[:, None]) & ((sums.shared >= 2) & (plan.used > 0))[:, None]
        evidence = np.full(wanted.shape, np.inf)
        if not wanted.any():
            return evidence.T
        entries, shown = (np.concatenate(part) for part in zip(*self.crew.run("altered", plan, wanted), strict=True))
        levels, found = np.full((*wanted.shape, 2), np.inf), np.zeros((*wanted.shape, 2))
        for s, a in np.argwhere(wanted):
            here = (entries[:, 0] == s) & (entries[:, 1] == a)
            distinct = np.unique(least_and_median(shown[here], entries[here, 2]))
            levels[s, a, : len(distinct)] = distinct
            found[s, a] = [entries[here, 2] @ (shown[here] >= level) for level in levels[s, a]]
        expected = np.sum(self.crew.run("expected", plan, levels), axis=0)
        for s, a in np.argwhere(wanted):
            looked_at = np.flatnonzero(np.isfinite(levels[s, a]))
            figures = [(int(found[s, a, k]), float(expected[s, a, k])) for k in looked_at]
            evidence[s, a] = max(evidence_of_count(*figure, len(looked_at)) for figure in figures)
        return evidence.T

    # ------------------------------------------------------------ results

    def score(self) -> float:
        """Return f with the specificity term of the search."""
        on = self.plan.used > 0
        return self._length(self.plan.used, self.sums.code) + float(self.sums.extra[on].sum())

    def length(self, found: Evidence) -> float:
        """Return f as the paper prints it."""
        on = self.plan.used > 0
        return self._length(self.plan.used, self.sums.code) + float(found.table[on].sum())

    def null_length(self) -> float:
        """Return f of the model without patterns."""
        return self._length(np.zeros(0, dtype=np.int64), self.null_code)

    def _length(self, used: Ints, code: Floats) -> float:
        used = used[used > 0]
        total = max(used.sum() + code[0], 1.0)
        lengths = -(used + 1) * np.log(used)
        return float(lengths.sum() + code[2] + ((used + 1).sum() + code[1]) * np.log(total))

    @property
    def kept(self) -> NDArray[np.intp]:
        """Numbers of the patterns that rows use."""
        return np.flatnonzero(self.plan.used)

    def find_carriers(self) -> NDArray[np.bool_]:
        """Say which rows have more than half of a pattern's items; see `association.find_carriers`."""
        several = (self._per_class(self.plan.usage) > 0).sum(axis=1) >= 2
        whole = ~several | (self.sums.shared < 2)
        counts = np.sum(self.crew.run("carried", self.plan, whole), axis=0)
        carriers: NDArray[np.bool_] = 2 * counts > np.where(whole, self.sums.items, self.sums.shared)
        return carriers

    def judge(self) -> tuple[Judgement, float]:
        """Return what speaks for every part of the model, and f as the paper prints it."""
        found = self._judged()
        used, code, c = self.plan.used, self.sums.code, len(self.sizes)
        now = self._length(used, code)
        gain, altered = np.zeros(len(used)), np.full((c, len(used)), np.nan)
        added = self.sums.carried - self.sums.shared[:, None]
        for s in np.flatnonzero(used):
            without = used.copy()
            without[s] = 0
            gain[s] = self._length(without, code + found.code[s]) - now - found.table[s].sum()
            for a in np.flatnonzero(added[s]):
                altered[a, s] = self._length(used, code + found.altered_code[s, a]) - now - found.table[s, 1 + a]
        alterations = np.where(np.isinf(self.alteration_evidence), np.nan, self.alteration_evidence)
        return Judgement(self._pattern_evidence(found), alterations, gain, altered), self.length(found)


def _added(parts: Sequence[Tuple]) -> Tuple:
    """Add up the sums of all blocks, field by field."""
    return type(parts[0])(*(sum(field) for field in zip(*parts, strict=True)))


def _log_choices(size: Ints | int, chosen: Ints | int) -> Floats:
    """Return the logarithm of the number of subsets."""
    choices: Floats = gammaln(size + 1.0) - gammaln(chosen + 1.0) - gammaln(np.subtract(size, chosen) + 1.0)
    return choices
