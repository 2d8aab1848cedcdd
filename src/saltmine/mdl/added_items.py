"""A test of all items that a class adds to a pattern, together, against the other classes that carry it.

It counts the items that are clear, and compares with what shuffled labels show. So it sees many items none of which is
clear by itself; and items that go together, which shuffling leaves as they are, make it no more sure than it may be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints


def can_shuffle(n_rows: int, n_items: int) -> bool:
    """Say whether labels are shuffled for so many rows and items; if not, only items matter that classes add.

    Examples
    --------
    >>> can_shuffle(256, 2048), can_shuffle(257, 1), can_shuffle(256, 2049)
    (True, False, False)
    """
    return bool(_core.can_shuffle(n_rows, n_items))


def test_added(
    cells: NDArray[np.uint8],
    classes: Indices,
    added: Bools,
    strata: Indices,
    weights: Ints,
    goal: float,
    n_items: int | None,
) -> Floats:
    """Return the logarithm of a p-value for what every class adds, (c,); 0 where it adds nothing.

    Parameters
    ----------
    cells : (rows, n) 0 or 1
        The rows that carry the pattern, and all items that a class might add.
    classes, strata : (rows,) int
        The classes of the rows; and groups of rows of about the same size, within which labels are shuffled.
    added : (c, n) bool
        The items that every class adds.
    weights : (n,) int
        Columns of the input behind every item.
    goal : float
        Labels are shuffled where that may decide whether a class comes down to this logarithm.
    n_items : int or None
        How many items a class might add, where ``cells`` has only some of them; labels are then not shuffled.
    """
    log_p: Floats = _core.test_added(
        np.ascontiguousarray(cells),
        classes,
        np.ascontiguousarray(added),
        strata,
        weights,
        goal,
        -1 if n_items is None else n_items,
    )
    return log_p


def hits_by_group(cells: NDArray[np.uint8], classes: Indices, strata: Indices, n_classes: int) -> Ints:
    """Count the rows of every group of rows and every class that have each item, (G, c, n)."""
    hits: Ints = _core.hits_by_group(np.ascontiguousarray(cells), classes, strata, n_classes)
    return hits.reshape(int(strata.max(initial=0)) + 1, n_classes, cells.shape[1])


def simes_log_p(hits: Ints, sizes: Ints, weights: Ints, added: Bools, n_items: int) -> Floats:
    """Return the logarithm of Simes' p-value for what every class adds, (c,), out of so many items.

    ``hits``, (G, c, n), and ``sizes``, (G, c), are counts of groups of rows of about the same size.
    """
    log_p: Floats = _core.simes_log_p(hits, sizes, weights, np.ascontiguousarray(added), n_items)
    return log_p


def test_items(hits: Ints, sizes: Ints, added: Bools) -> Floats:
    """Test for every class and item that it adds, (c, n), that more of its rows have it than of others of their size.

    ``hits`` is (G, c, n), ``sizes`` (G, c). Zero for other items, and for those that most rows of the class lack.
    """
    log_p = np.zeros(added.shape)
    _core.test_items(hits, sizes, np.ascontiguousarray(added), log_p)
    return log_p


def simes(log_p: Floats, weights: Ints, n_items: int) -> float:
    """Return the logarithm of one p-value for several items out of ``n_items``; it holds for items that go together.

    ``weights`` counts equal items.

    Examples
    --------
    >>> round(simes(np.array([-9.0, -9.0]), np.array([1, 1]), 10), 3)  # -9 + log 10 - log 2
    -7.391
    """
    return float(_core.simes(log_p, weights, n_items))
