"""Assertions about fitted models."""

from __future__ import annotations

import numpy as np


def two_blocks():
    """Return 40 rows of 8 items: one half of the rows has the first four, the other half the last four."""
    X = np.zeros((40, 8), dtype=bool)
    X[:20, :4], X[20:, 4:] = True, True
    return X


RESULTS = ("components_", "alterations_", "usage_", "history_", "usage_counts_", "noise_counts_")


def assert_same_model(one, two):
    assert one.n_components_ > 0, "models without patterns are the same whatever made them"
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.description_length_ == two.description_length_
