"""Names of rows and columns: as text, and distinct."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_text(names: Iterable[Any]) -> NDArray[Any]:
    """Return names as an array of text.

    Examples
    --------
    >>> as_text(["bread", 7])
    array(['bread', '7'], dtype=object)
    """
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
            raise error(f"{name!r} is the name of two {what} ({first} and {position}); rename one of them.")
