"""How much memory reading may take: every reader says what it will need before it allocates it.

There are two limits, and a sentence of error for each:

- A share of the available memory, or what the user gave as ``max_memory``.
- Without ``max_memory``, what a file of that size can be meant to hold. A file of a few kilobytes that needs gigabytes,
  because it is compressed a thousandfold or declares a shape without data, was made to fill memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from saltmine.io.errors import ReadError
from saltmine.memory import DEFAULT_SHARE, available_memory, enough_memory, format_size, memory_limit, parse_size

#: What every file may take, and how many times its size beyond that. A table of zeros with a one in 1,000 cells,
#: compressed by gzip, takes 2,200 times its size as a DataFrame.
FREE, MAX_RATIO = 1 << 30, 2500
#: The same ratio for lists of what is there, such as entries or mutations: they hold no long runs of zeros.
MAX_RATIO_OF_LISTS = 1000
#: How much any file may become when it is decompressed, and how many times its size beyond that. A table with a one in
#: 10,000 cells becomes 730 times as large; data that is all the same, 1,030 times.
FREE_DATA, MAX_EXPANSION = 1 << 28, 900
#: What a row or a column takes besides its cells: name, label, pointers and counts.
LINE_BYTES = 64


@dataclass
class _Limit:
    n_bytes: int
    is_given: bool
    share: float = DEFAULT_SHARE


_LIMIT: ContextVar[_Limit | None] = ContextVar("limit of reading", default=None)


@contextmanager
def reading_within(max_memory: str | float | None, share: float = DEFAULT_SHARE) -> Iterator[None]:
    """Limit the memory of all reading in the block; without ``max_memory`` to a share of what is available."""
    try:
        limit = None if max_memory is None else parse_size(max_memory)
    except ValueError as error:
        raise ReadError(f"max_memory (--max-memory): {error}") from None
    n_bytes = int(share * available_memory()) if limit is None else limit
    token = _LIMIT.set(_Limit(n_bytes, limit is not None, share))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def _limit() -> _Limit:
    return _LIMIT.get() or _Limit(memory_limit(), False)


def is_limit_given() -> bool:
    """Return whether the user has given a limit."""
    return _limit().is_given


def keep_memory(n_bytes: int) -> None:
    """Take what has been read already from the limit of what the same call reads after it."""
    limit = _LIMIT.get()
    if limit is not None:
        limit.n_bytes = max(0, limit.n_bytes - n_bytes)


def file_size(path: Path) -> int | None:
    """Return the size of a file; None if it is a pipe, whose size is not known."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def allowed_memory(size: int | None, ratio: int = MAX_RATIO) -> int:
    """Return the bytes that reading a file of a size may take; ``ratio`` is how many times its size that may be."""
    limit = _limit()
    return limit.n_bytes if limit.is_given or size is None else min(limit.n_bytes, max(FREE, ratio * size))


def check_memory(needed: float, what: str, size: int | None, in_part: bool = False, ratio: int = MAX_RATIO) -> None:
    """Refuse what needs more memory than reading a file of this size may take; ``what`` says what it is.

    With ``in_part``, what is needed is known of the part that has been read, and more may follow.
    """
    if needed <= allowed_memory(size, ratio):
        return
    limit, about = _limit(), "more than" if in_part else "about"
    enough = enough_memory(needed * (4 if in_part else 1))
    if needed <= limit.n_bytes and size is not None:
        problem = f"{what} takes {about} {format_size(needed)} of memory, but the file has only {format_size(size)}"
        raise ReadError(f"{problem}; if that is right, allow it with {enough}.")
    share = "" if limit.is_given else f", {limit.share:.0%} of what is available"
    allowed = f"only {format_size(limit.n_bytes)} may be used{share}"
    problem = f"{what} takes {about} {format_size(needed)} of memory, but {allowed}"
    raise ReadError(f"{problem}; read less at a time, or raise the limit with {enough}.")


def check_expansion(n_bytes: int, compressed: int, what: str) -> None:
    """Refuse compressed data that becomes about a thousand times as large, as long as no limit is given."""
    if n_bytes <= max(FREE_DATA, MAX_EXPANSION * compressed) or _limit().is_given:
        return
    problem = f"{format_size(compressed)} of {what} become {format_size(n_bytes)} when they are decompressed"
    raise ReadError(f"{problem}, as data hardly does; if that is right, allow it with {enough_memory(8 * n_bytes)}.")


def check_shape(n_rows: int, n_columns: int, n_bytes: float, size: int | None) -> None:
    """Refuse a matrix whose cells, rows and columns need too much memory; ``n_bytes`` is what the cells need."""
    needed = n_bytes + LINE_BYTES * (n_rows + n_columns)
    check_memory(needed, f"a matrix of {n_rows:,} rows and {n_columns:,} columns", size)


def out_of_memory(size: int | None) -> ReadError:
    """Return the error for a file that took more memory than it may."""
    allowed = allowed_memory(size)
    problem = f"reading the file takes more than {format_size(allowed)} of memory"
    return ReadError(f"{problem}; if that is right, allow more with {enough_memory(2 * allowed)}.")


@dataclass(frozen=True)
class TextCost:
    """Bytes of memory that reading takes for a byte, for a line, and for a byte of the longest line.

    ``ratio`` is how many times the size of the file may be needed.
    """

    byte: float = 0
    line: float = 0
    longest: float = 0
    ratio: int = MAX_RATIO


class Account:
    """What has been read of one or several files, and what that needs; too much is refused at once.

    Parameters
    ----------
    cost : TextCost
    size : int or None
        Bytes on disk.
    """

    def __init__(self, cost: TextCost, size: int | None) -> None:
        self.cost, self.size = cost, size
        self.n_bytes = 0
        self._begin = 0
        self._position: Callable[[], int] | None = None
        self._n_lines = self._longest = self._since = 0

    def start(self, position: Callable[[], int]) -> None:
        """Begin with a file that is compressed; ``position()`` is how much of it has been decompressed."""
        self._begin, self._position = self.n_bytes, position

    def add(self, data: bytes) -> None:
        """Count data that follows what has been read."""
        self.n_bytes += len(data)
        n_lines = data.count(b"\n")
        if n_lines:
            self._longest = max(self._longest, self._since + data.index(b"\n"))
            self._since = len(data) - data.rindex(b"\n")
        else:
            self._since += len(data)
        self._n_lines += n_lines
        if self._position is not None:
            check_expansion(self.n_bytes - self._begin, self._position(), "the file")
        check_memory(self.needed, "the text", self.size, in_part=True, ratio=self.cost.ratio)

    @property
    def needed(self) -> float:
        """What reading takes for all that has been read."""
        longest = max(self._longest, self._since)
        return self.cost.byte * self.n_bytes + self.cost.line * self._n_lines + self.cost.longest * longest
