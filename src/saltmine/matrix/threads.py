"""Threads for the data products, with an answer that does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


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

    def __enter__(self) -> ThreadTeam:
        controller = ThreadpoolController()
        if self.n_threads is None:
            blas = controller.select(user_api="blas").info()
            self.n_threads = max((int(library["num_threads"]) for library in blas), default=1)
        self._limit = controller.limit(limits=1, user_api="blas")
        self._limit.__enter__()
        if self.n_threads > 1:
            self._executor = ThreadPoolExecutor(self.n_threads, thread_name_prefix="saltmine")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None
        self._limit.__exit__(kind, error, trace)

    def run(self, task: Callable[..., Any], panels: Iterable[tuple[Any, ...]]) -> None:
        """Call ``task(*panel)`` for every panel; panels write to disjoint parts of their output."""
        panels = list(panels)
        if self._executor is None or len(panels) < 2:
            for panel in panels:
                task(*panel)
            return
        # The calling thread takes a share itself: one hand-over fewer, and that is a tenth of a small product.
        futures = [self._executor.submit(task, *panel) for panel in panels[1:]]
        task(*panels[0])
        for future in futures:
            future.result()


def cut(length: int, other: int, panel_cells: int = 1 << 19) -> list[slice]:
    """Cut an axis of ``length`` so that a panel of it times ``other`` has about ``panel_cells`` cells.

    Examples
    --------
    >>> cut(10, 4, panel_cells=20)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    count = max(1, -(-length * other // panel_cells))
    count = min(count, max(length, 1))
    edges = [length * k // count for k in range(count + 1)]
    return [slice(edges[k], edges[k + 1]) for k in range(count)]
