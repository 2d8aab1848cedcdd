"""Scores of patterns from what the tests of a model say."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

# Not the class itself, which pytest would take for tests.
from saltmine.mdl import scores as scoring

LOG_ALPHA = float(np.log(0.01))


def told(together, choice, use, added=None, adding=None):
    use = np.array(use, dtype=float)
    added = np.zeros(use.shape) if added is None else np.array(added, dtype=float)
    adding = np.zeros(added.shape, dtype=bool) if adding is None else np.array(adding)
    return scoring.Tested(np.array(together, dtype=float), np.array(choice, dtype=float), use, added, adding)


def scores(of):
    r = len(of.together)
    return of.scores(np.arange(r, dtype=float), np.full((len(of.use), r), np.nan), LOG_ALPHA)


def test_either_kind_of_evidence_is_enough_and_choices_are_paid_for():
    found = scores(told([50.0, -20.0, -20.0], [8.0, 8.0, 8.0], [[0.0, -40.0, -5.0], [-1.0, 0.0, -3.0]]))
    # The second by its use, less what its items and the choice of the class cost.
    np.testing.assert_allclose(found.evidence, [50.0, 40 - 8 - np.log(2), 5 - 8 - np.log(2)])


def test_items_that_go_together_were_found_without_labels_and_pay_nothing_for_claims():
    use = [[-6.0, -6.0], [0.0, 0.0]]
    found = scores(told([-LOG_ALPHA, -LOG_ALPHA - 0.01], [4.0, 4.0], use)).claims
    np.testing.assert_allclose(np.log(found.use_p[0]), [-6.0, -2.0])
    assert found.use_p[1].tolist() == [1.0, 1.0]
    # Four tests of use, and four of items that nobody adds.
    p = np.concatenate([found.use_p.ravel(), np.ones(4)])
    np.testing.assert_allclose(found.use_q.ravel(), false_discovery_control(p)[:4])


def test_what_classes_add_has_the_evidence_of_its_q_value():
    added, adding = [[-12.0, -1.0], [0.0, -0.5]], [[True, True], [False, True]]
    found = scores(told([50.0, 50.0], [4.0, 4.0], np.zeros((2, 2)), added, adding))
    p = np.exp([0, 0, 0, 0, -12.0, -1.0, 0, -0.5])
    q = false_discovery_control(p)[4:].reshape(2, 2)
    np.testing.assert_allclose(found.alteration_evidence, np.where(adding, -np.log(q), np.nan))


def test_a_search_that_knew_one_class_claims_use_by_the_labels_and_keeps_its_evidence():
    """Labels that the search did not see are no reason to keep a pattern, and nobody adds anything."""
    found = scores(told([5.0], [3.0], [[-30.0], [0.0], [0.0]], [[0.0]], [[False]]))
    assert found.evidence.tolist() == [5.0]
    assert found.claims.use_p.shape == found.claims.added_p.shape == (3, 1)
    assert found.claims.use_p[0, 0] == pytest.approx(np.exp(-30.0))
    assert np.isnan(found.claims.added_p).all()


def test_one_class_claims_nothing():
    found = scores(told([9.0, 1.0], [3.0, 3.0], np.zeros((1, 2))))
    assert found.evidence.tolist() == [9.0, 1.0]
    for figures in found.claims:
        assert np.isnan(figures).all()


def test_scores_of_some_patterns_are_in_their_order():
    found = scores(told([9.0, 1.0, 4.0], [3.0] * 3, [[-1.0, -2.0, -3.0], [0.0] * 3]))
    kept = found.keep(np.array([2, 0]))
    assert kept.evidence.tolist() == [4.0, 9.0]
    assert kept.gain.tolist() == [2.0, 0.0]
    np.testing.assert_array_equal(kept.claims.use_q, found.claims.use_q[:, [2, 0]])
