"""One or several runs of a search, with what the user is shown meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from saltmine.progress import Listener, OnStep, Progress, ProgressBar
from saltmine.solver.mdl_search import Solution
from saltmine.solver.restarts import Restarts

Result = TypeVar("Result")


def best_of_runs(
    search: Callable[[int, int, Listener], Result],
    seeds: Sequence[int],
    title: str,
    verbose: int,
    callback: Listener | None,
    n_jobs: int | None,
    solution_of: Callable[[Result], Solution],
) -> Result:
    """Search once per seed, ``search(restart, seed, tell)``, and return the result with the lowest score."""
    with ExitStack() as stack:
        listeners = [] if callback is None else [callback]
        bar = stack.enter_context(ProgressBar(title, len(seeds))) if verbose else None
        if bar is not None:
            listeners.append(bar.show)
        restarts = Restarts(n_jobs)
        one_at_a_time = threading.Lock()

        def tell(now: Progress) -> None:
            restarts.checkpoint()
            with one_at_a_time:
                for listener in listeners:
                    listener(now)

        def run(restart: int, seed: int) -> Result:
            found = search(restart, seed, tell)
            if bar is not None:
                solution = solution_of(found)
                bar.finish(restart, f"{solution.model.rank} patterns", solution.length)
            return found

        return min(restarts.run(run, seeds), key=lambda found: solution_of(found).score)


def steps_of(restart: int, tell: Listener) -> OnStep:
    """Return what a search that knows only steps calls to tell how far it is."""

    def on_step(rank: int, value: float, done: float) -> None:
        tell(Progress(restart, rank, 0, 0, value, "search", done))

    return on_step
