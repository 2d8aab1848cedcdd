"""What tests of the baselines share."""

from __future__ import annotations

import numpy as np


def check_progress(done):
    """Take the share of the work that is done, as a progress callback does."""
    assert 0 <= done <= 1


def non_overlapping(rng, n=120, sizes=(60, 60), shared=3, own=2, noise=0.0):
    """Plant patterns that share some rows but few items, ``shared`` in all classes and ``own`` in each."""
    rank = shared + own * len(sizes)
    items = np.zeros((rank, n), dtype=bool)
    for s, part in enumerate(np.array_split(rng.permutation(n), rank)):
        items[s, part] = True
    y = np.repeat(np.arange(len(sizes)), sizes)
    usage = rng.random((len(y), rank)) < 0.3
    for a in range(len(sizes)):
        others = np.ones(rank, dtype=bool)
        others[:shared] = False
        others[shared + own * a : shared + own * (a + 1)] = False
        usage[np.ix_(y == a, others)] = False
    X = (usage.astype(int) @ items) > 0
    return X ^ (rng.random(X.shape) < noise), y, items, usage


def same_sets(one, two):
    return {row.tobytes() for row in np.asarray(one, dtype=bool)} == {row.tobytes() for row in two}
