"""Nouns that agree with their numbers."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return a noun as it follows a number.

    Examples
    --------
    >>> plural(1, "class"), plural(2, "class"), plural(0, "row"), plural(3, "study")
    ('class', 'classes', 'rows', 'studies')
    """
    if count == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "class")
    ('1 row', '1,200 classes')
    """
    return f"{count:,} {plural(count, noun)}"
