"""Compiled loops of the local search against loops over single cells."""

from itertools import pairwise

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.mdl.evidence import pattern_density, pattern_evidence, rounded_density
from saltmine.mdl.row_sizes import frequency_bins, row_shifts
from saltmine.solver import kernels
from saltmine.solver.local_search import LocalSearch

SIZES = (70, 5, 60)


class Case:
    """Random data with two random patterns, in the state of a search and as plain arrays."""

    def __init__(self, seed, n=12, density=0.35, weighted=True):
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
        self.bits = BitMatrix(self.matrix, self.blocks, self.weights)
        self.local = LocalSearch(self.bits, self.model)
        self.carry = (X | V).transpose(2, 0, 1)
        # Cells that the second pattern leaves to the first.
        self.open = ~(self.model.Y[:, 1:] & self.carry[1][self.classes])
        weights = self.weights.rows[:, None]
        self.background = (self.open * self.matrix * weights).sum(axis=0) / (self.open * weights).sum(axis=0)

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
    rows, shown = case.model.Y[:, 0], np.empty(12)
    without = case.local._leave_out(0)
    np.testing.assert_allclose(without.background, case.background)
    kernels.item_evidence(case.local.data, without, case.pack(rows), case.carry[0], density, shown)
    expected = evidence_of_items(case, rows, case.carry[0], density)
    assert np.count_nonzero(expected) >= 5
    np.testing.assert_allclose(shown, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_of_a_pattern_is_that_of_its_items_at_its_own_density(seed):
    case = Case(seed)
    data, rows, carry = case.local.data, case.model.Y[:, 0], case.carry[0]
    without = case.local._leave_out(0)
    cells = np.empty((3, *carry.shape), dtype=np.int64)
    kernels.count_all_cells(data, without, case.pack(rows), cells)
    density = rounded_density(pattern_density(data.costs, cells, carry))
    shown = evidence_of_items(case, rows, carry, density)
    sizes, used = (np.array([case.weights.rows[of] @ which[of] for of in case.blocks]) for which in (rows | True, rows))
    expected = pattern_evidence(data.costs, carry, shown, sizes, used)
    assert kernels.evidence_of(data, without, case.pack(rows), carry) == pytest.approx(expected)


def test_the_likelihood_ratio_of_any_cells_is_one_on_average_under_chance():
    """This is what makes exp(-evidence) a bound on a probability; chance draws cells by the odds of item and row."""
    rng = np.random.default_rng(0)
    shifts, odds, density = rng.normal(0, 2, 64), 0.15, 0.3
    chance = odds * np.exp(shifts) / (1 + odds * np.exp(shifts))
    cells = np.uint64(0b1011_0110_1011)
    members = [bit for bit in range(64) if int(cells) >> bit & 1]
    # Some rows are so large that chance is as dense as the pattern.
    assert 0 < (chance[members] > density).sum() < len(members)
    mean = 0.0
    for ones in range(2 ** len(members)):
        has = np.array([ones >> k & 1 for k in range(len(members))], dtype=bool)
        column = np.uint64(sum(1 << bit for bit, one in zip(members, has, strict=True) if one))
        ratio = np.exp(kernels.cell_evidence(column, cells, 0, odds, density, shifts, np.exp(shifts)))
        mean += np.where(has, chance[members], 1 - chance[members]).prod() * ratio
    assert mean == pytest.approx(1)


def test_large_rows_are_no_evidence():
    """Items that go together only because some rows are large show nothing, as they would without row sizes."""
    rng = np.random.default_rng(0)
    rate = np.where(np.arange(300) < 30, 0.8, 0.08)
    matrix = rng.random((300, 60)) < rate[:, None]
    rows = rate > 0.5
    model = BinaryModel(np.ones((60, 1), bool), np.zeros((1, 60, 1), bool), rows[:, None])
    local = LocalSearch(BitMatrix(matrix, [slice(0, 300)]), model)
    assert local.together(0) < 0
    blind = local.data._replace(
        row_shifts=np.zeros_like(local.data.row_shifts), row_odds=np.ones_like(local.data.row_odds)
    )
    assert kernels.evidence_of(blind, local._leave_out(0), local.state.usage[0], local.state.carry[0]) > 500


@pytest.mark.parametrize("seed", range(3))
def test_carriers_are_the_rows_that_a_pattern_would_make_shorter_alone(seed):
    case = Case(seed)
    rng = np.random.default_rng(seed)
    items, worth, rows = rng.random(12) < 0.5, rng.uniform(1, 6, 12), case.pack(np.zeros(135))
    for price in (-np.inf, 0.0, 4.0):
        kernels.find_carriers(case.local.data, items, worth, price, rows)
        saved = np.where(case.matrix, worth, -worth)[:, items].sum(axis=1)
        np.testing.assert_array_equal(case.unpack(rows), saved > price)
    # The search asks for what its own errors are worth, and for two shared items at least.
    local, used = case.local, int(case.local.state.used[0])
    shared = case.carry[0].all(axis=0)
    total = local.state.used.sum() + case.weights.items @ local.state.errors
    worth = case.weights.items * np.log(total / np.maximum(local.state.errors, 0.5))
    saved = np.where(case.matrix, worth, -worth)[:, shared].sum(axis=1)
    np.testing.assert_array_equal(case.unpack(local.carriers(case.carry[0], used)), saved > np.log(total / used))
    single = np.zeros((3, 12), dtype=bool)
    single[:, np.flatnonzero(case.weights.items == 1)[0]] = True
    assert case.unpack(local.carriers(single, used)).all()


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_fitted_to_items_by_what_they_save(seed):
    case = Case(seed)
    local, carry = case.local, case.carry[0]
    rows = case.pack(np.random.default_rng(seed).random(135) < 0.5)
    kernels.fit_rows(local.data, local.state, 0, local._leave_out(0), carry, 50, rows)
    chosen = case.unpack(rows)
    assert 0 < chosen.sum() < 135
    # A fixed point: with the errors and the usage that they make, the same rows would be chosen again.
    errors, used = case.errors(carry, chosen), case.weights.rows @ chosen
    total = local.state.used[1] + used + case.weights.items @ errors
    worth = case.weights.items * np.log(total / np.maximum(errors, 0.5))
    cross, saved = local.data.costs.cross, np.zeros(135)
    for j, a in enumerate(case.classes):
        cells = np.where(case.matrix[j], worth, -worth)
        saved[j] = cells[carry[a] & case.open[j]].sum()
        for i in np.flatnonzero(~carry[a] & carry.any(axis=0) & case.matrix[j]):
            saved[j] -= case.weights.items[i] * cross[carry[:, i], a].sum()
    np.testing.assert_array_equal(chosen, saved > np.log(total / used))


def test_a_pattern_that_fewer_than_two_rows_use_has_none():
    case = Case(0, weighted=False)
    rows = np.zeros(135, dtype=bool)
    rows[3] = True
    words = case.pack(rows)
    kernels.fit_rows(case.local.data, case.local.state, 0, case.local._leave_out(0), case.carry[0], 5, words)
    assert not words.any()


def test_rows_of_groups_and_cells_are_those_of_the_matrix():
    case = Case(1)
    rng = np.random.default_rng(1)
    group, rows = rng.integers(0, 3, 135), rng.random(135) < 0.4
    strata = case.bits.layout.pack(group == np.arange(3)[:, None])
    found = kernels.count_by_stratum(case.local.data, strata, case.pack(rows))
    for g in range(3):
        for a in range(3):
            assert found[g, a] == case.weights.rows @ (rows & (group == g) & (case.classes == a))
    layout, items = case.bits.layout, np.array([7, 2, 5])
    cells = kernels.unpack_cells(case.local.data.columns, items, layout.places)
    np.testing.assert_array_equal(cells, case.matrix[np.ix_(layout.rows, items)])


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_some_classes_and_items_are_those_of_all(seed):
    case = Case(seed)
    data, without, rows = case.local.data, case.local._leave_out(0), case.pack(case.model.Y[:, 0])
    c, n = case.carry[0].shape
    whole, some = np.empty((3, c, n), dtype=np.int64), np.full((3, 1, n), -1)
    kernels.count_all_cells(data, without, rows, whole)
    items = np.array([1, 4, 11])
    kernels.count_cells(data, without, rows, np.array([c - 1]), items, some)
    np.testing.assert_array_equal(some[:, 0, items], whole[:, c - 1, items])
    assert (np.delete(some, items, axis=2) == -1).all()
    assert whole[:, c - 1, items].any()


def test_what_all_classes_with_rows_carry_all_classes_carry():
    carry = np.array([[True, True, False], [True, False, False]])
    whole = np.zeros((4, 3), dtype=bool)
    kernels.carry_in_all(np.array([1, 3]), carry, whole)
    assert whole.tolist() == [[True, False, False], [True, True, False], [True, False, False], [True, False, False]]
