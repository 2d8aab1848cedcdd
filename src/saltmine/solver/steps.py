"""The steps of a search, which an interrupted fit takes up again where it was, and which end when the time is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from saltmine.checkpoint import Part, State
from saltmine.deadline import Deadline

#: What JSON can hold.
Answer = TypeVar("Answer")


class Kept(Protocol):
    """A search whose whole state can be kept and restored."""

    def state(self) -> State:
        """Return all that the next steps depend on."""

    def restore(self, state: State) -> None:
        """Go back to a state."""


class Steps:
    """Steps that are taken one after the other, each depending on the state that the one before has left.

    What the steps have answered, and the state after the last of them, is kept in a checkpoint now and then. After an
    interruption the search goes the same way: steps that were taken before give their answer and do nothing, and the
    state is restored behind the last of them. So between two steps a search may look at nothing but answers.

    A step that the deadline has cut short is not kept: with the same checkpoint, another run takes it as a whole. The
    state before it is kept then, however short the run was, so that repeated runs get on.

    Parameters
    ----------
    search : object with ``state`` and ``restore``
    part : Part or None
        What the checkpoint has of this search.
    deadline : Deadline
    """

    def __init__(self, search: Kept, part: Part | None, deadline: Deadline) -> None:
        self._search, self._part, self._deadline = search, part, deadline
        known: dict[str, Any] | None = None if part is None else part.state
        self._answers: list[Any] = [] if known is None else list(known.get("answers", []))
        self._next, self._known, self._n_before = 0, known, len(self._answers)

    @property
    def are_repeated(self) -> bool:
        """Whether the next step was taken before, so that the search is not in the state that belongs to it."""
        return self._next < len(self._answers)

    def take(self, step: Callable[[], Answer], seconds: float = 0.0) -> Answer:
        """Take a step, or return what it answered before; raises `TimeOver` where it does not end in time.

        ``seconds`` are those that it is expected to take, where it cannot be cut short.
        """
        if self.are_repeated:
            answer: Answer = self._answers[self._next]
            self._next += 1
            if not self.are_repeated:
                self._restore()
            return answer
        try:
            self._deadline.check(seconds)
            answer = step()
            # It may have ended early.
            self._deadline.check()
        finally:
            if self._part is not None and self._deadline.was_over:
                self._part.keep_held()
        if self._part is not None and not self._deadline.was_over:
            self._answers.append(answer)
            self._next += 1
            self._part.keep(self._kept, hold=self._deadline.is_set)
        return answer

    def _restore(self) -> None:
        if self._part is None or self._known is None:
            return
        try:
            self._search.restore(self._known["state"])
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError):
            # The digest of the file is right, so nobody but its author is to blame.
            raise self._part.is_damaged() from None
        self._known = None

    def keep(self) -> None:
        """Keep the state now, at the end of a search, unless it was cut short or took no time."""
        is_new = len(self._answers) > self._n_before
        if self._part is not None and is_new and not self._deadline.was_over:
            self._part.keep_last(self._kept, always=self._deadline.is_set)

    def _kept(self) -> State:
        return {"answers": list(self._answers), "state": self._search.state()}
