"""What classes add to a pattern, tested among the rows that use it."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import hypergeom

# The module and not its functions, which pytest would take for tests.
from saltmine.mdl import alteration_tests

LEVEL = 0.01
ODDS = np.exp(alteration_tests.LOG_ODDS)


def log_p_of(cells, classes, added):
    """Test what classes add, among rows of one size."""
    return alteration_tests.alteration_log_p(cells, classes, added, np.ones(len(cells), dtype=int), LEVEL)


def table(seed, sizes, shares):
    """Rows with twelve items at ten percent, and the first four more often: in so large a share of every class."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    cells = rng.random((len(classes), 12)) < 0.1
    cells[:, :4] |= rng.random((len(classes), 4)) < np.array(shares)[classes, None]
    return cells, classes


def first_items(*counts):
    """Return that every class adds so many of the first items, (c, 12)."""
    return np.arange(12) < np.array(counts)[:, None]


# ------------------------------------------------------------ e-values


def plain_e_value(own, total, n_own, n_others):
    """Return the mean over odds of the chance of so many rows in the class, over that with even odds."""

    def chance(odds):
        ways = [comb(n_own, x) * comb(n_others, total - x) * odds**x for x in range(min(n_own, total) + 1)]
        return ways[own] / sum(ways)

    return np.mean([chance(odds) for odds in ODDS]) / chance(1.0)


def tables_of(n_own, n_others):
    """Return all pairs of rows in the class, and in the others, that may have an item, (k, 2)."""
    return np.array(list(product(range(n_own + 1), range(n_others + 1))))


@pytest.mark.parametrize(("n_own", "n_others"), [(1, 1), (3, 5), (6, 2), (4, 0)])
def test_e_values_compare_the_odds_with_even_ones(n_own, n_others):
    own, others = tables_of(n_own, n_others).T
    found = alteration_tests._log_e_values(own, others, n_own, np.full(len(own), n_others))
    expected = [plain_e_value(x, x + y, n_own, n_others) for x, y in zip(own, others, strict=True)]
    np.testing.assert_allclose(np.exp(found), expected)


def test_every_item_has_its_own_number_of_other_rows():
    own, others, n_others = np.array([3, 3, 0]), np.array([1, 0, 2]), np.array([7, 0, 4])
    found = alteration_tests._log_e_values(own, others, 4, n_others)
    figures = zip(own, others, n_others.tolist(), strict=True)
    np.testing.assert_allclose(np.exp(found), [plain_e_value(x, x + y, 4, n) for x, y, n in figures])


@pytest.mark.parametrize(("n_own", "n_others"), [(1, 1), (3, 5), (6, 2), (20, 30)])
def test_chance_expects_an_e_value_of_one(n_own, n_others):
    own, others = tables_of(n_own, n_others).T
    e_values = np.exp(alteration_tests._log_e_values(own, others, n_own, np.full(len(own), n_others)))
    for total in range(n_own + n_others + 1):
        here = own + others == total
        chances = hypergeom.pmf(own[here], n_own + n_others, total, n_own)
        assert chances @ e_values[here] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 5, 25, 250])
def test_evidence_averages_out_which_items_are_added(n):
    log_e = np.random.default_rng(n).normal(0, 1, n)
    shares = [k / n for k in alteration_tests.EXPECTED if k < n / 2] or [0.5 / n]
    expected = np.mean([np.prod(1 - share + share * np.exp(log_e)) for share in shares])
    assert alteration_tests._evidence(log_e) == pytest.approx(np.log(expected))
    # Where no item says anything, all of them do not.
    assert alteration_tests._evidence(np.zeros(n)) == pytest.approx(0.0, abs=1e-12)


# ------------------------------------------------------------ what classes add


def test_a_clear_alteration_passes_and_a_class_that_adds_nothing_says_nothing():
    cells, classes = table(0, [40, 40], [0.8, 0])
    added = first_items(4, 0)
    log_p = log_p_of(cells, classes, added)
    assert log_p[0] < np.log(LEVEL) - 5
    assert log_p[1] == 0.0
    # It is of the class that has the items, and not of the other.
    assert log_p_of(cells, 1 - classes, added).tolist() == [0.0, 0.0]


def test_rows_and_items_may_be_in_any_order():
    cells, classes = table(1, [40, 40], [0.4, 0])
    added, rng = first_items(4, 0), np.random.default_rng(0)
    rows, items = rng.permutation(80), rng.permutation(12)
    expected = log_p_of(cells, classes, added)
    assert expected[0] < np.log(LEVEL)
    np.testing.assert_allclose(log_p_of(cells[rows][:, items], classes[rows], added[:, items]), expected)


def test_labels_that_say_nothing_pass_no_more_often_than_they_may():
    """The items that classes add are those that differ most: their choice is paid for."""
    rng, passed = np.random.default_rng(0), 0
    for _ in range(100):
        cells, classes = rng.random((40, 30)) < 0.3, rng.permutation(np.arange(40) % 2)
        difference = cells[classes == 0].mean(axis=0) - cells[classes == 1].mean(axis=0)
        added = np.zeros((2, 30), dtype=bool)
        added[0, np.argsort(difference)[-2:]] = True
        passed += log_p_of(cells, classes, added)[0] <= np.log(LEVEL)
    assert passed <= 3


def test_items_of_long_rows_are_no_alteration():
    """Long rows have the items, and one class has most of the long rows."""
    rng = np.random.default_rng(0)
    is_long = np.repeat([True, False], 100)
    classes = np.where(rng.random(200) < 0.85, ~is_long, is_long).astype(int)
    cells = rng.random((200, 12)) < np.where(is_long, 0.8, 0.1)[:, None]
    added = first_items(4, 0)
    of_sizes = alteration_tests.alteration_log_p(cells, classes, added, np.where(is_long, 20, 2), LEVEL)
    assert of_sizes[0] > np.log(LEVEL)
    assert log_p_of(cells, classes, added)[0] < np.log(LEVEL)


def test_without_rows_nothing_is_shown():
    cells, classes = np.zeros((0, 12), dtype=bool), np.zeros(0, dtype=int)
    assert log_p_of(cells, classes, first_items(4, 0, 4)).tolist() == [0.0, 0.0, 0.0]


def test_a_class_without_rows_shows_nothing():
    cells, classes = table(2, [40, 0, 40], [0.8, 0, 0])
    log_p = log_p_of(cells, classes, first_items(4, 4, 0))
    assert log_p[0] < np.log(LEVEL)
    assert log_p[1] == 0.0


def test_classes_that_add_most_of_the_same_items_are_not_compared():
    """Nearly all other rows are of a class that has the items as well."""
    cells, classes = table(0, [25, 400, 25], [0.8, 0.8, 0])
    assert log_p_of(cells, classes, first_items(4, 0, 0))[0] == 0.0
    for n_same in (3, 4):
        log_p = log_p_of(cells, classes, first_items(4, n_same, 0))
        assert (log_p[:2] < np.log(LEVEL)).all()
        assert log_p[2] == 0.0
