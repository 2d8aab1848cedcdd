"""Executors: blocks of the data, and calls on all of them at once.

A block is any object whose methods take and return small arrays or numbers. It must not change its arguments, which all
blocks may share, nor keep them without a copy, and it must be deterministic: made of the same source and called in the
same way it has the same state. That is how a block comes back whose worker was lost (`distributed.executor`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from saltmine.data.threads import ThreadTeam

Block = TypeVar("Block")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class BlockCall:
    """A method to call on blocks: with the same arguments for all, or with each block's own."""

    method: Callable[..., Any]
    shared: tuple[Any, ...] = ()
    each: list[tuple[Any, ...]] | None = None

    def of(self, numbers: Sequence[int]) -> BlockCall:
        """Return the call for some of the blocks only.

        Examples
        --------
        >>> BlockCall(str.count, each=[("a",), ("b",), ("c",)]).of([0, 2]).each
        [('a',), ('c',)]
        """
        return self if self.each is None else BlockCall(self.method, each=[self.each[number] for number in numbers])

    def on(self, blocks: Sequence[Any], team: ThreadTeam | None) -> list[Any]:
        """Call the method on every block, in threads where there is a team."""
        arguments = [self.shared] * len(blocks) if self.each is None else self.each
        results: list[Any] = [None] * len(blocks)

        def call(number: int) -> None:
            results[number] = self.method(blocks[number], *arguments[number])

        if team is not None:
            team.run(call, [(number,) for number in range(len(blocks))])
        else:
            for number in range(len(blocks)):
                call(number)
        return results


class BlockExecutor(ABC, Generic[Block]):
    """Blocks, and calls on all of them: ``executor.query(ItemBlock.count)``."""

    def query(
        self, method: Callable[Concatenate[Block, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> list[Result]:
        """Call a method, which changes nothing, on every block; return the results in the order of the blocks."""
        return self._call(BlockCall(partial(method, **kwargs) if kwargs else method, args))

    def query_each(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Call a method, which changes nothing, on every block with the block's own arguments."""
        return self._call(BlockCall(method, each=list(arguments)))

    def update(
        self, method: Callable[Concatenate[Block, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> list[Result]:
        """Call a method that changes the blocks. It is repeated on a block that has to be made again."""
        return self._call(BlockCall(partial(method, **kwargs) if kwargs else method, args), changes=True)

    def arrange(
        self, method: Callable[Concatenate[Block, Arguments], None], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> None:
        """Call a method that changes what blocks are made of, for good, before any update; `clear_log` keeps it."""
        self._arrange(BlockCall(partial(method, **kwargs) if kwargs else method, args))

    def update_each(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Call a method that changes the blocks on every block with the block's own arguments."""
        return self._call(BlockCall(method, each=list(arguments)), changes=True)

    def clear_log(self) -> None:
        """Forget the updates so far, because the next one sets the whole state of every block anew."""

    def _arrange(self, call: BlockCall) -> None:
        self._call(call)

    @abstractmethod
    def _call(self, call: BlockCall, changes: bool = False) -> list[Any]:
        """Make a call on every block."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of blocks."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the blocks."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class LocalExecutor(BlockExecutor[Block]):
    """Blocks in this process, called in threads.

    Parameters
    ----------
    blocks : iterable of objects
    team : ThreadTeam or None
        Open as long as the executor is used; None calls one block after the other.

    Examples
    --------
    >>> with ThreadTeam(2) as team, LocalExecutor(["bread", "milk"], team) as executor:
    ...     executor.query(str.replace, "b", "d"), executor.query_each(str.count, [("e",), ("k",)])
    (['dread', 'milk'], [1, 1])
    """

    def __init__(self, blocks: Iterable[Block], team: ThreadTeam | None = None) -> None:
        self._blocks = list(blocks)
        self._team = team

    def __len__(self) -> int:
        return len(self._blocks)

    def _call(self, call: BlockCall, changes: bool = False) -> list[Any]:
        return call.on(self._blocks, self._team)

    def close(self) -> None:
        """Let go of the blocks."""
        self._blocks = []
