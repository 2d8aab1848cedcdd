import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.matrix.operator import DenseOperator, SparseOperator, make_operator
from saltmine.matrix.threads import ThreadTeam, cut


def test_products_are_class_by_class(operator_kind, team, small_data):
    matrix, blocks = small_data
    data = operator_kind(matrix, blocks, team)
    rng = np.random.default_rng(0)
    usage, weights = rng.random((13, 4)), rng.random((3, 9, 4))
    expected = np.stack([matrix[rows].T.astype(float) @ usage[rows] for rows in blocks])
    np.testing.assert_allclose(data.transposed_times(usage), expected)
    expected = np.vstack([matrix[rows].astype(float) @ weights[a] for a, rows in enumerate(blocks)])
    np.testing.assert_allclose(data.times(weights), expected)
    np.testing.assert_array_equal(data.item_counts, matrix.sum(axis=0))


@pytest.mark.parametrize("shape", [(1500, 700), (20, 60_000)])
def test_products_are_the_same_to_the_bit_for_any_number_of_threads(operator_kind, shape):
    rng = np.random.default_rng(1)
    matrix = rng.random(shape) < 0.1
    blocks = [slice(0, shape[0] // 5), slice(shape[0] // 5, shape[0])]
    usage, weights = rng.random((shape[0], 7)), rng.random((2, shape[1], 7))
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


@pytest.mark.parametrize(("density", "kind"), [(0.01, SparseOperator), (0.5, DenseOperator)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_operator_is_chosen_by_density_not_by_the_form_of_the_data(density, kind, form):
    matrix = np.random.default_rng(0).random((100, 100)) < density
    with ThreadTeam(1) as team:
        assert isinstance(make_operator(form(matrix), [slice(0, 100)], team), kind)


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
