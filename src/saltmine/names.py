"""Names of rows, columns and classes: as text, distinct, and fit for a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Line breaks, control characters (terminals obey them), marks that turn the direction of writing, half characters.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Most characters of a word in a message, of one that may be a path, and of a message.
_LONGEST_WORD, _LONGEST_PATH, _LONGEST_MESSAGE = 100, 250, 800
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def as_text(names: Iterable[Any]) -> NDArray[Any]:
    """Return names as an array of text.

    Examples
    --------
    >>> as_text(["bread", 7])
    array(['bread', '7'], dtype=object)
    """
    # Imported here: the command line shortens names before it knows whether there is memory for numpy.
    import numpy as np

    return np.array([str(name) for name in names], dtype=object)


def check_distinct(names: Iterable[Any], what: str = "columns", error: type[ValueError] = ValueError) -> None:
    """Raise an error if a name occurs twice; ``what`` says what the names belong to.

    Examples
    --------
    >>> check_distinct(["bread", "milk", "bread"])
    Traceback (most recent call last):
    ValueError: 'bread' is the name of two columns (1 and 3); rename one of them.
    """
    positions: dict[Any, int] = {}
    for position, name in enumerate(names, start=1):
        first = positions.setdefault(name, position)
        if first != position:
            raise error(f"{quoted(name)} is the name of two {what} ({first} and {position}); rename one of them.")


def printable(text: str) -> str:
    r"""Return text whose line breaks, control characters and escape sequences are written out.

    Examples
    --------
    >>> print(printable("bread\n\x1b[31mmilk"))
    bread\n\x1b[31mmilk
    """
    return _UNSAFE.sub(lambda unsafe: unsafe[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Return lines of text without anything that a terminal would obey but the ends of the lines."""
    return "\n".join(map(printable, text.split("\n")))


def shorten(name: Any, width: int = 80) -> str:
    """Return a name for a message: its beginning and its end if it is long, without control characters.

    Examples
    --------
    >>> shorten("bread and butter", 13), shorten("milk")
    ('bread...utter', 'milk')
    """
    return printable(_cut(str(name), width))


def quoted(value: Any, width: int = 80) -> str:
    """Return a value as Python writes it, text in quotes, shortened to ``width`` characters.

    Examples
    --------
    >>> quoted("milk"), quoted(3.5), quoted("bread and butter", 13)
    ("'milk'", '3.5', "'brea...tter'")
    """
    # A number or text of NumPy would come with its type.
    is_typed = (
        type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and value.dtype.kind in "biufSU"
    )
    return shorten(repr(value.item() if is_typed else value), width)


def shorten_message(message: str) -> str:
    r"""Return a message on one line, without control characters and the middle of long names.

    Examples
    --------
    >>> shorten_message("There is no column\n'milk'.")
    "There is no column 'milk'."
    >>> len(shorten_message("'" + "m" * 100_000 + "' is the name of two columns."))
    128
    """
    message = _LONG_WORD.sub(_shorter, " ".join(message.split()))
    return printable(_cut(message, _LONGEST_MESSAGE))


def _shorter(word: re.Match[str]) -> str:
    return _cut(word[0], _LONGEST_PATH if "/" in word[0] or "\\" in word[0] else _LONGEST_WORD)


def _cut(text: str, width: int) -> str:
    """Take the middle out of text that is longer than ``width``."""
    if len(text) <= width:
        return text
    end = (width - 3) // 2
    return f"{text[: width - 3 - end]}...{text[-end:]}"
