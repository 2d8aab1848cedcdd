"""Tests by groups: exact against all ways to exchange labels, and blind to copies of rows."""

from itertools import chain, combinations, product
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import _core
from saltmine.mdl.groups import item_log_p, make_units, use_log_p


def ones(count):
    return np.ones(count, dtype=int)


def labellings(groups, classes):
    """Yield every exchange of labels: within groups of both classes, and of whole groups among those of one class."""
    mixed = [g for g in np.unique(groups) if len(set(classes[groups == g])) > 1]
    pure = [g for g in np.unique(groups) if g not in mixed]
    n_of_one = sum(int(classes[groups == g][0]) for g in pure)
    within = []
    for g in mixed:
        rows = np.flatnonzero(groups == g)
        within.append([list(chosen) for chosen in combinations(rows, int(classes[rows].sum()))])
    for chosen in combinations(pure, n_of_one):
        for parts in product(*within):
            labels = np.isin(groups, chosen).astype(int)
            labels[list(chain.from_iterable(parts))] = 1
            yield labels


@pytest.mark.parametrize("seed", range(5))
def test_use_is_tested_by_all_ways_to_exchange_labels(seed):
    rng = np.random.default_rng(seed)
    # Three pairs of both classes, and six groups of one row.
    groups = np.concatenate([np.repeat(np.arange(3), 2), np.arange(3, 9)])
    classes = np.concatenate([np.tile([0, 1], 3), [0, 0, 0, 1, 1, 1]])
    carries = rng.random(12) < np.where(classes == 1, 0.8, 0.3)
    # Rows of the same size, or strata of sizes would matter.
    log_p = use_log_p(carries[:, None], make_units(groups, classes, ones(12)), 2)[1, 0]
    seen = carries[classes == 1].sum()
    shuffled = np.array([carries[labels == 1].sum() for labels in labellings(groups, classes)])
    expected = np.mean(shuffled >= seen) if seen > shuffled.mean() else 1.0
    assert np.exp(log_p) == pytest.approx(expected)


def test_copies_of_rows_in_a_group_change_nothing():
    rng = np.random.default_rng(0)
    classes, rows = np.repeat([0, 1], 20), rng.random((40, 30)) < np.repeat([0.2, 0.5], 20)[:, None]
    alone, _ = item_log_p(rows, make_units(np.arange(40), classes, ones(40)), 2)
    again = np.repeat(np.arange(40), 3)
    copied, _ = item_log_p(rows[again], make_units(again, classes[again], ones(120)), 2)
    np.testing.assert_allclose(copied, alone)
    assert alone.min() < np.log(0.05)


def test_groups_of_several_classes_are_compared_with_themselves():
    # Groups differ widely, and in every group class 1 has the item more often.
    groups, classes = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    has = np.repeat(np.arange(12) < 4, 2) | (classes == 1)
    paired, more = item_log_p(has[:, None], make_units(groups, classes, ones(24)), 2)
    assert more[:, 0].tolist() == [False, True]
    # Eight groups where only class 1 has it, and four that both have: two-sided 2 / 2 ** 8.
    np.testing.assert_allclose(np.exp(paired), 2 / 2**8)


def test_two_sides_and_sparse_data_give_the_same():
    rng = np.random.default_rng(1)
    groups, classes = np.repeat(np.arange(30), 2), np.repeat([0, 1, 2], 20)
    rows = rng.random((60, 15)) < 0.3
    units = make_units(groups, classes, rows.sum(axis=1))
    dense, sparse = item_log_p(rows, units, 3)[0], item_log_p(sp.csr_array(rows), units, 3)[0]
    np.testing.assert_allclose(dense, sparse)
    swapped = make_units(groups, 2 - classes, rows.sum(axis=1))
    np.testing.assert_allclose(item_log_p(rows, swapped, 3)[0][::-1], dense)
    assert (dense <= 0).all()


def test_single_items_are_exchanged_among_groups_whatever_their_sizes():
    """Every group of class 1 has twice the ones: use is not told from size, a single item is."""
    groups, classes = np.arange(200) // 2, np.arange(200) // 2 % 2
    has_it = (classes == 1)[:, None]
    units = make_units(groups, classes, 10 * (1 + classes))
    assert use_log_p(has_it, units, 2)[1, 0] == 0
    log_p, more = item_log_p(has_it, units, 2)
    assert log_p[1, 0] == pytest.approx(np.log(2 / comb(100, 50)))  # one of all ways to choose 50 of 100 groups
    assert more[:, 0].tolist() == [False, True]


def test_labels_of_whole_groups_that_say_nothing_are_rarely_clear():
    rng, clear = np.random.default_rng(2), []
    for _ in range(60):
        groups = np.repeat(np.arange(30), 4)
        # Rows of a group are nearly the same.
        rows = (rng.random((30, 10)) < 0.4)[groups] ^ (rng.random((120, 10)) < 0.05)
        classes = rng.permutation(np.repeat([0, 1], 15))[groups]
        log_p = item_log_p(rows, make_units(groups, classes, rows.sum(axis=1)), 2)[0][0]
        clear.append(np.mean(log_p <= np.log(0.05)))
    assert np.mean(clear) <= 0.05


def test_more_strata_than_fit_at_once_are_counted_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    groups, classes = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    rows = rng.random((40, 23)) < 0.4
    units = make_units(groups, classes, rows.sum(axis=1))
    whole, _ = item_log_p(rows, units, 2)
    monkeypatch.setattr("saltmine.mdl.groups.MAX_COUNTS", 200)
    np.testing.assert_array_equal(item_log_p(rows, units, 2)[0], whole)


@pytest.mark.parametrize(("first", "second"), [(3, 2), (7, 4), (5, 4), (2, 1), (9, 1)])
def test_groups_of_one_class_may_have_more_rows(first, second):
    """Items that say nothing are rarely clear, whatever the sizes of the groups; and clear ones are."""
    rng, clear = np.random.default_rng(first), []
    for _ in range(40):
        counts = np.repeat([first, second], 20)
        groups, classes = np.repeat(np.arange(40), counts), np.repeat(np.repeat([0, 1], 20), counts)
        rows = rng.random((len(groups), 20)) < 0.3
        rows[:, 0] = classes == 1
        log_p, _ = item_log_p(rows, make_units(groups, classes, rows.sum(axis=1)), 2)
        clear.append(np.mean(log_p[0, 1:] <= np.log(0.05)))
        assert log_p[0, 0] < np.log(1e-6)
    assert np.mean(clear) <= 0.05


@pytest.mark.parametrize("rows_each", [1, 3, 10])
def test_rows_of_one_class_in_a_group_count_together(rows_each):
    """Every group and class has something of its own, in all of its rows: these are pairs, however many rows."""
    rng, clear = np.random.default_rng(rows_each), []
    for _ in range(60):
        groups, classes = np.repeat(np.arange(10), 2 * rows_each), np.tile(np.repeat([0, 1], rows_each), 10)
        rows = (rng.random((10, 2, 15)) < 0.5)[groups, classes]
        log_p, _ = item_log_p(rows, make_units(groups, classes, rows.sum(axis=1)), 2)
        clear.append(np.mean(log_p[0] <= np.log(0.05)))
    assert np.mean(clear) <= 0.05


def test_a_group_of_several_classes_is_never_compared_with_others():
    # Of the second group only rows of one class are here; it is mixed all the same.
    groups, classes = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 0, 1])
    units = make_units(groups, classes, ones(5), mixed=np.array([True, True, False, False]))
    strata = units.by_rows[units.unit_of]
    assert strata[0] == strata[1] != strata[2]
    assert strata[3] == strata[4] not in (strata[0], strata[2])


@pytest.mark.parametrize("seed", range(6))
def test_so_many_rows_of_every_unit_are_looked_at_evenly_spaced_in_their_order(seed):
    """As many as the largest power of two, where units of both classes have as many."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, 12)
    groups = rng.permutation(np.repeat(np.arange(12), counts))
    # Two groups of every number of rows, one of each class: nothing is lonely.
    groups, classes = np.concatenate([groups, groups + 12]), np.repeat([0, 1], len(groups))
    units = make_units(groups, classes, ones(len(groups)))
    assert (np.diff(units.rows) > 0).all()
    for g in range(24):
        rows = np.flatnonzero(groups == g)
        chosen = units.rows[groups[units.rows] == g]
        wanted = 2 ** int(np.log2(counts[g % 12]))
        # The rows at which another part of the unit begins, the first among them.
        expected = [rows[-(-part * len(rows) // wanted)] for part in range(wanted)]
        assert chosen.tolist() == expected
        assert set(units.unit_of[np.isin(units.rows, chosen)]) == {g}
    assert units.classes.tolist() == [0] * 12 + [1] * 12


def test_units_whose_number_of_rows_only_one_class_has_look_at_fewer():
    # Groups of 8 and 2 rows of class 0, of 2 and 1 of class 1.
    groups = np.repeat(np.arange(4), [8, 2, 2, 1])
    classes = np.repeat([0, 0, 1, 1], [8, 2, 2, 1])
    units = make_units(groups, classes, ones(13))
    assert np.bincount(units.unit_of).tolist() == [2, 2, 2, 1]
    assert units.by_rows[0] == units.by_rows[1] == units.by_rows[2] != units.by_rows[3]


def test_mixed_groups_look_at_as_many_rows_of_every_class():
    groups = np.repeat([0, 1], [9, 6])
    classes = np.concatenate([np.repeat([0, 1], [4, 5]), np.repeat([0, 1, 2], [1, 3, 2])])
    units = make_units(groups, classes, ones(15))
    assert np.bincount(units.unit_of).tolist() == [4, 4, 1, 1, 1]
    assert units.by_rows.tolist() == units.by_size.tolist() == [0, 0, 1, 1, 1]


def test_units_are_split_by_ones_per_row_where_there_are_enough():
    """Units of one row, of 1 to 160 ones: groups of at least 40, in the order of sizes; a unit has the average."""
    sizes = np.random.default_rng(0).permutation(160) + 1
    units = make_units(np.arange(160), np.arange(160) % 2, sizes)
    assert set(units.by_rows) == {0}
    counts = np.bincount(units.by_size)
    assert counts.tolist() == [40] * 4
    assert (np.diff(units.by_size[np.argsort(sizes)]) >= 0).all()
    # The same with two equal rows for every unit.
    twice = np.tile(np.arange(160), 2)
    doubled = make_units(twice, twice % 2, np.tile(sizes, 2))
    np.testing.assert_array_equal(doubled.by_size, units.by_size)


@pytest.mark.parametrize("seed", range(5))
def test_less_is_tested_as_more_of_the_opposite(seed):
    rng = np.random.default_rng(seed)
    groups, classes = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    rows = rng.random((20, 70)) < 0.5
    units = make_units(groups, classes, ones(20))
    found, more = item_log_p(rows, units, 2)
    np.testing.assert_allclose(item_log_p(~rows, units, 2)[0], found)
    # Of two classes, one has more where the other has less.
    np.testing.assert_allclose(found[0], found[1])
    shares = np.array([rows[classes == a].sum(axis=0) for a in (0, 1)])
    assert more[0].tolist() == (shares[0] > shares[1]).tolist()
    assert more[1].tolist() == (shares[1] > shares[0]).tolist()
    # Items are tested one by one, however many there are.
    for i in (0, 63, 64, 69):
        np.testing.assert_allclose(item_log_p(rows[:, [i]], units, 2)[0][:, 0], found[:, i])


def test_a_unit_has_what_it_has_as_often_as_the_average_and_half_as_often_as_any():
    groups, classes = np.repeat(np.arange(4), 4), np.repeat([0, 0, 1, 1], 4)
    units = make_units(groups, classes, ones(16))
    shares = np.array([[4, 1, 0], [2, 0, 0], [1, 0, 0], [0, 0, 0]])
    cells = np.array([[place < share for share in shares[g]] for g in range(4) for place in range(4)])
    # The average of the first is 7 / 4 of 4, and half of the most 2; of the second a half; nobody has the third.
    expected = [[True, True, False], [True, False, False], [False] * 3, [False] * 3]
    assert units.collapse(cells).tolist() == expected
    assert units.collapse(sp.csr_array(cells)).tolist() == expected


def test_arrays_that_do_not_belong_together_are_refused():
    cells, classes, strata = np.zeros((4, 3), dtype=np.uint8), np.array([0, 1, 0, 1]), np.zeros(4, dtype=int)
    _core.test_by_strata(cells, classes, strata, np.zeros((2, 2, 3)))
    wrong = [
        (cells, classes[:3], strata, np.zeros((2, 2, 3))),
        (cells, classes, strata[:3], np.zeros((2, 2, 3))),
        (cells, classes, strata, np.zeros((1, 2, 3))),
        (cells, classes, strata, np.zeros((2, 2, 4))),
        (cells, classes, strata, np.zeros((2, 1, 3))),
        (cells, classes - 1, strata, np.zeros((2, 2, 3))),
        (cells, classes, strata - 1, np.zeros((2, 2, 3))),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match=r"^a"):
            _core.test_by_strata(*arguments)
