"""Too little memory: errors that tell of it, and limits of the address space (``ulimit -v``).

Where such a limit is set, libraries may end the process themselves or crash. So the command then runs in a process of
its own, and the one that was started tells in one sentence how it ended. This module itself needs little memory.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from saltmine.memory import MemoryLimitError

try:
    import resource
except ImportError:  # pragma: no cover - Windows, which has no such limits
    resource = None  # type: ignore[assignment]  # a module elsewhere

# What the libraries of all commands need when they use one thread, with a little data; and with Python itself.
NEEDED, NEEDED_IN_ALL = 600_000_000, 650_000_000
# Below this limit, threads are few: each takes up to 200 MB of address space, though little memory.
_SCARCE, _PER_THREAD = 8_000_000_000, 200_000_000
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
# What libraries say when the system gives them no memory or no thread.
_SIGNS = (
    "failed to map segment",
    "cannot allocate memory",
    "unable to allocate",
    "can't start new thread",
    "resource temporarily unavailable",
)
# Numbers of glibc and of Linux: how many heaps there are for threads; a signal at the end of the parent.
_M_ARENA_MAX, _PR_SET_PDEATHSIG = -8, 1
# Where `tell_parent` writes, if there is somebody to tell.
_parent: list[int] = []


def is_memory_problem(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came from, tells of too little memory.

    Examples
    --------
    >>> is_memory_problem(RuntimeError("can't start new thread")), is_memory_problem(RuntimeError("no such thing"))
    (True, False)
    """
    # An error of a limit says itself what to do.
    if error is None or isinstance(error, MemoryLimitError):
        return False
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    # ctypes gives no number with its errors; those of other system calls are about something else.
    is_of_library = isinstance(error, ImportError | RuntimeError | SystemError)
    if is_of_library or (isinstance(error, OSError) and error.errno is None):
        text = str(error).lower()
        if any(sign in text for sign in _SIGNS):
            return True
    return is_memory_problem(error.__cause__ or error.__context__)


def memory_sentence() -> str:
    """Return what to tell the user when there was too little memory."""
    limit = address_space_limit()
    if limit is None:
        return "There is not enough memory; use fewer columns or rows, or a machine with more."
    within = f"within the limit of {_megabytes(limit)} of address space"
    return f"There is not enough memory {within}; raise the limit (ulimit -v), or use fewer columns or rows."


def address_space_limit() -> int | None:
    """Return how many bytes of address space this process may use; None if there is no limit."""
    if resource is None:  # pragma: no cover
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


def too_small() -> str:
    """Return why commands cannot even start within the limit of the address space; empty if they can."""
    limit = address_space_limit()
    if limit is None:
        return ""
    try:
        mmap.mmap(-1, NEEDED).close()
    except (OSError, MemoryError):
        needs = f"saltmine needs at least {_megabytes(NEEDED_IN_ALL)} of address space"
        return f"{needs}, but this process may use {_megabytes(limit)}; raise the limit (ulimit -v)."
    return ""


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def limit_threads() -> None:
    """Let libraries use few threads where address space is scarce; to be called before they are imported."""
    limit = address_space_limit()
    if limit is None or limit >= _SCARCE:
        return
    threads = max(1, min(os.cpu_count() or 1, (limit - 2 * NEEDED) // _PER_THREAD))
    for name in _THREAD_VARIABLES:
        given = os.environ.get(name, "")
        if not given.isdecimal() or int(given) > threads:
            os.environ[name] = str(threads)
    # The allocator of pyarrow, which pandas may import, would reserve 1 GB at once.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Else every thread reserves 64 MB or more for a heap of its own. Only glibc has this function.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def supervised(run: Callable[[int], int]) -> int:
    """Return the exit code of a function that runs in a process of its own, which is given a number for its errors.

    The function gets the file number of standard error. The usual number leads nowhere there: libraries use it for
    messages of their own. If the process ends before the function returns, the user is told that memory was short.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _parent.append(writer)
        _end_with_parent()
        errors = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = run(errors)
        tell_parent(code)
        return code
    os.close(writer)
    for request in (signal.SIGINT, signal.SIGTERM):
        signal.signal(request, lambda number, _: os.kill(child, number))
    with open(reader, "rb") as stream:
        told = stream.read(1)
    for request in (signal.SIGINT, signal.SIGTERM):
        signal.signal(request, signal.SIG_IGN)
    status = os.waitpid(child, 0)[1]
    if told:
        return told[0]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    sentence = "The process was killed; nothing was written." if killed else memory_sentence()
    with suppress(OSError):
        os.write(2, f"Error: {sentence}\n".encode())
    return 1


def tell_parent(code: int) -> None:
    """Tell the process that supervises this one, if there is one, that all is said and how it ends."""
    for writer in _parent:
        os.write(writer, bytes([code]))


def _end_with_parent() -> None:
    # Other systems than Linux have no such function.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
