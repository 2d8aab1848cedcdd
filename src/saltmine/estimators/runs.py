"""One or several runs of a search, with what the user is shown meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar

from joblib import effective_n_jobs

from saltmine.nouns import counted
from saltmine.progress import Listener, OnStep, Progress, ProgressBar

Anything = TypeVar("Anything")


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

    def run(self, function: Callable[[int, int], Anything], seeds: Sequence[int]) -> list[Anything]:
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


class Watched(Protocol):
    """What a user wants to be told of a search."""

    callback: Listener | None
    verbose: int

    @property
    def _title(self) -> str:
        """What progress is shown under."""


class Result(Protocol):
    """What a run finds, a dataclass: the lowest score is best."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def length(self) -> float:
        """Return f."""

    @property
    def score(self) -> float:
        """Return what the search minimises."""

    @property
    def rank(self) -> int:
        """Return the number of patterns."""

    @property
    def finished(self) -> bool:
        """Return whether the search was not cut short."""


AnyResult = TypeVar("AnyResult", bound=Result)


def best_of_runs(
    model: Watched, search: Callable[[int, int, Listener], AnyResult], seeds: Sequence[int], n_jobs: int | None
) -> AnyResult:
    """Search once per seed, ``search(restart, seed, tell)``, and return the result with the lowest score."""
    with ExitStack() as stack:
        listeners = [] if model.callback is None else [model.callback]
        bar = stack.enter_context(ProgressBar(model._title, len(seeds))) if model.verbose else None
        if bar is not None:
            listeners.append(bar.show)
        restarts = Restarts(n_jobs)
        one_at_a_time = threading.Lock()

        def tell(now: Progress) -> None:
            restarts.checkpoint()
            with one_at_a_time:
                for listener in listeners:
                    listener(now)

        def run(restart: int, seed: int) -> AnyResult:
            found = search(restart, seed, tell)
            if bar is not None:
                bar.finish(restart, counted(found.rank, "pattern"), found.length)
            return found

        results = restarts.run(run, seeds)
        best = min(results, key=lambda found: found.score)
        # Another one may have found more with more time.
        return best if all(found.finished for found in results) else replace(best, finished=False)


def steps_of(restart: int, tell: Listener) -> OnStep:
    """Return what a search that knows only steps calls to tell how far it is."""

    def on_step(rank: int, value: float, done: float) -> None:
        tell(Progress(restart, rank, 0, 0, value, "search", done))

    return on_step
