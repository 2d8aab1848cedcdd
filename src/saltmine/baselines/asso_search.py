"""Asso (Miettinen et al. 2008), and the greedy cover by candidates that Dbssl shares with it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from saltmine.baselines.candidates import Pulse, associations, demand_room, fold, item_layout, run_panels
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, Ints, Words
from saltmine.data.threads import ThreadTeam, cut
from saltmine.mdl.code_length import item_codes
from saltmine.progress import OnStep
from saltmine.solver.scoring import code_length, null_length
from saltmine.solver.solution import Solution

#: The next candidate and the rows that may use it, all or those of a class; None where there is none.
Choice = tuple[int, slice | None] | None

# Thresholds to try, and how far beside the best of them the search looks then.
TAUS, FINE_STEPS = tuple(k / 10 for k in range(1, 11)), (0.05, 0.025)
# Patterns in a row that may make the description longer before a cover of open rank ends.
PATIENCE = 10
# Gains of less than this share of a one are what rounding leaves of none.
LEAST_GAIN = 1e-6


class Pattern(NamedTuple):
    """A candidate that was taken, and what the cover is worth with it and all before."""

    items: Words  # (W,)
    rows: Ints  # those that use it
    loss: NDArray[np.float64]  # (c,): weighted errors of every class
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
    w_plus, w_minus : float
    on_step : function
        Called often with the patterns so far, f, and the share of the work that is done by a rough guess; may raise to
        end the search.
    """

    def __init__(
        self,
        bits: BitMatrix,
        candidates: Words,
        team: ThreadTeam,
        w_plus: float = 1.0,
        w_minus: float = 1.0,
        on_step: OnStep = lambda rank, length, done: None,
    ) -> None:
        self.bits, self.candidates = bits, candidates
        self.patterns: list[Pattern] = []
        self._team, self._weights, self._on_step = team, (float(w_plus), float(w_minus)), on_step
        self._without = null_length(bits)
        self._layout = item_layout(bits.shape[1])
        self._class_of = np.repeat(np.arange(len(bits.blocks)), bits.class_sizes)
        self._codes, self._table = item_codes(bits.item_counts), 0.0
        self._open_ones = self._layout.pack(bits.rows())
        self._open_zeros = self._layout.row_mask & ~self._open_ones
        self._noise = bits.item_counts.copy()
        self.gains = np.zeros((len(candidates), len(bits.blocks)))
        self._add_gains(np.zeros_like(self._layout.row_mask), np.arange(bits.shape[0]))

    def copy(self, on_step: OnStep) -> Self:
        """Return a cover that goes on from here on its own."""
        other = copy.copy(self)
        other._on_step = on_step
        other.patterns = list(self.patterns)
        for name in ("_open_ones", "_open_zeros", "_noise", "gains"):
            setattr(other, name, getattr(self, name).copy())
        return other

    @property
    def loss(self) -> NDArray[np.float64]:
        """Weighted errors of every class, (c,): ones left open and zeros covered."""
        return self.patterns[-1].loss if self.patterns else self._weights[0] * self.bits.class_counts.sum(axis=1)

    @property
    def length(self) -> float:
        """The description length f."""
        return self.patterns[-1].length if self.patterns else self._without

    def run(self, choose: Callable[[Self], Choice], until_shortest: bool) -> None:
        """Take what ``choose`` says while it says something; ``until_shortest`` keeps those up to the lowest f."""
        lengths = [self.length]
        while (choice := choose(self)) is not None:
            self.take(*choice)
            lengths.append(self.length)
            if until_shortest and len(lengths) - int(np.argmin(lengths)) > PATIENCE:
                break
        if until_shortest:
            # The cover ends here: its gains know of what is left out now.
            del self.patterns[int(np.argmin(lengths)) :]

    def take(self, candidate: int, block: slice | None = None) -> None:
        """Make a pattern of a candidate, for those of all rows, or of the rows of a block, that gain by it."""
        # Compiled code is loaded when it is needed.
        from saltmine.baselines.asso_kernels import gains_of_rows

        items, loss = self.candidates[candidate], self.loss
        rows = np.arange(self.bits.shape[0])[block or slice(None)]
        gains = np.empty(len(rows))
        gains_of_rows(items, rows, self._open_ones, self._open_zeros, *self._weights, gains)
        users = rows[gains > 0]
        self._add_gains(items, users)
        ones, zeros = (self._layout.unpack(cells[users] & items) for cells in (self._open_ones, self._open_zeros))
        self._noise += zeros.sum(axis=0) - ones.sum(axis=0)
        self._open_ones[users] &= ~items
        self._open_zeros[users] &= ~items
        self._table += float(self._codes[self._layout.unpack(items[None])[0]].sum())
        used = np.array([len(pattern.rows) for pattern in self.patterns] + [len(users)])
        length = code_length(self.bits, used, self._noise) + self._table
        gained = np.bincount(self._class_of[users], gains[gains > 0], minlength=len(self.bits.blocks))
        self.patterns.append(Pattern(items, users, loss - gained, length))

    def _add_gains(self, items: Words, rows: Ints) -> None:
        """Bring the gains up to date before these rows use a pattern of these items; none stand for the beginning."""
        # Compiled code is loaded when it is needed.
        from saltmine.baselines.asso_kernels import add_gains

        cells = items, rows, self._class_of, self._open_ones, self._open_zeros, *self._weights, self.gains
        parts = cut(len(self.candidates), len(rows) * self.candidates.shape[1])
        panels = [(self.candidates, part.start, part.stop, *cells) for part in parts]
        run_panels(self._team, add_gains, panels, self._tell)

    def _tell(self, _: float) -> None:
        rank = len(self.patterns)
        self._on_step(rank, self.length, rank / (rank + PATIENCE))

    def solution(self, class_weights: NDArray[np.float64]) -> Solution:
        """Return the patterns as a model, with the errors, the classes weighted, after every one."""
        (m, n), rank = self.bits.shape, len(self.patterns)
        X, Y = np.zeros((n, rank), dtype=bool), np.zeros((m, rank), dtype=bool)
        for s, pattern in enumerate(self.patterns):
            X[:, s] = self._layout.unpack(pattern.items[None])[0]
            Y[pattern.rows, s] = True
        model = BinaryModel(X, np.zeros((len(self.bits.blocks), n, rank), dtype=bool), Y)
        history = [float(class_weights @ pattern.loss) for pattern in self.patterns]
        return Solution(model, self.length, self.length, n_iter=max(rank, 1), history=history)


def asso(
    bits: BitMatrix, rank: int | None, tau: float | None, w_plus: float, w_minus: float, on_step: OnStep
) -> Solution:
    """Cover the data by ``rank`` candidates from associations; what is None is chosen by description length."""
    demand_room(bits.shape, "Asso")

    def choose(cover: GreedyCover) -> Choice:
        if len(cover.patterns) == rank:
            return None
        best = int(np.argmax(cover.gains[:, 0]))
        return (best, None) if cover.gains[best, 0] > LEAST_GAIN * w_plus else None

    def cover_by(candidates: Words, on_step: OnStep) -> GreedyCover:
        cover = GreedyCover(bits, candidates, team, w_plus, w_minus, on_step)
        cover.run(choose, until_shortest=rank is None)
        return cover

    def candidates_at(tau: float, on_step: OnStep) -> Words:
        return fold(associations(bits, tau, team, pulse_of(bits, on_step)))

    with ThreadTeam() as team:
        _, cover = best_over_taus(tau, candidates_at, cover_by, on_step)
    return cover.solution(np.ones(1))


def best_over_taus(
    tau: float | None,
    candidates_at: Callable[[float, OnStep], Words],
    cover_by: Callable[[Words, OnStep], GreedyCover],
    on_step: OnStep,
) -> tuple[float, GreedyCover]:
    """Return the tau with the shortest description and the cover by its candidates; a tau that is given is taken."""
    if tau is not None:
        return tau, cover_by(candidates_at(tau, part_of(on_step, 0.0, 0.1)), part_of(on_step, 0.1, 1.0))
    best, shortest = 0.0, None
    seen = set[int]()
    looks, done = len(TAUS) + 2 * len(FINE_STEPS), 0
    for step in (0.0, *FINE_STEPS):
        for at in (best - step, best + step) if step else TAUS:
            begin, middle, end = ((done + more) / looks for more in (0.0, 0.1, 1.0))
            done += 1
            if not 0 < at <= 1:
                continue
            candidates = candidates_at(at, part_of(on_step, begin, middle))
            # Many thresholds may give the same candidates, as all do that are too high for any pair of items.
            if hash(candidates.tobytes()) in seen:
                continue
            seen.add(hash(candidates.tobytes()))
            cover = cover_by(candidates, part_of(on_step, middle, end))
            if shortest is None or cover.length < shortest.length:
                best, shortest = at, cover
    assert shortest is not None  # the first threshold has candidates
    return best, shortest


def part_of(on_step: OnStep, begin: float, end: float) -> OnStep:
    """Return what a part of a search calls that is from ``begin`` to ``end`` of the whole."""
    return lambda rank, value, done: on_step(rank, value, begin + done * (end - begin))


def pulse_of(bits: BitMatrix, on_step: OnStep) -> Pulse:
    """Return what the search for candidates calls now and then, which has no patterns yet."""
    without = null_length(bits)
    return lambda done: on_step(0, without, done)
