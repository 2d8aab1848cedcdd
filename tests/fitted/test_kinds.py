"""Kinds: what the patterns of models made by hand are to their classes, and the tails that decide about "only"."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from saltmine.data.item_counts import ItemCounts
from saltmine.fitted.kinds import (
    MAX_EXACT_ITEMS,
    carriers_by_noise,
    class_kinds,
    least_items,
    main_user,
    row_kinds,
    table_rows,
    tail_probability,
    typical_rows,
)

LEVEL = 0.01


def make_model(carriers, q_values=None, rows=100, shares=0.1, n_items=4):
    """Return a model whose patterns have items of their own; ``carriers`` and ``q_values`` are (c, r).

    Rows that carry a pattern use it and have all of its items; of the others so many have each item.
    """
    carriers = np.array(carriers)
    c, rank = carriers.shape
    components = np.repeat(np.eye(rank, dtype=bool), n_items, axis=1)
    used = carriers @ components
    n = rank * n_items
    items = ItemCounts(
        np.arange(n),
        components,
        np.zeros((c, rank, n), dtype=bool),
        used + (shares * (rows - used)).astype(int),
        np.full((c, n), 3),
        used,
    )
    return SimpleNamespace(
        components_=components,
        carrier_counts_=carriers,
        class_counts_=np.full(c, rows),
        use_q_values_=np.zeros((c, rank)) if q_values is None else np.array(q_values, dtype=float),
        usage_counts_=carriers,
        item_counts_=items.item_counts,
        noise_counts_=items.noise_counts,
        typical_=np.zeros(rank, dtype=bool),
        of_few_groups_=np.zeros(rank, dtype=bool),
        most_counts_=None,
        _items=items,
        _level=LEVEL,
    )


@pytest.mark.parametrize(
    ("carriers", "q_values", "expected"),
    [
        ([40, 0], [0.001, 1], ["only", ""]),
        ([40, 0], [0.02, 1], ["", ""]),
        ([40, 0], [LEVEL, 1], ["only", ""]),
        ([40, 20], [0.001, 1], ["mostly", ""]),
        ([40, 21], [0.001, 1], ["", ""]),
        # A single carrier outside: four items of one row in ten each, noise makes less than one.
        ([40, 1], [0.001, 1], ["only", ""]),
        ([40, 5], [0.001, 1], ["mostly", ""]),
        ([40, 40, 0, 0], [0.001, 0.001, 1, 1], ["mostly", "mostly", "", ""]),
        ([40, 40, 0, 0], [0.001, 0.5, 1, 1], ["mostly", "", "", ""]),
        ([0, 0], [0.001, 0.001], ["", ""]),
        ([40], [np.nan], [""]),
    ],
)
def test_kinds_by_hand(carriers, q_values, expected):
    model = make_model([[count] for count in carriers], [[q] for q in q_values])
    assert class_kinds(model)[:, 0].tolist() == expected


def test_the_more_frequent_items_are_outside_the_more_carriers_noise_explains():
    for share, expected in ((0.1, "mostly"), (0.5, "only")):
        model = make_model([[60], [12]], [[0.001], [1]], shares=share)
        model.usage_counts_ = np.array([[60], [3]])
        assert class_kinds(model)[0, 0] == expected


def test_only_and_mostly_are_true_of_use_as_well():
    for used, expected in ((0, "only"), (4, "only"), (5, "mostly"), (20, "mostly"), (21, "")):
        model = make_model([[40], [1]], [[0.001], [1]])
        model.usage_counts_ = np.array([[40], [used]])
        assert class_kinds(model)[0, 0] == expected


def test_only_asks_that_most_of_the_items_are_rare_elsewhere():
    model = make_model([[40], [0]], [[0.001], [1]])
    for others, expected in ((4, "only"), (5, "mostly")):
        model.most_counts_ = np.array([[40], [others]])
        assert class_kinds(model)[0, 0] == expected


def test_rows_that_use_a_pattern_do_not_make_its_items_frequent_by_noise():
    """The same counts of items, of rows that use the pattern and of others."""
    model = make_model([[60], [25]], [[0.001], [1]], shares=0.3, n_items=3)
    assert class_kinds(model)[0, 0] == "mostly"
    model._items.hits[1] = 0
    model.usage_counts_ = np.array([[60], [0]])
    assert class_kinds(model)[0, 0] == "only"


def test_every_pattern_is_judged_on_its_own():
    model = make_model([[40, 0, 30], [0, 40, 30], [0, 10, 30]], [[0.001, 1, 1], [1, 0.001, 1], [1, 1, 1]])
    assert class_kinds(model).tolist() == [["only", "", ""], ["", "mostly", ""], ["", "", ""]]


def test_a_pattern_without_shared_items_belongs_to_nobody():
    model = make_model([[40], [0]], [[0.001], [1]])
    model.components_[:] = False
    assert (class_kinds(model) == "").all()


def test_a_typical_row_belongs_to_nobody():
    """The others are judged as if it was not there."""
    model = make_model([[95, 40], [20, 0]], [[0.001, 0.001], [1, 1]])
    assert class_kinds(model).tolist() == [["mostly", "only"], ["", ""]]
    model.typical_[0] = True
    assert class_kinds(model).tolist() == [["", "only"], ["", ""]]


@pytest.mark.parametrize(
    ("usage", "evidence", "expected"),
    [
        ([50, 50], 0.0, True),
        # Half of all rows are enough, wherever they are.
        ([0, 100], 0.0, True),
        ([40, 40], 0.0, True),
        ([39, 40], 0.0, False),
        # What is shown is a pattern, however many rows use it.
        ([100, 100], -np.log(LEVEL), False),
        ([100, 100], -np.log(LEVEL) - 0.001, True),
        ([100, 100], -np.inf, True),
        ([10, 0], 0.0, False),
    ],
)
def test_typical_rows_by_hand(usage, evidence, expected):
    """Most of 200 rows use them, and they have no evidence."""
    counts = np.array([[5, usage[0], 90], [5, usage[1], 90]])
    found = typical_rows(counts, np.array([100, 100]), np.array([0.0, evidence, 0.0]), LEVEL)
    assert found.tolist() == [False, expected, True]


def test_without_patterns_there_are_no_kinds():
    model = make_model(np.zeros((2, 0), int))
    assert class_kinds(model).shape == (2, 0)
    assert typical_rows(np.zeros((2, 0), int), np.array([100, 100]), np.zeros(0), LEVEL).shape == (0,)
    rows = table_rows(np.zeros((0, 4), bool), np.zeros((2, 0, 4), bool), np.zeros((2, 0), bool))
    assert len(rows.pattern) == len(row_kinds(rows, class_kinds(model), model.typical_, model.typical_)) == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=7), st.integers(0, 8))
def test_tails_are_sums_over_all_sets_of_items(columns, least):
    shares = np.array(columns).T
    expected = np.zeros(len(shares))
    for chosen in product([False, True], repeat=shares.shape[1]):
        if sum(chosen) >= least:
            expected += np.where(chosen, shares, 1 - shares).prod(axis=1)
    np.testing.assert_allclose(tail_probability(shares, least), expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5])
def test_tails_of_many_items_are_close_to_exact_ones(share, monkeypatch):
    shares = np.full((2, MAX_EXACT_ITEMS + 20), share)
    least = np.arange(1, shares.shape[1] + 1, 7)
    near = np.array([tail_probability(shares, k) for k in least])
    monkeypatch.setattr("saltmine.fitted.kinds.MAX_EXACT_ITEMS", 1000)
    exact = np.array([tail_probability(shares, k) for k in least])
    np.testing.assert_allclose(near, exact, atol=0.03)
    # Items that all rows have vary not at all.
    assert tail_probability(np.ones((1, 1000)), 1000) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.integers(1, 500), st.integers(1, 2000))
def test_the_least_number_of_items_is_the_first_that_pays(noise, used, more):
    noise = np.array(noise)
    total = float(noise.sum() + used + more)
    price, worth = np.log(total / used), np.log(total / np.maximum(noise, 0.5)).mean()
    pays = [k for k in range(len(noise) + 1) if (2 * k - len(noise)) * worth > price + 1e-9]
    least = least_items(noise, used, total)
    # Where not even all items pay, all of them are asked for.
    assert least == (pays[0] if pays else len(noise)) or abs((2 * least - len(noise)) * worth - price) < 1e-6


def test_carriers_by_noise_are_summed_over_classes():
    counts, rows = np.array([[10, 20, 30], [5, 5, 0]]), np.array([100, 50])
    single = [carriers_by_noise(counts[a : a + 1], rows[a : a + 1], 2) for a in range(2)]
    assert carriers_by_noise(counts, rows, 2) == pytest.approx(sum(single))
    assert carriers_by_noise(counts, rows, 4 - 1) == pytest.approx(100 * 0.1 * 0.2 * 0.3)


def test_only_is_decided_by_the_upper_tail():
    model = make_model([[90], [0]], [[0.001], [1]], shares=0.5)
    least = least_items(np.full(4, 6), 90, 90 + 24.0)
    expected = carriers_by_noise(np.full((1, 4), 50), np.array([100]), least)
    most = max(count for count in range(46) if poisson.sf(count - 1, expected) >= 0.05)
    for count in range(46):
        model.carrier_counts_ = np.array([[90], [count]])
        assert class_kinds(model)[0, 0] == ("only" if count <= most else "mostly")


@pytest.mark.parametrize(
    ("usage", "carriers", "sizes", "expected"),
    [
        ([40, 0], [60, 30], [100, 100], 0),
        ([4, 40], [60, 60], [100, 100], 1),
        ([5, 40], [60, 60], [100, 100], None),
        # Ten times the share, of classes of unequal size.
        ([40, 8], [60, 60], [100, 200], 0),
        ([40, 9], [60, 60], [100, 200], None),
        # A class that does not carry it at all.
        ([40, 0], [60, 0], [100, 100], None),
        # The other users are all of one small class, or many of a large one.
        ([40, 4, 0], [60, 4, 9], [100, 4, 100], None),
        ([10, 40, 0], [10, 60, 9], [10, 1000, 100], None),
        ([40, 3, 4], [60, 30, 30], [100, 100, 100], 0),
        ([0, 0], [3, 3], [100, 100], None),
        ([40], [60], [100], None),
    ],
)
def test_the_main_user_of_a_pattern_that_all_classes_carry(usage, carriers, sizes, expected):
    counts = {"usage_counts_": usage, "carrier_counts_": carriers}
    model = SimpleNamespace(class_counts_=np.array(sizes), **{k: np.array(v)[:, None] for k, v in counts.items()})
    assert main_user(model, 0) == expected


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 4))
def test_rows_list_shared_items_once_or_for_every_owner(seed, c, rank):
    rng = np.random.default_rng(seed)
    components = rng.random((rank, 6)) < 0.5
    alterations = (rng.random((c, rank, 6)) < 0.2) & ~components
    owns = rng.random((c, rank)) < 0.3
    rows = table_rows(components, alterations, owns)
    listed = list(zip(*(column.tolist() for column in rows), strict=True))
    expected = []
    for s in range(rank):
        shared, owners = np.flatnonzero(components[s]), np.flatnonzero(owns[:, s]).tolist() or [-1]
        expected += [(s, i, a, False) for a in owners for i in shared]
        expected += [(s, i, a, True) for a in range(c) for i in np.flatnonzero(alterations[a, s])]
    assert listed == expected
    typical = ~owns.any(axis=0) & (rng.random(rank) < 0.3)
    kinds = row_kinds(rows, np.where(owns, "mostly", ""), typical, ~typical & False)
    own = np.where(typical, "typical", np.where(owns.any(axis=0), "mostly", "shared"))
    assert kinds.tolist() == ["added" if adds else own[s] for s, _, _, adds in listed]
