"""Processes that try many files each, and are watched: for crashes, hangs and memory.

Everything is imported before the first process is forked, so a new one costs milliseconds. What it is busy with stands
in memory that both processes share, so it is known even if it dies.

`saltmine.read` parses some formats in a process of its own, which takes a tenth of a second to start. Here these
parsers run within the process that tries the file, where they may well crash. Whatever goes wrong is then tried again
as users have it, and only that counts.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.cases import Case
from fuzz.trial import CRASH, HANG, MEMORY, Outcome, attempt

#: Reading a small file takes no longer, in seconds of the processor, and no more memory.
MAX_SECONDS = 20.0
MAX_BYTES = 2 << 30
# Characters of what a process said at its end: the stacks of several threads.
_MOST_WORDS = 20_000
# Who waits and does not compute hangs too; a busy machine is no reason.
_MAX_WAITING = 120.0
# What takes longer is tried again, and then with all the time.
_FIRST_SECONDS = 5.0
# Beyond this the process is ended at once, so that the machine survives.
_KILL_BYTES = 3 << 30
# Libraries keep some memory of every file; a new process begins anew.
_OLD_BYTES = 1 << 30
_MAX_TRIALS = 20_000
# The end of a trial that is a mistake in this package.
_NOT_MADE = "not made"
# An exit code.
_AGAIN = 77
# With it, `saltmine.io` starts no process.
_NO_PROCESS = "SALTMINE_PARSER"

_fork = multiprocessing.get_context("fork")


class Trial(NamedTuple):
    """A case, and how it is tried."""

    case: Case
    is_model: bool = False
    thorough: bool = False
    apart: bool = False


class _Shared(ctypes.Structure):
    """What a process is busy with: a number, since when, and the processor's seconds until then."""

    _fields_ = (("number", ctypes.c_long), ("since", ctypes.c_double), ("used", ctypes.c_double))


class Worker:
    """A process that tries cases by number. If it dies, the case is a finding, and another process goes on."""

    def __init__(self, max_seconds: float = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._shared = _Shared.from_buffer(mmap.mmap(-1, ctypes.sizeof(_Shared)))
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_fastest_folder()))
        self._log = self.folder / "log.txt"
        self._process: Any = None
        self._connection: Any = None
        self._has_ended = False
        self._make: Callable[[int], Trial] | None = None
        self._todo: list[int] = []
        self._apart: set[int] = set()

    def start(self, make: Callable[[int], Trial], numbers: list[int]) -> None:
        """Begin to try cases, which ``make`` makes of their numbers."""
        self._kill()
        self._make, self._todo, self._apart = make, list(numbers), set()
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
        outcome = self._problem()
        if outcome is None and not self._has_ended:
            return []
        number = int(self._shared.number)
        ended = []
        if outcome is not None and number in self._todo:
            if number in self._apart:
                ended = [(number, outcome)]
                self._todo.remove(number)
            else:
                self._apart.add(number)
        self._kill()
        if self._todo:
            self._fork()
        return ended

    def _problem(self) -> Outcome | None:
        if self._has_ended:
            self._process.join()
            code = self._process.exitcode
            return Outcome(CRASH, f"the process ended with {_exit(code)}\n{self._last_words()}") if code else None
        since, pid = self._shared.since, self._process.pid
        waited = time.monotonic() - since if since else 0.0
        limit = self._max_seconds if self._shared.number in self._apart else min(self._max_seconds, _FIRST_SECONDS)
        if waited > _MAX_WAITING or (waited > limit and self._used(pid) > limit):
            os.kill(pid, signal.SIGUSR1)  # it writes where it is
            time.sleep(0.3)
            return Outcome(HANG, f"reading takes longer than {limit:.0f} s\n{self._last_words()}")
        if waited and sum(map(_resident_bytes, _family(pid))) > _KILL_BYTES:
            return Outcome(MEMORY, f"reading takes more than {_KILL_BYTES >> 20} MB")
        return None

    def _used(self, pid: int) -> float:
        return sum(map(_cpu_seconds, _family(pid))) - float(self._shared.used)

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
        # Its children too, which libraries may have started.
        for pid in [*_family(self._process.pid)][1:]:
            os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._process = None

    def _last_words(self) -> str:
        text = self._log.read_text("utf-8", "replace") if self._log.exists() else ""
        # Behind the stack, Python lists all compiled modules.
        return text.partition("Extension modules:")[0][-_MOST_WORDS:]

    # ------------------------------------------------------------------ in the process

    def _run(self, connection: Any) -> None:
        log = os.open(self._log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        faulthandler.enable(file=log)
        faulthandler.register(signal.SIGUSR1, file=log, all_threads=True)
        # A crash is a finding with a stack; a file of all memory would only fill the disk.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for count, number in enumerate(self._todo):
            if count >= _MAX_TRIALS or _resident_bytes(os.getpid()) > _OLD_BYTES:
                return
            outcome = self._tried(number, number in self._apart)
            if outcome.is_finding and outcome.kind != _NOT_MADE and number not in self._apart:
                if outcome.kind == MEMORY:
                    # It has to be tried again in a new process: the peak of this one stays.
                    os._exit(_AGAIN)
                outcome = self._tried(number, True)
            connection.send((number, outcome))
            if outcome.kind == MEMORY:
                return

    def _tried(self, number: int, apart: bool) -> Outcome:
        assert self._make is not None
        folder = self.folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            trial = self._make(number)
        except Exception:
            return Outcome(_NOT_MADE, traceback.format_exc())
        os.environ.pop(_NO_PROCESS, None)
        if not (apart or trial.apart):
            os.environ[_NO_PROCESS] = "1"
        self._shared.used = time.process_time()
        self._shared.number, self._shared.since = number, time.monotonic()
        outcome = attempt(trial.case, folder, trial.is_model, trial.thorough)
        self._shared.since = 0.0
        peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        if peak << 10 > MAX_BYTES:
            return Outcome(MEMORY, f"reading took {peak >> 10} MB\n{outcome.kind}: {outcome.said}")
        return outcome


def _exit(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _family(pid: int) -> Iterator[int]:
    """Yield a process and what it has started."""
    yield pid
    for child in _contents(f"/proc/{pid}/task/{pid}/children").split():
        yield from _family(int(child))


def _resident_bytes(pid: int) -> int:
    fields = _contents(f"/proc/{pid}/statm").split()
    return int(fields[1]) * resource.getpagesize() if fields else 0


def _cpu_seconds(pid: int) -> float:
    # Behind the name of the program, which may hold blanks: state, ..., seconds as user and as system.
    fields = _contents(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _contents(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # the process has ended, or the system has no such files
        return ""


def _fastest_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
