"""Columns of the data as bit sets over the rows: covering a column by patterns is a handful of word operations."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Indices, Ints, Words
from saltmine.data.binary_model import BinaryModel
from saltmine.data.folding import Weights, stored
from saltmine.data.validation import BinaryMatrix


def count_bits(words: Words, weights: Ints | None = None) -> Ints:
    """Count the ones along the last axis; ``weights`` says what a one of every word counts for."""
    ones = np.bitwise_count(words)
    counts: Ints = ones.sum(axis=-1, dtype=np.int64) if weights is None else ones @ weights
    return counts


class Layout:
    """Where rows stand in the words: every class begins a new one, and all rows of a word have the same weight.

    A row that stands for several of the input, say 5, has a place among those of weight 4 and one among those of
    weight 1; so a word is counted at once, and there are few kinds of words.

    Attributes
    ----------
    edges : (c + 1,) int
        The words of each class.
    weights : (W,) int
        What a one counts for.
    rows, places : (k,) int
        Bit ``places[j]`` of all words, counted from the first one on, stands for row ``rows[j]``.

    Examples
    --------
    >>> import numpy as np
    >>> layout = Layout([slice(0, 2), slice(2, 3)], np.array([5, 1, 1]))
    >>> layout.weights.tolist(), layout.edges.tolist(), layout.rows.tolist()
    ([1, 4, 1], [0, 2, 3], [0, 1, 0, 2])
    """

    def __init__(self, blocks: list[slice], row_weights: Ints) -> None:
        edges, weights = [0], list[int]()
        rows, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for block in blocks:
            of_class = row_weights[block]
            for digit in range(int(of_class.max(initial=0)).bit_length()):
                members = block.start + np.flatnonzero(of_class >> digit & 1)
                rows.append(members)
                places.append(64 * len(weights) + np.arange(len(members)))
                weights += [1 << digit] * -(-len(members) // 64)
            edges.append(len(weights))
        self.n_rows = len(row_weights)
        self.edges = np.array(edges)
        self.weights = np.array(weights, dtype=np.int64)
        self.rows, self.places = np.concatenate(rows), np.concatenate(places)

    @cached_property
    def row_mask(self) -> Words:
        """Ones where a row stands, (W,)."""
        mask: Words = self.pack(np.ones((1, self.n_rows), dtype=bool))[0]
        return mask

    def merge_classes(self) -> Layout:
        """Return the same layout with all rows in one class."""
        merged = copy(self)
        merged.edges = self.edges[[0, -1]]
        return merged

    def sort_classes(self, classes: Indices) -> Layout:
        """Return the same layout with the classes in another order.

        Examples
        --------
        >>> import numpy as np
        >>> layout = Layout([slice(0, 70), slice(70, 80)], np.ones(80, dtype=int))
        >>> layout.sort_classes(np.array([1, 0])).edges.tolist()
        [0, 1, 3]
        """
        words = self.words_of(classes)
        sorted_layout = copy(self)
        sorted_layout.__dict__.pop("row_mask", None)
        sorted_layout.edges = np.concatenate([[0], np.cumsum(np.diff(self.edges)[classes])])
        sorted_layout.weights = self.weights[words]
        sorted_layout.places = 64 * np.argsort(words)[self.places // 64] + self.places % 64
        return sorted_layout

    def words_of(self, classes: Indices) -> Indices:
        """Return the words of these classes, one class after the other."""
        return np.concatenate([np.arange(self.edges[a], self.edges[a + 1]) for a in classes])

    def words(self, a: int) -> slice:
        """Return the words of class ``a``."""
        return slice(int(self.edges[a]), int(self.edges[a + 1]))

    def pack(self, sets: Bools) -> Words:
        """Pack sets of rows, (k, m), to words, (k, W).

        Examples
        --------
        >>> import numpy as np
        >>> layout = Layout([slice(0, 70)], np.ones(70, dtype=int))
        >>> count_bits(layout.pack(np.ones((1, 70), dtype=bool)))
        array([70])
        """
        bits = np.zeros((len(sets), 64 * len(self.weights)), dtype=bool)
        bits[:, self.places] = sets[:, self.rows]
        return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)

    def unpack(self, words: Words) -> Bools:
        """Return the sets of rows that `pack` made to words."""
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
        sets = np.zeros((len(words), self.n_rows), dtype=bool)
        sets[:, self.rows] = bits[:, self.places]
        return sets


class BitMatrix:
    """The data as bit sets: ``columns`` is (n, W), in the words of ``layout``.

    Examples
    --------
    >>> import numpy as np
    >>> BitMatrix(np.eye(3, dtype=bool), [slice(0, 1), slice(1, 3)]).item_counts
    array([1, 1, 1])
    """

    def __init__(self, matrix: BinaryMatrix, blocks: list[slice], weights: Weights | None = None) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.blocks = blocks
        self.weights = weights or Weights.ones(self.shape)
        self.layout = Layout(blocks, self.weights.rows)
        self.columns = np.zeros((self.shape[1], len(self.layout.weights)), dtype=np.uint64)
        places = self.layout.rows, self.layout.places
        if isinstance(matrix, np.ndarray):
            _core.set_bits(np.ascontiguousarray(matrix), *places, self.columns)
        else:
            _core.set_stored_bits(stored(matrix), *places, self.columns)
        self._count()

    def _count(self) -> None:
        words = [self.layout.words(a) for a in range(len(self.blocks))]
        self.class_counts = np.stack([count_bits(self.columns[:, of], self.layout.weights[of]) for of in words])
        self.item_counts = self.class_counts.sum(axis=0)

    @classmethod
    def of_columns(cls, columns: Words, layout: Layout, blocks: list[slice], weights: Weights) -> BitMatrix:
        """Return the matrix of columns that are packed already."""
        matrix = cls.__new__(cls)
        matrix.shape = (layout.n_rows, len(columns))
        matrix.blocks, matrix.layout, matrix.weights, matrix.columns = blocks, layout, weights, columns
        matrix._count()
        return matrix

    def merge_classes(self) -> BitMatrix:
        """Return the same data with all rows in one class."""
        return BitMatrix.of_columns(self.columns, self.layout.merge_classes(), [slice(0, self.shape[0])], self.weights)

    def rows(self) -> Bools:
        """Return the data as a boolean array, (m, n)."""
        return np.ascontiguousarray(self.layout.unpack(self.columns).T)

    @property
    def class_sizes(self) -> list[int]:
        """Rows that every class has in the input."""
        return self.weights.class_sizes(self.blocks)

    def used(self, Y: Bools) -> Ints:
        """Count the rows of the input that use every pattern, per class: (c, r)."""
        return np.stack([self.weights.rows[rows] @ Y[rows] for rows in self.blocks])

    def noise_counts(self, model: BinaryModel) -> Ints:
        """Count the cells in which data and model differ, per class and item: (c, n)."""
        if not model.rank:
            return self.class_counts.copy()
        counts = np.empty((len(self.blocks), self.shape[1]), dtype=np.int64)
        usage = self.layout.pack(model.Y.T)
        carried = np.ascontiguousarray(model.X | model.V)
        _core.count_noise(self.columns, usage, self.layout.weights, self.layout.edges, carried, counts)
        return counts

    def hits(self, rows: Words, items: NDArray[np.intp]) -> Ints:
        """Count how often each item occurs among these rows, (W,), per class: (c, items)."""
        met = self.columns[items] & rows
        words = [self.layout.words(a) for a in range(len(self.blocks))]
        return np.stack([count_bits(met[:, of], self.layout.weights[of]) for of in words])

    @cached_property
    def row_sizes(self) -> Ints:
        """Items of the input that every row has, (m,)."""
        return self.carried(np.ones(self.shape[1], dtype=bool))

    def weigh(self, items: Bools, worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for every row, (m,), the worth of those of the items, (n,), that it has, less that of the others."""
        sums = np.zeros(64 * len(self.layout.weights))
        _core.sum_in_rows(self.columns, np.ascontiguousarray(items), np.ascontiguousarray(worth), sums)
        of_rows = np.zeros(self.shape[0])
        of_rows[self.layout.rows] = sums[self.layout.places]
        return np.asarray(2 * of_rows - worth[items].sum())

    def carried(self, items: Bools) -> Ints:
        """Count how many of these items, (n,), every row has: (m,)."""
        return self.sum_in_rows(self.weights.items, items)

    def sum_in_rows(self, of_items: Ints, items: Bools | None = None) -> Ints:
        """Add up numbers of the items, (n,), that every row has, all of them or some: (m,)."""
        counts = np.zeros(64 * len(self.layout.weights), dtype=np.int64)
        chosen = np.ones(self.shape[1], dtype=bool) if items is None else np.ascontiguousarray(items)
        _core.count_in_rows(self.columns, chosen, of_items, counts)
        of_rows = np.zeros(self.shape[0], dtype=np.int64)
        of_rows[self.layout.rows] = counts[self.layout.places]
        return of_rows
