"""Names of alterations."""

from __future__ import annotations

import re
from functools import lru_cache

_BARE_CHROMOSOME = re.compile(r"\d+|[XYM]|MT", re.IGNORECASE)


def locus_name(chromosome: str, position: int, reference: str, alternative: str) -> str:
    """Return the name of an alteration: its position and the alleles.

    Examples
    --------
    >>> locus_name("1", 173939653, "C", "T"), locus_name("chrX", 7, "A", "<DEL>")
    ('chr1:173939653 C>T', 'chrX:7 A><DEL>')
    """
    return f"{_chromosome_name(chromosome)}:{position} {reference}>{alternative}"


@lru_cache(maxsize=1024)
def _chromosome_name(name: str) -> str:
    # Some files write 1 where others write chr1; items of both should have the same names.
    return f"chr{name}" if _BARE_CHROMOSOME.fullmatch(name) else name
