"""How loci are called, and what to say when a column is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from saltmine.io.table import ReadError

_BARE_CHROMOSOME = re.compile(r"\d+|[XYM]|MT", re.IGNORECASE)
_SHOWN_COLUMNS = 20


def locus_name(chromosome: str, position: int, reference: str, alternative: str) -> str:
    """Name an alteration by its place and what it changes.

    Examples
    --------
    >>> locus_name("1", 173939653, "C", "T"), locus_name("chrX", 7, "A", "<DEL>")
    ('chr1:173939653 C>T', 'chrX:7 A><DEL>')
    """
    return f"{_chromosome(chromosome)}:{position} {reference}>{alternative}"


@lru_cache(maxsize=1024)
def _chromosome(name: str) -> str:
    # Some files say 1 where others say chr1; items of both kinds of file should have the same names.
    return f"chr{name}" if _BARE_CHROMOSOME.fullmatch(name) else name


def no_such_column(path: Path, name: str | int, columns: Iterable[str], what: str) -> ReadError:
    """Return the error for a column that is not there: it says which are, and which was perhaps meant.

    Examples
    --------
    >>> print(no_such_column(Path("cells.h5ad"), "tisue", ["tissue", "donor"], "target"))
    cells.h5ad has no column 'tisue' for target (did you mean 'tissue'?); its columns are tissue, donor.
    """
    columns = [str(column) for column in columns]
    shown = ", ".join(_short(column) for column in columns[:_SHOWN_COLUMNS])
    by_lower = {column.lower(): column for column in columns}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    meant = f" (did you mean {by_lower[close[0]]!r}?)" if close else ""
    more = f" and {len(columns) - _SHOWN_COLUMNS} more" if len(columns) > _SHOWN_COLUMNS else ""
    return ReadError(f"{path} has no column {str(name)!r} for {what}{meant}; its columns are {shown or 'none'}{more}.")


def _short(name: str) -> str:
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= 40 else f"{name[:40]}..."
