"""Tests of what is said about classes: exact where that is cheap, otherwise bounds from above."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import false_discovery_control, hypergeom

from saltmine import _core
from saltmine.mdl.class_tests import (
    MAX_STRATA,
    Claims,
    correct,
    count_by_stratum,
    join,
    join_strata,
    log_p_value,
    log_p_values,
    make_claims,
    size_strata,
    use_log_p,
    vary_in_size,
)
from saltmine.mdl.evidence import log_choices

# More values than this are bounded, and fewer rows than this are taken together with those of the next size.
MAX_VALUES, MIN_ROWS_OF_STRATUM = 512, 40


def tail(hits, successes, trials, rows):
    """Return the probability of at least so many hits in all groups, by a convolution of scipy's distributions."""
    chances = np.ones(1)
    for n, k, m in zip(successes, trials, np.maximum(rows, 1), strict=True):
        chances = np.convolve(chances, hypergeom.pmf(np.arange(min(n, k) + 1), m, n, k))
    return chances[sum(hits) :].sum()


@st.composite
def counts(draw, most_rows, most_groups):
    """Return hits, successes, trials and rows of some groups."""
    groups = []
    for _ in range(draw(st.integers(1, most_groups))):
        rows = draw(st.integers(0, most_rows))
        successes, trials = draw(st.integers(0, rows)), draw(st.integers(0, rows))
        hits = draw(st.integers(max(0, successes + trials - rows), min(successes, trials)))
        groups.append((hits, successes, trials, rows))
    return [np.array(column) for column in zip(*groups, strict=True)]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(counts(60, 5))
def test_few_hits_are_summed_up(figures):
    hits, successes, trials, rows = figures
    expected = sum(n * k / m for n, k, m in zip(successes, trials, rows, strict=True) if m)
    found = log_p_value(*figures)
    # No more than expected is no news, and is not told apart.
    assert found == (0.0 if hits.sum() <= expected else pytest.approx(np.log(tail(*figures)), rel=1e-6, abs=1e-9))


def test_a_p_value_is_the_share_of_labellings_that_show_as_much():
    """Labels are drawn within groups: all ways to do so are gone through."""
    strata, carries = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1]), np.array([1, 1, 0, 0, 1, 1, 0, 1, 0], dtype=bool)
    classes = np.array([0, 0, 1, 1, 0, 0, 1, 0, 1])
    hits = int((carries & (classes == 0)).sum())
    labellings = [(*first, *second) for first in combinations(range(5), 3) for second in combinations(range(5, 9), 2)]
    as_many = sum(carries[list(rows)].sum() >= hits for rows in labellings)
    figures = [
        [int(chosen[strata == g].sum()) for g in (0, 1)]
        for chosen in (carries & (classes == 0), carries, classes == 0, np.ones(9, dtype=bool))
    ]
    found = log_p_value(*map(np.array, figures))
    assert np.exp(found) == pytest.approx(as_many / len(labellings))
    assert len(labellings) == comb(5, 3) * comb(4, 2)


@settings(max_examples=60, deadline=None)
@given(counts(4000, 4))
def test_with_many_hits_it_is_a_bound_from_above(figures):
    p, found = tail(*figures), log_p_value(*figures)
    assert found <= 0.0
    if p > 1e-250:
        assert found >= np.log(p) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2000, 6000])
@pytest.mark.parametrize("groups", [1, 3])
def test_the_bound_is_close_enough_to_be_of_use(rows, groups):
    """Chernoff's bound loses a few nats, no share of them; drawing with replacement a share."""
    successes, trials = rows // 3, rows // 2
    spread = np.sqrt(groups * hypergeom.var(rows, successes, trials))
    for deviations in (1, 3, 6, 9):
        hits = np.full(groups, int(successes / 2 + deviations * spread / groups))
        assert min(successes, trials) * groups > MAX_VALUES
        figures = [hits, *(np.full(groups, figure) for figure in (successes, trials, rows))]
        exact = np.log(max(tail(*figures), 1e-300))
        found = log_p_value(*figures)
        assert exact - 1e-6 <= found < 0
        assert found < 0.45 * exact + 3


def test_bounded_and_summed_agree_where_both_can_be_had():
    figures = [np.array(column) for column in ([60, 55], [100, 90], [150, 120], [400, 300])]
    exact, bound = log_p_value(*figures), _core.log_p_bound(*figures)
    assert exact == pytest.approx(np.log(tail(*figures)))
    assert exact < bound < 0


def chernoff(hits, successes, trials, rows):
    """Return the best of Chernoff's bounds, by a search for it over sums of all chances."""

    def length(shift):
        total = -shift * sum(hits)
        for n, k, m in zip(successes, trials, rows, strict=True):
            values = np.arange(min(n, k) + 1)
            total += logsumexp(shift * values + hypergeom.logpmf(values, m, n, k))
        return total

    return minimize_scalar(length, bounds=(0, 60), method="bounded", options={"xatol": 1e-9}).fun


@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_the_best_of_chernoffs(seed, groups):
    rng = np.random.default_rng(seed)
    rows = rng.integers(5, 400, groups)
    successes, trials = rng.integers(1, rows + 1), rng.integers(1, rows + 1)
    if groups > 1:
        # Nothing can happen in the first group.
        (successes, trials)[seed % 2][0] = 0
    least, most = np.maximum(successes + trials - rows, 0), np.minimum(successes, trials)
    hits = least + ((most - least) * rng.uniform(0.3, 1, groups)).astype(int)
    figures = hits, successes, trials, rows
    expected = sum(n * k / m for n, k, m in zip(successes, trials, rows, strict=True))
    found = _core.log_p_bound(*figures)
    if expected + 0.01 < hits.sum() < most.sum():
        assert found == pytest.approx(chernoff(*figures), abs=1e-4)
        assert found >= np.log(tail(*figures)) - 1e-9
    elif hits.sum() <= expected:
        assert found == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_of_many_values_the_bound_is_that_of_draws_with_replacement(seed):
    """The smaller of trials and successes is drawn, each with the share of the larger."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(3000, 9000))
    successes, trials = rng.integers(MAX_VALUES + 100, rows // 3, 2)
    draws, share = min(successes, trials), max(successes, trials) / rows
    hits = int(draws * share + rng.uniform(20, 100))
    rate = hits / draws
    kept = rate * np.log(rate / share) + (1 - rate) * np.log((1 - rate) / (1 - share))
    found = log_p_value(*(np.array([figure]) for figure in (hits, successes, trials, rows)))
    assert found == pytest.approx(-draws * kept, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(counts(60, 4))
def test_more_hits_are_never_less_clear(figures):
    hits, successes, trials, rows = figures
    g = int(np.argmax(np.minimum(successes, trials) - hits))
    if hits[g] < min(successes[g], trials[g]):
        more = hits.copy()
        more[g] += 1
        assert log_p_value(more, successes, trials, rows) <= log_p_value(*figures) + 1e-9


def test_as_many_hits_as_there_can_be_have_the_chance_of_one_choice_however_small():
    one = [np.array([k]) for k in (2000, 2000, 2000, 4000)]
    expected = -log_choices(4000, 2000)
    assert expected < -2000
    assert log_p_value(*one) == pytest.approx(expected)


# ------------------------------------------------------------ groups of rows


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(0, 10**6))
def test_groups_of_sizes_are_few_and_keep_the_order(sizes, seed):
    sizes = np.array(sizes)
    weights = np.random.default_rng(seed).integers(1, 5, len(sizes))
    strata = size_strata(sizes, weights)
    assert set(strata) == set(range(strata.max() + 1))
    assert strata.max() < MAX_STRATA
    # By size and nothing else.
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(strata[order]) >= 0).all()
    assert len({(size, group) for size, group in zip(sizes, strata, strict=True)}) == len(set(sizes.tolist()))
    # A row of some weight is as many rows.
    copies = size_strata(np.repeat(sizes, weights), np.ones(weights.sum(), dtype=int))
    np.testing.assert_array_equal(copies, np.repeat(strata, weights))


def test_groups_of_different_sizes_are_about_equally_large():
    strata = size_strata(np.random.default_rng(0).permutation(800), np.ones(800, dtype=int))
    assert np.bincount(strata).tolist() == [100] * MAX_STRATA


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 120), min_size=1, max_size=8))
def test_small_groups_are_taken_together_with_the_next(rows):
    rows = np.array(rows)
    joined = join_strata(rows)
    assert joined[0] == 0
    assert set(np.diff(joined)) <= {0, 1}
    sums = join(np.stack([rows, 2 * rows], axis=1), joined)
    np.testing.assert_array_equal(sums[:, 0], np.bincount(joined, rows))
    np.testing.assert_array_equal(sums[:, 1], 2 * sums[:, 0])
    assert len(sums) == 1 or (sums[:, 0] >= MIN_ROWS_OF_STRATUM).all()
    # No more than needed: a group that is large enough ends where the rest is, too.
    if (rows >= MIN_ROWS_OF_STRATUM).all():
        assert joined.tolist() == list(range(len(rows)))


# ------------------------------------------------------------ use of patterns


def random_use(seed, m=300, c=3, r=4):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, c, m)
    carriers = rng.random((m, r)) < np.where(classes == 0, 0.4, 0.2)[:, None]
    return carriers, classes, rng.integers(0, 4, m)


@pytest.mark.parametrize("seed", range(4))
def test_use_is_tested_for_every_class_against_all_other_rows(seed):
    carriers, classes, strata = random_use(seed)
    log_p = use_log_p(carriers, classes, 3, strata)
    for a in range(3):
        for s in range(carriers.shape[1]):
            figures = [
                np.bincount(strata[chosen], minlength=4)
                for chosen in (carriers[:, s] & (classes == a), carriers[:, s], classes == a, np.ones(300, dtype=bool))
            ]
            pooled = [np.array([figure.sum()]) for figure in figures]
            assert log_p[a, s] == pytest.approx(max(log_p_value(*figures), log_p_value(*pooled)))
    assert (log_p[0] < log_p[1:].min(axis=0)).all()


@pytest.mark.parametrize("seed", range(4))
def test_tests_of_use_do_not_depend_on_the_order_of_rows_classes_or_patterns(seed):
    carriers, classes, strata = random_use(seed)
    rng = np.random.default_rng(seed)
    expected = use_log_p(carriers, classes, 3, strata)
    rows, names, patterns = rng.permutation(300), rng.permutation(3), rng.permutation(4)
    moved = use_log_p(carriers[rows][:, patterns], names[classes[rows]], 3, strata[rows])
    np.testing.assert_allclose(moved[names], expected[:, patterns])


def test_rows_of_groups_are_counted():
    carriers, classes, strata = random_use(0)
    found = count_by_stratum(carriers, classes, 3, strata)
    for s in range(4):
        for g in range(4):
            for a in range(3):
                assert found[s, g, a] == (carriers[:, s] & (strata == g) & (classes == a)).sum()
    # Without patterns there is nothing to count.
    assert count_by_stratum(carriers[:, :0], classes, 3, strata).shape == (0, 4, 3)
    assert use_log_p(carriers[:, :0], classes, 3, strata).shape == (3, 0)


def test_a_difference_in_size_is_no_difference_in_use():
    """Long rows carry a pattern more often, and one class has the long rows."""
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1], 500)
    classes = (rng.random(1000) < np.where(strata == 1, 0.9, 0.1)).astype(int)
    carriers = (rng.random(1000) < np.where(strata == 1, 0.6, 0.1))[:, None]
    assert use_log_p(carriers, classes, 2, strata).min() > np.log(0.05)
    assert use_log_p(carriers, classes, 2, np.zeros(1000, dtype=int)).min() < -50


def test_chance_shows_a_difference_no_more_often_than_it_may():
    rng = np.random.default_rng(1)
    carriers, classes, strata = random_use(0, m=200, c=2, r=20)
    levels = np.array([0.2, 0.05, 0.01])
    shown = np.zeros((200, 3))
    for k in range(200):
        shuffled = classes.copy()
        for g in range(4):
            rows = np.flatnonzero(strata == g)
            shuffled[rows] = classes[rng.permutation(rows)]
        p = np.exp(use_log_p(carriers, shuffled, 2, strata)[0])
        shown[k] = [(p <= level).mean() for level in levels]
    spread = np.sqrt(levels * (1 - levels) / shown.shape[0])
    assert (shown.mean(axis=0) <= levels + 2 * spread).all()
    assert shown.mean(axis=0)[0] > 0.1


def test_one_class_has_nothing_to_be_compared_with():
    hits, rows = np.array([[3], [4]]), np.array([[50], [60]])
    assert log_p_values(hits, rows).tolist() == [0.0]


# ------------------------------------------------------------ claims


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=30))
def test_the_correction_is_benjamini_and_hochbergs(p_values):
    found = np.exp(correct(np.log(p_values)))
    np.testing.assert_allclose(found, false_discovery_control(p_values), rtol=1e-9)


def test_the_correction_counts_all_entries_whatever_their_order_and_how_small_they_are():
    rng = np.random.default_rng(0)
    log_p = -rng.exponential(3, (2, 3, 4))
    order = rng.permutation(24)
    np.testing.assert_allclose(correct(log_p).ravel()[order], correct(log_p.ravel()[order]))
    assert correct(np.zeros((2, 0))).shape == (2, 0)
    # Far below what a float can hold as a probability.
    assert correct(np.array([-5000.0, 0.0])).tolist() == [pytest.approx(-5000 + np.log(2)), 0.0]


def test_claims_are_corrected_together_and_choices_are_paid_for():
    use = np.log([[1e-6, 1e-3], [0.5, 1.0]])
    added, adding = np.log([[1.0, 1e-4], [1.0, 0.7]]), np.array([[False, True], [False, True]])
    choice = np.array([np.log(10), 0.0])
    claims = make_claims(use, choice, added, adding)
    np.testing.assert_allclose(claims.use_p, [[1e-5, 1e-3], [1.0, 1.0]])
    np.testing.assert_allclose(claims.added_p, [[np.nan, 1e-4], [np.nan, 0.7]])
    # Where nothing is added, nothing is said: as certain as can be.
    everything = np.array([1e-5, 1e-3, 1.0, 1.0, 1.0, 1e-4, 1.0, 0.7])
    q = false_discovery_control(everything).reshape(2, 2, 2)
    np.testing.assert_allclose(claims.use_q, q[0])
    np.testing.assert_allclose(claims.added_q, np.where(adding, q[1], np.nan))
    kept = claims.keep(np.array([1]))
    np.testing.assert_array_equal(kept.added_q, claims.added_q[:, 1:])


def test_one_class_claims_nothing():
    claims = make_claims(np.zeros((1, 3)), np.zeros(3), np.zeros((1, 3)), np.zeros((1, 3), dtype=bool))
    for figures in claims:
        assert figures.shape == (1, 3)
        assert np.isnan(figures).all()


def test_counts_of_different_numbers_of_groups_are_refused():
    two, three = np.array([2, 3]), np.array([2, 3, 4])
    assert log_p_value(two, two, two, 2 * two) <= 0
    for wrong in range(4):
        figures = [three if k == wrong else two for k in range(4)]
        with pytest.raises(ValueError, match="different numbers of groups"):
            log_p_value(*figures)


def test_claims_of_classes_are_in_their_order():
    figures = [np.arange(6.0).reshape(3, 2) + k for k in range(4)]
    moved = Claims(*figures).of_classes(np.array([2, 0, 1]))
    for one, two in zip(moved, figures, strict=True):
        np.testing.assert_array_equal(one, two[[2, 0, 1]])
    kept = Claims(*figures).keep(np.array([1, 0]))
    for one, two in zip(kept, figures, strict=True):
        np.testing.assert_array_equal(one, two[:, [1, 0]])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 90), min_size=1, max_size=8))
def test_a_group_ends_as_soon_as_it_and_the_rest_are_large_enough(rows):
    expected, number, so_far = [], 0, 0
    for g, count in enumerate(rows):
        expected.append(number)
        so_far += count
        if min(so_far, sum(rows[g + 1 :])) >= MIN_ROWS_OF_STRATUM:
            number, so_far = number + 1, 0
    assert join_strata(np.array(rows)).tolist() == expected


def test_a_class_that_another_pattern_makes_large_does_not_lack_everything_else():
    """Rows of the first class have eight items more; among rows of the same size they have less of all others."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 400)
    others = rng.random((800, 10)) < 0.6
    sizes = others.sum(axis=1) + np.where(classes == 0, rng.binomial(8, 0.5, 800), 0)
    strata = size_strata(sizes, np.ones(800, dtype=int))
    carriers = others[:, :4].all(axis=1, keepdims=True)
    groups = [
        np.bincount(strata[chosen], minlength=strata.max() + 1)
        for chosen in (carriers[:, 0] & (classes == 1), carriers[:, 0], classes == 1, np.ones(800, dtype=bool))
    ]
    assert log_p_value(*groups) < np.log(0.01)
    assert use_log_p(carriers, classes, 2, strata).min() > np.log(0.05)


def one_hot(seed):
    """Rows of five variables, each with one of four values of different frequency."""
    values = np.random.default_rng(seed).choice(4, (200, 5), p=[0.1, 0.2, 0.3, 0.4])
    return (values[:, :, None] == np.arange(4)).reshape(200, 20)


def varies(X):
    return vary_in_size(X.sum(axis=1), X.sum(axis=0))


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_categories_do_not_vary_in_size(seed):
    X = one_hot(seed)
    assert not varies(X)
    # Where a value of every variable is left out, rows have different numbers of items, but no row is long as such.
    some = X.reshape(200, 5, 4)[:, :, 1:].reshape(200, 15)
    assert len(set(some.sum(axis=1))) > 1
    assert not varies(some)


@pytest.mark.parametrize("seed", range(3))
def test_long_and_short_rows_vary_in_size(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((200, 20)) < np.where(np.arange(200) % 2 == 0, 0.6, 0.1)[:, None]
    assert varies(X)
    # In whatever order rows are, and whichever items a row has.
    assert varies(rng.permuted(X, axis=1)[rng.permutation(200)])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_independent_items_are_where_rows_begin_to_vary(n):
    # All rows that there may be: no item says anything about another.
    X = np.array(list(product([False, True], repeat=n)))
    assert not varies(X)
    assert varies(np.vstack([X, np.zeros((1, n), dtype=bool), np.ones((1, n), dtype=bool)]))


@pytest.mark.parametrize("most", [1, 2, 3, 5, MAX_STRATA, MAX_STRATA + 5])
def test_no_more_groups_of_sizes_than_wanted(most):
    groups = min(most, MAX_STRATA)
    rows = 120 * groups
    strata = size_strata(np.random.default_rng(0).permutation(rows), np.ones(rows, dtype=int), most)
    assert np.bincount(strata).tolist() == [120] * groups
    # With few sizes there are fewer.
    two = size_strata(np.repeat([4, 9], 50), np.ones(100, dtype=int), most)
    assert two.tolist() == ([0] * 100 if most == 1 else [0] * 50 + [1] * 50)
