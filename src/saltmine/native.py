"""Functions of the compiled library: ``native.name(...)`` calls the C++ function of that name in ``native/``.

Arrays are given as they are, in C order; tuples are given field by field. Types and dimensions are checked there, and
what does not fit is a TypeError. The interpreter lock is released during a call.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Function = Callable[..., Any]

_FILE = {"Windows": "_native.dll", "Darwin": "_native.dylib"}.get(platform.system(), "_native.so")
# numpy has two letters for some types; which of them is used depends on the system.
_LETTERS = {
    np.dtype(kind): ord(letter)
    for kind, letter in (
        (np.bool_, "?"),
        (np.uint8, "B"),
        (np.int8, "b"),
        (np.int32, "i"),
        (np.int64, "l"),
        (np.uint64, "L"),
        (np.float32, "f"),
        (np.float64, "d"),
    )
}
_DTYPES = {code: dtype for dtype, code in _LETTERS.items()}
_ARRAY, _NUMBER, _REAL, _OBJECT, _TRUTH = map(ord, "AIDOT")
# The most values of a result.
_RESULTS = 8
# Functions of the interpreter that the library calls, in the order of its struct of them.
_FUNCTIONS = (
    "PyCapsule_GetPointer",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
)
_bits_of = struct.Struct("d").pack
_number_of = struct.Struct("q").unpack


class _Result(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("kind", ctypes.c_int64 * _RESULTS),
        ("value", ctypes.c_int64 * _RESULTS),
        ("length", ctypes.c_int64 * _RESULTS),
    )


class Handle:
    """An object of the library, which is freed with this one."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, address: int, free: Function) -> None:
        self.address = address
        weakref.finalize(self, _free, free, address, os.getpid())


def _free(free: Function, address: int, process: int) -> None:
    # A process that was forked since has none of the threads of the object, and would wait for them for ever.
    if os.getpid() == process:
        free(_Address(address))


class Packed:
    """Arguments that are the same in many calls, packed once. Arrays must stay as they are but for their values."""

    __slots__ = ("kept", "words")

    def __init__(self, *arguments: Any) -> None:
        self.words, self.kept = list[int](), list[Any]([arguments])
        _pack(arguments, self.words, self.kept)


class _Address(int):
    """The address of an object of the library."""


def _pack(values: tuple[Any, ...], packed: list[int], kept: list[Any]) -> None:
    """Add arguments, tuples field by field; ``kept`` has to live as long as the call."""
    for value in values:
        if isinstance(value, np.ndarray):
            if not value.flags.aligned:
                # As arrays are that came over a network; what would be written to a copy is lost, so that is refused.
                value = value.copy()
                value.flags.writeable = False
                kept.append(value)
            capsule = value.__array_struct__
            kept.append(capsule)
            packed += (_ARRAY, id(capsule))
        elif isinstance(value, tuple):
            _pack(value, packed, kept)
        elif isinstance(value, Packed):
            packed += value.words
        elif isinstance(value, Handle):
            packed += (_OBJECT, value.address)
        elif isinstance(value, _Address):
            packed += (_OBJECT, int(value))
        elif isinstance(value, int | np.integer | np.bool_):
            packed += (_NUMBER, int(value))
        elif isinstance(value, float | np.floating):
            packed += (_REAL, *_number_of(_bits_of(value)))
        else:
            raise TypeError(f"a {type(value).__name__}")


def _unpack(result: _Result, k: int) -> Any:
    kind, value = result.kind[k], result.value[k]
    if kind == _NUMBER:
        return value
    if kind == _TRUTH:
        return bool(value)
    if kind == _REAL:
        return struct.unpack("d", struct.pack("q", value))[0]
    if kind == _OBJECT:
        return value
    return _take_array(_DTYPES[kind], value, result.length[k])


def _take_array(dtype: np.dtype[Any], address: int, length: int) -> NDArray[Any]:
    """Copy an array out of the memory of the library, and free it there."""
    size = length * dtype.itemsize
    copy: NDArray[Any] = np.frombuffer(bytearray(ctypes.string_at(address, size)), dtype=dtype)
    _library().saltmine_free(ctypes.c_void_p(address))
    return copy


def _load(file: Path) -> ctypes.PyDLL:
    if not file.is_file():
        raise ImportError(f"{file.name} is missing: install saltmine again, or run `python native/build.py`")
    # Functions are called with the lock, and give it back while they compute; what a signal raises there is raised.
    try:
        library = ctypes.PyDLL(str(file))
    except OSError as problem:
        raise ImportError(f"{file.name} cannot be loaded: install saltmine again on this machine ({problem})") from None
    library.saltmine_failure.restype = library.saltmine_missing.restype = ctypes.c_char_p
    if missing := library.saltmine_missing().decode():
        raise ImportError(f"saltmine was built for a processor with {missing}: install it again on this machine")
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    library.saltmine_set_interpreter((ctypes.c_void_p * len(addresses))(*addresses))
    return library


@cache
def _library() -> ctypes.PyDLL:
    """Load the library at the first call of one of its functions."""
    return _load(Path(__file__).with_name(_FILE))


def _make(name: str) -> Function:
    """Return the function of the library."""
    try:
        function = getattr(_library(), f"saltmine_{name}")
    except AttributeError:
        raise AttributeError(f"{_FILE} has no function {name}: run `python native/build.py`") from None

    def call(*arguments: Any) -> Any:
        packed, kept = list[int](), list[Any]()
        try:
            _pack(arguments, packed, kept)
        except TypeError as problem:
            raise TypeError(f"{name} cannot take {problem}") from None
        result = _Result()
        # Packing to bytes is much faster than filling an array of ctypes.
        words = struct.pack(f"{len(packed)}q", *packed)
        code = function(words, ctypes.c_int64(len(packed) // 2), ctypes.byref(result))
        if code:
            _fail(name, code)
        if result.count == 1:
            return _unpack(result, 0)
        return tuple(_unpack(result, k) for k in range(result.count)) or None

    call.__name__ = name
    return call


def _fail(name: str, code: int) -> None:
    if code == 1:
        raise TypeError(f"{name}: {_library().saltmine_failure().decode()}")
    if code == 2:
        raise MemoryError
    raise RuntimeError(f"{name}: {_library().saltmine_failure().decode()}")


def __getattr__(name: str) -> Function:
    if name.startswith("_"):
        raise AttributeError(name)
    function = _make(name)
    setattr(sys.modules[__name__], name, function)
    return function
