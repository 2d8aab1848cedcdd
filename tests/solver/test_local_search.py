"""Moves on binary models: the length they keep up to date, what they may change, and the significance filter."""

from itertools import product

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.mdl.code_length import cross_weights, item_length, specificity
from saltmine.mdl.evidence import log_choices
from saltmine.mdl.item_choice import FREQUENT, ItemsWithout, choose_items
from saltmine.metrics import description_length
from saltmine.solver import kernels
from saltmine.solver.local_search import LocalSearch


def random_case(seed, sizes=(70, 5, 130), n=12, rank=4, density=0.4):
    """Return bit sets of random data, whose classes fill no whole words, and a random model of it."""
    rng = np.random.default_rng(seed)
    m, c = sum(sizes), len(sizes)
    edges = np.cumsum([0, *sizes])
    blocks = [slice(edges[a], edges[a + 1]) for a in range(c)]
    matrix = rng.random((m, n)) < density
    matrix[0] = True
    X = rng.random((n, rank)) < 0.3
    X[0] = True
    V = repair_alterations(X, rng.random((c, n, rank)) < 0.2)
    Y = rng.random((m, rank)) < 0.3
    return BitMatrix(matrix, blocks), drop_idle_parts(BinaryModel(X, V, Y), blocks), matrix


def planted_case(seed=0, **settings):
    planted = make_planted(200, [150, 150], rank=6, random_state=seed, **settings)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2, keep_absent=True)
    truth = BinaryModel(planted.components.T, planted.alterations.transpose(0, 2, 1), planted.usage[data.order])
    return BitMatrix(data.matrix, data.blocks), truth


def reference_length(bits, model, matrix):
    """Return f with saltmine's specificity term, from the formula."""
    sizes = [rows.stop - rows.start for rows in bits.blocks]
    weights, term, printed = cross_weights(sizes), 0.0, 0
    for a, b in product(range(len(weights)), repeat=2):
        rows = bits.blocks[b]
        hits = matrix[rows].astype(int).T @ model.Y[rows]
        misses = (~matrix[rows]).astype(int).T @ model.Y[rows]
        printed += ((misses if a == b else hits) * model.V[a]).sum()
        if a != b:
            term += weights[a, b] * (hits * (model.V[a] & ~model.V[b])).sum()
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    length = description_length(matrix, numbers, model.X.T, model.V.transpose(0, 2, 1), model.Y)
    return length - printed + term


@pytest.mark.parametrize("sizes", [(205,), (70, 135), (70, 5, 130), (64, 64, 1, 76)])
@pytest.mark.parametrize("seed", range(3))
def test_the_length_of_any_model_is_that_of_the_formula(seed, sizes):
    bits, model, matrix = random_case(seed, sizes)
    local = LocalSearch(bits, model)
    assert local.length == pytest.approx(reference_length(bits, model, matrix))
    np.testing.assert_array_equal(local.state.errors, bits.noise_counts(model).sum(axis=0))
    same = local.model()
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name))


def assert_consistent(local, matrix):
    model = local.model()
    assert not (model.X & model.V).any()
    assert not model.V.all(axis=0).any()
    np.testing.assert_array_equal(local.state.errors, local.bits.noise_counts(model).sum(axis=0))
    again = LocalSearch(local.bits, model)
    # The returned model is without usage that describes nothing, so it can only be shorter.
    assert again.length <= local.length + 1e-6
    assert again.length == pytest.approx(reference_length(local.bits, model, matrix))


@pytest.mark.parametrize("sizes", [(205,), (70, 135), (70, 5, 130)])
def test_moves_lower_the_length_and_keep_it_up_to_date(sizes):
    bits, model, matrix = random_case(1, sizes, n=40, rank=9, density=0.3)
    local = LocalSearch(bits, model)
    local.refit(trim=True)
    rng = np.random.default_rng(0)
    with ThreadTeam(1) as team:
        for move in (
            local.merge,
            local.split,
            local.refit,
            lambda: local.grow_from_residual(50, rng, team),
        ):
            before = local.length
            move()
            assert local.length <= before + 1e-6
            assert_consistent(local, matrix)
    for move in (local.drop_insignificant, local.split_unrelated_classes, lambda: local.truncate(2)):
        move()
        assert_consistent(local, matrix)
    assert len(local.patterns()) <= 2


def test_a_move_that_does_not_help_leaves_no_trace():
    bits, truth = planted_case(noise=0.05)
    local = LocalSearch(bits, truth)
    local.refit(trim=True)
    before, length = [part.copy() for part in local.state], local.length
    on = local.patterns()
    rows = [local.state.usage[s].copy() for s in on]
    assert not local._replace([on[0], on[1]], [rows[0]])
    assert not local._replace([on[2]], [])
    assert not local._replace([on[2]], [rows[3], rows[4], rows[5]])
    assert not local._replace([], [np.zeros_like(rows[0])])
    assert local.length == length
    for now, then in zip(local.state, before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_items_are_chosen_as_well_as_by_trying_everything():
    """For given rows, every item gets the best of: out, shared, carried by any proper subset of the classes."""
    bits, model, _ = random_case(3, (40, 50), n=10, rank=2, density=0.5)
    local = LocalSearch(bits, model)
    without = local._leave_out(0)
    data, rows = local.data, local.state.usage[0]
    cells = np.empty((3, 2, 10), dtype=np.int64)
    kernels.count_cells(data, without, rows, cells)
    new = kernels.Pattern(rows.copy(), np.zeros((2, 10), dtype=bool), without.errors.copy())
    log_total = 6.0
    no_evidence = np.zeros(10), np.zeros(10)
    seen = ItemsWithout(data.costs, cells, without.background, without.errors, log_total, True)
    choose_items(seen, True, no_evidence, (-np.inf, -np.inf), new.carry, new.errors)

    def cost(i, carriers):
        carriers = np.array(carriers)
        saved = ((cells[0, :, i] - cells[1, :, i]) * carriers).sum()
        table = data.costs.codes[i] * (1 if carriers.all() else carriers.sum())
        errors = item_length(data.costs.counted, data.costs.codes[i], int(without.errors[i] - saved), log_total)
        return errors + table + specificity(data.costs.cross, cells, i, carriers)

    assert new.carry.any()
    for i in range(10):
        best = min(cost(i, carriers) for carriers in product([False, True], repeat=2))
        assert cost(i, new.carry[:, i]) == pytest.approx(best)


def test_chosen_items_are_the_best_of_those_that_show_enough():
    n, rng = 400, np.random.default_rng(0)
    bits, model, _ = random_case(5, (40, 50), n=n, rank=2, density=0.5)
    local = LocalSearch(bits, model)
    without, data, rows = local._leave_out(0), local.data, local.state.usage[0]
    cells = np.empty((3, 2, n), dtype=np.int64)
    kernels.count_cells(data, without, rows, cells)
    for_one, for_zero, min_evidence = rng.uniform(0, 1, n), -rng.uniform(0, 1, n), (2.0, 2.5)
    shown, gain = cells[0] * for_one + cells[1] * for_zero, cells[0] - cells[1]
    seen = ItemsWithout(data.costs, cells, without.background, without.errors, 6.0, True)
    for allow_frequent in (False, True):
        new = kernels.Pattern(rows.copy(), np.zeros((2, n), dtype=bool), without.errors.copy())
        choose_items(seen, allow_frequent, (for_one, for_zero), min_evidence, new.carry, new.errors)
        frequent = allow_frequent & (without.background >= FREQUENT)
        # Of the classes that might carry it alone, the one that gains most is asked.
        first = np.eye(2, dtype=bool)[:, gain.argmax(axis=0)]
        enough = {
            "none": (np.zeros((2, n), bool), np.ones(n, bool)),
            "all": (np.ones((2, n), bool), (shown.sum(axis=0) >= min_evidence[0]) | frequent),
            "one": (
                first,
                (gain.max(axis=0) > 0) & (shown.max(axis=0, where=first, initial=-np.inf) >= min_evidence[1]),
            ),
        }
        chosen = {name: (new.carry == carry).all(axis=0) for name, (carry, _) in enough.items()}
        lengths = {}
        for name, (carry, allowed) in enough.items():
            assert chosen[name].any()
            assert allowed[chosen[name]].all()
            left = without.errors - (gain * carry).sum(axis=0)
            lengths[name] = np.where(allowed, data.costs.counted[left] + data.costs.codes + (left + 1) * 6.0, np.inf)
            lengths[name][allowed & (left == 0)] = 0.0
        lengths["all"] += data.costs.codes
        met = [specificity(data.costs.cross, cells, i, first[:, i].copy()) for i in range(n)]
        lengths["one"] += data.costs.codes + met
        assert sum(chosen.values()).tolist() == [1] * n
        best = np.min(list(lengths.values()), axis=0)
        np.testing.assert_allclose(sum(np.where(chosen[name], lengths[name], 0) for name in lengths), best)


@pytest.mark.parametrize("n_frequent", [5, 40])
def test_frequent_items_join_a_pattern_of_some_classes_if_they_are_few(n_frequent):
    """Rows of the first class have twenty items of their own, and like most rows of both the frequent ones."""
    rng = np.random.default_rng(0)
    matrix = np.hstack([rng.random((200, 100)) < 0.02, rng.random((200, n_frequent)) < 0.9])
    rows, own = slice(0, 60), slice(0, 20)
    matrix[rows, own] = rng.random((60, 20)) < 0.9
    bits = BitMatrix(matrix, [slice(0, 100), slice(100, 200)])
    Y = np.zeros((200, 1), dtype=bool)
    Y[rows] = True
    X = np.zeros((100 + n_frequent, 1), dtype=bool)
    X[own] = True
    carried = {}
    for tested in (False, True):
        local = LocalSearch(bits, BinaryModel(X, np.zeros((2, *X.shape), dtype=bool), Y))
        if tested:
            local.drop_insignificant()
        local.refit()
        carried[tested] = local.model().X[:, 0]
        assert carried[tested][own].all()
    assert carried[False][100:].all()
    assert carried[True][100:].all() == (n_frequent == 5)
    assert carried[True][100:].any() == (n_frequent == 5)


def test_cells_are_counted_with_their_weights_in_all_words():
    rng = np.random.default_rng(0)
    m, n, blocks = 300, kernels.ITEMS_AT_ONCE + 44, [slice(0, 200), slice(200, 300)]
    matrix, weights = rng.random((m, n)) < 0.4, Weights(np.ones(n, dtype=int), rng.integers(1, 6, m))
    bits = BitMatrix(matrix, blocks, weights)
    Y = np.zeros((m, 2), dtype=bool)
    Y[rng.choice(m, 60, replace=False), 1] = True
    X = rng.random((n, 2)) < 0.5
    local = LocalSearch(bits, BinaryModel(X, np.zeros((2, n, 2), bool), Y))
    # Rows of the first class only, few enough to leave words empty.
    for chosen in (np.flatnonzero(rng.random(m) < 0.3), np.array([3, 150])):
        rows = np.zeros((1, m), dtype=bool)
        rows[0, chosen] = True
        cells = np.empty((3, 2, n), dtype=np.int64)
        kernels.count_cells(local.data, local._leave_out(0), bits.layout.pack(rows)[0], cells)
        open_ = ~(Y[:, 1:] & X[:, 1])
        for a, block in enumerate(blocks):
            of = (rows[0] * weights.rows)[block]
            np.testing.assert_array_equal(cells[0, a], of @ (open_ & matrix)[block])
            np.testing.assert_array_equal(cells[1, a], of @ (open_ & ~matrix)[block])
            np.testing.assert_array_equal(cells[2, a], of @ matrix[block])


def test_rows_are_weighed_by_what_they_save():
    bits, model, matrix = random_case(4, (40, 50), n=10, rank=2)
    local = LocalSearch(bits, model)
    without = local._leave_out(0)
    pattern = kernels.Pattern(local.state.usage[0], local.state.carry[0], local.state.errors)
    gains, shown = np.empty(64 * len(local.data.row_mask)), np.empty(64 * len(local.data.row_mask))
    weights = np.arange(10.0), -np.arange(10.0)
    kernels.weigh_rows(local.data, without, pattern, 500.0, weights, gains, shown)
    open_ = ~(model.Y[:, 1:] @ np.ones((1, 10), bool))
    for a, rows in enumerate(bits.blocks):
        open_[rows] = ~(model.Y[rows, 1:2] & (model.X | model.V[a])[:, 1])
    worth = np.log(500.0 / np.maximum(local.state.errors, 0.5))
    cross = cross_weights([40, 50])
    for a, rows in enumerate(bits.blocks):
        carried = (model.X | model.V[a])[:, 0]
        sign = np.where(matrix[rows], 1, -1) * open_[rows] * carried
        met = matrix[rows] * (cross[1 - a, a] * (model.V[1 - a, :, 0] & ~carried))
        place = 64 * local.data.edges[a] + np.arange(rows.stop - rows.start)
        np.testing.assert_allclose(gains[place], (sign * worth - met).sum(axis=1))
        np.testing.assert_allclose(shown[place], (sign * weights[0]).sum(axis=1))


# ---------------------------------------------------------------- single moves


def test_pieces_of_a_pattern_are_merged():
    bits, truth = planted_case(noise=0.05)
    halves = np.zeros((truth.Y.shape[0], 2), dtype=bool)
    halves[::2, 0], halves[1::2, 1] = truth.Y[::2, 0], truth.Y[1::2, 0]
    pieces = BinaryModel(
        np.hstack([truth.X, truth.X[:, :1]]),
        np.concatenate([truth.V, truth.V[:, :, :1]], axis=2),
        np.hstack([halves[:, :1], truth.Y[:, 1:], halves[:, 1:]]),
    )
    local = LocalSearch(bits, pieces)
    assert local.merge()
    assert len(local.patterns()) == truth.rank


def test_patterns_of_two_classes_in_one_are_split():
    bits, truth = planted_case(noise=0.05)
    # Membership repeats: both classes, the second, the first.
    only_second, only_first = 1, 2
    joint_V = truth.V.copy()
    joint_V[1, :, only_second] = truth.X[:, only_second] & ~truth.X[:, only_first]
    joint_V[0, :, only_second] = truth.X[:, only_first] & ~truth.X[:, only_second]
    X, Y = truth.X.copy(), truth.Y.copy()
    X[:, only_second] = truth.X[:, only_first] & truth.X[:, only_second]
    Y[:, only_second] |= truth.Y[:, only_first]
    keep = np.delete(np.arange(truth.rank), only_first)
    joint = BinaryModel(X, joint_V, Y).keep(keep)
    local = LocalSearch(bits, joint)
    assert not local.split() or len(local.patterns()) == truth.rank
    local.split_unrelated_classes()
    assert len(local.patterns()) == truth.rank
    used = np.stack([local.model().Y[rows].any(axis=0) for rows in bits.blocks])
    assert (used.sum(axis=0) == 1).sum() == 4


def test_a_lost_pattern_comes_back_from_seeds():
    bits, truth = planted_case(noise=0.05)
    local = LocalSearch(bits, truth.keep(np.arange(1, truth.rank)))
    local.refit(trim=True)
    with ThreadTeam(2) as team:
        assert local.grow_from_residual(200, np.random.default_rng(0), team)
    found = local.model()
    assert ((found.X.T & truth.X[:, 0]).sum(axis=1) > 0.8 * truth.X[:, 0].sum()).any()


def test_there_is_room_for_any_number_of_patterns():
    bits, model, matrix = random_case(0, n=30, rank=3)
    local = LocalSearch(bits, model)
    before = local.length
    for _ in range(3):
        local._make_room(70)
        assert np.count_nonzero(local.state.used == 0) >= 70
    assert local._total() == before
    assert_consistent(local, matrix)
    local.refit()
    assert_consistent(local, matrix)


# ---------------------------------------------------------------- chance


def test_large_classes_do_not_outweigh_a_small_one_and_many_not_one():
    weights = cross_weights([50, 950])
    assert weights[0, 1] * 950 == pytest.approx(50)
    for c in (2, 5, 10):
        assert cross_weights([30] * c).sum(axis=1) == pytest.approx(np.ones(c))
    assert cross_weights([7]).tolist() == [[0.0]]


def test_the_likelihood_ratio_of_a_fixed_pattern_is_one_on_average_under_chance():
    """This is what makes exp(-evidence) a bound on a probability."""
    rng = np.random.default_rng(0)
    frequency = np.array([0.05, 0.2, 0.2, 0.5, 0.9, 0.3])
    X, Y = np.zeros((6, 1), dtype=bool), np.zeros((40, 1), dtype=bool)
    X[:5], Y[:8] = True, True
    model = BinaryModel(X, np.zeros((2, 6, 1), dtype=bool), Y)
    blocks = [slice(0, 20), slice(20, 40)]
    ratios = []
    for _ in range(3000):
        matrix = rng.random((40, 6)) < frequency
        matrix[39] = True
        local = LocalSearch(BitMatrix(matrix, blocks), model)
        choices = log_choices(20, 8) + log_choices(6, 5)
        ratios.append(np.exp(local.pattern_evidence(0) + choices))
    assert np.mean(ratios) < 1


def test_an_item_that_everybody_has_is_no_evidence():
    bits, truth = planted_case(noise=0.05)
    matrix = np.ones((60, 4), dtype=bool)
    everybody = BinaryModel(np.ones((4, 1), bool), np.zeros((2, 4, 1), bool), np.ones((60, 1), bool))
    local = LocalSearch(BitMatrix(matrix, [slice(0, 30), slice(30, 60)]), everybody)
    assert local.pattern_evidence(0) < 0
    assert local.drop_insignificant()
    assert local.patterns() == []
    assert np.median([LocalSearch(bits, truth).pattern_evidence(s) for s in range(truth.rank)]) > 100


@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-9])
def test_the_filter_keeps_what_alpha_allows(alpha):
    bits, truth = planted_case(seed=1, noise=0.2)
    local = LocalSearch(bits, truth, alpha=alpha)
    local.drop_insignificant()
    local.refit()
    local.drop_until_significant()
    assert local.patterns()
    for s in local.patterns():
        assert local.pattern_evidence(s) >= -np.log(alpha)
        assert local.class_evidence(s).min() >= -np.log(alpha)
        assert local.alteration_evidence(s).min() >= -np.log(alpha)


def test_usage_by_a_class_that_chance_explains_is_taken_away():
    bits, truth = planted_case(noise=0.05)
    rng = np.random.default_rng(0)
    Y = truth.Y.copy()
    second_only = 1
    Y[rng.choice(150, 5, replace=False), second_only] = True
    local = LocalSearch(bits, BinaryModel(truth.X, truth.V, Y))
    assert local.class_evidence(second_only)[0] < 0 < local.class_evidence(second_only)[1]
    assert local.drop_insignificant()
    assert not local.model().Y[bits.blocks[0], second_only].any()


def test_alterations_that_chance_explains_are_taken_away_and_others_stay():
    bits, truth = planted_case(noise=0.05)
    rng = np.random.default_rng(0)
    altered = [s for s in range(truth.rank) if truth.V[0, :, s].sum() >= 3]
    V = truth.V.copy()
    shared = [s for s in range(0, truth.rank, 3) if s not in altered] or [0]
    V[:, :, shared[0]] = False
    free = np.flatnonzero(~truth.X[:, shared[0]] & ~truth.V[:, :, shared[0]].any(axis=0))
    V[0, rng.choice(free, 4, replace=False), shared[0]] = True
    local = LocalSearch(bits, BinaryModel(truth.X, V, truth.Y))
    assert local.alteration_evidence(shared[0])[0] < 4.6
    local.drop_insignificant()
    found = local.model()
    assert not (found.V[0, :, shared[0]] & V[0, :, shared[0]]).any()
    for s in altered:
        if s != shared[0]:
            assert (found.V[0, :, s] & truth.V[0, :, s]).sum() >= 0.8 * truth.V[0, :, s].sum()
