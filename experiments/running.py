"""Run tasks, several at a time, and yield each result as soon as it is there."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from joblib import cpu_count
from threadpoolctl import threadpool_limits

from experiments.experiment import Experiment, Row, SkipTask, Task


class TaskResult(NamedTuple):
    """A task that has ended.

    Attributes
    ----------
    task : Task
    found : Row or None
        What was measured, without the task itself; None if the task was skipped.
    skipped : str
        Why it was skipped, if it was.
    skips_method : bool
        Whether all tasks of the same method are skipped, as a package is missing.
    seconds : float
    """

    task: Task
    found: Row | None
    skipped: str
    skips_method: bool
    seconds: float


def run_all(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, say: Callable[[str], None]
) -> Generator[TaskResult, None, None]:
    """Yield the results of the tasks in the order in which they end.

    A method that needs a missing package is skipped, and so is a task that cannot be measured here. ``say`` gets every
    reason once.
    """
    skipped, reasons = set[str](), set[str]()
    processes = jobs if experiment.parallel else 1
    run = _run_in_turn if processes == 1 else _run_in_processes
    for result in run(experiment, tasks, processes, data, skipped):
        reason = result.skipped
        if result.skips_method:
            skipped.add(result.task["method"])
            reason = f"{result.task['method']} is left out: {reason}"
        if reason and reason not in reasons:
            say(reason)
            reasons.add(reason)
        yield result


def _run_in_turn(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, skipped: set[str]
) -> Generator[TaskResult, None, None]:
    for task in tasks:
        if task["method"] not in skipped:
            yield _run(experiment.measure, task, data)


def _run_in_processes(
    experiment: Experiment, tasks: Sequence[Task], jobs: int, data: Path | None, skipped: set[str]
) -> Generator[TaskResult, None, None]:
    threads, others = max(1, cpu_count() // jobs), set(multiprocessing.active_children())
    waiting = iter(tasks)
    # New processes, not forked ones: a fork of a process with threads may hang.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        running: set[Future[TaskResult]] = set()
        while True:
            # Only a few tasks are submitted at a time, so that a skipped method is not tried again and again.
            for task in waiting:
                if task["method"] not in skipped:
                    running.add(pool.submit(_run, experiment.measure, task, data, threads))
                if len(running) >= jobs + 1:
                    break
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
    except BaseException:
        # Who interrupts this does not want to wait for running tasks.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which all processes of a terminal get, to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(
    measure: Callable[[Task, Path | None], Row], task: Task, data: Path | None, threads: int | None = None
) -> TaskResult:
    begin = time.perf_counter()
    found, reason, skips_method = None, "", False
    try:
        with threadpool_limits(threads):
            found = measure(task, data)
    except (ImportError, SkipTask) as error:
        reason, skips_method = str(error), isinstance(error, ImportError)
    return TaskResult(task, found, reason, skips_method, time.perf_counter() - begin)


class Forecast:
    """How many tasks are left, and how long they will take, judged by the finished tasks of the same method.

    Examples
    --------
    >>> tasks = [{"method": "a"}, {"method": "a"}, {"method": "b"}]
    >>> forecast = Forecast(tasks, jobs=2)
    >>> forecast.seconds_left() is None
    True
    >>> forecast.update(TaskResult(tasks[0], {}, "", False, 4.0))
    >>> forecast.tasks_left(), forecast.seconds_left()
    (2, 4.0)
    """

    def __init__(self, tasks: Sequence[Task], jobs: int) -> None:
        self.jobs = jobs
        self.changed = time.monotonic()
        self.left = Counter(task["method"] for task in tasks)
        self.seconds: dict[str, list[float]] = {}

    def update(self, result: TaskResult) -> None:
        """Count a task that has ended; the time of a skipped one says nothing about the others."""
        method = result.task["method"]
        if result.skips_method:
            del self.left[method]
            return
        if method in self.left:
            self.left[method] -= 1
        self.changed = time.monotonic()
        if not result.skipped:
            self.seconds.setdefault(method, []).append(result.seconds)

    def tasks_left(self) -> int:
        """Return the number of tasks that have not ended."""
        return self.left.total()

    def seconds_left(self) -> float | None:
        """Return the time that the rest takes, counted from the last change; None before the first task has ended."""
        if not self.seconds or not self.tasks_left():
            return None
        means = {method: mean(seconds) for method, seconds in self.seconds.items()}
        usual = mean(means.values())
        return sum(count * means.get(method, usual) for method, count in self.left.items()) / self.jobs
