"""What a round of calls on the blocks costs on Dask, beside the work itself.

    python benchmarks/cluster.py

LocalCluster with two workers of one thread; every block gets 56 x 40 numbers and gives as many back, as in an iteration
on 56 rows at rank 40. Medians of alternating rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from saltmine.cluster.crew import Crew, DaskCrew, LocalCrew
from saltmine.matrix.threads import ThreadTeam

ROUNDS = 100


class Echo:
    """A block that does nothing, so that a round costs what the crew costs."""

    def __init__(self, source: int) -> None:
        self.source = source

    def back(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what came."""
        return numbers


def milliseconds(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median of every work, all of them taking turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: statistics.median(taken) for name, taken in times.items()}


def round_of(crew: Crew, numbers: NDArray[np.float64]) -> Callable[[], object]:
    return lambda: crew.run("back", numbers)


def main() -> None:
    numbers = np.random.default_rng(0).random((56, 40))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
        Client(cluster, direct_to_workers=True, set_as_default=False) as direct,
        ThreadTeam(2) as team,
    ):
        for n_blocks in (2, 8, 32):
            blocks = range(n_blocks)
            with (
                DaskCrew(client, Echo, blocks) as usual,
                DaskCrew(direct, Echo, blocks) as straight,
                LocalCrew(map(Echo, blocks), team) as local,
            ):
                taken = milliseconds(
                    {
                        "threads of this process": round_of(local, numbers),
                        "Dask": round_of(usual, numbers),
                        "Dask, Client(direct_to_workers=True)": round_of(straight, numbers),
                    }
                )
            for name, cost in taken.items():
                print(f"{n_blocks:3} blocks, {name}: {cost:.2f} ms per round")


if __name__ == "__main__":
    main()
