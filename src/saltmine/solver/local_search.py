"""Local search on a binary model by the exact description length.

Every move takes some patterns away, fits others in their place and stays if f has fallen: refit (a pattern by
itself), drop (by nothing), merge (two by one), split (one by two), add (nothing by one). The moves themselves are
compiled (``core/search.cpp``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.bits import count_bits
from saltmine.mdl.correction import correct
from saltmine.mdl.evidence import is_typical
from saltmine.solver.contrasts import find_contrasts
from saltmine.solver.search_state import FREE, TYPICAL, SearchState
from saltmine.solver.seeds import seed_rows
from saltmine.solver.significance import choices_to_pay, drop_insignificant

# Classes that share less than this of their items have patterns of their own: an alteration larger than what it alters
# belongs to one class (the paper counts so in its Table 1).
SHARED = 0.5
# There may be any number of patterns.
NO_LIMIT = 2**62


class LocalSearch(SearchState):
    """A binary model that can be improved; `SearchState` has its parameters."""

    # ------------------------------------------------------------ one move

    def replace(
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
        rows = np.array(starts, dtype=np.uint64).reshape(len(starts), len(self.data.row_mask))
        slots = np.array(old, dtype=np.int64)
        return bool(self._search.replace(slots, rows, force, test, float(slack), new_sort))

    def allow_differences(self) -> None:
        """Allow differences that were not shown: others have changed since."""
        nobody = np.zeros(len(self.bits.blocks), dtype=bool)
        for s in range(len(self.used)):
            self._set_alike(s, nobody)

    # ------------------------------------------------------------ moves

    def refit(self, trim: bool = False) -> None:
        """Fit every pattern anew, given the others, or drop it, until none changes.

        ``trim`` takes, the first time, also patterns that lose up to a quarter of what they save: a rounded model has
        rows and items that pay in f and show nothing.
        """
        self._in_time(self._search.refit, trim)

    def merge(self) -> bool:
        """Try overlapping pairs of patterns as one, the most similar first; the typical row is apart."""
        return bool(self._in_time(self._search.merge))

    def _try_without(self, s: int) -> bool:
        """Try to drop a pattern and let those that share its rows or items take over, before f is compared."""
        return bool(self._search.try_without(s))

    def split(self) -> bool:
        """Try to take the rows of one class out of a pattern whose items there are its own.

        They become a pattern of their own, join the pattern whose items are most like theirs, or stop using any.
        """
        return bool(self._in_time(self._search.split))

    def _rows_of(self, s: int, classes: Iterable[int]) -> Words:
        rows, usage = np.zeros_like(self.data.row_mask), self.rows(s)
        for a in classes:
            rows[self.bits.layout.words(a)] = usage[self.bits.layout.words(a)]
        return rows

    def split_unrelated_classes(self, max_rank: int | None = None) -> None:
        """Make patterns of their own out of what groups of classes have, where the groups share too little.

        One pattern for two such groups saves the description some nats, and tells a reader nothing. If there may be at
        most so many patterns, some have to stay together.
        """
        for s in self.patterns():
            if self.deadline.is_over():
                return
            # However much classes add to it, the typical row stays one.
            if self.is_typical(s):
                continue
            usage = self.rows(s)
            using = [a for a in range(len(self.bits.blocks)) if usage[self.bits.layout.words(a)].any()]
            # Whole numbers of floats: these are multiplied many times faster.
            items = self.carry(s)[using].astype(np.float64)
            shared, size = (items * self.data.costs.weights) @ items.T, items @ self.data.costs.weights
            linked = shared >= np.maximum(2, SHARED * np.maximum.outer(size, size))
            group = _groups(linked)
            n_groups = int(group.max(initial=-1)) + 1
            room = max_rank is None or self.count_found() - 1 + n_groups <= max_rank
            if n_groups > 1 and room:
                starts = [self._rows_of(s, np.asarray(using)[group == k]) for k in range(n_groups)]
                # The largest first: a few rows that have some of its items by chance would grow into all of it again.
                starts.sort(key=lambda rows: -int(count_bits(rows, self.data.row_weights)))
                self.replace([s], starts, force=True)

    def truncate(self, max_rank: int) -> None:
        """Take away the patterns that shorten f least, until there are at most so many beside the typical row."""
        while len(on := [s for s in self.patterns() if not self.is_typical(s)]) > max_rank:
            lengths = [self._length_without(s) for s in on]
            # Many at a time while there are far too many.
            surplus = max(1, (len(on) - max_rank) // 4)
            self._take_away(*[on[k] for k in np.argsort(lengths, kind="stable")[:surplus]])

    # ------------------------------------------------------------ significance

    def _name_typical(self) -> None:
        """Let the largest pattern be the typical row that enough rows use and whose shared items show nothing.

        There is one: what two describe together would be found in noise as well.
        """
        on = self.patterns()
        if any(self._sort(s) == TYPICAL for s in on):
            return
        used = {s: int(self.used[s]) for s in on}
        enough = [s for s in on if self._sort(s) == FREE and is_typical(used[s], int(self.data.class_sizes.sum()))]
        area = {s: used[s] * self._count_items(np.logical_or.reduce(self.carry(s), axis=0)) for s in enough}
        for s in sorted(enough, key=lambda s: -area[s]):
            self._set_sort(s, TYPICAL)
            if max(self.together(s), self._use_evidence(self.carry(s), used[s])) < -self.log_alpha:
                return
            self._set_sort(s, FREE)

    def add_typical(self) -> bool:
        """Add the typical row if it shortens f and there is none."""
        if any(self.is_typical(s) for s in self.patterns()):
            return False
        return self.replace([], [self.data.row_mask], new_sort=TYPICAL)

    def leave_to_typical(self) -> bool:
        """Take the items of the typical row of most rows out of all other patterns; their rows use it as well.

        A pattern that repeats them saves its rows the use of the typical row. But they do not belong to it: what is
        said of the pattern and of its classes would be said of items that everybody has. Returns whether there were
        any.
        """
        changed = False
        for t in [s for s in self.patterns() if self._sort(s) == TYPICAL and self._most_use(s)]:
            kept, typical = self.rows(t), self.carry(t)
            own: Bools = np.logical_and.reduce(typical, axis=0)
            touched = [s for s in self.patterns() if self._sort(s) == FREE and (self.carry(s) & own).any()]
            if not touched:
                continue
            changed = True
            parts = {s: (self.rows(s), self.carry(s) & ~own) for s in touched}
            self._take_away(t, *touched)
            for s, (rows, carry) in parts.items():
                kept |= rows
                if self._count_items(np.logical_or.reduce(carry, axis=0)) >= 2:
                    self._put(s, rows, carry)
            self._put(t, self._fit_rows(t, typical, kept), typical)
        self.update()
        return changed

    def _fit_rows(self, s: int, carry: Bools, start: Words) -> Words:
        """Return the rows that save most by these items, which stay as they are, for the empty slot ``s``."""
        return self._search.fit_rows(s, carry, start)

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""
        on = np.array(self.patterns(), dtype=np.int64)
        adds = np.zeros((len(on), len(self.bits.blocks)), dtype=bool)
        self._search.adds(on, adds)
        evidence = np.full((len(self.used), adds.shape[1]), np.inf)
        if adds.any():
            together, use = self.use_log_p(on.tolist())
            use = np.minimum(use + choices_to_pay(self, on.tolist(), together)[:, None], 0.0)
            added, adding = np.zeros(adds.shape), adds.any(axis=1)
            added[adding] = self.added_log_p(on[adding].tolist())
            evidence[on] = np.where(adds, -correct(np.stack([use, added]))[1], np.inf)
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
        """Put the patterns back one by one, each tested given those before it, and drop those that never pass."""
        return bool(self._search.drop_unsupported())

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self._take_away(s)

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""
        self._set_alike(s, self._alike(s) | classes)
        self.replace([s], [self.rows(s)], force=True)

    # ------------------------------------------------------------ seeds

    def grow_from_residual(
        self, max_n: int, rng: np.random.Generator, limit: int | None = None, by_similarity: bool = True
    ) -> bool:
        """Look for further patterns in what is left uncovered, from groups of similar rows and items.

        ``limit`` is the number of patterns above which none is added. Without ``by_similarity`` only rows are looked at
        that many items share exactly.
        """
        starts = seed_rows(
            self.bits,
            self._open_ones(),
            max_n,
            rng,
            by_similarity=by_similarity,
            n_threads=self._n_threads,
            seconds=self.deadline.for_loops()[0],
        )
        lengths, evidence = np.empty(len(starts)), np.empty(len(starts))
        self._in_time(self._search.screen, starts, lengths, evidence)
        promising = np.flatnonzero((lengths < self.length) & (evidence >= -self.log_alpha))
        best = starts[promising[np.argsort(lengths[promising], kind="stable")]]
        return bool(self._in_time(self._search.grow, best, NO_LIMIT if limit is None else limit))

    # ------------------------------------------------------------ contrasts

    def add_contrasts(self, limit: int | None = None) -> bool:
        """Add patterns of items that classes use differently, where that shortens f; their items stay as they are."""
        if not self._may_alter:
            return False
        c = len(self.bits.blocks)
        least, added = float(np.log(c)) - self.log_alpha, False
        for contrast in find_contrasts(self.data, self._open_ones(), least, self._n_threads):
            if (limit is not None and self.count_found() >= limit) or self.deadline.is_over():
                break
            carry = np.repeat(contrast.items[None], c, axis=0)
            start = np.bitwise_and.reduce(self.data.columns[contrast.items], axis=0)
            added |= bool(self._search.add_fixed(carry, start))
        return added


def _groups(linked: Bools) -> Ints:
    """Return the number of the group of every class: linked, (c, c), are two of a group directly or by others."""
    group = np.full(len(linked), -1)
    for a in range(len(linked)):
        if group[a] < 0:
            members = np.arange(len(linked)) == a
            while (more := linked[members].any(axis=0) & ~members).any():
                members |= more
            group[members] = group.max() + 1
    return group
