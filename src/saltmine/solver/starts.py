"""Several starts of a search, side by side, with a result that does not depend on the number of threads."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
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

    def __init__(self, k: int, task: Task, settings: SearchSettings, count_threads: Callable[[], int]) -> None:
        settings = replace(settings, deadline=settings.deadline.copy())
        super().__init__(task, settings, f"start {k}", count_threads)
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
    queue = _Queue([settings.rng, *map(np.random.default_rng, seeds)], task, settings)
    queue.run()
    done = queue.taken
    for start in done:
        settings.deadline.was_over |= start.deadline.was_over
        settings.deadline.reserve = max(settings.deadline.reserve, start.deadline.reserve)
    # With more threads there may be some behind the last that counts.
    counted = next((k for k, start in enumerate(done) if not start.differs), len(done))
    return [start for start in done[: counted + 1] if start.ended] or done[:1]


class _Queue:
    """Starts, of which every thread takes the next when it is done with one."""

    def __init__(self, generators: list[np.random.Generator], task: Task, settings: SearchSettings) -> None:
        self.taken = list[Start]()
        self._task, self._settings, self._generators = task, settings, generators
        self._n_threads, self._lock = task.team.n_threads or 1, threading.Lock()
        self._ended, self._n_running = list[Start](), 0
        # Each start has its share of the progress; the last ends where the first moves usually end.
        self._parts = np.linspace(USUALLY_DONE[0], USUALLY_DONE[1], len(generators) + 1).tolist()

    def run(self) -> None:
        """Run all starts, some of them in this thread, which is the one that is interrupted."""
        n_helpers, first = min(self._n_threads, len(self._generators)) - 1, self._take(tells=True)
        if n_helpers == 0:
            return self._work(first, tells=True)
        with ThreadPoolExecutor(n_helpers, thread_name_prefix="saltmine-start") as threads:
            try:
                futures = [threads.submit(self._work, self._take(tells=False), tells=False) for _ in range(n_helpers)]
                self._work(first, tells=True)
                for future in futures:
                    future.result()
            except BaseException:
                # Interrupted while others still run.
                self._cancel()
                raise

    def _work(self, start: Start | None, tells: bool) -> None:
        """Run this start and the next ones; those of one thread tell their progress."""
        try:
            while start is not None:
                k, expected = self.taken.index(start), max((one.seconds for one in self._ended), default=0.0)
                start.run(self._parts[k], self._parts[k + 1], 1.0 if self._ended else RELAXED, expected)
                with self._lock:
                    self._n_running -= 1
                    self._ended.append(start)
                start = self._take(tells)
        except BaseException:
            self._cancel()
            raise

    def _cancel(self) -> None:
        """End the starts that run, and begin no others."""
        with self._lock:
            self._generators = []
            for start in self.taken:
                start.deadline.cancel()

    def _take(self, tells: bool) -> Start | None:
        with self._lock:
            k = len(self.taken)
            if k >= len(self._generators) or not all(start.differs and start.ended for start in self._ended):
                return None
            settings = self._settings if k == 0 else quiet(self._settings, moves=not tells)
            settings = replace(settings, rng=self._generators[k])
            self._n_running += 1
            start = Start(k, self._task, settings, self._count_threads)
            self.taken.append(start)
            return start

    def _count_threads(self) -> int:
        """Return how many threads each of the starts that run may have."""
        return max(1, self._n_threads // max(self._n_running, 1))


def quiet(settings: SearchSettings, moves: bool = True) -> SearchSettings:
    """Return settings of a start that tells nobody of its relaxed solve, and of its moves where that is said."""
    settings = replace(settings, on_check=lambda rank, iteration, max_iter, objective: None)
    return replace(settings, on_refine=lambda rank, length, done: None) if moves else settings
