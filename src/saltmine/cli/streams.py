"""Standard output and standard error that are closed or full, or that nobody reads any more.

What a command is for are its results. That a note or a summary could not be printed stops no command; the end of the
command tells. This module is imported before all others, so it needs little memory.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Stream(io.FileIO):
    """A standard stream that keeps its first failure, and then drops what is written."""

    problem: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes; where that fails, act as if they were written."""
        if self.problem is None:
            try:
                return super().write(data)
            except OSError as error:
                self.problem = error
        return memoryview(data).nbytes


@dataclass
class Outcome:
    """What became of the results of a command: the place of its files, and whether standard output is a result too."""

    place: str = ""
    is_printed: bool = True

    def written_to(self, place: object, is_printed: bool = False) -> None:
        """Note that all results are in files; ``is_printed`` says that the user asked for printed ones as well."""
        self.place, self.is_printed = str(place), is_printed

    def exit_code(self, problem: OSError | None) -> tuple[int, str]:
        """Return the exit code of a command that has done its work, and a sentence if standard output has failed.

        Examples
        --------
        >>> full, outcome = OSError(errno.ENOSPC, "No space left on device"), Outcome()
        >>> outcome.exit_code(full)[0]
        1
        >>> outcome.written_to("out")
        >>> outcome.exit_code(full)
        (0, 'Standard output cannot be written (No space left on device); the results are complete in out.')
        """
        # A reader that has seen enough closes the pipe.
        if problem is None or problem.errno == errno.EPIPE:
            return 0, ""
        reason = "is closed" if problem.errno == errno.EBADF else f"cannot be written ({problem.strerror or problem})"
        if self.place:
            return int(self.is_printed), f"Standard output {reason}; the results are complete in {self.place}."
        return 1, f"Standard output {reason}, so the result is lost; send it to a file that can be written."


#: Of the command that runs.
outcome = Outcome()


@contextmanager
def guarded_streams(errors: int = 2) -> Iterator[_Stream | None]:
    """Let no failure of a standard stream stop the work; yield standard output, which keeps its failure.

    ``errors`` is the file number of standard error. Yields None where standard output is not that of the process, as in
    a notebook.
    """
    outcome.place, outcome.is_printed = "", True
    before = sys.stdout, sys.stderr
    if os.name == "nt":
        # The console of Windows has streams of its own.
        yield None
        return
    out = _guard("stdout", 1)
    _guard("stderr", errors)
    try:
        yield out
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def open_closed() -> None:
    """Open standard streams that are closed: else the next file gets their number, and what is printed goes there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Opened for reading: writing fails as it does on a closed stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)


def _guard(name: str, number: int) -> _Stream | None:
    stream = getattr(sys, name)
    if stream is not getattr(sys, f"__{name}__"):
        return None
    if stream is not None:
        stream.flush()
    raw = _Stream(number, "w", closefd=False)
    encoding = "utf-8" if stream is None else stream.encoding
    # Names in the data may have characters that the terminal cannot show.
    text = io.TextIOWrapper(io.BufferedWriter(raw), encoding, "replace", line_buffering=True)
    setattr(sys, name, text)
    return raw
