"""Local search on a binary model by the exact description length.

Every move takes some patterns away, fits others in their place and stays if f has fallen: refit (a pattern by
itself), drop (by nothing), merge (two by one), split (one by two), add (nothing by one). The moves themselves and the
tests of a pattern are compiled (``native/search.cpp``, ``native/search_tests.cpp``); f is kept up to date there on bit
sets of the cells that are covered once and twice, so no move costs more for there being many patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from saltmine import native
from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.deadline import Deadline
from saltmine.mdl.class_tests import size_strata
from saltmine.mdl.correction import correct
from saltmine.mdl.evidence import is_typical
from saltmine.solver.contrasts import find_contrasts
from saltmine.solver.kernels import make_data
from saltmine.solver.seeds import seed_rows
from saltmine.solver.significance import choices_to_pay, drop_insignificant

# Classes that share less than this of their items have patterns of their own: an alteration larger than what it alters
# belongs to one class (the paper counts so in its Table 1).
SHARED = 0.5
# Sorts of patterns: fitted by f and evidence; with items that stay as they are; and the typical row, which needs no
# evidence.
FREE, FIXED, TYPICAL = 0, 1, 2
# There may be any number of patterns.
NO_LIMIT = 2**62


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
    n_threads : int
        Moves are tried by so many threads; the result does not depend on it.
    deadline : Deadline, optional
        Moves end when it is over; what they have done until then stays. Tests take the time that they take.
    """

    def __init__(
        self,
        bits: BitMatrix,
        model: BinaryModel,
        *,
        alterations: bool = True,
        alpha: float = 0.01,
        n_threads: int = 1,
        deadline: Deadline | None = None,
    ) -> None:
        self.bits = bits
        self.deadline = deadline or Deadline()
        self.log_alpha = float(np.log(alpha))
        self._n_threads = n_threads
        self.data = make_data(bits)
        self._may_alter = alterations and len(bits.blocks) > 1
        # The search in the library looks at these arrays as long as it is there.
        self._given = self.data, np.ascontiguousarray(bits.item_counts), _make_strata(bits)
        rules = self._may_alter, self.log_alpha, model.rank + 16, n_threads
        self._search = native.Handle(native.search_new(*self._given, *rules), native.search_free)
        self.add(model)

    @property
    def length(self) -> float:
        """Return f of the present model."""
        return float(native.search_length(self._search))

    @property
    def used(self) -> Ints:
        """The rows of every pattern, (slots,); there is no pattern where there are none."""
        used: Ints = native.search_used(self._search)
        return used

    @property
    def errors(self) -> Ints:
        """The errors of every item, (n,)."""
        errors: Ints = native.search_errors(self._search)
        return errors

    @property
    def background(self) -> Floats:
        """The share of ones among the cells of every item that no pattern covers, (n,); one where it has none."""
        background: Floats = native.search_background(self._search)
        return background

    def rows(self, s: int) -> Words:
        """Return the rows of a pattern, (W,)."""
        rows = np.empty_like(self.data.row_mask)
        native.search_rows(self._search, s, rows)
        return rows

    def carry(self, s: int) -> Bools:
        """Return which classes carry which items in a pattern, (c, n)."""
        carry = np.empty((len(self.bits.blocks), self.bits.shape[1]), dtype=bool)
        native.search_carry(self._search, s, carry)
        return carry

    def add(self, model: BinaryModel, typical: Sequence[int] = ()) -> None:
        """Add the patterns of a model as they are; those of these numbers are typical rows."""
        self._make_room(model.rank)
        slots = np.flatnonzero(self.used == 0).tolist()
        carried = np.ascontiguousarray((model.X | model.V).transpose(2, 0, 1))
        for k, (s, rows, carry) in enumerate(zip(slots, self.bits.layout.pack(model.Y.T), carried, strict=False)):
            if rows.any() and carry.any():
                native.search_put(self._search, s, rows, carry)
                self._set_alike(s, np.zeros(len(carry), dtype=bool))
                self._set_sort(s, TYPICAL if k in typical else FREE)
        self.update()

    def update(self) -> None:
        """Compute f anew."""
        native.search_update(self._search)

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns there are."""
        return [int(s) for s in np.flatnonzero(self.used)]

    def model(self) -> BinaryModel:
        """Return the present model."""
        on, n = self.patterns(), self.bits.shape[1]
        carry = np.array([self.carry(s) for s in on], dtype=bool).reshape(len(on), len(self.bits.blocks), n)
        usage = np.array([self.rows(s) for s in on], dtype=np.uint64).reshape(len(on), len(self.data.row_mask))
        X: Bools = np.logical_and.reduce(carry, axis=1)
        V = carry & ~X[:, None]
        found = BinaryModel(X.T.copy(), V.transpose(1, 2, 0).copy(), self.bits.layout.unpack(usage).T.copy())
        return drop_idle_parts(found, self.bits.blocks)

    def state(self) -> Words:
        """Return the whole state, also what was tried in vain."""
        words: Words = native.search_save(self._search)
        return words

    def restore(self, state: Words) -> None:
        """Go on from a state of a search in the same data; this one must be without patterns."""
        native.search_load(self._search, state)

    # ------------------------------------------------------------ one move

    def _in_time(self, moves: Callable[..., Any], *arguments: Any) -> Any:
        """Call compiled moves, which end when the time is over."""
        if not self.deadline.is_set:
            return moves(self._search, *arguments)
        native.search_set_deadline(self._search, *self.deadline.for_loops())
        found = moves(self._search, *arguments)
        self.deadline.after_loops(*native.search_deadline(self._search))
        return found

    def _put(self, s: int, rows: Words, carry: Bools) -> None:
        native.search_put(self._search, s, rows, carry)

    def _make_room(self, count: int) -> None:
        """See to it that there are so many empty slots."""
        native.search_make_room(self._search, count)

    def _take_away(self, *patterns: int) -> None:
        for s in patterns:
            native.search_take_out(self._search, s)
        self.update()

    def _version(self, s: int) -> int:
        """Return a number that is another one whenever a pattern has changed."""
        return int(native.search_version(self._search, s))

    def _sort(self, s: int) -> int:
        return int(native.search_sort(self._search, s))

    def _set_sort(self, s: int, sort: int) -> None:
        native.search_set_sort(self._search, s, sort)

    def _alike(self, s: int) -> Bools:
        """Return the classes that may have no items of their own in a pattern, (c,)."""
        alike = np.empty(len(self.bits.blocks), dtype=bool)
        native.search_alike(self._search, s, alike)
        return alike

    def _set_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, and no others."""
        native.search_set_alike(self._search, s, classes)

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
        return bool(native.search_replace(self._search, slots, rows, force, test, float(slack), new_sort))

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
        self._in_time(native.search_refit, trim)

    def merge(self) -> bool:
        """Try overlapping pairs of patterns as one, the most similar first; the typical row is apart."""
        return bool(self._in_time(native.search_merge))

    def _try_without(self, s: int) -> bool:
        """Try to drop a pattern and let those that share its rows or items take over, before f is compared."""
        return bool(native.search_try_without(self._search, s))

    def split(self) -> bool:
        """Try to take the rows of one class out of a pattern whose items there are its own.

        They become a pattern of their own, join the pattern whose items are most like theirs, or stop using any.
        """
        return bool(self._in_time(native.search_split))

    def _count_items(self, carried: Bools) -> int:
        return int(self.data.costs.weights @ carried)

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

    def _length_without(self, s: int) -> float:
        return float(native.search_length_without(self._search, s))

    # ------------------------------------------------------------ significance

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together if it is enough, else also that of its use."""
        return self.evidence_of_all([s])[0]

    def evidence_of_all(self, patterns: list[int]) -> list[float]:
        """Return the evidence for each of these patterns."""
        evidence = np.empty(len(patterns))
        native.search_pattern_evidence(self._search, np.array(patterns, dtype=np.int64), evidence)
        return evidence.tolist()

    def is_typical(self, s: int) -> bool:
        """Say whether a pattern is the typical row, which needs no evidence."""
        return bool(native.search_is_typical(self._search, s))

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
        rows = start.copy()
        native.search_fit_rows(self._search, s, carry, rows)
        return rows

    def _most_use(self, s: int) -> bool:
        return bool(2 * self.used[s] >= self.data.class_sizes.sum())

    def count_found(self) -> int:
        """Count the patterns without the typical row."""
        return int(native.search_count_found(self._search))

    def together(self, s: int, among: Bools | None = None) -> float:
        """Return the evidence that the items of a pattern go together, among these of its rows, (m,), or all."""
        rows = self.rows(s) if among is None else self.bits.layout.pack(among[None])[0]
        return float(native.search_together(self._search, s, rows))

    def _use_evidence(self, carry: Bools, used: int) -> float:
        """Return the evidence that classes differ in the use of any items, which those of a pattern are chosen of."""
        return float(native.search_use_evidence(self._search, carry, used))

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""
        return float(native.search_item_choice(self._search, s))

    def carriers(self, s: int) -> Words:
        """Return the rows that a pattern would shorten if there were no other, by the items that all classes carry."""
        rows: Words = native.search_carriers(self._search, s)
        return rows

    def use_log_p(self, patterns: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the evidence that the items of patterns go together, (k,), and test their use by every class, (k, c).

        The test is that more rows of a class carry a pattern than of the others.
        """
        together, log_p = np.empty(len(patterns)), np.empty((len(patterns), len(self.bits.blocks)))
        native.search_use(self._search, np.array(patterns, dtype=np.int64), together, log_p)
        return together, log_p

    def added_log_p(self, patterns: Sequence[int]) -> Floats:
        """Test what every class adds to patterns, all items together, (k, c)."""
        log_p = np.empty((len(patterns), len(self.bits.blocks)))
        native.search_added(self._search, np.array(patterns, dtype=np.int64), log_p)
        return log_p

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""
        on = np.array(self.patterns(), dtype=np.int64)
        adds = np.zeros((len(on), len(self.bits.blocks)), dtype=bool)
        native.search_adds(self._search, on, adds)
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
        return bool(native.search_drop_unsupported(self._search))

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns that share cells with this one."""
        return [int(t) for t in native.search_touched(self._search, np.array([s]))]

    def remove(self, s: int) -> None:
        """Take a pattern away."""
        self._take_away(s)

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""
        self._set_alike(s, self._alike(s) | classes)
        self.replace([s], [self.rows(s)], force=True)

    # ------------------------------------------------------------ seeds

    def _open_ones(self) -> Words:
        covered = np.empty_like(self.data.columns)
        native.search_covered(self._search, covered)
        return self.data.columns & ~covered

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
        self._in_time(native.search_screen, starts, lengths, evidence)
        promising = np.flatnonzero((lengths < self.length) & (evidence >= -self.log_alpha))
        best = starts[promising[np.argsort(lengths[promising], kind="stable")]]
        return bool(self._in_time(native.search_grow, best, NO_LIMIT if limit is None else limit))

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
            added |= bool(native.search_add_fixed(self._search, carry, start))
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


def _make_strata(bits: BitMatrix) -> Words:
    """Return groups of rows of about the same size, (G, W)."""
    sizes = bits.row_sizes
    stratum = size_strata(sizes, bits.weights.rows)
    return bits.layout.pack(stratum == np.arange(int(stratum.max(initial=0)) + 1)[:, None])
