"""What a fitted model does with rows: features, their names, probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from saltmine import CSalt, Primp, load
from saltmine.datasets import make_planted


@pytest.fixture(scope="module")
def planted():
    return make_planted(120, [250, 250], 5, noise=0.03, random_state=3)


@pytest.fixture(scope="module")
def model(planted):
    model = CSalt(random_state=0, features="alterations").fit(planted.X, planted.y)
    assert model.alterations_.any()
    return model


def test_columns_say_whose_pattern_a_row_has(planted, model):
    features = model.transform(planted.X)
    owners, patterns = np.nonzero(model.alterations_.any(axis=2))
    assert features.shape == (500, model.n_components_ + len(patterns))
    usage = CSalt(random_state=0).fit(planted.X, planted.y).transform(planted.X)
    np.testing.assert_array_equal(features[:, : model.n_components_], usage)
    order = np.lexsort([owners, patterns])
    for column, k in enumerate(order, model.n_components_):
        items = model.alterations_[owners[k], patterns[k]]
        np.testing.assert_array_equal(features[:, column], planted.X[:, items].mean(axis=1) > 0.5)


def test_names_are_distinct_and_tell_pattern_class_and_items(planted, model):
    names = model.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == model.transform(planted.X[:3]).shape[1]
    owners, patterns = np.nonzero(model.alterations_.any(axis=2))
    k = np.lexsort([owners, patterns])[0]
    first = names[model.n_components_]
    assert first.startswith(f"{patterns[k]}, {model.classes_[owners[k]]} adds: ")
    items = [int(item) for item in first.split(": ")[1].split(", ")]
    assert model.alterations_[owners[k], patterns[k], items].all()


def test_covered_cells_come_back(planted, model):
    usage = model.usage_
    cells = np.zeros_like(planted.X)
    for a, label in enumerate(model.classes_):
        of_class = planted.y == label
        for s in range(model.n_components_):
            cells[np.ix_(of_class & usage[:, s], np.flatnonzero(model.components_[s] | model.alterations_[a, s]))] = (
                True
            )
    plain = CSalt(random_state=0).fit(planted.X, planted.y)
    np.testing.assert_array_equal(plain.inverse_transform(plain.usage_, planted.y), cells)
    # Where no class is given, the columns of alterations speak for it.
    assert (model.inverse_transform(model.transform(planted.X)) == cells).mean() > 0.99
    assert (plain.inverse_transform(plain.usage_) <= cells).all()
    with pytest.raises(ValueError, match=r"takes what transform returns, \d+ columns, not data of shape \(500, 1\)"):
        model.inverse_transform(usage[:, :1])


def test_probabilities_agree_with_predictions(planted, model):
    probabilities, decisions = model.predict_proba(planted.X), model.decision_function(planted.X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(planted.X))
    np.testing.assert_allclose(decisions, np.log(probabilities[:, 1] / probabilities[:, 0]), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated(n_classes):
    """Labels that are wrong for one row in five cannot be known; held-out rows cost little more than that."""
    planted = make_planted(60, [300] * n_classes, 4, noise=0.05, random_state=1)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(planted.y)) < 0.2, rng.permutation(planted.y), planted.y)
    train = np.arange(len(labels)) % 2 == 0
    model = CSalt(random_state=0).fit(planted.X[train], labels[train])
    found = log_loss(labels[~train], model.predict_proba(planted.X[~train]), labels=model.classes_)
    naive = BernoulliNB().fit(planted.X[train], labels[train]).predict_proba(planted.X[~train])
    assert found < log_loss(labels[~train], naive, labels=model.classes_)
    assert found < np.log(n_classes)
    assert model.temperature_ > 1


@pytest.mark.slow
def test_pipelines_and_scores_of_scikit_learn(planted):
    model = CSalt(random_state=0, features="alterations")
    assert cross_val_score(model, planted.X, planted.y, scoring="roc_auc", cv=3).min() > 0.5
    on_top = make_pipeline(model, LogisticRegression())
    assert np.isfinite(cross_val_score(on_top, planted.X, planted.y, cv=3)).all()
    fitted = model.fit(sp.csr_array(planted.X), planted.y)
    assert roc_auc_score(planted.y, fitted.predict_proba(planted.X)[:, 1]) > 0.6


def test_probabilities_are_those_of_the_saved_model(planted, model, tmp_path):
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    np.testing.assert_array_equal(again.predict_proba(planted.X), model.predict_proba(planted.X))
    np.testing.assert_array_equal(again.transform(planted.X), model.transform(planted.X))


def test_methods_without_classes_have_no_probabilities(planted):
    found = Primp(random_state=0).fit(planted.X)
    assert not hasattr(found, "predict_proba")
    assert not hasattr(found, "decision_function")
    assert found.inverse_transform(found.usage_).shape == planted.X.shape


def test_an_unknown_kind_of_features_is_refused(planted):
    with pytest.raises(ValueError, match="features must be"):
        CSalt(features="items").fit(planted.X, planted.y)
