"""What runs beside the data, in this process or on a Dask worker: the calls on a share of the blocks."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from saltmine.data.threads import ThreadTeam


@dataclass(frozen=True)
class Call:
    """A method to call on blocks: with the same arguments for all, or with each block's own."""

    method: str
    shared: tuple[Any, ...] = ()
    each: list[tuple[Any, ...]] | None = None

    def of(self, numbers: Sequence[int]) -> Call:
        """Return the call for some of the blocks only.

        Examples
        --------
        >>> Call("set_usage", each=[("a",), ("b",), ("c",)]).of([0, 2]).each
        [('a',), ('c',)]
        """
        return self if self.each is None else Call(self.method, each=[self.each[number] for number in numbers])

    def on(self, blocks: Sequence[Any], team: ThreadTeam) -> list[Any]:
        """Call the method on every block, in threads; return the results in the order of the blocks."""
        arguments = [self.shared] * len(blocks) if self.each is None else self.each
        results: list[Any] = [None] * len(blocks)

        def call(number: int) -> None:
            results[number] = getattr(blocks[number], self.method)(*arguments[number])

        team.run(call, [(number,) for number in range(len(blocks))])
        return results


@dataclass(frozen=True)
class Failure:
    """What a block raised, as a value: whatever Dask raises itself then means that the block was lost."""

    error: Exception


class Seat:
    """The place of a block on a worker, held by Dask as an actor.

    Dask has one thread per worker for all calls to actors and sends every call in a message of its own. So one seat
    answers for all blocks of its worker, with as many threads as the worker has.

    Parameters
    ----------
    name : str
        By which the other seats of the worker find this one.
    make_block : callable
        Makes the block of its source.
    source : object
    """

    def __init__(self, name: str, make_block: Callable[[Any], Any], source: Any) -> None:
        from distributed import get_worker

        self._team = ThreadTeam(get_worker().state.nthreads)
        self._team.__enter__()
        # Dask drops an actor without a word.
        weakref.finalize(self, self._team.__exit__, None, None, None).atexit = False
        self.block = make_block(source)
        _SEATS[name] = self

    def answer(self, request: bytes) -> bytes:
        """Make calls in order on the blocks of some seats of this worker.

        Both ways in one piece: Dask would send every array in frames of its own, which takes longer than the rest.

        Parameters
        ----------
        request : bytes
            The names of the seats and the list of calls, pickled.

        Returns
        -------
        bytes
            The results of the last call, or a `Failure`, pickled.
        """
        names, calls = pickle.loads(request)
        blocks = [_SEATS[name].block for name in names]
        results: list[Any] = []
        try:
            for call in calls:
                results = call.on(blocks, self._team)
            return pickle.dumps(results, protocol=5)
        except Exception as error:
            try:
                return pickle.dumps(Failure(error))
            except Exception:  # not every error can be sent; its words can
                return pickle.dumps(Failure(RuntimeError(repr(error))))


# The seats of this process. Weak: a seat lives as long as Dask holds it.
_SEATS: weakref.WeakValueDictionary[str, Seat] = weakref.WeakValueDictionary()
