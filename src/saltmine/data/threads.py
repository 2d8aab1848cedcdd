"""Threads for the data products, with an answer that does not depend on how many there are."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController


class _SingleThreadedBlas:
    """Hold BLAS to one thread while any team is open.

    The setting belongs to the process, and fits may overlap: the first team in notes what was allowed, the last one out
    gives it back. threadpoolctl lets one thread at a time control OpenBLAS, and only that thread may undo its limit.
    So a thread of our own holds the limit, whichever fit ends first. Where the calling thread is in control already,
    inside a ``threadpool_limits`` of the user's, the limit is set there. Where another thread is inside one, nobody
    else can set it: a warning says so.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_open = 0
        self._allowed = 1
        self._limits = ExitStack()

    def __enter__(self) -> int:
        """Return how many threads BLAS was allowed before."""
        with self._lock:
            if self._n_open == 0:
                with ExitStack() as limits:
                    self._set_limit(limits)
                    self._limits = limits.pop_all()
            self._n_open += 1
            return self._allowed

    def _set_limit(self, limits: ExitStack) -> None:
        blas = ThreadpoolController().select(user_api="blas")
        self._allowed = _most_threads(blas)
        limits.enter_context(_limit_held_by_a_thread(blas))
        if _most_threads(blas) > 1:
            limits.enter_context(blas.limit(limits=1))
        if _most_threads(blas) > 1:
            problem = "Another thread controls the threads of BLAS (threadpool_limits)"
            effect = "so the last digits of this fit may depend on their number"
            remedy = "fit outside of that limit for a result that repeats"
            warnings.warn(f"{problem}, {effect}; {remedy}.", stacklevel=2)

    def __exit__(self, *_: object) -> None:
        """Give back what was allowed, if no other team is open."""
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._limits.close()


def _most_threads(blas: ThreadpoolController) -> int:
    return max((int(library["num_threads"]) for library in blas.info()), default=1)


@contextmanager
def _limit_held_by_a_thread(blas: ThreadpoolController) -> Iterator[None]:
    ready, over = threading.Event(), threading.Event()

    def hold() -> None:
        with blas.limit(limits=1):
            ready.set()
            over.wait()

    holder = threading.Thread(target=hold, name="saltmine-blas-limit", daemon=True)
    try:
        holder.start()
        ready.wait()
        yield
    finally:
        over.set()
        if holder.ident is not None:
            holder.join()


_single_threaded_blas = _SingleThreadedBlas()


class ThreadTeam:
    """Run independent panels of work side by side.

    BLAS sums in another order when it has another number of threads, and thousands of iterations turn a last
    bit into another model. So BLAS is held to one thread while the team is open, and the team itself works
    on panels whose cut depends on the shape of the data only.

    Parameters
    ----------
    n_threads : int or None
        None takes as many threads as BLAS was allowed, which honours ``OMP_NUM_THREADS``, ``threadpool_limits``
        and the share that joblib gives its workers.

    Examples
    --------
    >>> with ThreadTeam(2) as team:
    ...     team.run(print, [("one panel",)])
    one panel
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads
        self._executor: ThreadPoolExecutor | None = None
        self._closing = ExitStack()

    def __enter__(self) -> ThreadTeam:
        with ExitStack() as stack:
            allowed = stack.enter_context(_single_threaded_blas)
            if self.n_threads is None:
                self.n_threads = allowed
            if self.n_threads > 1:
                self._executor = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="saltmine")
                stack.callback(self._executor.shutdown, wait=True, cancel_futures=True)
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def run(self, task: Callable[..., Any], panels: Iterable[tuple[Any, ...]]) -> None:
        """Call ``task(*panel)`` for every panel; panels write to disjoint parts of their output."""
        waiting = deque(panels)
        helpers = 0 if self._executor is None else min(self.n_threads or 1, len(waiting)) - 1
        if helpers <= 0:
            # Nothing to wait for, which takes time as well.
            for panel in waiting:
                task(*panel)
            return

        def work() -> None:
            while True:
                try:
                    panel = waiting.popleft()
                except IndexError:
                    return
                task(*panel)

        # The calling thread works as well, and everybody takes the next panel when done with one: a thread that is
        # held up does not hold up the others.
        futures = [self._executor.submit(work) for _ in range(helpers)] if self._executor is not None else []
        try:
            work()
        finally:
            waiting.clear()
            wait(futures)
        for future in futures:
            future.result()


def cut(length: int, other: int, panel_cells: int = 1 << 19) -> list[slice]:
    """Cut an axis of ``length`` so that a panel of it times ``other`` has about ``panel_cells`` cells.

    Examples
    --------
    >>> cut(10, 4, panel_cells=20)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    count = min(max(1, -(-length * other // panel_cells)), max(length, 1))
    return [slice(*edges) for edges in pairwise(length * k // count for k in range(count + 1))]
