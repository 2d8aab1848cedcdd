from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.fitted.encoding import CodeTable, class_prior, encode, shared_codes


@st.composite
def tables(draw):
    r, n = draw(st.integers(0, 8)), 12
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    patterns = rng.random((r, n)) < 0.5
    counts = rng.integers(0, 20, r), rng.integers(0, 20, n)
    return CodeTable.from_counts(patterns, *counts, np.ones(n, bool)), rng.random((40, n)) < 0.6


def plain_length(row, used, table):
    covered = np.zeros(len(row), dtype=bool)
    for pattern, is_used in zip(table.patterns, used, strict=True):
        covered |= pattern & is_used
    return table.item_nats[covered != row].sum() + table.pattern_nats[np.array(used, dtype=bool)].sum()


@settings(max_examples=60, deadline=None)
@given(tables())
def test_lengths_are_those_of_the_usage_and_no_single_change_shortens_them(case):
    table, rows = case
    usage, lengths = encode(rows, table)
    for row, used, length in zip(rows, usage, lengths, strict=True):
        assert length == pytest.approx(plain_length(row, used, table))
        assert length <= plain_length(row, np.zeros_like(used), table) + 1e-9
        for s in range(len(used)):
            changed = used.copy()
            changed[s] = ~changed[s]
            assert length <= plain_length(row, changed, table) + 1e-6
            # Nor does another in the place of one.
            for t in np.flatnonzero(~used) if used[s] else []:
                exchanged = changed.copy()
                exchanged[t] = True
                assert length <= plain_length(row, exchanged, table) + 1e-6


def test_patterns_that_do_not_overlap_are_chosen_optimally():
    rng = np.random.default_rng(0)
    patterns = np.kron(np.eye(3), np.ones((1, 3))).astype(bool)
    table = CodeTable.from_counts(patterns, np.array([5, 9, 2]), rng.integers(1, 9, 9), np.ones(9, bool))
    rows = rng.random((30, 9)) < 0.6
    _, lengths = encode(rows, table)
    best = [min(plain_length(row, used, table) for used in product([False, True], repeat=3)) for row in rows]
    np.testing.assert_allclose(lengths, best)


def test_sparse_rows_and_dense_rows_are_encoded_alike():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, 4), rng.integers(1, 9, 30)
    table = CodeTable.from_counts(rng.random((4, 30)) < 0.3, *counts, np.ones(30, bool))
    rows = rng.random((50, 30)) < 0.4
    dense, sparse = encode(rows, table), encode(sp.csr_array(rows.astype(np.int8)), table)
    np.testing.assert_array_equal(dense[0], sparse[0])
    np.testing.assert_allclose(dense[1], sparse[1])


def test_what_a_class_never_used_has_a_finite_but_long_code():
    table = CodeTable.from_counts(np.ones((2, 3), bool), np.array([10, 0]), np.array([5, 5, 0]), np.ones(3, bool))
    assert np.isfinite(table.pattern_nats).all()
    assert table.pattern_nats[1] > table.pattern_nats[0]
    assert table.item_nats[2] > table.item_nats[0]
    assert np.exp(-np.concatenate([table.pattern_nats, table.item_nats])).sum() == pytest.approx(1)


def test_code_lengths_are_those_of_the_counts_plus_one_half():
    table = CodeTable.from_counts(np.ones((1, 3), bool), np.array([3]), np.array([1, 0, 2]), np.ones(3, bool))
    np.testing.assert_allclose(np.exp(-table.pattern_nats), [3.5 / 8])
    np.testing.assert_allclose(np.exp(-table.item_nats), [1.5 / 8, 0.5 / 8, 2.5 / 8])


def test_items_that_occur_nowhere_take_no_share_of_the_code():
    narrow = CodeTable.from_counts(np.ones((1, 2), bool), np.array([3]), np.array([1, 0]), np.ones(2, bool))
    wide = CodeTable.from_counts(
        np.ones((1, 4), bool), np.array([3]), np.array([1, 0, 0, 0]), np.array([True, True, False, False])
    )
    np.testing.assert_array_equal(wide.pattern_nats, narrow.pattern_nats)
    np.testing.assert_array_equal(wide.item_nats, narrow.item_nats[[0, 1, 1, 1]])


def test_a_pattern_that_others_made_superfluous_goes():
    # The first pattern saves most, but the second and the third together cover its items.
    patterns = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]], dtype=bool)
    table = CodeTable(patterns, np.array([1.0, 1.0, 1.0]), np.full(6, 2.0))
    usage, lengths = encode(np.ones((1, 6), bool), table)
    np.testing.assert_array_equal(usage, [[False, True, True]])
    assert lengths[0] == 2


def test_codes_of_weighted_items_are_those_of_the_columns_behind_them():
    used, errors, weights = np.array([7, 0]), np.array([4, 0, 9]), np.array([1, 3, 2])
    pattern_nats, item_nats = shared_codes(used, errors, weights)
    plain_patterns, plain_items = shared_codes(used, np.repeat(errors, weights))
    np.testing.assert_allclose(pattern_nats, plain_patterns)
    np.testing.assert_allclose(item_nats, [plain_items[0], plain_items[1:4].sum(), plain_items[4:].sum()])
    assert np.isfinite([*pattern_nats, *item_nats]).all()


def test_the_code_of_a_class_begins_with_one_average_row():
    rng = np.random.default_rng(0)
    usage, noise = rng.integers(0, 9, (3, 4)), rng.integers(0, 9, (3, 10))
    prior = class_prior(usage, noise, 25, np.ones(10, bool))
    assert prior.sum() == pytest.approx((usage.sum() + noise.sum()) / 25)
    # A class that has no rows has the codes of all rows together.
    counts = np.concatenate([usage.sum(axis=0), noise.sum(axis=0)]) + 0.5
    alone = CodeTable.from_counts(np.ones((4, 10), bool), np.zeros(4, int), np.zeros(10, int), np.ones(10, bool), prior)
    np.testing.assert_allclose(np.exp(-alone.pattern_nats), counts[:4] / counts.sum())
    np.testing.assert_allclose(np.exp(-alone.item_nats), counts[4:] / counts.sum())
    # Nothing at all still is a code, and columns without ones take no share of it.
    assert (class_prior(np.zeros((2, 0), int), np.zeros((2, 3), int), 5, np.zeros(3, bool)) > 0).all()
