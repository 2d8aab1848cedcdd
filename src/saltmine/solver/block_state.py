"""What checkpoints keep of a block, and numbers by which data in blocks is known again."""

from __future__ import annotations

import zlib
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Words
from saltmine.data.content_colours import splitmix

Bytes = NDArray[np.uint8]
Numbers = TypeVar("Numbers", bound=np.generic)

_ODD = np.uint64(0x9E3779B97F4A7C15)


def compress(array: NDArray[Any]) -> Bytes:
    """Return an array in few bytes: most items are in few patterns, and most rows use few.

    Examples
    --------
    >>> many = np.zeros(10_000, dtype=np.uint64)
    >>> len(compress(many)) < 1000, np.array_equal(decompress(compress(many), many), many)
    (True, True)
    """
    return np.frombuffer(zlib.compress(np.ascontiguousarray(array).tobytes(), level=1), dtype=np.uint8)


def decompress(state: Bytes, like: NDArray[Numbers]) -> NDArray[Numbers]:
    """Return the array that `compress` made to bytes, of the type and shape of another one."""
    unpacked = zlib.decompressobj()
    # Never more than there may be.
    data = unpacked.decompress(state.tobytes(), like.nbytes + 1)
    if len(data) != like.nbytes:
        raise ValueError("the state of a block is of another size")
    return np.frombuffer(bytearray(data), dtype=like.dtype).reshape(like.shape)


def mix_words(numbers: Words) -> Words:
    """Return numbers that look random, equal ones for equal numbers."""
    return splitmix(numbers + _ODD)


def sum_of_keys(keys: Words, first: int) -> int:
    """Add up the keys of rows or columns, with their numbers from ``first`` on; sums of blocks may be added up.

    Examples
    --------
    >>> keys = np.array([5, 7, 9], dtype=np.uint64)
    >>> whole, parts = sum_of_keys(keys, 0), sum_of_keys(keys[:1], 0) + sum_of_keys(keys[1:], 1)
    >>> whole == parts % 2**64, whole == sum_of_keys(keys[::-1], 0)
    (True, False)
    """
    places = np.arange(first, first + len(keys), dtype=np.uint64)
    return int(np.sum(mix_words(keys ^ mix_words(places)), dtype=np.uint64))
