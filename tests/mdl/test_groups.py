"""Tests by groups: exact against all ways to exchange labels, and blind to copies of rows."""

from itertools import chain, combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

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
