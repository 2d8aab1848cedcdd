"""The search of DiffNorm: pattern sets for subsets of the classes, by the total length of patterns and covers.

After Budhathoki and Vreeken, "The Difference and the Norm", ECML PKDD 2015. All lengths are in nats.
"""

from __future__ import annotations

import time
from collections import defaultdict
from math import log1p

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Ints
from saltmine.baselines.diffnorm_coding import CodingSets
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.deadline import Deadline
from saltmine.progress import OnStep
from saltmine.solver.scoring import description_length
from saltmine.solver.solution import Solution

# Seconds between two reports while no candidate is kept.
REPORT_INTERVAL = 0.1
# Seconds that the evidence for a pattern takes, after the search.
SECONDS_PER_PATTERN = 0.003
# Single items that find their first partners between two looks at the clock.
ITEMS_PER_LOOK = 16


def diffnorm(bits: BitMatrix, subsets: Bools, deadline: Deadline, on_step: OnStep) -> Solution:
    """Find patterns for every subset of the classes, (J, c), until the deadline.

    ``history`` is the total length without patterns and after every pattern that was kept.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], 20, axis=0).astype(bool)
    >>> bits = BitMatrix(rows, [slice(0, 20), slice(20, 40)])
    >>> diffnorm(bits, np.eye(2, dtype=bool), Deadline(), lambda rank, length, done: None).model.X.T.astype(int)
    array([[1, 1, 1, 0, 0],
           [0, 0, 0, 1, 1]])
    """
    coding = CodingSets(bits, subsets)
    history = add_patterns(coding, Timer(coding, deadline, on_step))
    model = binary_model(bits, coding)
    length = description_length(bits, model)
    return Solution(model, length, length, len(history) - 1, history, finished=not deadline.was_over)


def add_patterns(coding: CodingSets, timer: Timer) -> list[float]:
    """Add patterns while the total length falls; return that length at first and after every addition."""
    history = [coding.length]
    candidates = Candidates(coding, timer)
    while not timer.expired() and (pair := candidates.best()) is not None:
        addition = coding.try_adding(coding.union(*pair))
        if addition is None:
            candidates.reject(*pair)
            continue
        uses = coding.cover.counts.sum(axis=0)
        candidates.update(coding.add(addition) | prune(coding, uses, timer))
        history.append(coding.length)
        timer.report(candidates.share_done())
    return history


def prune(coding: CodingSets, uses: Ints, timer: Timer) -> set[int]:
    """Remove less used patterns where the total falls, the least used first; return the slots that changed.

    ``uses`` has the number of rows of every slot when its removal was last tried.
    """
    changed = set[int]()
    while not timer.expired():
        now = coding.cover.counts.sum(axis=0)
        less_used = [slot for slot in np.flatnonzero(now < uses).tolist() if slot in coding.patterns]
        if not less_used:
            break
        slot = min(less_used, key=lambda slot: (now[slot], slot))
        uses[slot] = now[slot]
        change = coding.try_removing(slot)
        if change is not None:
            changed |= coding.remove(slot, change)
    return changed


def binary_model(bits: BitMatrix, coding: CodingSets) -> BinaryModel:
    """Return the patterns with the rows whose covers use them."""
    slots = coding.order.tolist()
    X = np.zeros((bits.shape[1], len(slots)), dtype=bool)
    for s, slot in enumerate(slots):
        X[list(coding.patterns[slot]), s] = True
    Y = bits.layout.unpack(coding.cover.usage[:, slots].T).T
    V = np.zeros((len(bits.blocks), *X.shape), dtype=bool)
    return BinaryModel(X, V, Y).keep(np.logical_or.reduce(Y, axis=0))


class Timer:
    """The time limit of a search, and regular reports of its progress."""

    def __init__(self, coding: CodingSets, deadline: Deadline, on_step: OnStep) -> None:
        self._coding, self._deadline, self._on_step = coding, deadline, on_step
        self._done = 0.0
        self.report(0.0)

    def expired(self) -> bool:
        """Return whether the time is over; report progress if the last report is long ago."""
        now = time.monotonic()
        if now - self._last_report > REPORT_INTERVAL:
            self.report(self._done)
        self._deadline.reserve = SECONDS_PER_PATTERN * len(self._coding.patterns)
        return self._deadline.is_over()

    def report(self, done: float) -> None:
        """Report progress; the estimate ``done`` may fall, the reported share does not."""
        self._last_report = time.monotonic()
        self._done = min(max(self._done, done, self._deadline.spent()), 1.0)
        self._on_step(len(self._coding.patterns), self._coding.length, self._done)


class Candidates:
    """Unions of two patterns in use, single items included, ranked by their estimated gain.

    The best partner of every pattern is stored. Finding it compares the pattern with all others, so it is repeated only
    for patterns that changed, or whose partner did. A rejected union is a candidate again when its estimate has grown.
    """

    def __init__(self, coding: CodingSets, timer: Timer) -> None:
        self._coding, self._code_costs = coding, coding.code_costs()
        n_slots = coding.cover.usage.shape[1]
        self._gain, self._partner = np.zeros(n_slots), np.arange(n_slots)
        self._stale = np.zeros(n_slots, dtype=bool)
        self._rejected: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for first in range(0, coding.n_items, ITEMS_PER_LOOK):
            if timer.expired():
                break
            self._find_partners(np.arange(first, min(first + ITEMS_PER_LOOK, coding.n_items)))
        self._first_gain = float(self._gain.max())

    def best(self) -> tuple[int, int] | None:
        """Return the pair with the highest estimate; None where no union has a positive one."""
        while True:
            slot = int(self._gain.argmax())
            if self._gain[slot] <= 0:
                return None
            if not self._stale[slot]:
                return slot, int(self._partner[slot])
            self._find_partners(np.array([slot]))

    def reject(self, slot: int, partner: int) -> None:
        """Leave a pair out from now on, unless its estimate grows."""
        self._rejected[slot][partner] = self._rejected[partner][slot] = float(self._gain[slot])
        self._stale[[slot, partner]] = True

    def update(self, changed: set[int]) -> None:
        """Find partners of slots whose usage changed; mark slots that had one of them as partner as stale."""
        self._code_costs = self._coding.code_costs()
        more, arrays = self._coding.cover.usage.shape[1] - len(self._gain), (self._gain, self._partner, self._stale)
        self._gain, self._partner, self._stale = (np.pad(array, (0, more)) for array in arrays)
        for slot in changed:
            if slot not in self._coding.patterns and slot >= self._coding.n_items:
                for partner in self._rejected.pop(slot, {}):
                    self._rejected[partner].pop(slot, None)
        touched = np.zeros(len(self._gain), dtype=bool)
        touched[list(changed)] = True
        self._stale |= touched[self._partner]
        self._find_partners(np.flatnonzero(touched))

    def share_done(self) -> float:
        """Estimate the share of the search that is done: gains shrink as it goes on."""
        return 1 - log1p(max(float(self._gain.max()), 0.0)) / log1p(self._first_gain)

    def _find_partners(self, slots: Ints) -> None:
        rejected = [self._rejected.get(slot, {}) for slot in slots.tolist()]
        starts = np.cumsum([0, *map(len, rejected)])
        partners = np.array([partner for pairs in rejected for partner in pairs], dtype=np.int64)
        gains = np.array([gain for pairs in rejected for gain in pairs.values()], dtype=np.float64)
        found = self._gain, self._partner
        _core.find_partners(self._coding.cover, self._code_costs, slots, starts, partners, gains, *found)
        self._stale[slots] = False
