"""The joint NMF family: objectives, descent, rounding, and the estimator."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import JointNMF
from saltmine.baselines.joint_nmf import PENALTIES
from saltmine.baselines.joint_nmf_objectives import Alterations, best_unit_vector, descend, update_usage
from saltmine.baselines.joint_nmf_search import (
    JointSettings,
    Start,
    allowed_uses,
    class_shares,
    make_objective,
    round_joint,
    singular_start,
    sort_by_class,
    split_ranks,
)
from saltmine.data.bits import BitMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.metrics import alteration_recall, description_length, f_measure
from saltmine.parameters import spread_ranks
from saltmine.solver.relaxed.operator import DenseOperator
from tests.helpers.models import assert_same_model

ALPHA, BETA, STRENGTH = 0.7, 0.4, 2.0


# ---------------------------------------------------------------- objectives and their descent


class Case:
    """Random data with a row and an item of zeros, and random factors of it."""

    def __init__(self, penalty, n_classes, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(3, 9, size=n_classes)
        edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self.blocks = [slice(edges[a], edges[a + 1]) for a in range(n_classes)]
        self.matrix = rng.random((edges[-1], 11)) < 0.4
        self.matrix[0], self.matrix[:, 3] = False, False
        self.penalty = penalty
        self.ranks = (3,) + (0 if penalty == "inmf" else 2,) * n_classes
        uses = allowed_uses(self.ranks)
        self.usage = rng.random((edges[-1], sum(self.ranks)))
        for a, rows in enumerate(self.blocks):
            self.usage[rows] *= uses[a]
        start = Start(rng.random((11, sum(self.ranks))), self.usage, uses)
        settings = JointSettings(penalty, self.ranks, ALPHA, BETA, STRENGTH, max_iter=1, tol=0)
        self.objective = make_objective(settings, start, BitMatrix(self.matrix, self.blocks))

    def shared_and_own(self, a):
        """Return the patterns of a class that all share, and those that are its own."""
        patterns, uses = self.objective.patterns[a], self.objective.uses
        own = uses[a] & ~uses.all(axis=0)
        return patterns[:, uses.all(axis=0)], patterns[:, own]

    def naive(self):
        """Return the objective as the papers write it, on dense arrays."""
        classes, pairs = range(len(self.blocks)), list(combinations(range(len(self.blocks)), 2))
        rows = [self.matrix[block].astype(float) for block in self.blocks]
        fits = [self.usage[block] @ self.objective.patterns[a].T for a, block in enumerate(self.blocks)]
        errors = [((rows[a] - fits[a]) ** 2).sum() for a in classes]
        parts = [self.shared_and_own(a) for a in classes]
        if self.penalty == "inmf":
            altered = [self.usage[block] @ self.objective.altered[a].T for a, block in enumerate(self.blocks)]
            return sum(errors) + STRENGTH * sum((part**2).sum() for part in altered)
        if self.penalty == "jnmf":
            apart = sum(((parts[a][0] - parts[b][0]) ** 2).sum() for a, b in pairs)
            overlap = sum((parts[a][1].T @ parts[b][1]).sum() for a, b in pairs)
            return sum(errors[a] / len(rows[a]) for a in classes) + ALPHA * apart + BETA * overlap
        total = sum(errors[a] / max(rows[a].sum(), 1) for a in classes)
        if self.penalty == "jsmf":
            return total
        with_shared = sum(((part[0].T @ part[1]) ** 2).sum() for part in parts) if len(parts) > 1 else 0
        return total + ALPHA * with_shared + BETA * sum(((parts[a][1].T @ parts[b][1]) ** 2).sum() for a, b in pairs)

    def sums(self):
        """Return what the objectives know of data and usage."""
        products = np.stack([self.matrix[rows].T.astype(float) @ self.usage[rows] for rows in self.blocks])
        return products, np.stack([self.usage[rows].T @ self.usage[rows] for rows in self.blocks])


@pytest.mark.parametrize(("n_classes", "seed"), [(1, 0), (2, 1), (3, 2), (4, 0)])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_update_lowers_the_objective_of_the_papers(penalty, n_classes, seed):
    case = Case(penalty, n_classes, seed)
    first = before = case.naive()
    with ThreadTeam(1) as team:
        data = DenseOperator(case.matrix, case.blocks, team)
        for _ in range(8):
            update_usage(data, case.objective, case.usage)
            between = case.naive()
            assert between <= before + 1e-12 * first
            case.objective.update(*case.sums())
            before, after = between, case.naive()
            assert after <= before + 1e-12 * first
            before = after
            assert case.objective.value(*case.sums()) == pytest.approx(after, rel=1e-9)
    assert before < 0.9 * first
    assert min(case.objective.patterns.min(), case.usage.min()) >= 0


@pytest.mark.parametrize("penalty", ["jsmf", "rjsnmf", "jnmf"])
def test_patterns_stay_where_they_may_be_and_of_length_one(penalty):
    case = Case(penalty, 3, seed=5)
    with ThreadTeam(1) as team:
        descend(DenseOperator(case.matrix, case.blocks, team), case.objective, case.usage, max_iter=20, tol=0)
    lengths = np.linalg.norm(case.objective.patterns, axis=1)
    np.testing.assert_allclose(lengths, case.objective.uses, atol=1e-12)
    for a, rows in enumerate(case.blocks):
        assert not case.usage[rows][:, ~case.objective.uses[a]].any()
    if penalty != "jnmf":
        shared = case.objective.patterns[:, :, : case.ranks[0]]
        np.testing.assert_array_equal(shared, np.broadcast_to(shared[0], shared.shape))


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
def test_after_a_long_descent_no_other_usage_is_better(penalty):
    case = Case(penalty, 2, seed=1)
    with ThreadTeam(1) as team:
        data = DenseOperator(case.matrix, case.blocks, team)
        history = descend(data, case.objective, case.usage, max_iter=3000, tol=0)
    rng = np.random.default_rng(0)
    usage, least = case.usage.copy(), case.naive()
    assert least == pytest.approx(history[-1], rel=1e-9)
    for _ in range(50):
        pushed = np.maximum(usage + 1e-3 * rng.standard_normal(usage.shape), 0)
        for a, rows in enumerate(case.blocks):
            case.usage[rows] = pushed[rows] * case.objective.uses[a]
        assert case.naive() > least - 1e-7 * history[0]


@pytest.mark.parametrize("shift", [-2.0, 0.0, 1.0])
def test_no_other_unit_vector_has_a_larger_product(shift):
    rng = np.random.default_rng(0)
    for _ in range(20):
        target = rng.standard_normal(4) + shift
        best = best_unit_vector(target, np.zeros(4))
        assert np.linalg.norm(best) == pytest.approx(1)
        assert best.min() >= 0
        others = np.abs(rng.standard_normal((500, 4)))
        others = np.vstack([others / np.linalg.norm(others, axis=1, keepdims=True), np.eye(4)])
        assert best @ target >= (others @ target).max() - 1e-12


def test_an_unused_pattern_stays():
    before = np.array([0.6, 0.8])
    np.testing.assert_array_equal(best_unit_vector(np.zeros(2), before), before)


def test_the_descent_ends_by_tolerance_or_by_number():
    case = Case("jsmf", 2, seed=2)
    start = case.usage.copy()
    with ThreadTeam(1) as team:
        data = DenseOperator(case.matrix, case.blocks, team)
        assert len(descend(data, case.objective, case.usage, max_iter=4, tol=0)) == 5
        case, checks = Case("jsmf", 2, seed=2), []
        np.testing.assert_array_equal(case.usage, start)
        history = descend(data, case.objective, case.usage, 200, 0.01, lambda k, value: checks.append((k, value)))
    assert checks == list(enumerate(history))
    falls = -np.diff(history)
    assert falls[-1] <= 0.01 * history[0]
    assert (falls[:-1] > 0.01 * history[0]).all()


# ---------------------------------------------------------------- starts


@pytest.mark.parametrize("rank", [1, 3, 9])
def test_the_start_has_the_singular_vectors_of_blocks(rank):
    """Two blocks that do not overlap have singular vectors without signs: they are the patterns."""
    matrix = np.zeros((6, 7))
    matrix[:4, :3], matrix[4:, 3:] = 1, 1
    patterns, usage = singular_start(sp.csr_array(matrix), rank, np.random.default_rng(0))
    assert patterns.shape == (7, rank)
    assert usage.shape == (6, rank)
    assert min(patterns.min(), usage.min()) >= 0
    for s, (rows, items) in enumerate([(slice(0, 4), slice(0, 3)), (slice(4, 6), slice(3, 7))][:rank]):
        assert patterns[items, s].min() > np.delete(patterns[:, s], np.arange(7)[items]).max()
        assert usage[rows, s].min() > np.delete(usage[:, s], np.arange(6)[rows]).max()


def test_patterns_are_sorted_by_the_class_that_uses_them():
    usage = np.array([[1.0, 0.0, 1.0, 0.2], [1.0, 0.0, 1.0, 0.1], [0.0, 3.0, 1.0, 2.0], [0.1, 3.0, 1.0, 0.0]])
    shares = class_shares(usage, [slice(0, 2), slice(2, 4)])
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    assert split_ranks(shares) == (1, 1, 2)
    assert sort_by_class(shares, (1, 1, 2)) == [2, 0, 1, 3]
    assert sort_by_class(shares, (4, 0, 0)) == [0, 1, 2, 3]
    # More rows of a class do not make a pattern its own.
    many = np.repeat(usage, [1, 1, 50, 50], axis=0)
    np.testing.assert_allclose(class_shares(many, [slice(0, 2), slice(2, 102)]), shares)


# ---------------------------------------------------------------- rounding


def test_an_item_is_shared_where_all_classes_have_it_and_an_alteration_elsewhere():
    entries = np.array([[[0.9], [0.8], [0.1], [0.9], [0.0]], [[1.0], [0.9], [0.7], [0.2], [0.1]]])
    objective = Alterations(entries.min(axis=0), np.ones((2, 1), dtype=bool), np.ones(2), 1.0)
    objective.patterns = entries
    usage = np.array([[1.0], [1.0], [0.0], [1.0], [1.0], [1.0]])
    blocks = [slice(0, 3), slice(3, 6)]
    carried = entries[:, :, 0] > 0.5
    matrix = np.concatenate([(usage[rows] > 0.5) & carried[a] for a, rows in enumerate(blocks)])
    # The last item has to occur somewhere.
    matrix[2, 4] = True
    shares = []
    model, length = round_joint(objective, usage, BitMatrix(matrix, blocks), lambda f, done: shares.append((f, done)))
    np.testing.assert_array_equal(model.X[:, 0], [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(model.V[:, :, 0], [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])
    np.testing.assert_array_equal(model.Y[:, 0], [1, 1, 0, 1, 1, 1])
    assert length == min(f for f, _ in shares)
    assert np.all(np.diff([done for _, done in shares]) > 0)
    assert shares[-1][1] <= 1


# ---------------------------------------------------------------- planted data comes back


def plant(alterations, n_classes, seed):
    """Plant two shared patterns, and one of each class, on items of their own; alterations likewise, if any."""
    rng = np.random.default_rng(seed)
    rank, size, m = 2 + n_classes, 8, 60
    n = rank * size + 2 * n_classes * 3
    components, altered = np.zeros((rank, n), dtype=bool), np.zeros((n_classes, rank, n), dtype=bool)
    for s in range(rank):
        components[s, s * size : (s + 1) * size] = True
    y = np.repeat(np.arange(n_classes), m)
    usage = rng.random((len(y), rank)) < 0.3
    for a in range(n_classes):
        usage[:, 2 + a] &= y == a
        for s in range(2):
            start = rank * size + 3 * (2 * a + s)
            altered[a, s, start : start + 3] = alterations
    X = np.zeros((len(y), n), dtype=bool)
    for a in range(n_classes):
        X[y == a] = (usage[y == a].astype(int) @ (components | altered[a])) > 0
    return X, y, components, altered, usage


def as_sets(components, alterations, usage):
    """Return the patterns as a set that does not depend on their order."""
    return {
        (part.tobytes(), altered.tobytes(), used.tobytes())
        for part, altered, used in zip(
            components, np.ascontiguousarray(alterations.transpose(1, 0, 2)), np.ascontiguousarray(usage.T), strict=True
        )
    }


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (3, 1)])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_data_that_fits_the_model_comes_back_exactly(penalty, n_classes, seed):
    X, y, components, alterations, usage = plant(penalty in ("jnmf", "inmf"), n_classes, seed)
    ranks = 2 + n_classes if penalty == "inmf" else (2, 1)
    # At the default strength, what one class alone carries is half of it in the others.
    model = JointNMF(penalty=penalty, ranks=ranks, strength=1.0, n_restarts=5, random_state=seed).fit(X, y)
    found = as_sets(model.components_, model.alterations_, model.usage_)
    assert found == as_sets(components, alterations, usage)
    assert model.description_length_ == pytest.approx(description_length(X, y, components, alterations, usage))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_one_class_is_a_plain_factorization(penalty):
    X, y, components, alterations, usage = plant(False, 1, seed=0)
    model = JointNMF(penalty=penalty, ranks=3, random_state=0).fit(X, y)
    found = as_sets(model.components_, model.alterations_, model.usage_)
    assert found == as_sets(components, alterations, usage)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["inmf", "rjsnmf"])
def test_noisy_patterns_come_back_without_ranks(penalty):
    planted = make_planted(200, [150, 150], rank=6, noise=0.05, random_state=4)
    model = JointNMF(penalty=penalty, random_state=0).fit(planted.X, planted.y)
    assert f_measure(planted, model) > 0.9
    assert 5 <= model.n_components_ <= 10
    if penalty == "rjsnmf":
        assert not model.alterations_.any()
    else:
        assert alteration_recall(planted, model) > 0.5


def test_noise_has_no_patterns_without_ranks():
    X = np.random.default_rng(0).random((120, 90)) < 0.2
    model = JointNMF(random_state=0).fit(X, np.repeat([0, 1], 60))
    assert model.n_components_ == 0
    assert model.description_length_ == model.null_description_length_


# ---------------------------------------------------------------- the estimator


@pytest.fixture(scope="module")
def planted():
    """Return less data than other tests have: rounding takes as long whatever the data is."""
    return make_planted(60, [60, 60], rank=3, noise=0.03, largest=True, random_state=3)


@pytest.fixture(scope="module")
def fits(planted):
    """Return a function that gives the model of a penalty with four shared patterns, fitted once."""
    return cache(lambda penalty: JointNMF(penalty=penalty, ranks=4, random_state=0).fit(planted.X, planted.y))


@pytest.fixture
def fit(fits, few_thresholds):
    """Return this function for a test in which all fits try few thresholds."""
    return fits


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
def test_history_falls_and_counts_iterations(fit, penalty):
    model = fit(penalty)
    assert len(model.history_) == model.n_iter_ + 1 >= 2
    assert np.all(np.diff(model.history_) <= 1e-12 * model.history_[0])


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [(0, 2), (0, 3, 1), (1, 1), (2, 0)])
@pytest.mark.usefixtures("few_thresholds")
def test_class_wise_patterns_are_used_by_their_class_only(planted, ranks):
    model = JointNMF(penalty="jsmf", ranks=ranks, random_state=0).fit(planted.X, planted.y)
    used = model.usage_counts_ > 0
    limits = spread_ranks(ranks, 2)
    assert (used & ~used[::-1]).sum(axis=1).max(initial=0) <= limits[0] + max(limits[1:])
    assert used.all(axis=0).sum() <= limits[0]
    assert 0 < model.n_components_ <= sum(limits)


def test_no_ranks_at_all_give_no_patterns(planted):
    model = JointNMF(penalty="jnmf", ranks=(0, 0)).fit(planted.X, planted.y)
    assert model.n_components_ == 0
    assert model.description_length_ == model.null_description_length_


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
def test_sparse_and_dense_input_give_the_same_model(planted, fit, penalty):
    sparse = JointNMF(penalty=penalty, ranks=4, random_state=0).fit(sp.csr_array(planted.X), planted.y)
    assert_same_model(fit(penalty), sparse)


@pytest.mark.slow
def test_the_same_random_state_gives_the_same_model(planted):
    fits = [JointNMF(ranks=3, n_restarts=2, n_jobs=n, random_state=7).fit(planted.X, planted.y) for n in (1, 1, 2)]
    assert_same_model(fits[0], fits[1])
    assert_same_model(fits[0], fits[2])


@pytest.mark.slow
@pytest.mark.usefixtures("few_thresholds")
def test_restarts_keep_the_shortest_description():
    """The first starts are the same, however many there are."""
    X = np.random.default_rng(0).random((40, 25)) < 0.4
    y = np.repeat([0, 1], 20)
    models = [JointNMF(penalty="jsmf", ranks=10, n_restarts=n, random_state=0).fit(X, y) for n in (1, 2, 4)]
    lengths = [model.description_length_ for model in models]
    assert np.all(np.diff(lengths) <= 0)
    assert lengths[-1] < lengths[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalty", "ranks"), [("inmf", 30), ("inmf", None), ("jsmf", 30), ("rjsnmf", None), ("jnmf", 30), ("jnmf", None)]
)
@pytest.mark.usefixtures("few_thresholds")
def test_more_patterns_than_rows_or_items_and_classes_without_ones(penalty, ranks):
    X = np.zeros((9, 6), dtype=bool)
    X[:4, :3], X[2:5, 2:5] = True, True
    y = np.array([0, 0, 1, 1, 1, 0, 2, 2, 2])
    model = JointNMF(penalty=penalty, ranks=ranks, random_state=0).fit(X, y)
    assert not model.usage_[5:].any()
    assert not model.components_[:, 5].any()
    assert np.isfinite(model.description_length_)
    if ranks is not None:
        assert np.isfinite(model.history_).all()


@pytest.mark.slow
@pytest.mark.usefixtures("few_thresholds")
def test_a_callback_sees_rising_progress_and_may_end_the_fit(planted):
    seen = []
    JointNMF(random_state=0, callback=seen.append).fit(planted.X, planted.y)
    shares = [now.done for now in seen]
    assert np.all(np.diff(shares) >= 0)
    assert 0 <= shares[0] < shares[-1] <= 1

    def stop(now):
        raise KeyboardInterrupt

    model = JointNMF(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X, planted.y)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "nmf"}, "penalty must be 'inmf' or 'jsmf' or 'rjsnmf' or 'jnmf', not 'nmf'"),
        ({"penalty": None}, "penalty must be .* not None"),
        ({"ranks": -1}, "ranks must be the number of shared patterns.* not -1"),
        ({"ranks": (3,)}, "ranks must be the number of shared patterns"),
        ({"penalty": "jsmf", "ranks": (3, 1, 1, 1)}, "ranks has 4 entries, but 2 classes need 3"),
        ({"ranks": (3, 1)}, r"penalty='inmf' knows shared patterns only, .* not \(3, 1\); for patterns of single"),
        ({"alpha": -1.0}, "alpha must be a finite number of at least 0, or None, not -1.0"),
        ({"beta": float("inf")}, "beta must be a finite number of at least 0, or None, not inf"),
        ({"strength": None}, "strength must be a finite number of at least 0, not None"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, not 0"),
        ({"tol": -0.1}, "tol must be a finite number of at least 0, not -0.1"),
        ({"n_restarts": 0}, "n_restarts must be a whole number of at least 1, not 0"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"random_state": "a"}, "random_state must be a whole number"),
        ({"binarize": "a"}, "binarize must be a number"),
        ({"verbose": -1}, "verbose must be a whole number"),
        ({"callback": 1}, "callback must be a function"),
    ],
)
def test_wrong_parameters_get_one_sentence(planted, parameters, message):
    with pytest.raises(ValueError, match=message):
        JointNMF(**parameters).fit(planted.X, planted.y)


@pytest.mark.slow
def test_ranks_of_classes_that_are_all_zero_suit_inmf(planted, fit):
    model = JointNMF(ranks=(4, 0, 0), random_state=0).fit(planted.X, planted.y)
    assert_same_model(model, fit("inmf"))
