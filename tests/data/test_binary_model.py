"""Binary models: what the definition of alterations allows, and which parts describe no data."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, drop_trivial, repair_alterations
from saltmine.data.folding import Weights

BLOCKS = [slice(0, 3), slice(3, 8)]


def random_model(seed, m=8, n=6, c=2, r=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, r)) < 0.3
    return BinaryModel(X, repair_alterations(X, rng.random((c, n, r)) < 0.4), rng.random((m, r)) < 0.3)


def test_a_model_without_patterns():
    model = BinaryModel.empty(3, 5, 2)
    assert (model.X.shape, model.V.shape, model.Y.shape, model.rank) == ((5, 0), (2, 5, 0), (3, 0), 0)
    assert model.X.dtype == model.V.dtype == model.Y.dtype == bool


def test_patterns_are_kept_in_the_order_that_is_asked_for():
    model = random_model(0)
    kept = model.keep(np.array([3, 1]))
    assert kept.rank == 2
    np.testing.assert_array_equal(kept.X, model.X[:, [3, 1]])
    np.testing.assert_array_equal(kept.V, model.V[:, :, [3, 1]])
    np.testing.assert_array_equal(kept.Y, model.Y[:, [3, 1]])
    by_mask = model.keep(np.array([False, True, False, True]))
    np.testing.assert_array_equal(by_mask.Y, model.Y[:, [1, 3]])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_alterations_are_of_items_that_neither_all_share_nor_all_add(seed):
    rng = np.random.default_rng(seed)
    X, V = rng.random((6, 3)) < 0.4, rng.random((3, 6, 3)) < 0.6
    repaired = repair_alterations(X, V)
    assert not (repaired & X).any()
    assert not repaired.all(axis=0).any()
    allowed = ~X & ~V.all(axis=0)
    np.testing.assert_array_equal(repaired, V & allowed)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_what_describes_no_data_is_cleared_and_the_rest_stays(seed):
    model = random_model(seed)
    cleared = drop_idle_parts(model, BLOCKS)
    np.testing.assert_array_equal(cleared.X, model.X)
    for a, rows in enumerate(BLOCKS):
        for s in range(model.rank):
            uses = model.Y[rows, s].any()
            expected = model.V[a, :, s] if uses else np.zeros(6, dtype=bool)
            np.testing.assert_array_equal(cleared.V[a, :, s], expected)
            has_items = (model.X[:, s] | expected).any()
            np.testing.assert_array_equal(cleared.Y[rows, s], model.Y[rows, s] & has_items)


def test_patterns_of_one_item_or_one_row_of_the_input_are_removed():
    X = np.zeros((3, 4), dtype=bool)
    X[:2, 0] = X[:2, 1] = X[0, 2] = X[2, 3] = True
    V = np.zeros((2, 3, 4), dtype=bool)
    V[1, 1, 2] = True
    Y = np.zeros((8, 4), dtype=bool)
    Y[:2, 0] = Y[0, 1] = Y[4:6, 2] = Y[:2, 3] = True
    model = BinaryModel(X, V, Y)
    ones = Weights.ones((8, 3))
    # Pattern 1 has one row, pattern 3 one item; pattern 2 has a second item in one class.
    np.testing.assert_array_equal(drop_trivial(model, ones).Y, Y[:, [0, 2]])
    # Item 2 and row 0 stand for two each.
    folded = Weights(np.array([1, 1, 2]), np.array([2, 1, 1, 1, 1, 1, 1, 1]))
    np.testing.assert_array_equal(drop_trivial(model, folded).Y, Y)
