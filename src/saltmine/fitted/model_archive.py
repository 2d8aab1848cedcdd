"""The zip archive of a model file, read within limits: nothing is unpacked before its declared size is known to fit.

A model file is a zip archive of plain numpy arrays. It may come from anybody, so every size in it may be a lie, and a
few kilobytes may unpack to gigabytes.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, prod
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

#: The part with the header, a JSON text.
HEADER_PART = "header"

#: Memory that a model may take whatever its file, and beyond that for every byte of the file: when it is loaded, and
#: when its tables are made. `write_archive` writes files that keep to it.
FREE_BYTES, BYTES_PER_BYTE, TABLE_BYTES_PER_BYTE = 1 << 28, 64, 1024
# Share of the memory of the machine that a model may take.
_SHARE_OF_MEMORY = 0.5
# Bytes that are read to find the directory of the archive: model files have a few kilobytes of it.
_MAX_DIRECTORY = 1 << 20
_SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Flags of encrypted and of patched parts.
_FLAGS = 0x1 | 0x20 | 0x40 | 0x2000
_CHUNK = 1 << 20
# What numpy writes before plain arrays: always in version 1.0 of its format, and never longer.
_MAGIC, _MAX_PREFIX = b"\x93NUMPY\x01\x00", 512
_TYPE, _SHAPE = rb"([<>][iuf][248]|\|[iu]1)", rb"((?:\d{1,13}, ){0,2}\d{1,13},?)"
_PREFIX = re.compile(rb"\{'descr': '%s', 'fortran_order': (False|True), 'shape': \(%s\), \} *\n" % (_TYPE, _SHAPE))


class BadArchive(ValueError):
    """Raised for an archive that is damaged, or that is no archive."""


class TooLarge(ValueError):
    """Raised for a model that would take too much memory."""


@dataclass(frozen=True)
class Declared:
    """What the beginning of a part says about the array in it."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    begin: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


class ModelArchive:
    """The parts of a model file by name; opening it reads no more than the directory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.file_bytes = stream.seek(0, os.SEEK_END)
        bounded = _Bounded(stream, _MAX_DIRECTORY)
        with _damaged():
            self._archive = zipfile.ZipFile(bounded)
            bounded.most = None
            self._members = _parts(self._archive.infolist())

    @property
    def names(self) -> Set[str]:
        """Names of the parts."""
        return self._members.keys()

    def read(self, name: str) -> NDArray[Any]:
        """Return an array; its size is the declared one, whatever the part unpacks to."""
        declared = self.declared(name)
        array = np.empty(prod(declared.shape), dtype=declared.dtype)
        with _damaged(), self._open(name) as part:
            _read_exactly(part, declared.begin)
            content = array.view(np.uint8)
            for begin in range(0, len(content), _CHUNK):
                chunk = content[begin : begin + _CHUNK]
                chunk[:] = np.frombuffer(_read_exactly(part, len(chunk)), dtype=np.uint8)
            # The end of the part, where zipfile compares the checksum.
            if part.read(1):
                raise BadArchive(f"{name} is longer than it says")
        native = array.astype(declared.dtype.newbyteorder("="), copy=False)
        return native.reshape(declared.shape, order="F" if declared.is_fortran else "C")

    def _open(self, name: str) -> IO[bytes]:
        return self._archive.open(self._members[name])

    def declared(self, name: str) -> Declared:
        """Return what the beginning of a part says; no more of it is read."""
        with _damaged(), self._open(name) as part:
            start = _read_exactly(part, len(_MAGIC) + 2)
            (length,) = struct.unpack("<H", start[-2:])
            if not start.startswith(_MAGIC) or length > _MAX_PREFIX:
                raise BadArchive(f"{name} is not an array")
            match = _PREFIX.fullmatch(_read_exactly(part, length))
        if match is None:
            raise BadArchive(f"{name} is not a plain array of numbers")
        shape = tuple(int(size) for size in match[3].replace(b",", b" ").split())
        declared = Declared(np.dtype(match[1].decode()), shape, match[2] == b"True", len(start) + length)
        if declared.begin + declared.n_bytes != self._members[name].file_size:
            raise BadArchive(f"{name} has another size than it says")
        return declared


@contextmanager
def _damaged() -> Iterator[None]:
    """Turn what zipfile raises for damaged archives, errors of many types, into one."""
    try:
        yield
    except BadArchive:
        raise
    except Exception as error:
        raise BadArchive("its archive cannot be read") from error


def _parts(entries: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of the directory by the names of their parts."""
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = entry.filename.removesuffix(_SUFFIX)
        if name in members:
            raise BadArchive(f"it has the part {name[:40]!r} twice")
        if name == entry.filename or entry.compress_type not in _METHODS or entry.flag_bits & _FLAGS:
            raise BadArchive(f"{name[:40]!r} is encrypted, or of another kind than the parts of model files")
        members[name] = entry
    return members


class _Bounded(io.RawIOBase):
    """A file of which at most so many bytes are read: the directory of an archive may claim to be of any size."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self.most: int | None = most

    def seekable(self) -> bool:
        """Return whether one can seek."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._stream.tell()

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        size = -1 if size is None else size
        if self.most is None:
            return self._stream.read(size)
        found = self._stream.read(self.most + 1 if size < 0 else min(size, self.most + 1))
        self.most -= len(found)
        if self.most < 0:
            raise BadArchive("its directory is too long")
        return found


def _read_exactly(part: IO[bytes], size: int) -> bytes:
    content = part.read(size)
    if len(content) != size:
        raise BadArchive("it ends too early")
    return content


# ---------------------------------------------------------------------- limits


def check_growth(needed: int, file_bytes: int, per_byte: int) -> None:
    """Refuse a model that takes much more memory than a file of its size accounts for.

    Examples
    --------
    >>> check_growth(5 << 30, 1 << 20, BYTES_PER_BYTE)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    saltmine.fitted.model_archive.TooLarge: it would take 5,369 MB of memory, more than a file of 1 MB accounts for...
    """
    if needed > most_bytes(file_bytes, per_byte):
        size = f"{file_bytes / 1e6:,.0f} MB" if file_bytes >= 1e6 else f"{file_bytes / 1e3:,.0f} kB"
        what = f"it would take {needed / 1e6:,.0f} MB of memory, more than a file of {size} accounts for"
        raise TooLarge(f"{what}; ask for a file that model.save wrote")


def check_memory(needed: int) -> None:
    """Refuse a model that takes more than half of the memory of this machine."""
    available = _memory()
    if available is not None and needed > _SHARE_OF_MEMORY * available:
        most = f"{_SHARE_OF_MEMORY:.0%} of the {available / 1e6:,.0f} MB of this machine"
        raise TooLarge(f"it would take {needed / 1e6:,.0f} MB of memory, more than {most}; load it on a larger one")


def most_bytes(file_bytes: int, per_byte: int) -> int:
    """Return how much memory a model may take, by the size of its file."""
    return FREE_BYTES + per_byte * file_bytes


def _memory() -> int | None:
    """Return the memory of the machine in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


# ---------------------------------------------------------------------- writing


def write_archive(stream: IO[bytes], arrays: Arrays, loaded: int, tables: int) -> None:
    """Write the arrays of a model; the file is as large as it has to be for the memory that the model takes.

    ``loaded`` and ``tables`` are the bytes that `check_growth` is asked for when the file is read. Compression makes
    the file of a model of little information too small for it; then there is none, and at worst spaces are added to
    the header.
    """

    def lacking() -> int:
        """Return by how many bytes the file is too small."""
        wanted = (loaded - FREE_BYTES) / BYTES_PER_BYTE, (tables - FREE_BYTES) / TABLE_BYTES_PER_BYTE
        return ceil(max(wanted)) - stream.tell()

    # The stubs take the arrays for the allow_pickle flag.
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    if lacking() > 0:
        stream.seek(0)
        stream.truncate()
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    if (spaces := lacking()) > 0:
        # Spaces are read, too, so there is some more of them.
        padding = np.full(spaces * BYTES_PER_BYTE // (BYTES_PER_BYTE - 8), ord(" "), dtype=np.uint8)
        arrays = arrays | {HEADER_PART: np.concatenate([arrays[HEADER_PART], padding])}
        stream.seek(0)
        stream.truncate()
        np.savez(stream, **arrays)  # type: ignore[arg-type]
