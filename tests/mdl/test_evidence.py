"""Evidence that items go together: choices paid for by weights that sum to at most one."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, make_costs
from saltmine.mdl.evidence import (
    DENSITIES,
    ENOUGH_ROWS,
    FOR_ALL_ITEMS,
    FOR_STRONG_ITEMS,
    ONE_IN,
    count_items,
    is_typical,
    item_choices,
    log_choices,
    log_likelihood_ratio,
    log_likelihood_ratios,
    min_item_evidence,
    min_rows,
    pattern_density,
    pattern_evidence,
    rounded_density,
    row_choices,
)
from saltmine.mdl.item_choice import FREQUENT, evidence_to_join


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=10))
def test_the_weights_of_all_sets_of_items_sum_to_at_most_one(counts):
    codes = make_costs(np.array(counts), [max(counts)]).codes
    n = len(counts)
    assert np.exp(-codes).sum() == pytest.approx(1)
    weights = [
        np.exp(-item_choices(n, k, codes[list(items)].sum()))
        for k in range(1, n + 1)
        for items in combinations(range(n), k)
    ]
    assert 0 < sum(weights) <= 1 + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 40), st.floats(0, 500))
def test_a_choice_costs_no_more_than_the_cheaper_of_its_two_codes_and_their_overhead(n, k, codes):
    k = min(k, n)
    cost, overhead = item_choices(n, k, codes), np.log(2 * k * (k + 1))
    assert cost <= log_choices(n, k) + overhead + 1e-9
    assert item_choices(n, k, codes + 1.0) >= cost
    # Rare items never cost more than any other set of as many.
    assert item_choices(n, k, np.inf) == pytest.approx(log_choices(n, k) + overhead)


def test_frequent_items_are_cheaper_than_rare_ones_and_nothing_costs_nothing():
    costs = make_costs(np.array([500, 500, *[1] * 1000]), [1000])
    frequent, rare = costs.codes[:2].sum(), costs.codes[2:4].sum()
    assert item_choices(1002, 2, frequent) < item_choices(1002, 2, rare) - 5
    assert item_choices(1002, 0, 0.0) == 0.0


@pytest.mark.parametrize("sizes", [(7,), (4, 3), (2, 5, 1)])
def test_rows_are_chosen_from_all_or_from_every_class(sizes):
    sizes = np.array(sizes)
    for used in product(*(range(size + 1) for size in sizes)):
        of_all = comb(int(sizes.sum()), sum(used))
        # How many each class has, and then which.
        by_class = comb(sum(used) + len(sizes) - 1, len(sizes) - 1)
        by_class *= int(np.prod([comb(int(size), k) for size, k in zip(sizes, used, strict=True)]))
        assert row_choices(sizes, np.array(used)) == pytest.approx(np.log(min(of_all, by_class)))
    # A pattern of one class is cheaper than one of as many rows of all.
    assert (
        row_choices(np.array([50, 950]), np.array([50, 0])) < row_choices(np.array([50, 950]), np.array([5, 45])) - 50
    )


def test_the_likelihood_ratio_is_one_on_average_under_chance_and_zero_for_frequent_items():
    for background, density in product([1e-6, 0.05, 0.3, 0.7, 0.95], repeat=2):
        for_one, for_zero = log_likelihood_ratio(background, density)
        mean = background * np.exp(for_one) + (1 - background) * np.exp(for_zero)
        assert mean == pytest.approx(1)
        if background < density:
            assert for_zero < 0 < for_one
        else:
            assert (for_one, for_zero) == (0.0, 0.0)
    assert log_likelihood_ratio(0.0, 0.5) == log_likelihood_ratio(1.0, 0.5) == (0.0, 0.0)


def random_pattern(seed, c=2, n=9):
    """Return costs, which classes carry which items, the evidence of every item, and how often it occurs."""
    rng = np.random.default_rng(seed)
    weights, counts = rng.integers(1, 4, n), rng.integers(1, 30, n)
    carry = rng.random((c, n)) < 0.5
    carry[:, :2] = True
    return make_costs(counts, [40] * c, weights), carry, rng.normal(3, 4, n), counts


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_pattern_evidence_is_that_of_its_items_less_all_choices(seed, c):
    costs, carry, shown, _ = random_pattern(seed, c)
    sizes, used = np.full(c, 40), np.arange(3, 3 + c)
    chosen = carry.any(axis=0)
    least = np.array([min_item_evidence(code, count_items(costs, carry)) for code in costs.codes])

    def evidence(items, price):
        shared = items & carry.all(axis=0)
        parts = [shared, *(items & carry & ~carry.all(axis=0))]
        choices = [
            item_choices(
                costs.n_items, int(costs.weights[part].sum()), float((costs.weights * costs.codes)[part].sum())
            )
            for part in parts
        ]
        return (costs.weights * shown)[items].sum() - sum(choices) - price

    best = max(evidence(chosen, FOR_ALL_ITEMS), evidence(chosen & (shown >= least), FOR_STRONG_ITEMS))
    expected = best - row_choices(sizes, used) - np.log(DENSITIES - 1)
    assert pattern_evidence(costs, carry, shown, sizes, used) == pytest.approx(expected)


def test_both_ways_to_test_a_pattern_share_one_level():
    assert np.exp(-FOR_ALL_ITEMS) + np.exp(-FOR_STRONG_ITEMS) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_an_item_of_some_weight_is_evidence_for_so_many(seed):
    costs, carry, shown, counts = random_pattern(seed)
    weights = costs.weights
    plain = make_costs(np.repeat(counts, weights), [40, 40])
    sizes, used = np.array([40, 40]), np.array([5, 9])
    folded = pattern_evidence(costs, carry, shown, sizes, used)
    unfolded = pattern_evidence(plain, np.repeat(carry, weights, axis=1), np.repeat(shown, weights), sizes, used)
    assert folded == pytest.approx(unfolded)


def test_items_that_show_less_than_they_cost_do_not_hide_the_others():
    costs = make_costs(np.full(200, 50), [100])
    carry, shown = np.zeros((1, 200), dtype=bool), np.zeros(200)
    carry[0, :4], shown[:4] = True, 40.0
    alone = pattern_evidence(costs, carry, shown, np.array([100]), np.array([30]))
    carry[0, 4:150], shown[4:150] = True, 0.1
    assert alone > 50
    assert pattern_evidence(costs, carry, shown, np.array([100]), np.array([30])) > alone - FOR_STRONG_ITEMS - 1e-9


def test_an_item_must_pay_for_its_choice_unless_there_is_no_pattern_yet():
    assert min_item_evidence(5.0, 0) == -np.inf
    assert min_item_evidence(5.0, 1) == 5.0
    assert min_item_evidence(5.0, 10) == pytest.approx(5 - np.log(10))
    # However cheap an item is, it has to show something.
    assert 0 < min_item_evidence(1.0, 10) < 1e-6


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_density_is_that_of_the_open_cells_of_carriers(seed):
    rng = np.random.default_rng(seed)
    c, n = 2, 6
    cells, carry = rng.integers(0, 20, (3, c, n)), rng.random((c, n)) < 0.6
    weights = rng.integers(1, 4, n)
    costs = make_costs(rng.integers(1, 9, n), [10, 10], weights)
    ones, zeros = (int((cells[k] * carry * weights).sum()) for k in (OPEN_ONES, OPEN_ZEROS))
    density = pattern_density(costs, cells, carry)
    assert density == pytest.approx((ones + 0.5) / (ones + zeros + 1))
    assert abs(rounded_density(density) - np.clip(density, 0.05, 0.95)) <= 0.025 + 1e-9
    assert count_items(costs, carry) == weights[carry.any(axis=0)].sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_ratios_of_all_items_are_those_of_each(seed, density):
    rng = np.random.default_rng(seed)
    background = np.concatenate([[0.0, 1.0, density], rng.random(9)])
    for_one, for_zero = np.full((2, 12), np.nan)
    log_likelihood_ratios(background, density, for_one, for_zero)
    for i, share in enumerate(background):
        assert (for_one[i], for_zero[i]) == pytest.approx(log_likelihood_ratio(float(share), density))


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1))
def test_densities_are_rounded_to_the_nearest_between_none_and_all(density):
    found = rounded_density(density)
    choices = np.arange(1, DENSITIES) / DENSITIES
    assert abs(choices - found).min() < 1e-12
    assert abs(found - density) <= abs(choices - density).min() + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**5))
def test_a_pattern_needs_two_rows_and_one_in_so_many_of_all_up_to_five(n_rows):
    found = min_rows(n_rows)
    assert 2 <= found <= ENOUGH_ROWS
    if 2 < found < ENOUGH_ROWS:
        assert found * ONE_IN <= n_rows < (found + 1) * ONE_IN
    assert (found == ENOUGH_ROWS) == (n_rows >= ENOUGH_ROWS * ONE_IN)
    assert (found == 2) == (n_rows < 3 * ONE_IN)


def test_a_pattern_is_typical_from_a_share_of_the_rows_on():
    assert is_typical(40, 100)
    assert not is_typical(39, 100)
    assert is_typical(0, 0)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 16382, 16383, 16384, 16385, 40000])
def test_ways_to_choose_are_counted_however_many_there_are(size):
    for chosen in {0, 1, size // 3, size // 2, max(size - 1, 0), size} & set(range(size + 1)):
        # Whole numbers of any length: no rounding.
        ways = comb(size, chosen)
        digits = max(ways.bit_length() - 60, 0)
        expected = np.log(ways >> digits) + digits * np.log(2)
        assert log_choices(size, chosen) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_items", [1, 5])
def test_only_items_that_are_rare_elsewhere_must_show_evidence(n_items):
    for background in (0.0, 0.3, FREQUENT - 1e-9):
        assert evidence_to_join(4.0, background, n_items) == min_item_evidence(4.0, n_items)
    for background in (FREQUENT, 0.7, 1.0):
        assert evidence_to_join(4.0, background, n_items) == -np.inf
    assert evidence_to_join(4.0, 0.3, 0) == -np.inf
