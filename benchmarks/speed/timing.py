"""CPU seconds of calls, which other work on the machine changes least, and seconds on the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from experiments.measuring import Work

T = TypeVar("T")
# Longer calls are not repeated: they vary less, and the benchmark has to end.
LONG = 60.0


class Seconds(NamedTuple):
    """How long something takes."""

    clock: float
    cpu: float  # of all threads


def cpu_timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and the CPU seconds of all its threads."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def least_cpu(works: Sequence[Work], rounds: int) -> list[float]:
    """Return the least CPU seconds of every work; they take turns, so that all meet the same machine."""
    times = [[cpu_timed(work)[1] for work in works]]
    while len(times) < rounds and max(times[0]) < LONG:
        times.append([cpu_timed(work)[1] for work in works])
    return [min(seconds) for seconds in zip(*times, strict=True)]


def least_seconds(works: Sequence[Work], rounds: int) -> list[Seconds]:
    """Return the least seconds of every work, on the clock and of the processor; they take turns."""

    def seconds_of(work: Work) -> Seconds:
        begin = time.perf_counter()
        cpu = cpu_timed(work)[1]
        return Seconds(time.perf_counter() - begin, cpu)

    times = [[seconds_of(work) for work in works]]
    while len(times) < rounds and max(seconds.clock for seconds in times[0]) < LONG:
        times.append([seconds_of(work) for work in works])
    return [Seconds(*map(min, zip(*seconds, strict=True))) for seconds in zip(*times, strict=True)]
