"""The search of Asso (Miettinen et al. 2008), and the greedy cover that it shares with Dbssl.

Candidates from associations between items become patterns one after the other. Candidates and rows are bit sets over
the items, (K, W) and (m, W). A cell is *open* while no pattern covers it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from saltmine import _core
from saltmine.arrays import Floats, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, Layout, count_bits
from saltmine.data.threads import ThreadTeam, cut
from saltmine.mdl.code_length import item_codes
from saltmine.progress import OnStep
from saltmine.solver.scoring import code_length, null_length
from saltmine.solver.solution import Solution, rescale

#: The next candidate and the rows that may use it, all or those of a class; None where there is none.
Choice = tuple[int, slice | None] | None
#: Called often with the share of the work that is done; may raise to end the search.
OnProgress = Callable[[float], None]
#: Gain of a covered one, and cost of a covered zero.
GainAndCost = tuple[float, float]

# Panels between two calls of a progress callback: about a tenth of a second of work.
PANELS_PER_REPORT = 64
# A cover without a given rank ends when this many patterns in a row have not shortened the description.
PATIENCE = 10
# Thresholds to try first, then steps to both sides of the best one.
TAUS, FINE_STEPS = tuple(k / 10 for k in range(1, 11)), (0.05, 0.025)
# Smaller gains, as a share of the gain of a one, are rounding errors.
MIN_GAIN = 1e-6
# The associations of this many items take 300 MB; packing this many cells takes 200 MB.
MAX_ITEMS, MAX_CELLS = 50_000, 200_000_000


class OpenCells(NamedTuple):
    """The cells that no pattern covers yet, and what covering them is worth."""

    ones: Words  # (m, W)
    zeros: Words  # (m, W)
    class_of: Ints  # (m,): class of a row
    w_plus: float  # gain of a covered one
    w_minus: float  # cost of a covered zero


def item_layout(n_items: int) -> Layout:
    """Return the layout of bit sets over the items."""
    return Layout([slice(0, n_items)], np.ones(n_items, dtype=np.int64))


def run_panels(
    team: ThreadTeam, task: Callable[..., None], panels: Sequence[tuple[Any, ...]], on_progress: OnProgress
) -> None:
    """Run panels of work on all threads and report progress in between."""
    for first in range(0, len(panels), PANELS_PER_REPORT):
        on_progress(first / len(panels))
        team.run(task, panels[first : first + PANELS_PER_REPORT])


def without_rank(bits: BitMatrix, on_step: OnStep) -> OnProgress:
    """Return a progress callback for the search of candidates, when there are no patterns yet."""
    length = null_length(bits)
    return lambda done: on_step(0, length, done)


class Pattern(NamedTuple):
    """A candidate that became a pattern, and the state of the cover after it."""

    items: Words  # (W,)
    rows: Ints  # those that use it
    loss: Floats  # (c,): weighted errors of every class
    length: float  # f


class GreedyCover:
    """Data that is covered by candidates, one after the other; a row uses one where it gains by it.

    A row gains ``w_plus`` by every open one that is covered and loses ``w_minus`` by every open zero. What the rows of
    a class gain together by a candidate is in ``gains``, (K, c); only rows that use a new pattern are counted again.

    Parameters
    ----------
    bits : BitMatrix
    candidates : (K, W) words
        Bit sets over the items.
    team : ThreadTeam
    on_step : function
        Called often with the number of patterns, f, and a rough estimate of the share of the work that is done; may
        raise to end the search.
    weights : (w_plus, w_minus)
    """

    def __init__(
        self, bits: BitMatrix, candidates: Words, team: ThreadTeam, on_step: OnStep, weights: GainAndCost = (1.0, 1.0)
    ) -> None:
        self.bits, self.candidates = bits, candidates
        self.patterns: list[Pattern] = []
        self._team, self._on_step = team, on_step
        self._null_length = null_length(bits)
        self._layout = item_layout(bits.shape[1])
        ones = self._layout.pack(bits.rows())
        class_of = np.repeat(np.arange(len(bits.blocks)), bits.class_sizes)
        self._cells = OpenCells(ones, self._layout.row_mask & ~ones, class_of, *map(float, weights))
        self._codes, self._table_length = item_codes(bits.item_counts), 0.0
        self._noise = bits.item_counts.copy()
        self.gains = np.zeros((len(candidates), len(bits.blocks)))
        self._add_gains(np.zeros_like(self._layout.row_mask), np.arange(bits.shape[0]))

    def copy(self, on_step: OnStep) -> Self:
        """Return an independent copy that reports to ``on_step``."""
        other = copy.copy(self)
        other._on_step = on_step
        other.patterns, other.gains, other._noise = list(self.patterns), self.gains.copy(), self._noise.copy()
        other._cells = self._cells._replace(ones=self._cells.ones.copy(), zeros=self._cells.zeros.copy())
        return other

    @property
    def loss(self) -> Floats:
        """Weighted errors of every class, (c,): open ones and covered zeros."""
        return self.patterns[-1].loss if self.patterns else self._cells.w_plus * self.bits.class_counts.sum(axis=1)

    @property
    def length(self) -> float:
        """The description length f."""
        return self.patterns[-1].length if self.patterns else self._null_length

    def run(self, choose: Callable[[Self], Choice], until_shortest: bool) -> None:
        """Add patterns until ``choose`` returns None; ``until_shortest`` keeps those up to the lowest f."""
        lengths = [self.length]
        while (choice := choose(self)) is not None:
            self.add(*choice)
            lengths.append(self.length)
            if until_shortest and len(lengths) - int(np.argmin(lengths)) > PATIENCE:
                break
        if until_shortest:
            # No pattern can be added afterwards: the gains still count those that are deleted here.
            del self.patterns[int(np.argmin(lengths)) :]

    def add(self, candidate: int, block: slice | None = None) -> None:
        """Make a candidate a pattern of the rows that gain by it, among all rows or those of a block."""
        items, loss, cells = self.candidates[candidate], self.loss, self._cells
        rows = np.arange(self.bits.shape[0])[block or slice(None)]
        gains = np.empty(len(rows))
        _core.gains_of_rows(items, rows, cells, gains)
        users = rows[gains > 0]
        self._add_gains(items, users)
        ones, zeros = (self._layout.unpack(part[users] & items) for part in (cells.ones, cells.zeros))
        self._noise += zeros.sum(axis=0) - ones.sum(axis=0)
        cells.ones[users] &= ~items
        cells.zeros[users] &= ~items
        self._table_length += float(self._codes[self._layout.unpack(items[None])[0]].sum())
        used = np.array([len(pattern.rows) for pattern in self.patterns] + [len(users)])
        length = code_length(self.bits, used, self._noise) + self._table_length
        gained = np.bincount(cells.class_of[users], gains[gains > 0], minlength=len(self.bits.blocks))
        self.patterns.append(Pattern(items, users, loss - gained, length))

    def _add_gains(self, items: Words, rows: Ints) -> None:
        """Update the gains before these rows use a pattern of these items; an empty pattern computes them first."""
        parts = cut(len(self.candidates), len(rows) * self.candidates.shape[1])
        panels = [(self.candidates, p.start, p.stop, items, rows, self._cells, self.gains) for p in parts]
        rank = len(self.patterns)
        done = rank / (rank + PATIENCE)
        run_panels(self._team, _core.add_gains, panels, lambda _: self._on_step(rank, self.length, done))

    def solution(self, class_weights: Floats) -> Solution:
        """Return the patterns as a model, with the errors, weighted by class, after every pattern."""
        (m, n), rank = self.bits.shape, len(self.patterns)
        X, Y = np.zeros((n, rank), dtype=bool), np.zeros((m, rank), dtype=bool)
        for s, pattern in enumerate(self.patterns):
            X[:, s] = self._layout.unpack(pattern.items[None])[0]
            Y[pattern.rows, s] = True
        model = BinaryModel(X, np.zeros((len(self.bits.blocks), n, rank), dtype=bool), Y)
        history = [float(class_weights @ pattern.loss) for pattern in self.patterns]
        return Solution(model, self.length, self.length, n_iter=max(rank, 1), history=history)


def asso(bits: BitMatrix, rank: int | None, tau: float | None, weights: GainAndCost, on_step: OnStep) -> Solution:
    """Cover the data by ``rank`` candidates from associations; rank and tau that are None are chosen by f."""
    check_size(bits.shape, "Asso")

    def choose(cover: GreedyCover) -> Choice:
        if len(cover.patterns) == rank:
            return None
        best = int(np.argmax(cover.gains[:, 0]))
        return (best, None) if cover.gains[best, 0] > MIN_GAIN * weights[0] else None

    def cover_by(candidates: Words, on_step: OnStep) -> GreedyCover:
        cover = GreedyCover(bits, candidates, team, on_step, weights)
        cover.run(choose, until_shortest=rank is None)
        return cover

    def candidates_at(tau: float, on_step: OnStep) -> Words:
        return distinct_sets(associations(bits, tau, team, without_rank(bits, on_step)))

    with ThreadTeam() as team:
        _, cover = best_over_taus(tau, candidates_at, cover_by, on_step)
    return cover.solution(np.ones(1))


def check_size(shape: tuple[int, int], method: str, n_tables: int = 1) -> None:
    """Refuse data that is too large for ``n_tables`` bit matrices over all pairs of items, or for a dense copy."""
    m, n = shape
    max_items = int(MAX_ITEMS / n_tables**0.5)
    if n > max_items:
        raise ValueError(
            f"{method} compares all pairs of items, which is too much for {n:,} of them; keep the {max_items:,} most "
            "frequent ones, or use CSalt or Primp."
        )
    if m * n > MAX_CELLS:
        raise ValueError(
            f"{method} takes at most {MAX_CELLS:,} cells, and {m:,} rows of {n:,} items are more; fit a sample of the "
            "rows, or use CSalt or Primp."
        )


def associations(
    bits: BitMatrix, tau: float, team: ThreadTeam, on_progress: OnProgress, words: slice | None = None
) -> Words:
    """Return for every item the set of items that at least ``tau`` of its rows have, (n, W).

    ``words`` restricts the rows to these words of the columns, those of one class.
    """
    n = bits.shape[1]
    words = words or slice(0, bits.columns.shape[1])
    candidates = np.zeros((n, -(-n // 64)), dtype=np.uint64)
    parts = cut(n, n * (words.stop - words.start))
    panels = [(bits.columns, words.start, words.stop, float(tau), p.start, p.stop, candidates) for p in parts]
    run_panels(team, _core.associate, panels, on_progress)
    return candidates


def distinct_sets(candidates: Words) -> Words:
    """Drop duplicates, and single items unless there is nothing larger; the order is kept.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_sets(np.array([[0b01], [0b11], [0b110], [0b11]], dtype=np.uint64)).tolist()
    [[3], [6]]
    """
    _, first = np.unique(candidates, axis=0, return_index=True)
    distinct = candidates[np.sort(first)]
    sizes = count_bits(distinct)
    return np.asarray(distinct[sizes >= min(2, sizes.max(initial=1))])


def best_over_taus(
    tau: float | None,
    candidates_at: Callable[[float, OnStep], Words],
    cover_by: Callable[[Words, OnStep], GreedyCover],
    on_step: OnStep,
) -> tuple[float, GreedyCover]:
    """Return the tau with the shortest description and its cover; a tau that is given is used."""
    if tau is not None:
        return tau, cover_by(candidates_at(tau, rescale(on_step, 0.0, 0.1)), rescale(on_step, 0.1, 1.0))
    best, shortest = 0.0, None
    tried = set[int]()
    n_trials, trial = len(TAUS) + 2 * len(FINE_STEPS), 0
    for step in (0.0, *FINE_STEPS):
        for at in (best - step, best + step) if step else TAUS:
            begin, middle, end = ((trial + share) / n_trials for share in (0.0, 0.1, 1.0))
            trial += 1
            if not 0 < at <= 1:
                continue
            candidates = candidates_at(at, rescale(on_step, begin, middle))
            # Many thresholds give the same candidates, such as all that are too high for any pair of items.
            if hash(candidates.tobytes()) in tried:
                continue
            tried.add(hash(candidates.tobytes()))
            cover = cover_by(candidates, rescale(on_step, middle, end))
            if shortest is None or cover.length < shortest.length:
                best, shortest = at, cover
    assert shortest is not None  # the first threshold has candidates
    return best, shortest
