"""Archives of numpy and scipy, whose sizes are checked before an array of them is read; nothing is unpickled."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError, account_of, is_compressed, opened, parsing, read_bytes
from saltmine.io.limits import TextCost, check_expansion, check_memory, check_shape, file_size

_WHAT = "npz archive"
_SPARSE = "sparse matrix of scipy.sparse.save_npz"
# Memory for a byte of an array: it is checked, and a sparse one is brought into the order of its rows.
_DENSE_BYTES, _SPARSE_BYTES = 2, 4
# Memory for a value of a block or of a diagonal.
_VALUE_BYTES = 50
# Code points that are halves of characters.
_SURROGATES = (0xD800, 0xDFFF)
# What a member of an archive takes in the list of them.
_MEMBER_BYTES = 1000


class Header(NamedTuple):
    """Shape and type of an array that has not been read, and the bytes of its member of the archive."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    n_bytes: int
    n_compressed: int


class Archive:
    """The arrays of an npz file.

    Attributes
    ----------
    headers : dict
        What is known of every array before it is read; None for what is not an array.
    size : int or None
        Bytes of the file.
    """

    def __init__(self, stream: IO[bytes], size: int | None) -> None:
        self.size = size
        if not zipfile.is_zipfile(stream):
            raise ReadError("not an npz archive, or truncated; write one with scipy.sparse.save_npz or numpy.savez.")
        with parsing(_WHAT):
            self._archive = zipfile.ZipFile(stream)
            members = self._archive.infolist()
            check_memory(_MEMBER_BYTES * len(members), f"an archive of {len(members):,} files", size)
            self._members = {member.filename.removesuffix(".npy"): member for member in members}
            self.headers = {name: self._header(member) for name, member in self._members.items()}

    def _header(self, member: zipfile.ZipInfo) -> Header | None:
        if not member.filename.endswith(".npy"):
            return None
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Others are not decompressed in steps: a few bytes would become gigabytes at once.
            raise ReadError(
                "the archive is compressed in a way that numpy does not; write it with numpy.savez_compressed."
            )
        with self._archive.open(member) as stream:
            if stream.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
                return None
            stream.seek(0)
            shape, dtype = _read_header(stream)
            return Header(shape, dtype, member.file_size - stream.tell(), member.compress_size)

    @property
    def is_sparse(self) -> bool:
        """Whether the archive holds a sparse matrix."""
        return {"format", "shape", "data"} <= self.headers.keys()

    def array(self, name: str) -> NDArray[Any]:
        """Read an array, after checking that it fits into memory and that the file has as much as its shape says."""
        header = self.headers[name]
        if header is None:
            raise ReadError(f"the file is an archive, but {name!r} in it is not an array; write one with numpy.savez.")
        if header.dtype.hasobject:
            problem = f"the array {name!r} holds Python objects, which could run code and are not read"
            remedy = "save text as array.astype(str), a sparse matrix with scipy.sparse.save_npz"
            raise ReadError(f"{problem}; {remedy}.")
        self._check(name, header)
        with parsing(_WHAT), self._archive.open(self._members[name]) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        _check_characters(name, array)
        return true_or_false(array)

    def _check(self, name: str, header: Header) -> None:
        if not all(0 <= length <= sys.maxsize for length in header.shape):
            raise ReadError(f"the array {name!r} has a shape that no array has; get or write the file again.")
        needed = prod(header.shape) * header.dtype.itemsize
        if needed > header.n_bytes:
            problem = f"the array {name!r} has the shape {header.shape}, but the file has fewer values"
            raise ReadError(f"{problem}; get or write the file again.")
        check_expansion(needed, header.n_compressed, f"the array {name!r}")
        check_memory(_DENSE_BYTES * needed, f"the array {name!r} of shape {header.shape}", self.size)

    def sparse_shape(self) -> tuple[int, int]:
        """Return the size of the sparse matrix, after checking that it fits into memory."""
        with parsing(_SPARSE):
            header = self.headers["shape"]
            if header is None or header.shape != (2,):
                raise ValueError("its shape is not that of a matrix")
            n_rows, n_columns = (int(length) for length in self.array("shape"))
            if min(n_rows, n_columns) < 0:
                raise ValueError("its shape is negative")
        stored = sum(prod(known.shape) * known.dtype.itemsize for known in self.headers.values() if known is not None)
        check_shape(n_rows, n_columns, _SPARSE_BYTES * stored, self.size)
        return n_rows, n_columns

    def sparse(self) -> Any:
        """Read the sparse matrix in the form in which it is stored."""
        shape = self.sparse_shape()
        with parsing(_SPARSE):
            form = str(self.array("format").astype(str))
            if form in ("bsr", "dia"):
                self._check_blocks(shape)
            if form in ("csr", "csc", "bsr"):
                parts = tuple(self.array(name) for name in ("data", "indices", "indptr"))
                return getattr(sp, f"{form}_array")(parts, shape=shape)
            if form == "coo":
                return sp.coo_array((self.array("data"), (self.array("row"), self.array("col"))), shape=shape)
            if form == "dia":
                return sp.dia_array((self.array("data"), self.array("offsets")), shape=shape)
            raise ValueError(f"its form is {form!r}")

    def _check_blocks(self, shape: tuple[int, int]) -> None:
        """Refuse blocks or diagonals that need too much memory: every value of them gets a row and a column."""
        header = self.headers["data"]
        n_values = 0 if header is None else prod(header.shape)
        check_shape(*shape, _VALUE_BYTES * n_values, self.size)


def true_or_false(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array whose truth values are 0 or 1 in memory, as compiled code assumes; a file may have others."""
    if array.dtype != np.bool_ or not array.size:
        return array
    stored = array.view(np.uint8)
    return stored != 0 if stored.max() > 1 else array


def _check_characters(name: str, array: NDArray[Any]) -> None:
    """Refuse text with numbers that are no characters, which could be neither compared nor printed."""
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    codes = np.ascontiguousarray(array).reshape(-1, 1).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
    broken = ((codes > sys.maxunicode) | ((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1]))).any(axis=1)
    if broken.any():
        problem = f"value {int(broken.argmax()) + 1} of the array {name!r} has a broken character"
        raise ReadError(f"{problem}; write the text again.")


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an npz file, compressed or not, and read the headers of its arrays."""
    if path.is_file() and not is_compressed(path):
        with opened(path) as stream:
            yield Archive(stream, file_size(path))
    else:
        yield Archive(io.BytesIO(read_bytes(path, account_of(path, TextCost(byte=1)))), file_size(path))
