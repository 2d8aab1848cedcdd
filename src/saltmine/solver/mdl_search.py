"""saltmine's own search: starts from a short relaxed solve, and a local search by description length."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

from saltmine.data.bits import BitMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.deadline import Deadline, TimeOver
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import description_length
from saltmine.solver.seeds import SEEDS, SEEDS_OF_FEW_ROWS
from saltmine.solver.solution import USUALLY_DONE, SearchSettings, Solution, Task, without_patterns
from saltmine.solver.starts import count_starts, quiet, run_starts
from saltmine.solver.stepped_search import MAX_ROUNDS, SteppedSearch

# With this many times more items than rows, items that occur in exactly the same rows show the patterns.
FEW_ROWS = 100
# Where the time is limited: the share of it for looking; and of that for starts, and more for every one.
LOOKING, STARTING, MORE_STARTING = 0.9, 0.4, 0.08


def search_sample(matrix: BinaryMatrix, bits: BitMatrix, settings: SearchSettings) -> Solution:
    """Search a sample of the data, which may have no ones at all."""
    return mdl_search(settings.task(matrix, bits), settings) if bits.shape[1] else without_patterns(bits)


def mdl_search(task: Task, settings: SearchSettings) -> Solution:
    """Run saltmine's own solver: a short relaxed solve, then moves on the binary model (docs/method/search.md)."""
    return _MemorySearch(task, settings).run()


class _MemorySearch(SteppedSearch):
    """A search in memory: the best of several starts, and further patterns from what it leaves uncovered."""

    def __init__(self, task: Task, settings: SearchSettings) -> None:
        super().__init__(task, settings, "search", lambda: task.team.n_threads or 1)
        # Starts that were tried, and how long one takes.
        self._n_tried, self._start_seconds = 0, 0.0
        n_rows, n_items = task.bits.weights.shape
        # The relaxed solve would then give every row a pattern of its own.
        self._few_rows = n_items > FEW_ROWS * n_rows
        self._limit = None if settings.max_rank is None else 2 * settings.max_rank

    def run(self) -> Solution:
        """Look for patterns, and end with those that are shown."""
        try:
            with self.deadline.phase(LOOKING):
                self._look()
            self._end()
        except TimeOver:
            self._cut_short()
        if self.deadline.was_over:
            self._use_time_left()
        self.steps.keep()
        return self._solution()

    def _look(self) -> None:
        """Start, and grow from the residual."""
        if self._few_rows:
            self.improve(USUALLY_DONE[0], USUALLY_DONE[1])
        else:
            n_starts = self._count_starts()
            with self.deadline.phase(STARTING + MORE_STARTING * n_starts):
                seeds = self.steps.take(lambda: self.settings.rng.integers(2**62, size=n_starts - 1).tolist())
                self.steps.take(partial(self._take_best_start, seeds))
        self._grow()

    def _count_starts(self) -> int:
        return count_starts(*self.task.bits.shape, len(self.task.bits.blocks))

    def _take_best_start(self, seeds: list[int]) -> None:
        """Go on from the best of several starts."""
        starts = run_starts(seeds, self.task, self.settings)
        best = min(starts, key=lambda start: start.local.length)
        # It had fewer threads than there are now.
        self.local = self.new_search(best.local.state())
        self.n_iter = sum(start.n_iter for start in starts)
        self.history = [value for start in starts for value in start.history]
        self._n_tried, self._start_seconds = len(starts), max(start.seconds for start in starts)

    def _grow(self) -> None:
        """Look for further patterns in the residual, as long as there are any."""
        seeds = SEEDS_OF_FEW_ROWS if self._few_rows else SEEDS
        how = self.settings.rng, self._limit, not self._few_rows
        for k, (max_n, (begin, end)) in enumerate(zip(seeds, pairwise(USUALLY_DONE[1:]), strict=True)):
            if not self.do(LocalSearch.grow_from_residual, max_n, *how):
                break
            # Where time is short, the next round of growth is worth more than the last moves of this one.
            with self.deadline.phase(1 / (len(seeds) - k)):
                self.improve(begin, end)

    def _end(self) -> None:
        """Add contrasts, and end with patterns that are shown."""
        max_rank = self.settings.max_rank
        self.do(LocalSearch.add_contrasts, self._limit)
        if max_rank is not None:
            self.do(LocalSearch.truncate, max_rank)
        # Classes that were not shown to differ may be by now.
        self.do(LocalSearch.allow_differences)
        if self.do(LocalSearch.leave_to_typical):
            # What differed only in these items is one pattern.
            for _ in range(MAX_ROUNDS):
                if not self.do(LocalSearch.merge):
                    break
        self.do(LocalSearch.refit)
        self.do(LocalSearch.split_unrelated_classes, max_rank)
        if self.do(LocalSearch.drop_insignificant):
            # What a pattern of most rows described is left to the typical row.
            self.do(LocalSearch.add_typical)
            self.do(LocalSearch.drop_until_significant)
        if self.do(LocalSearch.leave_to_typical):
            self.do(LocalSearch.drop_until_significant)

    def _cut_short(self) -> None:
        """Make a model of what there is in which everything is shown, however long that takes."""
        self.local.deadline = Deadline()
        if self.settings.max_rank is not None:
            self.local.truncate(self.settings.max_rank)
        self.local.leave_to_typical()
        self.local.split_unrelated_classes(self.settings.max_rank)
        self.local.drop_until_significant()

    def _use_time_left(self) -> None:
        """Try starts that there was no time for before, where the rest took less than its share."""
        done, self.settings = self.local, quiet(self.settings)
        n_starts = 1 if self._few_rows else self._count_starts()
        try:
            for _ in range(max(self._n_tried, 1), n_starts):
                self.steps.take(self.begin, 2 * self._start_seconds)
                self.improve(1.0, 1.0)
                self._grow()
                self._end()
                if self.local.length < done.length:
                    done = self.local
        except TimeOver:
            pass
        self.local = done

    def _solution(self) -> Solution:
        bits, local = self.task.bits, self.local
        # The look at the spectrum is an iteration as well, and the only one where it shows nothing.
        n_iter, finished, nothing = max(self.n_iter, 1), not self.deadline.was_over, without_patterns(bits)
        # Judged by the terms of this search: with many classes, S as printed punishes alterations that several share.
        if local.length >= nothing.length:
            return replace(nothing, n_iter=n_iter, history=self.history, finished=finished)
        model = local.model()
        typical = [k for k, s in enumerate(local.patterns()) if local.is_typical(s)]
        figures = description_length(bits, model), local.length, n_iter, self.history
        return Solution(model, *figures, typical, finished)
