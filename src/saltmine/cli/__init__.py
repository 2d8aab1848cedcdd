"""The command line; `saltmine.cli.main` lists its commands."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from saltmine.cli import memory, streams


def main(module: str = "saltmine.cli.main", program: str = "saltmine") -> None:
    """Run the command line, the function ``cli`` of a module, and exit; every end is at most one line and a code."""
    streams.open_closed()
    command = partial(_command, module, program)
    is_limited = memory.address_space_limit() is not None and hasattr(os, "fork")
    sys.exit(memory.supervised(command) if is_limited else command())


def _command(module: str, program: str, errors: int = 2) -> int:
    """Run the command line and return the exit code; ``errors`` is the file number of standard error."""
    memory.limit_threads()
    with streams.guarded_streams(errors) as stdout, _interrupts():
        code = _run(module, program)
        sys.stdout.flush()
        if not code and stdout is not None:
            code, sentence = streams.outcome.exit_code(stdout.problem)
            if sentence:
                print(f"{'Error: ' if code else ''}{sentence}", file=sys.stderr)
    return code


def _run(module: str, program: str) -> int:
    """Run the command line and return its exit code."""
    try:
        # Imported here, so that Ctrl-C during the import also ends in one line.
        from saltmine.cli.errors import Interrupted

        Interrupted.was_shown = False
        import_module(module).cli(prog_name=program)
    except KeyboardInterrupt:
        print("Error: Interrupted; nothing was written.", file=sys.stderr)
        _leave_at_once()
    except SystemExit as end:
        if end.code and Interrupted.was_shown:
            _leave_at_once()
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        # Python itself or a library that commands are made of had no memory; all else is caught in `errors`.
        if not memory.is_memory_problem(error):
            raise
        print(f"Error: {memory.memory_sentence()}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _interrupts() -> Iterator[None]:
    """Let Ctrl-C and a request to end interrupt the command; a caller from Python gets its own handlers back."""
    before = {request: signal.signal(request, _Interrupt()) for request in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for request, handler in before.items():
            signal.signal(request, handler)


def _leave_at_once() -> NoReturn:
    """Exit with code 1 without waiting for threads that the interrupt left unfinished."""
    sys.stdout.flush()
    sys.stderr.flush()
    memory.tell_parent(1)
    os._exit(1)


class _Interrupt:
    """Raise KeyboardInterrupt on a request to end; a second request within a second is ignored."""

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, *_: Any) -> None:
        before, self.last = self.last, time.monotonic()
        if self.last - before > 1:
            raise KeyboardInterrupt
