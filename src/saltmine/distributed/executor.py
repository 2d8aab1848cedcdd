"""An executor whose blocks are in the memory of Dask's workers; `solver.executor` says what a block is."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from saltmine.data.blocks import read_source
from saltmine.data.threads import ThreadTeam
from saltmine.distributed.actor import BlockActor, Failure
from saltmine.distributed.errors import ClusterError
from saltmine.solver.executor import Block, BlockCall, BlockExecutor, LocalExecutor

if TYPE_CHECKING:
    from distributed import Actor, Client, Future

# How often a block may be lost in one round before the fit gives up.
_ATTEMPTS = 5
# Seconds between two looks at what has not answered, that a nanny may take to start a worker anew, and that the
# scheduler may take to see that one is gone.
_LOOK = 1.0
_RESTART = 5.0
_PAUSE = 0.5


class _Place(NamedTuple):
    """Where a block is: the worker, the name of its actor there, and the actor to call."""

    worker: str
    name: str
    actor: Actor


class DaskExecutor(BlockExecutor[Block]):
    """Blocks in the memory of Dask's workers, each an actor there.

    A block whose worker is lost is made again of its source on a living worker, the calls that changed it are repeated,
    and the round goes on: the fit ends with the same model.

    Parameters
    ----------
    client : distributed.Client
        As `saltmine.distributed.connect.connect` gives it.
    make_block : callable
        Makes a block of its source, on a worker.
    sources : sequence
        One per block: a Delayed, a Future or any picklable object. Dask spreads the blocks evenly over the workers.
    patience : float
        Seconds to wait for a worker when there is none left.

    Attributes
    ----------
    n_rebuilt : int
        How many blocks had to be made again.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     with DaskExecutor(client, str.upper, ["bread", "milk"]) as executor:
    ...         executor.query(str.find, "K")
    [-1, 3]
    """

    def __init__(
        self, client: Client, make_block: Callable[[Any], Block], sources: Sequence[Any], patience: float = 60.0
    ) -> None:
        self._client, self._patience = client, patience
        self._make_block, self._sources = make_block, list(sources)
        self._futures: dict[int, Future] = {}
        self._places: dict[int, _Place] = {}
        self._log: list[BlockCall] = []
        self._arranged = 0
        self._n_workers, self.n_rebuilt = 1, 0
        try:
            self._make(range(len(self)))
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._sources)

    def clear_log(self) -> None:
        """Forget the updates so far, because the next one sets the whole state of every block anew."""
        self._log = self._log[: self._arranged]

    def _arrange(self, call: BlockCall) -> None:
        self._call(call, changes=True)
        self._arranged = len(self._log)

    def close(self) -> None:
        """Let go of the blocks: Dask frees them on the workers."""
        self._release(range(len(self)))
        self._log = []

    def _call(self, call: BlockCall, changes: bool = False) -> list[Any]:
        results = self._ask(range(len(self)), [call])
        for _ in range(_ATTEMPTS):
            lost = [number for number in range(len(self)) if number not in results]
            if not lost:
                break
            time.sleep(_PAUSE)
            self._make(lost)
            self.n_rebuilt += len(lost)
            results |= self._ask(lost, [*self._log, call])
        if len(results) < len(self):
            raise ClusterError(
                f"A block of the data was lost {_ATTEMPTS} times in one round of the fit; its workers may be running "
                "out of memory: give them more of it, or use more workers."
            )
        if changes:
            # A copy, because the caller may go on to write to its arrays.
            self._log.append(deepcopy(call))
        return [results[number] for number in range(len(self))]

    def _ask(self, numbers: Sequence[int], calls: list[BlockCall]) -> dict[int, Any]:
        """Return the results of the last call by number of the block; lost blocks are not among them."""
        shares: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            if number in self._places:
                shares[self._places[number].worker].append(number)
        requests = []
        for share in shares.values():
            names = [self._places[number].name for number in share]
            request = pickle.dumps((names, [call.of(share) for call in calls]), protocol=5)
            requests.append((self._places[share[0]].actor, self._futures[share[0]], request))
        answers = self._reach(self._client.sync, _answers, requests)
        results: dict[int, Any] = {}
        for share, answer in zip(shares.values(), answers, strict=True):
            if isinstance(answer, Failure):
                raise answer.error
            if answer is not None:
                results.update(zip(share, answer, strict=True))
        return results

    def _make(self, numbers: Sequence[int]) -> None:
        """Have workers make blocks; one that is lost meanwhile has no place afterwards."""
        from dask import delayed
        from distributed import Actor

        self._release(numbers)
        self._demand_workers()
        names = [f"saltmine-block-{number}-{uuid.uuid4().hex}" for number in numbers]
        make, sources = delayed(BlockActor, pure=False), [self._sources[number] for number in numbers]
        actors = [make(name, self._make_block, source) for name, source in zip(names, sources, strict=True)]
        # All in one graph: Dask makes a block as soon as its source is there, and frees the source.
        futures = self._client.compute(actors, actors=True)
        self._futures.update(zip(numbers, futures, strict=True))
        self._wait(futures)
        self._demand_makable(numbers)
        workers = self._reach(self._client.who_has, futures)
        # An actor belongs to the client that is current when it is made.
        with self._client.as_current():
            for number, name, future in zip(numbers, names, futures, strict=True):
                for worker in workers[future.key]:
                    self._places[number] = _Place(worker, name, Actor(BlockActor, worker, future.key))

    def _wait(self, futures: list[Future]) -> None:
        """Wait until all blocks are made or one of them cannot be made."""
        from distributed import CancelledError, wait

        while not any(_error_of(future) for future in futures):
            try:
                with self._client.as_current():
                    wait(futures, timeout=_LOOK)
                return
            except TimeoutError:
                self._demand_workers()
            except CancelledError:  # by the scheduler, as it went down or was told to start all workers anew
                return

    def _demand_makable(self, numbers: Sequence[int]) -> None:
        """Raise the error of a block that cannot be made."""
        from distributed import KilledWorker

        for number in numbers:
            error = _error_of(self._futures[number])
            if isinstance(error, KilledWorker):
                raise ClusterError(
                    f"Block {number + 1} of {len(self)} cannot be made: every worker that tried died, the last one at "
                    f"{error.last_worker.address}; give the workers more memory, or look into their logs."
                ) from None
            if error is not None:
                raise error

    def _demand_workers(self) -> None:
        """Wait for a living worker, and a moment for those that a nanny starts anew, so that the work stays spread."""
        begin = time.monotonic()
        while True:
            n_living = len(self._reach(self._client.nthreads))
            waited = time.monotonic() - begin
            if n_living >= self._n_workers or (n_living and waited > _RESTART):
                self._n_workers = n_living
                return
            if not n_living and waited > self._patience:
                raise ClusterError(
                    f"The Dask cluster lost its last worker, and no other one came within {self._patience:g} seconds; "
                    "start workers and fit again."
                )
            time.sleep(min(_PAUSE, self._patience / 10))

    def _reach(self, method: Callable[..., Any], *args: Any) -> Any:
        """Call a method of the client, or say that its scheduler is gone."""
        try:
            return method(*args)
        except Exception as error:  # a client that lost its scheduler, or was closed, raises nearly anything
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise ClusterError(
                "The connection to the Dask scheduler was lost in the middle of the fit; check that it runs, and fit "
                "again."
            ) from None

    def _release(self, numbers: Iterable[int]) -> None:
        futures = [self._futures.pop(number) for number in numbers if number in self._futures]
        for number in numbers:
            self._places.pop(number, None)
        if futures and self._client.status == "running":
            # Not left to the garbage collector: every call to an actor leaves a cycle that holds on to it.
            with suppress(OSError):
                self._client.cancel(futures)


@contextmanager
def open_executor(
    make_block: Callable[[Any], Block], sources: Iterable[Any], client: Client | None, team: ThreadTeam
) -> Iterator[BlockExecutor[Block]]:
    """Have the workers of a cluster make a block of every source, or this process where there is no cluster."""
    if client is not None:
        with DaskExecutor(client, make_block, list(sources)) as executor:
            yield executor
    else:
        with LocalExecutor(_make_blocks(make_block, sources, team), team) as local:
            yield local


def _make_blocks(make_block: Callable[[Any], Block], sources: Iterable[Any], team: ThreadTeam) -> list[Block]:
    """Make a block of every source, as many at a time as there are threads."""
    waiting, made, lock, failed = enumerate(sources), dict[int, Block](), threading.Lock(), threading.Event()

    def work() -> None:
        try:
            while not failed.is_set():
                with lock:
                    # One after the other, so that data which is read lazily is never in memory as a whole.
                    number, source = next(waiting, (-1, None))
                    if number < 0:
                        return
                    source = read_source(source)
                made[number] = make_block(source)
        except BaseException:
            # The others need not go on.
            failed.set()
            raise

    team.run(work, [()] * (team.n_threads or 1))
    return [made[number] for number in sorted(made)]


def _error_of(future: Future) -> Exception | None:
    """Return why a block cannot be made; that its worker was lost is no reason."""
    error = future.exception() if future.status == "error" else None
    return None if isinstance(error, RuntimeError) and "Actor was lost" in str(error) else error


async def _answers(requests: list[tuple[Actor, Future, bytes]]) -> list[Any]:
    """Ask one actor of every worker, all at the same time; None stands for a worker that was lost."""

    async def answer(actor: Actor, request: bytes) -> Any:
        return await actor.answer(request)

    futures = {asyncio.ensure_future(answer(actor, request)): future for actor, future, request in requests}
    waiting = set(futures)
    try:
        while waiting:
            _, waiting = await asyncio.wait(waiting, timeout=_LOOK)
            for task in waiting:
                # A call to a worker that no longer answers may stay open for ever; the scheduler knows.
                if futures[task].status != "finished":
                    task.cancel()
    finally:
        for task in waiting:
            task.cancel()
    # Blocks return their errors as a value: whatever was raised here says that the worker is gone.
    return [None if task.cancelled() or task.exception() else pickle.loads(task.result()) for task in futures]
