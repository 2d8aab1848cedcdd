"""Moves on binary models: the length they keep up to date, what they may change, and the significance filter."""

from itertools import pairwise, product

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import make_planted
from saltmine.mdl.code_length import cross_weights
from saltmine.mdl.evidence import row_choices
from saltmine.metrics import description_length
from saltmine.solver import kernels
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import null_length, score_model
from saltmine.solver.search_state import FIXED, FREE, TYPICAL
from saltmine.solver.significance import drop_patterns


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
    np.testing.assert_array_equal(local.errors, bits.noise_counts(model).sum(axis=0))
    same = local.model()
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name))


def exact_model(local):
    """Return the patterns of a search as they are, with items that nobody needs."""
    on = local.patterns()
    shape = len(on), len(local.bits.blocks), local.bits.shape[1]
    carry = np.array([local.carry(s) for s in on], dtype=bool).reshape(shape)
    rows = np.array([local.rows(s) for s in on], dtype=np.uint64).reshape(len(on), len(local.data.row_mask))
    X = carry.all(axis=1)
    return BinaryModel(X.T.copy(), (carry & ~X[:, None]).transpose(1, 2, 0).copy(), local.bits.layout.unpack(rows).T)


def figures(local):
    """Return what is kept up to date, and what follows from it for every pattern."""
    of_patterns = [(local.used[s], local._length_without(s), local.together(s)) for s in local.patterns()]
    return [local.length, local.errors, local.background, local._open_ones(), of_patterns]


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_up_to_date(local):
    """Compare with a search that has just been given the same patterns, and with single cells."""
    model, bits = exact_model(local), local.bits
    fresh = LocalSearch(bits, model)
    for k, s in enumerate(local.patterns()):
        fresh._set_sort(k, local._sort(s))
    assert_equal(figures(local), figures(fresh))
    # Of every item and row how often it is covered.
    times = np.zeros(bits.shape, dtype=int)
    for a, rows in enumerate(bits.blocks):
        times[rows] = model.Y[rows].astype(int) @ (model.X | model.V[a]).T
    weights, cells = bits.weights.rows[:, None], bits.rows()
    np.testing.assert_array_equal(local.errors, (weights * (cells != (times > 0))).sum(axis=0))
    np.testing.assert_array_equal(bits.layout.unpack(local._open_ones()).T, cells & (times == 0))
    size, ones = ((weights * (which & (times == 0))).sum(axis=0) for which in (cells | True, cells))
    np.testing.assert_array_equal(local.background, np.where(size > 0, ones / np.maximum(size, 1), 1.0))


def assert_consistent(local, matrix):
    model = local.model()
    assert not (model.X & model.V).any()
    assert not model.V.all(axis=0).any()
    np.testing.assert_array_equal(local.errors, local.bits.noise_counts(model).sum(axis=0))
    assert_up_to_date(local)
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
    for move in (local.merge, local.split, local.refit, lambda: local.grow_from_residual(50, rng)):
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
    before, on = everything(local), local.patterns()
    rows = [local.rows(s) for s in on]
    assert not local.replace([on[0], on[1]], [rows[0]])
    assert not local.replace([on[2]], [])
    assert not local.replace([on[2]], [rows[3], rows[4], rows[5]])
    assert not local.replace([], [np.zeros_like(rows[0])])
    assert not local.replace([on[3]], [local.data.row_mask], test=True)
    assert_equal(everything(local), before)
    assert_up_to_date(local)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(205,), (70, 135), (70, 5, 130)])
@pytest.mark.parametrize("weighted", [True, False])
def test_whatever_comes_and_goes_is_counted(sizes, weighted):
    """Patterns are put in, taken out and replaced, most cells are covered several times."""
    rng = np.random.default_rng(len(sizes))
    bits, model, matrix = random_case(5, sizes, n=14, rank=3)
    m, n = matrix.shape
    if weighted:
        bits = BitMatrix(matrix, bits.blocks, Weights(rng.integers(1, 4, n), rng.integers(1, 6, m)))
    local, most, moves = LocalSearch(bits, model), 0, []
    for turn in range(150):
        on, drawn = local.patterns(), int(rng.integers(5))
        if drawn < 3 or not on:
            local._make_room(1)
            s = int(np.flatnonzero(local.used == 0)[0])
            rows = bits.layout.pack(rng.random((1, m)) < rng.uniform(0.02, 0.7))[0]
            carry = rng.random((len(sizes), n)) < rng.uniform(0.1, 0.9)
            carry[int(rng.integers(len(sizes))), int(rng.integers(n))] = True
            local._put(s, rows, carry)
            local.update()
        elif drawn == 3:
            local.remove(int(rng.choice(on)))
        else:
            old = rng.choice(on, min(len(on), int(rng.integers(3))), replace=False)
            starts = bits.layout.pack(rng.random((int(rng.integers(3)), m)) < 0.4)
            moves.append(local.replace(old.tolist(), list(starts), force=bool(turn % 2), test=turn % 5 == 0))
        most = max(most, len(local.patterns()))
        if turn % 5 == 0:
            assert_up_to_date(local)
    # More than three planes of binary counts.
    assert most > 16
    assert {*moves} == {True, False}
    for s in local.patterns():
        local.remove(s)
        assert_up_to_date(local)
    assert local.length == pytest.approx(null_length(bits))
    np.testing.assert_array_equal(local.errors, bits.item_counts)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [64, 65, 130])
def test_there_may_be_more_classes_than_bits_in_a_word(n_classes):
    sizes = (3, *[2] * (n_classes - 2), 4)
    bits, model, matrix = random_case(n_classes, sizes, n=15, rank=4)
    local = LocalSearch(bits, model)
    assert local.length == pytest.approx(reference_length(bits, model, matrix))
    # What only the last class carries, or all but the last, are alterations.
    carry = np.zeros((n_classes, 15), dtype=bool)
    carry[:, :3], carry[-1, 3], carry[:-1, 4] = True, True, True
    s = int(np.flatnonzero(local.used == 0)[0])
    local._put(s, local.data.row_mask, carry)
    local.update()
    np.testing.assert_array_equal(local.carry(s), carry)
    found = local.model()
    assert np.flatnonzero(found.X[:, -1]).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.V[:, :, -1], carry & ~found.X[:, -1])
    assert_consistent(local, matrix)
    last = np.arange(n_classes) == n_classes - 1
    local._set_alike(s, last)
    np.testing.assert_array_equal(local._alike(s), last)
    local.make_alike(s, np.arange(n_classes) == 1)
    assert local._alike(s)[[1, -1]].all()
    for move in (local.refit, local.merge, local.split, lambda: local.refit(trim=True)):
        before = local.length
        move()
        assert local.length <= before or move is not local.refit
        assert_consistent(local, matrix)


def test_a_class_beyond_the_first_word_has_items_of_its_own():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(70), [*[4] * 69, 60])
    matrix = rng.random((len(classes), 40)) < 0.03
    uses = rng.random(len(classes)) < 0.5
    matrix[np.ix_(uses, range(10))] = rng.random((uses.sum(), 10)) < 0.95
    own = uses & (classes == 69)
    matrix[np.ix_(own, range(10, 18))] = rng.random((own.sum(), 8)) < 0.95
    edges = np.searchsorted(classes, np.arange(71))
    bits = BitMatrix(matrix, [slice(int(a), int(b)) for a, b in pairwise(edges)])
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 70))
    assert local.replace([], [bits.layout.pack(uses[None])[0]])
    local.drop_until_significant()
    found = local.model()
    assert np.flatnonzero(found.X[:, 0]).tolist() == list(range(10))
    assert np.argwhere(found.V[:, :, 0]).tolist() == [[69, i] for i in range(10, 18)]
    assert_consistent(local, matrix)


def test_there_may_be_more_patterns_than_bits_in_a_word():
    bits, model, matrix = random_case(2, (70, 135), n=30, rank=150, density=0.3)
    local = LocalSearch(bits, model)
    assert len(local.patterns()) == 150
    assert local.length == pytest.approx(reference_length(bits, model, matrix))
    assert_consistent(local, matrix)
    local._take_away(*range(60, 70), 149)
    assert_consistent(local, matrix)
    length = local.length
    local.refit()
    assert local.length < length
    assert_consistent(local, matrix)
    local = LocalSearch(bits, model)
    local.truncate(80)
    assert len(local.patterns()) == 80
    assert_consistent(local, matrix)


# ---------------------------------------------------------------- threads


def moves_of(local):
    """Return all moves of a search, in an order as in a fit."""
    rng = np.random.default_rng(0)
    return {
        "refit": local.refit,
        "merge": local.merge,
        "split": local.split,
        "refit again": local.refit,
        "grow": lambda: local.grow_from_residual(60, rng),
        "merge again": local.merge,
        "contrasts": local.add_contrasts,
        "drop": local.drop_insignificant,
        "split unrelated": local.split_unrelated_classes,
        "refit at last": local.refit,
        "merge at last": local.merge,
        "split at last": local.split,
    }


def assert_threads_do_not_matter(bits, model, trim=False):
    """Do all moves with several numbers of threads, and return whether any move but the first changed something."""
    one, *others = (LocalSearch(bits, model, n_threads=n_threads) for n_threads in (1, 2, 4))
    for local in (one, *others):
        local.refit(trim=trim)
    changed = False
    for name in moves_of(one):
        before = one.length
        answer = moves_of(one)[name]()
        expected = everything(one)
        changed |= one.length != before
        for local in others:
            assert moves_of(local)[name]() == answer, name
            assert_equal(everything(local), expected)
            assert_up_to_date(local)
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("sizes", [(205,), (70, 135), (70, 5, 130)])
@pytest.mark.parametrize("seed", range(3))
def test_the_number_of_threads_changes_no_move_on_random_data(seed, sizes, trim):
    bits, model, _ = random_case(seed, sizes, n=40, rank=25, density=0.2)
    assert_threads_do_not_matter(bits, model, trim)


def in_pieces(model, rng, k):
    """Return a model whose last patterns are two pieces each, and with rows and items that do not belong to it."""
    halves = rng.random((len(model.Y), k)) < 0.5
    X, V, Y = model.X, model.V, model.Y
    Y = np.hstack([Y[:, :-k], Y[:, -k:] & halves, Y[:, -k:] & ~halves])
    X, V = np.hstack([X, X[:, -k:]]), np.concatenate([V, V[:, :, -k:]], axis=2)
    Y = Y | (rng.random(Y.shape) < 0.02)
    X = X | ((rng.random(X.shape) < 0.01) & ~V.any(axis=0))
    return BinaryModel(X, V, Y)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_threads_changes_no_move_on_planted_data(seed):
    """Most patterns are as they should be, so that several are tried in vain at once; the last ones are not."""
    rng = np.random.default_rng(seed)
    sizes = [(150, 150), (90, 60, 150)][seed % 2]
    planted = make_planted(200, sizes, rank=18, noise=0.05, random_state=seed)
    data = StackedMatrix.from_rows(planted.X, planted.y, len(sizes), keep_absent=True)
    truth = BinaryModel(planted.components.T, planted.alterations.transpose(0, 2, 1), planted.usage[data.order])
    bits = BitMatrix(data.matrix, data.blocks)
    fitted = LocalSearch(bits, truth)
    fitted.refit(trim=True)
    assert assert_threads_do_not_matter(bits, in_pieces(fitted.model(), rng, 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_moves_behind_one_that_helped_are_tried_again_whatever_the_threads(seed):
    """After two tries in vain several patterns are tried at once, and two next to each other are not as they should."""
    planted = make_planted(1500, [1000, 1200], rank=32, noise=0.02, random_state=seed)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2, keep_absent=True)
    truth = BinaryModel(planted.components.T, planted.alterations.transpose(0, 2, 1), planted.usage[data.order])
    bits = BitMatrix(data.matrix, data.blocks)
    fitted = LocalSearch(bits, truth)
    fitted.refit(trim=True)
    good = fitted.model()
    rng = np.random.default_rng(seed)
    worse = good.Y.copy()
    worse &= (rng.random(worse.shape) < 0.5) | (np.arange(worse.shape[1]) % 4 < 2)
    one, *others = (LocalSearch(bits, BinaryModel(good.X, good.V, worse), n_threads=n) for n in (1, 2, 3, 4))
    before = versions_of(one)
    one.refit()
    assert sum(now != then for now, then in zip(versions_of(one), before, strict=True)) > 10
    for local in others:
        local.refit()
        assert_equal(everything(local), everything(one))


@pytest.mark.parametrize(("used", "is_typical"), [(80, True), (79, False), (60, False)])
def test_frequent_items_join_a_pattern_whether_or_not_it_is_typical(used, is_typical):
    """Some of 200 rows have twenty items of their own, and the five that all others have not quite as often."""
    rng = np.random.default_rng(0)
    matrix = np.hstack([rng.random((200, 100)) < 0.02, np.ones((200, 5), dtype=bool)])
    rows, own = rng.permutation(200)[:used], slice(0, 20)
    matrix[rows, own] = rng.random((used, 20)) < 0.9
    for item in range(100, 105):
        matrix[rng.choice(rows, used // 10, replace=False), item] = False
    bits = BitMatrix(matrix, [slice(0, 100), slice(100, 200)])
    Y = np.zeros((200, 1), dtype=bool)
    Y[rows] = True
    X = np.zeros((105, 1), dtype=bool)
    X[own] = True
    local = LocalSearch(bits, BinaryModel(X, np.zeros((2, *X.shape), dtype=bool), Y))
    local._set_sort(0, TYPICAL)
    assert local.is_typical(0) == is_typical
    local.refit()
    found = local.model()
    np.testing.assert_array_equal(found.Y, Y)
    assert found.X[own, 0].all()
    assert found.X[100:, 0].all()


def test_cells_are_counted_with_their_weights_in_all_words():
    rng = np.random.default_rng(0)
    m, n, blocks = 300, 300, [slice(0, 200), slice(200, 300)]
    matrix, weights = rng.random((m, n)) < 0.4, Weights(np.ones(n, dtype=int), rng.integers(1, 6, m))
    bits = BitMatrix(matrix, blocks, weights)
    Y = np.zeros((m, 2), dtype=bool)
    Y[rng.choice(m, 60, replace=False), 1] = True
    X = rng.random((n, 2)) < 0.5
    local = LocalSearch(bits, BinaryModel(X, np.zeros((2, n, 2), bool), Y))
    state, without = kernels.make_state(bits.columns, 2, 2), kernels.make_without(bits.columns)
    kernels.exchange(local.data, state, 1, local.rows(1), local.carry(1))
    kernels.leave_out(local.data, state, 0, np.arange(n), without)
    open_ = ~(Y[:, 1:] & X[:, 1])
    # Rows of the first class only, few enough to leave words empty.
    for chosen in (np.flatnonzero(rng.random(m) < 0.3), np.array([3, 150])):
        rows = np.zeros((1, m), dtype=bool)
        rows[0, chosen] = True
        cells, packed = np.empty((3, 2, n), dtype=np.int64), bits.layout.pack(rows)[0]
        kernels.count_cells(local.data, without.open_cells, packed, np.arange(n), cells)
        for a, block in enumerate(blocks):
            of = (rows[0] * weights.rows)[block]
            np.testing.assert_array_equal(cells[0, a], of @ (open_ & matrix)[block])
            np.testing.assert_array_equal(cells[1, a], of @ (open_ & ~matrix)[block])
            np.testing.assert_array_equal(cells[2, a], of @ matrix[block])
        # The search counts the same: one class carries all items, the other none.
        before = local.errors
        local._put(0, packed, np.repeat([[True], [False]], n, axis=1))
        np.testing.assert_array_equal(local.errors - before, cells[1, 0] - cells[0, 0])
        local.update()
        assert_up_to_date(local)
        local.remove(0)
        np.testing.assert_array_equal(local.errors, before)


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
    assert local.grow_from_residual(200, np.random.default_rng(0))
    found = local.model()
    assert ((found.X.T & truth.X[:, 0]).sum(axis=1) > 0.8 * truth.X[:, 0].sum()).any()


def test_there_is_room_for_any_number_of_patterns():
    bits, model, matrix = random_case(0, n=30, rank=3)
    local = LocalSearch(bits, model)
    before = local.length
    for _ in range(3):
        local._make_room(70)
        assert np.count_nonzero(local.used == 0) >= 70
    local.update()
    assert local.length == before
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


@pytest.mark.slow
def test_the_evidence_of_a_fixed_pattern_is_rarely_high_by_chance():
    """Choices are paid for: of a pattern that was not chosen, the likelihood ratio itself is one on average."""
    rng = np.random.default_rng(0)
    frequency = np.array([0.05, 0.2, 0.2, 0.5, 0.9, 0.3])
    X, Y = np.zeros((6, 1), dtype=bool), np.zeros((40, 1), dtype=bool)
    X[:5], Y[:8] = True, True
    model = BinaryModel(X, np.zeros((2, 6, 1), dtype=bool), Y)
    blocks = [slice(0, 20), slice(20, 40)]
    ratios = []
    for _ in range(1000):
        matrix = rng.random((40, 6)) < frequency
        matrix[39] = True
        local = LocalSearch(BitMatrix(matrix, blocks), model)
        choices = row_choices(np.array([20, 20]), np.array([8, 0])) + local.item_choice(0)
        ratios.append(np.exp(local.together(0) + choices))
    assert np.mean(ratios) < 1


def test_an_item_that_everybody_has_is_no_evidence():
    bits, truth = planted_case(noise=0.05)
    everybody = BitMatrix(np.ones((60, 4), dtype=bool), [slice(0, 30), slice(30, 60)])
    Y = (np.arange(60) % 3 == 0)[:, None]
    local = LocalSearch(everybody, BinaryModel(np.ones((4, 1), bool), np.zeros((2, 4, 1), bool), Y))
    assert local.pattern_evidence(0) < 0
    assert local.drop_insignificant()
    assert local.patterns() == []
    assert np.median([LocalSearch(bits, truth).pattern_evidence(s) for s in range(truth.rank)]) > 10 * -local.log_alpha


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
    assert local.claim_evidence().min() >= -np.log(alpha)
    # Nothing is left to take away.
    before = local.length
    assert not local.drop_insignificant()
    assert local.length == before


def test_what_the_filter_keeps_is_what_the_table_claims():
    """The q-values of what classes add are the same in the search and in the scores of its model."""
    adding = 0
    for seed in range(4):
        bits, truth = planted_case(seed=seed, noise=0.1)
        local = LocalSearch(bits, truth)
        local.drop_until_significant()
        found = score_model(bits, local.model()).alteration_evidence
        shown = local.claim_evidence()[local.patterns()].T
        np.testing.assert_allclose(found, np.where(np.isinf(shown), np.nan, shown))
        adding += np.isfinite(shown).sum()
    assert adding > 0


def test_the_filter_and_the_table_agree_also_where_items_were_chosen_by_labels():
    """A combination that no board of the second class has pays for its choice wherever claims are corrected."""
    bits, model, matrix = altered_case([0.9, 0.55], sizes=(500, 500))
    rng = np.random.default_rng(0)
    more, second = rng.random((1000, 24)) < 0.5, np.arange(1000) >= 500
    while (whole := more[:, :3].all(axis=1) & second).any():
        more[np.ix_(whole, range(3))] = rng.random((int(whole.sum()), 3)) < 0.5
    X, V = np.zeros((64, 4), dtype=bool), np.zeros((2, 64, 4), dtype=bool)
    X[:40, :3], X[40:43, 3], V[:, :40, :3] = model.X, True, model.V
    both = BitMatrix(np.hstack([matrix, more]), bits.blocks)
    local = LocalSearch(both, BinaryModel(X, V, np.column_stack([model.Y, more[:, :3].all(axis=1)])))
    assert local.together(3) < 0 < local.pattern_evidence(3)
    use = local.use_log_p([3])[1][0].min()
    added = local.added_log_p([0])[0][0]
    # What it pays makes it the less clear one of the two.
    assert use < added < use + local.item_choice(3)
    found = score_model(both, local.model()).alteration_evidence[0, 0]
    assert local.claim_evidence()[0, 0] == pytest.approx(found)


def test_patterns_that_only_support_each_other_are_dropped():
    """Every kind of row of independent items is a pattern: given all others each is clear, and none is by itself."""
    matrix = np.random.default_rng(0).random((1000, 6)) < 0.5
    kinds, kind_of = np.unique(matrix, axis=0, return_inverse=True)
    kept = np.flatnonzero(kinds.sum(axis=1) >= 2)
    # Another shape in NumPy 2.0.
    X, Y = kinds[kept].T.copy(), kind_of.ravel()[:, None] == kept
    bits = BitMatrix(matrix, [slice(0, 500), slice(500, 1000)])
    local = LocalSearch(bits, BinaryModel(X, np.zeros((2, *X.shape), dtype=bool), Y))
    drop_patterns(local)
    assert len(local.patterns()) > 30
    assert local._drop_unsupported()
    assert local.patterns() == []
    assert local.length == pytest.approx(null_length(bits))
    np.testing.assert_array_equal(local.errors, bits.item_counts)


def test_patterns_that_are_shown_by_themselves_stay_as_they_are():
    bits, truth = planted_case(noise=0.05)
    local = LocalSearch(bits, truth)
    # Patterns of different times.
    local.refit()
    drop_patterns(local)
    before, model, versions = local.length, local.model(), versions_of(local)
    assert local.patterns()
    assert not local._drop_unsupported()
    assert local.length == pytest.approx(before)
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(local.model(), name), getattr(model, name))
    assert versions_of(local) == versions


def versions_of(local):
    return [local._version(s) for s in range(len(local.used))]


def test_a_pattern_that_changes_has_another_version():
    """What was tried in vain is tried again once a pattern has changed, also where it was the same once before."""
    bits, truth = planted_case(noise=0.05)
    local = LocalSearch(bits, truth)
    local.refit()
    s, seen = local.patterns()[0], set[int]()
    rows = local.rows(s)
    for _ in range(3):
        seen.add(local._version(s))
        assert local.replace([s], [rows & local.rows(local.patterns()[1])], force=True)
        s = local.patterns()[0]
        seen.add(local._version(s))
        assert local.replace([s], [rows], force=True)
    assert len(seen) == 6
    # One that is gone has none.
    local.remove(s)
    assert local._version(s) == 0


# ---------------------------------------------------------------- the typical row


def frequent_case(seed=0, planted=True, n_frequent=12, others=0.05):
    """Return data of two classes with items that most rows have, and a pattern that 40 rows of 200 have as well."""
    rng = np.random.default_rng(seed)
    matrix = np.hstack([rng.random((200, n_frequent)) < 0.9, rng.random((200, 60)) < others])
    if planted:
        matrix[:40, n_frequent : n_frequent + 8] = rng.random((40, 8)) < 0.9
    return BitMatrix(matrix, [slice(0, 100), slice(100, 200)]), matrix


def one_pattern(bits, items, rows):
    (m, n), c = bits.shape, len(bits.blocks)
    X, Y = np.zeros((n, 1), dtype=bool), np.zeros((m, 1), dtype=bool)
    X[items], Y[rows] = True, True
    return BinaryModel(X, np.zeros((c, n, 1), dtype=bool), Y)


def joined(*models):
    return BinaryModel(
        np.hstack([model.X for model in models]),
        np.concatenate([model.V for model in models], axis=2),
        np.hstack([model.Y for model in models]),
    )


def parts_of(model):
    """Return the patterns of a model in no order."""
    parts = (model.X.T, model.V.transpose(2, 0, 1), model.Y.T)
    return sorted(tuple(part.tobytes() for part in pattern) for pattern in zip(*parts, strict=True))


def test_patterns_are_added_to_those_there_are():
    """Wherever there is room: beside the others, in slots that became free, and in more than there were."""
    for seed in range(4):
        bits, model, matrix = random_case(seed, n=20, rank=30)
        first, second = model.keep(np.arange(30) < 5), model.keep(np.arange(30) >= 5)
        local = LocalSearch(bits, first)
        local._take_away(1, 3)
        first = first.keep(~np.isin(np.arange(5), [1, 3]))
        local.add(second)
        whole = LocalSearch(bits, joined(first, second))
        assert local.length == pytest.approx(whole.length)
        assert parts_of(local.model()) == parts_of(whole.model())
        assert len(local.patterns()) == 28
        assert_consistent(local, matrix)
        before = local.length
        local.add(model.keep(np.zeros(30, dtype=bool)))
        assert local.length == before


def test_an_added_pattern_is_as_free_as_a_new_one():
    """That the pattern before it in its slot was fixed, and had its classes alike, is of no account."""
    bits, model, _ = altered_case([0.9, 0.05])
    local = LocalSearch(bits, model)
    local._set_alike(0, np.ones(2, dtype=bool))
    local._set_sort(0, FIXED)
    local._take_away(0)
    local.add(model.keep(np.arange(3) == 0))
    assert len(local.patterns()) == 3
    assert not any(local._alike(s).any() for s in local.patterns())
    assert all(local._sort(s) == FREE for s in local.patterns())


@pytest.mark.parametrize("planted", [True, False])
def test_the_typical_row_is_what_most_rows_have(planted):
    bits, matrix = frequent_case(planted=planted)
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2))
    before = local.length
    assert local.add_typical()
    assert local.length < before
    (s,) = local.patterns()
    assert local.is_typical(s)
    assert 2 * local.used[s] >= len(matrix)
    found = local.model()
    np.testing.assert_array_equal(found.X[:, 0], matrix.mean(axis=0) > 0.5)
    assert not found.V.any()
    assert_consistent(local, matrix)
    # It needs no evidence, and has none.
    assert local.together(s) < -local.log_alpha < local.pattern_evidence(s)
    assert not local.drop_insignificant()
    assert local.patterns() == [s]


def test_there_is_one_typical_row():
    bits, _ = frequent_case()
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2))
    assert local.add_typical()
    before = everything(local)
    assert not local.add_typical()
    assert_equal(everything(local), before)
    # A pattern that less than half of the rows use is none.
    few = LocalSearch(bits, one_pattern(bits, range(12, 20), range(40)))
    assert not few.is_typical(0)
    assert few.add_typical()
    assert [few.is_typical(s) for s in few.patterns()] == [False, True]


def test_a_pattern_of_many_rows_that_shows_nothing_is_called_typical():
    """Items that nine rows in ten have; the pattern of a planted group shows that its items go together."""
    rng = np.random.default_rng(0)
    matrix = rng.random((200, 60)) < 0.04
    matrix[:, :12] = rng.random((200, 12)) < 0.9
    matrix[:100, 30:50] = rng.random((100, 20)) < 0.9
    bits = BitMatrix(matrix, [slice(0, 100), slice(100, 200)])
    everybody = one_pattern(bits, slice(0, 12), slice(0, 200))
    group = one_pattern(bits, slice(30, 50), slice(0, 100))
    few = one_pattern(bits, slice(0, 12), slice(100, 179))
    local = LocalSearch(bits, joined(everybody, group))
    local._name_typical()
    assert [local.is_typical(s) for s in (0, 1)] == [True, False]
    local = LocalSearch(bits, few)
    local._name_typical()
    assert not local.is_typical(0)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.3])
def test_sparse_noise_has_no_typical_row(density):
    bits, _ = frequent_case(planted=False, n_frequent=0, others=density)
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2))
    before = local.length
    assert not local.add_typical()
    assert local.patterns() == []
    assert local.length == before


def test_the_typical_row_stays_and_others_are_tested_without_it():
    """Rows that do not use it have more of everything else; that is no evidence for anything."""
    bits, _ = frequent_case()
    typical = one_pattern(bits, range(12), range(200))
    shown, by_chance = one_pattern(bits, range(12, 20), range(40)), one_pattern(bits, range(30, 36), range(100, 140))
    local = LocalSearch(bits, joined(by_chance, typical, shown))
    local._set_sort(1, TYPICAL)
    assert [local.is_typical(s) for s in local.patterns()] == [False, True, False]
    assert local._drop_unsupported()
    assert parts_of(local.model()) == parts_of(joined(typical, shown))
    assert local.length == pytest.approx(LocalSearch(bits, joined(typical, shown)).length)
    assert not local._drop_unsupported()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_only_shown_given_the_typical_row_is_dropped(seed):
    """Most rows have eight items, and the typical row leaves out some of them: there the items look rare."""
    rng = np.random.default_rng(seed)
    has = np.arange(400) % 10 < 7
    matrix = rng.random((400, 40)) < 0.1
    matrix[np.ix_(has, range(8))] = True
    bits = BitMatrix(matrix, [slice(0, 200), slice(200, 400)])
    left_out = np.flatnonzero(has)[::9]
    typical = one_pattern(bits, range(8), np.setdiff1d(np.flatnonzero(has), left_out))
    other = one_pattern(bits, range(8), left_out)
    local, alone = LocalSearch(bits, joined(typical, other)), LocalSearch(bits, other)
    local._set_sort(0, TYPICAL)
    assert [local.is_typical(s) for s in local.patterns()] == [True, False]
    assert alone.pattern_evidence(0) < -alone.log_alpha < local.pattern_evidence(1)
    version = local._version(0)
    assert local._drop_unsupported()
    assert local.patterns() == [0]
    assert local._version(0) == version
    assert parts_of(local.model()) == parts_of(typical)
    assert local.length == pytest.approx(LocalSearch(bits, typical).length)


# ---------------------------------------------------------------- shared until shown different


def altered_case(rates, seed=0, sizes=(150, 150)):
    """Return a pattern of ten items, and six more that its rows have at these rates by class; the model adds them.

    The other rows have one of two other patterns: all rows are of about the same size, and no pattern is of most rows.
    The first class has the six items alone in the model.
    """
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    m, n = sum(sizes), 40
    kind = rng.choice(3, m, p=[0.4, 0.3, 0.3])
    uses = kind == 0
    chance = np.full((m, n), 0.05)
    chance[np.ix_(uses, range(10))] = 0.9
    chance[np.ix_(uses, range(10, 16))] = np.array(rates)[classes[uses], None]
    others = range(16, 28), range(28, 40)
    for k, items in enumerate(others, 1):
        chance[np.ix_(kind == k, items)] = 0.9
    matrix = rng.random((m, n)) < chance
    edges = np.cumsum([0, *sizes])
    bits = BitMatrix(matrix, [slice(int(a), int(b)) for a, b in pairwise(edges)])
    X, V = np.zeros((n, 3), dtype=bool), np.zeros((len(sizes), n, 3), dtype=bool)
    X[:10, 0], X[others[0], 1], X[others[1], 2], V[0, 10:16, 0] = True, True, True, True
    return bits, BinaryModel(X, V, kind[:, None] == np.arange(3)), matrix


@pytest.mark.parametrize("refit", [True, False], ids=["by a move", "by the filter"])
def test_items_that_classes_have_alike_are_shared(refit):
    bits, model, _ = altered_case([0.8, 0.8])
    local = LocalSearch(bits, model)
    assert local.added_log_p([0])[0][0] > local.log_alpha
    if refit:
        local.refit()
    else:
        local.drop_until_significant()
    found = local.model()
    assert not found.V.any()
    assert found.X[:16, 0].all()


@pytest.mark.parametrize("refit", [True, False], ids=["by a move", "by the filter"])
def test_items_that_a_class_adds_stay_its_own(refit):
    bits, model, _ = altered_case([0.9, 0.05])
    local = LocalSearch(bits, model)
    assert local.added_log_p([0])[0][0] < 2 * local.log_alpha
    assert local.added_log_p([0])[0][1] == 0.0
    if refit:
        local.refit()
    else:
        local.drop_until_significant()
    found = local.model()
    np.testing.assert_array_equal(np.flatnonzero(found.V[0, :, 0]), np.arange(10, 16))
    assert not found.V[1].any()
    assert found.X[:10, 0].all()


def test_differences_that_only_chance_made_are_not_kept():
    """f alone would give items to one class; a move that does is done again with classes alike."""
    altered = 0
    for seed in range(8):
        bits, model, _ = altered_case([0.5, 0.5], seed=seed, sizes=(40, 40))
        local = LocalSearch(bits, model)
        altered += local.model().V.any()
        local.refit()
        assert not local.model().V.any()
    assert altered


def test_classes_that_are_made_alike_stay_alike_until_attempts_are_cleared():
    bits, model, matrix = altered_case([0.9, 0.05])
    local = LocalSearch(bits, model)
    local.make_alike(0, np.array([True, False]))
    assert not local.model().V[0].any()
    assert_consistent(local, matrix)
    local.refit()
    assert not local.model().V[0].any()
    local.allow_differences()
    local.refit()
    assert local.model().V[0, 10:16, 0].all()
    assert_consistent(local, matrix)


def test_without_alterations_no_class_adds_anything():
    bits, model, _ = altered_case([0.9, 0.05])
    local = LocalSearch(bits, BinaryModel(model.X, np.zeros_like(model.V), model.Y), alterations=False)
    local.refit()
    local.drop_until_significant()
    assert local.patterns()
    assert not local.model().V.any()


@pytest.mark.parametrize("sizes", [(150, 150), (60, 200, 40)])
def test_what_a_class_adds_is_clear_to_the_class_that_adds_it(sizes):
    bits, model, _ = altered_case([0.9, *[0.05] * (len(sizes) - 1)], sizes=sizes)
    local = LocalSearch(bits, model)
    evidence = local.claim_evidence()
    assert evidence[0, 0] > 10
    assert np.isinf(evidence[0, 1:]).all()
    assert np.isinf(evidence[1:]).all()


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
    assert local.claim_evidence()[shared[0], 0] < -local.log_alpha
    local.drop_insignificant()
    found = local.model()
    kept = local.patterns()
    assert shared[0] in kept
    assert not (found.V[0, :, kept.index(shared[0])] & V[0, :, shared[0]]).any()
    for s in set(altered) & set(kept) - {shared[0]}:
        assert (found.V[0, :, kept.index(s)] & truth.V[0, :, s]).sum() >= 0.8 * truth.V[0, :, s].sum()


# ---------------------------------------------------------------- undone moves


def everything(local):
    """Return all that a move may change; what was in an empty slot before is of no account."""
    parts = (local.rows, local.carry, local._version, local._alike, local._sort)
    on = local.patterns()
    return [*figures(local), on, *([part(s) for s in on] for part in parts)]


def test_classes_that_a_look_ahead_finds_alike_may_differ_again():
    """Patterns that take over are fitted again, maybe with classes alike; that is undone with them."""
    made_alike = 0
    for seed in range(8):
        # Nothing shows that the first class alone has six of the items.
        bits, model, matrix = altered_case([0.6, 0.4], seed=seed, sizes=(60, 60))
        # The second pattern shares rows with the first, and nobody can do without it.
        Y, cells = model.Y.copy(), matrix.copy()
        shared = np.flatnonzero(Y[:, 0])[::2]
        Y[shared, 1] = cells[np.ix_(shared, range(16, 28))] = True
        bits, model = BitMatrix(cells, bits.blocks), BinaryModel(model.X, model.V, Y)
        alone = LocalSearch(bits, model)
        alone.remove(1)
        alone.replace([0], [alone.rows(0)])
        made_alike += alone._alike(0).any()
        local = LocalSearch(bits, model)
        before = everything(local)
        assert not local._alike(0).any()
        assert not local._try_without(1)
        assert_equal(everything(local), before)
    assert made_alike > 2


def test_a_look_ahead_that_does_not_help_leaves_no_trace():
    """Other patterns take over what one leaves, and all that is undone."""
    undone = 0
    for seed in range(6):
        bits, model, _ = random_case(seed, (70, 135), n=40, rank=9, density=0.3)
        local = LocalSearch(bits, model)
        local.refit(trim=True)
        for s in local.patterns():
            before = everything(local)
            if local.used[s] and not local._try_without(s):
                undone += 1
                assert_equal(everything(local), before)
        assert_up_to_date(local)
    assert undone


def test_a_contrast_that_is_merged_is_no_longer_fixed():
    bits, truth = planted_case(noise=0.05)
    halves = np.zeros((truth.Y.shape[0], 2), dtype=bool)
    halves[::2, 0], halves[1::2, 1] = truth.Y[::2, 0], truth.Y[1::2, 0]
    local = LocalSearch(
        bits,
        BinaryModel(truth.X[:, [0, 0]], truth.V[:, :, [0, 0]], halves),
    )
    for s in range(2):
        local._set_sort(s, FIXED)
    assert local.merge()
    assert [local._sort(s) for s in local.patterns()] == [FREE]


def test_a_typical_row_that_few_rows_use_does_not_enter():
    """Its classes are made alike after it was fitted, which may leave it fewer rows than it needs."""
    entered = refused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sizes = (70, 72)
        cells = rng.random((142, 12)) < rng.uniform(0.2, 0.6, 12)
        cells[:70, :4] |= rng.random((70, 4)) < 0.5
        bits = BitMatrix(cells, [slice(0, 70), slice(70, 142)])
        local = LocalSearch(bits, BinaryModel.empty(*bits.shape, len(sizes)))
        before = everything(local)
        if local.add_typical():
            entered += 1
            assert [local.is_typical(s) for s in local.patterns()] == [True]
        else:
            refused += 1
            assert_equal(everything(local), before)
    assert entered > 2
    assert refused > 2


def test_undone_moves_leave_sorts_and_items_as_they_were():
    bits, model, _ = random_case(3, (70, 135), n=40, rank=6, density=0.3)
    local = LocalSearch(bits, model)
    on = local.patterns()
    local._set_sort(on[0], FIXED)
    local._set_sort(on[1], TYPICAL)
    before, n_slots = everything(local), len(local.used)
    # One pattern of a few rows in the place of two is worse.
    few = local.data.row_mask & np.uint64(0b111111)
    assert not local.replace([on[0], on[1]], [few])
    assert_equal(everything(local), before)
    local._make_room(500)
    assert len(local.used) >= 500
    assert not any(local.carry(s).any() or local.rows(s).any() for s in range(n_slots, len(local.used)))
