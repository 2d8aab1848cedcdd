"""One or several runs of a search, with what the user is shown meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, TypeVar

from saltmine.progress import Listener, OnStep, Progress, ProgressBar
from saltmine.solver.restarts import Restarts

if TYPE_CHECKING:
    from saltmine.estimators.base import PatternModel


class Result(Protocol):
    """What a run finds: the lowest score is best."""

    @property
    def length(self) -> float:
        """Return f."""

    @property
    def score(self) -> float:
        """Return what the search minimises."""

    @property
    def rank(self) -> int:
        """Return the number of patterns."""


AnyResult = TypeVar("AnyResult", bound=Result)


def best_of_runs(
    model: PatternModel, search: Callable[[int, int, Listener], AnyResult], seeds: Sequence[int], n_jobs: int | None
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
                bar.finish(restart, f"{found.rank} patterns", found.length)
            return found

        return min(restarts.run(run, seeds), key=lambda found: found.score)


def steps_of(restart: int, tell: Listener) -> OnStep:
    """Return what a search that knows only steps calls to tell how far it is."""

    def on_step(rank: int, value: float, done: float) -> None:
        tell(Progress(restart, rank, 0, 0, value, "search", done))

    return on_step
