from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data.binary_model import BinaryModel, drop_idle_parts
from saltmine.data.bits import BitMatrix
from saltmine.solver.rounding import THRESHOLDS, round_factors
from saltmine.solver.scoring import description_length


@st.composite
def relaxed(draw):
    c, r = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, n = 4 * c, 7
    matrix = rng.random((m, n)) < 0.5
    matrix[0] = True
    levels = np.array([0, 0.05, 0.3, 0.5, 0.77, 1])
    factors = [rng.choice(levels, shape) for shape in ((n, r), (c, n, r), (m, r))]
    return matrix, [slice(4 * a, 4 * a + 4) for a in range(c)], factors


def plain_model(X, V, Y, blocks):
    """What remains of thresholded factors, rule by rule, in loops."""
    (n, r), c = X.shape, len(V)
    X, V, Y = X.copy(), V.copy(), Y.copy()
    kept = []
    for s in range(r):
        for i in range(n):
            if X[i, s] or all(V[a, i, s] for a in range(c)):
                V[:, i, s] = False
        for a, rows in enumerate(blocks):
            if not any(Y[rows, s]):
                V[a, :, s] = False
            if not any(X[:, s]) and not any(V[a, :, s]):
                Y[rows, s] = False
        items = sum(bool(X[i, s] or any(V[:, i, s])) for i in range(n))
        if items >= 2 and sum(Y[:, s]) >= 2:
            kept.append(s)
    return X[:, kept], V[:, :, kept], Y[:, kept]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(relaxed())
def test_the_best_of_all_441_threshold_pairs_is_found(case):
    matrix, blocks, (X, V, Y) = case
    bits = BitMatrix(matrix, blocks)
    # Many pairs cut between the same values.
    lengths = {}
    for t1, t2 in product(THRESHOLDS, THRESHOLDS):
        cut = t1 <= X, t1 <= V, t2 <= Y
        key = tuple(part.tobytes() for part in cut)
        if key not in lengths:
            lengths[key] = description_length(bits, BinaryModel(*plain_model(*cut, blocks)))
    lowest = min(lengths.values())
    model, length = round_factors(X, V, Y, bits)
    assert length == pytest.approx(lowest)
    assert length == pytest.approx(description_length(bits, model))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(relaxed())
def test_what_comes_out_satisfies_the_definition_and_has_no_trivial_pattern(case):
    matrix, blocks, factors = case
    model, _ = round_factors(*factors, BitMatrix(matrix, blocks))
    assert not (model.X & model.V).any()
    assert not model.V.all(axis=0).any()
    assert ((model.X | model.V.any(axis=0)).sum(axis=0) >= 2).all()
    assert (model.Y.sum(axis=0) >= 2).all()
    for a, rows in enumerate(blocks):
        unused = ~model.Y[rows].any(axis=0)
        assert not model.V[a][:, unused].any()
        assert (model.X | model.V[a])[:, ~unused].any(axis=0).all()


def test_thresholds_are_those_of_the_paper():
    assert len(THRESHOLDS) == 21
    np.testing.assert_allclose(THRESHOLDS, [0.05 * k for k in range(21)])


def test_clearing_alterations_of_classes_that_do_not_use_a_pattern_never_costs():
    rng = np.random.default_rng(0)
    matrix = rng.random((20, 8)) < 0.4
    matrix[0] = True
    blocks = [slice(0, 10), slice(10, 20)]
    bits = BitMatrix(matrix, blocks)
    Y = rng.random((20, 2)) < 0.5
    Y[:10, 0] = False
    model = BinaryModel(rng.random((8, 2)) < 0.3, rng.random((2, 8, 2)) < 0.3, Y)
    cleared = drop_idle_parts(model, blocks)
    assert not cleared.V[0][:, 0].any()
    assert description_length(bits, cleared) <= description_length(bits, model)
