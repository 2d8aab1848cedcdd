"""Sums over blocks of items: they are those of the whole, and choosing items by them shortens the description."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import xlogy

from saltmine import _core, metrics
from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import StackedMatrix
from saltmine.mdl import scores as scoring
from saltmine.mdl.code_length import cross_weights, item_codes
from saltmine.mdl.evidence import log_likelihood_ratio, min_item_evidence
from saltmine.mdl.item_choice import DIFFERENCE
from saltmine.solver import kernels
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import description_length, find_carriers, null_length, score_model
from saltmine.solver.wide_model import WideModel, WideStart, _added
from tests.helpers.added import ask_as_blocks_do


@pytest.fixture(autouse=True)
def in_blocks(monkeypatch):
    """Have models in memory test what classes add as blocks do, which do not shuffle labels."""
    ask_as_blocks_do(monkeypatch)


def random_data(seed, sizes=(70, 5, 130), n=25, repeated=False, fold=False):
    """Return random data; with ``repeated`` rows and columns occur several times, and ``fold`` makes one of them."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    matrix = rng.random((sum(sizes), n)) < rng.uniform(0.1, 0.6, n)
    matrix[0] = True
    if repeated:
        rows, columns = rng.integers(1, 5, len(matrix)), rng.integers(1, 5, n)
        matrix, numbers = np.repeat(np.repeat(matrix, rows, axis=0), columns, axis=1), np.repeat(numbers, rows)
    return StackedMatrix.from_rows(matrix, numbers, len(sizes), fold=fold)


def bits_of(data):
    return BitMatrix(data.matrix, data.blocks, data.weights)


def random_model(data, seed, rank=4):
    rng = np.random.default_rng(seed)
    (m, n), c = data.matrix.shape, len(data.blocks)
    X = rng.random((n, rank)) < 0.3
    X[0] = True
    V = repair_alterations(X, rng.random((c, n, rank)) < 0.2)
    return drop_idle_parts(BinaryModel(X, V, rng.random((m, rank)) < 0.3), data.blocks)


def with_patterns(data, model, seed):
    """Return data whose rows have most items of the patterns that they use."""
    rng = np.random.default_rng(seed)
    carried, matrix = model.X | model.V, data.matrix.copy()
    numbers = np.repeat(np.arange(len(data.blocks)), [rows.stop - rows.start for rows in data.blocks])
    covered = np.array([(carried[a] & uses).any(axis=1) for a, uses in zip(numbers, model.Y, strict=True)])
    matrix |= covered & (rng.random(matrix.shape) < 0.9)
    return StackedMatrix.from_rows(matrix, numbers, len(data.blocks))


def parts_of(n, n_blocks):
    edges = np.linspace(0, n, n_blocks + 1).astype(int)
    return [slice(begin, end) for begin, end in pairwise(edges)]


def cut_items(bits, n_blocks):
    """Return blocks of items of the data."""
    return [
        ItemBlock(
            BitMatrix.of_columns(
                bits.columns[part], bits.layout, bits.blocks, Weights(bits.weights.items[part], bits.weights.rows)
            )
        )
        for part in parts_of(bits.shape[1], n_blocks)
    ]


def whole_model(wide, blocks):
    """Return the model of all blocks."""
    usage = wide.layout.unpack(wide.plan.usage).T
    parts = [block.model(np.arange(usage.shape[1]), usage) for block in blocks]
    # A block may have no item of a pattern that its rows use.
    X, V = np.concatenate([part.X for part in parts]), np.concatenate([part.V for part in parts], axis=1)
    return BinaryModel(X, V, usage)


def scores_of(wide):
    """Return the scores of all patterns of a model in blocks."""
    patterns, (added, adding) = range(len(wide.plan.used)), wide.added_log_p()
    tested = scoring.Tested(
        together=np.array([wide.together(s) for s in patterns]),
        choice=np.array([wide.item_choice(s) for s in patterns]),
        use=wide._use_log_p(),
        added=added.T,
        adding=adding.T,
    )
    return tested.scores(*wide.gains(), wide.log_alpha)


def assert_same_scores(found, expected):
    for name in ("evidence", "gain", "alteration_gain"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in expected.claims._fields:
        np.testing.assert_allclose(getattr(found.claims, name), getattr(expected.claims, name), err_msg=name)


@dataclass
class Case:
    """A wide model over blocks that hold a given model."""

    wide: WideModel
    blocks: list[ItemBlock]

    @classmethod
    def of(cls, bits, model, team, n_blocks=1, alterations=True):
        blocks = cut_items(bits, n_blocks)
        wide = WideModel(LocalExecutor(blocks, team), bits.layout, alterations=alterations, alpha=0.01)
        wide._begin(model.rank)
        for block, part in zip(blocks, parts_of(bits.shape[1], n_blocks), strict=True):
            block.take(BinaryModel(model.X[part], model.V[:, part], model.Y))
        wide._set_plan(bits.layout.pack(model.Y.T), np.full(model.rank, 0.5), np.ones(model.rank), 1.0)
        wide._take(_added(wide.executor.query(ItemBlock.sum, wide.plan)))
        return cls(wide, blocks)

    def model(self):
        return whole_model(self.wide, self.blocks)


def dense_length(data, model):
    """Return f of a model of the data as it was before folding, from dense arrays."""
    matrix = data.matrix[data.row_of][:, data.item_of]
    numbers = np.repeat(np.arange(len(data.blocks)), [rows.stop - rows.start for rows in data.blocks])[data.row_of]
    X, V, Y = model.X[data.item_of], model.V[:, data.item_of], model.Y[data.row_of]
    return metrics.description_length(matrix, numbers, X.T, V.transpose(0, 2, 1), Y)


def without_added(model, a, s):
    V = model.V.copy()
    V[a, :, s] = False
    return BinaryModel(model.X, V, model.Y)


def assert_same(one, other):
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


cases = pytest.mark.parametrize(
    ("sizes", "rank", "n_blocks", "repeated"),
    [
        ((205,), 4, 1, False),
        ((70, 135), 4, 3, False),
        ((70, 5, 130), 70, 2, False),
        ((64, 64, 1, 76), 6, 25, False),
        ((40, 30, 20), 5, 2, True),
    ],
    ids=["one class", "two classes", "more patterns than bits of a word", "a block for every item", "folded"],
)


@pytest.mark.slow
@cases
@pytest.mark.parametrize("seed", range(2))
def test_what_blocks_add_up_to_is_what_the_whole_data_says(seed, sizes, rank, n_blocks, repeated, team):
    data = random_data(seed, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, seed + 1, rank)
    assert (data.weights.shape != data.matrix.shape) == repeated
    case = Case.of(bits, model, team, n_blocks)
    wide = case.wide
    assert wide.length(printed=False) == pytest.approx(LocalSearch(bits, model).length)
    assert wide.length(printed=True) == pytest.approx(description_length(bits, model))
    assert wide.length(printed=True) == pytest.approx(dense_length(data, model))
    assert wide.null_length() == pytest.approx(null_length(bits))
    assert_same_scores(scores_of(wide), score_model(bits, model))
    np.testing.assert_array_equal(wide.carriers(), find_carriers(bits, model))
    assert_same(case.model(), model)


@cases
def test_counts_for_tables_are_those_of_the_whole_data(sizes, rank, n_blocks, repeated, team):
    data = random_data(9, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, 10, rank)
    executor = Case.of(bits, model, team, n_blocks).wide.executor
    counts = ItemCounts.joined(executor.query(ItemBlock.item_counts, np.arange(rank), model.Y))
    np.testing.assert_array_equal(counts.noise_counts, bits.noise_counts(model))
    for name, figures in vars(ItemCounts.of(bits, model, np.arange(bits.shape[1]))).items():
        np.testing.assert_array_equal(getattr(counts, name), figures, err_msg=name)


@pytest.mark.slow
@cases
def test_gains_are_what_f_loses_without_the_part(sizes, rank, n_blocks, repeated, team):
    data = random_data(3, sizes, repeated=repeated, fold=repeated)
    model = random_model(data, 4, rank)
    gain, added_gain = Case.of(bits_of(data), model, team, n_blocks).wide.gains()
    length = dense_length(data, model)
    for s in range(rank):
        without = dense_length(data, model.keep(np.arange(rank) != s))
        assert gain[s] == pytest.approx(without - length, abs=1e-6)
        for a in range(len(sizes)):
            if model.V[a, :, s].any():
                without = dense_length(data, without_added(model, a, s))
                assert added_gain[a, s] == pytest.approx(without - length, abs=1e-6)
            else:
                assert np.isnan(added_gain[a, s])


@cases
def test_rows_are_weighed_as_by_the_local_search(sizes, rank, n_blocks, repeated, team):
    data = random_data(5, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, 6, rank)
    wide = Case.of(bits, model, team, n_blocks).wide
    gains = sum(wide.executor.query(ItemBlock.weigh, wide.plan, 5000.0))
    local = LocalSearch(bits, model)
    state, without = kernels.make_state(bits.columns, rank, len(sizes)), kernels.make_without(bits.columns)
    for s in range(rank):
        kernels.exchange(local.data, state, s, local.rows(s), local.carry(s))
    for s in range(rank):
        kernels.leave_out(local.data, state, s, np.arange(bits.shape[1]), without)
        expected = kernels.weigh_rows(local.data, without.open_cells, local.carry(s), local.errors, 5000.0)
        np.testing.assert_allclose(gains[s], expected, atol=1e-8)


@pytest.mark.slow
@cases
def test_every_part_has_the_evidence_of_the_local_search(sizes, rank, n_blocks, repeated, team):
    data = random_data(7, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, 8, rank)
    wide, local = Case.of(bits, model, team, n_blocks).wide, LocalSearch(bits, model)
    assert wide.patterns() == local.patterns() == list(range(rank))
    added, adding = wide.added_log_p()
    np.testing.assert_array_equal(adding, model.V.any(axis=1).T)
    assert adding.any() == (len(sizes) > 1)
    for s in range(rank):
        assert wide.pattern_evidence(s) == pytest.approx(local.pattern_evidence(s), abs=1e-8)
        assert wide.together(s) == pytest.approx(local.together(s), abs=1e-8)
        assert wide.item_choice(s) == pytest.approx(local.item_choice(s), abs=1e-8)
        np.testing.assert_allclose(wide._use_log_p()[:, s], local.use_log_p([s])[1][0], atol=1e-8)
        np.testing.assert_allclose(added[s], local.added_log_p([s])[0], atol=1e-8)
    np.testing.assert_allclose(wide.claim_evidence(), local.claim_evidence()[:rank], atol=1e-8)


def test_what_a_class_adds_can_be_taken_away(team):
    data = random_data(1)
    bits, model = bits_of(data), random_model(data, 2)
    case = Case.of(bits, model, team, n_blocks=3)
    case.wide.executor.update(ItemBlock.clear_added, 2, np.array([False, True, False]))
    model.V[1, :, 2] = False
    assert_same(case.model(), model)


def lengths_of_items(block, plan):
    """Return what every item contributes to f at the size of the description that the plan says."""
    lengths, (c, n, _), rank = [], block.masks.shape, len(plan.used)
    for i in range(n):
        one, costs = slice(i, i + 1), block.data.costs
        costs = costs._replace(weights=costs.weights[one], codes=costs.codes[one])
        sums = scoring.make_model_sums(rank, c)
        masks = np.ascontiguousarray(block.masks[:, one])
        _core.sum_items(block.data._replace(columns=block.data.columns[one], costs=costs), plan, masks, sums)
        lengths.append(sums.code[2] + sums.code[1] * plan.log_total + sums.extra[plan.used.any(axis=1)].sum())
    return np.array(lengths)


def without_test(plan):
    """Return the plan for which every item shows enough."""
    return plan._replace(items=np.zeros_like(plan.items), log_total=8.0)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(90,), (40, 50), (30, 20, 40)])
@pytest.mark.parametrize("alterations", [True, False])
def test_no_choice_of_items_makes_the_description_longer(sizes, alterations, team):
    for seed in range(10):
        data = random_data(seed, sizes, n=40)
        model = random_model(data, seed)
        case = Case.of(bits_of(with_patterns(data, model, seed)), model, team, alterations=alterations)
        (block,), plan = case.blocks, case.wide.plan
        # What classes have alone may have to go, for not being shown to differ.
        given = np.bitwise_and.reduce(block.masks, axis=0)
        for asked, start in ((without_test(plan), 0), (plan, 0), (without_test(plan), given)):
            block.masks[:] = start
            before = lengths_of_items(block, asked)
            block.solve(asked)
            after = lengths_of_items(block, asked)
            assert (after <= before + 1e-9).all()
            assert (after < before - 1e-9).any()
            if not alterations:
                np.testing.assert_array_equal(block.masks, np.broadcast_to(block.masks[:1], block.masks.shape))


class OneItem:
    """One item, described by the formulas: what it takes with any choice of carriers, and what it then shows."""

    def __init__(self, bits, matrix, i, plan):
        self.column, self.plan, self.blocks = matrix[:, i], plan, bits.blocks
        self.usage = bits.layout.unpack(plan.usage)
        self.code = item_codes(bits.item_counts)[i]
        self.cross = cross_weights(bits.class_sizes)

    def covered(self, carried):
        """Return the cells that patterns cover; ``carried`` is (R, c)."""
        return np.concatenate([self.usage[:, rows].T @ carried[:, a] for a, rows in enumerate(self.blocks)])

    def length(self, carried):
        errors = np.count_nonzero(self.covered(carried) ^ self.column)
        length = (errors + 1) * (self.plan.log_total - np.log(errors)) + self.code if errors else 0.0
        hits = np.array([self.usage[:, rows] @ self.column[rows].astype(int) for rows in self.blocks])
        for s, carriers in enumerate(carried):
            length += self.code * (1 if carriers.all() else carriers.sum())
            length += sum(self.cross[a, b] * hits[b, s] for a, b in np.argwhere(np.outer(carriers, ~carriers)))
        return length

    def is_allowed(self, carried, s, carriers):
        """Say whether classes may carry the item in a pattern, given the other patterns."""
        without = carried.copy()
        without[s] = False
        open_ = ~self.covered(without)
        background = self.column[open_].mean() if open_.any() else 1.0
        ratio = log_likelihood_ratio(background, self.plan.density[s])
        here = [open_[rows] & self.usage[s, rows] for rows in self.blocks]
        ones = np.array(
            [np.count_nonzero(cells & self.column[rows]) for cells, rows in zip(here, self.blocks, strict=True)]
        )
        zeros = np.array([np.count_nonzero(cells) for cells in here]) - ones
        shown = ones[carriers].sum() * ratio[0] + zeros[carriers].sum() * ratio[1]
        n_items = 0 if self.plan.typical[s] else int(self.plan.items[s])
        is_shown = shown >= min_item_evidence(self.code, n_items)
        if carriers.all():
            return is_shown
        gains = ones - zeros
        # Classes that gain most come first, and they must have the item more often than the others.
        return (
            is_shown
            and gains[carriers].min() > 0
            and gains[carriers].min() >= gains[~carriers].max()
            and differs(ones[carriers].sum(), zeros[carriers].sum(), ones[~carriers].sum(), zeros[~carriers].sum())
        )


def differs(ones, zeros, other_ones, other_zeros):
    """Say whether a rate is higher than another, by a likelihood ratio."""
    if ones * other_zeros <= other_ones * zeros:
        return False
    counts = np.array([[ones, zeros], [other_ones, other_zeros]])
    lengths = [-(xlogy(part, part / part.sum())).sum() for part in (counts.sum(axis=0), *counts)]
    return lengths[0] - lengths[1] - lengths[2] >= DIFFERENCE


@pytest.mark.slow
@pytest.mark.parametrize("n_typical", [0, 1, 3])
@pytest.mark.parametrize("asks_evidence", [True, False])
@pytest.mark.parametrize("sizes", [(60,), (30, 30)])
def test_no_change_of_one_pattern_would_shorten_an_item(sizes, asks_evidence, n_typical, team):
    n_carried = 0
    for seed in range(8):
        data = random_data(seed, sizes, n=12)
        model = random_model(data, seed, rank=3)
        data = with_patterns(data, model, seed)
        bits = bits_of(data)
        case = Case.of(bits, model, team)
        (block,) = case.blocks
        plan = case.wide.plan._replace(log_total=6.0) if asks_evidence else without_test(case.wide.plan)
        plan = plan._replace(typical=np.arange(3) < n_typical)
        block.masks[:] = 0
        block.solve(plan)
        lengths = lengths_of_items(block, plan)
        for i in range(12):
            item = OneItem(bits, data.matrix, i, plan)
            carried = np.stack([block._carriers_of(s)[:, i] for s in range(3)])
            n_carried += carried.sum()
            assert item.length(carried) == pytest.approx(lengths[i])
            for s, carriers in product(range(3), product([False, True], repeat=len(sizes))):
                other = carried.copy()
                other[s] = carriers
                if not any(carriers) or item.is_allowed(carried, s, other[s]):
                    assert item.length(other) >= lengths[i] - 1e-9
    assert n_carried > 0


@pytest.mark.parametrize("sizes", [(80,), (40, 40)])
def test_frequent_items_need_no_evidence_but_a_pattern_of_too_few_rows_does(sizes, team):
    """Two patterns of rows drawn at random, in data of frequent items: two in five rows use the first.

    The search called both typical, but of the second there are too few rows by now.
    """
    rng = np.random.default_rng(0)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    data = StackedMatrix.from_rows(rng.random((80, 30)) < 0.9, numbers, len(sizes))
    usage = np.zeros((80, 2), dtype=bool)
    for s, used in enumerate((32, 31)):
        usage[rng.choice(80, used, replace=False), s] = True
    model = BinaryModel(np.ones((30, 2), bool), np.zeros((len(sizes), 30, 2), bool), usage)
    for s, is_typical in enumerate((True, False)):
        bits = bits_of(data)
        case = Case.of(bits, model.keep(np.arange(2) == s), team)
        # A density above that of the items: there is something that could be shown, but random rows show less.
        case.wide._typical[:] = True
        case.wide._set_plan(case.wide.plan.usage, np.array([0.95]), np.array([10]), case.wide.total)
        plan = case.wide.plan
        assert plan.typical.tolist() == [is_typical]
        assert np.isinf(case.wide.pattern_evidence(0)) == is_typical
        (block,) = case.blocks
        block.masks[:] = 0
        block.solve(plan)
        carried = case.model().X[:, 0]
        assert carried.mean() > 0.9


def planted_start(fold):
    """Return data with repeated rows and columns, and a start with some of the rows exchanged.

    The first class adds 15 items to the first pattern, the second pattern is of the second class only.
    """
    rng = np.random.default_rng(0)
    y, usage = np.repeat([0, 1], [60, 70]), np.zeros((130, 3), dtype=bool)
    usage[:20, 0], usage[60:85, 0], usage[85:110, 1], usage[20:35, 2], usage[110:125, 2] = True, True, True, True, True
    carried = np.zeros((2, 3, 150), dtype=bool)
    carried[:, 0, :20], carried[0, 0, 20:35], carried[:, 1, 40:60], carried[:, 2, 60:80] = True, True, True, True
    cells = np.concatenate([usage[y == a].astype(int) @ carried[a] > 0 for a in range(2)])
    cells ^= rng.random(cells.shape) < 0.03
    rows, columns = (np.repeat(np.arange(size), rng.integers(1, 4, size)) for size in cells.shape)
    data = StackedMatrix.from_rows(cells[rows][:, columns], y[rows], 2, fold=fold)
    start = (usage ^ (rng.random(usage.shape) < 0.05))[rows]
    bits = bits_of(data)
    whole = WideStart(bits.layout.pack(start[data.order].T), np.full(3, 0.8), np.full(3, 0.1), 2.0, [])
    return data, bits, whole, carried[:, :, columns]


def run(fold, n_blocks, team, alterations=True):
    data, bits, start, _ = planted_start(fold)
    blocks = cut_items(bits, n_blocks)
    wide = WideModel(LocalExecutor(blocks, team), bits.layout, alterations=alterations, alpha=0.01)
    wide.run(start)
    model = whole_model(wide, blocks)
    return wide, BinaryModel(model.X[data.item_of], model.V[:, data.item_of], model.Y[data.row_of]), bits, model


@pytest.mark.slow
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_neither_blocks_nor_folding_change_the_model(fold, n_blocks, team):
    expected, unfolded, _, _ = run(fold=False, n_blocks=1, team=team)
    wide, found, bits, model = run(fold, n_blocks, team)
    assert_same(found, unfolded)
    length = wide.length(printed=False)
    assert length == pytest.approx(expected.length(printed=False)) == pytest.approx(LocalSearch(bits, model).length)
    assert_same_scores(scores_of(wide), scores_of(expected))
    np.testing.assert_allclose(wide.claim_evidence(), LocalSearch(bits, model).claim_evidence()[:3])
    assert found.X.any()
    assert found.V.any()


def test_a_wide_model_has_planted_patterns_and_nothing_that_chance_explains(team):
    for alterations in (True, False):
        wide, found, bits, model = run(True, 2, team, alterations)
        assert wide.length(printed=False) < wide.null_length()
        assert wide.length(printed=True) == pytest.approx(description_length(bits, model))
        assert wide.patterns() == [0, 1, 2]
        assert all(wide.pattern_evidence(s) >= -np.log(0.01) for s in range(3))
        assert (wide.claim_evidence() >= -np.log(0.01)).all()
        assert found.V.any() == alterations
        if alterations:
            carried = planted_start(True)[3]
            shared = carried.all(axis=0).T
            # Of some 120 shared items and 30 added ones.
            assert np.count_nonzero(found.X ^ shared) <= 3
            assert np.count_nonzero(found.V ^ (carried.transpose(0, 2, 1) & ~shared)) <= 3
            # Nothing but what the first class adds to the first pattern.
            assert np.argwhere(np.isfinite(wide.claim_evidence())).tolist() == [[0, 0]]


def test_a_start_of_pure_chance_comes_to_nothing(team):
    data = random_data(3, (40, 50), n=300)
    bits = bits_of(data)
    usage = np.random.default_rng(0).random((2, 90)) < 0.3
    wide = WideModel(LocalExecutor([ItemBlock(bits)], team), bits.layout, alterations=True, alpha=0.01)
    wide.run(WideStart(bits.layout.pack(usage), np.full(2, 0.8), np.full(2, 0.1), 20.0, []))
    assert wide.patterns() == []
    assert wide.length(printed=False) == pytest.approx(wide.null_length())
