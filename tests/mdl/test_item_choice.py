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
    FREQUENT,
    MAX_FREQUENT_SHARE,
    ItemsWithout,
    choose_carriers,
    choose_items,
    choose_items_of_some,
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


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("allow_frequent", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_chosen_classes_are_the_best_of_those_that_are_allowed(seed, allow_frequent, c):
    costs, cells, errors, rng = random_items(seed, c)
    carriers, some = np.zeros(c, dtype=bool), np.zeros(c, dtype=bool)
    kinds = set()
    for i in range(40):
        ratio, least = (rng.uniform(0, 1), -rng.uniform(0, 1)), rng.choice([-np.inf, 2.0])
        may_alter = rng.random(c) < 0.7
        terms = costs.counted, costs.cross, costs.codes[i], LOG_TOTAL
        left = choose_carriers(terms, cells, i, errors[i], may_alter, allow_frequent, ratio, least, carriers, some)
        allowed = [np.zeros(c, dtype=bool)]
        if allow_frequent or shown(cells, i, ratio, np.ones(c)) >= least:
            allowed.append(np.ones(c, dtype=bool))
        allowed += [
            subset
            for subset in subsets_in_order_of_gain(cells, i, may_alter)
            if shown(cells, i, ratio, subset) >= least and difference(cells, i, subset) >= DIFFERENCE
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
    carriers, some = np.zeros(2, dtype=bool), np.zeros(2, dtype=bool)
    everyone = np.ones(2, dtype=bool)
    for i in range(40):
        terms = costs.counted, costs.cross, costs.codes[i], LOG_TOTAL
        choose_carriers(terms, cells, i, errors[i], everyone, True, (0.0, 0.0), -np.inf, carriers, some)
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
    carriers, some = np.zeros(2, dtype=bool), np.zeros(2, dtype=bool)

    def chosen(may_alter):
        terms = costs.counted, costs.cross, costs.codes[0], LOG_TOTAL
        choose_carriers(terms, cells, 0, 40, np.array(may_alter), False, (1.0, -0.5), 0.0, carriers, some)
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

    def log_likelihood(count, size, rate):
        return binom.logpmf(count, size, rate) if size else 0.0

    size, other_size = ones + zeros, other_ones + other_zeros
    rates = [count / max(of, 1) for count, of in ((ones, size), (other_ones, other_size))]
    together = (ones + other_ones) / max(size + other_size, 1)
    expected = log_likelihood(ones, size, rates[0]) + log_likelihood(other_ones, other_size, rates[1])
    expected -= log_likelihood(ones, size, together) + log_likelihood(other_ones, other_size, together)
    higher = size > 0 and other_size > 0 and rates[0] > rates[1]
    found = difference(cells, 0, np.array([True, False]))
    assert found == pytest.approx(expected if higher else 0.0, abs=1e-7)
    # Of the two directions at most one is a difference.
    assert min(found, difference(cells, 0, np.array([False, True]))) == 0.0
    assert rate_length(ones, zeros) >= 0.0


@pytest.mark.parametrize("n_frequent", [3, 30])
def test_frequent_items_join_a_pattern_of_some_classes_only_if_they_are_few(n_frequent):
    own, n, m = 12, 12 + n_frequent, 200
    cells = np.zeros((3, 2, n), dtype=np.int64)
    cells[OPEN_ONES, 0], cells[OPEN_ZEROS, 0] = 36, 4
    cells[2] = cells[OPEN_ONES]
    background = np.where(np.arange(n) < own, 0.2, 0.9)
    errors = np.where(np.arange(n) < own, 40, 180)
    costs = make_costs(errors, [m // 2, m // 2])
    ratios = np.where(background < FREQUENT, 1.5, 0.0), np.where(background < FREQUENT, -2.0, 0.0)
    seen = ItemsWithout(costs, cells, background, errors, LOG_TOTAL + 2, np.zeros(2, dtype=bool))
    carry, left = np.zeros((2, n), dtype=bool), np.zeros(n, dtype=np.int64)
    choose_items(seen, True, ratios, n, carry, left)
    assert carry.all()
    choose_items_of_some(seen, ratios, n, carry, left)
    assert carry[:, :own].all()
    assert carry[:, own:].all() == carry[:, own:].any() == (n_frequent <= MAX_FREQUENT_SHARE * n)
    choose_items(seen, False, ratios, n, carry, left)
    assert carry.all(axis=0).tolist() == [True] * own + [False] * n_frequent
