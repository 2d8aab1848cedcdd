"""DiffNorm: pattern sets for subsets of the classes, found by the total length of patterns and covers.

After Budhathoki and Vreeken, "The Difference and the Norm", ECML PKDD 2015. All lengths are in nats.
"""

from __future__ import annotations

import time
from collections import defaultdict
from math import log1p

import numpy as np
from numpy.typing import NDArray

from saltmine.baselines.diffnorm_coding import CodingSets
from saltmine.baselines.diffnorm_kernels import best_partner
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.progress import OnStep
from saltmine.solver.scoring import description_length
from saltmine.solver.solution import Solution

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Seconds between two reports while no candidate is kept.
REPORT_EVERY = 0.1


def diffnorm(
    bits: BitMatrix,
    subsets: Bools,
    max_time: float | None = None,
    on_step: OnStep = lambda rank, length, done: None,
) -> Solution:
    """Find patterns for every subset of the classes, (J, c), for at most ``max_time`` seconds.

    ``history`` is the total length without patterns and after every pattern that was kept.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], 20, axis=0).astype(bool)
    >>> bits = BitMatrix(rows, [slice(0, 20), slice(20, 40)])
    >>> diffnorm(bits, np.eye(2, dtype=bool)).model.X.T.astype(int)
    array([[1, 1, 1, 0, 0],
           [0, 0, 0, 1, 1]])
    """
    coding = CodingSets(bits, subsets)
    history = mine(coding, Clock(coding, max_time, on_step))
    model = found_model(bits, coding)
    length = description_length(bits, model)
    return Solution(model, length, length, len(history) - 1, history)


def mine(coding: CodingSets, clock: Clock) -> list[float]:
    """Add patterns while the total length falls; return that length at first and after every addition."""
    history = [coding.length]
    candidates = Candidates(coding, clock)
    while not clock.over():
        pair = candidates.best()
        if pair is None:
            break
        addition = coding.try_adding(coding.union(*pair))
        if addition is None:
            candidates.refuse(*pair)
            continue
        uses = coding.cover.counts.sum(axis=0)
        changed = coding.add(addition)
        changed |= prune(coding, uses, clock)
        history.append(coding.length)
        candidates.update(changed)
        clock.report(candidates.share_done())
    return history


def prune(coding: CodingSets, uses: Ints, clock: Clock) -> set[int]:
    """Drop patterns whose use fell where the total falls, the least used first; return the slots that changed.

    ``uses`` has the rows that used every slot when it was last judged.
    """
    changed = set[int]()
    while not clock.over():
        now = coding.cover.counts.sum(axis=0)
        fallen = [slot for slot in np.flatnonzero(now < uses).tolist() if slot in coding.patterns]
        if not fallen:
            break
        slot = min(fallen, key=lambda slot: (now[slot], slot))
        uses[slot] = now[slot]
        change = coding.try_dropping(slot)
        if change is not None:
            changed |= coding.drop(slot, change)
    return changed


def found_model(bits: BitMatrix, coding: CodingSets) -> BinaryModel:
    """Return the patterns with the rows whose covers use them."""
    slots = coding.order.tolist()
    X = np.zeros((bits.shape[1], len(slots)), dtype=bool)
    for s, slot in enumerate(slots):
        X[list(coding.patterns[slot]), s] = True
    Y = bits.layout.unpack(coding.cover.usage[:, slots].T).T
    V = np.zeros((len(bits.blocks), *X.shape), dtype=bool)
    return BinaryModel(X, V, Y).keep(np.logical_or.reduce(Y, axis=0))


class Clock:
    """Says when the time is over, and tells meanwhile how far the search is."""

    def __init__(self, coding: CodingSets, max_time: float | None, on_step: OnStep) -> None:
        self._coding, self._max_time, self._on_step = coding, max_time, on_step
        self._began = time.monotonic()
        self._done = 0.0
        self.report(0.0)

    def over(self) -> bool:
        """Say whether the time is over; every now and then, report."""
        now = time.monotonic()
        if now - self._told > REPORT_EVERY:
            self.report(self._done)
        return self._max_time is not None and now - self._began >= self._max_time

    def report(self, done: float) -> None:
        """Report; ``done`` is a guess that may fall, what is reported does not."""
        self._told = time.monotonic()
        if self._max_time is not None:
            done = max(done, (self._told - self._began) / self._max_time)
        self._done = min(max(self._done, done), 1.0)
        self._on_step(len(self._coding.patterns), self._coding.length, self._done)


class Candidates:
    """Unions of two patterns in use, single items included, ranked by what they are estimated to gain.

    Every pattern knows its best partner. A look at a pattern compares it with all others, so a pair both of whose
    patterns are as they were at the last looks needs no new one. A union that was refused is a candidate again when its
    estimate has grown.
    """

    def __init__(self, coding: CodingSets, clock: Clock) -> None:
        self._coding, self._prices = coding, coding.prices()
        slots = coding.cover.usage.shape[1]
        self._gain, self._partner = np.zeros(slots), np.arange(slots)
        self._stale = np.zeros(slots, dtype=bool)
        self._refused: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for item in range(coding.n_items):
            if clock.over():
                break
            self._look(item)
        self._first = float(self._gain.max())

    def best(self) -> tuple[int, int] | None:
        """Return the pair with the highest estimate; None where no union promises a gain."""
        while True:
            slot = int(self._gain.argmax())
            if self._gain[slot] <= 0:
                return None
            if not self._stale[slot]:
                return slot, int(self._partner[slot])
            self._look(slot)

    def refuse(self, slot: int, partner: int) -> None:
        """Leave a pair out from now on, unless its estimate grows."""
        self._refused[slot][partner] = self._refused[partner][slot] = float(self._gain[slot])
        self._stale[[slot, partner]] = True

    def update(self, changed: set[int]) -> None:
        """Look at patterns with another usage anew; what had one of them as partner is looked at when it is needed."""
        self._prices = self._coding.prices()
        more = self._coding.cover.usage.shape[1] - len(self._gain)
        if more:
            self._gain = np.pad(self._gain, (0, more))
            self._partner = np.pad(self._partner, (0, more))
            self._stale = np.pad(self._stale, (0, more))
        for slot in changed:
            if slot not in self._coding.patterns and slot >= self._coding.n_items:
                for partner in self._refused.pop(slot, {}):
                    self._refused[partner].pop(slot, None)
        touched = np.zeros(len(self._gain), dtype=bool)
        touched[list(changed)] = True
        self._stale |= touched[self._partner]
        for slot in np.flatnonzero(touched).tolist():
            self._look(slot)

    def share_done(self) -> float:
        """Guess how much of the search is over: gains shrink by and by."""
        return 1 - log1p(max(float(self._gain.max()), 0.0)) / log1p(self._first)

    def _look(self, slot: int) -> None:
        cover = self._coding.cover
        floors = np.zeros(cover.usage.shape[1])
        refused = self._refused.get(slot)
        if refused:
            floors[list(refused)] = list(refused.values())
        shared = np.empty(cover.counts.shape, dtype=np.int64)
        self._gain[slot], self._partner[slot] = best_partner(cover, self._prices, slot, floors, shared)
        self._stale[slot] = False
