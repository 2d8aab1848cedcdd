"""Open files, compressed or not, and turn what goes wrong with them into one sentence."""

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
from os import PathLike
from pathlib import Path
from typing import IO, Any

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_DECOMPRESSION_ERRORS = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ReadError(ValueError):
    """A file that cannot be read as asked: one sentence with the file, the place in it, the problem and the remedy.

    Readers give the problem and the place, which is a line number or text; `reading` adds the file.

    Examples
    --------
    >>> print(ReadError("the label is empty; add it.", 7, Path("votes.csv")))
    votes.csv, line 7: the label is empty; add it.
    """

    def __init__(self, problem: str, place: str | int = "", path: str | PathLike[str] | None = None) -> None:
        super().__init__(problem)
        self.place = f"line {place}" if isinstance(place, int) else place
        self.path = path

    def __str__(self) -> str:
        where = ", ".join(str(part) for part in (self.path, self.place) if part)
        return f"{where}: {self.args[0]}" if where else str(self.args[0])


@contextmanager
def reading(path: str | PathLike[str]) -> Iterator[None]:
    """Add the name of the file to every `ReadError` of the block that does not name one yet."""
    try:
        yield
    except ReadError as error:
        error.path = error.path or path
        raise


@contextmanager
def parsing(what: str) -> Iterator[None]:
    """Turn any error of a library that parses a file into a `ReadError`; ``what`` says what the file should be."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:  # libraries raise nearly every class of error for damaged files
        problem = f"this is not a valid {what}, or it is damaged ({summary(error)})"
        raise ReadError(f"{problem}; get or write the file again.") from None


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed by its suffix; every `ReadError` of the block names the file."""
    compression = path.suffix.lower()
    with reading(path):
        try:
            with _OPENERS.get(compression, open)(path, "rb") as stream:
                yield stream
        except _DECOMPRESSION_ERRORS as error:
            data = f"{compression[1:] or 'compressed'} data"
            raise ReadError(f"the {data} is damaged or truncated ({summary(error)}); get the file again.") from None
        except OSError as error:
            # bz2 has no error class of its own.
            reason = error.strerror or summary(error)
            raise ReadError(f"the file cannot be read: {reason}; check the file and its permissions.") from None


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
    return path.suffix.lower() in _OPENERS


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file, decompressed by its suffix."""
    with opened(path) as stream:
        return stream.read()


def load_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the contents of a text file without its byte order mark."""
    with opened(path) as stream:
        return decode(stream.read(), encoding)


def load_lines(path: str | PathLike[str]) -> list[str]:
    """Return the lines of a text file in UTF-8, stripped of spaces."""
    return [line.strip() for line in lines_of(load_text(Path(path)))]


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


def summary(error: Exception) -> str:
    """Return the message of an error on one line of limited length, or the error's class if it has no message."""
    message = " ".join(str(error).split()).rstrip(".")
    return (message if len(message) <= 200 else message[:200] + "...") or type(error).__name__


def _line_at(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
