"""Open files, compressed or not, and turn whatever goes wrong with them into one sentence."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from saltmine.io.table import ReadError

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format: that before a suffix of compression.

    Examples
    --------
    >>> suffix_of(Path("Movie.JSONL.xz")), suffix_of(Path("votes.csv")), suffix_of(Path("notes.gz"))
    ('.jsonl', '.csv', '')
    """
    if is_compressed(path):
        path = path.with_suffix("")
    return path.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Tell by the suffix whether `opened` has to decompress a file."""
    return path.suffix.lower() in _OPENERS


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed by its suffix; errors while it is read become a `ReadError`."""
    compression = path.suffix.lower()
    try:
        with _OPENERS.get(compression, open)(path, "rb") as stream:
            yield stream
    except _BROKEN as error:
        raise ReadError(
            f"{path}: the {compression[1:] or 'compressed'} data is damaged or cut off ({_said(error)}); get the file "
            "again."
        ) from None
    except OSError as error:
        # bz2 has no error class of its own.
        reason = error.strerror or _said(error)
        raise ReadError(f"{path} cannot be read: {reason}; check the file and the right to read it.") from None


@contextmanager
def parsing(path: Path, what: str) -> Iterator[None]:
    """Turn any error of a library that parses a file into a `ReadError`; ``what`` says what the file should be."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:  # damaged files make the libraries raise nearly every class there is
        raise ReadError(f"{path} is no {what} or is damaged ({_said(error)}); get or write the file again.") from None


def read_bytes(path: Path) -> bytes:
    """Read a whole file, decompressed by its suffix."""
    with opened(path) as stream:
        return stream.read()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Read a whole text file; a byte order mark at its beginning is no part of the text."""
    return decode(read_bytes(path), path, encoding)


def decode(data: bytes, path: Path, encoding: str = "utf-8") -> str:
    """Decode the contents of a file, or say in which line it is not text."""
    if is_utf8(encoding):
        if data.startswith(_UTF16):
            raise ReadError(
                f"{path} is UTF-16 text; name the encoding, encoding='utf-16' (--encoding utf-16), or save the file as "
                "UTF-8."
            )
        # Before the decoding is tried: most binary files are not UTF-8 either, but no other encoding would help.
        demand_no_zero_byte(data, path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReadError(
            f"{path}, line {_line(data, error.start)}: the byte 0x{data[error.start]:02x} is not {encoding} text; name "
            "the encoding, for example encoding='latin-1' (--encoding latin-1), or save the file as UTF-8."
        ) from None
    except (LookupError, ValueError):
        raise ReadError(
            f"{path}: there is no encoding {encoding!r}; usual ones are utf-8, utf-16, latin-1 and cp1252."
        ) from None
    if "\0" in text:
        demand_no_zero_byte(text.encode(errors="replace"), path)
    return text.removeprefix("\ufeff")


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding is UTF-8, however it is written."""
    return encoding.lower() in ("utf-8", "utf8", "utf_8")


def demand_no_zero_byte(data: bytes, path: Path) -> None:
    """Refuse a binary file where text is expected."""
    if b"\0" in data:
        line = _line(data, data.index(b"\0"))
        raise ReadError(f"{path}, line {line}: there is a zero byte, so this is no text file; check the format.")


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text without their ends; a line end after the last one begins no further line.

    Examples
    --------
    >>> lines_of("bread\r\nmilk\n"), lines_of("")
    (['bread', 'milk'], [])
    """
    # Not splitlines, which takes rarer characters for line ends too, though names may have them.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def records(lines: Iterable[str], path: Path, separator: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    r"""Split lines, with their ends, into fields; yield where each record begins, counted from 1, and its fields.

    Blank lines have no fields. What is wrong with the quotes is an error if ``strict`` is set.

    Examples
    --------
    >>> list(records(["name;note\n", '"two\n', 'lines";1\n', "\n"], Path("notes.csv"), ";"))
    [(1, ['name', 'note']), (2, ['two\nlines', '1']), (4, [])]
    """
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=strict)
    begin = 1
    try:
        for fields in reader:
            yield begin, fields
            begin = reader.line_num + 1
    except csv.Error as error:
        raise ReadError(f"{path}, line {begin}: {_said(error)}; check the quotes of this line.") from None


def likely_separator(line: str, candidates: str) -> str:
    """Return the candidate that stands most often in a header, not counting quoted names; the first one of equals.

    Examples
    --------
    >>> likely_separator('"weight, kg";height;class', ",;"), likely_separator("class", ",;")
    (';', ',')
    """
    unquoted = re.sub('"[^"]*"', "", line)
    return max(candidates, key=unquoted.count)


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _said(error: Exception) -> str:
    """Return what an error says, in one line of bearable length, or its class if it says nothing."""
    said = " ".join(str(error).split()).rstrip(".")
    if len(said) > 200:
        said = said[:200] + "..."
    return said or type(error).__name__
