"""What every method has in common: attributes, tables, files, reports, progress and interruption."""

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import saltmine
from saltmine import load
from saltmine.datasets import make_planted
from saltmine.methods import METHODS, check_methods, make, parameters_of, ranks_for
from saltmine.metrics import description_length
from saltmine.report.page import render
from saltmine.report.payload import payload
from tests.helpers.models import assert_same_model

pytestmark = pytest.mark.usefixtures("few_thresholds")
BASELINES = [name for name in METHODS if name not in ("csalt", "paper", "primp")]
# Methods that differ from another one in a parameter, and search long.
VARIANTS = ("mdldbssl", "jsmf", "rjsnmf", "jnmf")
# Penalties of the same search as inmf; its own tests are run with each of them.
PENALTIES = ("jsmf", "rjsnmf", "jnmf")


def each(names, but=()):
    """Run a test on every method but some; variants are slow."""
    slow, names = pytest.mark.slow, [name for name in names if name not in but]
    return pytest.mark.parametrize("name", [pytest.param(n, marks=slow if n in VARIANTS else ()) for n in names])


# Every class once, with parameters for a short search: what is checked is the code around it.
CHECKED = [
    saltmine.Asso(binarize=0.0),
    saltmine.Dbssl(binarize=0.0, ranks=(1, 1), candidates="associations"),
    saltmine.MdlDbssl(binarize=0.0, constellations=[(1, 1), 2], candidates="associations"),
    saltmine.DiffNorm(binarize=0.0),
    saltmine.JointNMF(binarize=0.0, ranks=2, n_restarts=1, max_iter=20),
]


def test_every_class_is_checked():
    assert {type(model) for model in CHECKED} == {METHODS[name].estimator for name in BASELINES}


@pytest.mark.slow
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    return make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)


@pytest.fixture(scope="module")
def fitted(planted):
    """Return a function that gives every method, fitted once."""
    models = {}

    def fit(name):
        if name not in models:
            models[name] = make(name, random_state=0).fit(planted.X, np.array(["old", "new"])[planted.y])
        return models[name]

    return fit


@pytest.mark.slow
@each(METHODS)
def test_attributes_have_the_shapes_of_the_contract(fitted, planted, name):
    model = fitted(name)
    (m, n), r = planted.X.shape, model.n_components_
    assert r > 0
    assert model.classes_.tolist() == ["new", "old"]
    for attribute, shape in {"components_": (r, n), "alterations_": (2, r, n), "usage_": (m, r)}.items():
        assert getattr(model, attribute).shape == shape
        assert getattr(model, attribute).dtype == bool
    assert model.n_iter_ >= 1
    assert len(model.history_) >= 1
    assert np.isfinite(model.history_).all()


@each(METHODS)
def test_figures_are_those_of_the_stored_model(fitted, planted, name):
    model = fitted(name)
    f = description_length(planted.X, model.row_labels_, model.components_, model.alterations_, model.usage_)
    assert model.description_length_ == pytest.approx(f)
    assert model.description_length_ < model.null_description_length_
    for a, label in enumerate(model.classes_):
        rows = model.row_labels_ == label
        cover = (model.usage_[rows].astype(int) @ (model.components_ | model.alterations_[a])) > 0
        np.testing.assert_array_equal(model.noise_counts_[a], (cover != planted.X[rows]).sum(axis=0))
        np.testing.assert_array_equal(model.usage_counts_[a], model.usage_[rows].sum(axis=0))


@each(METHODS)
def test_every_pattern_has_items_and_rows_and_the_definition_holds(fitted, name):
    model = fitted(name)
    assert (model.components_ | model.alterations_.any(axis=0)).any(axis=1).all()
    assert model.usage_.any(axis=0).all()
    assert not (model.components_ & model.alterations_).any()
    assert not model.alterations_.all(axis=0).any()


@each(METHODS)
def test_tables_files_and_reports(fitted, planted, name, tmp_path):
    model = fitted(name)
    table = model.patterns()
    assert len(table) >= model.components_.sum() + model.alterations_.sum()
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert_same_model(again, model)
    np.testing.assert_array_equal(again.transform(planted.X), model.transform(planted.X))
    page = render(model)
    assert type(model).__name__ in page
    assert ("more often than the sizes of rows and the frequencies of items explain" in page) == (
        name in ("csalt", "primp")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "parameter", "expected"),
    [
        (saltmine.Asso(rank=2, tau=np.float64(0.5)), "tau", 0.5),
        (saltmine.Dbssl(ranks=(1, 1, 1), candidates="associations"), "ranks", [1, 1, 1]),
        (saltmine.MdlDbssl(constellations=[(1, 1), 2], candidates="associations"), "constellations", [[1, 1], 2]),
        (saltmine.DiffNorm(subsets=[np.array([0, 1]), [np.int64(0)]]), "subsets", [[0, 1], [0]]),
        (saltmine.JointNMF(penalty="jnmf", ranks=[2, 1], n_restarts=2, random_state=1), "ranks", [2, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parameters_come_back_from_a_file_and_fit_the_same_model(planted, tmp_path, model, parameter, expected):
    model.fit(planted.X, planted.y).save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    assert getattr(again, parameter) == expected
    assert_same_model(again.fit(planted.X, planted.y), model)


@pytest.mark.slow
@each(METHODS, but=PENALTIES)
def test_sparse_data_gives_the_same_model(fitted, planted, name):
    model = make(name, random_state=0).fit(sp.csr_array(planted.X.astype(int)), fitted(name).row_labels_)
    assert_same_model(model, fitted(name))


@pytest.mark.slow
@each(BASELINES, but=PENALTIES)
def test_progress_reaches_callback_and_bar(planted, name, capsys):
    seen = []
    make(name, random_state=0, callback=seen.append, verbose=1).fit(planted.X, planted.y)
    assert seen
    assert all(0 <= now.done <= 1 for now in seen)
    assert "described in" in capsys.readouterr().err


@pytest.mark.slow
@each(BASELINES)
def test_an_interrupted_fit_leaves_the_model_as_it_was(fitted, planted, name):
    model = deepcopy(fitted(name))
    before = model.usage_.copy()

    def stop(now):
        raise KeyboardInterrupt

    model.set_params(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X[::2], planted.y[::2])
    np.testing.assert_array_equal(model.usage_, before)


@each(BASELINES)
def test_new_rows_use_what_the_method_found(fitted, planted, name):
    model = fitted(name)
    usage = model.transform(planted.X)
    assert usage.shape == model.usage_.shape
    # Rows are encoded by description length, not as the method covered them; most of it must agree.
    assert (usage == model.usage_).mean() > 0.8
    if METHODS[name].estimator._knows_classes:
        assert set(model.predict(planted.X)) <= {"new", "old"}


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].estimator._knows_classes])
def test_methods_that_compare_classes_demand_labels(planted, name):
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(name).fit(planted.X)


@each(BASELINES)
@pytest.mark.parametrize("X", [np.zeros((6, 4)), np.ones((6, 4)), np.eye(6), np.ones((6, 1))])
def test_data_with_nothing_to_find(name, X):
    model = make(name, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.transform(X).shape == (6, model.n_components_)
    assert np.isfinite(model.description_length_)
    assert len(model.patterns()) == model.components_.sum() + model.alterations_.sum()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*only one class")
@each(BASELINES, but=PENALTIES)
def test_any_number_of_classes(planted, name):
    rows = np.arange(90)
    for labels in (0 * rows, rows % 3):
        model = make(name, random_state=0).fit(planted.X[:90], labels)
        assert len(model.alterations_) == len(np.unique(labels))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asso", "diffnorm", "inmf"])
def test_stability_is_assessed_with_and_without_random_starts(planted, fitted, name):
    model = make(name, random_state=0).fit(planted.X, planted.y)
    stability = model.assess_stability(planted.X, planted.y, refits=2, random_state=0)
    assert stability.patterns.max() > 0.4


@pytest.mark.slow
def test_reports_and_plots_say_what_holds_for_the_method(fitted):
    page = render(fitted("diffnorm"))
    assert "It has all items of it." in page
    assert "no class alters" not in page
    for name, label in {"csalt": "relaxed objective", "asso": "weighted errors", "jnmf": "objective"}.items():
        assert "Not every item of it has to be there." in render(fitted(name))
        assert fitted(name).plot.history().get_ylabel() == label


def test_reports_say_how_many_patterns_chance_may_explain():
    noise = np.random.default_rng(0).random((60, 12)) < 0.4
    model = saltmine.DiffNorm().fit(noise, np.arange(60) % 2)
    weak = int((model.pattern_evidence_ < 4.6).sum())
    assert weak > 1
    assert f"Chance may explain {weak} of these patterns (evidence below 4.6 nats)." in payload(model)["answer"]
    one_class = saltmine.Asso(rank=2, tau=0.5).fit(noise)
    assert "Chance may explain 2 of these patterns" in payload(one_class)["answer"]


# ---------------------------------------------------------------- the names of the methods


def test_every_method_is_an_estimator_of_the_package():
    for name, method in METHODS.items():
        assert method.estimator.__name__ in saltmine.__all__
        assert method.fixed.items() <= make(name).get_params().items()
        assert not set(method.fixed) & parameters_of(name)


def test_ranks_go_to_those_who_can_be_told():
    assert ranks_for("asso", (8, 4), 2) == {"rank": 16}
    assert ranks_for("inmf", (8, 4, 2), 2) == {"ranks": 14}
    assert ranks_for("jsmf", 8, 3) == {"ranks": (8, 0, 0, 0)}
    for name in ("csalt", "paper", "primp", "diffnorm"):
        assert ranks_for(name, 8, 2) == {}
    with pytest.raises(ValueError, match="ranks has 3 entries, but 3 classes need 4"):
        ranks_for("dbssl", (8, 4, 4), 3)
    for wrong in (2.5, -1, (-1, 3), (1.7, 1.2), None):
        with pytest.raises(ValueError, match=r"as \(8, 4, 4\), not"):
            ranks_for("dbssl", wrong, 2)
    with pytest.raises(ValueError, match="Asso needs at least one pattern to look for"):
        ranks_for("asso", 0, 2)


def test_methods_may_be_named_in_any_way():
    assert check_methods(None) == check_methods("all") == check_methods(["asso", "all"]) == list(METHODS)
    assert check_methods("ASSO") == ["asso"]


@pytest.mark.slow
def test_searches_and_their_compiled_code_are_loaded_by_the_first_fit_only():
    code = "import sys, saltmine.baselines; print([name for name in sys.modules if name.endswith('_search')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "saltmine.baselines" not in run.stdout


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match="There is no method 'slim'; choose among csalt, paper"):
        check_methods(["csalt", "slim"])
    with pytest.raises(ValueError, match="No method is named; choose among csalt"):
        check_methods([])
