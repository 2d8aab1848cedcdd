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

from saltmine import _core
from saltmine.arrays import Bools, Indices, Ints
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
        _add_dense(matrix, numbers, keys, to_columns=True)
    else:
        _core.add_stored(stored(matrix), numbers, keys)


def row_keys(matrix: BinaryMatrix, classes: Indices) -> Keys:
    """Return a key for every row, (m, 2): equal for equal rows of the same class."""
    numbers = _numbers(matrix.shape[1] + int(classes.max(initial=0)) + 1)
    keys: Keys = numbers[matrix.shape[1] + classes]
    add_to_rows(matrix, numbers, keys)
    return keys


def add_to_rows(matrix: BinaryMatrix, numbers: Keys, keys: Keys) -> None:
    """Add the numbers of the columns, (n, 2), to the keys of the rows that have ones in them."""
    if isinstance(matrix, np.ndarray):
        _add_dense(matrix, numbers, keys, to_columns=False)
    else:
        _core.sum_stored(stored(matrix), numbers, keys)


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
    count = _core.number_keys(keys, number, first)
    return number, first[:count].copy()


def _numbers(count: int) -> Keys:
    return np.random.default_rng(_SEED).integers(2**64, size=(count, 2), dtype=np.uint64)


def _add_dense(matrix: Bools, numbers: Keys, keys: Keys, to_columns: bool) -> None:
    """Add the numbers of the rows to the keys of the columns, or the other way round, where there are ones."""
    if matrix.flags.f_contiguous:
        matrix, to_columns = matrix.T, not to_columns
    add = _core.add_dense if to_columns else _core.sum_dense
    add(np.ascontiguousarray(matrix), numbers, keys)


def stored(matrix: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the arrays of CSR data, which stores only ones: where rows begin, and their columns."""
    return np.ascontiguousarray(matrix.indptr), np.ascontiguousarray(matrix.indices)


def take(matrix: BinaryMatrix, rows: Indices, items: Indices, item_of: Indices) -> BinaryMatrix:
    """Return these rows and items; ``item_of`` is the new number of every column, in rising order, -1 if left out."""
    if isinstance(matrix, np.ndarray):
        return np.ascontiguousarray(matrix[np.ix_(rows, items)])
    if len(items) == len(item_of) and np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    chosen = np.zeros(len(item_of), dtype=bool)
    chosen[items] = True
    sizes = np.zeros(len(rows) + 1, dtype=np.int64)
    _core.count_chosen(stored(matrix), rows, chosen, sizes)
    indptr = np.cumsum(sizes)
    # As scipy chooses: 32 bits where all numbers fit.
    index = np.int32 if max(int(indptr[-1]), len(items)) < 2**31 else np.int64
    indices: NDArray[Any] = np.empty(int(indptr[-1]), dtype=index)
    _core.copy_chosen(stored(matrix), rows, chosen, item_of, indptr, indices)
    data = np.ones(len(indices), dtype=np.int8)
    taken: sp.csr_array = sp.csr_array((data, indices, indptr.astype(index)), shape=(len(rows), len(items)))
    return taken
