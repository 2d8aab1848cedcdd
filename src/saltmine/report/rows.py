"""The rows in the page: which of them use a pattern, all of them as lines of a map and the first ones by name."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices, Ints

# More lines of usage than a screen has pixels; beyond it, a line stands for several rows.
MAX_LINES = 2000
MAX_ROW_NAME = 120
# Rows named on the card of a pattern: the first of these limits with which all cards name at most MAX_NAMED rows.
ROW_LIMITS = (200, 100, 50, 20, 10)
MAX_NAMED = 20_000


def named_rows(usage: Bools, numbers: list[int]) -> list[Indices]:
    """Return for every pattern the first rows that use it, fewer of them where there are many patterns.

    Examples
    --------
    >>> import numpy as np
    >>> [rows.tolist() for rows in named_rows(np.array([[True, False], [True, True]]), [0, 1])]
    [[0, 1], [1]]
    """
    using = [np.flatnonzero(usage[:, number]) for number in numbers]
    for limit in ROW_LIMITS:
        if sum(min(len(rows), limit) for rows in using) <= MAX_NAMED:
            break
    return [rows[:limit] for rows in using]


def usage_lines(
    usage: Bools,
    row_classes: Indices,
    usage_counts: Ints,
    row_names: NDArray[Any] | None,
    numbers: Indices | None = None,
    owners: Indices | None = None,
) -> dict[str, Any]:
    """Return the usage as lines of shares from 0 to 255, class by class.

    ``numbers`` are the patterns to show, by default all, and ``owners`` the classes that they belong to, -1 for none.
    ``patterns`` is their order and ``rows`` that of the rows (None where a line stands for several); ``cells`` holds
    one byte per line and pattern, line after line, in base64.
    """
    sizes = np.bincount(row_classes, minlength=len(usage_counts))
    numbers = np.arange(usage.shape[1]) if numbers is None else numbers
    owners = np.full(len(numbers), -1) if owners is None else owners
    patterns = numbers[pattern_order(usage_counts[:, numbers], owners)]
    ordered = usage[:, patterns]
    # Rows by class, then like words in a dictionary whose first letter is the first pattern.
    rows = np.lexsort([*np.packbits(~ordered, axis=1).T[::-1], row_classes])
    per_line = max(1, -(-len(rows) // MAX_LINES))
    begins = np.cumsum(sizes) - sizes
    # Lines end with their class.
    starts = np.concatenate([np.arange(*ends, per_line) for ends in zip(begins, begins + sizes, strict=True)])
    counts = np.diff([*starts, len(rows)])[:, None]
    shares = np.add.reduceat(ordered[rows].astype(np.float32), starts, axis=0) / counts
    one_each = per_line == 1
    return {
        "patterns": patterns.tolist(),
        "lines": (-(-sizes // per_line)).tolist(),
        "rows_per_line": per_line,
        "rows": rows.tolist() if one_each else None,
        "names": [str(row_names[k])[:MAX_ROW_NAME] for k in rows] if one_each and row_names is not None else None,
        "cells": as_base64(np.round(255 * shares).astype(np.uint8)),
    }


def pattern_order(usage_counts: Ints, owners: Indices) -> Indices:
    """Return the order of the patterns: shared ones (owner -1) first, then class by class, frequent ones first.

    Examples
    --------
    >>> import numpy as np
    >>> pattern_order(np.array([[0, 3, 5, 4], [2, 0, 4, 6]]), np.array([1, 0, -1, -1])).tolist()
    [3, 2, 1, 0]
    """
    return np.lexsort([-usage_counts.sum(axis=0), owners])


def as_base64(values: NDArray[np.uint8]) -> str:
    """Return bytes as text."""
    return base64.b64encode(values.tobytes()).decode()
