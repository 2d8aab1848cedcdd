"""Errors of the command line: one line on standard error and an exit code, 2 for wrong use, 1 for a failure."""

from __future__ import annotations

import errno
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


@contextmanager
def user_mistakes(prefix: str = "") -> Iterator[None]:
    """Turn errors of this block into messages about the data or the options."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise (Failed if error.errno in _DISK_ERRORS else WrongUse)(f"{prefix}{reason}.") from error
    except ClusterError as error:
        raise Failed(f"{prefix}{error}") from error
    except (ValueError, ImportError) as error:
        raise WrongUse(f"{prefix}{error}") from error
