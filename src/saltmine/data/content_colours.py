"""Tell things apart by what they contain, whatever their order: colours that are refined until no more of them appear.

As in tests whether graphs are the same (Weisfeiler and Leman), the colour of an item depends on the colours of its
rows, that of a row on its class and its items, that of a class on its rows, over and over. A colour is a key of 128
bits, made of sums, which know no order. After two or three rounds all differ that differ at all, but for symmetries of
the data, as those of a board. There one of the tied is singled out and all are refined again. Which one it is makes no
difference to the data that comes out; only in data that is regular without being symmetric, as Latin squares, it may.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices
from saltmine.data.folding import Keys, group

# Cells that are looked at to break ties; a look counts as the second at least. No more than so many things are singled
# out one after the other. What is tied after that is sorted by its names, or by its place in the input.
MAX_WORK, LEAST_WORK, MAX_DEPTH = 1 << 26, 1 << 14, 100
# Different numbers for both halves of a key, and one that changes the colour of what is singled out.
_HALVES = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
_SINGLED_OUT = np.uint64(0xA0761D6478BD642F)


class Links(Protocol):
    """Things of several kinds whose colours are known here, and links between them, which may be anywhere."""

    @property
    def work(self) -> int:
        """Cells that a look takes."""

    @property
    def contents(self) -> list[Indices | None]:
        """Numbers that are equal for identical things of a kind; None where no two are identical."""

    def look(self, colours: list[Keys]) -> list[Keys]:
        """Return for every thing a sum over what it is linked with, (k, 2) for each kind, from the colours of all."""

    def split(self, tied: list[Bools], colours: list[Keys]) -> Parts:
        """Return what is tied in parts that are not linked with each other but by what has a colour of its own."""


class Parts(Protocol):
    """Tied things in parts."""

    labels: list[Indices]  # the part of every tied thing, for each kind

    def links(self, label: int) -> Links:
        """Return the links of the things of one part."""


class OnePart:
    """What is tied as a single part of links that cannot be split; all other things keep their colours."""

    def __init__(self, links: Links, tied: list[Bools], colours: list[Keys]) -> None:
        self._links, self._colours = links, colours
        self._members = [np.flatnonzero(of_kind) for of_kind in tied]
        self.labels = [np.zeros(len(of_kind), dtype=np.intp) for of_kind in self._members]

    def links(self, label: int) -> Links:
        """Return the links of the things of one part."""
        return self

    @property
    def work(self) -> int:
        """Cells that a look takes."""
        return self._links.work

    @property
    def contents(self) -> list[Indices | None]:
        """Numbers that are equal for identical things of a kind."""
        return [
            None if same is None else same[of] for same, of in zip(self._links.contents, self._members, strict=True)
        ]

    def look(self, colours: list[Keys]) -> list[Keys]:
        """Return for every thing a sum over what it is linked with."""
        of_all = [keys.copy() for keys in self._colours]
        for keys, of, own in zip(of_all, self._members, colours, strict=True):
            keys[of] = own
        return [sums[of] for sums, of in zip(self._links.look(of_all), self._members, strict=True)]

    def split(self, tied: list[Bools], colours: list[Keys]) -> OnePart:
        """Return what is tied as a single part again."""
        return OnePart(self, tied, colours)


def mix(keys: Keys) -> Keys:
    """Return numbers, (k, 2), that look random but are the same for the same keys.

    Examples
    --------
    >>> keys = mix(np.array([[1, 1], [2, 2], [1, 1]], dtype=np.uint64))
    >>> bool((keys[0] == keys[2]).all()), bool((keys[0] == keys[1]).any()), bool(keys[0, 0] == keys[0, 1])
    (True, False, False)
    """
    return splitmix(keys + _HALVES)


def splitmix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, equal ones for equal numbers (splitmix64, as in core/random.hpp)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def mix_numbers(numbers: Indices) -> Keys:
    """Return numbers, (k, 2), that look random, from whole numbers, (k,)."""
    return mix(np.repeat(numbers.astype(np.uint64)[:, None], 2, axis=1))


def sum_by(numbers: Indices, keys: Keys, count: int) -> Keys:
    """Add up the keys of every number, (count, 2); those of number -1 are left out.

    Examples
    --------
    >>> sum_by(np.array([1, 0, 1, -1]), np.array([[1, 5], [2, 5], [3, 5], [4, 5]], dtype=np.uint64), 2).tolist()
    [[2, 5], [4, 10]]
    """
    sums = np.zeros((count + 1, 2), dtype=np.uint64)
    for half in range(2):
        np.add.at(sums[:, half], numbers, keys[:, half])
    return sums[:count]


def sort_by_content(links: Links, sizes: list[int], names: list[NDArray[Any] | None]) -> list[Indices]:
    """Return the order of so many things of every kind; names decide between those that nothing else tells apart."""
    colours, _ = _refine(links, [np.zeros((size, 2), dtype=np.uint64) for size in sizes])
    if _count(colours) < sum(sizes):
        places = [
            np.arange(size) if of_kind is None else np.unique(of_kind.astype(str), return_inverse=True)[1]
            for size, of_kind in zip(sizes, names, strict=True)
        ]
        colours = _break_ties(links, colours, places, MAX_WORK, 0)
    return [np.lexsort((keys[:, 1], keys[:, 0])) for keys in colours]


def _refine(links: Links, colours: list[Keys]) -> tuple[list[Keys], int]:
    """Refine colours until no more of them appear; also return the work of it."""
    count, work = _count(colours), 0
    while True:
        work += max(links.work, LEAST_WORK)
        colours = [mix(np.uint64(3) * keys + sums) for keys, sums in zip(colours, links.look(colours), strict=True)]
        now = _count(colours)
        if now <= count or now == sum(map(len, colours)):
            return colours, work
        count = now


def _count(colours: list[Keys]) -> int:
    return sum(len(group(keys)[1]) for keys in colours)


def _break_ties(links: Links, colours: list[Keys], places: list[Indices], budget: int, depth: int) -> list[Keys]:
    """Give things of the same colour different ones, unless they are identical; their places decide in the end.

    Each part of what is tied is solved by itself. Parts that are the same in all then differ by their places.
    """
    tied = _all_tied(colours, links.contents)
    if not any(of_kind.any() for of_kind in tied):
        return colours
    parts = links.split(tied, colours)
    members = [np.flatnonzero(of_kind) for of_kind in tied]
    of_part = [keys[of] ^ mix_numbers(label) for keys, of, label in zip(colours, members, parts.labels, strict=True)]
    same = [None if kind is None else kind[of] for kind, of in zip(links.contents, members, strict=True)]
    inside = _all_tied(of_part, same)
    unsolved = np.unique(np.concatenate([label[of] for label, of in zip(parts.labels, inside, strict=True)]))
    colours = [keys.copy() for keys in colours]
    for number in unsolved.tolist():
        chosen = [of[label == number] for of, label in zip(members, parts.labels, strict=True)]
        own, order = ([figures[of] for figures, of in zip(all_of, chosen, strict=True)] for all_of in (colours, places))
        found = _solve(parts.links(number), own, order, budget // len(unsolved), depth)
        for keys, of, solved in zip(colours, chosen, found, strict=True):
            keys[of] = solved
    if len(unsolved):
        # Colours that were made apart from each other say the same only after a look at all.
        colours, _ = _refine(links, colours)
    return _rank_parts(colours, members, parts.labels, places)


def _solve(links: Links, colours: list[Keys], places: list[Indices], budget: int, depth: int) -> list[Keys]:
    """Single out one of the tied things in a connected part, refine, and break the ties that remain."""
    contents, tied = links.contents, _all_tied(colours, links.contents)
    kind = next(kind for kind, of_kind in enumerate(tied) if of_kind.any())
    colours = list(colours)
    colours[kind] = _single_out(colours[kind], contents[kind], tied[kind], places[kind])
    colours, work = _refine(links, colours)
    if budget > work and depth < MAX_DEPTH:
        return _break_ties(links, colours, places, budget - work, depth + 1)
    return [keys ^ mix_numbers(place) for keys, place in zip(colours, places, strict=True)]


def _all_tied(colours: list[Keys], contents: list[Indices | None]) -> list[Bools]:
    """Say which things of every kind have the colour of another one that is not identical."""
    tied = list[Bools]()
    for keys, of_kind in zip(colours, contents, strict=True):
        colour, first = group(keys)
        same = np.arange(len(keys)) if of_kind is None else of_kind
        tied.append(np.bincount(colour, same != same[first[colour]], minlength=1)[colour] > 0)
    return tied


def _single_out(colours: Keys, contents: Indices | None, tied: Bools, places: Indices) -> Keys:
    """Change the colour of the first of some tied things, and of what is identical with it.

    It is one of the colour that the fewest have, and the smallest of these.
    """
    members = np.flatnonzero(tied)
    colour, first = group(colours[members])
    keys, count = colours[members[first]], np.bincount(colour)
    wanted = np.lexsort((keys[:, 1], keys[:, 0], count))[0]
    members = members[colour == wanted]
    chosen = members[np.argmin(places[members])]
    changed = colours.copy()
    changed[chosen if contents is None else members[contents[members] == contents[chosen]]] ^= _SINGLED_OUT
    return changed


def _rank_parts(
    colours: list[Keys], members: list[Indices], labels: list[Indices], places: list[Indices]
) -> list[Keys]:
    """Give parts that have the same colours different ones, in the order of their places."""
    count = max(int(label.max(initial=-1)) for label in labels) + 1
    sums, first = np.zeros((count, 2), dtype=np.uint64), np.full(count, np.iinfo(np.intp).max)
    for keys, of, label, place in zip(colours, members, labels, places, strict=True):
        sums = mix(sums + sum_by(label, mix(keys[of]), count))
        np.minimum.at(first, label, place[of])
    sort, _ = group(sums)
    order = np.lexsort((first, sort))
    rank = np.empty(count, dtype=np.uint64)
    rank[order] = np.arange(count) - np.searchsorted(sort[order], sort[order])
    for keys, of, label in zip(colours, members, labels, strict=True):
        keys[of] = mix(keys[of] + rank[label][:, None])
    return colours
