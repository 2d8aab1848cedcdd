"""Several runs of the same search from different starts, one after the other or side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from joblib import effective_n_jobs

Result = TypeVar("Result")


class Stopped(Exception):
    """Raised inside a run after another one failed or the user interrupted."""


class Restarts:
    """Run a function once per seed.

    Threads, not processes: the data is shared, its products release the interpreter lock, and callbacks need not
    travel. Where one run fails or Ctrl-C is pressed, the others end at their next `checkpoint`, and only then does
    `run` raise: nothing goes on behind the user's back.

    Examples
    --------
    >>> Restarts(n_jobs=2).run(lambda number, seed: seed + number, [5, 6])
    [5, 7]
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = int(effective_n_jobs(n_jobs))
        self._stop = threading.Event()

    def checkpoint(self) -> None:
        """End the calling run if the whole thing is over."""
        if self._stop.is_set():
            raise Stopped

    def run(self, function: Callable[[int, int], Result], seeds: Sequence[int]) -> list[Result]:
        """Return ``function(number, seed)`` for every seed, in the order of the seeds."""
        if self.n_jobs == 1 or len(seeds) == 1:
            return [function(number, seed) for number, seed in enumerate(seeds)]
        with ThreadPoolExecutor(min(self.n_jobs, len(seeds))) as pool:
            futures = [pool.submit(function, number, seed) for number, seed in enumerate(seeds)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                return [future.result() for future in futures]
            except BaseException:
                self._stop.set()
                for future in futures:
                    future.cancel()
                raise
