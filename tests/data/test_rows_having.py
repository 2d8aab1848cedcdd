"""Rows that have all or most of the items of a pattern."""

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.data.rows_having import count_rows_having


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_are_counted_as_one_by_one(form, monkeypatch):
    monkeypatch.setattr("saltmine.data.rows_having.PART_CELLS", 100)
    rng = np.random.default_rng(0)
    rows, patterns = rng.random((50, 12)) < 0.6, rng.random((4, 12)) < 0.4
    numbers = rng.integers(3, size=50)
    having_all, having_most = count_rows_having(form(rows), patterns, numbers, 3)
    for a in range(3):
        for s, items in enumerate(patterns):
            own = rows[numbers == a][:, items]
            assert having_all[a, s] == sum(row.all() for row in own)
            assert having_most[a, s] == sum(row.sum() > items.sum() / 2 for row in own)
    assert (having_all <= having_most).all()


def test_without_patterns_there_is_nothing_to_count():
    counts = count_rows_having(np.ones((3, 2), dtype=bool), np.zeros((0, 2), dtype=bool), np.zeros(3, dtype=int), 1)
    assert [found.shape for found in counts] == [(1, 0), (1, 0)]
