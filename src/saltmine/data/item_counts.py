"""Ints of a model's items that tables and codes need, kept for distinct items and unfolded on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices, Ints
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.order import Order


def entries(components: Bools, alterations: Bools) -> tuple[Indices, Indices, Indices]:
    """List what the patterns consist of: pattern, item and class of every entry, -1 for the shared part.

    Examples
    --------
    >>> import numpy as np
    >>> shared = np.array([[True, False]])
    >>> altered = np.array([[[False, True]], [[False, False]]])
    >>> [column.tolist() for column in entries(shared, altered)]
    [[0, 0], [0, 1], [-1, 0]]
    """
    parts = [[np.flatnonzero(part[s]) for part in (components, *alterations)] for s in range(len(components))]
    found = [items for of_pattern in parts for items in of_pattern]
    sizes, n_parts = [len(items) for items in found], 1 + len(alterations)
    pattern = np.repeat(np.arange(len(components)).repeat(n_parts), sizes)
    owner = np.repeat(np.tile(np.arange(-1, n_parts - 1), len(components)), sizes)
    return pattern, np.concatenate([np.zeros(0, dtype=np.intp), *found]), owner


def entry_ranges(components: Bools, alterations: Bools) -> Ints:
    """Return where the entries of every pattern and owner begin and end, (r, c + 1, 2), the shared part first.

    Examples
    --------
    >>> import numpy as np
    >>> entry_ranges(np.array([[True, False]]), np.array([[[False, True]], [[False, False]]])).tolist()
    [[[0, 1], [1, 2], [2, 2]]]
    """
    # Row by row, which is much faster than along an axis.
    sizes = [[np.count_nonzero(part[s]) for part in (components, *alterations)] for s in range(len(components))]
    ends = np.cumsum(np.array(sizes, dtype=np.int64).reshape(len(components), 1 + len(alterations)))
    begins = np.concatenate([[0], ends[:-1]])[: len(ends)]
    return np.stack([begins, ends], axis=1).reshape(len(components), 1 + len(alterations), 2)


@dataclass(frozen=True)
class ItemCounts:
    """Patterns and counts of distinct items, and the distinct item of every column.

    Attributes
    ----------
    item_of : (n,) int
        The item of every column; -1 for a column without ones.
    components, alterations : (r, items), (c, r, items) bool
    item_counts, noise_counts : (c, items) int
        Ones, and cells that the model gets wrong.
    hits : (c, entries) int
        How often the item of every entry, in the order of `entries`, occurs in the rows that use the pattern.
    """

    item_of: NDArray[np.integer[Any]]
    components: Bools
    alterations: Bools
    item_counts: NDArray[np.integer[Any]]
    noise_counts: NDArray[np.integer[Any]]
    hits: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, bits: BitMatrix, model: BinaryModel, item_of: Indices) -> ItemCounts:
        """Count what the tables need."""
        components, alterations = np.ascontiguousarray(model.X.T), model.V.transpose(0, 2, 1).copy()
        pattern, item, _ = entries(components, alterations)
        # The smallest type that counts all rows: there may be millions of entries.
        small = np.min_scalar_type(-sum(bits.class_sizes) - 1)
        return cls(
            item_of.astype(np.int32) if bits.shape[1] < 2**31 else item_of,
            components,
            alterations,
            bits.class_counts.astype(small),
            bits.noise_counts(model).astype(small),
            count_hits(bits, model.Y, pattern, item).astype(small),
        )

    @classmethod
    def joined(cls, parts: Sequence[ItemCounts]) -> ItemCounts:
        """Put the figures of blocks of columns one after the other."""
        offsets = np.concatenate([[0], np.cumsum([part.components.shape[1] for part in parts])]).tolist()
        ranges = [entry_ranges(part.components, part.alterations).reshape(-1, 2).tolist() for part in parts]
        return cls(
            np.concatenate(
                [np.where(part.item_of >= 0, part.item_of + at, -1) for part, at in zip(parts, offsets, strict=False)],
                dtype=np.int32 if offsets[-1] < 2**31 else np.int64,
            ),
            np.concatenate([part.components for part in parts], axis=1),
            np.concatenate([part.alterations for part in parts], axis=2),
            np.concatenate([part.item_counts for part in parts], axis=1),
            np.concatenate([part.noise_counts for part in parts], axis=1),
            _pieces(
                ((part.hits, of[k]) for k in range(len(ranges[0])) for part, of in zip(parts, ranges, strict=True)),
                parts[0].hits[:, :0],
            ),
        )

    def carried(self) -> Ints:
        """Count the columns that every class has in every pattern, (c, r)."""
        weights = self.distinct[1]
        # One pattern at a time: a product would make numbers of all entries at once.
        patterns = range(len(self.components))
        counts = [[weights @ (self.components[s] | altered[s]) for s in patterns] for altered in self.alterations]
        return np.array(counts, dtype=np.int64).reshape(len(self.alterations), len(self.components))

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and files leave out what was unfolded on demand.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def keep(self, patterns: Indices) -> ItemCounts:
        """Return the figures of these patterns, in this order."""
        ranges = entry_ranges(self.components, self.alterations)
        chosen = ((self.hits, [int(ranges[s, 0, 0]), int(ranges[s, -1, 1])]) for s in patterns)
        kept = replace(
            self,
            components=self.components[patterns],
            alterations=self.alterations[:, patterns],
            hits=_pieces(chosen, self.hits[:, :0]),
        )
        # The items are the same.
        kept.__dict__["distinct"] = self.distinct
        return kept

    @cached_property
    def distinct(self) -> tuple[Indices, Ints]:
        """The first column of every item, and how many columns it stands for."""
        first = np.zeros(self.components.shape[1], dtype=np.intp)
        # The last column that is written is the first there is.
        columns = np.flatnonzero(self.item_of >= 0)[::-1]
        first[self.item_of[columns]] = columns
        return first, np.bincount(self.item_of[columns], minlength=len(first))

    def in_order(self, order: Order) -> ItemCounts:
        """Return the figures with columns, and classes, in another order."""
        item_of = self.item_of if order.items is None else self.item_of[order.items]
        if order.classes is None or np.array_equal(order.classes, np.arange(len(self.alterations))):
            return replace(self, item_of=item_of)
        # The shared part stays the first.
        owners = [0, *(1 + order.classes)]
        ranges = entry_ranges(self.components, self.alterations)[:, owners].reshape(-1, 2)
        hits = self.hits[order.classes]
        return replace(
            self,
            item_of=item_of,
            alterations=self.alterations[order.classes],
            item_counts=self.item_counts[order.classes],
            noise_counts=self.noise_counts[order.classes],
            hits=_pieces(((hits, place) for place in ranges.tolist()), hits[:, :0]),
        )

    def unfold(self, figures: NDArray[Any]) -> NDArray[Any]:
        """Give every column the figure of its item, on the last axis; none, or zero, to those without ones."""
        if np.array_equal(self.item_of, np.arange(figures.shape[-1])):
            return figures
        # One more item, for columns without ones: it is number -1.
        padded = np.concatenate([figures, np.zeros((*figures.shape[:-1], 1), dtype=figures.dtype)], axis=-1)
        return np.take(padded, self.item_of, axis=-1)

    @cached_property
    def all_components(self) -> Bools:
        """Shared patterns over all columns, (r, n)."""
        return self.unfold(self.components)

    @cached_property
    def all_alterations(self) -> Bools:
        """Alterations over all columns, (c, r, n)."""
        return self.unfold(self.alterations)

    @cached_property
    def all_item_counts(self) -> Ints:
        """Ones of every class and column, (c, n)."""
        return self.unfold(self.item_counts).astype(np.int64)

    @cached_property
    def all_noise_counts(self) -> Ints:
        """Cells in error of every class and column, (c, n)."""
        return self.unfold(self.noise_counts).astype(np.int64)

    @cached_property
    def _keys(self) -> Ints:
        return self._key(*entries(self.components, self.alterations))

    def _key(self, pattern: Indices, item: NDArray[np.integer[Any]], owner: Indices) -> Ints:
        c, n_items = len(self.alterations), self.components.shape[1]
        key: Ints = (pattern.astype(np.int64) * (c + 1) + owner + 1) * n_items + item
        return key

    def hits_of(self, pattern: Indices, column: Indices, owner: Indices) -> Ints:
        """Return the hits of entries that are given by columns."""
        place = np.searchsorted(self._keys, self._key(pattern, self.item_of[column], owner))
        return self.hits[:, place].astype(np.int64)

    def sparse(self, part: Bools) -> sp.csr_array:
        """Return a part of the patterns, (r, items), as a sparse matrix over all columns, (r, n)."""
        columns = [np.flatnonzero(self.unfold(of_pattern)) for of_pattern in part]
        edges = np.concatenate([[0], np.cumsum([len(found) for found in columns])])
        # Both of one type, or scipy widens them.
        index = np.int32 if max(int(edges[-1]), len(self.item_of)) < 2**31 else np.int64
        indices = np.concatenate([np.zeros(0, dtype=np.intp), *columns]).astype(index)
        ones = np.ones(len(indices), dtype=bool)
        return sp.csr_array((ones, indices, edges.astype(index)), shape=(len(part), len(self.item_of)))


def _pieces(parts: Iterable[tuple[NDArray[Any], list[int]]], empty: NDArray[Any]) -> NDArray[Any]:
    """Put ranges of columns, of several arrays, one after the other; ``empty`` has no columns."""
    return np.concatenate([empty, *(figures[:, begin:end] for figures, (begin, end) in parts)], axis=1)


def count_hits(bits: BitMatrix, rows: Bools, pattern: Indices, item: Indices) -> Ints:
    """Count for every entry, of this pattern and item, how often its item occurs in the rows of its pattern.

    ``rows``, (m, r), says which these are. Shape (c, entries).
    """
    hits = np.zeros((len(bits.blocks), len(pattern)), dtype=np.int64)
    for s, words in enumerate(bits.layout.pack(rows.T)):
        of_pattern = np.flatnonzero(pattern == s)
        hits[:, of_pattern] = bits.hits(words, item[of_pattern])
    return hits
