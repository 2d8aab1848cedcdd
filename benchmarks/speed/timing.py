"""CPU seconds of calls, which other work on the machine changes least."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from experiments.measuring import Work

T = TypeVar("T")
# Longer calls are not repeated: they vary less, and the benchmark has to end.
LONG = 60.0


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
