"""Compiled loops over rows, of blocks and of the local search, against loops over single cells."""

from itertools import pairwise

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.mdl.added_items import can_shuffle
from saltmine.mdl.added_items import test_added as log_p_of_added
from saltmine.mdl.class_tests import join_strata, size_strata
from saltmine.mdl.code_length import cross_weights
from saltmine.mdl.evidence import pattern_density, pattern_evidence, rounded_density
from saltmine.mdl.row_sizes import frequency_bins, row_shifts
from saltmine.solver import kernels, search_state
from saltmine.solver.local_search import LocalSearch

SIZES = (70, 5, 60)


class Case:
    """Random data with two random patterns, in a local search, in the state of a block and as plain arrays."""

    def __init__(self, seed, n=12, density=0.35, weighted=True, planted=False):
        rng = np.random.default_rng(seed)
        m, c = sum(SIZES), len(SIZES)
        edges = np.cumsum([0, *SIZES])
        self.blocks = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.classes = np.repeat(np.arange(c), SIZES)
        self.matrix = rng.random((m, n)) < density * rng.uniform(0.3, 1.7, (m, 1)) * rng.uniform(0.3, 1.7, n)
        self.matrix[0] = True
        ones = np.ones(n, dtype=int), np.ones(m, dtype=int)
        self.weights = Weights(rng.integers(1, 4, n), rng.integers(1, 6, m)) if weighted else Weights(*ones)
        X = rng.random((n, 2)) < 0.4
        X[:2] = True
        V = repair_alterations(X, rng.random((c, n, 2)) < 0.2)
        self.model = BinaryModel(X, V, rng.random((m, 2)) < 0.3)
        if planted:
            cells = self.model.Y[:, :1] & (X | V)[self.classes, :, 0]
            self.matrix |= cells & (rng.random((m, n)) < 0.95)
        self.bits = BitMatrix(self.matrix, self.blocks, self.weights)
        self.local = LocalSearch(self.bits, self.model)
        self.data = self.local.data
        self.carry = np.ascontiguousarray((X | V).transpose(2, 0, 1))
        self.state = kernels.make_state(self.data.columns, 2, c)
        for s in range(2):
            kernels.exchange(self.data, self.state, s, self.pack(self.model.Y[:, s]), self.carry[s])
        # Cells that the second pattern leaves to the first.
        self.open = ~(self.model.Y[:, 1:] & self.carry[1][self.classes])
        weights = self.weights.rows[:, None]
        self.background = (self.open * self.matrix * weights).sum(axis=0) / (self.open * weights).sum(axis=0)

    def without(self, s=0):
        """Return the data as a block looks at it without a pattern."""
        without = kernels.make_without(self.data.columns)
        kernels.leave_out(self.data, self.state, s, np.arange(self.matrix.shape[1]), without)
        return without

    def count_cells(self, rows, s=0):
        """Count the cells of some rows by class and item without a pattern."""
        cells, items = np.empty((3, *self.carry[s].shape), dtype=np.int64), np.arange(self.matrix.shape[1])
        kernels.count_cells(self.data, self.without(s).open_cells, self.pack(rows), items, cells)
        return cells

    def pack(self, rows):
        return self.bits.layout.pack(np.asarray(rows, dtype=bool)[None])[0]

    def unpack(self, words):
        return self.bits.layout.unpack(words[None])[0]

    def errors(self, carry, rows):
        """Count the errors of every item where the first pattern has these items and rows."""
        covered = ~self.open | (rows[:, None] & carry[self.classes])
        return self.weights.rows @ (covered != self.matrix)


def evidence_of_items(case, rows, carry, density):
    """Return the evidence of every item from the probability of every single cell."""
    m = int(case.weights.rows.sum())
    sizes = case.matrix @ case.weights.items
    bins = frequency_bins(case.weights.rows @ case.matrix, case.weights.items, m)
    shifts = row_shifts(sizes, bins, m)
    shown = np.zeros(case.matrix.shape[1])
    for i, background in enumerate(case.background):
        if not 0 < background < 1:
            continue
        for j in np.flatnonzero(rows & case.open[:, i] & carry[case.classes, i]):
            chance = 1 / (1 + np.exp(-np.log(background / (1 - background)) - shifts[j]))
            if chance < density:
                ratio = density / chance if case.matrix[j, i] else (1 - density) / (1 - chance)
                shown[i] += case.weights.rows[j] * np.log(ratio)
    return shown


@pytest.mark.parametrize("density", [0.15, 0.6, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_single_cells_with_both_margins(seed, density):
    case = Case(seed)
    rows, without = case.model.Y[:, 0], case.without()
    np.testing.assert_allclose(without.background, case.background)
    np.testing.assert_array_equal(without.errors, case.errors(case.carry[0], np.zeros_like(rows)))
    # Every place of a row counts as a size of its own.
    by_size = np.arange(len(case.data.row_shifts)), case.data.row_shifts
    shown = kernels.item_evidence(case.data, without, case.pack(rows), case.carry[0], density, *by_size)
    expected = evidence_of_items(case, rows, case.carry[0], density)
    assert np.count_nonzero(expected) >= 5
    np.testing.assert_allclose(shown, expected, rtol=1e-9, atol=1e-9)


def evidence_of_pattern(case, rows, carry):
    """Return the evidence of the first pattern if it had these rows and items, from single cells."""
    density = rounded_density(pattern_density(case.data.costs, case.count_cells(rows), carry))
    shown = evidence_of_items(case, rows, carry, density)
    sizes, used = (np.array([case.weights.rows[of] @ which[of] for of in case.blocks]) for which in (rows | True, rows))
    return pattern_evidence(case.data.costs, carry, shown, sizes, used)


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_of_a_pattern_is_that_of_its_items_at_its_own_density(seed):
    case = Case(seed)
    rows, carry = case.model.Y[:, 0], case.carry[0]
    expected = evidence_of_pattern(case, rows, carry)
    assert case.local.together(0) == pytest.approx(expected)
    # Also where only some of its rows are looked at, and where it is not there yet.
    some = rows & (np.random.default_rng(seed).random(135) < 0.5)
    assert case.local.together(0, some) == pytest.approx(evidence_of_pattern(case, some, carry))
    case.local.remove(0)
    assert case.local._search.evidence_of(case.pack(rows), carry) == pytest.approx(expected)


def test_the_likelihood_ratio_of_any_cells_is_one_on_average_under_chance():
    """This is what makes exp(-evidence) a bound on a probability; chance draws cells by the odds of item and row."""
    rng = np.random.default_rng(0)
    shifts, odds, density = rng.normal(0, 2, 64), 0.15, 0.3
    chance = odds * np.exp(shifts) / (1 + odds * np.exp(shifts))
    members = [0, 1, 3, 5, 6, 8, 10, 11]
    # Some rows are so large that chance is as dense as the pattern.
    assert 0 < (chance[members] > density).sum() < len(members)
    # One item for everything that the cells of these rows can be.
    has = np.arange(2 ** len(members))[:, None] >> np.arange(len(members)) & 1 == 1
    matrix = np.zeros((64, len(has)), dtype=bool)
    matrix[members] = has.T
    data = kernels.make_data(BitMatrix(matrix, [slice(0, 64)]), shifts=shifts)
    without = kernels.make_without(data.columns)
    without.open_cells[:] = data.row_mask
    without.background[:] = odds / (1 + odds)
    rows = np.array([sum(1 << bit for bit in members)], dtype=np.uint64)
    carry = np.ones((1, len(has)), dtype=bool)
    shown = kernels.item_evidence(data, without, rows, carry, density, np.arange(64), shifts)
    probability = np.where(has, chance[members], 1 - chance[members]).prod(axis=1)
    assert probability.sum() == pytest.approx(1)
    assert probability @ np.exp(shown) == pytest.approx(1)
    assert shown.min() < 0 < shown.max()


def test_large_rows_are_no_evidence(monkeypatch):
    """Items that go together only because some rows are large show nothing, as they would without row sizes."""
    rng = np.random.default_rng(0)
    rate = np.where(np.arange(300) < 30, 0.8, 0.08)
    matrix = rng.random((300, 60)) < rate[:, None]
    rows = rate > 0.5
    model = BinaryModel(np.ones((60, 1), bool), np.zeros((1, 60, 1), bool), rows[:, None])
    bits = BitMatrix(matrix, [slice(0, 300)])
    assert LocalSearch(bits, model).together(0) < 0
    blind = kernels.make_data(bits, shifts=np.zeros(300))
    monkeypatch.setattr(search_state, "make_data", lambda _: blind)
    assert LocalSearch(bits, model).together(0) > 500


@pytest.mark.parametrize("seed", range(3))
def test_carriers_are_the_rows_that_a_pattern_would_make_shorter_alone(seed):
    case = Case(seed)
    rng = np.random.default_rng(seed)
    items, worth = rng.random(12) < 0.5, rng.uniform(1, 6, 12)
    for price in (-np.inf, 0.0, 4.0):
        rows = kernels.find_carriers(case.data, items, worth, price)
        saved = np.where(case.matrix, worth, -worth)[:, items].sum(axis=1)
        np.testing.assert_array_equal(case.unpack(rows), saved > price)
    # The search asks for what its own errors are worth, and for two shared items at least.
    local, used = case.local, int(case.local.used[0])
    shared = case.carry[0].all(axis=0)
    total = local.used.sum() + case.weights.items @ local.errors
    worth = case.weights.items * np.log(total / np.maximum(local.errors, 0.5))
    saved = np.where(case.matrix, worth, -worth)[:, shared].sum(axis=1)
    np.testing.assert_array_equal(case.unpack(local.carriers(0)), saved > np.log(total / used))
    single = BinaryModel(case.model.X[:, :1] & False, case.model.V[:, :, :1], case.model.Y[:, :1])
    single.X[np.flatnonzero(case.weights.items == 1)[0]] = True
    assert case.unpack(LocalSearch(case.bits, single).carriers(0)).all()


@pytest.mark.parametrize(("weighted", "density"), [(True, 0.5), (False, 0.2)])
def test_what_classes_add_is_tested_on_the_cells_of_carriers(weighted, density):
    """Of all items that a class might add if labels are shuffled, else of those that some class adds."""
    shuffled = clear = 0
    for seed in range(6):
        case = Case(seed, density=density, weighted=weighted, planted=True)
        local, carry = case.local, case.carry[0]
        # As if the rows stood there as often as they count.
        rows = np.repeat(np.arange(135), case.weights.rows)
        rows = rows[case.unpack(local.carriers(0))[rows]]
        shared = carry.all(axis=0)
        may_shuffle = can_shuffle(len(rows), int((~shared).sum()))
        items = np.flatnonzero(~shared if may_shuffle else carry.any(axis=0) & ~shared)
        strata = size_strata(case.matrix @ case.weights.items, case.weights.rows)
        joined = join_strata(np.bincount(strata[rows], minlength=strata.max() + 1))
        expected = log_p_of_added(
            case.matrix[np.ix_(rows, items)].astype(np.uint8),
            case.classes[rows],
            carry[:, items],
            joined[strata[rows]],
            case.weights.items[items],
            local.log_alpha,
            None if may_shuffle else int(case.weights.items[~shared].sum()),
        )
        np.testing.assert_allclose(local.added_log_p([0])[0], expected)
        shuffled += may_shuffle
        clear += (expected < local.log_alpha).any()
    assert clear
    assert (shuffled < 6) if weighted else (shuffled == 6)


def saved_by(case, carry, errors, total):
    """Return what the first pattern saves in every row, less its share of S, (m,)."""
    worth = case.weights.items * np.log(total / np.maximum(errors, 0.5))
    cross, saved = cross_weights(case.bits.class_sizes), np.zeros(135)
    for j, a in enumerate(case.classes):
        cells = np.where(case.matrix[j], worth, -worth)
        saved[j] = cells[carry[a] & case.open[j]].sum()
        for i in np.flatnonzero(~carry[a] & carry.any(axis=0) & case.matrix[j]):
            saved[j] -= case.weights.items[i] * cross[carry[:, i], a].sum()
    return saved


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_weighed_and_chosen_by_what_they_save(seed):
    case = Case(seed)
    errors = case.errors(case.carry[0], case.model.Y[:, 0])
    gains = kernels.weigh_rows(case.data, case.without().open_cells, case.carry[0], errors, 5000.0)
    saved, layout = saved_by(case, case.carry[0], errors, 5000.0), case.bits.layout
    np.testing.assert_allclose(gains[layout.places], saved[layout.rows])
    for price in (-5.0, 0.0, 7.0):
        chosen = case.unpack(kernels.choose_rows(case.data, gains, price))
        np.testing.assert_array_equal(chosen, saved > price)
        assert 0 < chosen.sum() < 135


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_fitted_to_items_by_what_they_save(seed):
    case = Case(seed)
    local, carry = case.local, case.carry[0]
    local.remove(0)
    rows = case.pack(np.random.default_rng(seed).random(135) < 0.5)
    for _ in range(10):
        rows, before = local._fit_rows(0, carry, rows), rows
    np.testing.assert_array_equal(rows, before)
    chosen = case.unpack(rows)
    assert 0 < chosen.sum() < 135
    # A fixed point: with the errors and the usage that they make, the same rows would be chosen again.
    errors, used = case.errors(carry, chosen), case.weights.rows @ chosen
    total = local.used[1] + used + case.weights.items @ errors
    np.testing.assert_array_equal(chosen, saved_by(case, carry, errors, total) > np.log(total / used))


def test_a_pattern_that_fewer_than_two_rows_use_has_none():
    case = Case(0, weighted=False)
    rows = np.zeros(135, dtype=bool)
    rows[3] = True
    case.local.remove(0)
    assert not case.local._fit_rows(0, case.carry[0], case.pack(rows)).any()


def test_rows_of_groups_are_those_of_the_matrix():
    case = Case(1)
    rng = np.random.default_rng(1)
    group, rows = rng.integers(0, 3, 135), rng.random(135) < 0.4
    strata = case.bits.layout.pack(group == np.arange(3)[:, None])
    found = kernels.count_by_stratum(case.data, strata, case.pack(rows))
    for g in range(3):
        for a in range(3):
            assert found[g, a] == case.weights.rows @ (rows & (group == g) & (case.classes == a))


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_some_items_are_those_of_all_and_others_stay(seed):
    case = Case(seed)
    rows = case.model.Y[:, 0]
    whole, some = case.count_cells(rows), np.full((3, 3, 12), -1)
    items = np.array([1, 4, 11])
    kernels.count_cells(case.data, case.without().open_cells, case.pack(rows), items, some)
    np.testing.assert_array_equal(some[:, :, items], whole[:, :, items])
    assert (np.delete(some, items, axis=2) == -1).all()
    assert whole[:, 2, items].any()


@pytest.mark.parametrize("seed", range(3))
def test_what_all_classes_with_rows_carry_all_classes_carry(seed):
    """A pattern of two classes of four: what only one of them has stays its own, nothing is that of the other two."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(4), 60)
    matrix = rng.random((240, 50)) < 0.03
    uses = np.isin(classes, [1, 3]) & (rng.random(240) < 0.6)
    matrix[np.ix_(uses, range(10))] = rng.random((uses.sum(), 10)) < 0.95
    matrix[np.ix_(uses & (classes == 1), range(10, 20))] = True
    bits = BitMatrix(matrix, [slice(60 * a, 60 * a + 60) for a in range(4)])
    local = LocalSearch(bits, BinaryModel.empty(240, 50, 4))
    assert local.replace([], [bits.layout.pack(uses[None])[0]])
    np.testing.assert_array_equal(bits.layout.unpack(local.rows(0)[None])[0], uses)
    carry = local.carry(0)
    assert carry[:, :10].all()
    assert carry[:, 10:20].tolist() == [[a == 1] * 10 for a in range(4)]
    assert not carry[:, 20:].any()


@pytest.mark.parametrize("seed", range(3))
def test_a_block_that_exchanges_patterns_covers_what_its_patterns_do(seed):
    """More patterns than a word has bits, which come, change and go."""
    case, rank = Case(seed), 70
    rng = np.random.default_rng(seed)
    state, rows, carry = (
        kernels.make_state(case.data.columns, rank, 3),
        np.zeros((rank, 135), dtype=bool),
        np.zeros((rank, 3, 12), dtype=bool),
    )
    for turn in range(200):
        s = turn if turn < rank else int(rng.integers(rank))
        rows[s], carry[s] = rng.random(135) < rng.choice([0, 0.1]), rng.random((3, 12)) < 0.1
        kernels.exchange(case.data, state, s, case.pack(rows[s]), carry[s])
    times = np.einsum("sj,sji->ji", rows.astype(int), carry[:, case.classes].astype(int))
    assert (times > 2).any()
    np.testing.assert_array_equal(case.bits.layout.unpack(state.covered), (times > 0).T)
    np.testing.assert_array_equal(case.bits.layout.unpack(state.covered_twice), (times > 1).T)
