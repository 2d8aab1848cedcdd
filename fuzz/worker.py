"""Processes that try many files each, and are watched: for crashes, hangs and memory.

Everything is imported before the first process is forked, so a new one costs milliseconds. A file is read in the
process itself. What it is busy with stands in memory that both processes share, so it is known even if it dies.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.cases import Case
from fuzz.trial import CRASH, HANG, MEMORY, Outcome, attempt

#: Reading a small file takes no longer, and no more memory.
MAX_SECONDS = 20.0
MAX_BYTES = 2 << 30
# Beyond this the process is ended at once, so that the machine survives.
_KILL_BYTES = 3 << 30
# Libraries keep some memory of every file; a new process begins anew.
_OLD_BYTES = 1 << 30
_MAX_TRIALS = 20_000
# The end of a trial that is a mistake in this package.
_NOT_MADE = "not made"

#: Returns a case by its number, and whether it is a model and tried thoroughly.
Cases = Callable[[int], tuple[Case, bool, bool]]

_fork = multiprocessing.get_context("fork")


class _Shared(ctypes.Structure):
    """What a process is busy with: a number, since when, and how many trials it has finished."""

    _fields_ = (("number", ctypes.c_long), ("since", ctypes.c_double), ("done", ctypes.c_long))


class Worker:
    """A process that tries cases by number. If it dies, the case is a finding, and another process goes on."""

    def __init__(self, max_seconds: float = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._memory = mmap.mmap(-1, ctypes.sizeof(_Shared))
        self._shared = _Shared.from_buffer(self._memory)
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_fastest_folder()))
        self._log = self.folder / "log.txt"
        self._process: Any = None
        self._connection: Any = None
        self._has_ended = False
        self._cases: Cases | None = None
        self._todo: list[int] = []

    def start(self, cases: Cases, numbers: list[int]) -> None:
        """Begin to try cases."""
        self._cases, self._todo = cases, list(numbers)
        self._fork()

    @property
    def is_busy(self) -> bool:
        """Whether there are cases left to try."""
        return bool(self._todo)

    @property
    def has_news(self) -> bool:
        """Whether a trial has ended that `poll` has not returned yet."""
        return self._has_ended or bool(self._connection.poll())

    def poll(self) -> list[tuple[int, Outcome]]:
        """Return the trials that ended since the last call."""
        ended: list[tuple[int, Outcome]] = []
        while self._todo and not self._has_ended and self._connection.poll():
            try:
                number, outcome = self._connection.recv()
            except EOFError:
                self._has_ended = True
                break
            if outcome.kind == _NOT_MADE:
                raise RuntimeError(f"Case {number} cannot be made:\n{outcome.said}")
            ended.append((number, outcome))
            self._todo.remove(number)
        if self._todo and not ended:
            ended += self._watch()
        return ended

    def close(self) -> None:
        """End the process."""
        self._kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _watch(self) -> list[tuple[int, Outcome]]:
        """Look at the process: end it if it takes too long or too much, and replace it if it has ended."""
        outcome = None
        since = self._shared.since
        if self._has_ended:
            self._process.join()
            code = self._process.exitcode
            if code != 0:
                outcome = Outcome(CRASH, f"the process ended with {_exit(code)}\n{self._last_words()}")
        elif since and time.monotonic() - since > self._max_seconds:
            os.kill(self._process.pid, signal.SIGUSR1)  # it writes where it is
            time.sleep(0.3)
            outcome = Outcome(HANG, f"reading takes longer than {self._max_seconds:.0f} s\n{self._last_words()}")
        elif _resident_bytes(self._process.pid) > _KILL_BYTES:
            outcome = Outcome(MEMORY, f"reading takes more than {_KILL_BYTES >> 20} MB")
        else:
            return []
        ended = []
        if outcome is not None:
            number = int(self._shared.number)
            if number in self._todo:
                ended = [(number, outcome)]
                self._todo.remove(number)
        self._kill()
        if self._todo:
            self._fork()
        return ended

    def _fork(self) -> None:
        ours, theirs = _fork.Pipe(duplex=False)
        self._shared.since = 0.0
        self._log.unlink(missing_ok=True)
        self._process = _fork.Process(target=self._run, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._connection, self._has_ended = ours, False

    def _kill(self) -> None:
        if self._process is None:
            return
        # The children of the process too, which libraries may have started.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._process.kill()
        self._process.join()
        self._connection.close()
        self._process = None

    def _last_words(self) -> str:
        text = self._log.read_text("utf-8", "replace") if self._log.exists() else ""
        # Behind the stack, Python lists all compiled modules.
        return text.partition("Extension modules:")[0][-4000:]

    # ------------------------------------------------------------------ in the process

    def _run(self, connection: Any) -> None:
        os.setpgid(0, 0)
        log = os.open(self._log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        faulthandler.enable(file=log)
        faulthandler.register(signal.SIGUSR1, file=log, all_threads=True)
        # A crash is a finding with a stack; a file of all memory would only fill the disk.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        assert self._cases is not None
        for count, number in enumerate(self._todo):
            if count >= _MAX_TRIALS or _resident_bytes(os.getpid()) > _OLD_BYTES:
                return
            self._shared.number, self._shared.since = number, time.monotonic()
            outcome = _tried(self._cases, number, self.folder / "case")
            self._shared.since = 0.0
            peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            if peak << 10 > MAX_BYTES:
                outcome = Outcome(MEMORY, f"reading took {peak >> 10} MB\n{outcome.kind}: {outcome.said}")
            connection.send((number, outcome))
            if outcome.kind == MEMORY:
                return


def _tried(cases: Cases, number: int, folder: Path) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        case, is_model, thorough = cases(number)
    except Exception:
        return Outcome(_NOT_MADE, traceback.format_exc())
    return attempt(case, folder, is_model, thorough)


def _exit(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):  # the process has ended, or the system has no such files
        return 0


def _fastest_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
