"""Folding: identical columns, and identical rows of a class, become one. Linear in the stored entries.

Every row gets a random number of 128 bits; a column is known by the sum of the numbers of the rows it has ones in.
Equal columns have equal sums, and for two different ones to have equal sums would take a coincidence of one in 2^128.
So columns are compared without being gathered, whatever the storage. Rows go the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices, Ints
from saltmine.compiled import compiled
from saltmine.data.validation import BinaryMatrix

Keys = NDArray[np.uint64]

# The numbers need not be secret, only unrelated to the data.
_SEED = 20170918


@dataclass(frozen=True)
class Weights:
    """How often every item, (n,), and every row, (m,), of folded data occurs in the input."""

    items: Ints
    rows: Ints

    @classmethod
    def ones(cls, shape: tuple[int, int]) -> Weights:
        """Return the weights of data that is not folded.

        Examples
        --------
        >>> Weights.ones((2, 3)).shape
        (2, 3)
        """
        m, n = shape
        return cls(np.ones(n, dtype=np.int64), np.ones(m, dtype=np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and items of the input."""
        return int(self.rows.sum()), int(self.items.sum())

    def class_sizes(self, blocks: list[slice]) -> list[int]:
        """Return the rows that every class has in the input."""
        return [int(self.rows[block].sum()) for block in blocks]


def column_keys(matrix: BinaryMatrix) -> Keys:
    """Return a key of 128 bits for every column, (n, 2): equal for equal columns, zero for empty ones.

    Examples
    --------
    >>> import numpy as np
    >>> keys = column_keys(np.array([[1, 0, 1], [0, 0, 0]], dtype=bool))
    >>> (keys[:, 0] == keys[0, 0]).tolist(), keys[1].tolist()
    ([True, False, True], [0, 0])
    """
    keys = np.zeros((matrix.shape[1], 2), dtype=np.uint64)
    add_to_columns(matrix, _numbers(matrix.shape[0]), keys)
    return keys


def add_to_columns(matrix: BinaryMatrix, numbers: Keys, keys: Keys) -> None:
    """Add the numbers of the rows, (m, 2), to the keys of the columns that they have ones in."""
    if isinstance(matrix, np.ndarray):
        _add_dense(np.ascontiguousarray(matrix), numbers, keys)
    else:
        _add_stored(matrix.indptr, matrix.indices, numbers, keys)


def row_keys(matrix: BinaryMatrix, classes: Indices) -> Keys:
    """Return a key for every row, (m, 2): equal for equal rows of the same class."""
    numbers = _numbers(matrix.shape[1] + int(classes.max(initial=0)) + 1)
    keys: Keys = numbers[matrix.shape[1] + classes]
    if isinstance(matrix, np.ndarray):
        _add_dense(np.ascontiguousarray(matrix.T), numbers, keys)
    else:
        _sum_stored(matrix.indptr, matrix.indices, numbers, keys)
    return keys


def group(keys: Keys) -> tuple[Ints, Ints]:
    """Give equal keys the same number: the number of every key, and the first place of every number.

    Numbers are given in order of appearance.

    Examples
    --------
    >>> import numpy as np
    >>> number, first = group(np.array([[7, 1], [3, 3], [7, 1]], dtype=np.uint64))
    >>> number.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    number, first = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    # At most half full, so that few places are looked at.
    table = np.full(1 << max(1, int(2 * len(keys)).bit_length()), -1, dtype=np.int64)
    count = _number(keys, table, number, first)
    return number, first[:count].copy()


def _numbers(count: int) -> Keys:
    return np.random.default_rng(_SEED).integers(2**64, size=(count, 2), dtype=np.uint64)


@compiled()
def _add_dense(matrix: Bools, numbers: Keys, keys: Keys) -> None:
    for j in range(matrix.shape[0]):
        for i in range(matrix.shape[1]):
            if matrix[j, i]:
                keys[i, 0] += numbers[j, 0]
                keys[i, 1] += numbers[j, 1]


@compiled()
def _add_stored(indptr: Ints, indices: Ints, numbers: Keys, keys: Keys) -> None:
    for j in range(len(indptr) - 1):
        for k in range(indptr[j], indptr[j + 1]):
            keys[indices[k], 0] += numbers[j, 0]
            keys[indices[k], 1] += numbers[j, 1]


@compiled()
def _sum_stored(indptr: Ints, indices: Ints, numbers: Keys, keys: Keys) -> None:
    for j in range(len(indptr) - 1):
        for k in range(indptr[j], indptr[j + 1]):
            keys[j, 0] += numbers[indices[k], 0]
            keys[j, 1] += numbers[indices[k], 1]


@compiled()
def _number(keys: Keys, table: Ints, number: Ints, first: Ints) -> int:
    """Give the keys numbers by a table of places: open addressing, the next place where one is taken."""
    mask = np.uint64(len(table) - 1)
    count = 0
    for i in range(len(keys)):
        place = keys[i, 0] & mask
        while True:
            known = table[place]
            if known < 0:
                table[place] = count
                number[i] = count
                first[count] = i
                count += 1
                break
            at = first[known]
            if keys[at, 0] == keys[i, 0] and keys[at, 1] == keys[i, 1]:
                number[i] = known
                break
            place = (place + np.uint64(1)) & mask
    return count


def take(matrix: BinaryMatrix, rows: Indices, items: Indices, item_of: Indices) -> BinaryMatrix:
    """Return these rows and items; ``item_of`` is the new number of every column, in rising order, -1 if left out."""
    if isinstance(matrix, np.ndarray):
        return np.ascontiguousarray(matrix[np.ix_(rows, items)])
    if len(items) == len(item_of) and np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    chosen = np.zeros(len(item_of), dtype=bool)
    chosen[items] = True
    sizes = np.zeros(len(rows) + 1, dtype=np.int64)
    _count_chosen(matrix.indptr, matrix.indices, rows, chosen, sizes)
    indptr = np.cumsum(sizes)
    # As scipy chooses: 32 bits where all numbers fit.
    index = np.int32 if max(int(indptr[-1]), len(items)) < 2**31 else np.int64
    indices: NDArray[Any] = np.empty(int(indptr[-1]), dtype=index)
    _copy_chosen(matrix.indptr, matrix.indices, rows, chosen, item_of, indptr, indices)
    data = np.ones(len(indices), dtype=np.int8)
    taken: sp.csr_array = sp.csr_array((data, indices, indptr.astype(index)), shape=(len(rows), len(items)))
    return taken


@compiled()
def _count_chosen(indptr: Ints, indices: Ints, rows: Ints, chosen: Bools, sizes: Ints) -> None:
    for k in range(len(rows)):
        for place in range(indptr[rows[k]], indptr[rows[k] + 1]):
            sizes[k + 1] += chosen[indices[place]]


@compiled()
def _copy_chosen(
    indptr: Ints, indices: Ints, rows: Ints, chosen: Bools, item_of: Ints, new_indptr: Ints, new_indices: Ints
) -> None:
    for k in range(len(rows)):
        to = new_indptr[k]
        for place in range(indptr[rows[k]], indptr[rows[k] + 1]):
            i = indices[place]
            if chosen[i]:
                new_indices[to] = item_of[i]
                to += 1
