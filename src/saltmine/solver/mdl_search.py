"""saltmine's own search: a short relaxed solve, rounding, and a local search by description length."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Concatenate

import numpy as np

from saltmine.arrays import Words
from saltmine.checkpoint import State
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.deadline import Deadline, TimeOver
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.rounding import round_factors
from saltmine.solver.scoring import description_length
from saltmine.solver.seeds import SEEDS, SEEDS_OF_FEW_ROWS
from saltmine.solver.solution import USUALLY_DONE, SearchSettings, Solution, Task, without_patterns
from saltmine.solver.steps import Answer, Steps

# The relaxed solve starts from more patterns than the spectrum shows: they find their places by crowding out each
# other.
START_FACTOR, START_MORE = 1.5, 4
# The penalty grows over the first iterations; few more are needed, as the local search does the rest.
RAMP, ITERATIONS = 60, 80
# With this many times more items than rows, items that occur in exactly the same rows show the patterns.
FEW_ROWS = 100
# With so many classes, and so many items times classes, the relaxed solve takes all rows for one class: alterations
# take most of its time and memory, and the moves find them. On smaller, dense tables it finds more with them.
MANY_CLASSES, MANY_ALTERATIONS = 5, 3 << 13
# The relaxed solve then starts with so many more patterns per class, and no more than the second; with more items times
# classes than the third with none, which would take too long.
MORE_PER_CLASS, MOST_MORE, MOST_ALTERATIONS = 8, 64, 1 << 17
# The work of a start grows with cells and classes, and with the number of patterns, which grows with that of the items.
# Data of so much work is searched from one start. Smaller data, where starts differ more, from more: as many as the
# square root of the share, but no more than six.
WORK_OF_ONE_START, MOST_STARTS = 1 << 28, 6
# Rounds of moves on the binary model; one or two are the rule.
MAX_ROUNDS = 5
# Where the time is limited: the share of it for looking; of that for starts, and more for every one; of that for the
# first relaxed solve; and of the time for moves that for those before the tests.
LOOKING, STARTING, MORE_STARTING, RELAXED, MOVING = 0.9, 0.4, 0.08, 0.7, 0.7


def search_sample(matrix: BinaryMatrix, bits: BitMatrix, settings: SearchSettings) -> Solution:
    """Search a sample of the data, which may have no ones at all."""
    return mdl_search(settings.task(matrix, bits), settings) if bits.shape[1] else without_patterns(bits)


def mdl_search(task: Task, settings: SearchSettings) -> Solution:
    """Run saltmine's own solver: a short relaxed solve, then moves on the binary model; docs/solver.md says why."""
    return _MemorySearch(task, settings).run()


class _MemorySearch:
    """A search in memory: the patterns of now, those of the best start so far, and how it went.

    Everything that changes the state is a step, so that an interrupted fit goes on from a checkpoint (`steps`).
    """

    def __init__(self, task: Task, settings: SearchSettings) -> None:
        self._task, self._settings, self._deadline = task, settings, settings.deadline
        self._local, self._best = self._new_search(), None
        self._n_iter, self._history = 0, list[float]()
        # Starts that were tried, and how long one takes.
        self._n_starts, self._start_seconds = 0, 0.0
        self._steps = Steps(self, settings.part("search"), settings.deadline)
        n_rows, n_items = task.bits.weights.shape
        # The relaxed solve would then give every row a pattern of its own.
        self._few_rows = n_items > FEW_ROWS * n_rows
        self._limit = None if settings.max_rank is None else 2 * settings.max_rank

    _best: LocalSearch | None

    def run(self) -> Solution:
        """Look for patterns, and end with those that are shown."""
        try:
            with self._deadline.phase(LOOKING):
                self._look()
            self._end()
        except TimeOver:
            self._cut_short()
        if self._deadline.was_over:
            self._use_time_left()
        self._steps.keep()
        return self._solution()

    # ------------------------------------------------------------ the state

    def state(self) -> State:
        """Return all that the next steps depend on."""
        return {
            "local": self._local.state(),
            "best": None if self._best is None else self._best.state(),
            "n_iter": self._n_iter,
            "history": list(self._history),
            "random": self._settings.rng.bit_generator.state,
        }

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self._local, self._best = self._new_search(state["local"]), None
        if state["best"] is not None:
            self._best = self._new_search(state["best"])
        self._n_iter, self._history = state["n_iter"], list(state["history"])
        self._settings.rng.bit_generator.state = state["random"]

    def _new_search(self, state: Words | None = None) -> LocalSearch:
        """Return a search that begins without patterns, or from a state."""
        bits, settings = self._task.bits, self._settings
        search = LocalSearch(
            bits,
            BinaryModel.empty(*bits.shape, len(bits.blocks)),
            alterations=settings.alterations,
            alpha=settings.alpha,
            n_threads=self._task.team.n_threads or 1,
            deadline=settings.deadline,
        )
        if state is not None:
            search.restore(state)
        return search

    def _do(self, move: Callable[Concatenate[LocalSearch, ...], Answer], *arguments: Any) -> Answer:
        return self._steps.take(lambda: move(self._local, *arguments))

    # ------------------------------------------------------------ steps

    def _look(self) -> None:
        """Start, and grow from the residual."""
        if self._few_rows:
            self._improve(USUALLY_DONE[0], USUALLY_DONE[1])
        else:
            with self._deadline.phase(STARTING + MORE_STARTING * self._count_starts()):
                self._try_starts()
            self._steps.take(self._take_best)
        self._grow()

    def _grow(self) -> None:
        """Look for further patterns in the residual, as long as there are any."""
        seeds, how = (
            SEEDS_OF_FEW_ROWS if self._few_rows else SEEDS,
            (self._settings.rng, self._limit, not self._few_rows),
        )
        for k, (max_n, (begin, end)) in enumerate(zip(seeds, pairwise(USUALLY_DONE[1:]), strict=True)):
            if not self._do(LocalSearch.grow_from_residual, max_n, *how):
                break
            # Where time is short, the next round of growth is worth more than the last moves of this one.
            with self._deadline.phase(1 / (len(seeds) - k)):
                self._improve(begin, end)

    def _count_starts(self) -> int:
        return count_starts(*self._task.bits.shape, len(self._task.bits.blocks))

    def _try_starts(self) -> None:
        """Solve the relaxed problem from several starts, improve what it gives, and keep the best."""
        n_starts = self._count_starts()
        # Each start has its share of the time; the last ends where the first moves usually end.
        parts = np.linspace(USUALLY_DONE[0], USUALLY_DONE[1], n_starts + 1).tolist()
        for k, (begin, end) in enumerate(pairwise(parts)):
            clock = time.perf_counter()
            differs = self._steps.take(partial(self._start, k), self._start_seconds)
            self._improve(begin, end)
            self._n_starts, self._start_seconds = k + 1, time.perf_counter() - clock
            self._steps.take(self._compare)
            if not differs:
                # Where the spectrum shows nothing, all starts are the same.
                break

    def _start(self, k: int) -> bool:
        """Begin anew from a relaxed solve; return whether it found anything to begin from."""
        # The first tells how far it is; those after it would begin again.
        settings = self._settings if k == 0 else replace(self._settings, on_check=_be_quiet)
        # The first has to leave time for moves: rounded after fewer iterations it is still better than nothing.
        with self._deadline.phase(RELAXED if k == 0 else 1.0):
            model, iterations, checks = _relaxed_start(self._task, settings)
        self._deadline.check()
        self._n_iter, self._history = self._n_iter + iterations, [*self._history, *checks]
        self._local = self._new_search()
        self._local.add(model)
        self._local.refit(trim=True)
        return iterations > 0

    def _compare(self) -> None:
        """Keep the patterns of now if they are the best so far."""
        if self._best is None or self._local.length < self._best.length:
            self._best = self._local

    def _take_best(self) -> None:
        """Go on with the best start."""
        if self._best is not None:
            self._local, self._best = self._best, None

    def _improve(self, begin: float, end: float) -> None:
        """Merge, split and refit until no move helps; then take away what chance explains."""

        def tell(done: float) -> None:
            if not self._steps.are_repeated:
                local = self._local
                self._settings.on_refine(len(local.patterns()), local.length, begin + done * (end - begin))

        self._do(LocalSearch.allow_differences)
        with self._deadline.phase(MOVING):
            for k in range(MAX_ROUNDS):
                tell(0.3 + 0.5 * k / MAX_ROUNDS)
                if self._settings.max_rank is None:
                    self._do(LocalSearch.split_unrelated_classes)
                merged = self._do(LocalSearch.merge)
                if not self._do(LocalSearch.split) and not merged:
                    break
                self._do(LocalSearch.refit)
        for k in range(MAX_ROUNDS):
            tell(0.8 + 0.2 * k / MAX_ROUNDS)
            if not self._steps.take(self._filter):
                break
            self._do(LocalSearch.add_typical)
            self._do(LocalSearch.refit)
        if self._do(LocalSearch.add_typical):
            self._do(LocalSearch.refit)

    def _filter(self) -> bool:
        """Take away what chance explains, and see how long that takes: it has to be done at the end."""
        begin = time.perf_counter()
        dropped = self._local.drop_insignificant()
        self._deadline.reserve = self._settings.expected_end(self._local, time.perf_counter() - begin)
        return dropped

    # ------------------------------------------------------------ the end

    def _end(self) -> None:
        """Add contrasts, and end with patterns that are shown."""
        max_rank = self._settings.max_rank
        self._do(LocalSearch.add_contrasts, self._limit)
        if max_rank is not None:
            self._do(LocalSearch.truncate, max_rank)
        # Classes that were not shown to differ may be by now.
        self._do(LocalSearch.allow_differences)
        if self._do(LocalSearch.leave_to_typical):
            # What differed only in these items is one pattern.
            for _ in range(MAX_ROUNDS):
                if not self._do(LocalSearch.merge):
                    break
        self._do(LocalSearch.refit)
        self._do(LocalSearch.split_unrelated_classes, max_rank)
        if self._do(LocalSearch.drop_insignificant):
            # What a pattern of most rows described is left to the typical row.
            self._do(LocalSearch.add_typical)
            self._do(LocalSearch.drop_until_significant)
        if self._do(LocalSearch.leave_to_typical):
            self._do(LocalSearch.drop_until_significant)

    def _cut_short(self) -> None:
        """Make a model of what there is in which everything is shown, however long that takes."""
        self._take_best()
        self._local.deadline = Deadline()
        if self._settings.max_rank is not None:
            self._local.truncate(self._settings.max_rank)
        self._local.leave_to_typical()
        self._local.split_unrelated_classes(self._settings.max_rank)
        self._local.drop_until_significant()

    def _use_time_left(self) -> None:
        """Try starts that there was no time for before, where the rest took less than its share."""
        done, first = self._local, max(self._n_starts, 1)
        n_starts = 1 if self._few_rows else self._count_starts()
        try:
            for k in range(first, n_starts):
                self._steps.take(partial(self._start, k), 2 * self._start_seconds)
                self._improve(1.0, 1.0)
                self._grow()
                self._end()
                if self._local.length < done.length:
                    done = self._local
        except TimeOver:
            pass
        self._local = done

    def _solution(self) -> Solution:
        bits, local = self._task.bits, self._local
        # The look at the spectrum is an iteration as well, and the only one where it shows nothing.
        n_iter, finished, nothing = max(self._n_iter, 1), not self._deadline.was_over, without_patterns(bits)
        # Judged by the terms of this search: with many classes, S as printed punishes alterations that several share.
        if local.length >= nothing.length:
            return replace(nothing, n_iter=n_iter, history=self._history, finished=finished)
        model = local.model()
        typical = [k for k, s in enumerate(local.patterns()) if local.is_typical(s)]
        figures = description_length(bits, model), local.length, n_iter, self._history
        return Solution(model, *figures, typical, finished)


def count_starts(n_rows: int, n_items: int, n_classes: int) -> int:
    """Return the number of starts, by the size of the data.

    Examples
    --------
    >>> count_starts(100, 40, 2), count_starts(3000, 70, 2), count_starts(1000, 1000, 2)
    (6, 3, 1)
    """
    share = WORK_OF_ONE_START / (n_rows * n_items**2 * n_classes)
    return min(max(round(math.sqrt(share)), 1), MOST_STARTS)


def _be_quiet(rank: int, iteration: int, max_iter: int, objective: float) -> None:
    """Tell nobody."""


def _relaxed_start(task: Task, settings: SearchSettings) -> tuple[BinaryModel, int, list[float]]:
    """Solve the relaxed problem, without alterations where there would be too many of them, and round it."""
    n_items, n_classes = task.bits.shape[1], len(task.bits.blocks)
    if n_classes < MANY_CLASSES or n_classes * n_items < MANY_ALTERATIONS:
        return _solve_and_round(task, settings, START_MORE)
    # A pattern with alterations may hold a set of items for every class; without, each of them needs one.
    affordable = n_classes * n_items < MOST_ALTERATIONS
    more = START_MORE + (min(MORE_PER_CLASS * n_classes, MOST_MORE) if affordable else 0)
    model, n_iter, history = _solve_and_round(task.merged, replace(settings, alterations=False), more)
    return replace(model, V=np.zeros((n_classes, *model.X.shape), dtype=bool)), n_iter, history


def _solve_and_round(task: Task, settings: SearchSettings, more: int) -> tuple[BinaryModel, int, list[float]]:
    """Solve the relaxed problem at a rank that the spectrum of the data suggests, and ``more``, and round it."""
    m, n = task.data.shape
    limit = min(m, n) if settings.max_rank is None else min(m, n, settings.max_rank)
    signals = count_signals(task.data, settings.rng, max_n=limit)
    if not signals:
        return BinaryModel.empty(m, n, len(task.data.blocks)), 0, []
    rank = min(int(START_FACTOR * signals) + more, limit)
    max_iter = min(settings.max_iter, ITERATIONS)
    solver = AcceleratedDescent(task.data, cross_weights(task.bits.class_sizes))
    descent = solver.run(
        solver.start(rank, settings.rng),
        ramp=RAMP,
        max_iter=max_iter,
        tol=settings.tol,
        alterations=settings.alterations,
        on_check=lambda iteration, value: settings.on_check(rank, iteration, max_iter, value),
        deadline=settings.deadline,
    )
    return _round(descent.factors, task.bits), descent.n_iter, descent.history


def _round(factors: Factors, bits: BitMatrix) -> BinaryModel:
    """Round by f over both thresholds; the local search does not need them to the last digit."""
    return round_factors(factors.X, factors.V, factors.Y, bits, thresholds=np.array([0.3, 0.5, 0.7]))[0]
