"""What a round of calls on the blocks costs on Dask, beside the work itself, and what more workers gain.

    python -m benchmarks.cluster

Workers of LocalCluster have one thread each. Three tables, medians of alternating rounds:

1. Blocks that do nothing: each gets 56 x 40 numbers and gives as many back, as in an iteration on 56 rows at rank 40.
2. A turn of a fit, which chooses items for the rows (solve) and then weighs the rows (weigh), on 56 rows x 2,000
   columns, where nearly all of it is overhead.
3. The same on 56 rows x 400,000 columns, where nearly all of it is work.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from experiments.measuring import Work, alternating_times
from saltmine.data.bits import Layout
from saltmine.data.stacking import Labels
from saltmine.data.threads import ThreadTeam
from saltmine.distributed.executor import DaskExecutor
from saltmine.solver.executor import BlockExecutor, LocalExecutor
from saltmine.solver.item_block import ItemBlock, make_item_block
from saltmine.solver.wide_model import WideModel, WideStart

ROUNDS = 100
N_ROWS, RANK, N_BLOCKS = 56, 12, 8


class Echo:
    """A block that does nothing, so that a round costs what the executor costs."""

    def __init__(self, source: int) -> None:
        self.source = source

    def back(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what came."""
        return numbers


class Planted:
    """Columns that are random groups of rows with some noise, in blocks, and the groups to start from."""

    def __init__(self, n_columns: int) -> None:
        rng = np.random.default_rng(0)
        self.usage = rng.random((RANK, N_ROWS)) < 0.2
        groups = self.usage[rng.integers(0, RANK, n_columns)].T
        self.sources = np.array_split(groups ^ (rng.random((N_ROWS, n_columns)) < 0.05), N_BLOCKS, axis=1)
        self.labels = Labels(np.arange(N_ROWS) // (N_ROWS // 2), 2)
        self.make_block = partial(make_item_block, numbers=self.labels.numbers, n_classes=self.labels.n_classes)

    def turn_of(self, executor: BlockExecutor[ItemBlock]) -> Work:
        """Solve everything once; return a turn that solves and weighs again."""
        layout = Layout(self.labels.blocks(), np.ones(N_ROWS, dtype=np.int64))
        model = WideModel(executor, layout)
        model.run(WideStart(layout.pack(self.usage), np.full(RANK, 0.9), np.full(RANK, 1 / RANK), 0.05 * N_ROWS, []))

        def turn() -> None:
            # Nothing gets lost here, so no call has to be kept for repeating.
            executor.clear_log()
            executor.update(ItemBlock.solve, model.plan)
            executor.query(ItemBlock.weigh, model.plan, model.total)

        return turn


def milliseconds(works: dict[str, Work], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median of every work, all of them taking turns."""
    times = alternating_times(list(works.values()), rounds)
    return {name: 1e3 * statistics.median(seconds) for name, seconds in zip(works, times, strict=True)}


@contextmanager
def workers(count: int) -> Iterator[Client]:
    options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def round_of(executor: BlockExecutor[Echo], numbers: NDArray[np.float64]) -> Work:
    return lambda: executor.query(Echo.back, numbers)


def rounds_without_work(client: Client, team: ThreadTeam) -> None:
    numbers = np.random.default_rng(0).random((N_ROWS, 40))
    with Client(client.scheduler.address, direct_to_workers=True, set_as_default=False) as direct:
        for n_blocks in (2, 8, 32):
            blocks = range(n_blocks)
            with (
                DaskExecutor(client, Echo, blocks) as usual,
                DaskExecutor(direct, Echo, blocks) as straight,
                LocalExecutor(map(Echo, blocks), team) as local,
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


def overhead_of_a_turn(client: Client, team: ThreadTeam) -> None:
    data = Planted(2_000)
    with (
        LocalExecutor(map(data.make_block, data.sources), team) as local,
        DaskExecutor(client, data.make_block, data.sources) as dask,
    ):
        taken = milliseconds({"threads": data.turn_of(local), "Dask": data.turn_of(dask)})
    overhead = taken["Dask"] - taken["threads"]
    for name, cost in taken.items():
        print(f"{N_ROWS} x 2,000, {name}: {cost:.2f} ms per turn")
    print(f"{N_ROWS} x 2,000, Dask beside the work: {overhead:.2f} ms per turn, {overhead / 2:.2f} ms per round trip")


def speed_of_turns(one_worker: Client, two_workers: Client, team: ThreadTeam) -> None:
    data = Planted(400_000)
    with (
        ThreadTeam(1) as alone,
        LocalExecutor(map(data.make_block, data.sources), alone) as one_thread,
        LocalExecutor(map(data.make_block, data.sources), team) as two_threads,
        DaskExecutor(one_worker, data.make_block, one_worker.scatter(data.sources)) as one,
        DaskExecutor(two_workers, data.make_block, two_workers.scatter(data.sources)) as two,
    ):
        executors: dict[str, BlockExecutor[ItemBlock]] = {
            "1 thread": one_thread,
            "2 threads": two_threads,
            "1 worker": one,
            "2 workers": two,
        }
        taken = milliseconds({name: data.turn_of(executor) for name, executor in executors.items()}, rounds=5)
    for name, cost in taken.items():
        print(f"{N_ROWS} x 400,000, {name}: {cost:7.1f} ms per turn, {taken['1 thread'] / cost:.2f} x one thread")


def main() -> None:
    with ThreadTeam(2) as team, workers(2) as two_workers:
        rounds_without_work(two_workers, team)
        overhead_of_a_turn(two_workers, team)
        with workers(1) as one_worker:
            speed_of_turns(one_worker, two_workers, team)


if __name__ == "__main__":
    main()
