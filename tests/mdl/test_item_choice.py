"""Which classes carry an item: the best choice of all those that are allowed, found by trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, item_length, make_costs, specificity
from saltmine.mdl.item_choice import (
    DIFFERENCE,
    ItemsWithout,
    choose_carriers,
    choose_items,
    difference,
    rate_length,
)

LOG_TOTAL = 6.0


def random_items(seed, c, n=40, most=30):
    """Return items with random counts of open cells, and errors that cover all open ones."""
    rng = np.random.default_rng(seed)
    cells = np.empty((3, c, n), dtype=np.int64)
    cells[OPEN_ONES], cells[OPEN_ZEROS] = rng.integers(0, most, (2, c, n))
    cells[2] = cells[OPEN_ONES] + rng.integers(0, 5, (c, n))
    errors = cells[OPEN_ONES].sum(axis=0) + rng.integers(0, 20, n)
    costs = make_costs(rng.integers(1, 100, n), [2 * most] * c, rng.integers(1, 4, n), ones=3000)
    counted = np.concatenate([[0.0], -(np.arange(1, 2000) + 1.0) * np.log(np.arange(1, 2000))])
    return costs._replace(counted=counted), cells, errors, rng


def length(costs, cells, i, errors, carriers):
    """Return what an item costs if these classes carry it."""
    carriers = np.array(carriers)
    saved = int(((cells[OPEN_ONES, :, i] - cells[OPEN_ZEROS, :, i]) * carriers).sum())
    table = costs.codes[i] * (1 if carriers.all() else carriers.sum())
    own = specificity(costs.cross, cells, i, carriers)
    return item_length(costs.counted, costs.codes[i], int(errors[i] - saved), LOG_TOTAL) + table + own


def shown(cells, i, ratio, carriers):
    return (np.array(carriers) * (cells[OPEN_ONES, :, i] * ratio[0] + cells[OPEN_ZEROS, :, i] * ratio[1])).sum()


def subsets_in_order_of_gain(cells, i, may_alter):
    """Return the proper subsets that are asked for: the classes that gain most first."""
    gain = np.where(may_alter, cells[OPEN_ONES, :, i] - cells[OPEN_ZEROS, :, i], 0)
    order = [a for a in np.argsort(-gain, kind="stable") if gain[a] > 0]
    return [np.isin(np.arange(len(gain)), order[:k]) for k in range(1, min(len(order), len(gain) - 1) + 1)]


def log_likelihood(count, size, rate):
    return binom.logpmf(count, size, rate) if size else 0.0


def plain_difference(cells, i, some):
    """Return the log-likelihood ratio of two rates, in some classes and in the others, against one; 0 if not higher."""
    ones, zeros = cells[OPEN_ONES, :, i], cells[OPEN_ZEROS, :, i]
    counts = [(int(ones[own].sum()), int((ones + zeros)[own].sum())) for own in (some, ~np.array(some))]
    rates = [count / max(size, 1) for count, size in counts]
    if not all(size for _, size in counts) or rates[0] <= rates[1]:
        return 0.0
    together = sum(count for count, _ in counts) / sum(size for _, size in counts)
    apart = sum(log_likelihood(*of, rate) for of, rate in zip(counts, rates, strict=True))
    return apart - sum(log_likelihood(*of, together) for of in counts)


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_differences_are_those_of_the_item(seed, c):
    _, cells, _, rng = random_items(seed, c)
    for i in range(40):
        some = rng.random(c) < 0.5
        assert difference(cells, i, some) == pytest.approx(plain_difference(cells, i, some), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("most", [30, 9])
@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_chosen_classes_are_the_best_of_those_that_are_allowed(seed, c, most):
    costs, cells, errors, rng = random_items(seed, c, 40 if most == 30 else 200, most)
    carriers = np.zeros(c, dtype=bool)
    kinds = set()
    for i in range(len(errors)):
        ratio, least = (rng.uniform(0, 1), -rng.uniform(0, 1)), rng.choice([-np.inf, 2.0])
        may_alter = rng.random(c) < 0.7
        terms = costs.counted, costs.cross, costs.codes[i], LOG_TOTAL
        left = choose_carriers(terms, cells, i, errors[i], may_alter, ratio, least, carriers)
        allowed = [np.zeros(c, dtype=bool)]
        if shown(cells, i, ratio, np.ones(c)) >= least:
            allowed.append(np.ones(c, dtype=bool))
        allowed += [
            subset
            for subset in subsets_in_order_of_gain(cells, i, may_alter)
            if shown(cells, i, ratio, subset) >= least and plain_difference(cells, i, subset) >= DIFFERENCE
        ]
        best = min(length(costs, cells, i, errors, subset) for subset in allowed)
        assert length(costs, cells, i, errors, carriers) == pytest.approx(best)
        assert left == errors[i] - ((cells[OPEN_ONES, :, i] - cells[OPEN_ZEROS, :, i]) * carriers).sum()
        if 0 < carriers.sum() < c:
            assert may_alter[carriers].all()
            assert difference(cells, i, carriers) >= DIFFERENCE
            assert shown(cells, i, ratio, carriers) >= least
        kinds.add(min(carriers.sum(), 1) + (carriers.sum() == c))
    # None, some, all: with one class there are no some.
    assert kinds == ({0, 1, 2} if c > 1 else {0, 2})


@pytest.mark.parametrize("seed", range(6))
def test_with_two_classes_no_choice_at_all_is_better_where_no_evidence_is_asked_for(seed):
    """Every subset is tried, not only those that the search looks at."""
    costs, cells, errors, _ = random_items(seed, 2)
    carriers = np.zeros(2, dtype=bool)
    everyone = np.ones(2, dtype=bool)
    for i in range(40):
        terms = costs.counted, costs.cross, costs.codes[i], LOG_TOTAL
        choose_carriers(terms, cells, i, errors[i], everyone, (0.0, 0.0), -np.inf, carriers)
        lengths = {
            subset: length(costs, cells, i, errors, subset)
            for subset in product([False, True], repeat=2)
            if sum(subset) != 1 or difference(cells, i, np.array(subset)) >= DIFFERENCE
        }
        assert lengths[tuple(carriers.tolist())] == pytest.approx(min(lengths.values()))


def test_classes_are_alike_unless_they_differ():
    """What f would rather have, a class alone, is not enough where the others have the item as often."""
    cells = np.zeros((3, 2, 1), dtype=np.int64)
    cells[OPEN_ONES, :, 0], cells[OPEN_ZEROS, :, 0] = [30, 6], [3, 20]
    cells[2] = cells[OPEN_ONES]
    costs = make_costs(np.array([60]), [100, 100], ones=6000)
    carriers = np.zeros(2, dtype=bool)

    def chosen(may_alter):
        terms = costs.counted, costs.cross, costs.codes[0], LOG_TOTAL
        choose_carriers(terms, cells, 0, 40, np.array(may_alter), (1.0, -0.5), 0.0, carriers)
        return carriers.tolist()

    assert chosen([True, True]) == [True, False]
    # Where it may not alter, the choice is all or none.
    assert chosen([False, True]) == [True, True]
    # As rare in the first class as in the second: nothing to tell them apart, and all or none carry it.
    cells[OPEN_ONES, :, 0], cells[OPEN_ZEROS, :, 0] = [30, 3], [20, 2]
    assert difference(cells, 0, np.array([True, False])) < DIFFERENCE
    assert chosen([True, True]) in ([True, True], [False, False])


@settings(max_examples=60, deadline=None)
@given(*[st.integers(0, 40)] * 4)
def test_the_difference_is_a_likelihood_ratio_of_two_rates_against_one(ones, zeros, other_ones, other_zeros):
    cells = np.array([[[ones], [other_ones]], [[zeros], [other_zeros]], [[ones], [other_ones]]])
    first = np.array([True, False])
    found = difference(cells, 0, first)
    assert found == pytest.approx(plain_difference(cells, 0, first), abs=1e-7)
    # Of the two directions at most one is a difference.
    assert min(found, difference(cells, 0, np.array([False, True]))) == 0.0
    assert rate_length(ones, zeros) >= 0.0


def frequent_items(n_frequent, background, own=12):
    """Return items that one row in five has elsewhere, then items that are as frequent everywhere as it is said.

    Where the pattern is used, all of them have 36 ones and 4 zeros: only the first show that they belong to it.
    """
    n = own + n_frequent
    is_own = np.arange(n) < own
    cells = np.zeros((3, 2, n), dtype=np.int64)
    cells[OPEN_ONES, 0], cells[OPEN_ZEROS, 0] = 36, 4
    cells[2] = cells[OPEN_ONES]
    background, errors = np.where(is_own, 0.2, background), np.where(is_own, 40, 180)
    seen = ItemsWithout(make_costs(errors, [100, 100]), cells, background, errors, 8.0, np.zeros(2, dtype=bool))
    return seen, (np.where(is_own, 1.5, 0.0), np.where(is_own, -2.0, 0.0)), is_own


@pytest.mark.parametrize("n_frequent", [3, 30])
@pytest.mark.parametrize("background", [0.9, 0.5, 0.49])
def test_items_join_by_f_where_no_evidence_is_asked_for_and_if_they_are_frequent(n_frequent, background):
    """Without a number of items, as of a typical row, what shortens f joins; any number asks what rare items show."""
    seen, ratios, is_own = frequent_items(n_frequent, background)
    joins = is_own | (background >= 0.5)
    n = len(is_own)
    carry, left = np.zeros((2, n), dtype=bool), np.zeros(n, dtype=np.int64)
    choose_items(seen, ratios, 0, carry, left)
    assert carry.all()
    np.testing.assert_array_equal(left, seen.errors - 32)
    for n_items in (1, n, 10_000):
        choose_items(seen, ratios, n_items, carry, left)
        np.testing.assert_array_equal(carry, np.broadcast_to(joins, carry.shape))
        np.testing.assert_array_equal(left, seen.errors - 32 * joins)


@pytest.mark.parametrize("seed", range(6))
def test_without_evidence_items_are_chosen_as_if_all_showed_enough(seed):
    """The ratios do not matter then; with evidence asked for, items are the same or fewer."""
    costs, cells, errors, _ = random_items(seed, 2)
    n = len(errors)
    seen = ItemsWithout(costs, cells, np.full(n, 0.3), errors, LOG_TOTAL, np.zeros(2, dtype=bool))
    weak, strong = (np.zeros(n), np.zeros(n)), (np.full(n, 100.0), np.zeros(n))
    choices = {}
    for name, ratios, n_items in (("free", weak, 0), ("weak", weak, 5), ("strong", strong, 5)):
        carry, left = np.zeros((2, n), dtype=bool), np.zeros(n, dtype=np.int64)
        choose_items(seen, ratios, n_items, carry, left)
        choices[name] = carry
    assert choices["free"].any()
    np.testing.assert_array_equal(choices["free"], choices["strong"])
    assert not choices["weak"].any()
