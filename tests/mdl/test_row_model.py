"""The likelihood of rows as Python has it: sets that classes have differently, and rows that are left out."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from saltmine.data.binary_model import BinaryModel
from saltmine.mdl.row_model import RowModel, first_set, left_out_nats

NONE = np.zeros(0, dtype=bool)


def no_patterns(m, n, c=2):
    return BinaryModel(np.zeros((n, 0), dtype=bool), np.zeros((c, n, 0), dtype=bool), np.zeros((m, 0), dtype=bool))


def of_sets(X, sets, c=2):
    model = BinaryModel(sets.T, np.zeros((c, X.shape[1], len(sets)), dtype=bool), sets.sum(axis=1) == X @ sets.T)
    return model, np.zeros(len(sets), dtype=bool)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = (rng.random((600, 5)) < 0.5).astype(np.int64)
    return X, (X[:, 0] == X[:, 1]).astype(np.int64)


@pytest.mark.parametrize("sets", [[[1, 1, 0, 0, 0]], [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 1]]])
def test_rows_with_sets_still_sum_to_one_and_have_the_share_of_the_class(table, sets):
    X, y = table
    sets = np.array(sets, dtype=bool)
    model, within = of_sets(X, sets)
    estimated = RowModel.estimate(sp.csr_array(X), y, model, within)
    every = np.array(list(product([0, 1], repeat=5)))
    shares = np.exp(estimated.nats(sp.csr_array(every), sets, np.zeros((2, *sets.shape), dtype=bool)))
    assert_allclose(shares.sum(axis=0), 1, atol=0.02)
    first, of_rows = first_set(every, sets), first_set(X, sets)
    for a, k in product(range(2), range(len(sets) + 1)):
        assert shares[first == k, a].sum() == pytest.approx((of_rows[y == a] == k).mean(), abs=0.05)


def test_sets_that_single_items_explain_change_nothing():
    rng = np.random.default_rng(1)
    y = np.arange(1000) % 2
    X = (rng.random((1000, 4)) < np.where(y[:, None] == 1, 0.7, 0.2)).astype(np.int64)
    model, within = of_sets(X, np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool))
    estimated = RowModel.estimate(sp.csr_array(X), y, model, within)
    assert np.abs(estimated.set_nats).max() < 0.15
    assert np.abs(estimated.no_set_nats).max() < 0.15


def test_rows_are_left_out_once_by_models_of_the_others(table):
    X, y = table
    rows, groups = sp.csr_array(X), np.arange(600) // 3
    left_out, nats = left_out_nats(rows, y, no_patterns(600, 5), NONE, np.arange(600), np.arange(600))
    assert_array_equal(np.sort(left_out), np.arange(600))
    part = left_out[:120]
    others = np.setdiff1d(np.arange(600), part)
    known = RowModel.estimate(rows[others], y[others], no_patterns(480, 5), NONE)
    assert_allclose(nats[:120], known.nats(rows[part], np.zeros((0, 5), dtype=bool), np.zeros((2, 0, 5), dtype=bool)))
    # Rows of one group are next to each other: all of a part come before those of the next.
    left_out, _ = left_out_nats(rows, y, no_patterns(600, 5), NONE, np.arange(600), groups)
    assert_array_equal(np.sort(left_out), np.arange(600))
    assert [len(set(groups[left_out[k : k + 120]])) for k in range(0, 600, 120)] == [40] * 5
