"""Sets of rows to start patterns from: similar rows, rows of similar items, and rows of identical columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.solver import seeds
from saltmine.solver.seeds import NEIGHBOURS


def make_bits(matrix, weights=None):
    m = matrix.shape[0]
    # Classes that fill no whole words.
    return BitMatrix(matrix, [slice(0, m // 3), slice(m // 3, m)], weights)


def seed_rows(matrix, most, weights=None, **options):
    """Return the seeds of data that nothing covers, (k, m)."""
    bits = make_bits(matrix, weights)
    found = seeds.seed_rows(bits, bits.columns, most, np.random.default_rng(0), **options)
    return bits.layout.unpack(found)


def noisy_block(rows, items, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.random((200, 150)) < 0.1
    matrix[:rows, :items] = rng.random((rows, items)) < 0.9
    return matrix


def weighted_case(seed):
    """Return random data whose rows and items stand for several each."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((150, 60)) < rng.uniform(0.05, 0.4, 60)
    return matrix, Weights(rng.integers(1, 5, 60), rng.integers(1, 6, 150))


def test_a_small_group_of_rows_or_of_items_is_among_the_seeds():
    for rows, items in ((6, 40), (60, 6)):
        found = seed_rows(noisy_block(rows, items), 1000)
        inside = found[:, :rows].sum(axis=1)
        assert (inside >= 0.8 * found.sum(axis=1)).any()
        assert found.shape[1] == 200
        assert found.sum(axis=1).min() >= 2


def test_sparse_and_dense_data_give_the_same_seeds():
    matrix = noisy_block(10, 20)
    np.testing.assert_array_equal(seed_rows(sp.csr_array(matrix), 1000), seed_rows(matrix, 1000))


def test_what_is_covered_is_no_seed():
    """Without the ones of a block, what looks like it is gone."""
    matrix = noisy_block(60, 6)
    bits = make_bits(matrix)
    covered = bits.layout.pack(np.repeat(np.arange(200)[None] < 60, 6, axis=0))
    open_ones = bits.columns.copy()
    open_ones[:6] &= ~covered
    rng = np.random.default_rng(0)
    found = bits.layout.unpack(seeds.seed_rows(bits, open_ones, 1000, rng))
    expected = matrix.copy()
    expected[:60, :6] = False
    np.testing.assert_array_equal(found, seed_rows(expected, 1000))
    inside = found[:, :60].sum(axis=1)
    assert not ((inside >= 0.8 * found.sum(axis=1)) & (inside > 30)).any()


def test_no_more_seeds_than_asked_for():
    found = seed_rows(noisy_block(10, 20), 7)
    assert 7 < len(found) <= 14 * len(NEIGHBOURS)
    matrix = np.repeat(noisy_block(10, 20), 2, axis=1)
    assert len(seed_rows(matrix, 7, by_similarity=False)) == 7


def test_tiny_and_empty_data_are_no_obstacle():
    for matrix in (np.ones((2, 2), bool), np.zeros((3, 5), bool), np.eye(4, dtype=bool)):
        assert seed_rows(matrix, 10).shape[1] == len(matrix)


@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_do_not_change_the_seeds(n_threads):
    for seed in range(3):
        matrix, weights = weighted_case(seed)
        one, several = (seed_rows(matrix, 50, weights, n_threads=n) for n in (1, n_threads))
        np.testing.assert_array_equal(one, several)


def test_every_seed_is_there_once():
    """Rows that occur twice have the same neighbours, so have columns."""
    rng = np.random.default_rng(0)
    matrix = rng.random((40, 15)) < 0.3
    matrix = np.repeat(np.repeat(matrix, 8, axis=0), 4, axis=1)
    bits = make_bits(matrix)
    found = seeds.seed_rows(bits, bits.columns, 1000, rng)
    assert len(np.unique(found, axis=0)) == len(found)
    # Far fewer than were looked at.
    assert 15 <= len(found) < 0.5 * len(NEIGHBOURS) * sum(matrix.shape)
    # Seeds of rows, of items, and the columns that several items have.
    assert {column.tobytes() for column in bits.columns if np.bitwise_count(column).sum() > 1} <= {
        seed.tobytes() for seed in found
    }


@pytest.fixture
def looked_at(monkeypatch):
    """Return a function that sets the rows and items to look at."""

    def look_at(rows, items):
        drawn = iter([np.array(rows, dtype=np.int64), np.array(items, dtype=np.int64)])
        monkeypatch.setattr(seeds, "_draw", lambda count, most, rng: next(drawn))

    return look_at


def check_nearest(similarity, chosen, own, count, weights):
    """Check that a set is the most similar ones, with as many others of the input as asked for, ties left open."""
    assert chosen[own]
    others = np.flatnonzero(chosen & (np.arange(len(chosen)) != own))
    left = np.flatnonzero(~chosen)
    if len(left):
        assert similarity[others].min(initial=np.inf) >= similarity[left].max() - 1e-3
    # Without the least similar one there would not be so many.
    least = others[similarity[others] <= similarity[others].min(initial=np.inf) + 1e-3]
    assert weights[chosen].sum() - (weights[least].min() if len(least) else 0) <= count
    assert weights[chosen].sum() > count or len(left) == 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_like_one_are_the_most_correlated_ones_by_weight(seed, looked_at):
    matrix, weights = weighted_case(seed)
    m = weights.rows.sum()
    frequency = weights.rows @ matrix / m
    worth = weights.items / np.maximum(frequency * (1 - frequency), 1 / m)
    for own in range(0, 150, 7):
        looked_at([own], [])
        found = seed_rows(matrix, 0, weights)
        similarity = matrix @ ((matrix[own] - frequency) * worth)
        assert len(found) == len(NEIGHBOURS)
        for chosen, count in zip(found, NEIGHBOURS, strict=True):
            check_nearest(similarity, chosen, own, count, weights.rows)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_items_like_one_have_most_of_them_by_weight(seed, looked_at):
    matrix, weights = weighted_case(seed)
    m = weights.rows.sum()
    frequency = weights.rows @ matrix / m
    spread = np.sqrt(np.maximum(frequency * (1 - frequency), 1 / m))
    checked = 0
    for own in range(0, 60, 5):
        similarity = (weights.rows * (matrix[:, own] - frequency[own])) @ matrix / spread
        order = np.argsort(-np.where(np.arange(60) == own, np.inf, similarity), kind="stable")
        expected = []
        for count in NEIGHBOURS:
            before = np.cumsum(weights.items[order]) - weights.items[order]
            chosen = order[: count + 1][before[: count + 1] <= count]
            expected.append(2 * (matrix[:, chosen] @ weights.items[chosen]) > weights.items[chosen].sum())
        looked_at([], [own])
        found = seed_rows(matrix, 0, weights)
        several = {rows.tobytes() for rows in expected if weights.rows @ rows >= 2}
        assert {rows.tobytes() for rows in found} == several
        checked += len(several)
    assert checked > 12


def test_rows_that_most_items_share_exactly_come_first_by_weight():
    rng = np.random.default_rng(0)
    matrix = rng.random((90, 12)) < 0.3
    matrix[:, 8] = np.arange(90) == 5
    # Once, but for as many items of the input.
    weights = Weights(np.array([1, 4, 2, 3, 1, 1, 1, 9, 5, 1, 1, 1]), rng.integers(1, 4, 90))
    matrix[:, 9] = matrix[:, 0]
    found = seed_rows(matrix, 10, weights, by_similarity=False)
    times = {0: 2, 1: 4, 2: 2, 3: 3, 7: 9}
    rows = weights.rows @ matrix
    if weights.rows[5] > 1:
        times[8] = 5
    shown = {i: count * rows[i] * np.log(weights.rows.sum() / rows[i]) for i, count in times.items()}
    np.testing.assert_array_equal(found, matrix[:, sorted(shown, key=lambda i: -shown[i])].T)
    assert len(seed_rows(matrix, 2, weights, by_similarity=False)) == 2
