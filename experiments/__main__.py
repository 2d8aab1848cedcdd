"""Run the paper's experiments: ``python -m experiments noise --quick``."""

from __future__ import annotations

import signal
import sys

from saltmine.cli import _Interrupt, _leave_at_once


def main() -> None:
    """Run the command; Ctrl-C and a request to end stop it in one line, as they stop ``saltmine``."""
    # The words in the data may have characters that the terminal lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    for request in (signal.SIGINT, signal.SIGTERM):
        signal.signal(request, _Interrupt())
    try:
        # Here, so that Ctrl-C while this is loaded ends in one line too.
        from experiments.command import cli
        from saltmine.cli.errors import Interrupted

        cli(prog_name="python -m experiments")
    except KeyboardInterrupt:
        print("Error: Interrupted; nothing was written.", file=sys.stderr)
        _leave_at_once()
    except SystemExit:
        if Interrupted.was_shown:
            _leave_at_once()
        raise


# The processes that run tasks import this module too, under another name.
if __name__ == "__main__":
    main()
