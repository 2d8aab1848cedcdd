"""The order of rows, columns and classes does not matter, nor do the names of classes and groups."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from benchmarks.trust.order import Shuffle, differences
from saltmine import CSalt, Primp
from saltmine.baselines import Asso, Dbssl, DiffNorm, JointNMF
from saltmine.data import blocks
from saltmine.datasets import make_planted
from saltmine.solver import tall, wide
from tests.helpers.models import assert_same_model
from tests.helpers.paths import shared_path


def assert_same_in_another_order(make, X, y, seed=1, names=None, **of_rows):
    """Fit data, and the same in another order; figures of rows, such as weights, move with these."""
    shuffle = Shuffle.draw(X.shape, y, np.random.default_rng(seed))
    before = make().fit(X, y, item_names=names, **of_rows)
    moved = {name: figures[shuffle.rows] for name, figures in of_rows.items()}
    new_names = None if names is None else np.asarray(names)[shuffle.columns]
    after = make().fit(shuffle.data(X), shuffle.labels(y), item_names=new_names, **moved)
    assert differences(before, after, shuffle) == []
    return before, after, shuffle


@pytest.fixture(scope="module")
def planted():
    return make_planted(60, [90, 60], rank=6, noise=0.03, largest=True, random_state=0)


@pytest.fixture(scope="module")
def three_classes():
    return make_planted(100, [90, 80, 70], rank=6, noise=0.03, largest=True, random_state=1)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "seed"), [(np.asarray, 0), (sp.csr_array, 1)], ids=["dense", "sparse"])
def test_planted_data(planted, form, seed):
    model, *_ = assert_same_in_another_order(lambda: CSalt(random_state=0), form(planted.X), planted.y, seed)
    assert model.n_components_ > 1


@pytest.mark.slow
def test_three_classes_whose_names_sort_differently(three_classes):
    model, *_ = assert_same_in_another_order(lambda: CSalt(random_state=0), three_classes.X, three_classes.y)
    assert model.alterations_.any()


@pytest.mark.slow
@pytest.mark.usefixtures("few_thresholds")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Primp(random_state=0),
        lambda: CSalt(random_state=0, n_restarts=2, max_rank=3),
        lambda: CSalt(random_state=0, fold=False),
        lambda: CSalt(random_state=0, algorithm="paper", max_iter=100),
        lambda: Asso(rank=4),
        lambda: Dbssl(ranks=(2, 1, 1)),
        lambda: DiffNorm(),
        lambda: JointNMF(ranks=3, random_state=0),
    ],
    ids=["Primp", "restarts", "unfolded", "paper", "Asso", "Dbssl", "DiffNorm", "JointNMF"],
)
def test_other_searches(planted, make):
    model, *_ = assert_same_in_another_order(make, planted.X, planted.y)
    assert model.n_components_ > 0


@pytest.mark.slow
def test_labels_that_primp_does_not_know_change_nothing(planted):
    with_labels = Primp(random_state=0).fit(planted.X, planted.y)
    without = Primp(random_state=0).fit(planted.X)
    assert without.n_components_ > 0
    np.testing.assert_array_equal(with_labels.components_, without.components_)
    np.testing.assert_array_equal(with_labels.usage_, without.usage_)
    assert with_labels.description_length_ == without.description_length_


@pytest.mark.slow
def test_tables_with_names(planted):
    """Columns are known by their names, so the patterns are literally the same."""
    names = np.array([f"item {i}" for i in range(60)])
    table = pd.DataFrame(planted.X.astype(int), columns=names)
    order = np.random.default_rng(0).permutation(60)
    one = CSalt(random_state=0).fit(table, planted.y)
    other = CSalt(random_state=0).fit(table[names[order]], planted.y)
    keys = ["pattern", "item", "role"]
    one, other = (model.patterns().sort_values(keys, ignore_index=True) for model in (one, other))
    pd.testing.assert_frame_equal(one, other)
    assert len(one)


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True], ids=["of one class", "of both classes"])
def test_groups_and_their_names(planted, mixed):
    rng = np.random.default_rng(0)
    members = np.arange(150) % 30 if mixed else np.arange(150) // 5
    shuffle = Shuffle.draw(planted.X.shape, planted.y, rng)
    before = CSalt(random_state=0).fit(planted.X, planted.y, groups=members)
    new_names = np.array([f"group {name}" for name in rng.permutation(30)])
    groups = new_names[members][shuffle.rows]
    after = CSalt(random_state=0).fit(shuffle.data(planted.X), shuffle.labels(planted.y), groups=groups)
    assert differences(before, after, shuffle) == []
    np.testing.assert_array_equal(before.of_few_groups_, after.of_few_groups_)
    assert before.n_components_ > 0
    one, other = before.differences(max_p=1), after.differences(max_p=1)
    other["item"] = shuffle.columns[other["item"]]
    names = {new: old for old, new in shuffle.names.items()}
    other["class"] = other["class"].map(names)
    keys = ["item", "class"]
    one, other = (table.sort_values(keys, ignore_index=True)[[*keys, "p_value", "q_value"]] for table in (one, other))
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CSalt, Primp])
def test_weights_are_repeated_rows(planted, kind):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 150)
    copies = rng.permutation(np.repeat(np.arange(150), weights))
    weighted = kind(random_state=0).fit(planted.X, planted.y, sample_weight=weights)
    repeated = kind(random_state=0).fit(planted.X[copies], planted.y[copies])
    assert weighted.n_components_ > 0
    for name in ("components_", "alterations_", "usage_counts_", "use_q_values_", "pattern_gain_", "temperature_"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name), err_msg=name)
    np.testing.assert_array_equal(weighted.usage_[copies], repeated.usage_)
    assert weighted.description_length_ == repeated.description_length_


@pytest.mark.slow
def test_weights_move_with_their_rows(planted):
    weights = np.random.default_rng(0).integers(0, 4, 150)
    assert_same_in_another_order(lambda: CSalt(random_state=0), planted.X, planted.y, sample_weight=weights)


def test_the_strongest_candidate_of_noise():
    rng = np.random.default_rng(3)
    # Few rows, so that many pairs are equally clear.
    X, y = rng.random((24, 12)) < 0.3, np.arange(24) % 2
    before, after, shuffle = assert_same_in_another_order(lambda: CSalt(random_state=0), X, y)
    assert before.near_miss_ is not None
    assert sorted(shuffle.columns[after.near_miss_.items].tolist()) == sorted(before.near_miss_.items)
    assert (before.near_miss_.rows, before.near_miss_.chance) == (after.near_miss_.rows, after.near_miss_.chance)


@pytest.mark.slow
def test_stability(planted):
    models = assert_same_in_another_order(lambda: CSalt(random_state=0), planted.X, planted.y)
    before, after, shuffle = models
    one = before.assess_stability(planted.X, planted.y, refits=2, random_state=0)
    moved = shuffle.data(planted.X), shuffle.labels(planted.y)
    other = after.assess_stability(*moved, refits=2, random_state=0)
    np.testing.assert_array_equal(one.patterns, other.patterns)
    assert differences(before, after, shuffle) == []
    np.testing.assert_array_equal(one.alterations, shuffle.back(other.alterations, "cp", before, after))


@pytest.mark.slow
def test_predictions(planted):
    before, after, shuffle = assert_same_in_another_order(lambda: CSalt(random_state=0), planted.X, planted.y)
    moved = shuffle.data(planted.X)
    np.testing.assert_array_equal(before.transform(planted.X)[shuffle.rows], after.transform(moved))
    chances = shuffle.back(after.predict_proba(moved), "rc", before, after)
    np.testing.assert_allclose(before.predict_proba(planted.X), chances, rtol=1e-7)


# ---------------------------------------------------------------------- symmetric data


@pytest.mark.slow
def test_symmetric_data_has_the_same_length():
    """Two copies of the same data side by side: a pattern may be found in either."""
    part = make_planted(60, [90, 60], rank=3, noise=0.03, largest=True, random_state=0)
    X, y = sp.block_diag([part.X, part.X]).toarray(), np.concatenate([part.y, part.y])
    names = [f"item {i}" for i in range(120)]
    named, *_ = assert_same_in_another_order(lambda: CSalt(random_state=0), X, y, names=names)
    shuffle = Shuffle.draw(X.shape, y, np.random.default_rng(1))
    plain = CSalt(random_state=0).fit(shuffle.data(X), shuffle.labels(y))
    assert plain.description_length_ == named.description_length_
    assert plain.n_components_ == named.n_components_ > 0


@pytest.mark.slow
@pytest.mark.parametrize("table", ["zoo", "tictactoe"])
def test_real_tables(table):
    folder = shared_path(f"data/tables/{table}")
    X, y = sp.csr_array(sp.load_npz(folder / "X.npz") != 0), np.loadtxt(folder / "y.txt", dtype=str)
    names = (folder / "features.txt").read_text(encoding="utf-8").splitlines()
    model, *_ = assert_same_in_another_order(lambda: CSalt(random_state=0), X, y, names=names)
    assert model.n_components_ > 0


# ---------------------------------------------------------------------- blocks


@pytest.fixture
def wide_data(monkeypatch):
    """Return data that a search takes a sample of, with repeated, empty and full columns."""
    monkeypatch.setattr(wide, "MIN_ITEMS", 300)
    monkeypatch.setattr(wide, "MAX_ITEMS", 300)
    planted = make_planted(1200, [50, 30, 40], rank=4, noise=0.03, random_state=2)
    rng = np.random.default_rng(0)
    odd = np.zeros((120, 40), bool), np.ones((120, 10), bool), planted.X[:, rng.integers(0, 1200, 300)]
    X = np.hstack([planted.X, *odd])
    assert wide.is_wide(X.shape)
    return X, planted.y


@pytest.fixture
def tall_data(monkeypatch):
    """Return data that a search takes a sample of, with repeated rows and columns."""
    monkeypatch.setattr(tall, "MIN_ROWS", 500)
    monkeypatch.setattr(tall, "MAX_ROWS", 500)
    monkeypatch.setattr(blocks, "ROWS_PER_CLASS", 0)
    planted = make_planted(60, [500, 300, 400], rank=4, noise=0.05, random_state=2)
    copies = np.concatenate([np.arange(1200), np.arange(100) % 7])
    X = np.hstack([planted.X, planted.X[:, :5], np.zeros((1200, 2), bool)])[copies]
    assert tall.is_tall(X.shape)
    return X, planted.y[copies]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind"), [(np.asarray, Primp), (sp.csr_array, CSalt)], ids=["dense", "sparse"])
def test_wide_data_in_blocks(wide_data, monkeypatch, form, kind):
    X, y = wide_data
    one = kind(random_state=0).fit(form(X), y)
    monkeypatch.setattr(blocks, "COLUMN_BLOCK_CELLS", 1 << 14)
    model, *_ = assert_same_in_another_order(lambda: kind(random_state=0), form(X), y)
    assert_same_model(one, model)
    assert one.temperature_ == model.temperature_


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind"), [(np.asarray, CSalt), (sp.csr_array, Primp)], ids=["dense", "sparse"])
def test_tall_data_in_blocks(tall_data, monkeypatch, form, kind):
    X, y = tall_data
    one = kind(random_state=0).fit(form(X), y)
    monkeypatch.setattr(blocks, "ROW_BLOCK_CELLS", 1 << 13)
    model, *_ = assert_same_in_another_order(lambda: kind(random_state=0), form(X), y)
    assert_same_model(one, model)
    assert one.temperature_ == model.temperature_


@pytest.mark.slow
@pytest.mark.parametrize("data", ["wide_data", "tall_data"])
def test_groups_of_data_in_blocks(data, request):
    X, y = request.getfixturevalue(data)
    groups = np.arange(len(y)) // 3
    assert_same_in_another_order(lambda: CSalt(random_state=0), X, y, groups=groups)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["wide_data", "tall_data"])
def test_data_that_is_read_lazily(data, request):
    da = pytest.importorskip("dask.array")
    X, y = request.getfixturevalue(data)
    here = CSalt(random_state=0).fit(X, y)
    shuffle = Shuffle.draw(X.shape, y, np.random.default_rng(1))
    lazy = da.from_array(shuffle.data(X).astype(int), chunks=(50, 400))
    assert differences(here, CSalt(random_state=0).fit(lazy, shuffle.labels(y)), shuffle) == []


@pytest.mark.parametrize("data", ["wide_data", "tall_data"])
def test_data_on_a_cluster(data, request, client):
    X, y = request.getfixturevalue(data)
    here = CSalt(random_state=0).fit(X, y)
    shuffle = Shuffle.draw(X.shape, y, np.random.default_rng(1))
    there = CSalt(random_state=0, client=client).fit(shuffle.data(X), shuffle.labels(y))
    assert differences(here, there, shuffle) == []


@pytest.mark.slow
def test_symmetric_rows_of_wide_data(wide_data):
    """Rows that only their names tell apart, class by class."""
    X, y = wide_data
    twice = np.vstack([np.hstack([X, np.zeros_like(X)]), np.hstack([np.zeros_like(X), X])])
    labels, names = np.concatenate([y, y]), np.array([f"row {j}" for j in range(240)])
    assert_same_in_another_order(lambda: CSalt(random_state=0), twice, labels, row_names=names)
