"""Compiled loops of `saltmine.datasets.swap`."""

from __future__ import annotations

import numpy as np

from saltmine.arrays import Bools, Ints
from saltmine.compiled import compiled


@compiled()
def trade_rows(starts: Ints, items: Ints, n_items: int, rounds: int, seed: int) -> None:
    """Let all rows trade with random partners, in place; row i has the items from starts[i] to starts[i + 1]."""
    np.random.seed(seed)  # noqa: NPY002  # the state of compiled code, not that of numpy
    order = np.arange(len(starts) - 1)
    in_first, in_both = np.zeros(n_items, dtype=np.bool_), np.zeros(n_items, dtype=np.bool_)
    pool = np.empty(n_items, dtype=np.int64)
    for _ in range(rounds):
        np.random.shuffle(order)  # noqa: NPY002  # as above
        for k in range(0, len(order) - 1, 2):
            i, j = order[k], order[k + 1]
            _trade(items[starts[i] : starts[i + 1]], items[starts[j] : starts[j + 1]], in_first, in_both, pool)


@compiled()
def _trade(first: Ints, second: Ints, in_first: Bools, in_both: Bools, pool: Ints) -> None:
    """Deal out anew what one of two rows has and the other does not; the marks are all unset before and after."""
    for item in first:
        in_first[item] = True
    size = 0
    for item in second:
        if in_first[item]:
            in_both[item] = True
        else:
            pool[size] = item
            size += 1
    for item in first:
        in_first[item] = False
        if not in_both[item]:
            pool[size] = item
            size += 1
    taken = 0
    for row in (first, second):
        for k in range(len(row)):
            if not in_both[row[k]]:
                # The next card of a pool that is shuffled as it is dealt.
                other = taken + np.random.randint(size - taken)  # noqa: NPY002  # as above
                pool[taken], pool[other] = pool[other], pool[taken]
                row[k] = pool[taken]
                taken += 1
    # first and second still have what is in both: it was never moved.
    for item in first:
        in_both[item] = False
