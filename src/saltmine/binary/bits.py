"""Columns of the data as bit sets over the rows: covering a column by patterns is a handful of word operations."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.binary.model import BinaryModel, Bools
from saltmine.matrix.threads import cut
from saltmine.matrix.validation import BinaryMatrix

Words = NDArray[np.uint64]


def pack_rows(columns: Bools) -> Words:
    """Pack the last axis of a boolean array into 64-bit words.

    Examples
    --------
    >>> import numpy as np
    >>> int(np.bitwise_count(pack_rows(np.ones((1, 70), dtype=bool))).sum())
    70
    """
    bytes_ = np.packbits(columns, axis=-1)
    pad = -bytes_.shape[-1] % 8
    bytes_ = np.pad(bytes_, [(0, 0)] * (bytes_.ndim - 1) + [(0, pad)])
    return np.ascontiguousarray(bytes_).view(np.uint64)


def count_bits(words: Words) -> NDArray[np.int64]:
    """Count the ones along the last axis."""
    counts: NDArray[np.int64] = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return counts


class BitMatrix:
    """The data as bit sets: ``columns[a]`` is (n, words) over the rows of class a.

    Examples
    --------
    >>> import numpy as np
    >>> BitMatrix(np.eye(3, dtype=bool), [slice(0, 1), slice(1, 3)]).item_counts
    array([1, 1, 1])
    """

    def __init__(self, matrix: BinaryMatrix, blocks: list[slice]) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.blocks = blocks
        self.columns = [_pack_block(matrix, rows) for rows in blocks]
        self.class_counts = np.stack([count_bits(words) for words in self.columns])
        self.item_counts = self.class_counts.sum(axis=0)

    def pack_usage(self, Y: Bools) -> list[Words]:
        """Pack the usage, one (r, words) array per class."""
        return [pack_rows(Y[rows].T) for rows in self.blocks]

    def noise_counts(self, model: BinaryModel) -> NDArray[np.int64]:
        """Count the cells in which data and model differ, per class and item: (c, n)."""
        if not model.rank:
            return self.class_counts.copy()
        # Compiled code is loaded when it is needed.
        from saltmine.binary.kernels import count_noise

        counts = np.empty((len(self.blocks), self.shape[1]), dtype=np.int64)
        for a, usage in enumerate(self.pack_usage(model.Y)):
            count_noise(self.columns[a], usage, np.ascontiguousarray(model.X | model.V[a]), counts[a])
        return counts

    def hits(self, usage: list[Words], items: NDArray[np.intp], s: int) -> NDArray[np.int64]:
        """Count how often each item occurs among the rows that use pattern s, per class: (c, items)."""
        return np.stack([count_bits(self.columns[a][items] & usage[a][s]) for a in range(len(self.blocks))])


def _pack_block(matrix: BinaryMatrix, rows: slice) -> Words:
    if isinstance(matrix, np.ndarray):
        return pack_rows(matrix[rows].T)
    # A few columns at a time, so that the dense form of a sparse matrix never exists.
    by_columns = sp.csc_array(matrix[rows])
    panels = cut(by_columns.shape[1], by_columns.shape[0], panel_cells=1 << 24)
    return np.concatenate([pack_rows(by_columns[:, items].toarray().T != 0) for items in panels])
