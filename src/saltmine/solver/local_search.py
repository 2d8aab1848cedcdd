"""Local search on a binary model by the exact description length.

Every move takes some patterns away, fits others in their place and stays if f has fallen: refit (a pattern by
itself), drop (by nothing), merge (two by one), split (one by two), add (nothing by one). f is kept up to date on bit
sets of the cells that are covered once and twice, so no move costs more for there being many patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.added_items import can_shuffle, test_added
from saltmine.mdl.class_tests import join_strata, log_p_values, size_strata
from saltmine.mdl.code_length import count_errors
from saltmine.mdl.correction import correct
from saltmine.mdl.evidence import is_typical, item_choices
from saltmine.solver import kernels
from saltmine.solver.contrasts import find_contrasts
from saltmine.solver.kernels import Pattern, WithoutPattern, make_data, make_state, make_without
from saltmine.solver.relaxed.operator import SPARSE_DENSITY
from saltmine.solver.seeds import identical_columns, seed_rows
from saltmine.solver.significance import choices_to_pay, drop_insignificant

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
ROUNDS, SCREENING_ROUNDS = 6, 2
# Sweeps of refits over patterns that still change.
SWEEPS = 10
# Seeds that one thread screens at a time.
BATCH = 32
# Sorts of patterns: fitted by f and evidence; with items that stay as they are; and the typical row, which needs no
# evidence.
FREE, FIXED, TYPICAL = 0, 1, 2
# f must fall by more than rounding errors.
LEAST = 1e-6


class Kept(NamedTuple):
    """A pattern as it was."""

    slot: int
    rows: Words  # (W,)
    carry: Bools  # (c, n)
    version: int
    alike: Bools  # (c,)
    sort: int


class LocalSearch:
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
        n, c = bits.shape[1], len(bits.blocks)
        self.bits = bits
        self._may_alter = np.full(c, alterations and c > 1)
        self.log_alpha = float(np.log(alpha))
        self.data = make_data(bits)
        # The data without a pattern, and the items that are to be looked at again: they have changed since, or the
        # pattern carried them.
        self._without = make_without(bits.columns)
        self._changed = np.ones(n, dtype=bool)
        self._best = Pattern(np.zeros_like(self.data.row_mask), np.zeros((c, n), bool), np.zeros(n, dtype=np.int64))
        self.state = make_state(bits.columns, bits.item_counts, model.rank + 16, c)
        # Classes that may not add items of their own to a pattern, and what kind of pattern it is to the search.
        self._alike = np.zeros((len(self.state.used), c), dtype=bool)
        # The items that any class carries.
        self._items = np.zeros((len(self.state.used), n), dtype=bool)
        self._sort = np.full(len(self.state.used), FREE, dtype=np.int8)
        self.strata = _make_strata(bits)
        self._stratum_of = np.unpackbits(self.strata.view(np.uint8), axis=1, bitorder="little").argmax(axis=0)
        self._stratum_sizes = kernels.count_by_stratum(self.data, self.strata, self.data.row_mask)
        # Counts the changes of every pattern: what was tried in vain is not tried again before they change.
        self._version = np.zeros(len(self.state.used), dtype=np.int64)
        self._tried = set[tuple[object, ...]]()
        self.length = self._total()
        self.add(model)

    def add(self, model: BinaryModel, typical: Sequence[int] = ()) -> None:
        """Add the patterns of a model as they are; those of these numbers are typical rows."""
        self._make_room(model.rank)
        slots = np.flatnonzero(self.state.used == 0).tolist()
        carried = np.ascontiguousarray((model.X | model.V).transpose(2, 0, 1))
        for k, (s, rows, carry) in enumerate(zip(slots, self.bits.layout.pack(model.Y.T), carried, strict=False)):
            if rows.any() and carry.any():
                self._alike[s], self._sort[s] = False, TYPICAL if k in typical else FREE
                self._put(s, rows, carry)
        self.length = self._total()

    def _make_room(self, count: int) -> None:
        """See to it that there are so many empty slots."""
        if np.count_nonzero(self.state.used == 0) >= count:
            return
        old, size = self.state, len(self.state.used)
        grown = make_state(self.bits.columns, self.bits.item_counts, 2 * size + count, len(self.bits.blocks))
        for name in ("usage", "carry", "used", "extra"):
            getattr(grown, name)[:size] = getattr(old, name)
        grown.masks[:, :, : old.masks.shape[2]] = old.masks
        self.state = grown._replace(covered=old.covered, covered_twice=old.covered_twice, errors=old.errors)
        self._version = np.concatenate([self._version, np.zeros(size + count, dtype=np.int64)])
        self._alike = np.concatenate([self._alike, np.zeros((size + count, self._alike.shape[1]), dtype=bool)])
        self._items = np.concatenate([self._items, np.zeros((size + count, self._items.shape[1]), dtype=bool)])
        self._sort = np.concatenate([self._sort, np.full(size + count, FREE, dtype=np.int8)])

    def _total(self) -> float:
        state = self.state
        return float(kernels.state_length(self.data.costs, state.used, state.extra, state.errors))

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

    def _leave_out(self, s: int) -> WithoutPattern:
        """Look at the data without pattern ``s``.

        Only items are looked at that it carries, or that have changed since: all others are as they were.
        """
        self._changed |= self._items[s]
        kernels.leave_out(self.data, self.state, s, np.flatnonzero(self._changed), self._without)
        self._changed = self._items[s].copy()
        return self._without

    def _put(self, s: int, rows: Words, carry: Bools) -> None:
        """Make this pattern number ``s``, of which there is none."""
        self._put_into(s, self._leave_out(s), rows, carry)

    def _put_into(self, s: int, without: WithoutPattern, rows: Words, carry: Bools) -> None:
        kernels.put(self.data, self.state, s, without, rows, carry)
        np.logical_or.reduce(carry, axis=0, out=self._items[s])
        self._changed |= self._items[s]
        self._version[s] += 1

    def _take_out(self, s: int) -> None:
        """Take a pattern out of the state, but for the errors that it leaves behind."""
        self._changed |= self._items[s]
        self._items[s] = False
        kernels.take_out(self.data, self.state, s)

    def _take_away(self, *patterns: int) -> None:
        for s in patterns:
            self._take_out(s)
        if patterns:
            self.state.errors[:] = self._leave_out(patterns[0]).errors

    def _fit(self, s: int, start: Words) -> bool:
        """Fit a pattern into the empty slot ``s``."""
        without = self._leave_out(s)
        length = kernels.fit_pattern(
            self.data,
            self.state,
            s,
            without,
            start,
            self._may_alter & ~self._alike[s],
            bool(self._sort[s] == TYPICAL),
            ROUNDS,
            self._best,
        )
        if not np.isfinite(length):
            return False
        self._put_into(s, without, self._best.rows, self._best.carry)
        return True

    def _replace(
        self,
        old: Sequence[int],
        starts: Sequence[Words],
        force: bool = False,
        test: bool = False,
        slack: float = 0.0,
        new_sort: int = FREE,
    ) -> bool:
        """Fit patterns from these starts in place of the old ones; undo it unless f falls.

        One in the place of one is of the same sort, others are of the sort ``new_sort``. ``slack`` is by how much f may
        rise. ``force`` accepts any f, and an old pattern without a successor is then just gone. ``test`` asks every new
        pattern for evidence.
        """
        self._make_room(len(starts))
        before, errors = self.length, self.state.errors.copy()
        kept = [self._keep(s) for s in old]
        for s in old:
            self._take_out(s)
        if len(old) != 1 or len(starts) != 1:
            self._alike[list(old)], self._sort[list(old)] = False, FREE
        new, fitted = list[int](), True
        slots = [*old, *np.flatnonzero(self.state.used == 0).tolist()]
        for start in starts:
            s = next(slot for slot in slots if slot not in new)
            if s not in old:
                self._alike[s], self._sort[s] = False, new_sort
            fitted = self._fit(s, start)
            if fitted:
                new.append(s)
                fitted = not test or self.pattern_evidence(s) >= -self.log_alpha
            if not fitted and not force:
                break
        if old and not new:
            self.state.errors[:] = self._leave_out(old[0]).errors
        self.length = self._total()
        if force or (fitted and self.length < before + slack - LEAST):
            kept_alike = [self._keep_shown(s) for s in new]
            self.length = self._total()
            # A typical row that few rows use would be asked for evidence, and others with it.
            as_wished = all(kept_alike) and (new_sort != TYPICAL or all(self.is_typical(s) for s in new))
            if force or (as_wished and self.length < before + slack - LEAST):
                return True
            new = [s for s in new if self.state.used[s]]
        for s in new:
            self._take_out(s)
        self._restore(kept, before, errors)
        return False

    def _keep(self, s: int) -> Kept:
        """Return a pattern as it is, to put it back later."""
        state = self.state
        rows, carry, alike = state.usage[s].copy(), state.carry[s].copy(), self._alike[s].copy()
        return Kept(s, rows, carry, int(self._version[s]), alike, int(self._sort[s]))

    def _restore(self, kept: Iterable[Kept], length: float, errors: Ints) -> None:
        """Put patterns back into their slots, which are empty; f and the errors were these with them."""
        for old in kept:
            self._put(old.slot, old.rows, old.carry)
            self._version[old.slot], self._alike[old.slot], self._sort[old.slot] = old.version, old.alike, old.sort
        self.state.errors[:] = errors
        self.length = length

    def _keep_shown(self, s: int) -> bool:
        """Fit a pattern again with classes alike that are not shown to differ; returns whether it is still there."""
        carry = self.state.carry[s]
        adds = (carry & ~np.logical_and.reduce(carry, axis=0)).any(axis=1)
        if not adds.any():
            return True
        weak = adds & (self.added_log_p(s) > self.log_alpha)
        if not weak.any():
            return True
        self._alike[s] |= weak
        start = self.state.usage[s].copy()
        self._take_away(s)
        return self._fit(s, start)

    def allow_differences(self) -> None:
        """Allow differences that were not shown: others have changed since."""
        self._alike[:] = False

    def _new_attempt(self, *key: int) -> bool:
        """Say whether a move on these patterns, as they are, has not been tried yet."""
        attempt = tuple((s, int(self._version[s])) for s in key)
        if attempt in self._tried:
            return False
        self._tried.add(attempt)
        return True

    # ------------------------------------------------------------ moves

    def refit(self, trim: bool = False) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes.

        ``trim`` takes, the first time, also patterns that lose up to a quarter of what they save: a rounded model has
        rows and items that pay in f and show nothing.
        """
        waiting = self.patterns()
        for _ in range(SWEEPS):
            changed = [s for s in waiting if self._refit_one(s, trim)]
            if not changed:
                return
            # Whoever shares cells with a pattern that changed may change as well.
            waiting, trim = self._touched(changed), False

    def _refit_one(self, s: int, trim: bool = False) -> bool:
        if self._sort[s] == FIXED:
            return False
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
        items, rows = self._overlaps(on, [s for s in changed if self.state.used[s]])
        touched = ((items > 0) & (rows > 0)).any(axis=1) | np.isin(on, changed)
        return [s for s, is_touched in zip(on, touched, strict=True) if is_touched]

    def _overlaps(self, on: Sequence[int], others: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the items and the rows that patterns have in common with others, (on, others) each."""
        items, rows = (np.empty((len(on), len(others)), dtype=np.float32) for _ in range(2))
        carried, usage = self._items[on], self.state.usage[on]
        for k, t in enumerate(others):
            own = np.flatnonzero(self._items[t])
            items[:, k] = carried[:, own] @ self.data.costs.weights[own]
            rows[:, k] = count_bits(usage & self.state.usage[t], self.data.row_weights)
        return items, rows

    def _sizes(self, on: Sequence[int]) -> tuple[Ints, Ints]:
        """Return how many items and rows patterns have."""
        return self._items[on] @ self.data.costs.weights, self.state.used[on]

    def _count_items(self, carried: Bools) -> int:
        return int(self.data.costs.weights @ carried)

    def _similarity(self, on: Sequence[int], others: Sequence[int]) -> NDArray[np.float32]:
        """Return the shares of common items and of common rows, of the smaller pattern, added up, (on, others).

        Both are shares of what chance leaves: patterns that half of all items belong to share a quarter anyway.
        """
        similar = np.zeros((len(on), len(others)), dtype=np.float32)
        sizes = zip(self._sizes(on), self._sizes(others), self.bits.weights.shape[::-1], strict=True)
        for shared, (size, other_size, whole) in zip(self._overlaps(on, others), sizes, strict=True):
            smaller = np.minimum.outer(size, other_size)
            # What two sets of these sizes share by chance makes them no more similar.
            by_chance = np.minimum(np.outer(size, other_size) / whole, smaller - 1)
            similar += np.maximum(shared - by_chance, 0) / (smaller - by_chance)
        return similar

    def merge(self) -> bool:
        """Try overlapping pairs of patterns as one, the most similar first; the typical row is apart."""
        on = [s for s in self.patterns() if not self.is_typical(s)]
        similar = self._similarity(on, on)
        first, second = np.nonzero(np.triu(similar, 1) >= OVERLAP)
        merged = set[int]()
        for k in np.argsort(-similar[first, second], kind="stable"):
            s, t = on[first[k]], on[second[k]]
            # An earlier move may have dropped more than the two it was about.
            gone = not (self.state.used[s] and self.state.used[t])
            if gone or s in merged or t in merged or not self._new_attempt(s, t):
                continue
            one, other = self.state.usage[s].copy(), self.state.usage[t].copy()
            if any(self._replace([s, t], [start]) for start in (one | other, one, other)) or (
                similar[first[k], second[k]] >= LOOK_AHEAD and self._try_without(self._smaller(s, t))
            ):
                merged |= {s, t}
        return bool(merged)

    def _smaller(self, s: int, t: int) -> int:
        area = {k: int(self.state.used[k]) * self._count_items(self._items[k]) for k in (s, t)}
        return min(area, key=area.__getitem__)

    def _try_without(self, s: int) -> bool:
        """Try to drop a pattern and let those that share its rows or items take over, before f is compared."""
        on = self.patterns()
        similar = self._similarity(on, [s])[:, 0]
        nearby = [on[k] for k in np.argsort(-similar, kind="stable")[: NEARBY + 1] if on[k] != s and similar[k] > 0]
        kept, before, errors = [self._keep(t) for t in (s, *nearby)], self.length, self.state.errors.copy()
        self._take_away(s)
        self.length = self._total()
        for t in nearby:
            self._refit_one(t)
        if self.length < before - LEAST:
            return True
        for t in nearby:
            self._take_out(t)
        self._restore(kept, before, errors)
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
        by_class: Ints = kernels.rows_by_class(self.data, self.state.usage[s])
        return np.flatnonzero(by_class).tolist()

    def _own_items(self, s: int, a: int) -> float:
        """Return the share of the items of a class that no other class which uses the pattern carries."""
        carry = self.state.carry[s]
        others = carry[[b for b in self._using(s) if b != a]].any(axis=0)
        return 1 - self._count_items(carry[a] & others) / max(self._count_items(carry[a]), 1)

    def _rows_of(self, s: int, classes: Iterable[int]) -> Words:
        rows = np.zeros_like(self.data.row_mask)
        for a in classes:
            rows[self.bits.layout.words(a)] = self.state.usage[s, self.bits.layout.words(a)]
        return rows

    def _split_one(self, s: int, a: int) -> bool:
        part = self._rows_of(s, [a])
        rest = self.state.usage[s] & ~part
        if not part.any() or not rest.any():
            return False
        on = [t for t in self.patterns() if t != s]
        similar = [self._count_items(self._items[t] & self.state.carry[s, a]) for t in on]
        if self._replace([s], [rest, part]) or self._replace([s], [rest]):
            return True
        if not on or max(similar) == 0:
            return False
        nearest = on[int(np.argmax(similar))]
        return self._replace([s, nearest], [rest, part | self.state.usage[nearest]])

    def split_unrelated_classes(self, max_rank: int | None = None) -> None:
        """Make patterns of their own out of what groups of classes have, where the groups share too little.

        One pattern for two such groups saves the description some nats, and tells a reader nothing. If there may be at
        most so many patterns, some have to stay together.
        """
        for s in self.patterns():
            # However much classes add to it, the typical row stays one.
            if self.is_typical(s):
                continue
            using = self._using(s)
            items = self.state.carry[s][using].astype(np.int64)
            shared, size = (items * self.data.costs.weights) @ items.T, items @ self.data.costs.weights
            linked = shared >= np.maximum(2, SHARED * np.maximum.outer(size, size))
            n_groups, group = connected_components(linked, directed=False)
            room = max_rank is None or self.count_found() - 1 + n_groups <= max_rank
            if n_groups > 1 and room:
                starts = [self._rows_of(s, np.asarray(using)[group == k]) for k in range(n_groups)]
                # The largest first: a few rows that have some of its items by chance would grow into all of it again.
                starts.sort(key=lambda rows: -int(count_bits(rows, self.data.row_weights)))
                self._replace([s], starts, force=True)

    def truncate(self, max_rank: int) -> None:
        """Take away the patterns that shorten f least, until there are at most so many beside the typical row."""
        while len(on := [s for s in self.patterns() if not self.is_typical(s)]) > max_rank:
            lengths = [self._length_without(s) for s in on]
            # Many at a time while there are far too many.
            surplus = max(1, (len(on) - max_rank) // 4)
            self._take_away(*[on[k] for k in np.argsort(lengths)[:surplus]])
            self.length = self._total()

    def _length_without(self, s: int) -> float:
        used = self.state.used.copy()
        used[s] = 0
        return float(kernels.state_length(self.data.costs, used, self.state.extra, self._leave_out(s).errors))

    # ------------------------------------------------------------ significance

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together if it is enough, else also that of its use."""
        if self.is_typical(s):
            return np.inf
        together = self.together(s)
        if together >= -self.log_alpha:
            return together
        return max(together, self._use_evidence(self.state.carry[s], int(self.state.used[s])))

    def is_typical(self, s: int) -> bool:
        """Say whether a pattern is the typical row, which needs no evidence."""
        return bool(self._sort[s] == TYPICAL and is_typical(self.state.used[s], self.data.class_sizes.sum()))

    def _name_typical(self) -> None:
        """Let patterns be typical rows that enough rows use and whose shared items show nothing."""
        for s in self.patterns():
            if self._sort[s] != FREE or not is_typical(self.state.used[s], self.data.class_sizes.sum()):
                continue
            self._sort[s] = TYPICAL
            use = self._use_evidence(self.state.carry[s], int(self.state.used[s]))
            if max(self.together(s), use) >= -self.log_alpha:
                self._sort[s] = FREE

    def add_typical(self) -> bool:
        """Add the typical row if it shortens f and there is none."""
        if any(self.is_typical(s) for s in self.patterns()):
            return False
        return self._replace([], [self.data.row_mask.copy()], new_sort=TYPICAL)

    def leave_to_typical(self) -> bool:
        """Take the items of the typical row of most rows out of all other patterns; their rows use it as well.

        A pattern that repeats them saves its rows the use of the typical row. But they do not belong to it: what is
        said of the pattern and of its classes would be said of items that everybody has. Returns whether there were
        any.
        """
        changed = False
        for t in [s for s in self.patterns() if self._sort[s] == TYPICAL and self._most_use(s)]:
            kept, typical = self.state.usage[t].copy(), self.state.carry[t].copy()
            own: Bools = np.logical_and.reduce(typical, axis=0)
            touched = [s for s in self.patterns() if self._sort[s] == FREE and (self.state.carry[s] & own).any()]
            if not touched:
                continue
            changed = True
            parts = {s: (self.state.usage[s].copy(), self.state.carry[s] & ~own) for s in touched}
            self._take_away(t, *touched)
            for s, (rows, carry) in parts.items():
                kept |= rows
                if self._count_items(np.logical_or.reduce(carry, axis=0)) >= 2:
                    self._put(s, rows, carry)
            without = self._leave_out(t)
            kernels.fit_rows(self.data, self.state, t, without, typical, ROUNDS, kept)
            self._put_into(t, without, kept, typical)
        self.length = self._total()
        return changed

    def _most_use(self, s: int) -> bool:
        return bool(2 * self.state.used[s] >= self.data.class_sizes.sum())

    def count_found(self) -> int:
        """Count the patterns without the typical row."""
        return sum(not self.is_typical(s) for s in self.patterns())

    def together(self, s: int, among: Bools | None = None) -> float:
        """Return the evidence that the items of a pattern go together, among these of its rows, (m,), or all."""
        data, carry = self.data, self.state.carry[s]
        rows = self.state.usage[s] if among is None else self.bits.layout.pack(among[None])[0]
        if self.is_typical(s):
            # What classes add to the typical row is no evidence that its own items go together. Nor is it that rows
            # have them which are small only because others have large patterns.
            carry = np.repeat(np.logical_and.reduce(carry, axis=0)[None], len(carry), axis=0)
            shifts = np.maximum(data.row_shifts, 0.0)
            data = data._replace(row_shifts=shifts, row_odds=np.exp(shifts))
        return float(kernels.evidence_of(data, self._leave_out(s), rows, carry))

    def _use_evidence(self, carry: Bools, used: int) -> float:
        """Return the evidence that classes differ in the use of any items, which those of a pattern are chosen of."""
        if not self._may_alter.any():
            return -np.inf
        return float(-self._use_log_p(carry, used).min() - self._item_choice(carry) - np.log(len(self._may_alter)))

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""
        return self._item_choice(self.state.carry[s])

    def _item_choice(self, carry: Bools) -> float:
        costs = self.data.costs
        shared: Bools = np.logical_and.reduce(carry, axis=0)
        codes = float((costs.weights * costs.codes)[shared].sum())
        return float(item_choices(costs.n_items, self._count_items(shared), codes))

    def carriers(self, carry: Bools, used: int) -> Words:
        """Return the rows that a pattern would shorten if there were no other, by the items that all classes carry.

        ``used`` counts the rows that use it.
        """
        costs, state = self.data.costs, self.state
        shared: Bools = np.logical_and.reduce(carry, axis=0)
        if self._count_items(shared) < 2:
            return self.data.row_mask
        total = float(state.used.sum() + count_errors(costs, state.errors))
        worth = costs.weights.astype(np.float64) * np.log(total / np.maximum(state.errors, 0.5))
        rows = np.zeros_like(self.data.row_mask)
        kernels.find_carriers(self.data, shared, worth, float(np.log(total / max(used, 1))), rows)
        return rows

    def _use_log_p(self, carry: Bools, used: int) -> Floats:
        """Test that more rows of each class carry a pattern than of the others, (c,)."""
        hits = kernels.count_by_stratum(self.data, self.strata, self.carriers(carry, used))
        log_p: Floats = log_p_values(hits, self._stratum_sizes)
        return log_p

    def added_log_p(self, s: int) -> Floats:
        """Test what every class adds to a pattern, all items together, (c,)."""
        carry, carriers = self.state.carry[s], self.carriers(self.state.carry[s], int(self.state.used[s]))
        shared: Bools = np.logical_and.reduce(carry, axis=0)
        items, n_items = np.flatnonzero(~shared), None
        places = np.flatnonzero(np.unpackbits(carriers.view(np.uint8), bitorder="little"))
        places = np.repeat(places, self.data.row_weights[places // 64])
        classes = np.searchsorted(64 * self.data.edges, places, side="right") - 1
        strata = self._stratum_of[places]
        strata = join_strata(np.bincount(strata, minlength=len(self.strata)))[strata]
        weights = self.data.costs.weights
        if not can_shuffle(len(places), len(items)):
            n_items, items = int(weights[items].sum()), np.flatnonzero(np.logical_or.reduce(carry, axis=0) & ~shared)
        cells = kernels.unpack_cells(self.data.columns, items, places)
        return test_added(cells, classes, carry[:, items], strata, weights[items], self.log_alpha, n_items)

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""
        on = self.patterns()
        shared = np.logical_and.reduce(self.state.carry, axis=1, keepdims=True)
        adds: Bools = np.logical_or.reduce(self.state.carry & ~shared, axis=2)
        evidence = np.full(adds.shape, np.inf)
        if adds.any():
            use = np.array([self._use_log_p(self.state.carry[s], int(self.state.used[s])) for s in on])
            use = np.minimum(use + choices_to_pay(self, on)[:, None], 0.0)
            added = np.array([self.added_log_p(s) if adds[s].any() else np.zeros(adds.shape[1]) for s in on])
            q = correct(np.stack([use, added]))[1]
            evidence[on] = np.where(adds[on], -q, np.inf)
        return evidence

    def drop_insignificant(self) -> bool:
        """Take away what is not shown."""
        self._name_typical()
        # Both, whatever the first found.
        dropped = [drop_insignificant(self), self._drop_unsupported()]
        return any(dropped)

    def drop_until_significant(self) -> None:
        """Take away until nothing is left that is not shown."""
        while self.drop_insignificant():
            pass

    def _drop_unsupported(self) -> bool:
        """Put the patterns back one by one, each tested given those before it, and drop those that never pass.

        Patterns that are only shown given each other explain nothing: every one makes its items look rare in the cells
        that it leaves to the others. So does the typical row, which is no evidence for anything and comes back last:
        rows that do not use it have more of everything else.
        """
        kept = {s: (self.state.usage[s].copy(), self.state.carry[s].copy()) for s in self.patterns()}
        typical = [s for s in kept if self.is_typical(s)]
        self._take_away(*kept)
        shown = {s: self._evidence_with(s, *parts) for s, parts in kept.items() if s not in typical}
        waiting, asked = sorted(shown, key=lambda s: -shown[s]), -1
        while waiting and asked != len(waiting):
            asked, left = len(waiting), list[int]()
            for s in waiting:
                if self._evidence_with(s, *kept[s]) >= -self.log_alpha:
                    self._put_back(s, *kept[s])
                else:
                    left.append(s)
            waiting = left
        for s in typical:
            self._put_back(s, *kept[s])
        self.length = self._total()
        return bool(waiting)

    def _put_back(self, s: int, rows: Words, carry: Bools) -> None:
        """Put a pattern back as it was."""
        version = self._version[s]
        self._put(s, rows, carry)
        self._version[s] = version

    def _evidence_with(self, s: int, rows: Words, carry: Bools) -> float:
        """Return the evidence for a pattern that is not there."""
        together = float(kernels.evidence_of(self.data, self._leave_out(s), rows, carry))
        if together >= -self.log_alpha:
            return together
        return max(together, self._use_evidence(carry, int(count_bits(rows, self.data.row_weights))))

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns that share cells with this one."""
        return self._touched([s])

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self._take_away(s)

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""
        self._alike[s] |= classes
        self._replace([s], [self.state.usage[s].copy()], force=True)

    def update(self) -> None:
        """Compute f anew."""
        self.length = self._total()

    # ------------------------------------------------------------ seeds

    def residual(self) -> BinaryMatrix:
        """Return the ones that no pattern covers, as CSR where they are few."""
        m, n = self.bits.shape
        left = self.data.columns & ~self.state.covered
        unpack = self.bits.layout.unpack
        if int(count_bits(left).sum()) >= SPARSE_DENSITY * m * n:
            return unpack(left).T
        # A few columns at a time, so that the dense form never exists.
        panels = [sp.csr_array(unpack(left[items])) for items in cut(n, m, panel_cells=1 << 24)]
        return sp.csr_array(sp.vstack(panels).T)

    def grow_from_residual(
        self,
        max_n: int,
        rng: np.random.Generator,
        team: ThreadTeam,
        limit: int | None = None,
        by_similarity: bool = True,
    ) -> bool:
        """Look for further patterns in what is left uncovered, from groups of similar rows and items.

        ``limit`` is the number of patterns above which none is added. Without ``by_similarity`` only rows are looked at
        that many items share exactly.
        """
        seeds = seed_rows if by_similarity else identical_columns
        starts = self.bits.layout.pack(seeds(self.residual(), self.bits.weights, max_n, rng))
        lengths, evidence = np.empty(len(starts)), np.empty(len(starts))
        self._make_room(1)
        s = int(np.flatnonzero(self.state.used == 0)[0])
        without = self._leave_out(s)

        def batch(part: slice) -> None:
            rules = self._may_alter, SCREENING_ROUNDS, self.length
            kernels.screen(self.data, self.state, s, without, starts[part], *rules, lengths[part], evidence[part])

        team.run(batch, [(slice(k, k + BATCH),) for k in range(0, len(starts), BATCH)])
        promising = np.flatnonzero((lengths < self.length) & (evidence >= -self.log_alpha))
        added = False
        for k in promising[np.argsort(lengths[promising])]:
            if limit is not None and self.count_found() >= limit:
                break
            added |= self._replace([], [starts[k]], test=True)
        return added

    # ------------------------------------------------------------ contrasts

    def add_contrasts(self, limit: int | None = None) -> bool:
        """Add patterns of items that classes use differently, where that shortens f; their items stay as they are."""
        if not self._may_alter.any():
            return False
        open_ones = self.data.columns & ~self.state.covered
        least, added = float(np.log(len(self._may_alter))) - self.log_alpha, False
        for contrast in find_contrasts(self.data, open_ones, least):
            if limit is not None and self.count_found() >= limit:
                break
            added |= self._add_fixed(contrast.items)
        return added

    def _add_fixed(self, items: Bools) -> bool:
        """Add a pattern of these items, used by the rows that it makes shorter; undo it unless f falls."""
        self._make_room(1)
        s, before, errors = int(np.flatnonzero(self.state.used == 0)[0]), self.length, self.state.errors.copy()
        without, carry = self._leave_out(s), np.repeat(items[None], len(self._may_alter), axis=0)
        rows = np.bitwise_and.reduce(self.data.columns[items], axis=0)
        kernels.fit_rows(self.data, self.state, s, without, carry, ROUNDS, rows)
        if not rows.any():
            return False
        self._put_into(s, without, rows, carry)
        self._alike[s], self._sort[s] = False, FIXED
        self.length = self._total()
        if self.length < before - LEAST and self.pattern_evidence(s) >= -self.log_alpha:
            return True
        self._take_out(s)
        self.state.errors[:] = errors
        self.length = before
        return False


def _make_strata(bits: BitMatrix) -> Words:
    """Return groups of rows of about the same size, (G, W)."""
    sizes = bits.row_sizes
    stratum = size_strata(sizes, bits.weights.rows)
    return bits.layout.pack(stratum == np.arange(int(stratum.max(initial=0)) + 1)[:, None])
