"""Blocks on a Dask worker, held as actors."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from saltmine.data.threads import ThreadTeam


class Failure(NamedTuple):
    """What a block raised, as a value: whatever Dask raises itself then means that the block was lost."""

    error: Exception


class BlockActor:
    """A block on a worker, held by Dask as an actor.

    Dask has one thread per worker for all calls to actors and sends every call in a message of its own. So one actor
    answers for all blocks of its worker, with as many threads as the worker has.

    Parameters
    ----------
    name : str
        By which the other actors of the worker find this one.
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
        _ACTORS[name] = self

    def answer(self, request: bytes) -> bytes:
        """Make calls in order on the blocks of some actors of this worker.

        Both ways in one piece: Dask would send every array in frames of its own, which takes longer than the rest.

        Parameters
        ----------
        request : bytes
            The names of the actors and the list of calls, pickled.

        Returns
        -------
        bytes
            The results of the last call, or a `Failure`, pickled.
        """
        names, calls = pickle.loads(request)
        blocks = [_ACTORS[name].block for name in names]
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


# The actors of this process. Weak: an actor lives as long as Dask holds it.
_ACTORS: weakref.WeakValueDictionary[str, BlockActor] = weakref.WeakValueDictionary()
