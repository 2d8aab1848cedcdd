"""Lengths and constants of f, item by item."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.mdl.code_length import (
    NO_CODE,
    ONES,
    count_errors,
    count_lengths,
    cross_weights,
    description_length,
    errors_code,
    item_codes,
    item_length,
    make_costs,
    pattern_extra,
    patterns_code,
    specificity,
    unit_of_lengths,
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**12), st.integers(0, 10**9))
def test_sums_of_all_lengths_stay_exact_and_no_unit_is_coarser_than_that_needs(ones, n_items):
    unit = unit_of_lengths(ones, n_items)
    assert log2(unit).is_integer()
    largest = 64 * (ones + n_items + 1)
    assert largest <= 2**52 * unit < 2 * largest


@pytest.mark.parametrize("sizes", [[5], [3, 9], [4, 4, 1], [0, 7]])
def test_constants_of_a_part_of_the_items_are_those_of_the_whole(sizes):
    rng = np.random.default_rng(len(sizes))
    counts, weights = rng.integers(1, 9, 12), rng.integers(1, 5, 12)
    whole = make_costs(counts, sizes, weights)
    assert whole.n_items == weights.sum()
    assert whole.unit == unit_of_lengths(int(counts @ weights), int(weights.sum()))
    ones = int(counts @ weights)
    for part in (slice(0, 5), slice(5, 12)):
        of_part = make_costs(counts[part], sizes, weights[part], ones=ones, n_items=int(weights.sum()))
        np.testing.assert_array_equal(of_part.codes, whole.codes[part])
        np.testing.assert_array_equal(of_part.weights, whole.weights[part])
        for name in ("cross", "counted", "n_items", "unit"):
            np.testing.assert_array_equal(getattr(of_part, name), getattr(whole, name), err_msg=name)
    # All are multiples of the unit, as near as can be to what they stand for.
    exact = {
        "codes": -np.log(counts / ones),
        "cross": cross_weights(sizes),
        "counted": count_lengths(sum(sizes)),
    }
    for name, lengths in exact.items():
        found = getattr(whole, name)
        assert (found / whole.unit == np.rint(found / whole.unit)).all()
        np.testing.assert_allclose(found, lengths, atol=whole.unit / 2 * (1 + 1e-6))


def test_without_weights_every_item_is_one_column():
    counts = np.array([4, 1, 7])
    costs, plain = make_costs(counts, [8]), make_costs(counts, [8], np.ones(3, dtype=np.int64))
    for one, two in zip(costs, plain, strict=True):
        np.testing.assert_array_equal(one, two)
    assert costs.weights.dtype == np.int64


def test_code_lengths_are_shannons():
    counts, weights = np.array([1, 3, 0, 4]), np.array([2, 1, 5, 1])
    np.testing.assert_allclose(np.exp(-item_codes(counts)), counts / 8)
    np.testing.assert_allclose(np.exp(-item_codes(counts, weights)), counts / 9)
    np.testing.assert_allclose(np.exp(-item_codes(counts, weights, 20)), counts / 20)
    # As probabilities of all columns they sum to one.
    assert weights @ np.exp(-item_codes(counts, weights)) == pytest.approx(1)
    assert np.isinf(item_codes(np.array([0, 0]))).all()


def test_lengths_of_counts_go_as_far_as_all_rows_and_one_more():
    lengths = count_lengths(6)
    assert len(lengths) == 8
    assert lengths[0] == lengths[1] == 0.0
    for k in range(1, 8):
        assert lengths[k] == pytest.approx(-(k + 1) * np.log(k))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6))
def test_other_classes_together_weigh_no_more_than_the_class_itself(sizes):
    weights, c = cross_weights(sizes), len(sizes)
    assert weights.shape == (c, c)
    for a in range(c):
        for b in range(c):
            share = min(1, max(sizes[a], 1) / max(sizes[b], 1)) / (c - 1) if a != b else 0.0
            assert weights[a, b] == pytest.approx(share)
        assert weights[a] @ np.maximum(sizes, 1) <= max(sizes[a], 1) + 1e-9


def random_costs(seed, c, n=6):
    rng = np.random.default_rng(seed)
    counts, weights = rng.integers(1, 20, n), rng.integers(1, 4, n)
    return make_costs(counts, rng.integers(1, 30, c).tolist(), weights), rng


@pytest.mark.parametrize("seed", range(6))
def test_codes_add_up_over_patterns_and_items(seed):
    costs, rng = random_costs(seed, 2)
    most = len(costs.counted) - 1
    used, extra = rng.integers(0, most, 4) * (rng.random(4) < 0.7), rng.random(4) * 9
    errors = rng.integers(0, most, 6) * (rng.random(6) < 0.7)
    total = int(used.sum() + costs.weights @ errors)
    assert count_errors(costs, errors) == costs.weights @ errors
    expected = 0.0
    for count, own in zip(used, extra, strict=True):
        expected += own - (count + 1) * np.log(count / total) if count else 0.0
    for count, code, weight in zip(errors, costs.codes, costs.weights, strict=True):
        length = code - (count + 1) * np.log(count / total) if count else 0.0
        assert item_length(costs.counted, code, count, np.log(total)) == pytest.approx(length, abs=1e-6)
        expected += weight * length
    whole = errors_code(costs, errors, patterns_code(costs.counted, used, extra))
    assert description_length(whole) == pytest.approx(expected)
    # Blocks of items can be summed in any order.
    first = make_costs(np.ones(3, dtype=int), [1])._replace(
        counted=costs.counted, codes=costs.codes[:3], weights=costs.weights[:3]
    )
    second = first._replace(codes=costs.codes[3:], weights=costs.weights[3:])
    one, two = errors_code(first, errors[:3], NO_CODE), errors_code(second, errors[3:], NO_CODE)
    np.testing.assert_array_equal(np.add(one, two), errors_code(costs, errors, NO_CODE))


def test_nothing_has_no_length():
    assert description_length(NO_CODE) == 0.0
    assert description_length((1.0, 2.0, 5.0)) == 5.0


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_extra_is_the_code_table_and_the_ones_of_classes_that_lack_an_item(seed, c):
    costs, rng = random_costs(seed, c)
    cells, carry = rng.integers(0, 20, (3, c, 6)), rng.random((c, 6)) < 0.5
    carry[:, 0], carry[:, 1] = True, False
    expected = 0.0
    for i in range(6):
        meets = sum(
            costs.cross[a, b] * cells[ONES, b, i] for a in range(c) for b in range(c) if carry[a, i] and not carry[b, i]
        )
        assert specificity(costs.cross, cells, i, np.ascontiguousarray(carry[:, i])) == pytest.approx(meets)
        times = 1 if carry[:, i].all() else carry[:, i].sum()
        expected += costs.weights[i] * (times * costs.codes[i] + meets)
    assert pattern_extra(costs, cells, carry) == pytest.approx(expected)
