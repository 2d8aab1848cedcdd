import numpy as np
import scipy.sparse as sp

from saltmine.data.folding import Weights
from saltmine.solver import seeds
from saltmine.solver.seeds import NEIGHBOURS


def seed_rows(matrix, most, rng):
    return seeds.seed_rows(matrix, Weights.ones(matrix.shape), most, rng)


def noisy_block(rows, items, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.random((200, 150)) < 0.1
    matrix[:rows, :items] = rng.random((rows, items)) < 0.9
    return matrix


def test_a_small_group_of_rows_or_of_items_is_among_the_seeds():
    for rows, items in ((6, 40), (60, 6)):
        found = seed_rows(noisy_block(rows, items), 1000, np.random.default_rng(0))
        inside = found[:, :rows].sum(axis=1)
        assert (inside >= 0.8 * found.sum(axis=1)).any()
        assert found.shape[1] == 200
        assert found.sum(axis=1).min() >= 2


def test_sparse_and_dense_data_give_the_same_seeds():
    matrix = noisy_block(10, 20)
    dense = seed_rows(matrix, 1000, np.random.default_rng(0))
    sparse = seed_rows(sp.csr_array(matrix), 1000, np.random.default_rng(0))
    # But for ties that rounding decides.
    both = {seed.tobytes() for seed in dense} & {seed.tobytes() for seed in sparse}
    assert len(both) > 0.9 * len({seed.tobytes() for seed in dense})


def test_no_more_seeds_than_asked_for():
    assert len(seed_rows(noisy_block(10, 20), 7, np.random.default_rng(0))) <= 14 * len(NEIGHBOURS)


def test_tiny_and_empty_data_are_no_obstacle():
    for matrix in (np.ones((2, 2), bool), np.zeros((3, 5), bool), np.eye(4, dtype=bool)):
        assert seed_rows(matrix, 10, np.random.default_rng(0)).shape[1] == len(matrix)
