"""The command line: fit, transform, predict, report, compare, score, generate, reproduce, demo and completion."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from typing import Any, NoReturn


def main() -> None:
    """Run the command line."""
    # Names in the data may have characters that the terminal has not.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    before = {request: signal.signal(request, _Interrupt()) for request in (signal.SIGINT, signal.SIGTERM)}
    try:
        # Here, so that Ctrl-C while this is loaded ends in one line too.
        from saltmine.cli.errors import Interrupted
        from saltmine.cli.main import cli

        Interrupted.was_shown = False
        cli(prog_name="saltmine")
    except KeyboardInterrupt:
        print("Error: Interrupted; nothing was written.", file=sys.stderr)
        _leave_at_once()
    except SystemExit:
        if Interrupted.was_shown:
            _leave_at_once()
        raise
    finally:
        # Whoever calls this from Python has ways of their own.
        for request, handler in before.items():
            signal.signal(request, handler)


def _leave_at_once() -> NoReturn:
    """End with code 1 without waiting: a thread the interrupt met half-way must not hold up who pressed Ctrl-C."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


class _Interrupt:
    """Treat a request to end as Ctrl-C: what is half-written goes. A second one right behind it changes nothing."""

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, *_: Any) -> None:
        before, self.last = self.last, time.monotonic()
        if self.last - before > 1:
            raise KeyboardInterrupt
