"""Data with more items than a search looks at: a sample is searched, and all items are chosen by what it shows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import CSalt, Primp, load
from saltmine.data import blocks
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import make_planted
from saltmine.distributed import executor
from saltmine.metrics import description_length, f_measure
from saltmine.solver import wide
from saltmine.solver.scoring import score_model
from tests.helpers.added import ask_as_blocks_do
from tests.helpers.models import assert_same_model

SAMPLE = 300


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    take_samples_of(SAMPLE, monkeypatch)


def take_samples_of(n_items, monkeypatch):
    monkeypatch.setattr(wide, "MIN_ITEMS", n_items)
    monkeypatch.setattr(wide, "MAX_ITEMS", n_items)


@pytest.fixture
def searches(monkeypatch):
    """Return a list that gets an entry, the size of the sample to the next hundred, at every search of a sample.

    Columns are drawn each by itself, so there may be a few more or less.
    """
    made = []

    def draw(*arguments):
        sample = original(*arguments)
        made.append(100 * round(int(sample.copies.sum()) / 100))
        return sample

    original = wide._draw
    monkeypatch.setattr(wide, "_draw", draw)
    return made


@pytest.fixture(scope="module")
def planted():
    return make_planted(3000, [160, 160], rank=4, noise=0.02, random_state=1)


def with_odd_columns(planted, seed=0):
    """Return planted data with columns that are empty, full or repeated, in any order."""
    rng = np.random.default_rng(seed)
    m = len(planted.X)
    odd = np.zeros((m, 100), bool), np.ones((m, 20), bool), planted.X[:, rng.integers(0, 3000, 500)]
    X = np.concatenate([planted.X, *odd], axis=1)
    return X[:, rng.permutation(X.shape[1])]


def assert_valid(model, X, y):
    """Compare what the model says of itself and of every column with what the data and its factors say."""
    factors = model.components_, model.alterations_, model.usage_
    none = np.zeros((0, X.shape[1])), np.zeros((len(model.classes_), 0, X.shape[1])), np.zeros((len(X), 0))
    assert model.description_length_ == pytest.approx(description_length(X, y, *factors))
    assert model.null_description_length_ == pytest.approx(description_length(X, y, *none))
    assert model.description_length_ <= model.null_description_length_ + 1e-6
    carried = model.components_ | model.alterations_
    assert not (model.components_ & model.alterations_).any()
    assert not model.alterations_.all(axis=0).any()
    assert (carried.any(axis=0).sum(axis=1) >= 2).all()
    assert (model.usage_.sum(axis=0) >= 2).all()
    assert not carried[:, :, ~X.any(axis=0)].any()
    for a, label in enumerate(model.classes_):
        rows = y == label
        np.testing.assert_array_equal(model.item_counts_[a], X[rows].sum(axis=0))
        np.testing.assert_array_equal(model.usage_counts_[a], model.usage_[rows].sum(axis=0))
        described = model.usage_[rows].astype(int) @ carried[a] > 0
        np.testing.assert_array_equal(model.noise_counts_[a], (described != X[rows]).sum(axis=0))
    # The typical row comes first; all others are shown, and in the order of their cells.
    others = ~model.typical_
    assert (np.diff(others.astype(int)) >= 0).all()
    assert (np.diff((carried.sum(axis=2) * model.usage_counts_).sum(axis=0)[others]) <= 0).all()
    assert (model.pattern_evidence_[others] >= -np.log(model.alpha)).all()
    assert (2 * model.usage_.sum(axis=0)[model.typical_] >= len(X)).all()
    assert (np.nan_to_num(model.alteration_evidence_, nan=np.inf) >= -np.log(model.alpha)).all()


@pytest.mark.slow
def test_a_sample_is_enough_to_find_planted_patterns(planted, searches, monkeypatch):
    found = CSalt(random_state=0).fit(planted.X, planted.y)
    assert searches == [SAMPLE]
    take_samples_of(4000, monkeypatch)
    whole = CSalt(random_state=0).fit(planted.X, planted.y)
    assert len(searches) == 1
    assert f_measure(planted, found) > f_measure(planted, whole) - 0.02
    assert f_measure(planted, found) > 0.9


def with_chance(model, rng):
    """Return a model of a sample with patterns of random rows and items as well."""
    n, c, more = len(model.X), len(model.V), 3
    X, Y = (np.concatenate([part, rng.random((len(part), more)) < 0.1], axis=1) for part in (model.X, model.Y))
    return BinaryModel(X, np.concatenate([model.V, np.zeros((c, n, more), dtype=bool)], axis=2), Y)


@pytest.mark.slow
def test_scores_and_claims_are_those_of_the_same_patterns_in_memory(planted, monkeypatch):
    """Patterns that did not stay, as those of chance, are no claims that others were corrected for."""
    ranks = []

    def search(*arguments):
        found = original(*arguments)
        found.model = with_chance(found.model, np.random.default_rng(0))
        ranks.append(found.model.rank)
        return found

    original = wide.search_sample
    monkeypatch.setattr(wide, "search_sample", search)
    ask_as_blocks_do(monkeypatch)
    fitted = CSalt(random_state=0).fit(planted.X, planted.y)
    assert 1 < fitted.n_components_ < ranks[0]
    stacked = StackedMatrix.from_rows(planted.X, planted.y, 2)
    components, alterations = fitted.components_[:, stacked.items], fitted.alterations_[:, :, stacked.items]
    model = BinaryModel(components.T.copy(), alterations.transpose(0, 2, 1).copy(), fitted.usage_[stacked.order])
    expected = score_model(BitMatrix(stacked.matrix, stacked.blocks), model)
    np.testing.assert_allclose(fitted.pattern_evidence_, expected.evidence)
    np.testing.assert_allclose(fitted.pattern_gain_, expected.gain)
    np.testing.assert_allclose(fitted.alteration_gain_, expected.alteration_gain)
    claims = fitted.use_p_values_, fitted.use_q_values_, fitted.alteration_p_values_, fitted.alteration_q_values_
    for found, wanted in zip(claims, expected.claims, strict=True):
        np.testing.assert_allclose(found, wanted)
    assert np.isfinite(fitted.alteration_q_values_).any()


@pytest.mark.slow
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("kind", [CSalt, Primp])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_model_of_all_items_agrees_with_the_data(planted, searches, form, kind, fold):
    X = with_odd_columns(planted)
    y = planted.y if kind is CSalt else np.zeros(len(X))
    model = kind(random_state=0, fold=fold).fit(form(X), y)
    assert searches == [SAMPLE]
    assert model.n_components_ > 1
    assert_valid(model, X, y)


@pytest.mark.slow
def test_a_seed_gives_one_model_whatever_the_threads(planted, monkeypatch):
    X = with_odd_columns(planted)
    one, two = (CSalt(random_state=3).fit(X, planted.y) for _ in range(2))
    assert_same_model(one, two)
    monkeypatch.setattr(blocks, "COLUMN_BLOCK_CELLS", 1 << 14)
    cut_up = CSalt(random_state=3).fit(X, planted.y)
    np.testing.assert_array_equal(cut_up.components_, one.components_)
    np.testing.assert_array_equal(cut_up.usage_, one.usage_)
    assert cut_up.description_length_ == pytest.approx(one.description_length_)


@pytest.mark.slow
def test_the_best_of_several_samples_is_kept(planted, searches):
    model = CSalt(random_state=0, n_restarts=3, n_jobs=2).fit(planted.X, planted.y)
    assert searches == [SAMPLE] * 3
    assert_valid(model, planted.X, planted.y)
    once = CSalt(random_state=0).fit(planted.X, planted.y)
    assert model.description_length_ <= once.description_length_ + 1e-6


@pytest.mark.slow
def test_the_order_of_the_columns_hardly_matters(planted, monkeypatch):
    """All columns but one are looked at."""
    X = planted.X[:, planted.X.any(axis=0)]
    take_samples_of(X.shape[1] - 1, monkeypatch)
    order = np.random.default_rng(1).permutation(X.shape[1])
    straight, mixed = CSalt(random_state=0).fit(X, planted.y), CSalt(random_state=0).fit(X[:, order], planted.y)
    both = [f_measure(planted_in(planted, X), straight), f_measure(planted_in(planted, X, order), mixed)]
    assert min(both) > 0.9
    assert f_measure(straight, reordered(mixed, order)) > 0.97


class Factors:
    def __init__(self, components, alterations, usage, y):
        self.components, self.alterations, self.usage, self.y = components, alterations, usage, y


def planted_in(planted, X, order=slice(None)):
    present = np.flatnonzero(planted.X.any(axis=0))[order]
    return Factors(planted.components[:, present], planted.alterations[:, :, present], planted.usage, planted.y)


def reordered(model, order):
    back = np.argsort(order)
    return Factors(model.components_[:, back], model.alterations_[:, :, back], model.usage_, model.row_labels_)


@pytest.mark.slow
def test_folding_only_spares_work(planted, searches):
    X = with_odd_columns(planted)
    folded, plain = (CSalt(random_state=0, fold=fold).fit(X, planted.y) for fold in (True, False))
    assert searches == [SAMPLE] * 2
    assert f_measure(folded, plain) > 0.97
    assert folded.description_length_ == pytest.approx(plain.description_length_, rel=0.01)


def test_sparse_attributes_are_the_dense_ones(planted):
    model = CSalt(random_state=0).fit(with_odd_columns(planted), planted.y)
    assert model.components_.any()
    assert model.alterations_.any()
    np.testing.assert_array_equal(model.sparse_components_.toarray(), model.components_)
    assert len(model.sparse_alterations_) == 2
    for sparse, dense in zip(model.sparse_alterations_, model.alterations_, strict=True):
        np.testing.assert_array_equal(sparse.toarray(), dense)


@pytest.mark.slow
def test_tables_files_and_reports(planted, tmp_path):
    X = with_odd_columns(planted)
    names = [f"item {column}" for column in range(X.shape[1])]
    model = CSalt(random_state=0).fit(X, planted.y, item_names=names)
    table = model.patterns()
    assert len(table) == model.components_.sum() + model.alterations_.sum()
    assert set(table["kind"]) > {"added"}
    for pattern, rows in table[table["kind"] != "added"].groupby("pattern"):
        assert set(rows["item"]) == {names[column] for column in np.flatnonzero(model.components_[pattern])}
    model.save(tmp_path / "wide.salt")
    again = load(tmp_path / "wide.salt")
    assert_same_model(model, again)
    assert again.patterns().equals(table)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    model.report(tmp_path / "wide.html")
    assert "item " in (tmp_path / "wide.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_new_rows_of_planted_data_use_the_patterns_of_their_like(planted):
    model = CSalt(random_state=0).fit(planted.X, planted.y)
    usage = model.transform(planted.X, planted.y)
    assert (usage == model.usage_).mean() > 0.95


@pytest.mark.slow
def test_few_rows_that_share_exact_columns():
    """Groups of rows that have whole columns in common, as carriers of variants have, far more columns than rows."""
    rng = np.random.default_rng(0)
    groups = np.arange(40) // 10
    members = groups[None] == rng.integers(0, 4, 6000)[:, None]
    X = np.where(rng.random((6000, 1)) < 0.5, members, rng.random((6000, 40)) < 0.04).T
    y = np.arange(40) % 2
    model = CSalt(random_state=0).fit(X, y)
    assert_valid(model, X, y)
    for group in range(4):
        alike = (model.usage_ == (groups == group)[:, None]).all(axis=0)
        assert alike.sum() == 1
        columns = X[groups == group].all(axis=0) & ~X[groups != group].any(axis=0)
        assert (model.components_[alike][0] & columns).sum() > 0.99 * columns.sum()


@pytest.mark.slow
def test_what_most_rows_have_hides_no_patterns(monkeypatch):
    """The typical row saves most, but shows nothing; not every start may end there."""
    take_samples_of(5000, monkeypatch)
    rng = np.random.default_rng(0)
    groups, y = np.arange(40) // 10, np.arange(40) % 2
    common = rng.random((40, 4000)) < rng.uniform(0.5, 0.95, 4000)
    own = rng.random((40, 1600)) < np.where(groups[:, None] == np.arange(1600) // 400, 0.97, 0.03)
    model = CSalt(random_state=0).fit(np.concatenate([common, own], axis=1), y)
    for group in range(4):
        alike = (model.usage_ == (groups == group)[:, None]).all(axis=0)
        assert alike.sum() == 1
        of_group = np.flatnonzero(model.components_[alike][0, 4000:]) // 400 == group
        assert of_group.all()
        assert len(of_group) > 380
    assert set(model.patterns()["kind"]) == {"typical", "shared"}
    assert model.typical_.tolist() == [True] + [False] * (model.n_components_ - 1)
    typical = np.flatnonzero(model.components_[0])
    assert (typical < 4000).all()
    assert common[:, typical].mean(axis=0).min() > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CSalt, Primp])
def test_frequent_items_are_only_the_typical_row(searches, kind):
    """The sample shows who uses it, and all frequent items are in it, seen or not."""
    rng = np.random.default_rng(0)
    frequency = np.where(np.arange(1000) % 4 == 0, 0.9, 0.05)
    X = rng.random((60, 1000)) < frequency
    y = np.repeat([0, 1], 30) if kind is CSalt else np.zeros(60, dtype=int)
    model = kind(random_state=0).fit(X, y)
    assert searches == [SAMPLE]
    assert model.typical_.tolist() == [True]
    np.testing.assert_array_equal(model.components_[0], frequency > 0.5)
    assert model.usage_.all()
    assert set(model.patterns()["kind"]) == {"typical"}
    assert_valid(model, X, y)


@pytest.mark.slow
def test_the_typical_row_survives_beside_patterns(searches):
    rng = np.random.default_rng(0)
    frequency = np.where(np.arange(1200) < 400, 0.9, 0.04)
    X, y = rng.random((90, 1200)) < frequency, np.arange(90) % 2
    X[:30, 400:600] = rng.random((30, 200)) < 0.95
    model = CSalt(random_state=0).fit(X, y)
    assert searches == [SAMPLE]
    assert model.typical_.tolist() == [True] + [False] * (model.n_components_ - 1)
    np.testing.assert_array_equal(model.components_[0], frequency > 0.5)
    found = [s for s in range(1, model.n_components_) if model.components_[s, 400:600].all()]
    assert len(found) == 1
    np.testing.assert_array_equal(model.usage_[:, found[0]], np.arange(90) < 30)
    assert not model.components_[:, 600:].any()
    assert_valid(model, X, y)


def test_noise_has_no_patterns(searches):
    X = np.random.default_rng(0).random((40, 1000)) < 0.1
    y = np.repeat([0, 1], 20)
    model = CSalt(random_state=0).fit(X, y)
    assert searches == [SAMPLE]
    assert model.n_components_ == 0
    assert_valid(model, X, y)
    assert model.description_length_ == pytest.approx(model.null_description_length_)


def noisy(seed):
    """Return data with much noise, full columns and repeated ones, which patterns of little evidence describe."""
    planted = make_planted(545, [52, 49, 51], rank=5, noise=0.1, random_state=seed)
    X, rng = planted.X.copy(), np.random.default_rng(seed)
    X[:, rng.integers(0, 545, 50)] = True
    return X[:, rng.integers(0, 545, 545)], planted.y


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_ends_where_classes_are_weak(seed, monkeypatch):
    """What chance explains is taken away, and does not come back in the next turn to be taken away again."""

    rounds = []

    class CountingExecutor(executor.LocalExecutor):
        def query(self, *arguments):
            rounds.append(arguments[0])
            assert len(rounds) < 1000
            return super().query(*arguments)

    monkeypatch.setattr(executor, "LocalExecutor", CountingExecutor)
    X, y = noisy(seed)
    assert_valid(CSalt(random_state=0).fit(X, y), X, y)
    assert rounds


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10, 26])
def test_nothing_stays_that_chance_explains(seed):
    """When alterations go, the density of their pattern changes, and with it the evidence for all that is left."""
    X, y = noisy(seed)
    assert_valid(CSalt(random_state=0).fit(X, y), X, y)


@pytest.mark.slow
def test_progress_never_goes_back():
    done = []
    X, y = noisy(0)
    CSalt(random_state=0, callback=lambda now: done.append(now.done)).fit(X, y)
    assert len(done) > 2
    assert (np.diff(done) >= 0).all()


@pytest.mark.slow
def test_one_class_is_no_reason_to_alter(planted):
    y = np.zeros(len(planted.X), dtype=int)
    model = CSalt(random_state=0).fit(planted.X, y)
    assert not model.alterations_.any()
    assert_valid(model, planted.X, y)
    primp = Primp(random_state=0).fit(planted.X)
    np.testing.assert_array_equal(primp.components_, model.components_)


@pytest.mark.slow
def test_labels_split_the_reporting_of_primp(planted):
    model = Primp(random_state=0).fit(planted.X, planted.y)
    alone = Primp(random_state=0).fit(planted.X)
    np.testing.assert_array_equal(model.usage_, alone.usage_)
    np.testing.assert_array_equal(model.usage_counts_.sum(axis=0), alone.usage_counts_[0])
    np.testing.assert_array_equal(model.noise_counts_.sum(axis=0), alone.noise_counts_[0])
    assert len(model.usage_counts_) == 2


@pytest.mark.slow
def test_the_paper_s_algorithm_looks_at_everything(planted, searches):
    CSalt(algorithm="paper", random_state=0, max_rank=2, max_iter=50).fit(planted.X[:, :500], planted.y)
    assert searches == []
