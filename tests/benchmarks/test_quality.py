import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import clinical, power, quality, rivals, structure
from benchmarks.claim_checks import lines_of_three
from benchmarks.figures import claims_about, jaccard, use_shares
from benchmarks.independent import KINDS, make_independent
from benchmarks.musts import MUSTS, Must, musts_of
from benchmarks.to_learn import DENSITIES
from experiments import planted as planted_experiment
from saltmine.datasets import make_class_patterns


def make_model(sets, users, q=None, added=None, n=None):
    """Return a model with given items; ``added`` has the items that a class adds to a pattern."""
    q = np.ones((1, len(sets))) if q is None else q
    components = np.zeros((len(sets), n), dtype=bool)
    alterations = np.zeros((len(q), len(sets), n), dtype=bool)
    for s, items in enumerate(sets):
        components[s, list(items)] = True
    for (a, s), items in (added or {}).items():
        alterations[a, s, list(items)] = True
    return SimpleNamespace(components_=components, alterations_=alterations, usage_=users, use_q_values_=q)


def fit_nothing(X, y, seed):
    c = len(np.unique(y))
    return make_model([], np.zeros((len(y), 0), dtype=bool), np.ones((c, 0)), n=X.shape[1])


def clinical_oracle(table):
    patterns = table.patterns
    q = np.ones((len(np.unique(table.y)), len(patterns)))
    for s, pattern in enumerate(patterns):
        if pattern.kind in (clinical.ONLY, clinical.MOSTLY):
            q[pattern.role, s] = 0
    added = {(pattern.role, s): pattern.added for s, pattern in enumerate(patterns) if pattern.added}
    users = np.stack([pattern.users for pattern in patterns], axis=1)
    return make_model([pattern.items for pattern in patterns], users, q, added, table.X.shape[1])


# ---------------------------------------------------------------------- clinical tables


@pytest.mark.parametrize("seed", range(6))
def test_the_truth_of_a_clinical_table_is_in_its_rows(seed):
    X, y, patterns = clinical.simulate(seed)
    assert X.shape[0] in clinical.N_ROWS
    assert X.shape[1] in clinical.N_ITEMS
    assert sum(len(pattern.whole) for pattern in patterns) == len(frozenset().union(*(p.whole for p in patterns)))
    for pattern in patterns:
        items, added, inside = list(pattern.items), list(pattern.added), y == pattern.role
        assert 3 <= len(items) <= 8
        assert X[pattern.users][:, items].mean() > 0.5
        assert bool(added) == (pattern.kind == clinical.ALTERED)
        assert (pattern.role < 0) == (pattern.kind == clinical.SHARED)
        if pattern.kind == clinical.ONLY:
            assert not pattern.users[~inside].any()
        if added:
            assert X[pattern.users & inside][:, added].mean() > X[~(pattern.users & inside)][:, added].mean()
    assert (clinical.simulate(seed).X == X).all()


def test_rates_of_use():
    rng = np.random.default_rng(0)
    for _ in range(20):
        shared = clinical._rates(clinical.SHARED, 1, 3, rng)
        assert (shared == shared[0]).all()
        only, mostly = (clinical._rates(kind, 1, 3, rng) for kind in (clinical.ONLY, clinical.MOSTLY))
        assert only[[0, 2]].tolist() == [0, 0]
        assert 2 <= mostly[1] / mostly[0] <= 5


def test_an_oracle_recovers_everything_of_clinical_tables_and_an_empty_model_nothing():
    tables = {seed: clinical.simulate(seed) for seed in range(12)}
    # By chance another class may have more users than the one that was meant to.
    tables = {
        seed: table
        for seed, table in tables.items()
        if all(
            use_shares(clinical_oracle(table), table.y)[:, s].argmax() == pattern.role
            for s, pattern in enumerate(table.patterns)
            if pattern.kind in (clinical.ONLY, clinical.MOSTLY)
        )
    }
    assert len(tables) > 6
    perfect = power.clinical(lambda X, y, seed: clinical_oracle(tables[seed]), tables)
    names = ("patterns", "differences", "alterations", "unrelated")
    assert [perfect[name] for name in names] == [1, 1, 1, 0]
    nothing = power.clinical(fit_nothing, tables)
    assert [nothing[name] for name in names] == [0, 0, 0, 0]


def test_differences_alterations_and_unrelated_sets_are_not_given_away():
    users = np.array([True, True, False, False])
    planted = [
        clinical.PlantedPattern(frozenset({0, 1, 2}), frozenset(), clinical.ONLY, 0, users),
        clinical.PlantedPattern(frozenset({3, 4, 5}), frozenset({6, 7}), clinical.ALTERED, 1, users),
    ]
    table = clinical.ClinicalTable(np.zeros((4, 20), dtype=bool), np.array([0, 0, 1, 1]), planted)
    usage = np.stack([users, users, users], axis=1)

    def score(q, added):
        model = make_model([{0, 1}, {3, 4, 5}, {2, 8, 9}], usage, np.array(q), added, 20)
        found = power.score_clinical(table, model)
        assert (found["patterns"], found["unrelated"], found["sets"]) == (2, 1, 3)
        return found["differences"], found["alterations"]

    significant = [[0.01, 1, 1], [1, 1, 1]]
    assert score(significant, {(1, 1): {6}}) == (1, 1)
    assert score(significant, {(1, 1): {6, 10}}) == (1, 1)
    assert score(significant, {(1, 1): {6, 10, 11}}) == (1, 0)
    assert score(significant, {(0, 1): {6, 7}}) == (1, 0)
    assert score([[0.02, 1, 1], [1, 1, 1]], {}) == (0, 0)
    # Class 1 is no class that uses it most.
    assert score([[1, 1, 1], [0, 1, 1]], {}) == (0, 0)


# ---------------------------------------------------------------------- the other parts of power


def test_narrow_tables():
    X, _ = power.narrow_table(10, 0)
    assert X.shape == (1000, 10)
    assert 60 < X[:, :4].all(axis=1).sum() < 140

    def oracle(X, y, seed):
        return make_model([{0, 1, 2, 3}], X[:, :4].all(axis=1)[:, None], n=X.shape[1])

    assert power.narrow(oracle, [0]) == {"10 columns": 1, "15 columns": 1, "20 columns": 1, "other sets per table": 0}
    assert set(power.narrow(fit_nothing, [0]).values()) == {0}


def test_distinct_sets_share_less_than_half_of_their_items():
    first, half, third = frozenset({1, 2}), frozenset({2, 3}), frozenset({2, 4, 5})
    assert power.distinct([first, half]) == [first]
    assert power.distinct([third, first]) == [third]
    assert power.distinct([frozenset({1, 2, 3}), frozenset({3, 4, 5}), frozenset()]) == [{1, 2, 3}, {3, 4, 5}]


def test_groceries(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((400, 60)) < 0.1
    X[np.ix_(rng.random(400) < 0.1, [0, 1, 2])] = True
    (tmp_path / "data" / "baskets").mkdir(parents=True)
    sp.save_npz(tmp_path / "data" / "baskets" / "groceries.npz", sp.csr_array(X.astype(np.int8)))

    def fit(X, y, seed):
        return make_model([{0, 1, 2}, {5, 6}], np.zeros((len(X), 2), dtype=bool), n=60)

    assert power.groceries(fit, [0], tmp_path) == {"all baskets": 2, "one half": 2, "confirmed": 0.5}
    assert set(power.groceries(fit_nothing, [0], tmp_path).values()) == {0}


@pytest.mark.slow
def test_planted_matrices():
    usual = {**planted_experiment.USUAL, "columns": 800, "rows": 1000, "seed": 0}

    def oracle(X, y, seed):
        made = planted_experiment.plant(usual)
        names = ("components", "alterations", "usage")
        return SimpleNamespace(**{f"{name}_": getattr(made, name) for name in names}, row_labels_=made.y)

    assert set(power.planted(oracle, [0], ["10 %"]).values()) == {1}
    assert set(power.planted(fit_nothing, [0], ["10 %"]).values()) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_independent_items(kind):
    X, y = make_independent(kind, 0)
    assert X.dtype == bool
    assert len(X) == len(y)
    assert (make_independent(kind, 0)[0] == X).all()
    assert not np.array_equal(make_independent(kind, 1)[0], X)


def test_fits_with_a_pattern_are_counted():
    cases = ["Beta", power.PURE_NOISE]
    assert power.nulls(fit_nothing, [0, 1], cases) == {"independent items": 0, "pure noise": 0}

    def fit(X, y, seed):
        return make_model([{0, 1}] * (seed % 2), np.zeros((len(y), seed % 2), dtype=bool), n=X.shape[1])

    assert power.nulls(fit, [0, 1], ["Beta"]) == {"independent items": 0.5}
    runs = [{"case": "swapped vote", "patterns": 1}, {"case": "swapped zoo", "patterns": 0}]
    assert power.figures_of_nulls(runs) == {"swaps": 0.5}


def test_claims_of_a_model_without_a_table():
    y = np.array(["a"] * 10 + ["b"] * 10)
    usage = np.stack([y == "a", np.arange(20) % 2 == 0], axis=1)
    model = make_model([{0, 1}, {2, 3}], usage, np.array([[0.001, 0.001], [1, 1]]), {(1, 1): {4}}, 6)
    found = {(claim.pattern, claim.role, claim.kind, claim.items) for claim in claims_about(model, y)}
    # Both classes use the second one alike, whatever its q-value.
    assert found == {(0, "a", "mostly", frozenset({0, 1})), (1, "b", "added", frozenset({4}))}


def test_lines(monkeypatch):
    items = [f"square{k}={player}" for k in range(9) for player in "xo"]
    y = np.array(["positive", "negative"] * 10)
    rows = sp.csr_array((len(y), len(items)), dtype=bool)
    monkeypatch.setattr(power, "load", lambda name, data: (rows, y, items))

    def oracle(X, y, seed):
        sets = [line for player in "ox" for line in lines_of_three(items, player)]
        of_player = np.repeat([0, 1], 8)
        usage = np.stack([y == ("negative", "positive")[a] for a in of_player], axis=1)
        return make_model(sets, usage, np.where(of_player == np.array([[0], [1]]), 0.0, 1.0), n=X.shape[1])

    assert power.lines(oracle, [0]) == {"crosses": 8, "noughts": 8, "others": 0}
    assert set(power.lines(fit_nothing, [0]).values()) == {0}


@pytest.mark.slow
def test_wrong_labels():
    def oracle(X, y, seed):
        made = make_class_patterns(2, random_state=seed)
        sets = [items.tolist() for of_class in made.patterns for items in of_class]
        role = np.repeat([0, 1], [len(of_class) for of_class in made.patterns])
        usage = y[:, None] == role
        return make_model(sets, usage, np.where(role == np.array([[0], [1]]), 0.0, 1.0), n=X.shape[1])

    assert power.wrong_labels(oracle, [0], ["2 classes"]) == {"2 classes": 1}
    assert power.wrong_labels(fit_nothing, [0], ["2 classes"]) == {"2 classes": 0}


def test_patterns_that_come_back():
    one, near, other = frozenset(range(10)), frozenset(range(8)), frozenset({20, 21})
    assert jaccard(one, near) == 0.8
    assert power.count_returning([[one, other], [near]]) == {"patterns": 3, "back": 2}
    assert power.count_returning([[], []]) == {"patterns": 0, "back": 0}


@pytest.mark.slow
def test_rivals_are_fits():
    table = clinical.simulate(0)
    pytest.importorskip("mlxtend")
    model = rivals.fit_itemsets(table.X, table.y, 0)
    assert model.usage_.shape == (len(table.y), len(model.components_))
    assert set(power.score_clinical(table, model)) == set(power.score_clinical(table, clinical_oracle(table)))


# ---------------------------------------------------------------------- structure


@pytest.fixture
def table(monkeypatch):
    """Two classes of two kinds of rows each: a half of the items is frequent in each kind."""
    rng = np.random.default_rng(0)
    kind, y = rng.integers(0, 2, 240), rng.integers(0, 2, 240)
    frequencies = np.where(np.arange(16) < 8, kind[:, None], 1 - kind[:, None]) * 0.8 + 0.1
    X = rng.random((240, 16)) < frequencies
    X[:, 0] = y == 1
    labels = y.astype(str)
    monkeypatch.setattr(structure, "read", lambda name, data: (sp.csr_array(X), labels))
    return X, labels


def fit_densities(kind):
    """Return a fit of one of the models of what there is to learn."""

    def fit(X, y, seed):
        rng, labels = np.random.default_rng(seed), np.unique(y)
        of_class = {label: DENSITIES[kind](X[y == label], rng) for label in labels}
        model = fit_nothing(X, y, seed)

        def scores(rows):
            return np.stack([of_class[label](rows) for label in labels], axis=1)

        model.score_samples = lambda rows, y: scores(rows)[np.arange(len(y)), np.searchsorted(labels, y)]
        model.predict = lambda rows: labels[scores(rows).argmax(axis=1)]
        model.predict_proba = lambda rows: np.exp(scores(rows)) / np.exp(scores(rows)).sum(axis=1, keepdims=True)
        model.transform = lambda rows: np.zeros((len(rows), 0))
        return model

    return fit


@pytest.mark.slow
def test_nats_against_independent_items(table):
    assert structure.held_out(fit_densities("independent"), ["x"])["x"] == pytest.approx(1)
    mixtures, tree = (structure.held_out(fit_densities(kind), ["x"])["x"] for kind in ("mixtures", "tree"))
    assert mixtures < 0.8
    assert mixtures < tree < 1
    assert structure.to_learn("x", 0)["mixtures"] == pytest.approx(mixtures, rel=0.1)


def test_densities_are_those_of_probabilities():
    X = np.random.default_rng(0).random((60, 4)) < [0.1, 0.4, 0.5, 0.9]
    X[:, 1] |= X[:, 0]
    everything = (np.arange(16)[:, None] >> np.arange(4)) % 2 == 1
    for make in DENSITIES.values():
        assert np.exp(make(X, np.random.default_rng(0))(everything)).sum() == pytest.approx(1)


@pytest.mark.slow
def test_predictions(table):
    found = structure.predictions(fit_densities("independent"), ["x"])
    assert found["x: accuracy"] == pytest.approx(found["x: accuracy of NB"], abs=0.05)
    assert 0.9 < found["x: accuracy"] <= found["x: accuracy of LR"] + 0.05
    assert found["x: log loss"] < 0.3
    # Without features the most frequent class remains.
    assert 0.4 < found["x: transform"] < 0.7


# ---------------------------------------------------------------------- the table


def test_limits():
    assert Must(0.7).holds(0.6996)
    assert not Must(0.7).holds(0.699)
    assert Must(0.01, from_above=True).holds(0.01)
    assert not Must(0.01, from_above=True).holds(0.02)
    assert set(MUSTS) <= set(quality.PARTS)


def test_predictions_must_be_near_the_better_of_naive_bayes_and_the_release(monkeypatch, tmp_path):
    file = tmp_path / "release.json"
    file.write_text(json.dumps({"predict": {"x: accuracy": 0.9, "x: log loss": 0.5}}))
    monkeypatch.setattr("benchmarks.musts.RELEASE", file)
    figures = {"x: accuracy": 0.8, "x: accuracy of NB": 0.85, "x: log loss of NB": 0.4, "y: accuracy of NB": 0.7}
    found = musts_of("predict", figures)
    assert found["x: accuracy"].value == pytest.approx(0.89)
    assert found["x: log loss"] == Must(0.4, from_above=True)
    assert found["y: accuracy"].value == pytest.approx(0.69)


def run_quality(monkeypatch, folder, *options):
    command = ["quality", "--quick", "--tune", "--jobs", "1", "-o", str(folder), *options]
    monkeypatch.setattr(sys, "argv", command)
    quality.main()


def test_the_command_stores_figures_and_shows_the_last_ones(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(quality, "default_fit", fit_nothing)
    run_quality(monkeypatch, tmp_path, "--part", "narrow")
    stored = json.loads((tmp_path / "narrow-quick-tune.json").read_text())
    assert stored["figures"]["10 columns"] == 0
    assert len(stored["runs"]) == 12
    assert {"version", "commit", "seconds"} <= set(stored)
    assert "0 of 3 hold" in capsys.readouterr().out
    run_quality(monkeypatch, tmp_path, "--part", "narrow", "--show")
    assert "10 columns" in capsys.readouterr().out


def test_a_part_without_its_data_is_skipped(monkeypatch, tmp_path, capsys):
    run_quality(monkeypatch, tmp_path, "--part", "groceries,lines", "--data", str(tmp_path))
    printed = capsys.readouterr()
    assert "groceries: some or all of it is skipped" in printed.err
    assert "0 of 0 hold" in printed.out


def test_an_unknown_part_is_named(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_quality(monkeypatch, tmp_path, "--part", "nothing")
    assert "there is no part 'nothing'" in capsys.readouterr().err
