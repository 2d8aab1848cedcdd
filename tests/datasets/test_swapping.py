import threading
from _thread import interrupt_main

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from saltmine.datasets import make_planted, swap


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    X=arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12)),
    seed=st.integers(0, 1000),
    trades=st.integers(0, 20),
)
def test_row_and_column_sums_stay(X, seed, trades):
    swapped = swap(X, seed, trades)
    assert swapped.dtype == bool
    np.testing.assert_array_equal(swapped.sum(axis=0), X.sum(axis=0))
    np.testing.assert_array_equal(swapped.sum(axis=1), X.sum(axis=1))


@settings(max_examples=25, deadline=None)
@given(X=arrays(np.uint8, (9, 7), elements=st.integers(0, 1)), seed=st.integers(0, 1000))
def test_dense_and_sparse_data_give_the_same(X, seed):
    expected = swap(X, seed)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        found = swap(kind(X), seed)
        assert type(found) is kind
        assert found.dtype == X.dtype
        np.testing.assert_array_equal(found.toarray(), expected)


def test_the_order_in_which_ones_are_stored_does_not_matter():
    rows = sp.csr_array((np.ones(3), [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    np.testing.assert_array_equal(swap(rows, 1).toarray(), swap(rows.toarray(), 1))


def test_the_data_itself_is_not_changed():
    X = make_planted(60, [40, 40], 3, random_state=0).X
    stored = sp.csr_array(X)
    before = stored.indices.copy()
    swap(stored, 0)
    np.testing.assert_array_equal(stored.indices, before)


def test_the_seed_decides():
    X = make_planted(60, [40, 40], 3, random_state=0).X
    np.testing.assert_array_equal(swap(X, 7), swap(X, 7))
    assert (swap(X, 7) != swap(X, 8)).any()


@pytest.mark.parametrize("trades", [1, 5, 50])
def test_cells_change_and_the_patterns_are_lost(trades):
    planted = make_planted(200, [150, 150], 2, noise=0.02, random_state=1)
    swapped = swap(planted.X, 2, trades)
    assert (swapped != planted.X).mean() > 0.1 * planted.X.mean()
    if trades == 50:
        pattern = planted.components[0]
        together = planted.X[:, pattern].all(axis=1).sum()
        assert swapped[:, pattern].all(axis=1).sum() < 0.2 * together


@pytest.mark.slow
def test_all_matrices_with_these_sums_are_equally_likely():
    # A permutation matrix of three rows: six matrices have its sums.
    found = [tuple(swap(np.eye(3, dtype=int), seed, 10).argmax(axis=1)) for seed in range(1200)]
    counts = np.array([found.count(one) for one in set(found)])
    assert len(counts) == 6
    assert ((counts - 200) ** 2 / 200).sum() < 25


def test_without_trades_nothing_changes():
    X = np.tri(5, dtype=int)
    np.testing.assert_array_equal(swap(X, 0, trades=0), X)
    # No other matrix has the sums of a triangle.
    np.testing.assert_array_equal(swap(X, 0), X)


def test_a_user_can_interrupt(interruptible):
    interrupt = threading.Timer(0.2, interrupt_main)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        swap(np.eye(100), 0, trades=10**9)
    interrupt.join()


def test_tables_of_pandas_become_arrays():
    X = pd.DataFrame(np.eye(4, dtype=int))
    np.testing.assert_array_equal(swap(X, 3), swap(X.to_numpy(), 3))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 2], [1, 0]], "this has the value 2; make it 0/1 first"),
        (np.array([[0.5, 1.0]]), "this has the value 0.5"),
        (sp.csr_array([[0, -1], [1, 0]]), "this has the value -1"),
        ([[np.nan, 1]], "this has the value nan"),
        ([0, 1], r"a table of rows and columns, not an array of shape \(2,\)"),
        ([["a", "b"]], "not values of type"),
    ],
)
def test_other_data_is_refused_with_a_sentence(X, message):
    with pytest.raises(ValueError, match=message):
        swap(X)


def test_trades_are_counted():
    with pytest.raises(ValueError, match="trades must be a whole number"):
        swap(np.eye(2), trades=-1)
