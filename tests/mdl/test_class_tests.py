import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import find_carriers
from saltmine.mdl.class_tests import correct, fisher_tests


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_p_values_are_those_of_fishers_test(counts):
    hits, misses, other_hits, other_misses = counts
    expected = fisher_exact([[hits, misses], [other_hits, other_misses]], alternative="greater")[1]
    found = fisher_tests(*(np.array([n]) for n in (hits, hits + misses, other_hits, other_hits + other_misses)))
    assert found[0] == pytest.approx(expected, abs=1e-12)


def test_the_correction_is_benjamini_and_hochbergs():
    p_values = np.array([0.03, 0.001, np.nan, 0.2, 0.02])
    q_values = correct(p_values)
    order = np.argsort(p_values)[:4]
    steps = p_values[order] * 4 / np.arange(1, 5)
    np.testing.assert_allclose(q_values[order], np.minimum.accumulate(steps[::-1])[::-1])
    assert np.isnan(q_values[2])


def test_no_tests_no_correction():
    assert np.isnan(correct(np.array([np.nan]))).all()
    assert correct(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_carriers_have_more_than_half_of_the_items(form):
    rng = np.random.default_rng(0)
    matrix = rng.random((30, 12)) < 0.5
    blocks = [slice(0, 13), slice(13, 30)]
    X = np.zeros((12, 3), dtype=bool)
    X[:5, 0] = X[3, 1] = X[4:9, 2] = True
    V = np.zeros((2, 12, 3), dtype=bool)
    V[0, 6:9, :2] = True
    V[1, 9:, 2] = True
    Y = np.ones((30, 3), dtype=bool)
    Y[:13, 2] = False  # the second class alone uses the third pattern
    found = find_carriers(BitMatrix(form(matrix), blocks), BinaryModel(X, V, Y))
    carriers = np.stack([found[rows].sum(axis=0) for rows in blocks])
    # Shared items; all where fewer than two are shared; all of its class where one class uses the pattern.
    items = [X[:, 0], X[:, 1] | V[0, :, 1], X[:, 2] | V[1, :, 2]]
    for s, mine in enumerate(items):
        for a, rows in enumerate(blocks):
            expected = sum(2 * row[mine].sum() > mine.sum() for row in matrix[rows])
            assert carriers[a, s] == expected
