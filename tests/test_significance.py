import numpy as np

from saltmine.binary.kernels import evidence_of_cells
from saltmine.binary.significance import Cells, alteration_evidence


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
