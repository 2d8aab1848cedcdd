"""Refinement of a binary model by the exact description length, and the gate that keeps chance out.

Every move takes some patterns away, fits others in their place and stays if f has fallen: polish (a pattern by
itself), drop (by nothing), merge (two by one), split (one by two), add (nothing by one). f is kept up to date on bit
sets of the cells that are covered once and twice, so no move costs more for there being many patterns.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from saltmine.data.binary_model import BinaryModel, Bools, drop_idle_parts
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.alterations import Cells, alteration_evidence
from saltmine.solver import kernels
from saltmine.solver.kernels import Opened, Pattern, State, Words
from saltmine.solver.prepared import prepare
from saltmine.solver.relaxed.operator import SPARSE_DENSITY
from saltmine.solver.seeds import seed_rows, shared_exactly

# Two patterns are tried as one if they overlap by this much: shares of common items and rows of the smaller one,
# added up.
OVERLAP = 0.6
# If they overlap by this much, the smaller one is also tried without: what it covers may be for others to take.
LOOK_AHEAD, NEARBY = 0.9, 8
# A class whose items in a pattern are its own to this share is tried without the others.
OWN = 0.2
# Classes that share less than this of their items have patterns of their own: an alteration larger than what it alters
# belongs to one class (the paper counts so in its Table 1).
SHARED = 0.5
# Share of what a pattern saves that may go when a rounded model is trimmed.
TRIMMED = 0.25
# Turns of rows and items in one fit of a pattern, and in the screening of a seed.
ROUNDS, SCREENING_ROUNDS = 6, 4
# Sweeps of the polish over patterns that still change.
SWEEPS = 10
# Seeds that one thread screens at a time.
BATCH = 32
# f must fall by more than rounding errors.
LEAST = 1e-6


class Refinement:
    """A binary model that can be improved.

    Parameters
    ----------
    bits : BitMatrix
        The data.
    model : BinaryModel
        Where to start.
    alterations : bool
        Whether patterns may differ between classes.
    alpha : float
        A pattern, its use in a class, or a class's alterations of it stay if the probability that chance shows as much
        is below.
    """

    def __init__(self, bits: BitMatrix, model: BinaryModel, *, alterations: bool = True, alpha: float = 0.01) -> None:
        n, sizes = bits.shape[1], bits.class_sizes
        self.bits = bits
        self.alterations = alterations and len(sizes) > 1
        self.log_alpha = float(np.log(alpha))
        # Any number of frequent items may ride along with patterns of some classes until the gate first asks what
        # patterns show: on dense data a start without them would lose most of what it saves.
        self.riders = True
        self.data = prepare(bits)
        self._opened = Opened(np.empty_like(self.data.columns), np.empty(n, dtype=np.int64), np.empty(n))
        self._best = Pattern(
            np.zeros_like(self.data.valid), np.zeros((len(sizes), n), dtype=bool), np.zeros(n, dtype=np.int64)
        )
        self.state = self._make_state(model.rank + 16)
        # Counts the changes of every pattern: what was tried in vain is not tried again before `retry`.
        self._version = np.zeros(len(self.state.used), dtype=np.int64)
        self._tried = set[tuple[object, ...]]()
        carried = np.ascontiguousarray((model.X | model.V).transpose(2, 0, 1))
        for s, rows in enumerate(bits.layout.pack(model.Y.T)):
            if rows.any() and carried[s].any():
                self._put(s, rows, carried[s])
        self.length = self._total()

    def _make_state(self, size: int) -> State:
        n, c = self.bits.shape[1], len(self.bits.blocks)
        return State(
            usage=np.zeros((size, len(self.data.valid)), dtype=np.uint64),
            carry=np.zeros((size, c, n), dtype=bool),
            masks=np.zeros((c, n, -(-size // 64)), dtype=np.uint64),
            once=np.zeros_like(self.data.columns),
            twice=np.zeros_like(self.data.columns),
            used=np.zeros(size, dtype=np.int64),
            extra=np.zeros(size),
            noise=self.bits.item_counts.copy(),
        )

    def _make_room(self, count: int) -> None:
        """See to it that there are so many empty slots."""
        if np.count_nonzero(self.state.used == 0) >= count:
            return
        old, size = self.state, len(self.state.used)
        grown = self._make_state(2 * size + count)
        for name in ("usage", "carry", "used", "extra"):
            getattr(grown, name)[:size] = getattr(old, name)
        grown.masks[:, :, : old.masks.shape[2]] = old.masks
        self.state = grown._replace(once=old.once, twice=old.twice, noise=old.noise)
        self._version = np.concatenate([self._version, np.zeros(size + count, dtype=np.int64)])

    def _total(self) -> float:
        state = self.state
        return float(kernels.total_length(self.data, state.used, state.extra, state.noise))

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns there are."""
        return [int(s) for s in np.flatnonzero(self.state.used)]

    def model(self) -> BinaryModel:
        """Return the present model."""
        on = self.patterns()
        carry = self.state.carry[on]
        X: Bools = np.logical_and.reduce(carry, axis=1)
        V = carry & ~X[:, None]
        found = BinaryModel(
            X.T.copy(), V.transpose(1, 2, 0).copy(), self.bits.layout.unpack(self.state.usage[on]).T.copy()
        )
        return drop_idle_parts(found, self.bits.blocks)

    # ------------------------------------------------------------ one move

    def _open(self, s: int) -> Opened:
        """Look at the data without pattern ``s``."""
        kernels.open_cells(self.data, self.state, s, self._opened)
        return self._opened

    def _put(self, s: int, rows: Words, carry: Bools) -> None:
        """Make this pattern number ``s``, of which there is none."""
        self._put_opened(s, self._open(s), rows, carry)

    def _put_opened(self, s: int, opened: Opened, rows: Words, carry: Bools) -> None:
        kernels.put(self.data, self.state, s, opened, rows, carry)
        self._version[s] += 1

    def _take_away(self, *patterns: int) -> None:
        for s in patterns:
            kernels.take_out(self.data, self.state, s)
        if patterns:
            self.state.noise[:] = self._open(patterns[0]).noise

    def _fit(self, s: int, start: Words) -> bool:
        """Fit a pattern into the empty slot ``s``."""
        opened = self._open(s)
        length = kernels.fit_pattern(
            self.data, self.state, s, opened, start, self.alterations, self.riders, self.log_alpha, ROUNDS, self._best
        )
        if not np.isfinite(length):
            return False
        self._put_opened(s, opened, self._best.rows, self._best.carry)
        return True

    def _replace(
        self, old: Sequence[int], starts: Sequence[Words], force: bool = False, gate: bool = False, slack: float = 0.0
    ) -> bool:
        """Fit patterns from these starts in place of the old ones; undo it unless f falls.

        ``slack`` is by how much f may rise. ``force`` accepts any f, and an old pattern without a successor is then
        just gone. ``gate`` asks every new pattern for evidence.
        """
        self._make_room(len(starts))
        before, noise = self.length, self.state.noise.copy()
        kept = [(s, int(self._version[s]), self.state.usage[s].copy(), self.state.carry[s].copy()) for s in old]
        for s in old:
            kernels.take_out(self.data, self.state, s)
        new, fitted = list[int](), True
        slots = [*old, *np.flatnonzero(self.state.used == 0).tolist()]
        for start in starts:
            s = next(slot for slot in slots if slot not in new)
            fitted = self._fit(s, start)
            if fitted:
                new.append(s)
                fitted = not gate or self.evidence(s) >= -self.log_alpha
            if not fitted and not force:
                break
        if old and not new:
            self.state.noise[:] = self._open(old[0]).noise
        self.length = self._total()
        if force or (fitted and self.length < before + slack - LEAST):
            return True
        for s in new:
            kernels.take_out(self.data, self.state, s)
        for s, version, rows, carry in kept:
            self._put(s, rows, carry)
            self._version[s] = version
        self.state.noise[:] = noise
        self.length = before
        return False

    def retry(self) -> None:
        """Forget what was tried in vain: other patterns have changed since."""
        self._tried.clear()

    def _new_attempt(self, *key: int) -> bool:
        """Say whether a move on these patterns, as they are, has not been tried yet."""
        attempt = tuple((s, int(self._version[s])) for s in key)
        if attempt in self._tried:
            return False
        self._tried.add(attempt)
        return True

    # ------------------------------------------------------------ moves

    def polish(self, trim: bool = False) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes.

        ``trim`` takes, the first time, also patterns that lose up to a quarter of what they save: a rounded model has
        rows and items that pay in f and show nothing.
        """
        waiting = self.patterns()
        for _ in range(SWEEPS):
            changed = [s for s in waiting if self._polish_one(s, trim)]
            if not changed:
                return
            # Whoever shares cells with a pattern that changed may change as well.
            waiting, trim = self._touched(changed), False

    def _polish_one(self, s: int, trim: bool = False) -> bool:
        without = self._length_without(s)
        slack = TRIMMED * max(without - self.length, 0.0) if trim else 0.0
        if self._replace([s], [self.state.usage[s].copy()], slack=slack):
            return True
        if without >= self.length - LEAST:
            return False
        self._take_away(s)
        self.length = self._total()
        return True

    def _touched(self, changed: Sequence[int]) -> list[int]:
        on = self.patterns()
        items, rows = self._overlaps(on)
        among = np.isin(on, changed)
        touched = ((items > 0) & (rows > 0))[:, among].any(axis=1) | among
        return [s for s, is_touched in zip(on, touched, strict=True) if is_touched]

    def _overlaps(self, on: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the items and the rows that patterns have in common."""
        carry = np.logical_or.reduce(self.state.carry[on], axis=1)
        rows = np.unpackbits(self.state.usage[on].view(np.uint8), axis=1)
        return _shared(carry, self.data.weights), _shared(rows, np.repeat(self.data.row_weights, 64))

    def _count_items(self, carried: Bools) -> int:
        return int(self.data.weights @ carried)

    def _likeness(self, on: Sequence[int]) -> NDArray[np.float32]:
        """Return the shares of common items and of common rows, of the smaller pattern, added up.

        Both are shares of what chance leaves: patterns that half of all items belong to share a quarter anyway.
        """
        alike = np.zeros((len(on), len(on)), dtype=np.float32)
        for shared, whole in zip(self._overlaps(on), self.bits.weights.shape[::-1], strict=True):
            size = np.maximum(np.diag(shared), 1)
            smaller = np.minimum.outer(size, size)
            # What two sets of these sizes share by chance makes them no more alike.
            by_chance = np.minimum(np.outer(size, size) / whole, smaller - 1)
            alike += np.maximum(shared - by_chance, 0) / (smaller - by_chance)
        return alike

    def merge(self) -> bool:
        """Try overlapping pairs of patterns as one, the most alike first."""
        on = self.patterns()
        alike = self._likeness(on)
        first, second = np.nonzero(np.triu(alike, 1) >= OVERLAP)
        merged = set[int]()
        for k in np.argsort(-alike[first, second], kind="stable"):
            s, t = on[first[k]], on[second[k]]
            # An earlier move may have dropped more than the two it was about.
            gone = not (self.state.used[s] and self.state.used[t])
            if gone or s in merged or t in merged or not self._new_attempt(s, t):
                continue
            one, other = self.state.usage[s].copy(), self.state.usage[t].copy()
            if any(self._replace([s, t], [start]) for start in (one | other, one, other)) or (
                alike[first[k], second[k]] >= LOOK_AHEAD and self._do_without(self._smaller(s, t))
            ):
                merged |= {s, t}
        return bool(merged)

    def _smaller(self, s: int, t: int) -> int:
        area = {k: int(self.state.used[k]) * self._count_items(self.state.carry[k].any(axis=0)) for k in (s, t)}
        return min(area, key=area.__getitem__)

    def _do_without(self, s: int) -> bool:
        """Try to drop a pattern and let those that share its rows or items take over, before f is compared."""
        saved, version, before = copy.deepcopy(self.state), self._version.copy(), self.length
        on = self.patterns()
        alike = self._likeness(on)[on.index(s)]
        nearby = [on[k] for k in np.argsort(-alike, kind="stable")[: NEARBY + 1] if on[k] != s and alike[k] > 0]
        self._take_away(s)
        self.length = self._total()
        for t in nearby:
            self._polish_one(t)
        if self.length < before - LEAST:
            return True
        self.state, self._version, self.length = saved, version, before
        return False

    def split(self) -> bool:
        """Try to take the rows of one class out of a pattern whose items there are its own.

        They become a pattern of their own, join the pattern whose items are most like theirs, or stop using any.
        """
        changed = False
        for s in self.patterns():
            if not self._new_attempt(s):
                continue
            for a in range(len(self.bits.blocks)):
                if self.state.used[s] and self._own_items(s, a) >= OWN and self._split_one(s, a):
                    changed = True
        return changed

    def _using(self, s: int) -> list[int]:
        return [a for a in range(len(self.bits.blocks)) if self.state.usage[s, self.bits.layout.words(a)].any()]

    def _own_items(self, s: int, a: int) -> float:
        """Return the share of the items of a class that no other class which uses the pattern carries."""
        carry = self.state.carry[s]
        others = carry[[b for b in self._using(s) if b != a]].any(axis=0)
        return 1 - self._count_items(carry[a] & others) / max(self._count_items(carry[a]), 1)

    def _rows_of(self, s: int, classes: Iterable[int]) -> Words:
        rows = np.zeros_like(self.data.valid)
        for a in classes:
            rows[self.bits.layout.words(a)] = self.state.usage[s, self.bits.layout.words(a)]
        return rows

    def _split_one(self, s: int, a: int) -> bool:
        part = self._rows_of(s, [a])
        rest = self.state.usage[s] & ~part
        if not part.any() or not rest.any():
            return False
        on = [t for t in self.patterns() if t != s]
        alike = [self._count_items(self.state.carry[t].any(axis=0) & self.state.carry[s, a]) for t in on]
        if self._replace([s], [rest, part]) or self._replace([s], [rest]):
            return True
        if not on or max(alike) == 0:
            return False
        nearest = on[int(np.argmax(alike))]
        return self._replace([s, nearest], [rest, part | self.state.usage[nearest]])

    def unglue(self, most: int | None = None) -> None:
        """Make patterns of their own out of what groups of classes have, where the groups share too little.

        One pattern for two such groups saves the description some nats, and tells a reader nothing. If there may be at
        most so many patterns, some have to stay together.
        """
        for s in self.patterns():
            using = self._using(s)
            items = self.state.carry[s][using].astype(np.int64)
            shared, size = (items * self.data.weights) @ items.T, items @ self.data.weights
            linked = shared >= np.maximum(2, SHARED * np.maximum.outer(size, size))
            n_groups, group = connected_components(linked, directed=False)
            room = most is None or len(self.patterns()) - 1 + n_groups <= most
            if n_groups > 1 and room:
                starts = [self._rows_of(s, np.asarray(using)[group == k]) for k in range(n_groups)]
                self._replace([s], starts, force=True)

    def limit(self, most: int) -> None:
        """Take away the patterns that shorten f least, until there are at most so many."""
        while len(on := self.patterns()) > most:
            lengths = [self._length_without(s) for s in on]
            # Many at a time while there are far too many.
            surplus = max(1, (len(on) - most) // 4)
            self._take_away(*[on[k] for k in np.argsort(lengths)[:surplus]])
            self.length = self._total()

    def _length_without(self, s: int) -> float:
        used = self.state.used.copy()
        used[s] = 0
        return float(kernels.total_length(self.data, used, self.state.extra, self._open(s).noise))

    # ------------------------------------------------------------ chance

    def evidence(self, s: int) -> float:
        """Return the evidence for a pattern in nats."""
        return float(kernels.pattern_evidence(self.data, self._open(s), self.state.usage[s], self.state.carry[s]))

    def class_evidence(self, s: int) -> NDArray[np.float64]:
        """Return the evidence that every class uses a pattern, in nats; infinite where it does not."""
        evidence = np.empty(len(self.bits.blocks))
        kernels.class_evidence(self.data, self._open(s), self.state.usage[s], self.state.carry[s], evidence)
        return evidence

    def alteration_evidence(self, s: int) -> NDArray[np.float64]:
        """Return the evidence for what every class adds to a shared pattern, in nats; infinite where it adds nothing.

        Infinite also where fewer than two items are shared: what a class adds is then the pattern itself, and its
        evidence that of the pattern.
        """
        carry = self.state.carry[s]
        shared = carry.all(axis=0)
        evidence = np.full(len(carry), np.inf)
        if self._count_items(shared) < 2:
            return evidence
        opened = self._open(s)
        cells = np.empty((3, *carry.shape), dtype=np.int64)
        kernels.count_cells(self.data, opened, self.state.usage[s], cells)
        for_one, for_zero = np.zeros(carry.shape[1]), np.zeros(carry.shape[1])
        kernels.evidence_of_cells(opened.background, kernels.density_of(self.data, cells, carry), for_one, for_zero)
        for a in np.flatnonzero((carry & ~shared).any(axis=1)):
            ones, zeros = cells[kernels.OPEN_ONES, a], cells[kernels.OPEN_ZEROS, a]
            cells_of = Cells(ones, zeros, opened.background, for_one, for_zero, self.data.weights)
            evidence[a] = alteration_evidence(cells_of, carry[a] & ~shared, ~shared)
        return evidence

    def gate(self) -> bool:
        """Take away what chance explains: patterns, the weakest first, then use by single classes, then alterations."""
        self.riders = False
        removed = False
        evidence = {s: self.evidence(s) for s in self.patterns()}
        while evidence and min(evidence.values()) < -self.log_alpha:
            weakest = min(evidence, key=evidence.__getitem__)
            self._take_away(weakest)
            del evidence[weakest]
            # Cells that two patterns shared now speak for one.
            touched = [s for s in self._touched([weakest]) if s in evidence]
            evidence |= {s: self.evidence(s) for s in touched}
            removed = True
        for s in evidence:
            weak = self.class_evidence(s) < -self.log_alpha
            if weak.any():
                self._reduce(s, self._rows_of(s, np.flatnonzero(~weak)), weak)
                removed = True
        for s in self.patterns():
            weak = self.alteration_evidence(s) < -self.log_alpha
            if weak.any():
                self._reduce(s, self.state.usage[s].copy(), weak)
                removed = True
        self.length = self._total()
        return removed

    def _reduce(self, s: int, rows: Words, without: Bools) -> None:
        """Keep these rows of a pattern, and no alterations of these classes."""
        carry = self.state.carry[s].copy()
        carry[without] &= carry.all(axis=0)
        self._take_away(s)
        if rows.any() and carry.any():
            self._put(s, rows, carry)

    def settle(self) -> None:
        """Take away until nothing is left that chance explains; the gate adds nothing, so this ends."""
        while self.gate():
            pass

    # ------------------------------------------------------------ seeds

    def residual(self) -> BinaryMatrix:
        """Return the ones that no pattern covers, as CSR where they are few."""
        m, n = self.bits.shape
        left = self.data.columns & ~self.state.once
        unpack = self.bits.layout.unpack
        if int(count_bits(left).sum()) >= SPARSE_DENSITY * m * n:
            return unpack(left).T
        # A few columns at a time, so that the dense form never exists.
        panels = [sp.csr_array(unpack(left[items])) for items in cut(n, m, panel_cells=1 << 24)]
        return sp.csr_array(sp.vstack(panels).T)

    def reseed(
        self, most: int, rng: np.random.Generator, team: ThreadTeam, limit: int | None = None, alike: bool = True
    ) -> bool:
        """Look for further patterns in what is left uncovered, from groups of similar rows and items.

        ``limit`` is the number of patterns above which none is added. With ``alike`` off only rows are looked at that
        many items share exactly.
        """
        seeds = seed_rows if alike else shared_exactly
        starts = self.bits.layout.pack(seeds(self.residual(), self.bits.weights, most, rng))
        lengths, evidence = np.empty(len(starts)), np.empty(len(starts))
        self._make_room(1)
        s = int(np.flatnonzero(self.state.used == 0)[0])
        opened = self._open(s)

        def batch(part: slice) -> None:
            arguments = self.data, self.state, s, opened, starts[part], self.alterations, self.riders, self.log_alpha
            kernels.screen(*arguments, SCREENING_ROUNDS, lengths[part], evidence[part])

        team.run(batch, [(slice(k, k + BATCH),) for k in range(0, len(starts), BATCH)])
        promising = np.flatnonzero((lengths < self.length) & (evidence >= -self.log_alpha))
        added = False
        for k in promising[np.argsort(lengths[promising])]:
            if limit is not None and np.count_nonzero(self.state.used) >= limit:
                break
            added |= self._replace([], [starts[k]], gate=True)
        return added


def _shared(sets: NDArray[Any], weights: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the weight that every two sets, (k, size), have in common."""
    members = sets.astype(np.float32)
    shared: NDArray[np.float32] = (members * weights.astype(np.float32)) @ members.T
    return shared
