"""Parse one file, as asked on standard input, and write numbers and texts to standard output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import IO, Any

from saltmine.parsers.guard import Guard, end_with_parent
from saltmine.parsers.messages import Allow, Message, ParseError, problem_header, send, send_header

Parse = Callable[[dict[str, Any]], Iterator[Message]]


def main() -> None:
    """Parse a file within limits of memory and time."""
    request = json.load(sys.stdin)
    guard = Guard(request["seconds"], request["max_memory"])
    end_with_parent(request["parent"])
    # Libraries that print must not write between the messages.
    pipe = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    parse: Parse = import_module(f"saltmine.parsers.{request['parser']}").parse
    guard.limit_memory()
    send_header(pipe, {"ready": list(sys.version_info[:2])})
    pipe.flush()
    try:
        send_header(pipe, _parsed(parse, request, pipe, guard))
        pipe.flush()
    except BrokenPipeError:
        pass  # the parent wants no more of it
    # At once: libraries may crash when they close a damaged file.
    os._exit(0)


def _parsed(parse: Parse, request: dict[str, Any], pipe: IO[bytes], guard: Guard) -> dict[str, Any]:
    """Send what the parser yields, and return the last header."""
    try:
        for message in parse(request):
            if isinstance(message, Allow):
                guard.more = message.seconds
            guard.renew()
            for _ in send(pipe, message):
                guard.renew()
            pipe.flush()
    except ParseError as error:
        return problem_header("refused", str(error), error.place)
    except MemoryError:
        return problem_header("memory", "")
    except BrokenPipeError:
        raise
    except Exception as error:  # libraries raise nearly every class of error for damaged files
        return problem_header("invalid", str(error) or type(error).__name__)
    return {"done": True}


if __name__ == "__main__":
    main()
