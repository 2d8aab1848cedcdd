"""Parse a file in a process of its own: what it sends is checked, and how it fails becomes one sentence.

htslib, HDF5 and Arrow read what they are given in C and C++. A damaged file can make them crash, loop for ever or take
all memory, which ends a process without a message. So they run in another one, `saltmine.parsers`, which limits itself
and sends plain numbers and text. Nothing that it sends is run as code here, and no array is allocated before its size
has been checked.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

import saltmine
from saltmine.extras import needing
from saltmine.io.errors import ReadError, not_valid, summary
from saltmine.io.limits import allowed_memory, check_memory, file_size, out_of_memory
from saltmine.io.npz import true_or_false
from saltmine.parsers.messages import LENGTH, MAX_HEADER, TEXTS, Allow, Facts, Message, Numbers, ParseError, Texts

#: Seconds of computing without progress after which a parser is given up.
SECONDS_WITHOUT_PROGRESS = 5.0
# What a text takes as an object, besides its characters.
_TEXT_BYTES = 64
_DTYPES = {np.dtype(kind).newbyteorder("<").str for kind in "?bBhHiIqQefd"}
_PIPE_BYTES, _SET_PIPE_SIZE = 1 << 20, 1031
#: Environment variable of a process that parses; in such a one, no other process is started.
IN_PARSER = "SALTMINE_PARSER"

Value: TypeAlias = "NDArray[Any] | list[str] | dict[str, Any]"


class Parsed:
    """The messages of a parser, one after another.

    Attributes
    ----------
    notes : tuple of str
        A sentence if the file is parsed in this process, because no other one could be started.
    """

    def __init__(self, messages: Iterator[tuple[str, Value]], notes: tuple[str, ...] = ()) -> None:
        self._messages, self.notes = messages, notes

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return self._messages

    def facts(self, name: str) -> dict[str, Any]:
        """Return the next message, which must be facts of this name."""
        found = self._next(name)
        if not isinstance(found, dict):
            raise _unexpected()
        return found

    def values(self, name: str) -> NDArray[Any]:
        """Return the next message, which must be numbers or texts of this name, as an array."""
        found = self._next(name)
        if isinstance(found, dict):
            raise _unexpected()
        return np.array(found, dtype=object) if isinstance(found, list) else found

    def _next(self, name: str) -> Value:
        found, value = next(self._messages, ("", {}))
        if found != name:
            raise _unexpected()
        return value


def check_library(library: str, extra: str, what: str) -> None:
    """Say which extra to install if a library that a parser needs is missing; ``what`` is what the file should be."""
    with needing(extra, f"Reading {'an' if what[0] in 'AEIOU' else 'a'} {what}"):
        if find_spec(library) is None:
            raise ImportError(name=library)


@contextmanager
def parse_apart(parser: str, what: str, path: Path, request: dict[str, Any]) -> Iterator[Parsed]:
    """Parse a file in another process, which ends with the block; yield what it sends.

    Parameters
    ----------
    parser : str
        Module of `saltmine.parsers`.
    what : str
        What the file should be, as "AnnData file".
    path : Path
    request : dict
        Further arguments of the parser, as JSON has them.
    """
    size = file_size(path)
    request = {**request, "parser": parser, "path": str(path.absolute()), "max_memory": allowed_memory(size)}
    process = _started(request)
    if process is None:
        yield Parsed(_parsed_here(parser, what, request, size), (_WITHIN,))
        return
    try:
        yield Parsed(_received(process, what, path, size))
    finally:
        # Also after Ctrl-C: the parser may be in a loop that only this ends.
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


# ------------------------------------------------------------------------------------------------ starting the process

_WITHIN = (
    "The file was read within this process, as no Python interpreter could be started beside it; a damaged file could "
    "have ended it."
)


def _started(request: dict[str, Any]) -> subprocess.Popen[bytes] | None:
    """Return a process that is ready to parse; None if no interpreter can be started."""
    if IN_PARSER in os.environ:
        return None  # what was taken for an interpreter has started this program again
    request = {**request, "seconds": SECONDS_WITHOUT_PROGRESS, "parent": os.getpid()}
    for interpreter in _interpreters():
        command = [interpreter, "-P", "-m", "saltmine.parsers"]
        settings: dict[str, Any] = {"creationflags": 0x08000000} if sys.platform == "win32" else {}  # no window
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                **settings,
            )
        except (OSError, ValueError):
            continue
        is_ready = False
        try:
            is_ready = _is_ready(process, request)
        finally:
            if not is_ready:
                _end(process)
        if is_ready:
            return process
    return None


def _is_ready(process: subprocess.Popen[bytes], request: dict[str, Any]) -> bool:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        header = _header(process.stdout)
    except (OSError, ReadError, EOFError):
        return False
    _widen(process.stdout)
    return header == {"ready": list(sys.version_info[:2])}


def _interpreters() -> Iterator[str]:
    """Yield what may be the interpreter of this process; another program may have it inside."""
    if not getattr(sys, "frozen", False) and re.match(r"python|pypy", Path(sys.executable or "").name, re.IGNORECASE):
        yield sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix)):
        for path in (Path(prefix, "bin", name), Path(prefix, "python.exe")):
            if path.is_file():
                yield str(path)


def _environment() -> dict[str, str]:
    """Return the environment of the parser: it finds the same modules, and reserves little memory."""
    package = str(Path(saltmine.__file__).parents[1])
    # Not the current folder: it may hold anything.
    modules = os.pathsep.join(dict.fromkeys([package, *(entry for entry in sys.path if entry)]))
    # Stacks of threads count as memory in use, and so does the gigabyte that Arrow's own allocator reserves.
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return {**os.environ, **settings, "PYTHONPATH": modules, IN_PARSER: "1"}


def _widen(stream: IO[bytes]) -> None:
    """Let more data wait in the pipe, so that both processes work at the same time."""
    if sys.platform.startswith("linux"):
        import fcntl

        # Where the user has many pipes it fails, and reading is only slower.
        with suppress(OSError):
            fcntl.fcntl(stream.fileno(), _SET_PIPE_SIZE, _PIPE_BYTES)


# ----------------------------------------------------------------------------------------------------- taking messages


def _received(process: subprocess.Popen[bytes], what: str, path: Path, size: int | None) -> Iterator[tuple[str, Value]]:
    """Yield the messages of a process until it is done, or say why it ended before."""
    assert process.stdout is not None
    receiver = _Receiver(process.stdout, path, size)
    try:
        while True:
            header = _header(process.stdout)
            if "done" in header:
                return
            if "problem" in header:
                raise _refusal(header, what, size)
            yield receiver.message(header)
    except EOFError:
        raise _ended(process.wait(), what) from None


class _Receiver:
    """Takes arrays and texts from a pipe; what they need together is checked before they are allocated.

    Numbers that the file holds as they are in memory are not sent, but read from there.
    """

    def __init__(self, stream: IO[bytes], path: Path, size: int | None) -> None:
        self._stream, self._path, self._size, self._n_bytes = stream, path, size, 0

    def message(self, header: dict[str, Any]) -> tuple[str, Value]:
        """Return the name and the contents of a message."""
        if isinstance(header.get("facts"), str) and isinstance(header.get("values"), dict):
            return header["facts"], header["values"]
        if isinstance(header.get("numbers"), str):
            return header["numbers"], self._numbers(header)
        if isinstance(header.get("texts"), str):
            return header["texts"], self._texts(header)
        raise _unexpected()

    def _numbers(self, header: dict[str, Any]) -> NDArray[Any]:
        shape, dtype = header.get("shape"), header.get("dtype")
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise _unexpected()
        if not isinstance(shape, list) or not all(_is_count(length) for length in shape):
            raise _unexpected()
        self._allocate(prod(shape) * np.dtype(dtype).itemsize)
        array = np.empty(shape, dtype=dtype)
        if "offset" in header:
            self._read(array, header["offset"])
        else:
            _fill(self._stream, array)
        return true_or_false(array)

    def _read(self, array: NDArray[Any], offset: Any) -> None:
        """Read an array from its place in the file."""
        if not _is_count(offset):
            raise _unexpected()
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                _fill(file, array)
        except EOFError:
            raise _unexpected() from None

    def _texts(self, header: dict[str, Any]) -> list[str]:
        count = header.get("count")
        if not _is_count(count):
            raise _unexpected()
        self._allocate(count * _TEXT_BYTES)
        found: list[str] = []
        while len(found) < count:
            n_texts, n_bytes = TEXTS.unpack(_exactly(self._stream, TEXTS.size))
            if not 0 < n_texts <= count - len(found):
                raise _unexpected()
            self._allocate(2 * n_bytes)
            lengths = np.empty(n_texts, dtype="<u4")
            _fill(self._stream, lengths)
            text = _exactly(self._stream, n_bytes).decode()
            ends = np.cumsum(lengths, dtype=np.int64).tolist()
            if ends[-1] != len(text):
                raise _unexpected()
            found += [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        return found

    def _allocate(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        check_memory(self._n_bytes, "the data", self._size)


def _header(stream: IO[bytes]) -> dict[str, Any]:
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    if length > MAX_HEADER:
        raise _unexpected()
    try:
        header = json.loads(_exactly(stream, length))
    except (ValueError, RecursionError):
        raise _unexpected() from None
    if not isinstance(header, dict):
        raise _unexpected()
    return header


def _exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise EOFError
    return data


def _fill(stream: IO[bytes], array: NDArray[Any]) -> None:
    """Read all of an array from a pipe."""
    view = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
    begin = 0
    while begin < len(view):
        n_read = stream.readinto(view[begin:])  # type: ignore[attr-defined]
        if not n_read:
            raise EOFError
        begin += n_read


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 1 << 62


# ------------------------------------------------------------------------------------------------- how a parser may end


def _refusal(header: dict[str, Any], what: str, size: int | None) -> ReadError:
    text, place = str(header.get("text")), str(header.get("place") or "")
    if header["problem"] == "memory":
        return out_of_memory(size)
    return ReadError(text, place) if header["problem"] == "refused" else not_valid(what, summary(text))


def _ended(code: int, what: str) -> ReadError:
    """Return the error for a process that ended before it was done."""
    remedy = "the file is damaged; get or write it again"
    if os.name == "posix" and code == -signal.SIGXCPU:
        seconds = f"{SECONDS_WITHOUT_PROGRESS:g} seconds of computing"
        return ReadError(f"the parser of this {what} was ended after {seconds} without progress; {remedy}.")
    if os.name == "posix" and code in (-signal.SIGKILL, -signal.SIGTERM):
        reason = "by another process, or by the system because memory ran out"
        return ReadError(f"the parser of this {what} was ended {reason}; try again.")
    how = f"signal {signal.Signals(-code).name}" if os.name == "posix" and code < 0 else f"exit code {code}"
    return ReadError(f"the parser of this {what} crashed ({how}); {remedy}.")


def _unexpected() -> ReadError:
    return ReadError("the parser sent something that is not data; the file is damaged, get or write it again.")


# ------------------------------------------------------------------------------------------------------ without process


def _parsed_here(parser: str, what: str, request: dict[str, Any], size: int | None) -> Iterator[tuple[str, Value]]:
    """Yield the messages of a parser that runs in this process."""
    try:
        for message in import_module(f"saltmine.parsers.{parser}").parse(request):
            if not isinstance(message, Allow):
                yield message.name, _value(message, size)
    except ParseError as error:
        raise ReadError(str(error), error.place) from None
    except ReadError:
        raise
    except MemoryError:
        raise out_of_memory(size) from None
    except Exception as error:  # libraries raise nearly every class of error for damaged files
        raise not_valid(what, summary(error)) from None


def _value(message: Message, size: int | None) -> Value:
    if isinstance(message, Numbers):
        check_memory(prod(message.shape) * message.dtype.itemsize, "the data", size)
        array = np.empty(message.shape, dtype=message.dtype)
        begin = 0
        for piece in message.pieces:
            array[begin : begin + len(piece)] = piece
            begin += len(piece)
        return array
    if isinstance(message, Texts):
        check_memory(message.count * _TEXT_BYTES, "the data", size)
        return [text for piece in message.pieces for text in piece]
    assert isinstance(message, Facts)
    return message.values
