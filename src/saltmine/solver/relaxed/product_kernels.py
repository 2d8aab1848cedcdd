"""Compiled work on sparse data, held as CSR without values: every entry is a one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.compiled import compiled
from saltmine.solver.relaxed.lanes import LANES, Lanes, nothing, plus, put

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@compiled()
def add_rows(starts: Integers, ends: Integers, indices: Integers, factor: Floats, out: Floats) -> None:
    """Multiply rows of the data with ``factor``: ``out[i]`` is the sum of ``factor[j]`` over the ones j of row i.

    The ones of row i are ``indices[starts[i] : ends[i]]``.
    """
    width = factor.shape[1]
    if width < LANES:
        _add_narrow_rows(starts, ends, indices, factor, out)
        return
    edge = width - LANES
    for i in range(len(starts)):
        # Four sums at a time keep the processor busy. At the right edge they overlap: the same numbers, twice.
        for s in range(0, width, 4 * LANES):
            s1, s2, s3, s4 = min(s, edge), min(s + LANES, edge), min(s + 2 * LANES, edge), min(s + 3 * LANES, edge)
            zero: Lanes = nothing(factor)
            sum1 = sum2 = sum3 = sum4 = zero
            for k in range(starts[i], ends[i]):
                j = indices[k]
                sum1, sum2 = plus(sum1, factor, j, s1), plus(sum2, factor, j, s2)
                sum3, sum4 = plus(sum3, factor, j, s3), plus(sum4, factor, j, s4)
            put(sum1, out, i, s1)
            put(sum2, out, i, s2)
            put(sum3, out, i, s3)
            put(sum4, out, i, s4)


@compiled()
def _add_narrow_rows(starts: Integers, ends: Integers, indices: Integers, factor: Floats, out: Floats) -> None:
    for i in range(len(starts)):
        for s in range(factor.shape[1]):
            total = factor.dtype.type(0)
            for k in range(starts[i], ends[i]):
                total += factor[indices[k], s]
            out[i, s] = total


@compiled()
def add_rows_by_strips(places: Integers, indices: Integers, factor: Floats, begin: int, end: int, out: Floats) -> None:
    """Multiply rows strip by strip of the items, so that a strip of ``factor`` stays in the cache for all of them.

    The ones of row i in strip b are ``indices[places[b, i] : places[b + 1, i]]``.
    """
    out[begin:end] = 0
    part = np.empty((end - begin, factor.shape[1]), dtype=factor.dtype)
    for b in range(len(places) - 1):
        add_rows(places[b, begin:end], places[b + 1, begin:end], indices, factor, part)
        for i in range(begin, end):
            for s in range(factor.shape[1]):
                out[i, s] += part[i - begin, s]


@compiled()
def find_places(starts: Integers, indices: Integers, width: int, places: Integers) -> None:
    """Find where every strip of ``width`` items begins in rows whose items are sorted, and where the last one ends."""
    for i in range(places.shape[1]):
        k = starts[i]
        for b in range(len(places) - 1):
            while k < starts[i + 1] and indices[k] < b * width:
                k += 1
            places[b, i] = k
        places[-1, i] = starts[i + 1]


@compiled()
def count_ones(
    starts: Integers, indices: Integers, row_weights: Integers, begin: int, end: int, ones: Integers, weighted: Integers
) -> None:
    """Count the ones of every item in rows of one class, each once (``ones``) and by the weights of the rows."""
    for j in range(begin, end):
        for k in range(starts[j], starts[j + 1]):
            ones[indices[k]] += 1
            weighted[indices[k]] += row_weights[j]


@compiled()
def transpose(starts: Integers, indices: Integers, begin: int, end: int, places: Integers, rows: Integers) -> None:
    """Write the rows of every item in one class to ``rows``.

    ``places`` is where the rows of an item begin, and is moved to where they end.
    """
    for j in range(begin, end):
        for k in range(starts[j], starts[j + 1]):
            i = indices[k]
            rows[places[i]] = j
            places[i] += 1
