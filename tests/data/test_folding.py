"""Folding: what is identical becomes one with a weight, and nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import column_keys, group, row_keys, take
from saltmine.data.stacking import StackedMatrix
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import description_length, find_carriers, null_length, score_model

MOVES = (
    "refit",
    "merge",
    "split",
    "split_unrelated_classes",
    "refit",
    "drop_insignificant",
    "drop_until_significant",
)


def long_csr(matrix):
    """Return CSR data with places of 64 bits, which scipy chooses for very large data only."""
    rows = sp.csr_array(matrix)
    rows.indptr, rows.indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return rows


forms = pytest.mark.parametrize(
    "form",
    [np.asarray, np.asfortranarray, sp.csr_array, long_csr],
    ids=["dense", "by columns", "sparse", "sparse, 64 bits"],
)


def repeated(seed, rows=(40, 30, 20), n=12, most=6):
    """Return data whose rows and columns occur several times, and the class numbers of the rows, mixed up."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(len(rows)), rows)
    matrix = rng.random((sum(rows), n)) < 0.35
    matrix[:, 0] = False
    matrix[0, 1:] = True
    times = rng.integers(1, most, len(matrix))
    matrix, numbers = np.repeat(matrix, times, axis=0), np.repeat(numbers, times)
    matrix = np.repeat(matrix, rng.integers(1, most, n), axis=1)
    order = rng.permutation(len(matrix))
    return matrix[order][:, rng.permutation(matrix.shape[1])], numbers[order]


def both(seed, **sizes):
    """Return data as it is and folded, and a random model of each, the same one."""
    matrix, numbers = repeated(seed, **sizes)
    c = int(numbers.max()) + 1
    folded = StackedMatrix.from_rows(matrix, numbers, c, fold=True)
    plain = StackedMatrix.from_rows(matrix, numbers, c)
    rng = np.random.default_rng(seed + 1)
    m, n = folded.matrix.shape
    X = rng.random((n, 3)) < 0.3
    V = repair_alterations(X, rng.random((c, n, 3)) < 0.2)
    small = drop_idle_parts(BinaryModel(X, V, rng.random((m, 3)) < 0.3), folded.blocks)
    return folded, small, plain, unfold(small, folded, plain)


def unfold(model, folded, plain):
    item, row = folded.item_of[plain.items], folded.row_of[plain.order]
    return BinaryModel(model.X[item], model.V[:, item], model.Y[row])


def bits_of(data):
    return BitMatrix(data.matrix, data.blocks, data.weights)


@forms
@pytest.mark.parametrize("seed", range(5))
def test_folded_data_is_the_data(seed, form):
    matrix, numbers = repeated(seed)
    folded = StackedMatrix.from_rows(form(matrix), numbers, 3, fold=True)
    small = folded.matrix if isinstance(folded.matrix, np.ndarray) else folded.matrix.toarray() != 0
    present = folded.item_of >= 0
    np.testing.assert_array_equal(present, matrix.any(axis=0))
    np.testing.assert_array_equal(small[folded.row_of][:, folded.item_of[present]], matrix[:, present])
    assert len(np.unique(small, axis=1).T) == small.shape[1] < present.sum()
    for a, rows in enumerate(folded.blocks):
        assert len(np.unique(small[rows], axis=0)) == rows.stop - rows.start
        assert set(numbers[folded.order[rows]]) == {a}
    assert folded.weights.shape == (len(matrix), present.sum())
    np.testing.assert_array_equal(matrix[np.ix_(folded.order, folded.items)], small)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 6))
def test_groups_are_those_of_numpy(seed, n, kinds):
    keys = np.random.default_rng(seed).integers(kinds, size=(n, 2)).astype(np.uint64)
    number, first = group(keys)
    np.testing.assert_array_equal(keys[first][number], keys)
    assert len(first) == len(np.unique(keys, axis=0))
    assert (np.diff(first) > 0).all()


@forms
def test_keys_and_bit_sets_do_not_depend_on_the_storage(form):
    matrix, numbers = repeated(4)
    np.testing.assert_array_equal(column_keys(form(matrix)), column_keys(matrix))
    np.testing.assert_array_equal(row_keys(form(matrix), numbers), row_keys(matrix, numbers))
    blocks = [slice(0, 70), slice(70, len(matrix))]
    bits = BitMatrix(form(matrix), blocks)
    np.testing.assert_array_equal(bits.rows(), matrix)
    np.testing.assert_array_equal(bits.row_sizes, matrix.sum(axis=1))


@forms
def test_keys_tell_equal_rows_of_a_class_from_all_others(form):
    matrix, numbers = repeated(3)
    number, _ = group(row_keys(form(matrix), numbers))
    as_told = np.unique(np.column_stack([matrix, numbers]), axis=0, return_inverse=True)[1].ravel()
    assert len(np.unique(np.column_stack([number, as_told]), axis=0)) == number.max() + 1 == as_told.max() + 1
    assert not column_keys(form(np.zeros((3, 2), dtype=bool))).any()


@pytest.mark.parametrize("seed", range(5))
def test_description_evidence_and_gains_are_those_of_the_unfolded_data(seed):
    folded, small, plain, large = both(seed)
    few, many = bits_of(folded), bits_of(plain)
    assert few.class_sizes == many.class_sizes
    np.testing.assert_array_equal(few.used(small.Y), many.used(large.Y))
    item, row = folded.item_of[plain.items], folded.row_of[plain.order]
    np.testing.assert_array_equal(few.noise_counts(small)[:, item], many.noise_counts(large))
    np.testing.assert_array_equal(find_carriers(few, small)[row], find_carriers(many, large))
    assert null_length(few) == pytest.approx(null_length(many))
    # The code table and both forms of S.
    for printed in (True, False):
        length = description_length(many, large, printed=printed)
        assert description_length(few, small, printed=printed) == pytest.approx(length)
    scores, expected = score_model(few, small), score_model(many, large)
    for name in ("evidence", "gain", "alteration_gain", "alteration_evidence"):
        np.testing.assert_allclose(getattr(scores, name), getattr(expected, name), err_msg=name)
    for name, figures in expected.claims._asdict().items():
        np.testing.assert_allclose(getattr(scores.claims, name), figures, err_msg=name)


@pytest.mark.parametrize("alterations", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_moves_on_folded_data_are_those_on_the_unfolded(seed, alterations):
    folded, small, plain, large = both(seed, rows=(60, 50), n=30, most=4)
    few = LocalSearch(bits_of(folded), small, alterations=alterations)
    many = LocalSearch(bits_of(plain), large, alterations=alterations)
    assert few.length == pytest.approx(many.length)
    for move in MOVES:
        getattr(few, move)()
        getattr(many, move)()
        assert few.length == pytest.approx(many.length), move
    found, expected = unfold(few.model(), folded, plain), many.model()
    for name in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 40))
def test_keys_that_share_a_half_or_a_place_are_told_apart(seed, n):
    """The table of keys has few places: keys meet there that are equal in their lowest bits, or in one half."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(3, size=(n, 2)).astype(np.uint64)
    keys[:, 0] <<= np.uint64(rng.integers(0, 60))
    number, first = group(keys)
    for i in range(n):
        same = [j for j in range(n) if (keys[j] == keys[i]).all()]
        assert first[number[i]] == same[0]
    assert sorted(set(number.tolist())) == list(range(len(first)))


@pytest.mark.parametrize("form", [sp.csr_array, long_csr], ids=["32 bits", "64 bits"])
def test_rows_and_items_of_sparse_data_are_taken(form):
    matrix, _ = repeated(2)
    m, n = matrix.shape
    rng = np.random.default_rng(0)
    rows, items = rng.permutation(m)[: m // 2], np.flatnonzero(rng.random(n) < 0.5)
    item_of = np.full(n, -1)
    item_of[items] = np.arange(len(items))
    taken = take(form(matrix), rows, items, item_of)
    np.testing.assert_array_equal(taken.toarray(), matrix[np.ix_(rows, items)])
    assert taken.indices.dtype == taken.indptr.dtype == np.int32
    assert taken.dtype == np.int8
    # All of it, in another order of the rows; or as it is.
    everything = np.arange(n)
    np.testing.assert_array_equal(
        take(form(matrix), np.arange(m)[::-1].copy(), everything, everything).toarray(), matrix[::-1]
    )
    whole = form(matrix)
    assert take(whole, np.arange(m), everything, everything) is whole
    few = take(whole, np.arange(m), items, item_of)
    np.testing.assert_array_equal(few.toarray(), matrix[:, items])
