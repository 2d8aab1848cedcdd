"""CSalt and Primp with algorithm="likelihood"."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from saltmine import CSalt, Primp, load


class Table(NamedTuple):
    X: NDArray[np.bool_]
    y: NDArray[np.int64]
    sets: set[tuple[int, ...]]


@pytest.fixture(scope="module")
def planted():
    """Three sets of items, one of them in one class only, and one to which class 1 adds an item."""
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    X = np.zeros((200, 60), dtype=bool)
    sets = [(0, 1, 2, 3, 4), (10, 11, 12, 13), (20, 21, 22, 23, 24, 25)]
    use = rng.random((200, 3)) < [0.3, 0.25, 0.3]
    use[y == 0, 2] = False
    for s, items in enumerate(sets):
        X[np.ix_(use[:, s], items)] = True
    X[use[:, 0] & (y == 1), 30] = True
    return Table(X ^ (rng.random(X.shape) < 0.02), y, {(*sets[0], 30), *sets[1:]})


@pytest.fixture(scope="module")
def model(planted):
    return CSalt(algorithm="likelihood").fit(planted.X, planted.y)


def test_planted_patterns_are_found(planted, model):
    found = {tuple(np.flatnonzero(items)) for items in model.components_ | model.alterations_.any(axis=0)}
    assert found == planted.sets
    assert [np.flatnonzero(items).tolist() for items in model.alterations_.any(axis=1)] == [[], [30]]
    assert (model.pattern_evidence_ >= np.log(100)).all()


def test_four_columns_of_ten_are_found():
    rng = np.random.default_rng(5)
    X = rng.random((1000, 10)) < 0.05
    X[rng.random(1000) < 0.1, :4] = True
    fitted = CSalt(algorithm="likelihood").fit(X, rng.integers(0, 2, 1000))
    assert [np.flatnonzero(items).tolist() for items in fitted.components_] == [[0, 1, 2, 3]]


def test_lines_of_crosses_are_found_though_their_items_do_not_go_together():
    rng = np.random.default_rng(0)
    X = rng.random((600, 9)) < 0.5
    y = X[:, [0, 1, 2]].all(axis=1) | X[:, [3, 4, 5]].all(axis=1)
    fitted = CSalt(algorithm="likelihood").fit(X, y)
    assert {tuple(np.flatnonzero(items)) for items in fitted.components_} == {(0, 1, 2), (3, 4, 5)}
    # They say what class a row has, and take nothing from the likelihood of all rows, which sums to one.
    every = np.array(list(product([False, True], repeat=9)))
    lines = every[:, [0, 1, 2]].all(axis=1) | every[:, [3, 4, 5]].all(axis=1)
    assert (fitted.predict(every) == lines).mean() > 0.99
    assert np.exp(fitted.score_samples(every)).sum() == pytest.approx(1, abs=0.01)


def test_items_that_go_together_do_not_make_probabilities_extreme():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    hidden = rng.random((600, 3)) < np.where(y[:, None] == 1, 0.7, 0.3)
    # Pairs of items that are each other's opposite: no pattern, but twice the same.
    X = np.column_stack([hidden, ~hidden])
    fitted = CSalt(algorithm="likelihood").fit(X[:300], y[:300])
    sums = hidden[300:].sum(axis=1)
    expected = 1 / (1 + (3 / 7) ** (2.0 * sums - 3))
    assert fitted.temperature_ > 1.5
    assert np.abs(fitted.predict_proba(X[300:])[:, 1] - expected).max() < 0.15


def test_a_frequent_class_stays_frequent():
    rng = np.random.default_rng(1)
    y = rng.random(500) < 0.1
    same = rng.random(500) < np.where(y, 0.6, 0.4)
    X = np.column_stack([same] * 4 + [~same] * 4)
    fitted = CSalt(algorithm="likelihood").fit(X, y)
    assert fitted.predict_proba(X)[:, 1].mean() == pytest.approx(0.1, abs=0.04)
    assert not fitted.predict(X).any()


def test_the_seed_and_the_order_make_no_difference(planted, model):
    again = CSalt(algorithm="likelihood", random_state=7).fit(planted.X, planted.y)
    assert np.array_equal(again.components_, model.components_)
    rows, columns = np.random.default_rng(0).permutation(200), np.random.default_rng(1).permutation(60)
    moved = CSalt(algorithm="likelihood").fit(planted.X[rows][:, columns], planted.y[rows])
    assert np.array_equal(moved.components_, model.components_[:, columns])
    assert np.array_equal(moved.usage_, model.usage_[rows])


def test_likelihood_predicts_and_is_saved(planted, model, tmp_path):
    nats = model.score_samples(planted.X, planted.y)
    assert nats == pytest.approx(-model.code_lengths(planted.X)[np.arange(200), planted.y])
    prior = np.log(model.class_counts_ / 200)
    expected = np.logaddexp.reduce(prior - model.code_lengths(planted.X), axis=1)
    assert model.score_samples(planted.X) == pytest.approx(expected)
    assert model.predict_proba(planted.X).sum(axis=1) == pytest.approx(1)
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    assert np.array_equal(again.predict_proba(planted.X), model.predict_proba(planted.X))
    assert np.array_equal(again.transform(planted.X), model.transform(planted.X))
    assert np.array_equal(again.predict(planted.X), model.predict(planted.X))
    assert np.array_equal(model.predict(planted.X), model.predict_proba(planted.X).argmax(axis=1))


def test_features_are_probabilities_unless_use_is_asked_for(planted, model):
    used = CSalt(algorithm="likelihood", features="usage").fit(planted.X, planted.y)
    columns, usage = model.transform(planted.X, planted.y), used.transform(planted.X, planted.y)
    assert columns.shape == (200, model.n_components_ + 2)
    assert len(model.get_feature_names_out()) == columns.shape[1]
    assert np.array_equal(columns[:, : model.n_components_] > 0.5, usage)
    assert np.array_equal(usage, used.usage_)
    assert np.exp(columns[:, model.n_components_ :]) == pytest.approx(model.predict_proba(planted.X))
    assert np.array_equal(model.inverse_transform(columns), used.inverse_transform(usage))
    frame = model.set_output(transform="pandas").transform(planted.X)
    model.set_output(transform="default")
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()


def test_a_model_without_patterns_still_serves_a_classifier():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.random((200, 6)) < np.where(y[:, None] == 1, 0.6, 0.3)
    pipeline = make_pipeline(CSalt(algorithm="likelihood"), LogisticRegression())
    pipeline.fit(X, y)
    assert pipeline[0].n_components_ == 0
    assert pipeline.score(X, y) > 0.65


@pytest.mark.parametrize(("name", "value"), [("checkpoint", "state")])
def test_what_it_does_not_know_is_refused(planted, name, value):
    with pytest.raises(ValueError, match=f"algorithm='likelihood' does not know {name} yet; leave it out"):
        CSalt(algorithm="likelihood", **{name: value}).fit(planted.X, planted.y)


def test_weights_are_copies_of_rows(planted, model):
    weights = np.arange(200) % 3
    weighted = CSalt(algorithm="likelihood").fit(planted.X, planted.y, sample_weight=weights)
    copied = CSalt(algorithm="likelihood").fit(np.repeat(planted.X, weights, axis=0), np.repeat(planted.y, weights))
    assert np.array_equal(weighted.components_, copied.components_)
    assert weighted.usage_.shape == (200, weighted.n_components_)


def test_groups_are_counted(planted):
    grouped = CSalt(algorithm="likelihood").fit(planted.X, planted.y, groups=np.arange(200) // 2)
    assert grouped.n_components_ == 3
    assert not grouped.of_few_groups_.any()


def test_without_classes(planted):
    fitted = Primp(algorithm="likelihood").fit(planted.X)
    assert fitted.n_components_ == 3
    assert fitted.score_samples(planted.X).shape == (200,)
    assert fitted.transform(planted.X).shape == (200, fitted.n_components_)


def test_labels_that_say_nothing_make_no_claim():
    rng = np.random.default_rng(3)
    claims = 0
    for _ in range(10):
        X = rng.random((100, 40)) < rng.beta(0.6, 1, 40)
        X[rng.random(100) < 0.3, :5] = True
        fitted = CSalt(algorithm="likelihood").fit(X, rng.integers(0, 2, 100))
        claims += int((fitted.use_q_values_ <= 0.01).sum()) + int(fitted.alterations_.any())
    assert claims == 0
