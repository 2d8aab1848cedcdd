"""saltmine's own solver as a whole."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import CSalt, Primp
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_class_patterns, make_planted
from saltmine.estimators import fitting
from saltmine.fitted.summary import Summary
from saltmine.metrics import alteration_recall, class_rank, f_measure
from saltmine.solver import relaxed_start
from saltmine.solver.starts import MOST_STARTS
from tests.helpers.models import assert_same_model


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("largest", [False, True])
def test_planted_patterns_come_back(noise, largest):
    planted = make_planted(400, [250, 250], rank=9, noise=noise, random_state=1, largest=largest)
    model = CSalt(random_state=0).fit(planted.X, planted.y)
    assert f_measure(planted, model) > 0.99
    assert alteration_recall(planted, model) > 0.97
    # Single rows may use a pattern of the other class that shortens them; what is said is still what is planted.
    table = model.patterns()
    of_one = table[table["kind"].isin(["only", "mostly"])]
    planted_use = np.array([planted.usage[planted.y == a].any(axis=0) for a in (0, 1)])
    for a in (0, 1):
        claimed = of_one[of_one["role"].astype(str) == str(a)]["pattern"].unique()
        owned = (planted_use[a] & ~planted_use[1 - a]).sum()
        # Patterns of a few rows show too little to be claimed.
        assert len(claimed) == owned if largest else 1 <= len(claimed) <= owned
        assert (model.usage_counts_[a, claimed] > 4 * model.usage_counts_[1 - a, claimed]).all()
    if noise == 0:
        assert f_measure(planted, model) == 1
        np.testing.assert_array_equal(class_rank(model), class_rank(planted))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[400], [60, 340], [100, 100, 100, 100]])
def test_any_number_of_classes_and_any_share(sizes):
    planted = make_planted(300, sizes, rank=5, noise=0.05, random_state=2)
    model = CSalt(random_state=0).fit(planted.X, planted.y)
    assert f_measure(planted, model) > 0.95
    assert not (model.alterations_ & model.components_).any()
    assert not model.alterations_.all(axis=0).any()
    # No alterations of a class that never uses the pattern.
    assert not model.alterations_[model.usage_counts_ == 0].any()


def test_alterations_that_half_of_many_classes_share_are_found():
    """S as printed would rather have no patterns at all."""
    rng = np.random.default_rng(0)
    c, size = 12, 40
    y = np.repeat(np.arange(c), size)
    X = rng.random((c * size, 60)) < 0.05
    uses = rng.random(c * size) < 0.4
    X[np.ix_(uses, np.arange(16))] = True
    X[np.ix_(uses & (y < c // 2), np.arange(16, 28))] = True
    X ^= rng.random(X.shape) < 0.03
    model = CSalt(random_state=0).fit(X, y)
    assert model.n_components_ >= 1
    found = (model.components_ | model.alterations_) & (model.usage_counts_ > 0)[:, :, None]
    carried = found.any(axis=1)
    assert carried[:, :16].all()
    assert carried[: c // 2, 16:28].mean() > 0.9
    assert not carried[c // 2 :, 16:].any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_noise_has_no_patterns(seed):
    rng = np.random.default_rng(seed)
    frequencies = [0.05, 0.5, rng.uniform(0.01, 0.9, 120)][seed % 3]
    X = rng.random((200, 120)) < frequencies
    # Few classes, and so many that each has one row or two.
    y = rng.integers(0, 3, 200) if seed < 3 else np.arange(200) // (1 + seed % 2)
    for model in (CSalt(random_state=0).fit(X, y), Primp(random_state=0).fit(X)):
        assert model.typical_.all()
        # Where no item is in more than half of the rows there is no typical row either.
        assert model.n_components_ == (np.count_nonzero(X.mean(axis=0) > 0.5) > 0)
        assert model.patterns().empty == (model.n_components_ == 0)
        if model.n_components_ == 0:
            assert model.description_length_ == model.null_description_length_
        else:
            assert_only_a_typical_row(model)
            # Rows choose to use it, so an item just below one half may be in it.
            assert X[:, model.components_[0]].mean(axis=0).min() > 0.45
        assert model.n_iter_ >= 1


def assert_only_a_typical_row(model):
    """Say that nothing was found but what most rows have."""
    assert model.typical_.tolist() == [True]
    assert 2 * model.usage_.sum() >= len(model.usage_)
    assert not model.alterations_.any()
    assert model.description_length_ < model.null_description_length_
    table = model.patterns()
    assert set(table["kind"]) == {"typical"}
    assert set(table["role"]) == {"common"}
    assert sorted(table["item"]) == np.flatnonzero(model.components_[0]).tolist()
    said = Summary(model).headline
    assert said.startswith("No pattern was found beside the typical row. The typical row has ")
    assert f" The typical row has {len(table)} items (" in said


def test_what_everybody_has_is_only_the_typical_row():
    model = CSalt(random_state=0).fit(np.ones((30, 20), int), np.repeat([0, 1], 15))
    assert_only_a_typical_row(model)
    assert model.components_.all()
    assert model.usage_.all()


def frequent_items(seed, planted, n_frequent=12):
    """Return rows of two classes with items that are frequent and independent, and maybe a pattern in one of five."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((300, 70)) < 0.04, np.arange(300) % 2
    X[:, :n_frequent] = rng.random((300, n_frequent)) < 0.9
    rows = rng.permutation(300)[:60]
    if planted:
        X[np.ix_(rows, range(20, 28))] = rng.random((60, 8)) < 0.95
    return X, y, rows


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_frequent_items_alone_are_only_the_typical_row(seed):
    X, y, _ = frequent_items(seed, planted=False)
    for model in (CSalt(random_state=0).fit(X, y), Primp(random_state=0).fit(X)):
        assert_only_a_typical_row(model)
        assert np.flatnonzero(model.components_[0]).tolist() == list(range(12))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_pattern_beside_frequent_items_is_found_without_them(seed):
    """The frequent items are as frequent in its rows as in all others: they are no part of it."""
    X, y, rows = frequent_items(seed, planted=True)
    for model in (CSalt(random_state=0).fit(X, y), Primp(random_state=0).fit(X)):
        assert model.typical_.tolist() == [True, False]
        assert np.flatnonzero(model.components_[0]).tolist() == list(range(12))
        assert np.flatnonzero(model.components_[1]).tolist() == list(range(20, 28))
        assert np.isin(rows, np.flatnonzero(model.usage_[:, 1])).mean() > 0.95
        assert not model.alterations_.any()
        table = model.patterns()
        assert table.groupby("pattern")["kind"].agg(set).tolist() == [{"typical"}, {"shared"}]
        said = Summary(model).headline
        assert said.startswith("1 pattern")
        assert " The typical row has 12 items (" in said


def test_the_typical_row_comes_first_even_if_others_cover_more():
    """A pattern of many items in one of three rows has more cells than a typical row of three items."""
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 120)) < 0.03, np.arange(300) % 2
    X[:, :3] = rng.random((300, 3)) < 0.95
    X[:100, 20:60] = True
    model = CSalt(random_state=0).fit(X, y)
    assert model.typical_[0]
    assert not model.typical_[1:].any()
    area = model.components_.sum(axis=1) * model.usage_.sum(axis=0)
    assert area[0] < area[1]
    assert (np.diff(area[1:]) <= 0).all()
    assert (model.pattern_evidence_[1:] >= -np.log(model.alpha)).all()


@pytest.mark.slow
def test_what_a_class_adds_to_the_typical_row_does_not_make_it_a_pattern():
    """Items that most rows of one class have go with the typical row; those that all have show no more than before."""
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 60)) < 0.04, np.repeat(["a", "b"], 150)
    X[:, :12] = rng.random((300, 12)) < 0.9
    X[150:, 12:15] = rng.random((150, 3)) < 0.9
    model = CSalt(random_state=0).fit(X, y)
    assert model.typical_.tolist() == [True]
    assert np.flatnonzero(model.alterations_[1, 0]).tolist() == [12, 13, 14]
    table = model.patterns()
    assert set(table["kind"]) == {"typical", "added"}
    assert set(table[table["kind"] == "added"]["role"]) == {"b"}
    assert "; 1 class adds items to it." in Summary(model).headline


@pytest.mark.slow
def test_a_stricter_alpha_keeps_fewer_patterns_and_the_evidence_is_told():
    planted = make_planted(200, [150, 150], rank=9, noise=0.2, random_state=0)
    ranks = []
    for alpha in (0.5, 0.01, 1e-30):
        model = CSalt(alpha=alpha, random_state=0).fit(planted.X, planted.y)
        ranks.append(model.n_components_)
        table = model.patterns()
        assert (table[table["kind"] != "typical"]["evidence"] >= -np.log(alpha) - 1e-9).all()
        np.testing.assert_allclose(table[table["role"] == "common"].groupby("pattern")["evidence"].nunique(), 1)
    # How many there are may go up and down with what the search meets on its way, not by as much as alpha falls here.
    assert ranks[2] < min(ranks[:2])


@pytest.mark.slow
def test_sparse_and_dense_input_find_the_same_in_clear_data():
    planted = make_planted(300, [200, 200], rank=4, noise=0.01, random_state=0)
    dense = CSalt(random_state=0).fit(planted.X, planted.y)
    sparse = CSalt(random_state=0).fit(sp.coo_array(planted.X), planted.y)
    assert f_measure(dense, sparse) == 1


@pytest.mark.slow
def test_restarts_keep_the_best_of_the_search():
    planted = make_planted(200, [100, 100], rank=9, noise=0.2, random_state=5)
    one = CSalt(random_state=3).fit(planted.X, planted.y)
    several = CSalt(random_state=3, n_restarts=4, n_jobs=2).fit(planted.X, planted.y)
    # With two equal classes the search's own measure and f differ by the zeros under alterations only.
    assert several.description_length_ <= one.description_length_ * 1.001


@pytest.mark.slow
def test_without_a_difference_between_classes_nothing_is_claimed(planted):
    """With shuffled labels the patterns of one class are found, and none is said to belong to a class."""
    y = np.random.default_rng(0).permutation(planted.y)
    model = CSalt(random_state=0).fit(planted.X, y)
    assert model.n_components_ >= 1
    assert set(model.patterns()["kind"]) == {"shared"}
    assert not model.alterations_.any()


@pytest.mark.slow
def test_lines_that_do_not_go_together_are_found_by_the_labels():
    """Combinations of three of which no row of the other class has all; otherwise items are independent."""
    rng = np.random.default_rng(0)
    X, y = rng.random((1200, 18)) < 0.45, np.repeat(["won", "lost"], 600)
    triples = [(0, 1, 2), (3, 4, 5), (0, 3, 6)]
    for triple in triples:
        while (whole := X[:, triple].all(axis=1) & (y == "lost")).any():
            X[np.ix_(whole, triple)] = rng.random((int(whole.sum()), 3)) < 0.45
    table = CSalt(random_state=0).fit(X, y).patterns()
    claimed = table[table["kind"].isin(["only", "mostly"]) & (table["role"] == "won")]
    sets = {tuple(sorted(items)) for _, items in claimed.groupby("pattern")["item"]}
    assert len(sets & set(triples)) >= 2
    shuffled = CSalt(random_state=0).fit(X, rng.permutation(y)).patterns()
    assert shuffled.empty or set(shuffled["kind"]) == {"shared"}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"max_iter": 1}, {"max_iter": 7}, {"max_rank": 1}, {"tol": 0.0}])
def test_short_runs_are_still_runs(planted, settings):
    model = CSalt(random_state=0, **settings).fit(planted.X, planted.y)
    # Every start has 80 iterations at most.
    assert 1 <= model.n_iter_ <= 80 * MOST_STARTS
    assert model.n_components_ >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_items_of_a_typical_row_of_most_rows_are_in_no_other_pattern(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((240, 60)) < 0.04, np.repeat(["a", "b"], 120)
    X[:, :10] = rng.random((240, 10)) < 0.9
    X[:60, 20:40] |= rng.random((60, 20)) < 0.9
    X[150:190, 38:55] |= rng.random((40, 17)) < 0.9
    model = CSalt(random_state=seed).fit(X, y)
    assert model.typical_.tolist() == [True] + [False] * (model.n_components_ - 1)
    assert model.n_components_ >= 3
    assert not (model.components_[0] & model.components_[1:]).any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_rows_settle_on_is_still_shown(seed):
    """Dense data, where rows have many ways to be described: every pattern is shown, or a typical row."""
    rng = np.random.default_rng(seed)
    usage = rng.random((160, 5)) < 0.4
    X = (usage @ (rng.random((5, 30)) < 0.5)) ^ (rng.random((160, 30)) < 0.08)
    model = CSalt(random_state=seed).fit(X, rng.integers(0, 2, 160))
    is_shown = (model.pattern_evidence_ >= -np.log(model.alpha)) | (model.use_q_values_ <= model.alpha).any(axis=0)
    assert (is_shown | model.typical_).all()


def recovered(components, planted):
    """Return the mean over planted item sets of the largest Jaccard similarity with a found one."""
    found = np.asarray(components, dtype=np.int64)
    shared = planted.astype(np.int64) @ found.T
    either = planted.sum(axis=1)[:, None] + found.sum(axis=1) - shared
    return float((shared / np.maximum(either, 1)).max(axis=1).mean())


@pytest.mark.slow
def test_patterns_of_many_classes_are_found_with_and_without_alterations_in_the_relaxed_solve(monkeypatch):
    """Where all rows are one class to the relaxed solve, the description is hardly longer, also if rows share a lot."""
    lengths, found, merged = {}, {}, []
    solve = relaxed_start._solve_and_round
    monkeypatch.setattr(
        relaxed_start,
        "_solve_and_round",
        lambda task, *args: merged.append(len(task.bits.blocks)) or solve(task, *args),
    )
    for per_row in (1, 3):
        made = make_class_patterns(6, 150, 1000, n_patterns=4, patterns_per_row=per_row, random_state=0)
        planted = np.zeros((24, 1000), dtype=bool)
        for k, items in enumerate(items for of_class in made.patterns for items in of_class):
            planted[k, items] = True
        for limit in (0, 1 << 30):
            monkeypatch.setattr(relaxed_start, "MANY_ALTERATIONS", limit)
            model = CSalt(random_state=0).fit(made.X, made.y)
            lengths[per_row, limit] = model.description_length_
            found[per_row, limit] = recovered(model.components_, planted)
            assert set(merged) == ({1} if limit == 0 else {6})
            merged.clear()
    assert min(found[1, 0], found[1, 1 << 30]) > 0.95
    for per_row in (1, 3):
        assert lengths[per_row, 0] < 1.02 * lengths[per_row, 1 << 30]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_classes_of_one_or_two_rows_do_no_harm(seed):
    planted = make_planted(120, [400, 400], 5, noise=0.02, random_state=seed)
    labels = planted.y.astype(str).astype(object)
    two_classes = CSalt(random_state=0).fit(planted.X, labels)
    few = np.random.default_rng(seed).choice(len(labels), 12, replace=False)
    # Four classes of two rows, and four of one.
    labels[few] = [f"rare {k // 2 if k < 8 else k}" for k in range(12)]
    model = CSalt(random_state=0).fit(planted.X, labels)
    truth = two_classes.components_
    assert recovered(model.components_, truth) > 0.95
    assert len(model.classes_) == 10
    # Two rows show nothing that only they have.
    assert not model.alterations_[2:].any()


# ---------------------------------------------------------------- threads


def fit_with_threads(monkeypatch, X, y, kind=CSalt):
    """Return a fit with one thread; several must find the same."""
    fits = []
    for n_threads in (1, 3):
        monkeypatch.setattr(fitting, "ThreadTeam", partial(ThreadTeam, n_threads))
        fits.append(kind(random_state=0).fit(X, y))
    one, other = fits
    assert_same_model(one, other)
    np.testing.assert_array_equal(one.pattern_evidence_, other.pattern_evidence_)
    np.testing.assert_array_equal(one.alteration_q_values_, other.alteration_q_values_)
    return one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "noise", "sizes"), [(Primp, 0.02, [250, 250]), (CSalt, 0.02, [250, 250]), (CSalt, 0.15, [100, 150, 200])]
)
def test_threads_find_the_same_planted_patterns(noise, sizes, kind, monkeypatch):
    planted = make_planted(300, sizes, rank=20, noise=noise, random_state=3)
    assert fit_with_threads(monkeypatch, planted.X, planted.y, kind).n_components_ > 10


@pytest.mark.slow
def test_threads_find_the_same_where_rows_have_many_ways_to_be_described(monkeypatch):
    rng = np.random.default_rng(0)
    usage = rng.random((200, 12)) < 0.3
    X = (usage @ (rng.random((12, 40)) < 0.3)) ^ (rng.random((200, 40)) < 0.08)
    fit_with_threads(monkeypatch, X, rng.integers(0, 3, 200))


@pytest.mark.slow
def test_threads_find_the_same_where_there_are_few_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3500)) < 0.05, np.arange(30) % 2
    for k in range(6):
        rows, items = rng.choice(30, 8, replace=False), slice(100 * k, 100 * k + 100)
        X[rows, items] = rng.random((8, 100)) < 0.95
    assert fit_with_threads(monkeypatch, X, y).n_components_ >= 6


@pytest.mark.slow
def test_more_classes_than_bits_in_a_word(monkeypatch):
    """Seventy classes, half of them of few rows; the last has items of its own."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(70), [*[4] * 35, *[10] * 34, 80])
    X = rng.random((len(y), 80)) < 0.03
    kind = rng.integers(0, 3, len(y))
    for k in range(2):
        X[np.ix_(kind == k, range(30 * k, 30 * k + 15))] = rng.random(((kind == k).sum(), 15)) < 0.95
    own = (kind == 0) & (y == 69)
    X[np.ix_(own, range(15, 27))] = rng.random((own.sum(), 12)) < 0.95
    model = fit_with_threads(monkeypatch, X, y)
    assert len(model.classes_) == 70
    planted = np.zeros((2, 80), dtype=bool)
    planted[0, :15] = planted[1, 30:45] = True
    assert recovered(model.components_, planted) > 0.95
    # What the last class adds to the pattern that it shares, or has in one of its own.
    having = (model.components_ | model.alterations_[69]) & model.usage_counts_[69].astype(bool)[:, None]
    assert having[:, 15:27].any(axis=0).all()
    assert not model.alterations_[:69].any()
