"""Helpers that experiments and benchmarks share: times of calls, and many measurements written to a csv file."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed

T = TypeVar("T")
Work = Callable[[], object]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and the seconds that it took.

    Examples
    --------
    >>> found, seconds = timed(lambda: 2 + 3)
    >>> found, seconds < 1
    (5, True)
    """
    begin = time.perf_counter()
    found = work()
    return found, time.perf_counter() - begin


def alternating_times(works: Sequence[Work], rounds: int) -> list[list[float]]:
    """Return the seconds of every round of each work, all of them taking turns, so that all meet the same machine.

    Examples
    --------
    >>> times = alternating_times([lambda: 1, lambda: 2], rounds=3)
    >>> [len(seconds) for seconds in times]
    [3, 3]
    """
    times = [[timed(work)[1] for work in works] for _ in range(rounds)]
    return [list(seconds) for seconds in zip(*times, strict=True)]


def run_to_csv(
    measure: Callable[..., dict[str, Any]],
    arguments: Sequence[tuple[Any, ...]],
    jobs: int,
    path: Path,
    describe: Callable[[dict[str, Any]], str],
) -> list[dict[str, Any]]:
    """Return ``measure(*one)`` for all arguments, in the order in which they end.

    Every row is written to the file as soon as it is there, and a line that ``describe`` makes of it is shown on
    standard error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(measure)(*one) for one in arguments)
    rows: list[dict[str, Any]] = []
    with path.open("w", newline="") as stream:
        for row in results:
            writer = csv.DictWriter(stream, row)
            if not rows:
                writer.writeheader()
            writer.writerow(row)
            stream.flush()
            rows.append(row)
            print(f"{len(rows)}/{len(arguments)}  {describe(row)}", file=sys.stderr, flush=True)
    return rows
