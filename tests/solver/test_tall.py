from __future__ import annotations

import os
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from saltmine import CSalt, Primp, metrics
from saltmine.data import blocks as data_blocks
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.blocks import row_sources
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.solver import tall
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.row_block import RowBlock, RowRule, RowSizes
from saltmine.solver.scoring import collect, find_carriers, score_model
from saltmine.solver.solution import SEARCHED, Solution
from saltmine.solver.tall_model import TallModel, TallStart
from tests.helpers.added import ask_as_blocks_do
from tests.helpers.models import assert_same_model

FIGURES = ("usage_counts_", "noise_counts_", "carrier_counts_", "item_counts_", "class_counts_")
SCORES = (
    "pattern_evidence_",
    "pattern_gain_",
    "alteration_gain_",
    "use_p_values_",
    "use_q_values_",
    "alteration_p_values_",
    "alteration_q_values_",
)


@pytest.fixture(scope="module")
def data():
    """Rows of both classes in turn, with a column that never occurs and rows that occur often."""
    planted = make_planted(80, [700, 500], rank=6, noise=0.05, random_state=3)
    order = np.random.default_rng(0).permutation(1200)
    cells = np.asarray(planted.X)[order]
    cells[1000:] = cells[np.arange(200) % 7]
    cells[:, 11] = False
    labels = np.asarray(planted.y)[order]
    labels[1000:] = labels[np.arange(200) % 7]
    return cells, labels


@pytest.fixture
def small_samples(monkeypatch):
    """Have a search look at 400 rows, so that small data is tall."""
    monkeypatch.setattr(tall, "MIN_ROWS", 400)
    monkeypatch.setattr(tall, "MAX_ROWS", 400)


@pytest.fixture
def in_blocks(monkeypatch):
    """Have a model in memory test what classes add as blocks do, which do not shuffle labels."""
    ask_as_blocks_do(monkeypatch)


@pytest.fixture
def cut(monkeypatch):
    """Return a function that sets the number of blocks that 1200 rows of 80 items are cut into."""
    monkeypatch.setattr(data_blocks, "ROWS_PER_CLASS", 0)
    return lambda count: monkeypatch.setattr(data_blocks, "ROW_BLOCK_CELLS", -(-1200 * 80 // count))


def test_blocks_of_many_classes_have_rows_of_each():
    """Every block counts all items by class: with many classes there are fewer blocks."""
    cells = np.zeros((60_000, 1000), dtype=bool)
    for n_classes, expected in [(1, 8), (2, 8), (60, 4), (1000, 1)]:
        numbers = np.arange(60_000) % n_classes
        blocks = row_sources(cells, Labels(numbers, n_classes), None, None, n_classes)
        assert len(blocks) == expected
        assert sum(len(part) for part, _ in blocks) == 60_000


def assert_same_looks(one, other):
    for seen, fresh in zip((one[0], *one[1]), (other[0], *other[1]), strict=True):
        np.testing.assert_array_equal(seen, fresh)


def test_what_a_block_looks_like_without_a_pattern_does_not_depend_on_what_was_looked_at_before(data):
    cells, labels = data[0], np.unique(data[1], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    sizes, alike = np.bincount(labels), RowSizes(np.zeros(81), np.zeros(81, dtype=np.intp))
    rules = [
        RowRule(np.repeat(rng.random(80)[None] < 0.3, 2, axis=0), np.full(80, 50), 5000.0, -90.0) for _ in range(3)
    ]

    def block():
        made = RowBlock(cells, labels, 2)
        made.begin(sizes, alike, 3)
        for s, rule in enumerate(rules):
            made.replace(s, rule, np.zeros(2, dtype=bool), rule.carry)
        return made

    old = block()
    assert old.state.usage.any(axis=1).all()
    for s in (0, 1, 2, 0, 2, 1):
        assert_same_looks(old.look(s), block().look(s))
    # Also after one of them has changed.
    new = block()
    for changed in (old, new):
        changed.replace(1, rules[2], np.zeros(2, dtype=bool), rules[2].carry)
    for s in (0, 1):
        assert_same_looks(old.look(s), new.look(s))


def bits_of(cells, labels):
    stacked = StackedMatrix.from_rows(cells, np.unique(labels, return_inverse=True)[1], len(np.unique(labels)))
    return stacked, BitMatrix(stacked.matrix, stacked.blocks)


def model_of(fitted, stacked):
    components, alterations = fitted.components_[:, stacked.items], fitted.alterations_[:, :, stacked.items]
    return BinaryModel(components.T.copy(), alterations.transpose(0, 2, 1).copy(), fitted.usage_[stacked.order])


def assert_same_figures(one, two):
    """Compare all figures; scores are summed up over blocks, in another order each time."""
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    for name in SCORES:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9, err_msg=name)
    pd.testing.assert_frame_equal(one.patterns(), two.patterns(), check_exact=False, rtol=1e-9)


@pytest.mark.slow
def test_tall_fits_find_what_is_planted(monkeypatch):
    planted = make_planted(120, [2100, 1500], rank=6, noise=0.05, random_state=4)
    monkeypatch.setattr(tall, "MAX_ROWS", 1200)
    monkeypatch.setattr(tall, "MIN_ROWS", 1200)
    assert tall.is_tall(planted.X.shape)
    sampled = CSalt(random_state=0).fit(planted.X, planted.y)
    monkeypatch.setattr(tall, "MAX_ROWS", 10_000)
    monkeypatch.setattr(tall, "MIN_ROWS", 10_000)
    assert not tall.is_tall(planted.X.shape)
    whole = CSalt(random_state=0).fit(planted.X, planted.y)
    # Noise in so many rows is worth a pattern more or two, by the start.
    assert abs(sampled.n_components_ - whole.n_components_) <= 2
    assert metrics.f_measure(planted, sampled) > metrics.f_measure(planted, whole) - 0.02
    assert sampled.description_length_ < 1.002 * whole.description_length_


@pytest.mark.slow
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_model_does_not_depend_on_the_blocks(data, small_samples, cut, as_given):
    cells, labels = data
    fits = []
    for count in (1, 5):
        cut(count)
        fits.append(CSalt(random_state=0).fit(as_given(cells), labels))
    assert fits[0].n_components_ > 3
    assert_same_model(*fits)
    assert_same_figures(*fits)


@pytest.mark.slow
def test_a_class_may_be_missing_from_a_block(data, small_samples, cut):
    cells, labels = data
    cut(5)
    mixed = CSalt(random_state=0).fit(cells, labels)
    by_class = np.argsort(labels, kind="stable")
    # The same sample: inside a class, rows are drawn by their places.
    sorted_rows = CSalt(random_state=0).fit(cells[by_class], labels[by_class])
    np.testing.assert_array_equal(sorted_rows.components_, mixed.components_)
    np.testing.assert_array_equal(sorted_rows.alterations_, mixed.alterations_)
    np.testing.assert_array_equal(sorted_rows.usage_, mixed.usage_[by_class])
    assert_same_figures(sorted_rows, mixed)


def length_without(fitted, data, s, a=None):
    """Return f of a model without a pattern, or without what a class adds to it, from dense arrays."""
    components, alterations, usage = fitted.components_, fitted.alterations_.copy(), fitted.usage_
    if a is None:
        rest = np.arange(len(components)) != s
        return metrics.description_length(*data, components[rest], alterations[:, rest], usage[:, rest])
    alterations[a, s] = False
    return metrics.description_length(*data, components, alterations, usage)


@pytest.mark.slow
def test_f_and_figures_are_those_of_the_model(data, small_samples, cut, in_blocks):
    cells, labels = data
    cut(3)
    fitted = CSalt(random_state=0).fit(cells, labels)
    parts = fitted.components_, fitted.alterations_, fitted.usage_
    assert fitted.description_length_ == pytest.approx(metrics.description_length(cells, labels, *parts), rel=1e-12)
    nothing = fitted.components_[:0], fitted.alterations_[:, :0], fitted.usage_[:, :0]
    without = metrics.description_length(cells, labels, *nothing)
    assert fitted.null_description_length_ == pytest.approx(without, rel=1e-12)
    stacked, bits = bits_of(cells, labels)
    model = model_of(fitted, stacked)
    scores, local = score_model(bits, model), LocalSearch(bits, model)
    np.testing.assert_allclose(fitted.pattern_evidence_, scores.evidence, rtol=1e-9)
    np.testing.assert_allclose(fitted.pattern_gain_, scores.gain, rtol=1e-9)
    np.testing.assert_allclose(fitted.alteration_gain_, scores.alteration_gain, rtol=1e-9)
    claims = fitted.use_p_values_, fitted.use_q_values_, fitted.alteration_p_values_, fitted.alteration_q_values_
    for found, expected in zip(claims, scores.claims, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    adds = fitted.alterations_.any(axis=2)
    shown = local.claim_evidence()[: fitted.n_components_].T
    np.testing.assert_allclose(fitted.alteration_evidence_[adds], shown[adds], rtol=1e-9)
    np.testing.assert_array_equal(np.isinf(shown), ~adds)
    for s in range(fitted.n_components_):
        assert fitted.pattern_evidence_[s] == pytest.approx(local.pattern_evidence(s), rel=1e-9)
        assert fitted.pattern_gain_[s] == pytest.approx(length_without(fitted, data, s) - fitted.description_length_)
        for a in np.flatnonzero(adds[:, s]):
            without = length_without(fitted, data, s, a)
            assert fitted.alteration_gain_[a, s] == pytest.approx(without - fitted.description_length_)
    assert adds.any()
    assert not adds[fitted.usage_counts_ == 0].any()
    np.testing.assert_array_equal(fitted.noise_counts_[:, stacked.items], bits.noise_counts(model))
    carriers = find_carriers(bits, model)
    for a, rows in enumerate(bits.blocks):
        np.testing.assert_array_equal(fitted.carrier_counts_[a], carriers[rows].sum(axis=0))


@pytest.mark.slow
def test_tables_are_those_of_a_fit_that_holds_all_rows(data, small_samples, cut, in_blocks):
    cells, labels = data
    cut(4)
    fitted = CSalt(random_state=0).fit(cells, labels)
    stacked, bits = bits_of(cells, labels)
    whole = CSalt()
    whole.__dict__.update(fitted.__dict__)
    by_number = Labels(np.unique(labels, return_inverse=True)[1], 2)
    length = fitted.description_length_
    solution = Solution(model_of(fitted, stacked), length, length)
    whole._store(collect(solution, stacked, bits, cells, by_number, fold=False), fitted.classes_, by_number)
    whole._count_having(cells, by_number.numbers)
    assert_same_figures(fitted, whole)
    np.testing.assert_array_equal(fitted.usage_, whole.usage_)


@pytest.mark.slow
def test_identical_rows_use_the_same(data, small_samples, cut):
    cells, labels = data
    cut(5)
    fitted = CSalt(random_state=0).fit(cells, labels)
    assert fitted.usage_[1000:].any()
    np.testing.assert_array_equal(fitted.usage_[1000:], fitted.usage_[np.arange(200) % 7])


def test_nothing_but_chance_gives_no_pattern(small_samples):
    noise = np.random.default_rng(5).random((1500, 30)) < 0.3
    fitted = CSalt(random_state=0).fit(noise, np.arange(1500) % 2)
    assert fitted.n_components_ == 0
    assert fitted.description_length_ == pytest.approx(fitted.null_description_length_)
    assert fitted.usage_.shape == (1500, 0)


def frequent_items(planted):
    """Return 1500 rows of two classes with items that are frequent and independent, and maybe a pattern."""
    rng = np.random.default_rng(0)
    cells, labels = rng.random((1500, 60)) < 0.05, np.arange(1500) % 2
    cells[:, :10] = rng.random((1500, 10)) < 0.9
    rows = rng.permutation(1500)[:300]
    if planted:
        cells[np.ix_(rows, range(20, 28))] = rng.random((300, 8)) < 0.95
    return cells, labels, rows


def assert_typical_row_of_frequent_items(fitted):
    assert fitted.typical_.tolist() == [True] + [False] * (fitted.n_components_ - 1)
    assert np.flatnonzero(fitted.components_[0]).tolist() == list(range(10))
    assert 2 * fitted.usage_[:, 0].sum() >= 1500
    assert not fitted.alterations_.any()


@pytest.mark.parametrize("kind", [CSalt, Primp])
def test_frequent_items_are_only_the_typical_row(small_samples, kind):
    cells, labels, _ = frequent_items(planted=False)
    fitted = kind(random_state=0).fit(cells, labels)
    assert_typical_row_of_frequent_items(fitted)
    assert fitted.n_components_ == 1
    assert set(fitted.patterns()["kind"]) == {"typical"}
    assert fitted.description_length_ < fitted.null_description_length_


@pytest.mark.slow
def test_the_typical_row_survives_beside_patterns(small_samples, cut):
    cells, labels, rows = frequent_items(planted=True)
    fits = []
    for count in (1, 4):
        cut(count)
        fits.append(CSalt(random_state=0).fit(cells, labels))
    assert_same_model(*fits)
    fitted = fits[0]
    assert_typical_row_of_frequent_items(fitted)
    having = [s for s in range(1, fitted.n_components_) if fitted.components_[s, 20:28].all()]
    assert having
    assert fitted.usage_[rows][:, having].any(axis=1).mean() > 0.95
    assert (fitted.pattern_evidence_[1:] >= -np.log(fitted.alpha)).all()
    parts = fitted.components_, fitted.alterations_, fitted.usage_
    assert fitted.description_length_ == pytest.approx(metrics.description_length(cells, labels, *parts), rel=1e-12)


@pytest.mark.slow
def test_evidence_is_a_number_however_many_rows_show_it(small_samples):
    """A class adds two items to a pattern in all of 2000 rows, no other row has them: q is too small for a number."""
    rng = np.random.default_rng(0)
    cells, labels = rng.random((8000, 30)) < 0.05, np.repeat([0, 1], 4000)
    cells[:2000, :6], cells[4000:6000, :4] = True, True
    fitted = CSalt(random_state=0).fit(cells, labels)
    added = fitted.patterns().query("kind == 'added'")
    assert set(added["item"]) == {4, 5}
    assert set(added["role"]) == {"0"}
    assert np.isfinite(added["evidence"]).all()
    assert (added["evidence"] > 700).all()


@pytest.mark.slow
def test_progress_goes_on_after_the_sample(data, small_samples):
    heard = []
    fitted = CSalt(random_state=0, callback=heard.append).fit(*data)
    refined = [now for now in heard if now.phase == "refinement"]
    assert sum(now.done > SEARCHED for now in refined) >= 2
    assert [now.done for now in refined] == sorted(now.done for now in refined)
    assert refined[-1].rank == fitted.n_components_


def test_data_without_ones(small_samples):
    fitted = CSalt(random_state=0).fit(np.zeros((1500, 30)), np.arange(1500) % 2)
    assert fitted.n_components_ == 0
    assert fitted.description_length_ == 0


@pytest.mark.slow
def test_primp_takes_all_classes_for_one(data, small_samples, cut):
    cells, labels = data
    cut(5)
    told, untold = Primp(random_state=0).fit(cells, labels), Primp(random_state=0).fit(cells)
    assert told.n_components_ > 3
    for name in ("components_", "usage_"):
        np.testing.assert_array_equal(getattr(told, name), getattr(untold, name), err_msg=name)
    np.testing.assert_allclose(told.pattern_evidence_, untold.pattern_evidence_, rtol=1e-9)
    assert not told.alterations_.any()
    np.testing.assert_array_equal(told.usage_counts_.sum(axis=0), untold.usage_counts_[0])
    np.testing.assert_array_equal(told.noise_counts_.sum(axis=0), untold.noise_counts_[0])
    for a, label in enumerate(told.classes_):
        np.testing.assert_array_equal(told.item_counts_[a], cells[labels == label].sum(axis=0))


def test_lazy_data_gives_the_model_of_memory(data, small_samples, client):
    import dask.array as da

    cells, labels = data
    here = CSalt(random_state=0).fit(cells, labels)
    lazy = da.from_array(cells, chunks=(300, 50))
    assert_same_model(here, CSalt(random_state=0).fit(lazy, labels))
    shared = CSalt(random_state=0, client=client).fit(lazy, labels)
    assert_same_model(here, shared)
    assert_same_figures(here, shared)


def test_a_cluster_shares_data_in_memory(data, small_samples, client):
    here = CSalt(random_state=0).fit(*data)
    assert_same_model(here, CSalt(random_state=0, client=client).fit(*data))


@pytest.mark.slow
def test_the_published_algorithm_looks_at_all_rows(data, small_samples):
    import dask.array as da

    cells, labels = data[0][:600], data[1][:600]
    options = {"algorithm": "paper", "max_iter": 1000, "max_rank": 5, "random_state": 0}
    here = CSalt(**options).fit(cells, labels)
    assert_same_model(here, CSalt(**options).fit(da.from_array(cells, chunks=200), labels))


def start_of(local):
    on = local.patterns()
    return TallStart(np.array([local.carry(s) for s in on]), local.used[on].astype(float), local.errors, [])


@pytest.mark.slow
def test_a_tall_model_agrees_with_a_local_search_that_holds_all_rows(data, in_blocks):
    cells, labels = data[0][:, data[0].any(axis=0)], data[1]
    stacked, bits = bits_of(cells, labels)
    planted = CSalt(random_state=0).fit(cells, labels)
    local = LocalSearch(bits, model_of(planted, stacked))
    blocks = [RowBlock(cells[k::3], labels[k::3], 2) for k in range(3)]
    with ThreadTeam(2) as team, LocalExecutor(blocks, team) as executor:
        tall_model = TallModel(executor, alterations=True, alpha=0.01)
        tall_model.run(start_of(local))
        same = np.zeros_like(planted.usage_)
        for k, part in enumerate(executor.query(RowBlock.usage_of, tall_model.patterns())):
            same[k::3] = part
        found = tall_model.model()
        whole = LocalSearch(bits, BinaryModel(found.X, found.V, same[stacked.order]))
        assert tall_model.length == pytest.approx(whole.length, rel=1e-12)
        # Started from a model that no move improves, it ends there, but for single rows that all patterns are asked
        # again for, or lower.
        assert tall_model.length < local.length * 1.0005
        assert len(tall_model.patterns()) > 3
        adds = found.V.any(axis=1)
        assert adds.any()
        np.testing.assert_allclose(
            tall_model.claim_evidence()[tall_model.patterns()], whole.claim_evidence()[: len(adds.T)], rtol=1e-9
        )
        for s, k in enumerate(tall_model.patterns()):
            assert tall_model.pattern_evidence(k) == pytest.approx(whole.pattern_evidence(s))
            assert tall_model.together(k) == pytest.approx(whole.together(s))
            assert tall_model.item_choice(k) == pytest.approx(whole.item_choice(s))
            use, added, adding = (test(k) for test in (tall_model.use_log_p, tall_model.added_log_p, tall_model.adding))
            np.testing.assert_array_equal(adding, adds[:, s])
            np.testing.assert_allclose(use, whole.use_log_p([s])[1][0])
            np.testing.assert_allclose(added, whole.added_log_p([s])[0])


@pytest.fixture
def fitted_in_blocks(data):
    """Return a model of patterns that overlap and that classes add to, and the blocks it is in."""
    cells, labels = data[0][:, data[0].any(axis=0)], data[1]
    stacked, bits = bits_of(cells, labels)
    local = LocalSearch(bits, model_of(CSalt(random_state=0).fit(cells, labels), stacked))
    with LocalExecutor([RowBlock(cells[k::3], labels[k::3], 2) for k in range(3)]) as executor:
        model = TallModel(executor, alterations=True, alpha=0.01)
        model.run(start_of(local))
        yield model


def results_of(model):
    return [(model.together(s), model.use_log_p(s), model.added_log_p(s)) for s in model.patterns()]


def test_what_was_tested_before_a_change_is_tested_again_where_it_matters(fitted_in_blocks):
    model = fitted_in_blocks
    adding = [s for s in model.patterns() if model.adding(s).any()]
    assert adding
    changes = [lambda: model.make_alike(adding[0], np.array([True, True])), lambda: model.remove(model.patterns()[0])]
    for change in changes:
        before = results_of(model)
        change()
        known = results_of(model)
        for memory in (model._together, model._use, model._added, model._views):
            memory.clear()
        anew = results_of(model)
        for one, other in zip(known, anew, strict=True):
            for part, same in zip(one, other, strict=True):
                np.testing.assert_array_equal(part, same)
        assert [float(together) for together, _, _ in before] != [float(together) for together, _, _ in anew]


def test_without_time_a_class_loses_what_it_adds_and_the_rest_stays(fitted_in_blocks):
    model = fitted_in_blocks
    s = next(s for s in model.patterns() if model.adding(s).any())
    a = int(np.flatnonzero(model.adding(s))[0])
    used, carry = model.used[s].copy(), model.carry[s].copy()
    model._is_over = True
    model.make_alike(s, np.arange(2) == a)
    np.testing.assert_array_equal(model.used[s], used)
    np.testing.assert_array_equal(model.carry[s][a], carry.all(axis=0))
    np.testing.assert_array_equal(model.carry[s][1 - a], carry[1 - a])


def test_without_time_no_class_is_left_with_rows_that_use_nothing():
    rng = np.random.default_rng(0)
    cells, labels = rng.random((1200, 12)) < 0.05, np.repeat(np.arange(3), 400)
    cells[:800, :5] |= rng.random((800, 5)) < 0.9
    cells[800:, 5:10] |= rng.random((400, 5)) < 0.9
    carry = np.zeros((1, 3, 12), dtype=bool)
    carry[0, :2, :5] = carry[0, 2, 5:10] = True
    with LocalExecutor([RowBlock(cells, labels, 3)]) as executor:
        model = TallModel(executor, alterations=True, alpha=0.01)
        model._begin(1)
        model._place(0, TallStart(carry, np.full(1, 1200.0), np.full(12, 60), []))
        assert model.used[0].min() > 300
        model._is_over = True
        model.make_alike(0, np.array([False, True, False]))
        assert model.used[0].any()
        assert (model.carry[0].any(axis=1) | (model.used[0] == 0)).all()
        assert model.length < model.null_length()


def test_a_worker_killed_in_the_middle_of_a_fit(data, small_samples, client):
    cells, labels = data
    killed = []

    def callback(now):
        # Some patterns have their rows by now, so that a block has changes to make again.
        if now.done > SEARCHED and not killed:
            killed.append(client.run(os.getpid).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)

    here = CSalt(random_state=0).fit(cells, labels)
    shared = CSalt(random_state=0, client=client, callback=callback).fit(cells, labels)
    assert len(killed) == 1
    assert_same_model(here, shared)
    assert_same_figures(here, shared)


def test_small_classes_are_in_the_sample():
    sizes = np.array([50_000, 150, 700])
    counts = sizes * tall.sample_shares(sizes, 4000)
    assert counts[1] == pytest.approx(150)
    assert counts[2] == pytest.approx(tall.MIN_ROWS_OF_CLASS)
    assert counts[0] == pytest.approx(4000, rel=0.02)


def test_a_typical_row_of_all_items_is_fitted():
    """Nothing is left that a class might add."""
    X = np.random.default_rng(0).random((41_000, 6)) < 0.9
    model = CSalt(random_state=0).fit(X, np.arange(len(X)) % 2)
    assert model.typical_.tolist() == [True]
    assert not model.alterations_.any()
