"""A run of pytest that collects the tests once, and tries them in a copy of its process whenever it is asked to.

It is a plugin, loaded with ``-p benchmarks.mutants.server``. The library is loaded at the first call of one of its
functions, so every copy takes the one that is there by then. Importing the tests takes longer than many a mutant lives.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from hypothesis import settings

from benchmarks.mutants.groups import CALLED, PIPES, TIMES

# A mutant that takes memory without end must not take that of others.
MAX_BYTES = 8 << 30

# Every mutant sees the same examples, and none that another one failed at.
settings.register_profile("mutants", database=None, derandomize=True)
settings.load_profile("mutants")


def pytest_runtestloop(session: Any) -> bool:
    """Answer every request, a line of two limits in seconds, with the exit code of the tests."""
    requests, answers = map(int, os.environ[PIPES].split())
    with open(requests, encoding="ascii") as lines, open(answers, "w", encoding="ascii") as stream:
        for line in lines:
            of_processor, of_clock = map(float, line.split())
            if TIMES.exists():
                # The quick ones first: most mutants fail them.
                times = json.loads(TIMES.read_text("utf-8"))
                session.items.sort(key=lambda item: times.get(item.nodeid, 0.0))
            child = os.fork()
            if child == 0:
                _test(session, of_processor, of_clock)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            # A search without end may have children.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            print(code, file=stream, flush=True)
    return True


def _test(session: Any, of_processor: float, of_clock: float) -> None:
    """Run the tests until one fails, and end the process. A signal ends it where time or memory are over."""
    os.setsid()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, of_processor)
    signal.setitimer(signal.ITIMER_REAL, of_clock)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    times = {}
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        begin = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        times[item.nodeid] = time.process_time() - begin
        if session.testsfailed:
            os._exit(1)
    if not TIMES.exists():
        native = sys.modules["saltmine.native"]
        CALLED.write_text(json.dumps([name for name in vars(native) if not name.startswith("_")]), "utf-8")
        TIMES.write_text(json.dumps(times), "utf-8")
    os._exit(0)
