"""The public contract: what scripts of users may rely on."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from dask.base import tokenize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from saltmine import CSalt, Primp
from saltmine.cli.main import cli
from saltmine.datasets import make_planted
from saltmine.metrics import alteration_recall, class_rank, description_length, f_measure
from tests.helpers.models import assert_same_model


@pytest.mark.slow
@parametrize_with_checks([CSalt(binarize=0.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([Primp(binarize=0.0)])
def test_scikit_learn_checks_without_classes(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- what a fit gives


def test_attributes_have_the_shapes_of_the_contract(planted, fitted):
    m, n = planted.X.shape
    r = fitted.n_components_
    assert r > 0
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == n
    for name, shape in {"components_": (r, n), "alterations_": (2, r, n), "usage_": (m, r)}.items():
        assert getattr(fitted, name).shape == shape
        assert getattr(fitted, name).dtype == bool
    assert fitted.n_iter_ >= 1
    assert fitted.pattern_evidence_.shape == (r,)
    assert fitted.alteration_evidence_.shape == (2, r)
    assert len(fitted.history_) > 1
    np.testing.assert_array_equal(fitted.row_labels_, planted.y)


@pytest.mark.slow
def test_planted_structure_comes_back_and_the_rank_grows_until_it_is_not_exhausted():
    planted = make_planted(300, [200, 200], rank=6, noise=0.05, random_state=0)
    ranks = []
    model = CSalt(algorithm="paper", rank_step=3, random_state=0, callback=lambda now: ranks.append(now.rank))
    model.fit(planted.X, planted.y)
    assert f_measure(planted, model) > 0.95
    assert alteration_recall(planted, model) > 0.85
    assert np.abs(class_rank(model) - class_rank(planted)).max() <= 1
    assert sorted(set(ranks)) == list(range(3, max(ranks) + 1, 3))
    assert max(ranks) > 3
    assert max(ranks) - model.n_components_ > 1


def test_description_length_is_that_of_the_stored_model(planted, fitted):
    f = description_length(planted.X, planted.y, fitted.components_, fitted.alterations_, fitted.usage_)
    assert fitted.description_length_ == pytest.approx(f)
    none = np.zeros((0, 100)), np.zeros((2, 0, 100)), np.zeros((180, 0))
    assert fitted.null_description_length_ == pytest.approx(description_length(planted.X, planted.y, *none))
    assert fitted.description_length_ < fitted.null_description_length_


def test_the_model_satisfies_the_definition_of_alterations(fitted):
    assert not (fitted.components_ & fitted.alterations_).any()
    assert not fitted.alterations_.all(axis=0).any()


def test_counts_are_those_of_the_stored_model(planted, fitted):
    for a in range(2):
        rows = planted.y == a
        np.testing.assert_array_equal(fitted.usage_counts_[a], fitted.usage_[rows].sum(axis=0))
        cover = (fitted.usage_[rows].astype(int) @ (fitted.components_ | fitted.alterations_[a])) > 0
        np.testing.assert_array_equal(fitted.noise_counts_[a], (cover != planted.X[rows]).sum(axis=0))


def test_patterns_come_largest_first(fitted):
    items = (fitted.components_ | fitted.alterations_).sum(axis=2)
    area = (items * fitted.usage_counts_).sum(axis=0)
    assert (np.diff(area) <= 0).all()


# ---------------------------------------------------------------- what a fit takes

FORMS = {
    "bool": lambda X: X,
    "int": lambda X: X.astype(int),
    "uint8": lambda X: X.astype(np.uint8),
    "float32": lambda X: X.astype(np.float32),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.astype(int).tolist(),
    "fortran": lambda X: np.asfortranarray(X.astype(float)),
    "DataFrame": lambda X: pd.DataFrame(X),
    "sparse DataFrame": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X.astype(int))),
    # Every form once, and the most common ones as both kinds.
    **{
        name: lambda X, name=name: getattr(sp, name)(X.astype(float))
        for name in (
            *("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array"),
            *("lil_matrix", "dok_array", "bsr_matrix", "dia_array"),
        )
    },
}


QUICK = {"max_iter": 100, "max_rank": 5, "random_state": 0}


@pytest.fixture(scope="module")
def expected(planted):
    return CSalt(**QUICK).fit(planted.X, planted.y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_data_gives_the_same_model(planted, expected, form):
    found = CSalt(**QUICK).fit(FORMS[form](planted.X), planted.y)
    assert_same_model(found, expected)
    np.testing.assert_array_equal(found.predict(FORMS[form](planted.X)), expected.predict(planted.X))


@pytest.mark.parametrize("relabel", [lambda y: np.array(["tumour", "normal"])[y], lambda y: y == 0, lambda y: y - 7])
def test_labels_may_be_anything_that_sorts(planted, relabel):
    labels = relabel(planted.y)
    model = CSalt(random_state=0, max_iter=200, max_rank=5).fit(planted.X, labels)
    assert model.classes_.tolist() == sorted(set(labels.tolist()))
    np.testing.assert_array_equal(model.row_labels_, labels)
    assert set(model.predict(planted.X).tolist()) <= set(labels.tolist())


def test_rows_may_come_in_any_order_of_classes(planted):
    order = np.random.default_rng(0).permutation(len(planted.y))
    model = CSalt(random_state=0, max_iter=300, max_rank=5).fit(planted.X[order], planted.y[order])
    f = description_length(planted.X[order], planted.y[order], model.components_, model.alterations_, model.usage_)
    assert model.description_length_ == pytest.approx(f)


@pytest.mark.slow
def test_columns_without_ones_change_nothing(planted):
    quick = {"max_iter": 300, "random_state": 0}
    narrow = CSalt(**quick).fit(planted.X, planted.y)
    wide = CSalt(**quick).fit(np.hstack([np.zeros((180, 3), bool), planted.X]), planted.y)
    np.testing.assert_array_equal(wide.components_[:, 3:], narrow.components_)
    assert not wide.components_[:, :3].any()
    assert not wide.alterations_[:, :, :3].any()
    assert wide.description_length_ == narrow.description_length_
    rows = np.hstack([np.zeros((180, 3), bool), planted.X])
    np.testing.assert_allclose(wide.code_lengths(rows), narrow.code_lengths(planted.X), rtol=1e-12)


def test_rows_without_ones_use_nothing(planted):
    X = np.vstack([planted.X, np.zeros((4, 100), bool)])
    model = CSalt(random_state=0, max_iter=500).fit(X, [*planted.y, 0, 0, 1, 1])
    assert not model.usage_[-4:].any()
    assert not model.transform(X[-4:]).any()


@pytest.mark.slow
def test_a_single_class_has_no_alterations(planted):
    with pytest.warns(UserWarning, match="only one class"):
        model = CSalt(random_state=0).fit(planted.X, np.zeros(180))
    assert model.alterations_.shape[0] == 1
    assert not model.alterations_.any()
    assert model.n_components_ > 0
    same = Primp(random_state=0).fit(planted.X)
    np.testing.assert_array_equal(model.components_, same.components_)
    assert (model.predict(planted.X) == 0).all()


def test_a_single_class_is_fitted_with_the_sentence_of_the_command_line(planted, tmp_path):
    X = planted.X[:40, :20]
    with pytest.warns(UserWarning, match="only one class") as warned:
        CSalt(random_state=0).fit(X, ["tumour"] * 40)
    (warning,) = warned
    assert warning.filename == __file__
    text = str(warning.message)
    assert text.startswith("CSalt compares classes, but there is only one class, 'tumour', and nothing to compare it")
    assert text.endswith("or use Primp for data without classes.")
    path = tmp_path / "rows.csv"
    pd.DataFrame(X.astype(int)).assign(tissue="tumour").to_csv(path, index=False)
    result = CliRunner().invoke(cli, ["fit", str(path), "--target", "tissue", "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    sentence = text.split(" but ")[1].split(", or ")[0]
    assert sentence in " ".join(result.output.split())


def test_several_classes_and_methods_without_classes_give_no_warning(planted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Primp(random_state=0).fit(planted.X[:40, :20], ["tumour"] * 40)
        CSalt(random_state=0).fit(planted.X[:40, :20], ["tumour", "normal"] * 20)


def test_a_class_of_one_row(planted):
    y = planted.y.copy()
    y[0] = 2
    model = CSalt(random_state=0, max_iter=300).fit(planted.X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.usage_counts_[2].max() <= 1


@pytest.mark.parametrize("kind", [CSalt, Primp])
@pytest.mark.parametrize(
    "X",
    [np.zeros((6, 4)), sp.csr_array((6, 4)), np.ones((6, 4)), np.eye(6), np.ones((6, 1))],
    ids=lambda X: type(X).__name__,
)
def test_data_with_nothing_to_find(kind, X):
    model = kind(random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.usage_.shape == (6, model.n_components_)
    assert model.transform(X).shape == (6, model.n_components_)
    assert np.isfinite(model.description_length_)
    assert len(model.patterns()) == model.components_.sum() + model.alterations_.sum()


def test_data_without_a_single_one_has_no_patterns():
    model = CSalt().fit(np.zeros((6, 4)), [0, 0, 0, 1, 1, 1])
    assert (model.n_components_, model.n_iter_, model.description_length_) == (0, 0, 0.0)
    assert model.predict(np.eye(4)).tolist() == [0] * 4


# ---------------------------------------------------------------- new rows


def test_transform_finds_the_planted_usage_in_unseen_rows():
    planted = make_planted(100, [120, 120], rank=3, noise=0.02, random_state=8)
    half = np.arange(240) % 2 == 0
    model = CSalt(random_state=0).fit(planted.X[half], planted.y[half])
    usage = model.transform(planted.X[~half], planted.y[~half])
    truth = planted.usage[~half]
    # A pattern of the model stands for the planted one whose items it shares most.
    shared = (model.components_ | model.alterations_.any(axis=0)).astype(int) @ planted.components.T
    agreement = [(usage[:, s] == truth[:, shared[s].argmax()]).mean() for s in range(model.n_components_)]
    assert min(agreement) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("density", [0.1, 0.5, 0.8])
def test_transform_gives_the_rows_of_the_fit_the_patterns_that_they_use(density):
    """Sparse and dense data, with repeated rows and columns: both are folded in the search."""
    rng = np.random.default_rng(int(10 * density))
    usage, y = rng.random((240, 6)) < 0.3, np.repeat(["a", "b", "c"], 80)
    X = (usage @ (rng.random((6, 40)) < density)) ^ (rng.random((240, 40)) < 0.05)
    X = np.vstack([X, X[:60]])[:, [*range(40), *range(10)]]
    y = np.concatenate([y, y[:60]])
    model, shared = CSalt(random_state=2).fit(X, y), Primp(random_state=0).fit(X)
    assert model.n_components_ > (density < 0.8)
    # All but a few rows, and those are not described much worse.
    for found, again in ((model, model.transform(X, y)), (shared, shared.transform(X))):
        assert (again == found.usage_).all(axis=1).mean() > 0.9
        parts = X, y if found is model else np.zeros(len(y)), found.components_, found.alterations_
        length = description_length(*parts, found.usage_)
        assert length == pytest.approx(found.description_length_)
        assert length <= 1.02 * description_length(*parts, again)


def test_predict_knows_how_frequent_the_classes_are():
    """A row without ones says nothing, so it is of the most frequent class; or of the first if all are alike."""
    planted = make_planted(60, [40, 120], rank=4, noise=0.05, random_state=0)
    model = CSalt(random_state=0).fit(planted.X, planted.y)
    nothing = np.zeros((1, 60))
    assert model.code_lengths(nothing).tolist() == [[0.0, 0.0]]
    assert model.predict(nothing) == model.classes_[1]
    assert model.set_params(fit_prior=False).predict(nothing) == model.classes_[0]
    # What a row says weighs more.
    assert (model.set_params(fit_prior=True).predict(planted.X) == planted.y).mean() > 0.75
    with pytest.raises(ValueError, match="fit_prior must be True or False, not 'yes'"):
        CSalt(fit_prior="yes").fit(planted.X, planted.y)


def test_transform_without_labels_takes_the_predicted_ones(planted, fitted):
    usage = fitted.transform(planted.X)
    np.testing.assert_array_equal(usage, fitted.transform(planted.X, fitted.predict(planted.X)))
    assert usage.dtype == bool


def test_predict_takes_the_class_with_the_shortest_code(planted, fitted):
    lengths = fitted.code_lengths(planted.X)
    assert lengths.shape == (180, 2)
    np.testing.assert_array_equal(fitted.predict(planted.X), lengths.argmin(axis=1))


def test_predict_tells_classes_with_patterns_of_their_own_apart():
    planted = make_planted(100, [150, 150], rank=6, membership=[[1, 0], [0, 1]], noise=0.02, random_state=0)
    model = CSalt(random_state=0, max_iter=2000).fit(planted.X, planted.y)
    uses_something = planted.usage.any(axis=1)
    assert model.score(planted.X[uses_something], planted.y[uses_something]) > 0.9


def test_labels_that_the_model_does_not_know_are_named(planted, fitted):
    with pytest.raises(ValueError, match="y holds the label 5, which the model has not seen; it knows 0, 1"):
        fitted.transform(planted.X[:2], [0, 5])
    with pytest.raises(ValueError, match="X has 2 rows, but y has 1 labels"):
        fitted.transform(planted.X[:2], [0])


def test_new_rows_are_checked_like_the_old_ones(planted, fitted):
    with pytest.raises(ValueError, match="Column 0 holds 2 in row 0"):
        fitted.transform(np.full((2, 100), 2))
    with pytest.raises(ValueError, match="X has 99 features, but CSalt is expecting 100"):
        fitted.predict(planted.X[:, 1:])


# ---------------------------------------------------------------- scikit-learn's manners


@pytest.mark.slow
def test_it_works_in_a_pipeline_and_in_cross_validation(planted):
    pipeline = make_pipeline(CSalt(max_iter=300, max_rank=5, random_state=0), LogisticRegression())
    assert pipeline.fit(planted.X, planted.y).score(planted.X, planted.y) > 0.5
    scores = cross_val_score(CSalt(max_iter=100, max_rank=3, random_state=0), planted.X, planted.y, cv=2)
    assert np.isfinite(scores).all()


def test_clone_copies_parameters_and_nothing_else(fitted):
    copy = clone(fitted.set_params(random_state=0))
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "components_")


def test_pandas_output_has_named_columns(planted):
    frame = pd.DataFrame(planted.X, columns=[f"item {i}" for i in range(100)])
    model = CSalt(max_iter=300, random_state=0).set_output(transform="pandas")
    usage = model.fit(frame, planted.y).transform(frame)
    assert [name.split(":")[0] for name in usage.columns] == [str(s) for s in range(model.n_components_)]
    strongest = usage.columns[0].split(": ")[1].split(", ")
    assert len(strongest) == 3
    carried = model.components_[0] | model.alterations_[:, 0].any(axis=0)
    assert set(strongest) <= set(frame.columns[carried])
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert list(usage.columns) == model.get_feature_names_out().tolist()


@pytest.mark.slow
def test_importing_the_package_loads_no_compiled_code_and_estimators_no_search():
    code = (
        "import sys, saltmine; print('saltmine._core' in sys.modules); "
        "from saltmine import Asso, CSalt, DiffNorm, JointNMF, Primp; print('saltmine.solver' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_dask_tells_models_apart():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    models = [CSalt(random_state=0).fit(rng.random((40, 6)) < 0.5, y) for _ in range(2)] + [CSalt(random_state=0)]
    assert len({tokenize(model) for model in models}) == 3
    assert tokenize(models[0]) == tokenize(models[0])


def test_a_model_is_not_fitted_while_it_is_being_fitted():
    seen = []
    model = CSalt(random_state=0, callback=lambda now: seen.append(hasattr(model, "classes_")))
    planted = make_planted(60, [50, 50], rank=2, noise=0.05, random_state=0)
    model.fit(planted.X, planted.y)
    assert seen
    assert not any(seen)
    assert hasattr(model, "classes_")
