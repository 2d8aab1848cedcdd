"""Asso: candidates by their definition, gains by brute force, and data without noise comes back."""

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.baselines.asso import Asso
from saltmine.baselines.asso_search import TAUS, GreedyCover, associations, check_size, distinct_sets, item_layout
from saltmine.data.bits import BitMatrix
from saltmine.datasets import make_planted
from saltmine.metrics import f_measure, residual
from saltmine.solver.scoring import description_length
from tests.helpers.baselines import check_progress, non_overlapping, same_sets
from tests.helpers.models import assert_same_model

BLOCKS = [slice(0, 20), slice(20, 29), slice(29, 80)]


@pytest.fixture
def matrix():
    """Return 80 rows in three classes with 70 items, more than a word of each, every item present."""
    rng = np.random.default_rng(4)
    matrix = rng.random((80, 70)) < 0.3
    matrix[:8, :30] |= rng.random((8, 30)) < 0.8
    matrix[0] = True
    return matrix


@pytest.fixture
def bits(matrix):
    return BitMatrix(matrix, BLOCKS)


def unpacked(words, n=70):
    return item_layout(n).unpack(words)


# ---------------------------------------------------------------- candidates


@pytest.mark.parametrize("tau", [0.1, 0.3, 0.5, 1.0])
def test_associations_follow_their_definition(matrix, bits, team, tau):
    for words, rows in [(None, slice(None)), *((bits.layout.words(a), block) for a, block in enumerate(BLOCKS))]:
        found = unpacked(associations(bits, tau, team, check_progress, words))
        part = matrix[rows].astype(int)
        for i in range(70):
            expected = part[:, i] @ part / part[:, i].sum() >= tau if part[:, i].any() else np.zeros(70, dtype=bool)
            np.testing.assert_array_equal(found[i], expected)


def test_distinct_sets_are_all_larger_sets_once():
    sets = np.random.default_rng(0).random((300, 5)) < 0.4
    distinct = unpacked(distinct_sets(item_layout(5).pack(sets)), 5)
    assert len(np.unique(distinct, axis=0)) == len(distinct)
    assert same_sets(distinct, sets[sets.sum(axis=1) > 1])


def test_single_items_are_candidates_only_where_there_is_nothing_else():
    assert unpacked(distinct_sets(item_layout(4).pack(np.eye(4, dtype=bool))), 4).sum() == 4
    model = Asso(rank=2).fit(np.eye(4))
    assert model.components_.sum(axis=1).tolist() == [1, 1]


def test_data_that_is_too_large_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"Asso compares all pairs of items, .* 60,000 of them; keep the 50,000"):
        check_size((10, 60_000), "Asso")
    with pytest.raises(ValueError, match="Asso takes at most 200,000,000 cells, and 1,000,000 rows of 1,000 items"):
        check_size((1_000_000, 1000), "Asso")


# ---------------------------------------------------------------- the greedy cover


def ignore_step(rank, length, done):
    pass


def gains_by_hand(matrix, covered, candidate, w_plus, w_minus):
    newly = candidate & ~covered
    return w_plus * (newly & matrix).sum(axis=1) - w_minus * (newly & ~matrix).sum(axis=1)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 1.0), (0.7, 1.9)])
def test_gains_rows_and_losses_are_those_of_brute_force(matrix, bits, team, weights):
    candidates = distinct_sets(associations(bits, 0.4, team, check_progress))
    cover = GreedyCover(bits, candidates, team, ignore_step, weights)
    covered = np.zeros_like(matrix)
    sets = unpacked(candidates)
    for step in range(5):
        gains = np.array([gains_by_hand(matrix, covered, items, *weights) for items in sets]).clip(0)
        by_class = np.stack([gains[:, block].sum(axis=1) for block in BLOCKS], axis=1)
        np.testing.assert_allclose(cover.gains, by_class, atol=1e-9)
        block = None if step % 2 else BLOCKS[2]
        best = int(np.argmax(by_class.sum(axis=1) if block is None else by_class[:, 2]))
        users = np.flatnonzero(gains[best] > 0)
        users = users if block is None else users[users >= block.start]
        cover.add(best, block)
        np.testing.assert_array_equal(cover.patterns[-1].rows, users)
        covered[users] |= sets[best]
        errors = weights[0] * (matrix & ~covered) + weights[1] * (covered & ~matrix)
        np.testing.assert_allclose(cover.loss, [errors[rows].sum() for rows in BLOCKS])
        assert cover.length == pytest.approx(description_length(bits, cover.solution(np.ones(3)).model))


def test_a_copy_is_independent(bits, team):
    cover = GreedyCover(bits, distinct_sets(associations(bits, 0.4, team, check_progress)), team, ignore_step)
    before = cover.gains.copy()
    other = cover.copy(ignore_step)
    other.add(int(np.argmax(cover.gains.sum(axis=1))))
    assert not cover.patterns
    np.testing.assert_array_equal(cover.gains, before)
    assert (other.gains != before).any()


def test_the_first_pattern_is_the_best_of_all_candidates(matrix, team):
    whole = BitMatrix(matrix, [slice(0, 80)])
    sets = unpacked(distinct_sets(associations(whole, 0.4, team, check_progress)))
    best = max(gains_by_hand(matrix, np.zeros_like(matrix), items, 1.0, 1.0).clip(0).sum() for items in sets)
    model = Asso(rank=1, tau=0.4).fit(matrix)
    assert model.history_[0] == matrix.sum() - best
    assert model.history_[0] == residual(model, matrix, np.zeros(80))


# ---------------------------------------------------------------- the estimator


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", [{}, {"rank": 7}, {"tau": 0.9}, {"rank": 7, "tau": 0.9}])
def test_patterns_without_noise_come_back(seed, parameters):
    X, _, items, usage = non_overlapping(np.random.default_rng(seed))
    model = Asso(**parameters).fit(X)
    assert same_sets(np.hstack([model.components_, model.usage_.T]), np.hstack([items, usage.T]))


def test_every_pattern_reduces_the_errors(planted):
    model = Asso(rank=12, tau=0.3).fit(planted.X)
    assert len(model.history_) == model.n_components_ > 3
    assert (np.diff(model.history_) < 0).all()
    assert model.history_[0] < planted.X.sum()
    assert model.history_[-1] == residual(model, planted.X, planted.y)


@pytest.mark.slow
def test_what_is_not_given_is_chosen_by_description_length(planted):
    free = Asso().fit(planted.X)
    for tau in TAUS:
        at_rank = Asso(tau=tau, rank=free.n_components_).fit(planted.X)
        assert free.description_length_ <= at_rank.description_length_ + 1e-6
    best = Asso(tau=0.5).fit(planted.X)
    for rank in range(1, best.n_components_ + 5):
        assert best.description_length_ <= Asso(tau=0.5, rank=rank).fit(planted.X).description_length_ + 1e-6


def test_heavy_zeros_are_never_covered_and_heavy_ones_nearly_always():
    planted = make_planted(60, [80], rank=3, noise=0.1, random_state=1)
    strict = Asso(rank=10, tau=0.4, w_minus=1000).fit(planted.X)
    assert strict.n_components_ > 0
    assert not ((strict.usage_.astype(int) @ strict.components_ > 0) & ~planted.X).any()
    eager = Asso(rank=10, tau=0.4, w_plus=1000).fit(planted.X)
    covered = {name: (m.usage_.astype(int) @ m.components_ > 0).sum() for name, m in [("s", strict), ("e", eager)]}
    assert covered["e"] > covered["s"]


def test_labels_and_sparse_storage_change_nothing(planted):
    model = Asso(rank=3).fit(planted.X, planted.y)
    assert_same_model(Asso(rank=3).fit(sp.csr_array(planted.X), planted.y), model)
    np.testing.assert_array_equal(Asso(rank=3).fit(planted.X).components_, model.components_)
    assert f_measure(planted, model) > 0.9


@pytest.mark.parametrize("parameters", [{}, {"rank": 5, "tau": 0.3}])
def test_progress_moves_on(planted, parameters):
    seen = []
    Asso(callback=seen.append, **parameters).fit(planted.X)
    done = [now.done for now in seen]
    assert done == sorted(done)
    assert 0 <= done[0] < 0.1
    assert 0.3 < done[-1] <= 1
    assert max(now.rank for now in seen) >= 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be a whole number of at least 1, or None, not 0"),
        ({"tau": 0}, "tau must be above 0 and at most 1, or None, not 0"),
        ({"tau": 1.5}, "tau must be above 0 and at most 1, or None, not 1.5"),
        ({"w_plus": -1}, "w_plus must be a finite number of at least 0, not -1"),
        ({"w_minus": "much"}, "w_minus must be a finite number of at least 0, not 'much'"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Asso(**parameters).fit(np.eye(3))
