"""Weights of rows: how often each occurs."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import saltmine
from saltmine import CSalt, Primp
from saltmine.datasets import make_planted


@pytest.fixture(scope="module")
def weighted():
    """Return rows, labels and weights, some of them zero."""
    planted = make_planted(60, [60, 60], rank=3, noise=0.02, random_state=0)
    return planted.X.astype(int), planted.y, np.random.default_rng(0).integers(0, 4, size=120)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [CSalt(random_state=0), Primp(random_state=0), CSalt(random_state=0, fold=False)])
def test_a_weight_is_as_many_equal_rows(estimator, weighted):
    X, y, weights = weighted
    copies = np.repeat(np.arange(len(y)), weights)
    repeated = clone(estimator).fit(X[copies], y[copies])
    fitted = clone(estimator).fit(X, y, sample_weight=weights)
    pd.testing.assert_frame_equal(fitted.patterns(), repeated.patterns())
    np.testing.assert_array_equal(fitted.usage_[copies], repeated.usage_)
    np.testing.assert_array_equal(fitted.class_counts_, repeated.class_counts_)
    assert fitted.summary().headline == repeated.summary().headline
    assert fitted.summary().facts == repeated.summary().facts


def test_rows_that_do_not_occur_get_what_transform_gives(weighted):
    X, y, weights = weighted
    model = CSalt(random_state=0).fit(X, y, sample_weight=weights)
    absent = weights == 0
    assert model.usage_.shape[0] == len(y)
    np.testing.assert_array_equal(model.usage_[absent], model.transform(X[absent], y[absent]))
    np.testing.assert_array_equal(model.row_labels_, y)


def test_weights_are_saved(weighted, tmp_path):
    X, y, weights = weighted
    model = CSalt(random_state=0).fit(X, y, sample_weight=weights)
    model.save(tmp_path / "model.salt")
    again = saltmine.load(tmp_path / "model.salt")
    np.testing.assert_array_equal(again.row_weights_, weights)
    np.testing.assert_array_equal(again.class_counts_, model.class_counts_)
    assert again.summary().headline == model.summary().headline


@pytest.mark.slow
def test_weights_go_with_groups_and_stability(weighted):
    X, y, weights = weighted
    groups = np.repeat(np.arange(40), 3)
    model = CSalt(random_state=0).fit(X, y, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(model.groups_, groups.astype(str))
    copies = np.repeat(np.arange(len(y)), weights)
    repeated = CSalt(random_state=0).fit(X[copies], y[copies], groups=groups[copies])
    pd.testing.assert_frame_equal(model.patterns(), repeated.patterns())
    found = model.assess_stability(X, refits=2, random_state=0)
    expected = repeated.assess_stability(X[copies], refits=2, random_state=0)
    np.testing.assert_array_equal(found.patterns, expected.patterns)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0.5, 1, 1], "The weight of row 1 is 0.5; weights are whole numbers of at least 0, how often each row"),
        ([1, 1, -1, 1], "The weight of row 2 is -1"),
        ([1, 1, 1, float("nan")], "The weight of row 3 is nan"),
        ([1, 1], "sample_weight.shape == (2,), expected (4,): X has 4 rows; give every row one weight."),
        (["a"] * 4, "weights are whole numbers, how often each row occurs."),
        ([1, 1, 0, 0], "The weight of all rows of class 'b' is zero; leave the class out."),
        ([[1, 1, 1, 1]], "one per row, not 2 dimensions."),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        CSalt().fit([[0, 1], [1, 0], [1, 1], [0, 1]], ["a", "a", "b", "b"], sample_weight=weights)


def test_weights_of_data_that_is_read_lazily_are_refused(tmp_path):
    pytest.importorskip("dask")
    np.savez(tmp_path / "rows.npz", X=np.eye(4, dtype=np.uint8))
    with pytest.raises(ValueError, match="sample_weight is for data in memory"):
        CSalt().fit(str(tmp_path), [0, 0, 1, 1], sample_weight=np.ones(4))
