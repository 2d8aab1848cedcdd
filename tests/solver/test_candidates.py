"""The items that a pattern may have are found in whatever way takes least work, and always all of them."""

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.solver.local_search import LocalSearch

ITEMS, OTHERS = np.arange(5, 17), np.arange(12, 30)


def case(n_rows, n_items, density, seed=0, row_weights=None):
    """Return data of two classes with two patterns that share items and rows, and the rows of the first."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((2 * n_rows, n_items)) < density
    uses = rng.random((2, 2 * n_rows)) < np.array([[0.4], [0.2]])
    for rows, items in zip(uses, (ITEMS, OTHERS), strict=True):
        matrix[np.ix_(rows, items)] = True
    weights = None if row_weights is None else Weights(np.ones(n_items, dtype=np.int64), row_weights)
    return BitMatrix(matrix, [slice(0, n_rows), slice(n_rows, 2 * n_rows)], weights), uses


def fitted_items(bits, uses, with_other):
    """Fit a pattern from half of its rows, beside the other one or not; return its items."""
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2), alterations=False)
    if with_other:
        X = np.zeros((bits.shape[1], 1), dtype=bool)
        X[OTHERS] = True
        local.add(BinaryModel(X, np.zeros((2, *X.shape), dtype=bool), uses[1][:, None]))
    start = uses[0] & (np.arange(len(uses[0])) % 2 == 0)
    before = set(local.patterns())
    assert local.replace([], [bits.layout.pack(start[None])[0]])
    (s,) = set(local.patterns()) - before
    return np.flatnonzero(local.carry(s)[0])


# One word for every class; several, with few items per row; several, with many.
shapes = pytest.mark.parametrize(("n_rows", "n_items", "density"), [(50, 600, 0.02), (400, 600, 0.01), (400, 60, 0.05)])


@shapes
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_pattern_is_found_whole(n_rows, n_items, density, seed):
    bits, uses = case(n_rows, n_items, density, seed)
    np.testing.assert_array_equal(fitted_items(bits, uses, with_other=False), ITEMS)


@shapes
def test_cells_that_another_pattern_covers_count_for_nobody(n_rows, n_items, density):
    """What both have is paid for by the other one, in the rows of both; in the rest it is the first one's."""
    bits, uses = case(n_rows, n_items, density)
    found = fitted_items(bits, uses, with_other=True)
    assert set(ITEMS) - set(OTHERS) <= set(found) <= set(ITEMS)


@shapes
def test_a_row_of_some_weight_is_as_many_rows(n_rows, n_items, density):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 2 * n_rows)
    bits, uses = case(n_rows, n_items, density, row_weights=weights)
    copies = np.repeat(np.arange(2 * n_rows), weights)
    edge = int(weights[:n_rows].sum())
    repeated = BitMatrix(bits.rows()[copies], [slice(0, edge), slice(edge, len(copies))])
    once = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2))
    often = LocalSearch(repeated, BinaryModel.empty(*repeated.shape, 2))
    for local, data, rows in ((once, bits, uses[0]), (often, repeated, uses[0][copies])):
        assert local.replace([], [data.layout.pack(rows[None])[0]])
    np.testing.assert_array_equal(once.carry(once.patterns()[0]), often.carry(often.patterns()[0]))
    assert once.length == pytest.approx(often.length)
