"""Errors of the command line: one line on standard error and an exit code, 2 for wrong use, 1 for a failure."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from saltmine.distributed.errors import ClusterError

# A full or broken disk is not a mistake of the user.
_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


class WrongUse(click.ClickException):
    """A mistake in the data or the options: one line, no usage text, exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message on one line."""
        return " ".join(self.message.split())


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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn every error into a message of one line."""
        debug = ctx.params.get("debug")
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
            if debug and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            raise
        except KeyboardInterrupt:
            raise Interrupted("Interrupted; nothing was written.") from None
        except BrokenPipeError:
            # The reader has closed the pipe; Python must not complain when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        except MemoryError:
            raise Failed("There is not enough memory; use fewer columns or rows, or a machine with more.") from None
        except Exception as error:
            if debug:
                traceback.print_exc()
            hint = "" if debug else f"; '{self.program} --debug ...' shows where"
            raise Failed(f"saltmine failed ({type(error).__name__}: {error}){hint}.") from error


@contextmanager
def user_mistakes(prefix: str = "") -> Iterator[None]:
    """Turn errors of this block into messages about the data or the options."""
    try:
        yield
    except OSError as error:
        kind = Failed if error.errno in _DISK_ERRORS else WrongUse
        raise kind(f"{prefix}{error.strerror or error}.") from error
    except ClusterError as error:
        raise Failed(f"{prefix}{error}") from error
    except (ValueError, ImportError) as error:
        raise WrongUse(f"{prefix}{error}") from error
