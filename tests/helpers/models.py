"""Assertions about fitted models."""

from __future__ import annotations

import numpy as np

RESULTS = ("components_", "alterations_", "usage_", "history_", "usage_counts_", "noise_counts_")


def assert_same_model(one, two):
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.description_length_ == two.description_length_
