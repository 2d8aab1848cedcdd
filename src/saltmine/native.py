"""Functions of the compiled library: ``native.name(...)`` calls the C++ function of that name in ``native/``.

Arrays are given as they are, in C order; tuples are given field by field. Types and dimensions are checked there, and
what does not fit is a TypeError. The interpreter lock is released during a call.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
import weakref
from collections.abc import Callable
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
_addressof = ctypes.addressof
_from_buffer: Function = ctypes.c_char.from_buffer
_NUMBER, _REAL, _OBJECT, _TRUTH = ord("I"), ord("D"), ord("O"), ord("T")
_WHOLE, _DECIMAL = (int, np.integer, np.bool_), (float, np.floating)
_NO_SHAPE = (0, 0, 0, 0)
# An argument: its kind, dimensions, whether it may be written to, address or number, and shape.
_pack_number, _pack_real = struct.Struct("8q").pack, struct.Struct("3qd4q").pack
_SIZE = 64
# Values that a function returns at most.
_RESULTS = 8


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
        weakref.finalize(self, lambda: free(_Address(address)))


class Packed:
    """Arguments that are the same in many calls, packed once. Arrays must stay as they are but for their values."""

    __slots__ = ("_kept", "bytes")

    def __init__(self, *arguments: Any) -> None:
        self._kept = arguments
        packed: list[bytes] = []
        _pack(arguments, packed)
        self.bytes = b"".join(packed)


class _Address(int):
    """The address of an object of the library."""


def _pack(value: Any, packed: list[bytes]) -> None:
    """Add an argument, or every field of a tuple."""
    if isinstance(value, np.ndarray):
        letter, flags, shape = _LETTERS.get(value.dtype), value.flags, value.shape
        if letter is None or not flags.c_contiguous or len(shape) > len(_NO_SHAPE):
            raise TypeError(f"an array of {value.dtype} with shape {shape} and strides {value.strides}")
        writable = flags.writeable
        # The first way is the faster one.
        address = _addressof(_from_buffer(value)) if writable and value.size else value.ctypes.data
        packed.append(_pack_number(letter, len(shape), writable, address, *shape, *_NO_SHAPE[len(shape) :]))
    elif isinstance(value, tuple):
        for part in value:
            _pack(part, packed)
    elif isinstance(value, Packed):
        packed.append(value.bytes)
    elif isinstance(value, Handle):
        packed.append(_pack_number(_OBJECT, 0, 0, value.address, *_NO_SHAPE))
    elif isinstance(value, _Address):
        packed.append(_pack_number(_OBJECT, 0, 0, int(value), *_NO_SHAPE))
    elif isinstance(value, _WHOLE):
        packed.append(_pack_number(_NUMBER, 0, 0, int(value), *_NO_SHAPE))
    elif isinstance(value, _DECIMAL):
        packed.append(_pack_real(_REAL, 0, 0, float(value), *_NO_SHAPE))
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
    _library.saltmine_free(ctypes.c_void_p(address))
    return copy


def _load() -> ctypes.CDLL:
    file = Path(__file__).with_name(_FILE)
    if not file.is_file():
        raise ImportError(f"{file.name} is missing: install saltmine again, or run `python native/build.py`")
    library = ctypes.CDLL(str(file))
    library.saltmine_failure.restype = library.saltmine_missing.restype = ctypes.c_char_p
    if missing := library.saltmine_missing().decode():
        raise ImportError(f"saltmine was built for a processor with {missing}: install it again on this machine")
    return library


def _poll() -> int:
    """Let Python handle its signals; say whether that raised an exception, which is kept."""
    global _raised
    try:
        # Signals are handled between two instructions of Python, so before this call returns.
        _nothing()
    except BaseException as error:
        _raised = error
        return 1
    return 0


def _nothing() -> None:
    pass


_raised: BaseException | None = None
_poll_from_library = ctypes.CFUNCTYPE(ctypes.c_int)(_poll)
_library = _load()
_library.saltmine_set_poll(_poll_from_library)


def _make(name: str) -> Function:
    """Return the function of the library."""
    try:
        function = getattr(_library, f"saltmine_{name}")
    except AttributeError:
        raise AttributeError(f"{_FILE} has no function {name}: run `python native/build.py`") from None
    function.argtypes = ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p

    def call(*arguments: Any) -> Any:
        packed: list[bytes] = []
        _pack(arguments, packed)
        together = b"".join(packed)
        result = _Result()
        code = function(together, len(together) // _SIZE, ctypes.byref(result))
        if code:
            _fail(name, code)
        if result.count == 1:
            return _unpack(result, 0)
        return tuple(_unpack(result, k) for k in range(result.count)) or None

    call.__name__ = name
    return call


def _fail(name: str, code: int) -> None:
    global _raised
    if code == 1:
        raise TypeError(f"{name}: {_library.saltmine_failure().decode()}")
    if code == 2:
        raise MemoryError
    if code == 3 and _raised is not None:
        error, _raised = _raised, None
        raise error
    raise RuntimeError(f"{name}: {_library.saltmine_failure().decode()}")


def __getattr__(name: str) -> Function:
    if name.startswith("_"):
        raise AttributeError(name)
    function = _make(name)
    setattr(sys.modules[__name__], name, function)
    return function
