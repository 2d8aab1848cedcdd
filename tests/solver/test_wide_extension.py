"""Sums over blocks of items: they are those of the whole, and choosing items by them shortens the description."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest
from saltmine.solver.judgement import Judgement
from saltmine.solver.wide_extension import Extension, Start, _added

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import make_planted
from saltmine.mdl.class_tests import find_carriers
from saltmine.mdl.code_length import cross_weights, item_codes
from saltmine.solver import item_kernels as extension_kernels
from saltmine.solver import kernels
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.item_block import ItemBlock, carried_model
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import description_length, null_length


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


def parts_of(n, n_blocks):
    edges = np.linspace(0, n, n_blocks + 1).astype(int)
    return [slice(begin, end) for begin, end in pairwise(edges)]


@dataclass
class Case:
    """An extension over blocks that hold a given model."""

    extension: Extension
    blocks: list[ItemBlock]

    @classmethod
    def of(cls, bits, model, team, n_blocks=1, alterations=True):
        blocks = [ItemBlock(bits.items(part)) for part in parts_of(bits.shape[1], n_blocks)]
        extension = Extension(LocalExecutor(blocks, team), bits.layout, alterations=alterations, alpha=0.01)
        extension._begin(model.rank)
        carried = model.X | model.V
        for block, part in zip(blocks, parts_of(bits.shape[1], n_blocks), strict=True):
            for s in range(model.rank):
                block.masks[:, :, s // 64] |= carried[:, part, s].astype(np.uint64) << np.uint64(s % 64)
        some, usage = np.ones(model.rank), bits.layout.pack(model.Y.T)
        extension.plan = extension._make_plan(usage, 0.5 * some, some, 1.0)
        extension._take(_added(extension.crew.run("sum", extension.plan)))
        extension.alteration_evidence = extension._alteration_evidence()
        return cls(extension, blocks)

    def model(self):
        usage = self.extension.layout.unpack(self.extension.plan.usage).T
        return carried_model(self.blocks, np.arange(usage.shape[1]), usage)


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


@cases
@pytest.mark.parametrize("seed", range(2))
def test_what_blocks_add_up_to_is_what_the_whole_data_says(seed, sizes, rank, n_blocks, repeated, team):
    data = random_data(seed, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, seed + 1, rank)
    assert (data.weights.shape != data.matrix.shape) == repeated
    case = Case.of(bits, model, team, n_blocks)
    extension, plan = case.extension, case.extension.plan
    assert extension.score() == pytest.approx(LocalSearch(bits, model).length)
    assert extension.null_length() == pytest.approx(null_length(bits))
    judgement, length = extension.judge()
    assert length == pytest.approx(description_length(bits, model))
    for name, figures in vars(Judgement.of(bits, model)).items():
        np.testing.assert_allclose(getattr(judgement, name), figures, err_msg=name)
    errors = np.concatenate(extension.crew.run("errors", plan), axis=1)
    np.testing.assert_array_equal(errors, bits.noise_counts(model))
    np.testing.assert_array_equal(extension.find_carriers(), find_carriers(bits, model))
    assert_same(case.model(), model)


@cases
def test_rows_are_weighed_as_by_the_refinement(sizes, rank, n_blocks, repeated, team):
    data = random_data(5, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, 6, rank)
    extension = Case.of(bits, model, team, n_blocks).extension
    gains, shown = (sum(part) for part in zip(*extension.crew.run("weigh", extension.plan, 5000.0), strict=True))
    refinement = LocalSearch(bits, model)
    evidence = np.zeros(bits.shape[1]), np.zeros(bits.shape[1])
    for s in range(rank):
        opened = refinement._open(s)
        pattern = kernels.Pattern(refinement.state.usage[s], refinement.state.carry[s], refinement.state.noise)
        kernels.evidence_of_cells(opened.background, extension.plan.density[s], *evidence)
        expected = np.empty(gains.shape[1]), np.empty(gains.shape[1])
        kernels.weigh_rows(refinement.data, opened, pattern, 5000.0, evidence, *expected)
        np.testing.assert_allclose(gains[s], expected[0], atol=1e-8)
        np.testing.assert_allclose(shown[s], expected[1], atol=1e-8)


@cases
def test_use_by_a_class_has_the_evidence_of_the_refinement(sizes, rank, n_blocks, repeated, team):
    data = random_data(7, sizes, repeated=repeated, fold=repeated)
    bits, model = bits_of(data), random_model(data, 8, rank)
    evidence = Case.of(bits, model, team, n_blocks).extension._class_evidence()
    refinement = LocalSearch(bits, model)
    for s in range(rank):
        np.testing.assert_allclose(evidence[s], refinement.class_evidence(s), atol=1e-8)


def test_what_a_class_adds_can_be_taken_away(team):
    data = random_data(1)
    bits, model = bits_of(data), random_model(data, 2)
    case = Case.of(bits, model, team, n_blocks=3)
    case.extension.crew.run("clear", 2, 1, changes=True)
    model.V[1, :, 2] = False
    assert_same(case.model(), model)


def lengths_of_items(block, plan):
    """Return what every item contributes to f at the size of the description that the plan says."""
    lengths, (c, n, _), rank = [], block.masks.shape, len(plan.used)
    for i in range(n):
        counts = [np.zeros((rank, *shape), dtype=np.int64) for shape in ((), (), (c,), (c,), (), ())]
        sums = extension_kernels.Sums(np.zeros(3), np.zeros(rank), *counts)
        extension_kernels.sum_items(block.data, plan, block.masks, i, i + 1, sums)
        lengths.append(sums.code[2] + sums.code[1] * plan.log_total + sums.extra[plan.used > 0].sum())
    return np.array(lengths)


def free(plan):
    """Return the plan for which every item shows enough."""
    return plan._replace(needed=np.full_like(plan.needed, -np.inf), log_total=8.0)


@pytest.mark.parametrize("sizes", [(90,), (40, 50), (30, 20, 40)])
@pytest.mark.parametrize("alterations", [True, False])
def test_no_choice_of_items_makes_the_description_longer(sizes, alterations, team):
    for seed in range(10):
        data = random_data(seed, sizes, n=40)
        case = Case.of(bits_of(data), random_model(data, seed), team, alterations=alterations)
        (block,), plan = case.blocks, case.extension.plan
        given = block.masks.copy() if alterations else np.bitwise_and.reduce(block.masks, axis=0)
        for asked, start in ((free(plan), 0), (plan, 0), (free(plan), given)):
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
        """Say whether classes show enough to carry the item in a pattern, given the other patterns."""
        without = carried.copy()
        without[s] = False
        open_ = ~self.covered(without)
        background = self.column[open_].mean() if open_.any() else 1.0
        says = kernels.evidence_of_cell(background, self.plan.density[s])
        if carriers.all() and self.plan.of_all[s] and background >= kernels.RIDES:
            return True
        shown = 0.0
        for a in np.flatnonzero(carriers):
            rows = self.blocks[a]
            here = open_[rows] & self.usage[s, rows]
            ones = np.count_nonzero(here & self.column[rows])
            shown += ones * says[0] + (np.count_nonzero(here) - ones) * says[1]
        return shown >= (self.plan.needed[s, 0] if carriers.all() else carriers.sum() * self.plan.needed[s, 1])


@pytest.mark.parametrize("asks_evidence", [True, False])
@pytest.mark.parametrize("sizes", [(60,), (30, 30)])
def test_no_change_of_one_pattern_would_shorten_an_item(sizes, asks_evidence, team):
    n_carried = 0
    for seed in range(8):
        data = random_data(seed, sizes, n=12)
        bits = bits_of(data)
        case = Case.of(bits, random_model(data, seed, rank=3), team)
        (block,) = case.blocks
        plan = case.extension.plan._replace(log_total=6.0) if asks_evidence else free(case.extension.plan)
        block.masks[:] = 0
        block.solve(plan)
        lengths = lengths_of_items(block, plan)
        for i in range(12):
            item = OneItem(bits, data.matrix, i, plan)
            carried = np.stack([block.carriers_of(s)[:, i] for s in range(3)])
            n_carried += carried.sum()
            assert item.length(carried) == pytest.approx(lengths[i])
            for s, carriers in product(range(3), product([False, True], repeat=len(sizes))):
                other = carried.copy()
                other[s] = carriers
                if not any(carriers) or item.is_allowed(carried, s, other[s]):
                    assert item.length(other) >= lengths[i] - 1e-9
    assert n_carried > 0


def planted_start(fold):
    """Return planted data with repeated rows and columns, and a start with some of its rows exchanged."""
    rng = np.random.default_rng(0)
    planted = make_planted(150, [40, 50], rank=3, noise=0.03, random_state=1)
    rows, columns = np.repeat(np.arange(90), rng.integers(1, 4, 90)), np.repeat(np.arange(150), rng.integers(1, 4, 150))
    data = StackedMatrix.from_rows(planted.X[rows][:, columns], planted.y[rows], 2, fold=fold)
    usage = (planted.usage ^ (rng.random(planted.usage.shape) < 0.05))[rows]
    bits = bits_of(data)
    return data, bits, Start(bits.layout.pack(usage[data.order].T), np.full(3, 0.8), np.full(3, 0.1), 2.0)


def run(fold, n_blocks, team, alterations=True):
    data, bits, start = planted_start(fold)
    blocks = [ItemBlock(bits.items(part)) for part in parts_of(bits.shape[1], n_blocks)]
    extension = Extension(LocalExecutor(blocks, team), bits.layout, alterations=alterations, alpha=0.01)
    extension.run(start)
    model = carried_model(blocks, np.arange(3), bits.layout.unpack(extension.plan.usage).T)
    return extension, BinaryModel(model.X[data.item_of], model.V[:, data.item_of], model.Y[data.row_of]), bits, model


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_neither_blocks_nor_folding_change_the_model(fold, n_blocks, team):
    expected, unfolded, _, _ = run(fold=False, n_blocks=1, team=team)
    extension, found, bits, model = run(fold, n_blocks, team)
    assert_same(found, unfolded)
    assert extension.score() == pytest.approx(expected.score()) == pytest.approx(LocalSearch(bits, model).length)
    for name, figures in vars(expected.judge()[0]).items():
        np.testing.assert_allclose(getattr(extension.judge()[0], name), figures, err_msg=name)
    assert found.X.any()
    assert found.V.any()


def test_an_extension_finds_planted_patterns_and_nothing_that_chance_explains(team):
    for alterations in (True, False):
        extension, found, bits, model = run(True, 2, team, alterations)
        assert extension.score() < extension.null_length()
        judgement, length = extension.judge()
        assert length == pytest.approx(description_length(bits, model))
        judgement = judgement.keep(extension.kept)
        assert len(judgement.evidence) > 0
        assert (judgement.evidence >= -np.log(0.01)).all()
        assert (judgement.alteration_evidence >= -np.log(0.01))[~np.isnan(judgement.alteration_evidence)].all()
        assert found.V.any() == alterations


def test_a_start_of_pure_chance_comes_to_nothing(team):
    data = random_data(3, (40, 50), n=300)
    bits = bits_of(data)
    usage = np.random.default_rng(0).random((2, 90)) < 0.3
    blocks = [ItemBlock(bits)]
    extension = Extension(LocalExecutor(blocks, team), bits.layout, alterations=True, alpha=0.01)
    extension.run(Start(bits.layout.pack(usage), np.full(2, 0.8), np.full(2, 0.1), 20.0))
    assert len(extension.kept) == 0
    assert extension.score() == pytest.approx(extension.null_length())
