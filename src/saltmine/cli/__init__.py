"""The command line; `saltmine.cli.main` lists its commands."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any, NoReturn


def main(module: str = "saltmine.cli.main", program: str = "saltmine") -> None:
    """Run the command line, the function ``cli`` of a module; Ctrl-C and a request to end stop it in one line."""
    # Names in the data may have characters that the terminal cannot show.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    before = {request: signal.signal(request, _Interrupt()) for request in (signal.SIGINT, signal.SIGTERM)}
    try:
        # Imported here, so that Ctrl-C during the import also ends in one line.
        from saltmine.cli.errors import Interrupted

        Interrupted.was_shown = False
        import_module(module).cli(prog_name=program)
    except KeyboardInterrupt:
        print("Error: Interrupted; nothing was written.", file=sys.stderr)
        _leave_at_once()
    except SystemExit:
        if Interrupted.was_shown:
            _leave_at_once()
        raise
    finally:
        # A caller from Python gets its own handlers back.
        for request, handler in before.items():
            signal.signal(request, handler)


def _leave_at_once() -> NoReturn:
    """Exit with code 1 without waiting for threads that the interrupt left unfinished."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


class _Interrupt:
    """Raise KeyboardInterrupt on a request to end; a second request within a second is ignored."""

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, *_: Any) -> None:
        before, self.last = self.last, time.monotonic()
        if self.last - before > 1:
            raise KeyboardInterrupt
