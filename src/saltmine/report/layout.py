"""Places of items that have one: pixels of an image, positions on chromosomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Names = Sequence[Any] | NDArray[Any] | None

ITEMS, WORDS, LOCI, PIXELS = "items", "words", "loci", "pixels"

_PIXEL = re.compile(r"(?:pixel|px)[ _-]?(\d{1,6})[ _x,-](\d{1,6})$", re.IGNORECASE)
_LOCUS = re.compile(r"([^:\s]+):(\d{1,12})(?!\d)")
# Names such as "age:30" are no loci: the chromosome has to look like one, or the alleles have to follow.
_SURE_LOCUS = re.compile(r"(?:chr\w+|\d\d?|X|Y|MT?):\d+|[^:\s]+:\d+(?::| )[ACGTN*]+(?::|>)[ACGTN*]+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}(?:['-][^\W\d_]+)*$")
# Fewer short lower-case names may be goods in a shop.
_MIN_WORDS = 500
_MAX_CHROMOSOMES = 40
# Digits of the number of a chromosome.
_MAX_DIGITS = 9
_MAX_BINS = 600


@dataclass(frozen=True)
class Layout:
    """Places of the items: ``place`` is (n,), -1 for an item without one; ``shape`` is what the page draws."""

    shape: dict[str, Any]
    place: NDArray[np.int64]
    n_places: int


def kind_of_items(names: Names, about: dict[str, Any]) -> str:
    """Return the kind of the items: as the reader of the file said, else as most of their names suggest.

    Examples
    --------
    >>> kind_of_items(["chr1:120 A>G", "chrX:7 C>T"], {})
    'loci'
    >>> kind_of_items(["bread", "butter"], {})
    'items'
    """
    if about.get("kind") in (WORDS, LOCI, PIXELS):
        return str(about["kind"])
    if about.get("image") is not None:
        return PIXELS
    names = () if names is None else names
    texts, most = [name for name in names if isinstance(name, str)], 0.9 * len(names)
    may_be_words = len(names) >= _MIN_WORDS and sum(map(str.islower, texts)) > most
    for kind, pattern in ((PIXELS, _PIXEL), (LOCI, _SURE_LOCUS), (WORDS, _WORD)):
        if (kind != WORDS or may_be_words) and sum(pattern.match(text) is not None for text in texts) > most:
            return kind
    return ITEMS


def layout_of(kind: str, names: Names, n_items: int, about: dict[str, Any], max_places: int) -> Layout | None:
    """Return the places of the items; None where they have none, or more than a page can hold."""
    if kind == PIXELS:
        image = _image(names, n_items, about.get("image"))
        return image if image is not None and image.n_places <= max_places else None
    if kind == LOCI and names is not None:
        return _chromosomes([str(name) for name in names], max_places)
    return None


def _image(names: Names, n_items: int, size: Sequence[int] | None) -> Layout | None:
    found = [_PIXEL.match(str(name)) for name in names] if names is not None else []
    if found and all(found):
        row, column = np.array([[int(part) for part in match.groups()] for match in found if match]).T
        # A size that does not hold all pixels belongs to another image.
        height, width = int(row.max()) + 1, int(column.max()) + 1
        if size is not None and size[0] >= height and size[1] >= width:
            height, width = int(size[0]), int(size[1])
        place = row * width + column
    else:
        # Without coordinates in the names, columns are the pixels line by line.
        height, width = (int(size[0]), int(size[1])) if size is not None else (isqrt(n_items), isqrt(n_items))
        place = np.arange(n_items)
    if height * width < n_items:
        return None
    return Layout({"kind": PIXELS, "height": height, "width": width}, place.astype(np.int64), height * width)


def _chromosomes(names: list[str], max_bins: int) -> Layout | None:
    where = [(match[1], int(match[2])) if match else ("", -1) for match in map(_LOCUS.match, names)]
    longest: dict[str, int] = {}
    for chromosome, position in where:
        longest[chromosome] = max(longest.get(chromosome, 0), position)
    longest.pop("", None)
    if not longest:
        return None
    drawn = sorted(sorted(longest, key=lambda name: -longest[name])[:_MAX_CHROMOSOMES], key=_natural)
    lengths = np.array([longest[name] for name in drawn], dtype=np.float64) + 1
    per_base = min(_MAX_BINS / lengths.max(), max_bins / lengths.sum())
    bins = np.maximum(1, np.ceil(lengths * per_base)).astype(np.int64)
    first = dict(zip(drawn, (np.cumsum(bins) - bins).tolist(), strict=True))
    last = dict(zip(drawn, (np.cumsum(bins) - 1).tolist(), strict=True))
    place = [min(first[c] + int(at * per_base), last[c]) if c in first else -1 for c, at in where]
    sizes = zip(drawn, bins.tolist(), strict=True)
    chromosomes = [{"name": name, "bins": n_bins, "length": longest[name]} for name, n_bins in sizes]
    shape = {"kind": LOCI, "chromosomes": chromosomes, "left_out": len(longest) - len(drawn)}
    return Layout(shape, np.array(place, dtype=np.int64), int(bins.sum()))


def _natural(name: str) -> tuple[int, int, str]:
    """Return a sort key for chromosomes: 1, 2, ..., 10, X, Y, M, then the rest by name.

    Examples
    --------
    >>> sorted(["chrM", "chr10", "chrX", "chr2", "scaffold7"], key=_natural)
    ['chr2', 'chr10', 'chrX', 'chrM', 'scaffold7']
    """
    short = name.lower().removeprefix("chr")
    if short.isdecimal() and len(short) <= _MAX_DIGITS:
        return 0, int(short), name
    return 1, {"x": 0, "y": 1, "m": 2, "mt": 2}.get(short, 3), name
