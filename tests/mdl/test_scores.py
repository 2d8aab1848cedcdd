"""Scores of patterns from what the tests of a model say."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import false_discovery_control

# Not the class itself, which pytest would take for tests.
from saltmine.mdl import scores as scoring
from saltmine.mdl.code_length import NO_CODE, errors_code, make_costs
from saltmine.mdl.evidence import (
    DENSITIES,
    FOR_ALL_ITEMS,
    FOR_STRONG_ITEMS,
    EvidenceSums,
    evidence_from_sums,
    item_choices,
    min_item_evidence,
    pattern_evidence,
    row_choices,
)
from tests.helpers.plain_length import plain_f

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


# ------------------------------------------------------------ sums over the items of a model


def plain_specificity(model, cross):
    """S as the search weighs it, in loops: ones that rows of the classes without an item have in it."""
    X, y, components, alterations, usage = model
    c, r, n = alterations.shape
    total = 0.0
    for a, b in product(range(c), repeat=2):
        for s, i in product(range(r), range(n)):
            carries = [components[s, i] or alterations[k, s, i] for k in (a, b)]
            if carries == [True, False]:
                total += cross[a, b] * (X[:, i] & usage[:, s] & (y == b)).sum()
    return total


def random_model(seed, c):
    """Return data and a model of them, whose alterations are as defined, and how many columns are behind every item."""
    rng = np.random.default_rng(seed)
    m, n, r = 12, 7, 3
    X, y = rng.random((m, n)) < 0.5, np.concatenate([np.arange(c), rng.integers(0, c, m - c)])
    X[0] = True
    components, alterations = rng.random((r, n)) < 0.4, rng.random((c, r, n)) < 0.3
    alterations &= ~components & ~alterations.all(axis=0)
    return (X, y, components, alterations, rng.random((m, r)) < 0.6), rng.integers(1, 4, n), rng.normal(3, 2, (r, n))


def repeat_columns(model, weights):
    X, y, components, alterations, usage = model
    X, components, alterations = (np.repeat(cells, weights, axis=-1) for cells in (X, components, alterations))
    return X, y, components, alterations, usage


def cover(model, patterns):
    """Return the cells that these patterns cover, (m, n)."""
    _, y, components, alterations, usage = model
    carried = components | alterations[y]
    return (usage[:, :, None] & carried)[:, patterns].any(axis=1)


def sum_up(model, weights, shown):
    """Return the constants of f, the rows of every pattern, (r, c), and all sums, from counts of cells."""
    X, y, components, alterations, usage = model
    c, r = alterations.shape[:2]
    of_class = y == np.arange(c)[:, None]
    costs = make_costs(X.sum(axis=0), of_class.sum(axis=1).tolist(), weights)
    errors = (cover(model, np.arange(r)) != X).sum(axis=0)
    used = np.array([[(usage[:, s] & own).sum() for own in of_class] for s in range(r)])
    sums, scores_of = scoring.make_model_sums(r, c), scoring.make_score_sums(r, c)
    sums.code[:] = errors_code(costs, errors, NO_CODE)
    for s in range(r):
        others = cover(model, np.arange(r) != s)
        kinds = X & ~others, ~X & ~others, X
        cells = np.array([[(kind & (usage[:, s] & own)[:, None]).sum(axis=0) for own in of_class] for kind in kinds])
        carry = components[s] | alterations[:, s]
        scoring.sum_pattern(costs, cells, carry, used[s], s, sums)
        scoring.score_pattern(costs, cells, carry, shown[s], errors, (others != X).sum(axis=0), s, scores_of)
        ones, zeros = ((cells[k] * carry) @ weights for k in (0, 1))
        assert (sums.open_ones[s], sums.open_zeros[s]) == (ones.sum(), zeros.sum())
    return costs, used, sums, scores_of


several_models = pytest.mark.parametrize(("seed", "c"), [(seed, 1 + seed % 3) for seed in range(12)])


@several_models
def test_sums_of_items_make_up_the_printed_f_and_that_of_the_search(seed, c):
    model, weights, shown = random_model(seed, c)
    costs, used, sums, _ = sum_up(model, weights, shown)
    whole = repeat_columns(model, weights)
    printed = plain_f(*whole)
    assert scoring.model_length(used, sums, printed=True) == pytest.approx(printed, rel=1e-6)
    # Only S differs.
    codes = np.repeat(costs.codes, weights)
    is_used = used.sum(axis=1) > 0
    of_table = (whole[2][is_used] @ codes).sum() + (whole[3][:, is_used] @ codes).sum()
    own = plain_specificity(whole, costs.cross)
    found = scoring.model_length(used, sums, printed=False)
    assert found == pytest.approx(printed - sums.table[is_used].sum() + of_table + own, rel=1e-6)


@several_models
def test_gains_are_what_f_loses_without_a_pattern_or_what_a_class_adds(seed, c):
    model, weights, shown = random_model(seed, c)
    model[-1][:, 2] &= seed % 2 == 0
    _, used, sums, scores_of = sum_up(model, weights, shown)
    X, y, components, alterations, usage = repeat_columns(model, weights)
    length = plain_f(X, y, components, alterations, usage)
    gain, added = scoring.gains(used, sums, scores_of)
    for s in range(3):
        rest = np.arange(3) != s
        without = plain_f(X, y, components[rest], alterations[:, rest], usage[:, rest])
        assert gain[s] == pytest.approx(without - length, abs=1e-6)
        for a in range(c):
            fewer = alterations.copy()
            fewer[a, s] = False
            expected = plain_f(X, y, components, fewer, usage) - length
            adds = alterations[a, s].any() and usage[:, s].any()
            assert added[a, s] == pytest.approx(expected if adds else np.nan, abs=1e-6, nan_ok=True)


@several_models
def test_items_are_counted_by_the_classes_that_carry_them(seed, c):
    model, weights, shown = random_model(seed, c)
    costs, used, sums, scores_of = sum_up(model, weights, shown)
    carried = model[2] | model[3]
    n_carriers = carried.sum(axis=0)
    np.testing.assert_array_equal(sums.items, (n_carriers > 0) @ weights)
    np.testing.assert_array_equal(sums.shared, (n_carriers == c) @ weights)
    np.testing.assert_array_equal(sums.carried.T, carried @ weights)
    np.testing.assert_array_equal(sums.alone.T, (carried & (n_carriers == 1)) @ weights)
    sizes = np.bincount(model[1], minlength=c)
    for s in range(3):
        expected = pattern_evidence(costs, np.ascontiguousarray(carried[:, s]), shown[s], sizes, used[s])
        found = evidence_from_sums(EvidenceSums(*scores_of[:3]), s, costs.n_items, sizes, used[s], False)
        assert found == pytest.approx(expected)
        # What classes add counts for nothing where only shared items do.
        alone = np.broadcast_to(carried[:, s].all(axis=0), carried[:, s].shape)
        shared = evidence_from_sums(EvidenceSums(*scores_of[:3]), s, costs.n_items, sizes, used[s], True)
        if np.array_equal(alone, carried[:, s]):
            assert shared == pytest.approx(found)
        strong = shown[s] >= [min_item_evidence(code, int(sums.items[s])) for code in costs.codes]
        kinds = (alone[0], FOR_ALL_ITEMS), (alone[0] & strong, FOR_STRONG_ITEMS)
        best = max(
            (weights * shown[s])[items].sum()
            - item_choices(costs.n_items, int(weights[items].sum()), float((weights * costs.codes)[items].sum()))
            - price
            for items, price in kinds
        )
        assert shared == pytest.approx(best - row_choices(sizes, used[s]) - np.log(DENSITIES - 1))


@several_models
def test_without_patterns_all_ones_are_errors(seed, c):
    model, weights, shown = random_model(seed, c)
    costs, *_ = sum_up(model, weights, shown)
    X, y = repeat_columns(model, weights)[:2]
    nothing = np.zeros((0, X.shape[1]), bool), np.zeros((c, 0, X.shape[1]), bool), np.zeros((len(y), 0), bool)
    expected = plain_f(X, y, *nothing)
    assert scoring.null_length(costs, model[0].sum(axis=0)) == pytest.approx(expected, rel=1e-6)
    none = scoring.make_model_sums(0, c)
    none.code[:] = errors_code(costs, model[0].sum(axis=0), NO_CODE)
    assert scoring.model_length(np.zeros((0, c), dtype=int), none, printed=True) == pytest.approx(expected, rel=1e-6)
    gain, added = scoring.gains(np.zeros((0, c), dtype=int), none, scoring.make_score_sums(0, c))
    assert gain.shape == (0,)
    assert added.shape == (c, 0)


def test_cells_of_other_classes_or_items_are_refused():
    model, weights, shown = random_model(0, 2)
    costs, used, sums, _ = sum_up(model, weights, shown)
    cells, carry = np.zeros((3, 2, 7), dtype=np.int64), np.ones((2, 7), dtype=bool)
    for wrong in (cells[:2], cells[:, :1], cells[:, :, :6]):
        with pytest.raises(ValueError, match="cells of other classes or items"):
            scoring.sum_pattern(costs, np.ascontiguousarray(wrong), carry, used[0], 0, sums)


def test_classes_in_another_order_have_the_same_scores():
    use = [[-1.0, -2.0], [0.0, -7.0], [-3.0, 0.0]]
    added, adding = [[-5.0, 0.0], [0.0, -4.0], [-6.0, 0.0]], [[True, False], [False, True], [True, False]]
    order = np.array([2, 0, 1])
    of = told([50.0, -1.0], [4.0, 3.0], use, added, adding)
    gain, added_gain = np.array([3.0, 4.0]), np.arange(6.0).reshape(3, 2)
    moved = of._replace(use=of.use[order], added=of.added[order], adding=of.adding[order])
    found = of.scores(gain, added_gain, LOG_ALPHA).of_classes(order)
    expected = moved.scores(gain, added_gain[order], LOG_ALPHA)
    np.testing.assert_array_equal(found.alteration_gain, expected.alteration_gain)
    np.testing.assert_array_equal(found.evidence, expected.evidence)
    for one, two in zip(found.claims, expected.claims, strict=True):
        np.testing.assert_allclose(one, two)
    # A search that knew one class has the gains of one.
    single = of._replace(added=of.added[:1], adding=of.adding[:1]).scores(gain, added_gain[:1], LOG_ALPHA)
    np.testing.assert_array_equal(single.of_classes(order).alteration_gain, added_gain[:1])


def test_q_values_too_small_for_a_number_have_the_evidence_of_the_smallest():
    found = scores(told([50.0], [4.0], np.zeros((2, 1)), [[-5000.0], [-3.0]], [[True], [True]]))
    assert found.claims.added_q[0, 0] == 0.0
    assert found.alteration_evidence[0, 0] == pytest.approx(-np.log(np.finfo(float).tiny))
    assert found.alteration_evidence[1, 0] < 3


def test_kept_scores_have_the_gains_of_their_classes():
    of = told([9.0, 1.0], [3.0] * 2, [[-1.0, -2.0], [0.0] * 2], [[-5.0, -6.0], [0.0, -7.0]], [[True] * 2] * 2)
    found = of.scores(np.arange(2.0), np.arange(4.0).reshape(2, 2), LOG_ALPHA)
    kept = found.keep(np.array([1]))
    assert kept.alteration_gain.tolist() == [[1.0], [3.0]]
    np.testing.assert_array_equal(kept.claims.added_q, found.claims.added_q[:, 1:])
