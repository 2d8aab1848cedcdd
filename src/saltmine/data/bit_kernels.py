"""Compiled loops over bit sets: 64 rows to a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.compiled import compiled

ONE = np.uint64(1)
ZERO = np.uint64(0)


# Some versions of numba have types for this decorator, some have none.
@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def popcount(typing: Any, word: Any) -> Any:
    """Count the ones of a word."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest(typing: Any, word: Any) -> Any:
    """Return the place of the lowest one of a word that is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), codegen


@compiled()
def count_ones(word: np.uint64) -> int:
    """Count the ones of a word."""
    return int(popcount(word))


@compiled()
def lowest_one(word: np.uint64) -> int:
    """Return the place of the lowest one of a word that is not zero."""
    return int(lowest(word))


@compiled()
def set_bits(matrix: Bools, rows: Ints, places: Ints, columns: Words) -> None:
    """Set the bits of all ones; row ``rows[j]`` has the place ``places[j]``."""
    for j in range(len(rows)):
        w, bit = places[j] // 64, ONE << np.uint64(places[j] % 64)
        for i in range(matrix.shape[1]):
            if matrix[rows[j], i]:
                columns[i, w] |= bit


@compiled()
def set_stored_bits(indptr: Ints, indices: Ints, rows: Ints, places: Ints, columns: Words) -> None:
    """Do the same for CSR data, all of whose stored entries are ones."""
    for j in range(len(rows)):
        w, bit = places[j] // 64, ONE << np.uint64(places[j] % 64)
        for k in range(indptr[rows[j]], indptr[rows[j] + 1]):
            columns[indices[k], w] |= bit


@compiled()
def count_in_rows(columns: Words, items: Bools, weights: Ints, counts: Ints) -> None:
    """Count how many of these items every row has; ``counts``, (64 W,), is added to."""
    for i in range(len(items)):
        if items[i]:
            for w in range(columns.shape[1]):
                left = columns[i, w]
                while left != ZERO:
                    counts[64 * w + lowest(left)] += weights[i]
                    left &= left - ONE


@compiled()
def sum_in_rows(columns: Words, items: Bools, worth: Floats, sums: Floats) -> None:
    """Add up the worth of those of these items that every row has; ``sums``, (64 W,), is added to."""
    for i in range(len(items)):
        if items[i]:
            for w in range(columns.shape[1]):
                left = columns[i, w]
                while left != ZERO:
                    sums[64 * w + lowest(left)] += worth[i]
                    left &= left - ONE


@compiled()
def count_noise(columns: Words, usage: Words, row_weights: Ints, patterns: Bools, noise: Ints) -> None:
    """Count the cells of one class in which data and model differ, per item; usage is (r, W), patterns (n, r)."""
    n, rank = patterns.shape
    covered = np.empty(columns.shape[1], dtype=np.uint64)
    for i in range(n):
        covered[:] = ZERO
        for s in range(rank):
            if patterns[i, s]:
                for w in range(len(covered)):
                    covered[w] |= usage[s, w]
        noise[i] = 0
        for w in range(len(covered)):
            noise[i] += row_weights[w] * popcount(covered[w] ^ columns[i, w])
