"""Errors of the command line: one line on standard error and an exit code, 2 for wrong use, 1 for a failure."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from saltmine.cli import streams
from saltmine.cli.memory import is_memory_problem, memory_sentence
from saltmine.distributed.errors import ClusterError
from saltmine.names import shorten, shorten_message

# Failures of disks, which are no mistakes of the user, and what to do about them.
_DISK_REMEDIES = {
    errno.ENOSPC: "make room on that disk, or name another place",
    errno.EDQUOT: "make room within your quota, or name another place",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f), or write less",
    errno.EROFS: "name a place that can be written to",
    errno.EIO: "check that disk, or name another place",
}


class WrongUse(click.ClickException):
    """A mistake in the data or the options: one line, no usage text, exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message on one line, with long names shortened."""
        return shorten_message(self.message)


class Failed(WrongUse):
    """A failure that is not a mistake of the user: exit code 1."""

    exit_code = 1


class Interrupted(Failed):
    """Ctrl-C or a request to end, after complete results were written and incomplete ones removed."""

    # Whether one was shown: the exception that click raises in the end does not tell.
    was_shown = False

    def show(self, file: IO[Any] | None = None) -> None:
        """Show the message, and remember that it was shown."""
        super().show(file)
        Interrupted.was_shown = True


class OneLineErrors(click.Group):
    """Commands whose errors end in one line; ``--debug`` shows the traceback."""

    # How users start it.
    program = "saltmine"

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the options before the command."""
        with _shortened():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn every error into a message of one line."""
        debug = ctx.params.get("debug")
        try:
            with _shortened():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
            if debug and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            raise
        except KeyboardInterrupt:
            place = streams.outcome.place
            raise Interrupted(
                f"Interrupted; {f'the results are complete in {place}' if place else 'nothing was written'}."
            ) from None
        except Exception as error:
            if debug:
                traceback.print_exc()
            if is_memory_problem(error):
                raise Failed(memory_sentence()) from None
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                raise WrongUse(_os_problem(error)) from None
            if isinstance(error, ImportError):
                # Of the core: one that is not there, or that cannot run on this processor.
                raise WrongUse(str(error)) from error
            hint = "" if debug else f"; '{self.program} --debug ...' shows where"
            raise Failed(f"saltmine failed ({type(error).__name__}: {error}){hint}.") from error


@contextmanager
def _shortened() -> Iterator[None]:
    """Let messages of click, which repeat what the user typed, be short sentences as ours are."""
    try:
        yield
    except click.ClickException as error:
        message = shorten_message(error.message)
        # click declares the message as final.
        vars(error)["message"] = message if message.endswith((".", "?")) else f"{message}."
        raise


@contextmanager
def user_mistakes(prefix: str = "") -> Iterator[None]:
    """Turn errors of this block into messages about the data or the options."""
    try:
        yield
    except ClusterError as error:
        raise Failed(f"{prefix}{error}") from error
    except (OSError, ValueError, ImportError) as error:
        if is_memory_problem(error):
            raise Failed(memory_sentence()) from error
        if not isinstance(error, OSError):
            raise WrongUse(f"{prefix}{getattr(error, 'on_command_line', error)}") from error
        if remedy := _disk_remedy(error):
            raise Failed(f"{prefix}{error.strerror}; {remedy}.") from error
        raise WrongUse(f"{prefix}{_os_problem(error)}") from error


@contextmanager
def writing_to(folder: os.PathLike[str]) -> Iterator[None]:
    """Turn failures to write into a folder into messages; other errors of the block stay as they are."""
    try:
        yield
    except OSError as error:
        remedy = _disk_remedy(error)
        if not remedy and not str(error.filename or "").startswith(os.fspath(folder)):
            raise
        # The messages of `atomic_write` name a temporary file.
        problem = f"The results cannot be written to {os.fspath(folder)}: {os.strerror(error.errno or 0)}"
        if remedy:
            raise Failed(f"{problem}; {remedy}.") from error
        raise WrongUse(f"{problem}; name a folder that you may write to.") from error


def _os_problem(error: OSError) -> str:
    """Return the message of an error of the system with the file that it is about."""
    where = f"{shorten(error.filename)}: " if error.filename else ""
    return f"{where}{error.strerror or error}".rstrip(".") + "."


def _disk_remedy(error: OSError) -> str:
    """Return what to do about a disk that is full, broken or read-only; empty for other errors."""
    return _DISK_REMEDIES.get(error.errno or 0, "")
