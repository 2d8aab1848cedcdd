"""The exact f against an evaluation written independently, cell by cell."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data.bits import BitMatrix, Layout, count_bits
from saltmine.metrics import description_length, residual
from saltmine.solver.scoring import null_length
from tests.helpers.plain_length import plain_f


@st.composite
def models(draw):
    c = draw(st.integers(1, 3))
    m, n, r = draw(st.integers(c, 9)), draw(st.integers(1, 6)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    density = draw(st.sampled_from([0.1, 0.5, 0.9]))
    X = rng.random((m, n)) < density
    X[0] = True
    y = np.concatenate([np.arange(c), rng.integers(0, c, m - c)])
    return X, y, rng.random((r, n)) < 0.4, rng.random((c, r, n)) < 0.3, rng.random((m, r)) < 0.5


@settings(max_examples=60, deadline=None)
@given(models())
def test_f_is_that_of_the_printed_formula(model):
    assert description_length(*model) == pytest.approx(plain_f(*model), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(models(), st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]))
def test_f_does_not_depend_on_the_form_of_the_data_or_the_order_of_rows_and_patterns(model, form):
    X, y, components, alterations, usage = model
    expected = description_length(*model)
    assert description_length(sp.coo_array(X.astype(int)).asformat(form), *model[1:]) == pytest.approx(expected)
    rng = np.random.default_rng(0)
    rows, patterns = rng.permutation(len(y)), rng.permutation(len(components))
    moved = X[rows], y[rows], components[patterns], alterations[:, patterns], usage[rows][:, patterns]
    assert description_length(*moved) == pytest.approx(expected)


def test_columns_without_ones_change_nothing_unless_a_pattern_has_them():
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 5)) < 0.5, np.repeat([0, 1], 6)
    components, alterations = rng.random((2, 5)) < 0.5, np.zeros((2, 2, 5), bool)
    usage = rng.random((12, 2)) < 0.5
    wide = [
        np.concatenate([array, np.zeros((*array.shape[:-1], 2), bool)], axis=-1)
        for array in (X, components, alterations)
    ]
    expected = description_length(X, y, components, alterations, usage)
    assert description_length(wide[0], y, wide[1], wide[2], usage) == pytest.approx(expected)
    wide[1][0, 5] = True
    assert description_length(wide[0], y, wide[1], wide[2], usage) == np.inf
    # A pattern that nobody uses is not described.
    usage[:, 0] = False
    assert np.isfinite(description_length(wide[0], y, wide[1], wide[2], usage))


def test_a_perfect_pattern_pays():
    X = np.zeros((20, 10), bool)
    X[:10, :5] = True
    X[10:, 5] = True
    y = np.zeros(20, int)
    usage = (np.arange(20) < 10)[:, None]
    f = description_length(X, y, X[:1], np.zeros((1, 1, 10), bool), usage)
    assert f < null_length(BitMatrix(X, [slice(0, 20)]))


@settings(max_examples=20, deadline=None)
@given(models())
def test_residual_counts_the_cells_that_differ(model):
    X, y, components, alterations, usage = model
    X = X.copy()
    X[:, 0] = False
    cover = np.array([(usage[j] @ (components | alterations[y[j]]).astype(int)) > 0 for j in range(len(y))])
    found = residual(SimpleNamespace(components=components, alterations=alterations, usage=usage, y=y), X, y)
    assert found == (cover != X).sum()


@pytest.mark.parametrize("m", [1, 63, 64, 65, 200])
def test_packing_keeps_every_row(m):
    rng = np.random.default_rng(m)
    layout = Layout([slice(0, m // 2), slice(m // 2, m)], np.ones(m, dtype=int))
    sets = rng.random((4, m)) < 0.5
    words = layout.pack(sets)
    np.testing.assert_array_equal(count_bits(words), sets.sum(axis=1))
    np.testing.assert_array_equal(layout.unpack(words), sets)


def test_a_row_of_some_weight_counts_for_so_many():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 100, 150)
    layout = Layout([slice(0, 70), slice(70, 150)], weights)
    sets = rng.random((5, 150)) < 0.5
    words = layout.pack(sets)
    np.testing.assert_array_equal(count_bits(words, layout.weights), sets @ weights)
    for a, block in enumerate([slice(0, 70), slice(70, 150)]):
        of = layout.words(a)
        np.testing.assert_array_equal(count_bits(words[:, of], layout.weights[of]), sets[:, block] @ weights[block])
    np.testing.assert_array_equal(layout.unpack(words), sets)


def test_bit_sets_of_sparse_and_dense_data_agree():
    matrix = np.random.default_rng(0).random((100, 7)) < 0.2
    blocks = [slice(0, 30), slice(30, 100)]
    for dense, sparse in zip(
        BitMatrix(matrix, blocks).columns, BitMatrix(sp.csr_array(matrix), blocks).columns, strict=True
    ):
        np.testing.assert_array_equal(dense, sparse)


def test_shapes_that_do_not_fit_are_named():
    X = np.ones((4, 3), bool)
    message = r"4 rows, 3 columns and 2 classes need components of shape \(r, 3\), .* not \(1, 2\)"
    with pytest.raises(ValueError, match=message):
        description_length(X, [0, 0, 1, 1], np.ones((1, 2)), np.zeros((2, 1, 2)), np.ones((4, 1)))
    with pytest.raises(ValueError, match=r"and \(4,\)"):
        description_length(X, [0, 0, 1, 1], np.ones((1, 3)), np.zeros((2, 1, 3)), np.ones(4))
