"""Which row uses which pattern, ordered so that structure shows and small enough for a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

# More lines than a screen has pixels; beyond it, a line stands for several rows.
MOST_LINES = 2000
LONGEST_NAME = 120


def usage_lines(
    usage: NDArray[np.bool_], numbers: NDArray[np.intp], usage_counts: NDArray[np.int64], row_names: NDArray[Any] | None
) -> dict[str, Any]:
    """Return the usage as lines of shares from 0 to 255, class by class.

    ``patterns`` is the order of the patterns and ``rows`` that of the rows (None where a line stands for several);
    ``cells`` holds one byte per line and pattern, line after line, in base64.
    """
    patterns = pattern_order(usage_counts)
    ordered = usage[:, patterns]
    rows = _row_order(ordered, numbers)
    per_line = max(1, -(-len(usage) // MOST_LINES))
    sizes = np.bincount(numbers, minlength=len(usage_counts))
    begins = np.cumsum(sizes) - sizes
    # Lines end with their class.
    starts = np.concatenate(
        [np.arange(begin, begin + size, per_line) for begin, size in zip(begins, sizes, strict=True)]
    )
    counts = np.diff([*starts, len(usage)])
    shares = np.add.reduceat(ordered[rows].astype(np.float32), starts, axis=0) / counts[:, None]
    cells = np.round(255 * shares).astype(np.uint8)
    one_each = per_line == 1
    return {
        "patterns": patterns.tolist(),
        "lines": (-(-sizes // per_line)).tolist(),
        "rows_per_line": per_line,
        "rows": rows.tolist() if one_each else None,
        "names": [str(row_names[k])[:LONGEST_NAME] for k in rows] if one_each and row_names is not None else None,
        "cells": base64.b64encode(cells.tobytes()).decode(),
    }


def pattern_order(usage_counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Order patterns so that those with the same classes stand together: of many classes first, often used first.

    Examples
    --------
    >>> import numpy as np
    >>> pattern_order(np.array([[0, 3, 5, 1], [2, 0, 1, 9]])).tolist()
    [3, 2, 1, 0]
    """
    uses = usage_counts > 0
    by_class = [~row for row in uses[::-1]]
    return np.lexsort([-usage_counts.sum(axis=0), *by_class, -uses.sum(axis=0)])


def _row_order(usage: NDArray[np.bool_], numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order rows by class, then like words in a dictionary whose first letter is the first pattern."""
    keys = np.packbits(~usage, axis=1)
    return np.lexsort([*keys.T[::-1], numbers])
