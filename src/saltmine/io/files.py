"""Open files, compressed or not, within a limit of memory, and turn what goes wrong with them into one sentence."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import IO, Any

from saltmine.io.errors import ReadError as ReadError
from saltmine.io.errors import parsing as parsing
from saltmine.io.errors import reading as reading
from saltmine.io.errors import summary as summary
from saltmine.io.limits import MAX_RATIO_OF_LISTS, Account, TextCost, file_size

_DECOMPRESS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".xz": lzma.LZMAFile,
    ".bz2": bz2.BZ2File,
}
_DECOMPRESSION_ERRORS = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_BUFFER = 1 << 20
# What a list of lines takes: the file, its text, and a text for every line.
_LINES = TextCost(byte=4, line=120, ratio=MAX_RATIO_OF_LISTS)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def opened(path: Path, account: Account | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed by its suffix; every `ReadError` of the block names the file.

    With an account, what is read is counted, and refused as soon as it needs too much memory.
    """
    compression = path.suffix.lower()
    with reading(path):
        try:
            with path.open("rb") as raw, _DECOMPRESS.get(compression, nullcontext)(raw) as stream:
                if account is not None and stream is not raw:
                    account.start(raw.tell)
                yield stream if account is None else counted_stream(stream, account)
        except _DECOMPRESSION_ERRORS as error:
            data = f"{compression[1:] or 'compressed'} data"
            raise ReadError(f"the {data} is damaged or truncated ({summary(error)}); get the file again.") from None
        except OSError as error:
            # bz2 has no error class of its own.
            reason = error.strerror or summary(error)
            raise ReadError(f"the file cannot be read: {reason}; check the file and its permissions.") from None


def counted_stream(stream: IO[bytes] | gzip.GzipFile, account: Account) -> IO[bytes]:
    """Return a stream whose bytes and lines are counted."""
    return io.BufferedReader(_Counted(stream, account), _BUFFER)


class _Counted(io.RawIOBase):
    """A stream that counts what is read from it."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, account: Account) -> None:
        self._stream, self._account = stream, account

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._account.add(data)
        buffer[: len(data)] = data
        return len(data)


def check_exists(path: Path) -> None:
    """Refuse a path where there is no file or folder."""
    if not path.exists():
        raise ReadError(f"There is no file {str(path)!r}; check its name and folder.")


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, in lower case and without a suffix of compression.

    Examples
    --------
    >>> suffix_of(Path("Movie.JSONL.xz")), suffix_of(Path("votes.csv")), suffix_of(Path("notes.gz"))
    ('.jsonl', '.csv', '')
    """
    if is_compressed(path):
        path = path.with_suffix("")
    return path.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Return whether the suffix is one of compression."""
    return path.suffix.lower() in _DECOMPRESS


def account_of(path: Path, cost: TextCost) -> Account:
    """Return the account of a file; ``cost`` is what reading takes for its text."""
    return Account(cost, file_size(path))


def read_bytes(path: Path, account: Account) -> bytes:
    """Return the contents of a file, decompressed by its suffix."""
    contents = io.BytesIO()
    with opened(path, account) as stream:
        while chunk := stream.read(_BUFFER):
            contents.write(chunk)
    return contents.getvalue()


def load_text(path: Path, account: Account, encoding: str = "utf-8") -> str:
    """Return the contents of a text file without its byte order mark."""
    with reading(path):
        return decode(read_bytes(path, account), encoding)


def load_lines(path: str | PathLike[str], cost: TextCost = _LINES) -> list[str]:
    """Return the lines of a text file in UTF-8, stripped of spaces."""
    path = Path(path)
    return [line.strip() for line in lines_of(load_text(path, account_of(path, cost)))]


def decode(data: bytes, encoding: str = "utf-8") -> str:
    """Return the contents of a file as text, or say which line is not text."""
    if is_utf8(encoding):
        if data.startswith(_UTF16):
            raise ReadError("this is UTF-16 text; set encoding='utf-16' (--encoding utf-16), or save it as UTF-8.")
        # Checked first: most binary files are not UTF-8 either, but no other encoding would help.
        check_no_zero_byte(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        problem = f"the byte 0x{data[error.start]:02x} is not {encoding} text"
        remedy = "set the encoding, for example encoding='latin-1' (--encoding latin-1), or save the file as UTF-8"
        raise ReadError(f"{problem}; {remedy}.", _line_at(data, error.start)) from None
    except (LookupError, ValueError):
        raise ReadError(f"there is no encoding {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252.") from None
    if "\0" in text:
        check_no_zero_byte(text.encode(errors="replace"))
    return text.removeprefix("\ufeff")


def is_utf8(encoding: str) -> bool:
    """Return whether an encoding is UTF-8, in any spelling."""
    return encoding.lower() in ("utf-8", "utf8", "utf_8")


def check_no_zero_byte(data: bytes) -> None:
    """Refuse a binary file where text is expected."""
    if b"\0" in data:
        line = _line_at(data, data.index(b"\0"))
        raise ReadError("there is a zero byte, so this is not a text file; check the format.", line)


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text without their ends; a line end after the last line starts no new line.

    Examples
    --------
    >>> lines_of("bread\r\nmilk\n"), lines_of("")
    (['bread', 'milk'], [])
    """
    # Not str.splitlines: it also splits at rarer characters, which may be part of names.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def records(lines: Iterable[str], separator: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the fields of every record of a delimited file, with the number of its first line, counted from 1.

    Blank lines have no fields. With ``strict``, malformed quotes are an error.

    Examples
    --------
    >>> list(records(["name;note\n", '"two\n', 'lines";1\n', "\n"], ";"))
    [(1, ['name', 'note']), (2, ['two\nlines', '1']), (4, [])]
    """
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=strict)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise ReadError(f"{summary(error)}; check the quotes of this line.", line) from None


def choose_separator(given: str | None, header: str, candidates: str) -> str:
    """Return the given separator, or else the candidate that is most frequent in the header outside of quotes.

    Examples
    --------
    >>> choose_separator(None, '"weight, kg";height;class', ",;"), choose_separator(None, "class", ",;")
    (';', ',')
    """
    if given is None:
        return max(candidates, key=re.sub('"[^"]*"', "", header).count)
    separator = "\t" if given == "\\t" else given
    if len(separator) != 1 or separator in '"\r\n':
        raise ReadError(f"the separator {given!r} is not one character; use one such as ',' ';' '|' or '\\t'.")
    return separator


def _line_at(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
