import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.data.folding import Weights
from saltmine.data.threads import ThreadTeam, cut
from saltmine.solver.relaxed import operator
from saltmine.solver.relaxed.operator import DenseOperator, SparseOperator, make_operator


# Compiled sums take eight columns at a time, four or eight times over, and the last ones one by one.
@pytest.mark.parametrize("rank", [0, 1, 7, 8, 9, 30, 32, 33, 40, 56, 64, 71, 130])
def test_products_are_class_by_class(operator_kind, team, small_data, rank):
    matrix, blocks = small_data
    data = operator_kind(matrix, blocks, team)
    rng = np.random.default_rng(0)
    usage, weights = rng.random((13, rank)), rng.random((3, 9, rank))
    expected = np.stack([matrix[rows].T.astype(float) @ usage[rows] for rows in blocks])
    np.testing.assert_allclose(data.transposed_times(usage), expected)
    expected = np.vstack([matrix[rows].astype(float) @ weights[a] for a, rows in enumerate(blocks)])
    np.testing.assert_allclose(data.times(weights), expected)
    np.testing.assert_array_equal(data.item_counts, matrix.sum(axis=0))


def test_products_do_not_depend_on_the_memory_order_of_the_factors(operator_kind, team, small_data):
    matrix, blocks = small_data
    data = operator_kind(matrix, blocks, team)
    rng = np.random.default_rng(2)
    usage, weights = rng.random((13, 10)), rng.random((3, 9, 10))
    other_usage, other_weights = np.asfortranarray(usage), np.repeat(weights, 2, axis=2)[:, :, ::2]
    np.testing.assert_allclose(data.transposed_times(other_usage), data.transposed_times(usage))
    np.testing.assert_allclose(data.times(other_weights), data.times(weights))


def test_what_is_called_after_a_panel_finds_it_complete_and_all_panels_together_are_everything(operator_kind, team):
    rng = np.random.default_rng(3)
    matrix = rng.random((900, 1100)) < 0.9
    blocks = [slice(0, 300), slice(300, 900)]
    data = operator_kind(matrix, blocks, team)
    item_parts, row_parts = [], []
    P = data.transposed_times(
        rng.random((900, 9)), lambda out, items: item_parts.append((items.start, out[:, items].copy()))
    )
    product = data.times(
        rng.random((2, 1100, 9)), lambda out, a, rows: row_parts.append((rows.start, a, out[rows].copy()))
    )
    item_parts.sort(key=lambda part: part[0])
    row_parts.sort(key=lambda part: part[0])
    assert len(item_parts) > 1
    np.testing.assert_array_equal(np.concatenate([part for _, part in item_parts], axis=1), P)
    np.testing.assert_array_equal(np.concatenate([part for _, _, part in row_parts]), product)
    assert all(blocks[a].start <= start < blocks[a].stop for start, a, _ in row_parts)


def test_item_counts_count_rows_of_the_input(operator_kind, team, small_data):
    matrix, blocks = small_data
    weights = Weights(items=np.ones(9, dtype=np.int64), rows=np.arange(1, 14))
    data = operator_kind(matrix, blocks, team, weights=weights)
    np.testing.assert_array_equal(data.item_counts, np.repeat(matrix, weights.rows, axis=0).sum(axis=0))


@pytest.mark.parametrize("shape", [(1500, 700), (20, 60_000)])
def test_products_are_the_same_to_the_bit_for_any_number_of_threads(operator_kind, shape):
    rng = np.random.default_rng(1)
    matrix = rng.random(shape) < 0.1
    blocks = [slice(0, shape[0] // 5), slice(shape[0] // 5, shape[0])]
    usage, weights = rng.random((shape[0], 11)), rng.random((2, shape[1], 11))
    results = []
    for n_threads in (1, 2, 5):
        with ThreadTeam(n_threads) as team:
            data = operator_kind(matrix, blocks, team)
            results.append((data.transposed_times(usage), data.times(weights)))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0][0], other[0])
        np.testing.assert_array_equal(results[0][1], other[1])


def test_an_empty_class_and_a_class_without_ones(operator_kind, team):
    matrix = np.zeros((4, 3), dtype=bool)
    matrix[2:] = True
    data = operator_kind(matrix, [slice(0, 0), slice(0, 2), slice(2, 4)], team)
    np.testing.assert_array_equal(data.transposed_times(np.ones((4, 1)))[:, :, 0], [[0] * 3, [0] * 3, [2] * 3])
    np.testing.assert_array_equal(data.times(np.ones((3, 3, 1)))[:, 0], [0, 0, 3, 3])


@pytest.mark.parametrize(("density", "kind"), [(0.01, SparseOperator), (0.2, SparseOperator), (0.8, DenseOperator)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_operator_is_chosen_by_density_not_by_the_form_of_the_data(density, kind, form):
    matrix = np.random.default_rng(0).random((300, 300)) < density
    with ThreadTeam(1) as team:
        assert isinstance(make_operator(form(matrix), [slice(0, 300)], team), kind)


def test_small_data_is_held_dense():
    with ThreadTeam(1) as team:
        assert isinstance(make_operator(sp.csr_array(np.eye(50, dtype=bool)), [slice(0, 50)], team), DenseOperator)


def test_data_that_came_sparse_and_would_be_huge_stays_sparse(monkeypatch):
    matrix = sp.csr_array(np.ones((20, 30), dtype=bool))
    with ThreadTeam(1) as team:
        monkeypatch.setattr(operator, "MAX_DENSE_BYTES", 20 * 30 * 4)
        assert isinstance(make_operator(matrix, [slice(0, 20)], team, np.float32), DenseOperator)
        assert isinstance(make_operator(matrix, [slice(0, 20)], team, np.float64), SparseOperator)


@pytest.mark.parametrize(("storage", "kind"), [("dense", DenseOperator), ("sparse", SparseOperator)])
@pytest.mark.parametrize("density", [0.01, 0.8])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_storage_overrides_the_rule(storage, kind, density, form):
    matrix = np.random.default_rng(0).random((300, 300)) < density
    with ThreadTeam(1) as team:
        assert isinstance(make_operator(form(matrix), [slice(0, 300)], team, storage=storage), kind)


def test_an_unknown_storage_is_named():
    message = "storage must be one of 'auto', 'dense', 'sparse', not 'csr'."
    with ThreadTeam(1) as team, pytest.raises(ValueError, match=message):
        make_operator(np.eye(3, dtype=bool), [slice(0, 3)], team, storage="csr")


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_sparse_data_takes_any_indices(team, small_data, index_type):
    matrix, blocks = small_data
    data = sp.csr_array(matrix)
    data.indices, data.indptr = data.indices.astype(index_type), data.indptr.astype(index_type)
    usage = np.random.default_rng(4).random((13, 12))
    expected = np.stack([matrix[rows].T.astype(float) @ usage[rows] for rows in blocks])
    np.testing.assert_allclose(SparseOperator(data, blocks, team).transposed_times(usage), expected)


@pytest.mark.parametrize("rank", [3, 33])
def test_rows_cut_into_strips_of_items_give_the_same_products(monkeypatch, team, rank):
    rng = np.random.default_rng(8)
    matrix = rng.random((40, 700)) < 0.3
    shuffled = sp.csr_array(matrix)
    for begin, end in pairwise(shuffled.indptr):
        rng.shuffle(shuffled.indices[begin:end])
    shuffled.has_sorted_indices = False
    blocks = [slice(0, 3), slice(3, 40)]
    weights = rng.random((2, 700, rank))
    whole = SparseOperator(sp.csr_array(matrix), blocks, team).times(weights)
    monkeypatch.setattr(operator, "ITEMS_IN_CACHE", 100)
    monkeypatch.setattr(operator, "STRIP_ITEMS", 64)
    monkeypatch.setattr(operator, "STRIP_ONES", 1)
    np.testing.assert_allclose(SparseOperator(shuffled, blocks, team).times(weights), whole)


def test_a_sparse_operator_takes_the_memory_of_one_more_set_of_indices():
    matrix = sp.csr_array(np.random.default_rng(6).random((2000, 500)) < 0.3)
    blocks = [slice(0, 1000), slice(1000, 2000)]
    with ThreadTeam(1) as team:
        SparseOperator(matrix, blocks, team)  # loads the compiled code
        tracemalloc.start()
        kept = SparseOperator(matrix, blocks, team)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert kept.shape == matrix.shape
    assert peak < 1.2 * matrix.indices.nbytes


def test_an_error_in_a_panel_reaches_the_caller(team):
    def task(k):
        if k == 2:
            raise ZeroDivisionError("panel 2")

    with pytest.raises(ZeroDivisionError, match="panel 2"):
        team.run(task, [(k,) for k in range(4)])


@pytest.mark.parametrize(("length", "other"), [(0, 5), (1, 10**7), (7, 3), (1000, 900), (10**6, 2)])
def test_cuts_cover_the_axis_without_overlap(length, other):
    covered = [k for part in cut(length, other) for k in (part.start, part.stop)]
    assert covered[0] == 0
    assert covered[-1] == length
    assert covered[1:-1:2] == covered[2:-1:2]


def test_team_takes_the_threads_that_blas_was_allowed():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"), ThreadTeam() as team:
        assert team.n_threads == 1
