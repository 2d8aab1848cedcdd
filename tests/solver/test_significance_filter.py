"""The significance filter takes away the same parts, whichever model of the same data it works on."""

from __future__ import annotations

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import make_planted
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.row_block import RowBlock
from saltmine.solver.significance import drop_until_significant
from saltmine.solver.tall_model import ChosenRows, TallModel
from saltmine.solver.wide_model import WideModel, _added

N_BLOCKS = 3


def weak_case(seed):
    """Return planted data, and the planted model with a part of each kind that chance explains."""
    rng = np.random.default_rng(seed)
    planted = make_planted(200, [150, 150], rank=6, noise=0.05, random_state=seed)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2)
    X = planted.components[:, data.items].T.copy()
    V = planted.alterations[:, :, data.items].transpose(0, 2, 1).copy()
    Y = planted.usage[data.order].copy()
    # Membership repeats: both classes, the second, the first.
    Y[rng.choice(150, 5, replace=False), 1] = True
    free = np.flatnonzero(~X[:, 3] & ~V[:, :, 3].any(axis=0))
    V[0, :, 3] = False
    V[0, rng.choice(free, 4, replace=False), 3] = True
    random_items, random_rows = rng.random((len(X), 1)) < 0.05, rng.random((len(Y), 1)) < 0.1
    X, Y = np.hstack([X, random_items]), np.hstack([Y, random_rows])
    V = np.concatenate([V, np.zeros((2, len(X), 1), dtype=bool)], axis=2)
    bits = BitMatrix(data.matrix, data.blocks)
    return data, bits, drop_idle_parts(BinaryModel(X, V, Y), bits.blocks)


def filtered_local(data, bits, model):
    local = LocalSearch(bits, model)
    drop_until_significant(local)
    return local.patterns(), local.model()


def filtered_wide(data, bits, model):
    parts = np.array_split(np.arange(bits.shape[1]), N_BLOCKS)
    weights = [Weights(bits.weights.items[part], bits.weights.rows) for part in parts]
    blocks = [
        ItemBlock(BitMatrix.of_columns(bits.columns[part], bits.layout, bits.blocks, of))
        for part, of in zip(parts, weights, strict=True)
    ]
    wide = WideModel(LocalExecutor(blocks), bits.layout)
    wide._begin(model.rank)
    for block, part in zip(blocks, parts, strict=True):
        block.take(BinaryModel(model.X[part], model.V[:, part], model.Y))
    wide._set_plan(bits.layout.pack(model.Y.T), np.full(model.rank, 0.5), np.ones(model.rank), 1.0)
    wide._take(_added(wide.executor.query(ItemBlock.sum, wide.plan)))
    drop_until_significant(wide)
    kept = wide.patterns()
    usage = bits.layout.unpack(wide.plan.usage[kept]).T
    found = [block.model(np.array(kept), usage) for block in blocks]
    V = np.concatenate([part.V for part in found], axis=1)
    return kept, BinaryModel(np.concatenate([part.X for part in found]), V, usage)


def filtered_tall(data, bits, model):
    numbers = np.repeat([0, 1], bits.class_sizes)
    rows = [np.arange(len(numbers))[k::N_BLOCKS] for k in range(N_BLOCKS)]
    blocks = [RowBlock(data.matrix[of], numbers[of], 2) for of in rows]
    tall = TallModel(LocalExecutor(blocks), alterations=True, alpha=0.01)
    tall._begin(model.rank)
    carry, used = (model.X | model.V).transpose(2, 0, 1), bits.used(model.Y).T
    nothing = np.zeros(2, dtype=bool)
    for s in range(model.rank):
        for block, of in zip(blocks, rows, strict=True):
            # No two rows of this data are identical, so none are folded.
            assert block.bits.shape[0] == len(of)
            usage = np.zeros((1, len(of)), dtype=bool)
            usage[0, block._row_of] = model.Y[of, s]
            block.state.usage[s] = block.bits.layout.pack(usage)[0]
        view = tall._look(s)
        tall._put(s, tall._fitted(ChosenRows(None, nothing, used[s], view.cells), carry[s], view))
    drop_until_significant(tall)
    found, usage = tall.model(), np.zeros((len(numbers), len(tall.patterns())), dtype=bool)
    for of, part in zip(rows, tall.executor.query(RowBlock.usage_of, tall.patterns()), strict=True):
        usage[of] = part
    return tall.patterns(), BinaryModel(found.X, found.V, usage)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("search", [filtered_wide, filtered_tall])
def test_all_models_lose_the_same_parts(search, seed):
    case = weak_case(seed)
    bits, model = case[1:]
    kept, expected = filtered_local(*case)
    assert kept
    # The random pattern goes whatever else does.
    assert model.rank - 1 not in kept
    patterns, found = search(*case)
    found = drop_idle_parts(found, bits.blocks)
    assert patterns == kept
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("search", [filtered_local, filtered_wide, filtered_tall])
def test_weak_parts_of_significant_patterns_go(search):
    """With this seed the patterns themselves are significant, and only the parts that were added at random go."""
    case = weak_case(0)
    bits, model = case[1:]
    kept, found = search(*case)
    assert {1, 3} <= set(kept)
    assert model.Y[bits.blocks[0], 1].any()
    assert not found.Y[bits.blocks[0], kept.index(1)].any()
    assert found.Y[bits.blocks[1], kept.index(1)].any()
    assert model.V[0, :, 3].sum() == 4
    assert not found.V[0, :, kept.index(3)].any()
