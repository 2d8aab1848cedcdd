"""The state of a local search: patterns that come and go, f kept up to date, and the evidence for each.

The state is compiled (``core/model.cpp``, ``core/search_tests.cpp``): f is kept on bit sets of the cells that are
covered once and twice, so no move costs more for there being many patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix
from saltmine.deadline import Deadline
from saltmine.mdl.class_tests import size_strata
from saltmine.solver.kernels import make_data

# Sorts of patterns: fitted by f and evidence; with items that stay as they are; and the typical row, which needs no
# evidence.
FREE, FIXED, TYPICAL = 0, 1, 2


class SearchState:
    """A binary model that the compiled search works on: its patterns, and figures of each.

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
        # The search looks at the memory of these arrays as long as it is there.
        self._given = self.data, np.ascontiguousarray(bits.item_counts), _make_strata(bits)
        n_slots = model.rank + 16
        self._search = _core.Search(*self._given, self._may_alter, self.log_alpha, n_slots, n_threads)
        self.add(model)

    @property
    def length(self) -> float:
        """Return f of the present model."""
        return self._search.length

    @property
    def used(self) -> Ints:
        """The rows of every pattern, (slots,); there is no pattern where there are none."""
        return self._search.used

    @property
    def errors(self) -> Ints:
        """The errors of every item, (n,)."""
        return self._search.errors

    @property
    def background(self) -> Floats:
        """The share of ones among the cells of every item that no pattern covers, (n,); one where it has none."""
        return self._search.background

    def rows(self, s: int) -> Words:
        """Return the rows of a pattern, (W,)."""
        return self._search.rows(s)

    def carry(self, s: int) -> Bools:
        """Return which classes carry which items in a pattern, (c, n)."""
        carry = np.empty((len(self.bits.blocks), self.bits.shape[1]), dtype=bool)
        self._search.copy_carry(s, carry)
        return carry

    def add(self, model: BinaryModel, typical: Sequence[int] = ()) -> None:
        """Add the patterns of a model as they are; those of these numbers are typical rows."""
        self._make_room(model.rank)
        slots = np.flatnonzero(self.used == 0).tolist()
        carried = np.ascontiguousarray((model.X | model.V).transpose(2, 0, 1))
        for k, (s, rows, carry) in enumerate(zip(slots, self.bits.layout.pack(model.Y.T), carried, strict=False)):
            if rows.any() and carry.any():
                self._search.put(s, rows, carry)
                self._set_alike(s, np.zeros(len(carry), dtype=bool))
                self._set_sort(s, TYPICAL if k in typical else FREE)
        self.update()

    def update(self) -> None:
        """Compute f anew."""
        self._search.update()

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
        return self._search.save()

    def restore(self, state: Words) -> None:
        """Go on from a state of a search in the same data; this one must be without patterns."""
        self._search.load(state)

    # ------------------------------------------------------------ changes

    def _in_time(self, moves: Callable[..., Any], *arguments: Any) -> Any:
        """Call compiled moves, which end when the time is over."""
        if not self.deadline.is_set:
            return moves(*arguments)
        self._search.set_deadline(*self.deadline.for_loops())
        found = moves(*arguments)
        self.deadline.after_loops(*self._search.deadline)
        return found

    def _put(self, s: int, rows: Words, carry: Bools) -> None:
        self._search.put(s, rows, carry)

    def _make_room(self, count: int) -> None:
        """See to it that there are so many empty slots."""
        self._search.make_room(count)

    def _take_away(self, *patterns: int) -> None:
        for s in patterns:
            self._search.take_out(s)
        self.update()

    def _version(self, s: int) -> int:
        """Return a number that is another one whenever a pattern has changed."""
        return self._search.version(s)

    def _sort(self, s: int) -> int:
        return self._search.sort(s)

    def _set_sort(self, s: int, sort: int) -> None:
        self._search.set_sort(s, sort)

    def _alike(self, s: int) -> Bools:
        """Return the classes that may have no items of their own in a pattern, (c,)."""
        alike = np.empty(len(self.bits.blocks), dtype=bool)
        self._search.copy_alike(s, alike)
        return alike

    def _set_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, and no others."""
        self._search.set_alike(s, classes)

    # ------------------------------------------------------------ figures of patterns

    def _length_without(self, s: int) -> float:
        return self._search.length_without(s)

    def _count_items(self, carried: Bools) -> int:
        return int(self.data.costs.weights @ carried)

    def is_typical(self, s: int) -> bool:
        """Say whether a pattern is the typical row, which needs no evidence."""
        return self._search.is_typical(s)

    def _most_use(self, s: int) -> bool:
        return bool(2 * self.used[s] >= self.data.class_sizes.sum())

    def count_found(self) -> int:
        """Count the patterns without the typical row."""
        return self._search.count_found()

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together if it is enough, else also that of its use."""
        return self.evidence_of_all([s])[0]

    def evidence_of_all(self, patterns: list[int]) -> list[float]:
        """Return the evidence for each of these patterns."""
        evidence = np.empty(len(patterns))
        self._search.pattern_evidence(np.array(patterns, dtype=np.int64), evidence)
        return evidence.tolist()

    def together(self, s: int, among: Bools | None = None) -> float:
        """Return the evidence that the items of a pattern go together, among these of its rows, (m,), or all."""
        rows = self.rows(s) if among is None else self.bits.layout.pack(among[None])[0]
        return self._search.together(s, rows)

    def _use_evidence(self, carry: Bools, used: int) -> float:
        """Return the evidence that classes differ in the use of any items, which those of a pattern are chosen of."""
        return self._search.use_evidence(carry, used)

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""
        return self._search.item_choice(s)

    def carriers(self, s: int) -> Words:
        """Return the rows that a pattern would shorten if there were no other, by the items that all classes carry."""
        return self._search.carriers(s)

    def use_log_p(self, patterns: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the evidence that the items of patterns go together, (k,), and test their use by every class, (k, c).

        The test is that more rows of a class carry a pattern than of the others.
        """
        together, log_p = np.empty(len(patterns)), np.empty((len(patterns), len(self.bits.blocks)))
        self._search.test_use(np.array(patterns, dtype=np.int64), together, log_p)
        return together, log_p

    def added_log_p(self, patterns: Sequence[int]) -> Floats:
        """Test what every class adds to patterns, all items together, (k, c)."""
        log_p = np.empty((len(patterns), len(self.bits.blocks)))
        self._search.test_added(np.array(patterns, dtype=np.int64), log_p)
        return log_p

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns that share cells with this one."""
        return [int(t) for t in self._search.touched(np.array([s]))]

    def _open_ones(self) -> Words:
        return self.data.columns & ~self._search.covered.reshape(self.data.columns.shape)


def _make_strata(bits: BitMatrix) -> Words:
    """Return groups of rows of about the same size, (G, W)."""
    sizes = bits.row_sizes
    stratum = size_strata(sizes, bits.weights.rows)
    return bits.layout.pack(stratum == np.arange(int(stratum.max(initial=0)) + 1)[:, None])
