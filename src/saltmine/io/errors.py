"""The error of all readers: one sentence with the file, the place, the problem and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from saltmine.names import shorten_message


class ReadError(ValueError):
    """Raised if a file cannot be read: one sentence with the file, the place in it, the problem and the remedy.

    Readers give the problem and the place, which is a line number or text; `reading` adds the file.

    Examples
    --------
    >>> print(ReadError("the label is empty; add it.", 7, "votes.csv"))
    votes.csv, line 7: the label is empty; add it.
    """

    def __init__(self, problem: str, place: str | int = "", path: str | PathLike[str] | None = None) -> None:
        super().__init__(problem)
        self.place = f"line {place}" if isinstance(place, int) else place
        self.path = path

    def __str__(self) -> str:
        where = ", ".join(str(part) for part in (self.path, self.place) if part)
        # A problem may repeat names, and a name may be as long as the file.
        return shorten_message(f"{where}: {self.args[0]}" if where else str(self.args[0]))


@contextmanager
def reading(path: str | PathLike[str]) -> Iterator[None]:
    """Add the name of the file to every `ReadError` of the block that does not name one yet."""
    try:
        yield
    except ReadError as error:
        error.path = error.path or path
        raise


@contextmanager
def parsing(what: str) -> Iterator[None]:
    """Turn any error of a library that parses a file into a `ReadError`; ``what`` says what the file should be."""
    try:
        yield
    except (ReadError, MemoryError):
        raise
    except Exception as error:  # libraries raise nearly every class of error for damaged files
        raise not_valid(what, summary(error)) from None


def not_valid(what: str, reason: str) -> ReadError:
    """Return the error for a damaged file; ``what`` says what the file should be."""
    problem = f"this is not a valid {what}, or it is damaged ({reason})"
    return ReadError(f"{problem}; get or write the file again.")


def summary(error: Exception | str) -> str:
    """Return the message of an error on one line of limited length, or the error's class if it has no message."""
    message = " ".join(str(error).split()).rstrip(".")
    return (message if len(message) <= 200 else message[:200] + "...") or type(error).__name__
