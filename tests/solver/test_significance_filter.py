"""The significance filter sees the same evidence, whichever model of the same data it works on."""

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
from saltmine.solver.significance import choices_to_pay, drop_alterations, drop_patterns, drop_until_significant
from saltmine.solver.tall_model import TallModel
from saltmine.solver.tall_state import ChosenRows
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


def make_local(data, bits, model):
    return LocalSearch(bits, model)


def make_wide(data, bits, model):
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
    return wide


def make_tall(data, bits, model):
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
    return tall


def added_by(model):
    """Return which classes add items to which patterns, (R, c)."""
    return np.isfinite(model.claim_evidence())


others = pytest.mark.parametrize("make", [make_wide, make_tall])
models = pytest.mark.parametrize("make", [make_local, make_wide, make_tall])


@others
@pytest.mark.parametrize("seed", range(6))
def test_all_models_show_the_same_evidence(make, seed):
    case = weak_case(seed)
    local, other = make_local(*case), make(*case)
    on = local.patterns()
    assert other.patterns() == on
    for name in ("together", "item_choice", "pattern_evidence"):
        expected = [getattr(local, name)(s) for s in on]
        np.testing.assert_allclose([getattr(other, name)(s) for s in on], expected, err_msg=name)
    np.testing.assert_array_equal(added_by(other)[on], added_by(local)[on])
    together = [local.together(s) for s in on]
    np.testing.assert_allclose(choices_to_pay(other, on, together), choices_to_pay(local, on, together))


@others
@pytest.mark.parametrize("seed", range(6))
def test_all_models_lose_the_same_patterns(make, seed):
    case = weak_case(seed)
    local, other = make_local(*case), make(*case)
    assert drop_patterns(local)
    assert drop_patterns(other)
    assert other.patterns() == local.patterns()
    # The random pattern goes whatever else does.
    assert case[2].rank - 1 not in local.patterns()
    assert local.patterns()


@models
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_that_is_not_shown(make, seed):
    model = make(*weak_case(seed))
    drop_until_significant(model)
    assert model.patterns()
    for s in model.patterns():
        assert model.pattern_evidence(s) >= -model.log_alpha
    assert model.claim_evidence()[model.patterns()].min() >= -model.log_alpha
    assert not drop_patterns(model)
    assert not drop_alterations(model)


@models
def test_items_that_a_class_was_given_at_random_go(make):
    case = weak_case(0)
    model = make(*case)
    assert case[2].V[0, :, 3].sum() == 4
    assert added_by(model)[3, 0]
    assert model.claim_evidence()[3, 0] < -model.log_alpha
    assert drop_alterations(model)
    assert 3 in model.patterns()
    assert not added_by(model)[3, 0]
