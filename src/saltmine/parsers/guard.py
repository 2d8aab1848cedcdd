"""Limits of the process that parses a file: on memory, on computing without progress, and on outliving its parent."""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import sys

_IS_WINDOWS = sys.platform == "win32"
_PR_SET_PDEATHSIG = 1
# Seconds on the clock for one of computing, where the system does not count the latter.
_PATIENCE = 10


class Guard:
    """Ends this process if it computes for some seconds without progress, even inside of a library that never returns.

    The system ends it (SIGXCPU) by the computing time, so a file that goes on slowly, because the disk or the machine
    is busy, is never given up. Windows has no such limit; there it is a much longer time on the clock.
    """

    def __init__(self, seconds: float, max_memory: int | None) -> None:
        self.seconds = seconds
        self.more = 0.0
        self.max_memory = max_memory
        self._silence = open(os.devnull, "w") if _IS_WINDOWS else None  # noqa: SIM115
        if not _IS_WINDOWS:
            import resource

            # No core files: a crash is nothing unusual here.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # The parent decides what Ctrl-C means.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.renew()

    def renew(self) -> None:
        """Allow the seconds anew, and ``more`` of them, because there is progress; refuse to go on with much memory."""
        seconds = self.seconds + self.more
        if self._silence is not None:
            faulthandler.dump_traceback_later(seconds * _PATIENCE, exit=True, file=self._silence)
            return
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        used = math.ceil(usage.ru_utime + usage.ru_stime)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        allowed = used + math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (allowed if hard < 0 else min(allowed, hard), hard))
        if self.max_memory is not None and _peak_memory() > self.max_memory:
            raise MemoryError

    def limit_memory(self) -> None:
        """Let allocations beyond the limit fail; to be called after imports, which reserve memory of their own."""
        if self.max_memory is None or not sys.platform.startswith("linux"):
            return  # macOS does not enforce such limits; `renew` checks what is used between steps
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = used + self.max_memory
        resource.setrlimit(resource.RLIMIT_DATA, (allowed if hard < 0 else min(allowed, hard), hard))


def _peak_memory() -> int:
    """Return the most bytes that this process has had in memory."""
    if sys.platform.startswith("linux"):
        # `getrusage` starts from the memory of the parent, which may be large.
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def end_with_parent(parent: int) -> None:
    """Let the system end this process when its parent ends, even if the parent is killed."""
    if not sys.platform.startswith("linux"):
        return  # elsewhere the closed pipe ends it, or the limit on computing
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before
