import numpy as np
import pytest
from scipy.stats import binom

from saltmine.mdl.alteration_tests import alteration_evidence, binomial_tail, chance_of_evidence, expected_items
from saltmine.mdl.code_length import OPEN_ONES, OPEN_ZEROS, make_costs
from saltmine.mdl.evidence import log_likelihood_ratios


def evidence_for_added(ones, rows, frequency, added):
    """Return the evidence for what the first of two classes adds to a pattern of density 0.8."""
    n = len(frequency)
    cells, carry = np.zeros((3, 2, n + 2), dtype=int), np.zeros((2, n + 2), dtype=bool)
    cells[OPEN_ONES, 0, :n], cells[OPEN_ZEROS, 0, :n] = ones, rows - ones
    # Two shared items, so large that the density of the pattern is theirs.
    cells[OPEN_ONES, :, n:], cells[OPEN_ZEROS, :, n:] = 8 * 10**9, 2 * 10**9
    carry[0, :n], carry[:, n:] = added, True
    costs = make_costs(np.ones(n + 2, dtype=int), [1, 1])
    evidence = alteration_evidence(costs, cells, carry, np.append(frequency, [0.1, 0.1]))
    # The second class adds nothing.
    assert np.isinf(evidence[1])
    return evidence[0]


def chance_evidence(rng, rows, frequency, level):
    """Return the evidence for the items that chance lifts above a level."""
    n = len(frequency)
    ones = rng.binomial(rows, frequency)
    for_one, for_zero = np.empty(n), np.empty(n)
    log_likelihood_ratios(frequency, 0.8, for_one, for_zero)
    added = ones * for_one + (rows - ones) * for_zero >= level
    return evidence_for_added(ones, rows, frequency, added) if added.any() else 0.0


def test_evidence_for_alterations_is_rarely_high_by_chance():
    """exp(-evidence) is a p-value: below 0.1 in no more than about a tenth of the draws, whatever the rows."""
    rng = np.random.default_rng(0)
    for rows in (3, 10, 40):
        frequency = rng.uniform(0.02, 0.6, 300)
        evidence = [chance_evidence(rng, rows, frequency, level=2.0) for _ in range(400)]
        assert np.mean(np.array(evidence) > -np.log(0.1)) < 0.11


def test_more_items_and_more_rows_are_more_evidence():
    def evidence(items, rows):
        added = np.arange(200) < items
        return evidence_for_added(np.where(added, rows, 0), rows, np.full(200, 0.1), added)

    assert evidence(5, 3) > evidence(2, 3)
    assert evidence(2, 8) > evidence(2, 3)


@pytest.mark.parametrize("trials", [0, 1, 7, 200, 5000])
@pytest.mark.parametrize("chance", [0.0, 1e-300, 1e-9, 0.02, 0.5, 0.97, 1.0 - 1e-9, 1.0])
def test_binomial_tail_agrees_with_scipy(trials, chance):
    expected = trials * chance
    around = [expected - 3 * expected**0.5, expected, expected + 1, expected + 3 * expected**0.5]
    for least in {-2, 0, 1, 2, trials // 2, trials - 1, trials, trials + 1, *np.clip(around, 0, trials).astype(int)}:
        tail = binomial_tail(int(least), trials, chance)
        # Sums of many terms on one side, a continued fraction on the other.
        np.testing.assert_allclose(tail, binom.sf(least - 1, trials, chance), rtol=1e-8, atol=1e-300)
        assert 0.0 <= tail <= 1.0


def test_binomial_tails_add_up_to_the_mean():
    for trials, chance in ((1, 0.3), (30, 1e-4), (300, 0.4), (2000, 0.999)):
        tails = [binomial_tail(least, trials, chance) for least in range(1, trials + 1)]
        np.testing.assert_allclose(sum(tails), trials * chance, rtol=1e-10)
        assert (np.diff(tails) <= 1e-12).all()


def test_chance_of_evidence_is_the_probability_of_all_counts_that_show_as_much():
    for trials, background, ratio in ((6, 0.2, (1.4, -1.1)), (15, 0.45, (0.6, -0.9)), (4, 0.7, (0.2, -2.0))):
        ones = np.arange(trials + 1)
        shown = ones * ratio[0] + (trials - ones) * ratio[1]
        # Exactly what some count shows, a little more, more than all can show, and less than any does.
        for level in (*shown, *(shown + 1e-3), shown.max() + 1.0, shown.min() - 1.0):
            reached = binom.pmf(ones, trials, background)[shown >= level - 1e-9].sum()
            np.testing.assert_allclose(chance_of_evidence(level, trials, background, ratio), reached, atol=1e-12)


def test_expected_items_are_the_candidates_chances_added_up():
    rng = np.random.default_rng(0)
    n = 50
    trials, weights = rng.integers(0, 40, n), rng.integers(1, 5, n)
    # Some are as frequent as the pattern, and no evidence.
    background, candidates = rng.uniform(0.0, 0.9, n), rng.random(n) < 0.7
    for_one, for_zero = np.empty(n), np.empty(n)
    log_likelihood_ratios(background, 0.8, for_one, for_zero)
    for level in (0.5, 3.0):
        chances = [
            weights[i] * chance_of_evidence(level, trials[i], background[i], (for_one[i], for_zero[i]))
            for i in np.flatnonzero(candidates & (for_one > 0))
        ]
        expected = expected_items(level, trials, background, for_one, for_zero, weights, candidates)
        np.testing.assert_allclose(expected, sum(chances))
        # An item that stands for several counts as often as several items.
        several = [np.repeat(values, weights) for values in (trials, background, for_one, for_zero)]
        ones = np.ones(weights.sum(), dtype=int)
        unfolded = expected_items(level, *several, ones, np.repeat(candidates, weights))
        np.testing.assert_allclose(expected, unfolded)
        assert 0 < expected < weights[candidates].sum()
