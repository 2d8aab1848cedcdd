"""The strongest candidate where no pattern passed: the two items that are together most clearly more than by chance."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Floats, Indices
from saltmine.data.folding import column_keys
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.class_tests import join_strata, log_p_value, size_strata

# Most frequent items of which pairs are made, and the pairs that are tested exactly.
MAX_ITEMS, MAX_PAIRS = 1000, 50


def strongest_pair(rows: BinaryMatrix) -> tuple[list[int], int, float] | None:
    """Return two columns, the rows that have both, and the chance that any pair is together as often; None without any.

    Chance knows how frequent items are among rows of about the same size. Of pairs that are equally clear the order of
    the rows decides.

    Examples
    --------
    >>> rows = np.tile(np.eye(4, dtype=bool), (6, 1))
    >>> rows[:8:2, :2] = True
    >>> pair = strongest_pair(rows)
    >>> pair[0], pair[1], pair[2] > 0.01
    ([0, 1], 4, True)
    """
    counts = np.asarray(rows.sum(axis=0)).ravel()
    # Ties are broken by what the items contain.
    keys = column_keys(rows)
    items = np.lexsort((keys[:, 1], keys[:, 0], -counts))[:MAX_ITEMS]
    items = items[counts[items] >= 2]
    cells = rows[:, items].astype(np.float32)
    together = np.asarray((cells.T @ cells).todense() if not isinstance(cells, np.ndarray) else cells.T @ cells)
    first, second = np.triu_indices(len(items), k=1)
    if together[first, second].max(initial=0) < 2:
        return None
    surplus = _surplus(together[first, second], counts[items][first], counts[items][second], rows.shape[0])
    surplus[together[first, second] < 2] = -np.inf
    best = np.argsort(-surplus, kind="stable")[:MAX_PAIRS]
    best = best[np.isfinite(surplus[best])]
    strata = _strata(rows)
    log_p = np.array([_log_p(rows, int(items[first[k]]), int(items[second[k]]), strata) for k in best])
    k = best[int(log_p.argmin())]
    chance = float(np.exp(min(log_p.min() + np.log(len(first)), 0.0)))
    return sorted([int(items[first[k]]), int(items[second[k]])]), int(together[first[k], second[k]]), chance


def _surplus(both: Floats, one: Floats, other: Floats, m: int) -> Floats:
    """Return how many standard deviations more rows have both items than chance explains, of Poisson's counts."""
    expected = one * other / m
    surplus: Floats = (both - expected) / np.sqrt(np.maximum(expected, 0.5))
    return surplus


def _strata(rows: BinaryMatrix) -> Indices:
    sizes = np.asarray(rows.sum(axis=1)).ravel().astype(np.int64)
    strata = size_strata(sizes, np.ones(len(sizes), dtype=np.int64))
    return np.asarray(join_strata(np.bincount(strata))[strata], dtype=np.intp)


def _log_p(rows: BinaryMatrix, one: int, other: int, strata: Indices) -> float:
    has = [np.asarray(rows[:, [item]].sum(axis=1)).ravel() > 0 for item in (one, other)]
    n_strata = int(strata.max()) + 1
    both, ones, others = (np.bincount(strata[rows], minlength=n_strata) for rows in (has[0] & has[1], *has))
    return float(log_p_value(both, ones, others, np.bincount(strata)))
