"""What a parser yields, and how it is written to a pipe: a header in JSON, and plain bytes of numbers and text."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Bytes of the longest header, which the reader of the pipe enforces.
MAX_HEADER = 1 << 20
_MAX_PROBLEM = 4000
#: Header: its length. Piece of texts: how many, and their bytes in UTF-8.
LENGTH, TEXTS = struct.Struct("<I"), struct.Struct("<IQ")


class ParseError(ValueError):
    """A file that cannot be parsed: a problem with its remedy, and the place in the file."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem)
        self.place = place


@dataclass(frozen=True)
class Numbers:
    """An array of numbers in pieces, which are joined along the first axis.

    ``offset`` is where the file has them as they are in memory; then only that is sent, and the reader takes them from
    there.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterable[NDArray[Any]]
    offset: int | None = None


@dataclass(frozen=True)
class Texts:
    """A list of texts in pieces."""

    name: str
    count: int
    pieces: Iterable[Sequence[str]]


@dataclass(frozen=True)
class Facts:
    """Numbers and short texts by name."""

    name: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Allow:
    """How many more seconds what follows may take, where a library does much in one call; this is not sent."""

    seconds: float


Message: TypeAlias = Numbers | Texts | Facts | Allow


def numbers(name: str, values: Any) -> Numbers:
    """Return the message of an array that is in memory."""
    array = np.ascontiguousarray(values)
    return Numbers(name, array.dtype, array.shape, (array,))


def texts(name: str, values: Sequence[str]) -> Texts:
    """Return the message of texts that are in memory."""
    return Texts(name, len(values), (values,))


def send(stream: IO[bytes], message: Message) -> Iterator[None]:
    """Write a message to a pipe; yields after every piece, so that the caller knows that there is progress."""
    if isinstance(message, Facts):
        send_header(stream, {"facts": message.name, "values": message.values})
    elif isinstance(message, Numbers):
        dtype = message.dtype.newbyteorder("<")
        place = {} if message.offset is None else {"offset": message.offset}
        send_header(stream, {"numbers": message.name, "dtype": dtype.str, "shape": list(message.shape), **place})
        for piece in message.pieces if message.offset is None else ():
            if piece.size:
                stream.write(np.ascontiguousarray(piece, dtype=dtype).data.cast("B"))
            yield
    elif isinstance(message, Texts):
        send_header(stream, {"texts": message.name, "count": message.count})
        for values in filter(None, message.pieces):
            joined = "".join(values).encode()
            stream.write(TEXTS.pack(len(values), len(joined)))
            stream.write(np.fromiter(map(len, values), dtype="<u4", count=len(values)).tobytes())
            stream.write(joined)
            yield
    yield


def send_header(stream: IO[bytes], header: dict[str, Any]) -> None:
    """Write a header with its length."""
    data = json.dumps(header).encode()
    if len(data) > MAX_HEADER:
        raise ParseError("the file has names that are too long; shorten them.")
    stream.write(LENGTH.pack(len(data)) + data)


def problem_header(kind: str, problem: str, place: str = "") -> dict[str, Any]:
    """Return the last header of a parser that failed."""
    return {"problem": kind, "text": " ".join(problem.split())[:_MAX_PROBLEM], "place": place[:_MAX_PROBLEM]}
