"""Checkpoints: a file from which an interrupted fit goes on.

A checkpoint is a JSON header, plain arrays and a digest of both; nothing in it is ever executed. It is always written
as a whole beside its place and then moved there, so a process that is killed leaves the checkpoint before.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.version import __version__

#: Texts, numbers, lists and arrays by name, which may be nested.
State = dict[str, Any]

_MAGIC = b"saltmine checkpoint\n"
_VERSION = 1
_SIZE, _DIGEST = 8, 32
# Seconds from one state to the next that is kept, at least, and so many times what keeping it took; and seconds that a
# search must have taken for its last state to be kept.
INTERVAL, SHARE, LEAST = 2.0, 50.0, 1.0
# From one state to the next that is held in memory, so many times what taking it took.
HELD_SHARE = 20.0


class CheckpointError(ValueError):
    """Raised if a file is not a checkpoint of this fit.

    Examples
    --------
    >>> from saltmine import Primp
    >>> Primp(checkpoint="no such folder/fit.ckpt").fit([[1, 1], [0, 1]])
    Traceback (most recent call last):
    saltmine.checkpoint.CheckpointError: There is no folder 'no such folder' for the checkpoint fit.ckpt; make it first.
    """


def check_checkpoint(path: Any) -> None:
    """Refuse what is not the name of a file that can be made.

    Examples
    --------
    >>> check_checkpoint(3)
    Traceback (most recent call last):
    ValueError: checkpoint must be the name of a file or None, not 3.
    """
    if path is None:
        return
    if not isinstance(path, (str, PathLike)) or not str(path):
        raise ValueError(f"checkpoint must be the name of a file or None, not {path!r}.")
    path = Path(path)
    if path.is_dir():
        raise CheckpointError(f"The checkpoint {str(path)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise CheckpointError(f"There is no folder {str(path.parent)!r} for the checkpoint {path.name}; make it first.")


def remove_checkpoint(path: str | PathLike[str] | None) -> None:
    """Remove a checkpoint, if there is any: its fit has ended."""
    if path is not None:
        for file in (Path(path).resolve(), _aside(Path(path).resolve())):
            file.unlink(missing_ok=True)


def _aside(path: Path) -> Path:
    """Return where a checkpoint is written before it is moved to its place."""
    return path.with_name(f"{path.name}.part")


class Checkpoint:
    """The checkpoint of one fit, with a part for every search in it.

    Parameters
    ----------
    path : path
        An existing file must be a checkpoint of the same fit.
    identity : mapping
        What makes it the same fit, by names that a reader understands.
    facts : mapping
        What else the fit began with; those of an existing checkpoint are kept.

    Attributes
    ----------
    facts : dict
    has_advanced : bool
        Whether this run has kept anything.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "fit.ckpt"
    >>> Checkpoint(path, {"data": "a1"}, {"seeds": [5]}).part("restart 0").keep(lambda: {"rows": np.arange(3)}, wait=0)
    >>> again = Checkpoint(path, {"data": "a1"}, {"seeds": [7]})
    >>> again.facts, again.part("restart 0").state
    ({'seeds': [5]}, {'rows': array([0, 1, 2])})
    >>> Checkpoint(path, {"data": "b2"}, {})
    Traceback (most recent call last):
    saltmine.checkpoint.CheckpointError: ... belongs to another fit (other data); name another file or delete this one.
    """

    def __init__(self, path: str | PathLike[str], identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        check_checkpoint(path)
        # The target of a symbolic link is replaced, not the link.
        self.path = Path(path).resolve()
        self._identity = json.loads(json.dumps(dict(identity)))
        self._lock = threading.Lock()
        self._is_writable, self.has_advanced = True, False
        self.facts, self._parts = dict(facts), dict[str, State]()
        if self.path.exists():
            self._take(read(self.path))
        try:
            self._write()
        except OSError as error:
            reason = error.strerror or error
            raise CheckpointError(f"The checkpoint {str(self.path)!r} cannot be written: {reason}.") from None

    def _take(self, content: State) -> None:
        """Take over what an earlier run of the same fit has done."""
        other = _differences(content["identity"], self._identity)
        if other:
            remedy = "name another file or delete this one"
            raise CheckpointError(f"{str(self.path)!r} belongs to another fit ({', '.join(other)}); {remedy}.")
        self.facts, self._parts = content["facts"], content["parts"]

    def part(self, name: str) -> Part:
        """Return the part of this name, which may have a state already."""
        return Part(self, name, self._parts.get(name))

    def keep(self, name: str, state: State) -> None:
        """Write the state of a part; where that fails, the fit goes on without."""
        with self._lock:
            self._parts[name], self.has_advanced = state, True
            if not self._is_writable:
                return
            try:
                self._write()
            except OSError as error:
                self._is_writable = False
                reason = f"cannot be written ({error.strerror or error})"
                warnings.warn(f"The checkpoint {str(self.path)!r} {reason}; the fit goes on without it.", stacklevel=2)

    def _write(self) -> None:
        content = {"identity": self._identity, "facts": self.facts, "parts": self._parts}
        aside = _aside(self.path)
        with aside.open("wb") as stream:
            stream.write(_encode(content))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, self.path)


class Part:
    """What a checkpoint holds of one search.

    Attributes
    ----------
    state : dict or None
        What was kept last, by this run or an earlier one.
    """

    def __init__(self, checkpoint: Checkpoint, name: str, state: State | None) -> None:
        self._checkpoint, self._name, self.state = checkpoint, name, state
        self._begin = self._kept = time.monotonic()
        self._took = 0.0
        self._held: State | None = None
        self._held_at, self._held_took = -np.inf, 0.0

    def keep(self, make_state: Callable[[], State], wait: float | None = None, hold: bool = False) -> None:
        """Keep the state that a function returns, but only now and then, as that takes time.

        ``wait`` are the seconds that must have passed since the last time. With ``hold`` it is held in memory until
        then, for `keep_held`.
        """
        begin = time.monotonic()
        if begin - self._kept >= (max(INTERVAL, SHARE * self._took) if wait is None else wait):
            self._write(make_state())
            self._took = self._kept - begin
        elif hold and begin - self._held_at >= HELD_SHARE * self._held_took:
            self._held = _copied(make_state())
            self._held_at = time.monotonic()
            self._held_took = self._held_at - begin

    def _write(self, state: State) -> None:
        # Searches go on to change their arrays, and the file is written anew for every part.
        self.state, self._held = _copied(state), None
        self._checkpoint.keep(self._name, self.state)
        self._kept = time.monotonic()

    def keep_held(self) -> None:
        """Keep the state that is held in memory, if there is any."""
        if self._held is not None:
            self._write(self._held)

    def is_damaged(self) -> CheckpointError:
        """Return the error for a state that does not fit the data."""
        return _damaged(self._checkpoint.path)

    def keep_last(self, make_state: Callable[[], State], always: bool = False) -> None:
        """Keep the state at the end of a search, unless it took next to no time, or always."""
        if always or time.monotonic() - self._begin >= min(LEAST, INTERVAL):
            self.keep(make_state, wait=0)


def _copied(value: Any) -> Any:
    """Return a state with copies of its arrays."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {name: _copied(part) for name, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, (list, tuple)) else value


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """Return in words what is different."""
    if not isinstance(theirs, dict):
        return ["other data"]
    names = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    # A reader would make nothing of a digest or a list.
    told = [name in theirs and isinstance(ours.get(name), (int, float, bool)) for name in names]
    return [
        f"{name} {theirs[name]!r}, not {ours[name]!r}" if tell else f"other {name}"
        for name, tell in zip(names, told, strict=True)
    ]


# ---------------------------------------------------------------------- the file


def digest(*arrays: Any) -> str:
    """Return a text that is another one if any of the arrays is.

    Examples
    --------
    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.arange(4))
    (True, False)
    """
    found = hashlib.sha256()
    for array in arrays:
        plain = np.ascontiguousarray(array)
        found.update(f"{plain.dtype.str} {plain.shape} ".encode())
        found.update(plain.view(np.uint8).reshape(-1).data if plain.size else b"")
    return found.hexdigest()


def _encode(content: State) -> bytes:
    arrays = list[bytes]()

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            packed = np.packbits(value) if value.dtype.kind == "b" else np.ascontiguousarray(value)
            arrays.append(packed.tobytes())
            return {"array": [value.dtype.str, list(value.shape), len(arrays[-1])]}
        if isinstance(value, Mapping):
            return {"of": {name: plain(part) for name, part in value.items()}}
        if isinstance(value, (list, tuple)):
            return [plain(part) for part in value]
        return value.item() if isinstance(value, np.generic) else value

    header = {"format": _VERSION, "saltmine": __version__, "content": plain(content)}
    text = json.dumps(header).encode()
    parts = [_MAGIC, len(text).to_bytes(_SIZE, "little"), text, *arrays]
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return b"".join([*parts, found.digest()])


def read(path: Path) -> State:
    """Return the content of a checkpoint file, or say in one sentence why that cannot be done."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"The checkpoint {str(path)!r} cannot be read: {error.strerror or error}.") from None
    if not data.startswith(_MAGIC):
        raise CheckpointError(f"{str(path)!r} is no checkpoint of saltmine; name another file.")
    body, end = memoryview(data)[:-_DIGEST], data[-_DIGEST:]
    if len(data) < len(_MAGIC) + _SIZE + _DIGEST or hashlib.sha256(body).digest() != end:
        raise _damaged(path)
    begin = len(_MAGIC) + _SIZE
    size = int.from_bytes(body[len(_MAGIC) : begin], "little")
    try:
        header = json.loads(bytes(body[begin : begin + size]))
        known = header["format"] == _VERSION and header["saltmine"] == __version__
        version = header["saltmine"]
        content = _decode(header["content"], body[begin + size :]) if known else {}
        is_complete = not known or {"identity", "facts", "parts"} <= content.keys()
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError, AttributeError, IndexError):
        raise _damaged(path) from None
    if not known:
        remedy = "go on with that one, or delete it to begin anew"
        raise CheckpointError(f"The checkpoint {str(path)!r} is of saltmine {version}, not {__version__}; {remedy}.")
    if not is_complete:
        raise _damaged(path)
    return content


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"The checkpoint {str(path)!r} is damaged; delete it to begin anew.")


def _decode(content: Any, data: memoryview) -> State:
    place = 0

    def whole(value: Any) -> Any:
        nonlocal place
        if isinstance(value, list):
            return [whole(part) for part in value]
        if not isinstance(value, dict):
            return value
        if "of" in value:
            return {name: whole(part) for name, part in value["of"].items()}
        dtype, shape, size = np.dtype(value["array"][0]), tuple(value["array"][1]), int(value["array"][2])
        if dtype.kind not in "biuf" or not 0 <= size <= len(data) - place or any(side < 0 for side in shape):
            raise ValueError
        place += size
        return _array(data[place - size : place], dtype, shape)

    found = whole(content)
    if place != len(data) or not isinstance(found, dict):
        raise ValueError
    return found


def _array(data: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    count = 1
    for side in shape:
        count *= int(side)
    if dtype.kind != "b":
        # A copy: the bytes of a file cannot be written to.
        return np.frombuffer(data, dtype=dtype, count=-1).reshape(shape).copy()
    if len(data) != -(-count // 8):
        raise ValueError
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=count).astype(bool).reshape(shape)
