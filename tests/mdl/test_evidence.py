import numpy as np
import pytest
from saltmine.mdl.alterations import Cells, alteration_evidence
from scipy.stats import binom

from saltmine.solver.kernels import binomial_tail, chance_to_show, evidence_of_cells, expected_to_show


def chance_evidence(rng, rows, frequency, level):
    """Return the evidence for the items that chance lifts above a level."""
    n = len(frequency)
    ones = rng.binomial(rows, frequency)
    for_one, for_zero = np.empty(n), np.empty(n)
    evidence_of_cells(frequency, 0.8, for_one, for_zero)
    shown = ones * for_one + (rows - ones) * for_zero
    altered = shown >= level
    if not altered.any():
        return 0.0
    zeros = np.full(n, rows) - ones
    return alteration_evidence(
        Cells(ones, zeros, frequency, for_one, for_zero, np.ones(n, dtype=int)), altered, np.ones(n, dtype=bool)
    )


def test_evidence_for_alterations_is_rarely_high_by_chance():
    """exp(-evidence) is a p-value: below 0.1 in no more than about a tenth of the draws, whatever the rows."""
    rng = np.random.default_rng(0)
    for rows in (3, 10, 40):
        frequency = rng.uniform(0.02, 0.6, 300)
        evidence = [chance_evidence(rng, rows, frequency, level=2.0) for _ in range(400)]
        assert np.mean(np.array(evidence) > -np.log(0.1)) < 0.11


def test_more_items_and_more_rows_are_more_evidence():
    frequency = np.full(200, 0.1)
    for_one, for_zero = np.empty(200), np.empty(200)
    evidence_of_cells(frequency, 0.8, for_one, for_zero)

    def evidence(items, rows):
        altered = np.arange(200) < items
        ones = np.where(altered, rows, 0)
        zeros = rows - ones
        return alteration_evidence(
            Cells(ones, zeros, frequency, for_one, for_zero, np.ones(200, dtype=int)), altered, np.ones(200, dtype=bool)
        )

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


def test_chance_to_show_is_the_probability_of_all_counts_that_show_as_much():
    for trials, background, says in ((6, 0.2, (1.4, -1.1)), (15, 0.45, (0.6, -0.9)), (4, 0.7, (0.2, -2.0))):
        ones = np.arange(trials + 1)
        shown = ones * says[0] + (trials - ones) * says[1]
        # Exactly what some count shows, a little more, more than all can show, and less than any does.
        for level in (*shown, *(shown + 1e-3), shown.max() + 1.0, shown.min() - 1.0):
            reached = binom.pmf(ones, trials, background)[shown >= level - 1e-9].sum()
            np.testing.assert_allclose(chance_to_show(level, trials, background, says), reached, atol=1e-12)


def test_expected_items_are_the_candidates_chances_added_up():
    rng = np.random.default_rng(0)
    n = 50
    trials, weights = rng.integers(0, 40, n), rng.integers(1, 5, n)
    # Some are as frequent as the pattern, and say nothing.
    background, candidates = rng.uniform(0.0, 0.9, n), rng.random(n) < 0.7
    for_one, for_zero = np.empty(n), np.empty(n)
    evidence_of_cells(background, 0.8, for_one, for_zero)
    for level in (0.5, 3.0):
        chances = [
            weights[i] * chance_to_show(level, trials[i], background[i], (for_one[i], for_zero[i]))
            for i in np.flatnonzero(candidates & (for_one > 0))
        ]
        expected = expected_to_show(level, trials, background, for_one, for_zero, weights, candidates)
        np.testing.assert_allclose(expected, sum(chances))
        # An item that stands for several counts as often as several items.
        several = [np.repeat(values, weights) for values in (trials, background, for_one, for_zero)]
        ones = np.ones(weights.sum(), dtype=int)
        unfolded = expected_to_show(level, *several, ones, np.repeat(candidates, weights))
        np.testing.assert_allclose(expected, unfolded)
        assert 0 < expected < weights[candidates].sum()
