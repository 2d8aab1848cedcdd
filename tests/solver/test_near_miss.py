"""The strongest pair of items where no pattern passed."""

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.solver.near_miss import strongest_pair


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_pair_that_goes_together_is_found(form):
    rng = np.random.default_rng(0)
    rows = rng.random((200, 40)) < 0.1
    rows[:25, [7, 23]] = True
    items, count, chance = strongest_pair(form(rows))
    assert items == [7, 23]
    assert count == np.count_nonzero(rows[:, 7] & rows[:, 23])
    assert chance < 1e-6


def test_chance_is_rarely_small_in_noise():
    small = 0
    for seed in range(40):
        _, _, chance = strongest_pair(np.random.default_rng(seed).random((80, 30)) < 0.15)
        assert 0 < chance <= 1
        small += chance < 0.05
    assert small <= 4


def test_rows_of_different_sizes_are_no_pair():
    # Rows are empty or full of everything: no two items go together beyond that.
    rng = np.random.default_rng(1)
    rows = rng.random((400, 30)) < np.repeat([0.02, 0.6], 200)[:, None]
    assert strongest_pair(rows)[2] > 0.01


@pytest.mark.parametrize("rows", [np.eye(5, dtype=bool), np.zeros((4, 3), dtype=bool), np.ones((3, 1), dtype=bool)])
def test_without_two_items_in_two_rows_there_is_none(rows):
    assert strongest_pair(rows) is None
