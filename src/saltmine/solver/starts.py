"""Several starts of a search, side by side, with a result that does not depend on the number of threads."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from saltmine.deadline import TimeOver
from saltmine.solver.solution import USUALLY_DONE, SearchSettings, Task
from saltmine.solver.stepped_search import SteppedSearch

# The work of a start grows with cells and classes, and with the number of patterns, which grows with that of the items.
# Data of so much work is searched from one start. Smaller data, where starts differ more, from more: as many as the
# square root of the share, but no more than six.
WORK_OF_ONE_START, MOST_STARTS = 1 << 28, 6
# Where the time is limited, the share of it for the first relaxed solve, which has to leave time for moves.
RELAXED = 0.7


def count_starts(n_rows: int, n_items: int, n_classes: int) -> int:
    """Return the number of starts, by the size of the data.

    Examples
    --------
    >>> count_starts(100, 40, 2), count_starts(3000, 70, 2), count_starts(1000, 1000, 2)
    (6, 3, 1)
    """
    share = WORK_OF_ONE_START / (n_rows * n_items**2 * n_classes)
    return min(max(round(math.sqrt(share)), 1), MOST_STARTS)


class Start(SteppedSearch):
    """One start: a relaxed solve, and moves until none helps.

    Attributes
    ----------
    differs : bool
        Whether there was anything to begin from; where the spectrum shows nothing, all starts are the same.
    ended : bool
        Whether there was time for all of it.
    seconds : float
    """

    def __init__(self, k: int, task: Task, settings: SearchSettings, n_threads: int) -> None:
        settings = replace(settings, deadline=settings.deadline.copy())
        super().__init__(task, settings, f"start {k}", n_threads)
        self.differs, self.ended, self.seconds = True, False, 0.0

    def run(self, begin: float, end: float, share: float, expected: float) -> None:
        """Search, and tell the progress as from ``begin`` to ``end``; it is expected to take so many seconds."""
        clock = time.perf_counter()
        try:
            self.differs = self.steps.take(lambda: self.begin(share), expected)
            self.improve(begin, end)
            self.ended = True
        except TimeOver:
            return
        finally:
            self.seconds = time.perf_counter() - clock
        self.steps.keep()


def run_starts(seeds: Sequence[int], task: Task, settings: SearchSettings) -> list[Start]:
    """Run a start, and one more for every seed, as many at a time as there are threads; return those that ended.

    The first draws from the random numbers of the settings. If none ended in time, the first is returned.
    """
    generators = [settings.rng, *map(np.random.default_rng, seeds)]
    n_threads, done, n_starts = task.team.n_threads or 1, list[Start](), len(generators)
    # Each start has its share of the time; the last ends where the first moves usually end.
    parts = np.linspace(USUALLY_DONE[0], USUALLY_DONE[1], n_starts + 1).tolist()
    while len(done) < n_starts and all(start.differs and start.ended for start in done):
        first, count = len(done), min(n_threads, n_starts - len(done))
        last = first + count
        # What one start tells is enough: those beside it would tell something else, those after it would begin again.
        told = [settings if k == 0 else quiet(settings, moves=k > first) for k in range(first, last)]
        own = [replace(one, rng=rng) for one, rng in zip(told, generators[first:last], strict=True)]
        group = [Start(first + k, task, own[k], n_threads // count) for k in range(count)]
        expected = max((start.seconds for start in done), default=0.0)
        _side_by_side(group, parts[first], parts[last], 1.0 if done else RELAXED, expected)
        done += group
    for start in done:
        settings.deadline.was_over |= start.deadline.was_over
        settings.deadline.reserve = max(settings.deadline.reserve, start.deadline.reserve)
    # With more threads there may be some behind the last that counts.
    counted = next((k for k, start in enumerate(done) if not start.differs), n_starts)
    return [start for start in done[: counted + 1] if start.ended] or done[:1]


def quiet(settings: SearchSettings, moves: bool = True) -> SearchSettings:
    """Return settings of a start that tells nobody of its relaxed solve, and of its moves where that is said."""
    settings = replace(settings, on_check=lambda rank, iteration, max_iter, objective: None)
    return replace(settings, on_refine=lambda rank, length, done: None) if moves else settings


def _side_by_side(group: Sequence[Start], begin: float, end: float, share: float, expected: float) -> None:
    """Run these starts, the first in this thread, which is the one that is interrupted."""
    if len(group) == 1:
        return group[0].run(begin, end, share, expected)
    with ThreadPoolExecutor(len(group) - 1, thread_name_prefix="saltmine-start") as threads:
        futures = [threads.submit(start.run, begin, end, share, expected) for start in group[1:]]
        try:
            group[0].run(begin, end, share, expected)
            for future in futures:
                future.result()
        except BaseException:
            for start in group:
                start.deadline.cancel()
            raise
