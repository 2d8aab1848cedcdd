"""What goes wrong becomes one line on standard error and an exit code: 2 for wrong use, 1 for a failure."""

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

# A full disk or a broken one is nobody's mistake.
_NO_MISTAKE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


class WrongUse(click.ClickException):
    """A mistake in the data or the options: one line, no usage text, exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message on one line."""
        return " ".join(self.message.split())


class Failed(WrongUse):
    """Something that is no mistake of the user's: exit code 1."""

    exit_code = 1


class Interrupted(Failed):
    """Ctrl-C, or a request to end: what is to be kept was written, the rest is gone."""

    # Whether one was shown: what click raises in the end does not tell.
    was_shown = False

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it, and remember that it was said."""
        super().show(file)
        Interrupted.was_shown = True


@contextmanager
def user_mistakes(prefix: str = "") -> Iterator[None]:
    """Take errors of this block for mistakes in the data or the options: they say themselves how to mend them."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise (Failed if error.errno in _NO_MISTAKE else WrongUse)(f"{prefix}{reason}.") from error
    except ClusterError as error:
        raise Failed(f"{prefix}{error}") from error
    except (ValueError, ImportError) as error:
        raise WrongUse(f"{prefix}{error}") from error


class Commands(click.Group):
    """A group of commands that ends in one line, whatever happens; ``--debug`` shows where."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are used, not by the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
            if ctx.params.get("debug") and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            raise
        except KeyboardInterrupt:
            raise Interrupted("Interrupted; nothing was written.") from None
        except BrokenPipeError:
            # Whoever reads the output has seen enough; Python must not complain when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        except MemoryError:
            raise Failed("There is not enough memory; use fewer columns or rows, or a machine with more.") from None
        except Exception as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            hint = "" if ctx.params.get("debug") else "; 'saltmine --debug ...' shows where"
            raise Failed(f"saltmine failed ({type(error).__name__}: {error}){hint}.") from error
