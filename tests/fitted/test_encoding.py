from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.fitted import encoding
from saltmine.fitted.encoding import (
    CodeTable,
    Encoder,
    class_prior,
    encode,
    encode_by_all,
    encode_by_own,
    lengths_left_out,
    shared_codes,
    shorten,
)


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


def plain_saved(row, used, table):
    nothing = np.zeros(len(table.patterns), dtype=bool)
    return round(plain_length(row, nothing, table) - plain_length(row, used, table), 9)


def plain_change(row, used, s, table):
    """Return what it saves to use a pattern that is not used, or what it costs to use one no longer."""
    without, with_it = used.copy(), used.copy()
    without[s], with_it[s] = False, True
    return round(plain_length(row, without, table) - plain_length(row, with_it, table), 9)


def plain_cover(row, used, table, barred=None):
    used = used.copy()
    while True:
        free = [s for s in np.flatnonzero(~used) if s != barred]
        gains = [plain_change(row, used, s, table) for s in free]
        if not gains or max(gains) <= 0:
            return used
        used[free[int(np.argmax(gains))]] = True


def plain_prune(row, used, table):
    used = used.copy()
    for s in np.flatnonzero(used):
        used[s] = plain_change(row, used, s, table) > 0
    return used


def plain_encode(row, table):
    """Return what `encode` is to find for one row, written down as its docstring says it."""
    used = np.zeros(len(table.patterns), dtype=bool)
    while True:
        before = used
        used = plain_prune(row, plain_cover(row, used, table), table)
        for s in range(len(used)):
            if not used[s]:
                continue
            without = used.copy()
            without[s] = False
            other = plain_cover(row, without, table, barred=s)
            pruned = plain_prune(row, other, table)
            if other.sum() >= used.sum() and plain_saved(row, pruned, table) > plain_saved(row, used, table):
                used = pruned
        if np.array_equal(used, before):
            return used


@st.composite
def tables_with_ties(draw):
    """Few code lengths, so that many patterns save the same; some patterns occur twice, some have no items."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    r, n = draw(st.integers(1, 12)), draw(st.integers(1, 14))
    patterns = rng.random((r, n)) < draw(st.sampled_from([0.15, 0.4]))
    patterns = patterns[rng.integers(0, r, r)]
    table = CodeTable(patterns, rng.integers(1, 5, r) / 2, rng.integers(0, 7, n) / 4)
    return table, rng.random((20, n)) < 0.6


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.one_of(tables(), tables_with_ties()))
def test_patterns_are_chosen_greedily_the_first_of_equals_and_exchanged(case):
    table, rows = case
    expected = [plain_encode(row, table) for row in rows]
    np.testing.assert_array_equal(encode(rows, table)[0], np.reshape(expected, (len(rows), len(table.patterns))))


@pytest.mark.slow
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


def test_rows_of_a_whole_genome_are_longer_than_whole_numbers_are_exact():
    # Lengths are compared in parts of 1e-9 nats; above 2**53 of them a number less one is the number itself, and a
    # pattern that saves as much was once looked for behind the last one.
    saved = np.random.default_rng(0).uniform(9.1e6, 5e7, 200)
    rounds_up = np.rint(saved * 1e9) / 1e9 > saved
    assert rounds_up.any()
    for nats in saved:
        table = CodeTable(np.ones((1, 1), bool), np.zeros(1), np.array([nats]))
        usage, lengths = encode(np.ones((1, 1), bool), table)
        assert usage.tolist() == [[True]]
        assert lengths[0] == pytest.approx(0.0, abs=1e-6)


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


@pytest.fixture
def three_tables():
    """Patterns of three classes with code tables of their own, and rows."""
    rng = np.random.default_rng(3)
    patterns = rng.random((70, 90)) < 0.1
    counts = [(rng.integers(0, 20, 70), rng.integers(0, 20, 90)) for _ in range(3)]
    tables = [CodeTable.from_counts(patterns ^ (rng.random((70, 90)) < 0.01), *of, np.ones(90, bool)) for of in counts]
    rows = (rng.random((200, 90)) < 0.1) | patterns[rng.integers(0, 70, 200)] | patterns[rng.integers(0, 70, 200)]
    return tables, rows, rng.integers(0, 3, 200)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_several_tables_give_what_each_of_them_gives(three_tables, form):
    tables, rows, table_of = three_tables
    each = [encode(rows, table) for table in tables]
    usage, lengths = encode_by_own(form(rows), Encoder(tables), table_of)
    assert usage.any()
    np.testing.assert_array_equal(usage, np.stack([usage for usage, _ in each])[table_of, np.arange(200)])
    by_all = encode_by_all(form(rows), Encoder(tables))
    np.testing.assert_allclose(by_all, np.stack([lengths for _, lengths in each], axis=1))
    np.testing.assert_array_equal(lengths, by_all[np.arange(200), table_of])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_threads_and_panels_change_nothing(monkeypatch, three_tables, form):
    tables, rows, table_of = three_tables
    given = np.random.default_rng(0).random((200, 70)) < 0.03

    def run():
        own = encode_by_own(form(rows), Encoder(tables), table_of)
        return *own, encode_by_all(form(rows), Encoder(tables)), shorten(form(rows), given, Encoder(tables), table_of)

    whole = run()
    monkeypatch.setattr(encoding, "PANEL_WORK", 1000)
    monkeypatch.setattr(encoding, "MIN_CELLS", 1)
    for expected, found in zip(whole, run(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_patterns_that_a_row_uses_stay_where_others_are_longer(three_tables):
    tables, rows, table_of = three_tables
    chosen, _ = encode_by_own(rows, Encoder(tables), table_of)
    np.testing.assert_array_equal(shorten(rows, np.zeros_like(chosen), Encoder(tables), table_of), chosen)
    # The greedy choice is not always the best one.
    rng = np.random.default_rng(1)
    table = CodeTable(rng.random((7, 16)) < 0.4, np.full(7, 1.5), np.ones(16))
    rows = rng.random((300, 16)) < 0.9
    greedy, lengths = encode(rows, table)
    every = np.array(list(product([False, True], repeat=7)))
    shortest = np.array([min(every, key=lambda used, row=row: plain_length(row, used, table)) for row in rows])
    is_better = [
        plain_length(row, used, table) < length - 0.1 for row, used, length in zip(rows, shortest, lengths, strict=True)
    ]
    assert 0 < sum(is_better) < len(rows)
    expected = np.where(np.array(is_better)[:, None], shortest, greedy)
    np.testing.assert_array_equal(shorten(rows, shortest, Encoder([table]), np.zeros(300, dtype=np.intp)), expected)


def test_nothing_to_encode_and_nothing_to_encode_with():
    nothing = CodeTable(np.zeros((0, 4), bool), np.zeros(0), np.ones(4))
    usage, lengths = encode(np.eye(4, dtype=bool), nothing)
    assert usage.shape == (4, 0)
    np.testing.assert_array_equal(lengths, 1)
    usage, lengths = encode(np.zeros((0, 4), bool), CodeTable(np.ones((2, 4), bool), np.ones(2), np.ones(4)))
    assert usage.shape == (0, 2)
    assert len(lengths) == 0


def test_a_row_left_out_is_encoded_by_counts_without_it():
    rng = np.random.default_rng(1)
    patterns, rows, numbers = rng.random((2, 5, 12)) < 0.3, rng.random((9, 12)) < 0.5, rng.integers(0, 2, 9)
    prior = rng.random(17) + 0.1
    used, noise = rng.integers(9, 20, (2, 5)), rng.integers(9, 20, (2, 12))
    usage, weights = rng.random((9, 5)) < 0.4, rng.integers(1, 4, 12)
    lengths = lengths_left_out(sp.csr_array(rows), usage, numbers, patterns.__getitem__, used, noise, prior, weights)
    # The same with every item as often as it stands for columns.
    columns = np.repeat(np.arange(12), weights)
    rows, patterns, noise = rows[:, columns], patterns[:, :, columns], noise[:, columns]
    prior = np.concatenate([prior[:5], prior[5:][columns]])
    for row, own, a, length in zip(rows, usage, numbers, lengths, strict=True):
        parts = np.concatenate([own, row != patterns[a, own].any(axis=0)])
        counts = np.concatenate([used[a], noise[a]]) - parts
        nats = -np.log((counts + prior) / (counts + prior).sum())
        assert length == pytest.approx(nats[parts].sum())


def test_tables_of_distinct_items_encode_rows_of_equal_columns_as_whole_ones_do():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 30)
    columns, never = np.repeat(np.arange(30), weights), weights == 0
    patterns, used, noise = rng.random((2, 6, 30)) < 0.3, rng.integers(1, 9, (2, 6)), rng.integers(0, 9, (2, 30))
    patterns[:, :, never], noise[:, never] = False, 0
    rows = (rng.random((40, 30)) < 0.5) & ~never
    prior = class_prior(used, noise, 20, weights)
    folded = [CodeTable.from_counts(patterns[a], used[a], noise[a], weights, prior) for a in (0, 1)]
    folded = [replace(table, item_nats=table.item_nats * weights) for table in folded]
    all_ones = np.ones(len(columns), bool)
    prior = class_prior(used, noise[:, columns], 20, all_ones)
    whole = [
        CodeTable.from_counts(patterns[a][:, columns], used[a], noise[a, columns], all_ones, prior) for a in (0, 1)
    ]
    np.testing.assert_allclose(
        encode_by_all(rows, Encoder(folded)), encode_by_all(rows[:, columns], Encoder(whole)), rtol=1e-9
    )
