"""Row sizes: chance expects as many ones in a row as it has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.mdl.row_sizes import BINS, PRIOR, FrequencyBins, frequency_bins, row_shifts


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@st.composite
def tables(draw):
    m, n = draw(st.integers(2, 40)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return rng.random((m, n)) < rng.beta(0.5, 1, n)


@settings(max_examples=60, deadline=None)
@given(tables())
def test_as_many_ones_are_expected_as_a_row_has(matrix):
    m, n = matrix.shape
    counts, sizes = matrix.sum(axis=0), matrix.sum(axis=1)
    bins = frequency_bins(counts, np.ones(n, dtype=int), m)
    shifts = row_shifts(sizes, bins, m)
    some = bins.items > 0
    frequency = bins.ones[some] / (m * bins.items[some])
    expected = sigmoid(np.log(frequency / (1 - frequency)) + shifts[:, None]) @ bins.items[some] + bins.always
    # The prior pulls shifts to zero, by as little as it weighs.
    np.testing.assert_allclose(expected + shifts / PRIOR**2, sizes, atol=1e-4)
    assert np.isfinite(shifts).all()
    # Larger rows have larger shifts, and rows of the same size the same.
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(shifts[order])[np.diff(sizes[order]) > 0] > 0).all()
    assert (np.diff(shifts[order])[np.diff(sizes[order]) == 0] == 0).all()


def test_expected_ones_are_nearly_the_size_also_by_the_frequencies_of_the_items_themselves():
    rng = np.random.default_rng(0)
    matrix = rng.random((500, 300)) < sigmoid(rng.normal(-2, 1, 300) + rng.normal(0, 0.7, 500)[:, None])
    counts, sizes = matrix.sum(axis=0), matrix.sum(axis=1)
    shifts = row_shifts(sizes, frequency_bins(counts, np.ones(300, dtype=int), 500), 500)
    expected = sigmoid(np.log(counts / (500 - counts)) + shifts[:, None]).sum(axis=1)
    # Bins are a quarter of a nat wide, so a frequency is off by an eighth of itself at most, and they cancel out.
    np.testing.assert_allclose(expected, sizes, rtol=0.02, atol=0.2)


def test_rows_of_the_size_that_the_frequencies_expect_are_not_shifted():
    counts = np.array([10, 20, 70])
    shifts = row_shifts(np.array([1]), frequency_bins(counts, np.ones(3, dtype=int), 100), 100)
    assert shifts == pytest.approx([0.0], abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 5))
def test_bins_of_blocks_add_up_and_weights_are_copies(matrix, n_blocks):
    m, n = matrix.shape
    counts = matrix.sum(axis=0)
    weights = np.random.default_rng(n).integers(1, 4, n)
    whole = frequency_bins(counts, weights, m)
    parts = [frequency_bins(counts[k::n_blocks], weights[k::n_blocks], m) for k in range(n_blocks)]
    added = FrequencyBins(*(sum(figures) for figures in zip(*parts, strict=True)))
    copies = frequency_bins(np.repeat(counts, weights), np.ones(weights.sum(), dtype=int), m)
    for same in (added, copies):
        for one, two in zip(same, whole, strict=True):
            np.testing.assert_array_equal(one, two)
    # Everything is somewhere: in a bin, in no row, or in every row.
    assert whole.items.sum() + whole.always + weights[counts == 0].sum() == weights.sum()
    assert whole.ones.sum() + m * whole.always == weights @ counts


def test_rows_with_nothing_or_everything_have_a_shift_and_items_of_all_or_no_rows_say_nothing():
    counts, ones = np.array([0, 5, 10, 10, 3]), np.ones(5, dtype=int)
    bins = frequency_bins(counts, ones, 10)
    assert (bins.items.sum(), bins.always) == (2, 2)
    shifts = row_shifts(np.array([2, 3, 4]), bins, 10)
    assert np.isfinite(shifts).all()
    assert (np.diff(shifts) > 0).all()
    without = row_shifts(np.array([0, 1, 2]), frequency_bins(counts[[1, 4]], ones[:2], 10), 10)
    np.testing.assert_allclose(shifts, without)
    # Where no item differs between rows, rows do not differ either.
    alike = frequency_bins(np.array([10, 0]), np.ones(2, dtype=int), 10)
    assert row_shifts(np.ones(4, dtype=int), alike, 10).tolist() == [0.0] * 4


def test_items_of_any_frequency_are_in_a_bin_and_rare_ones_share_the_outer_one():
    m = 10**9
    counts = np.array([1, 2, 30, m // 2, m - 30, m - 2, m - 1])
    bins = frequency_bins(counts, np.ones(7, dtype=int), m)
    assert [figures.shape for figures in bins[:2]] == [(BINS,)] * 2
    assert [figures.dtype for figures in bins[:2]] == [np.int64] * 2
    # As many below a half as above, and none is lost.
    assert bins.items.tolist() == bins.items[::-1].tolist()
    assert (bins.items[0], bins.items[BINS // 2], bins.items.sum()) == (3, 1, 7)
    assert bins.ones[0] == 33
