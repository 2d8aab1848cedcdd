"""The relaxed solve of saltmine: objective, gradients, descent, number of products, and spectrum."""

from copy import deepcopy

import numpy as np
import pytest

import saltmine.solver.relaxed.accelerated
import saltmine.solver.relaxed.operator
import saltmine.solver.relaxed.step_kernels
from saltmine.data.folding import Weights
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.relaxed.operator import DenseOperator, SparseOperator
from saltmine.solver.relaxed.spectrum import _largest_singular_values, count_signals
from saltmine.solver.relaxed.step_kernels import Costs, Pace, State, step_rows
from tests.helpers import whole_arrays
from tests.helpers.folded_data import dense, folded_data, sparse


def make(matrix, blocks, team, kind="dense"):
    if kind == "sparse":
        from scipy.sparse import csr_array

        operator = SparseOperator(csr_array(matrix), blocks, team, np.float32)
    else:
        operator = DenseOperator(matrix, blocks, team, np.float32)
    return AcceleratedDescent(operator, cross_weights([b.stop - b.start for b in blocks]))


def take_plain_steps(monkeypatch):
    """Let a descent take its steps in plain numpy instead of compiled loops."""
    for name in ("step_items", "step_rows"):
        monkeypatch.setattr(saltmine.solver.relaxed.step_kernels, name, getattr(whole_arrays, name))


def naive(solver, matrix, blocks, X, V, Y, weight):
    """Return the relaxed objective from its formula, residuals and all, in double precision."""
    X, V, Y = (np.asarray(factor, dtype=np.float64) for factor in (X, V, Y))
    u, mu = solver.u.astype(np.float64), float(solver.mu)
    used, cross = Y.sum(axis=0), solver.cross.astype(np.float64)
    error = sum(((matrix[rows] - Y[rows] @ (X + V[a]).T) ** 2).sum() for a, rows in enumerate(blocks))
    G = -((used + 1) * np.log((used + 1) / (used.sum() + len(used)))).sum() + used.sum()
    G += u @ (X.sum(axis=1) + V.sum(axis=(0, 2)))
    S = 0.0
    for b, rows in enumerate(blocks):
        hits = matrix[rows].T.astype(float) @ Y[rows]
        for a in range(len(blocks)):
            S += cross[a, b] * (hits * V[a] * (1 - V[b])).sum()
    penalty = sum((1 - np.abs(1 - 2 * factor)).sum() for factor in (X, V, Y))
    return 0.5 * (mu * error + G + S) + weight * penalty


@pytest.fixture
def random_factors(small_data):
    rng = np.random.default_rng(5)
    m, n = small_data[0].shape
    return Factors(*(0.2 + 0.6 * rng.random(shape, dtype=np.float32) for shape in ((n, 4), (3, n, 4), (m, 4))))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_value_is_that_of_the_formula(small_data, random_factors, team, kind):
    solver = make(*small_data, team, kind)
    expected = naive(solver, *small_data, random_factors.X, random_factors.V, random_factors.Y, 0.3)
    value = solver._value(random_factors.X, random_factors.V, random_factors.Y, 4, np.float32(0.3))
    assert value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["X", "V", "Y"])
def test_steps_go_against_the_gradient(small_data, random_factors, team, name, monkeypatch):
    """With a tiny step and no penalty, the way one factor goes is minus its gradient (finite differences)."""
    matrix, blocks = small_data
    solver = make(matrix, blocks, team)
    step = 2e-3
    monkeypatch.setattr(solver, "_steps", lambda gram: np.full(gram.shape[:-1], step, dtype=np.float32))
    work, pace = solver._make_work(random_factors), Pace(np.float32(0), np.float32(0))
    solver._step_items(work, pace, alterations=name != "X")
    # Only the factor in question moves; those before it have moved already.
    X, V = work.state.X[:, :4].copy(), work.state.V[:, :, :4].copy()
    if name == "V":
        random_factors = Factors(X, random_factors.V, random_factors.Y)
    if name == "Y":
        random_factors = Factors(X, V, random_factors.Y)
        solver._step_rows(work, pace)
    old, new = getattr(random_factors, name), getattr(work.state, name)[..., :4]
    inside = (new > 0) & (new < 1)
    moved = (old.astype(np.float64) - new) / step
    rng = np.random.default_rng(0)
    entries = np.argwhere(inside)
    for index in rng.permutation(entries)[:12]:
        values = []
        for change in (-1e-4, 1e-4):
            parts = {key: getattr(random_factors, key).astype(np.float64) for key in ("X", "V", "Y")}
            parts[name][tuple(index)] += change
            values.append(naive(solver, matrix, blocks, **parts, weight=0.0))
        assert moved[tuple(index)] == pytest.approx((values[1] - values[0]) / 2e-4, rel=2e-2, abs=0.15)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_without_inertia_the_objective_falls_at_every_check(kind, monkeypatch):
    monkeypatch.setattr(saltmine.solver.relaxed.accelerated, "MAX_INERTIA", 0.0)
    planted = make_planted(120, [80, 60, 60], rank=4, random_state=0)
    data = StackedMatrix.from_rows(planted.X, planted.y, 3)
    with ThreadTeam(2) as team:
        solver = make(data.matrix, data.blocks, team, kind)
        descent = solver.run(solver.start(8, np.random.default_rng(0)), ramp=1, max_iter=150, tol=0.0)
    falls = -np.diff(descent.history)
    assert len(descent.history) > 10
    assert falls.min() > -1e-4 * descent.history[0]
    assert descent.history[-1] < 0.97 * descent.history[0]


class Counting(DenseOperator):
    """An operator that counts its products."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.products = 0

    def times(self, *arguments):
        self.products += 1
        return super().times(*arguments)

    def transposed_times(self, *arguments):
        self.products += 1
        return super().transposed_times(*arguments)


def test_an_iteration_costs_two_products(small_data, team):
    operator = Counting(*small_data, team, np.float32)
    solver = AcceleratedDescent(operator, cross_weights([5, 1, 7]))
    descent = solver.run(solver.start(3, np.random.default_rng(0)), ramp=10, max_iter=12, tol=-1.0)
    # And one more at every evaluation of the objective.
    assert operator.products == 2 * descent.n_iter + len(descent.history) == 25


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_do_not_change_the_way(kind, monkeypatch):
    # Many panels of items, whose Gram matrices are added up.
    monkeypatch.setattr(saltmine.solver.relaxed.operator, "PANEL_WORK", 1 << 12)
    planted = make_planted(300, [200, 250], rank=5, random_state=0)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2)
    ends = []
    for n_threads in (1, 2, 3):
        with ThreadTeam(n_threads) as team:
            solver = make(data.matrix, data.blocks, team, kind)
            ends.append(solver.run(solver.start(20, np.random.default_rng(0)), ramp=20, max_iter=30).factors)
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[2], name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize(("rank", "width"), [(1, 8), (7, 8), (8, 8), (9, 16), (30, 32)])
def test_patterns_of_zeros_that_fill_up_change_nothing(kind, rank, width, team, monkeypatch):
    data = folded_data(m=60, n=50, ends=(30, 34, 60))
    cross = cross_weights(data.weights.class_sizes(data.blocks))
    solver = AcceleratedDescent(kind(data.matrix, data.blocks, team, np.float32, data.weights), cross)
    start = solver.start(rank, np.random.default_rng(0))
    assert saltmine.solver.relaxed.accelerated._padded(start.V).shape[2] == width
    settings = {"ramp": 8, "max_iter": 12, "tol": -1.0, "check_every": 2}
    filled = solver.run(start, **settings)
    monkeypatch.setattr(saltmine.solver.relaxed.accelerated, "RANK_MULTIPLE", 40)
    more = solver.run(start, **settings)
    # Compiled loops need full vectors, operations on whole arrays do not.
    monkeypatch.setattr(saltmine.solver.relaxed.accelerated, "_padded", np.copy)
    take_plain_steps(monkeypatch)
    for plain in (more, solver.run(start, **settings)):
        np.testing.assert_allclose(filled.history, plain.history, rtol=1e-5)
        for name in ("X", "V", "Y"):
            factor = getattr(filled.factors, name)
            assert factor.shape == getattr(start, name).shape
            np.testing.assert_allclose(factor, getattr(plain.factors, name), atol=1e-5)


@pytest.mark.parametrize("alterations", [True, False])
def test_patterns_of_zeros_stay_so(small_data, team, alterations):
    solver = make(*small_data, team)
    start = solver.start(5, np.random.default_rng(0))
    for factor in (start.X, start.V, start.Y):
        factor[..., 3:] = 0
    factors = solver.run(start, ramp=5, max_iter=20, tol=-1.0, alterations=alterations).factors
    for name in ("X", "V", "Y"):
        assert not getattr(factors, name)[..., 3:].any()
    assert factors.Y.any()


@pytest.mark.parametrize("n_items", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("rank", [8, 24, 40, 72])
def test_panels_of_any_size_and_rank_take_the_steps_of_whole_arrays(n_items, rank, team, monkeypatch):
    """Loops go through panels in blocks, and through patterns in vectors of several lengths."""
    rng = np.random.default_rng(0)
    matrix = rng.random((45, n_items)) < 0.4
    matrix[0] = True
    blocks = [slice(0, 7), slice(7, 45)]
    solver = make(matrix, blocks, team)
    start = solver.start(rank, rng)
    settings = {"ramp": 5, "max_iter": 6, "tol": -1.0}
    found = solver.run(start, **settings).factors
    take_plain_steps(monkeypatch)
    expected = solver.run(start, **settings).factors
    for name in ("X", "V", "Y"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-5)


@pytest.mark.parametrize("alterations", [True, False])
def test_every_step_on_whole_arrays_is_that_of_the_compiled_loops(alterations):
    """Also for a part of the rows: what is outside stays as it was."""
    rng = np.random.default_rng(0)
    n, m, r, c, items, rows = 11, 13, 8, 3, slice(2, 9), slice(4, 12)
    X, V, Y = (n, r), (c, n, r), (m, r)

    def draw(*shapes):
        return [rng.random(shape, dtype=np.float32) for shape in shapes]

    u, cross, multiplicities = draw((n,), (c, c), (n,))
    costs = Costs(u, np.float32(3.1), cross, multiplicities)
    start, pace = State(*draw(X, X, V, V, Y, Y, V)), Pace(np.float32(0.3), np.float32(0.07))
    P, G, product, codes, steps, class_steps = draw(V, (c, r, r), Y, (r,), (r,), (c, r))
    after = []
    for kernels in (saltmine.solver.relaxed.step_kernels, whole_arrays):
        state = deepcopy(start)
        grams = kernels.step_items(state, costs, P, G, pace, (steps / 50, class_steps / 50), alterations, items)
        kernels.step_rows(state, costs, product, G[0], codes, pace, steps / 50, rows)
        after.append((*state, grams))
    compiled, whole = after
    for k, name in enumerate([*State._fields, "grams"]):
        np.testing.assert_allclose(compiled[k], whole[k], rtol=1e-5, atol=1e-6, err_msg=name)
    for k, (name, before) in enumerate(zip(State._fields, start, strict=True)):
        part = rows if name.startswith("Y") else items
        inside = np.zeros_like(before, dtype=bool)
        inside[..., part, :] = True
        np.testing.assert_array_equal(compiled[k][~inside], before[~inside], err_msg=name)
        moves = alterations or not name.startswith("V")
        assert (compiled[k][inside] != before[inside]).mean() > 0.5 if moves else (compiled[k] == before).all(), name


def test_compiled_loops_refuse_half_a_vector():
    X, V, Y = (np.zeros(shape, dtype=np.float32) for shape in ((5, 4), (1, 5, 4), (6, 4)))
    costs, codes = Costs(X[0], np.float32(1), X[:1, :1], X[0]), X[0]
    with pytest.raises(ValueError, match="multiple of eight"):
        step_rows(State(X, X, V, V, Y, Y, V), costs, Y, X[:4], codes, Pace(0.0, 0.0), codes, slice(0, 6))


def test_factors_stay_in_the_unit_box_and_without_alterations_V_stays_zero(small_data, team):
    solver = make(*small_data, team)
    start = solver.start(5, np.random.default_rng(0))
    for alterations in (True, False):
        factors = solver.run(start, ramp=10, max_iter=30, alterations=alterations).factors
        for name in ("X", "V", "Y"):
            factor = getattr(factors, name)
            assert factor.dtype == np.float32
            assert 0 <= factor.min() <= factor.max() <= 1
        assert factors.V.any() == alterations or alterations
    assert not start.V.any()


# ---------------------------------------------------------------- folded data


def folded_pair(kind, team, **shape):
    """Return folded data, a descent on it, and one on the same data unfolded."""
    data = folded_data(**shape)
    cross = cross_weights(data.weights.class_sizes(data.blocks))
    one = AcceleratedDescent(kind(data.matrix, data.blocks, team, np.float32, data.weights), cross)
    return data, one, AcceleratedDescent(kind(data.whole, data.whole_blocks, team, np.float32), cross)


@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("alterations", [True, False])
def test_folded_data_is_descended_like_the_unfolded(kind, alterations, team):
    data, one, other = folded_pair(kind, team, m=60, n=50, ends=(30, 34, 60))
    start = one.start(6, np.random.default_rng(0))
    settings = {"ramp": 10, "max_iter": 14, "tol": -1.0, "alterations": alterations, "check_every": 2}
    found, expected = one.run(start, **settings), other.run(data.unfold(start), **settings)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-5)
    unfolded = data.unfold(found.factors)
    for name in ("X", "V", "Y"):
        np.testing.assert_allclose(getattr(unfolded, name), getattr(expected.factors, name), atol=1e-4)
    assert found.factors.V.any() == alterations


def test_folded_data_starts_with_the_density_of_the_unfolded(team):
    data, one, other = folded_pair(dense, team)
    starts = [solver.start(3, np.random.default_rng(0)) for solver in (one, other)]
    # Both draw from the same generator; patterns come first.
    n = len(starts[0].X)
    np.testing.assert_allclose(starts[0].X, starts[1].X[:n], rtol=1e-6)
    assert len(starts[1].X) == len(data.item_of) > n


@pytest.mark.parametrize("kind", [dense, sparse])
def test_folded_data_has_the_singular_values_of_the_standardised_unfolded(kind, team):
    data = folded_data()
    operator = kind(data.matrix, data.blocks, team, np.float32, data.weights)
    share = data.whole.mean(axis=0)
    standardised = (data.whole - share) / np.sqrt(share * (1 - share))
    exact = np.linalg.svd(standardised, compute_uv=False)
    block = min(data.matrix.shape)
    found = _largest_singular_values(operator, block, np.random.default_rng(0))
    np.testing.assert_allclose(found, exact[:block], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", [dense, sparse])
def test_folded_data_shows_as_many_signals_as_the_unfolded(kind, team):
    planted = make_planted(60, [50, 40], rank=4, random_state=0)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2)
    times = np.random.default_rng(0).integers(1, 4, data.matrix.shape[1])
    weights = Weights(times, np.full(len(data.matrix), 2))
    whole = np.repeat(np.repeat(data.matrix, times, axis=1), 2, axis=0)
    whole_blocks = [slice(2 * rows.start, 2 * rows.stop) for rows in data.blocks]
    one = kind(data.matrix, data.blocks, team, np.float32, weights)
    other = kind(whole, whole_blocks, team, np.float32)
    counts = [count_signals(operator, np.random.default_rng(1), 30) for operator in (one, other)]
    assert counts[0] == counts[1] > 0


# ---------------------------------------------------------------- spectrum


def signals(matrix, max_n=100, seed=0):
    with ThreadTeam(1) as team:
        operator = DenseOperator(matrix, [slice(0, 40), slice(40, len(matrix))], team, np.float32)
        return count_signals(operator, np.random.default_rng(seed), max_n)


def test_noise_has_no_signals_whatever_its_frequencies():
    rng = np.random.default_rng(0)
    for frequency in (0.05, 0.5, rng.uniform(0.02, 0.9, 300)):
        matrix = rng.random((400, 300)) < frequency
        matrix[0] = True
        assert signals(matrix) <= 1


def test_separate_blocks_are_counted_one_by_one_also_beyond_the_first_guess():
    rng = np.random.default_rng(0)
    for count in (4, 60):
        rows, items = 12 * count, 10 * count
        matrix = rng.random((rows, items)) < 0.02
        for k in range(count):
            matrix[12 * k : 12 * (k + 1), 10 * k : 10 * (k + 1)] = True
        # The mean of an item takes one dimension away where the blocks fill all rows.
        assert count - 1 <= signals(matrix) <= count + 1
        assert signals(matrix, max_n=3) == 3


def test_items_that_all_rows_have_say_nothing():
    matrix = np.random.default_rng(0).random((200, 50)) < 0.3
    matrix[:, :10] = True
    assert signals(matrix) <= 1
    assert signals(np.ones((60, 5), bool)) == 0
