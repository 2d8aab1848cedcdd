"""Compressed contents with correct checksums: gzip, xz, bz2, and the blocks of bgzip."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from random import Random

_BLOCK_BYTES = 0xFF00
#: Every bgzip file ends in a block without data.
LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(data: bytes, block_bytes: int = _BLOCK_BYTES, end: bytes = LAST_BLOCK) -> bytes:
    """Return data in the blocks of bgzip.

    Examples
    --------
    >>> gzip.decompress(bgzip(b"chr1" * 40_000)) == b"chr1" * 40_000
    True
    """
    starts = range(0, len(data), block_bytes)
    return b"".join(_block(data[start : start + block_bytes]) for start in starts) + end


def _block(data: bytes) -> bytes:
    squeezer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = squeezer.compress(data) + squeezer.flush()
    size = len(body) + 25
    head = struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size & 0xFFFF)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def in_bgzip(random: Random, data: bytes) -> bytes:
    """Return data in bgzip, mostly as it should be: sometimes in small blocks, or without the last one, or in gzip."""
    how = random.random()
    if how < 0.05:
        return gzip.compress(data, 1)
    if how < 0.1:
        return bgzip(data, end=b"")
    if how < 0.15:
        # Data may go on behind a block without data.
        half = random.randrange(len(data) + 1)
        return bgzip(data[:half]) + bgzip(data[half:])
    return bgzip(data, random.choice((_BLOCK_BYTES, _BLOCK_BYTES, 1000, 37)))


def in_gzip(random: Random, data: bytes) -> bytes:
    """Return data in gzip, sometimes in several members or with garbage behind."""
    if random.random() < 0.1:
        half = random.randrange(len(data) + 1)
        return gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1)
    return gzip.compress(data, 1) + (random.randbytes(9) if random.random() < 0.05 else b"")


def in_xz(random: Random, data: bytes) -> bytes:
    """Return data in xz, sometimes in the older form or without a checksum."""
    how = random.random()
    if how < 0.1:
        return lzma.compress(data, lzma.FORMAT_ALONE, preset=0)
    return lzma.compress(data, check=random.choice((lzma.CHECK_CRC64, lzma.CHECK_NONE)), preset=0)


def in_bz2(random: Random, data: bytes) -> bytes:
    """Return data in bz2, sometimes with garbage behind."""
    return bz2.compress(data, 1) + (random.randbytes(9) if random.random() < 0.05 else b"")
