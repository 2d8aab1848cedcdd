"""When a fit has to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class TimeOver(Exception):
    """Raised inside a search whose time is over; what was found until then is there."""


class Looks:
    """A clock that goes on by one whenever somebody looks at it, for tests that end after any number of looks.

    Examples
    --------
    >>> clock = Looks()
    >>> clock(), clock()
    (0.0, 1.0)
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> float:
        """Return how often it was looked at before."""
        self.count += 1
        return float(self.count - 1)


class Deadline:
    """The moment when a fit has to end; without one it takes the time that it takes.

    Parameters
    ----------
    seconds : float or None
        From now on.
    clock : callable
        Returns seconds.
    resumable : bool
        Whether another run goes on from a checkpoint where this one ends. Phases then have all of the time: a step that
        is longer than a share of it would be cut short in every run. At least half of the time that is left after
        reading is for the search, whatever comes after it.

    Attributes
    ----------
    reserve : float
        Seconds that what comes after the search will take; a search tells it as soon as it knows.
    was_over : bool
        Whether anything had to end because of it.
    was_short : bool
        Whether less was looked at because of it.

    Examples
    --------
    >>> Deadline(None).is_over(), Deadline(2, Looks()).left()
    (False, 1.0)
    """

    def __init__(
        self,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        resumable: bool = False,
    ) -> None:
        self._clock, self._resumable = clock, resumable
        self._begin = clock()
        self._end = None if seconds is None or seconds == float("inf") else self._begin + seconds
        self._limit = self._end
        self.reserve, self.was_over, self.was_short = 0.0, False, False
        self._looks = 0

    @property
    def is_set(self) -> bool:
        """Whether there is a moment at all."""
        return self._end is not None

    @property
    def changed_nothing(self) -> bool:
        """Whether all is as it would be without one."""
        return not (self.was_over or self.was_short)

    def left(self) -> float:
        """Return the seconds that are left for the present phase of a search."""
        if self._end is None or self._limit is None:
            return float("inf")
        reserve = min(self.reserve, (self._end - self._begin) / 2) if self._resumable else self.reserve
        return min(self._limit, self._end - reserve) - self._clock()

    def fit_sample(self, size: int, per_second: float, least: int) -> int:
        """Return the size of a sample that there is time for: this one, or a smaller one, but not below the least.

        A run that goes on where another ended has to look at the same sample, however much time each has.
        """
        in_time = max(per_second * self.left(), least)
        if self._resumable or in_time >= size:
            return size
        self.was_short = True
        return int(in_time)

    def elapsed(self) -> float:
        """Return the seconds that are over."""
        return self._clock() - self._begin

    def set_aside(self, seconds: float) -> None:
        """Keep so many seconds for the very end, but no more than half of what is left; the search begins now.

        Where another run goes on, this one keeps nothing: it might have no time to search at all.
        """
        if self._end is None or self._limit is None:
            return
        now = self._clock()
        if self._resumable:
            self._begin = now
            return
        self._end -= min(seconds, max(self._end - now, 0.0) / 2)
        self._limit = min(self._limit, self._end)

    def spent(self) -> float:
        """Return the share of the time that is over; 0 where there is no end."""
        return 0.0 if self._end is None else 1 - (self._end - self._clock()) / (self._end - self._begin)

    def is_over(self, seconds: float = 0.0) -> bool:
        """Say whether the present phase has to end, as there is no time for something that takes so many seconds."""
        if self._end is None:
            return False
        over = self.left() <= seconds
        self.was_over |= over
        return over

    def check(self, seconds: float = 0.0) -> None:
        """Raise `TimeOver` if the present phase has to end."""
        if self.is_over(seconds):
            raise TimeOver

    @contextmanager
    def phase(self, share: float) -> Iterator[None]:
        """Let what is done in this block take this share of the time left, and then end it."""
        if self._end is None:
            yield
            return
        before = self._limit
        if not self._resumable:
            self._limit = self._clock() + share * max(self.left(), 0.0)
        try:
            yield
        except TimeOver:
            pass
        finally:
            self._limit = before

    def cancel(self) -> None:
        """Let what is done until then end at the next look, as nobody will need it."""
        self._end = self._limit = self._begin

    def copy(self) -> Deadline:
        """Return the same moment, for a run beside others."""
        same = Deadline(None, self._clock, resumable=self._resumable)
        same._begin, same._end, same._limit, same.reserve = self._begin, self._end, self._limit, self.reserve
        return same

    # ------------------------------------------------------------ compiled loops, which look at their own clock

    def for_loops(self) -> tuple[float, int]:
        """Return the seconds and the looks that compiled loops have; negative ones are no limit."""
        if self._end is None:
            return -1.0, -1
        left = max(self.left(), 0.0)
        if not isinstance(self._clock, Looks):
            return left, -1
        self._looks = int(left)
        return -1.0, self._looks

    def after_loops(self, was_over: bool, looks: int) -> None:
        """Take note of whether loops had to end, and of the looks that they left."""
        if isinstance(self._clock, Looks):
            self._clock.count += self._looks - looks
        self.was_over |= was_over
