"""Many tasks, several at a time, each handed over as soon as it is done."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from joblib import cpu_count
from threadpoolctl import threadpool_limits

from saltmine.experiments.experiment import Experiment, LeftOut, Row, Task


class Done(NamedTuple):
    """A task that has ended: what was found, or why it is left out, and whether its method is."""

    task: Task
    found: Row | None
    left_out: str
    method_is_left_out: bool
    seconds: float


def run_all(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, say: Callable[[str], None]
) -> Generator[Done, None, None]:
    """Yield the tasks in the order in which they end.

    A method that needs a package that is missing is left out, and so is a task that cannot be measured here; ``say``
    is told every reason once.
    """
    left_out, reasons = set[str](), set[str]()
    beside = jobs if experiment.parallel else 1
    walk = _one_by_one if beside == 1 else _side_by_side
    for done in walk(experiment, tasks, beside, data, left_out):
        if done.method_is_left_out:
            left_out.add(done.task["method"])
        reason = f"{done.task['method']} is left out: {done.left_out}" if done.method_is_left_out else done.left_out
        if reason and reason not in reasons:
            say(reason)
            reasons.add(reason)
        yield done


def _one_by_one(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, left_out: set[str]
) -> Generator[Done, None, None]:
    for task in tasks:
        if task["method"] not in left_out:
            yield _measured(experiment.measure, task, data)


def _side_by_side(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, left_out: set[str]
) -> Generator[Done, None, None]:
    threads, others = max(1, cpu_count() // jobs), set(multiprocessing.active_children())
    waiting = iter(tasks)
    # New processes, not forked ones: a fork of a process with threads may hang.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        running: set[Future[Done]] = set()
        while True:
            # Few are handed out at a time, so that a method that is left out is not tried again and again.
            for task in waiting:
                if task["method"] not in left_out:
                    running.add(pool.submit(_measured, experiment.measure, task, data, threads))
                if len(running) >= jobs + 1:
                    break
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
    except BaseException:
        # Whoever interrupts this does not want to wait for what is going on.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which all processes of a terminal get, to the process that has the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _measured(
    measure: Callable[[Task, Path | None], Row], task: Task, data: Path | None, threads: int | None = None
) -> Done:
    begin = time.perf_counter()
    try:
        with threadpool_limits(threads):
            found, reason, by_method = measure(task, data), "", False
    except (ImportError, LeftOut) as error:
        found, reason, by_method = None, str(error), isinstance(error, ImportError)
    return Done(task, found, reason, by_method, time.perf_counter() - begin)


class Forecast:
    """How many tasks are left, and how long the rest will take, by what tasks of the same method took so far.

    Examples
    --------
    >>> forecast = Forecast([{"method": "a"}, {"method": "a"}, {"method": "b"}], jobs=2)
    >>> forecast.seconds_left() is None
    True
    >>> forecast.ended({"method": "a"}, 4.0)
    >>> forecast.seconds_left()
    4.0
    """

    def __init__(self, tasks: Sequence[Task], jobs: int) -> None:
        self.jobs = jobs
        self.left: dict[str, int] = {}
        self.changed = time.monotonic()
        self.took: dict[str, list[float]] = {}
        for task in tasks:
            self.left[task["method"]] = self.left.get(task["method"], 0) + 1

    def ended(self, task: Task, seconds: float | None) -> None:
        """Take note of a task that is done; one that was left out took no time to go by."""
        if task["method"] in self.left:
            self.left[task["method"]] -= 1
        self.changed = time.monotonic()
        if seconds is not None:
            self.took.setdefault(task["method"], []).append(seconds)

    def leave_out(self, method: str) -> None:
        """Forget the tasks of a method."""
        self.left.pop(method, None)

    def tasks_left(self) -> int:
        """Return how many tasks are still to be done."""
        return sum(self.left.values())

    def seconds_left(self) -> float | None:
        """Return the time until all is done, from the last change on; None while there is nothing to go by."""
        if not self.took or not self.tasks_left():
            return None
        means = {method: sum(seconds) / len(seconds) for method, seconds in self.took.items()}
        usual = sum(means.values()) / len(means)
        return sum(count * means.get(method, usual) for method, count in self.left.items()) / self.jobs
