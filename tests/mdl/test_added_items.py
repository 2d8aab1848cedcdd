"""Items that a class adds to a pattern, tested together against the other classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, hypergeom

from saltmine import _core

# The module and not its functions, which pytest would take for tests.
from saltmine.mdl import added_items
from saltmine.mdl.class_tests import log_p_value
from saltmine.mdl.evidence import log_choices

GOAL = float(np.log(0.01))
# Shuffles of the labels, and the share of the largest scores that the tail is fitted to.
SHUFFLES, TAIL = 64, 0.2


def log_p_of(cells, classes, adding=None, strata=None, weights=None, goal=GOAL, n_items=None):
    """Test what every class adds."""
    cells = np.asarray(cells, dtype=np.uint8)
    c = int(classes.max()) + 1
    adding = np.ones(c, dtype=bool) if adding is None else adding
    strata = np.zeros(len(classes), dtype=int) if strata is None else strata
    weights = np.ones(cells.shape[1], dtype=int) if weights is None else weights
    # As the search would: what most rows of a class have, and more often than the others.
    share = np.array([cells[classes == a].mean(axis=0) for a in range(c)])
    others = np.array([cells[classes != a].mean(axis=0) if (classes != a).any() else 1 + share[a] for a in range(c)])
    added = (share > 0.5) & (share > others) & adding[:, None]
    return added_items.test_added(cells, classes, added, strata, weights, goal, n_items)


# ------------------------------------------------------------ Simes


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-9, 1), st.integers(1, 4)), min_size=1, max_size=12), st.integers(0, 20))
def test_simes_is_the_least_q_value_and_equal_items_are_weights(items, more):
    p, weights = np.array([item[0] for item in items]), np.array([item[1] for item in items])
    total = int(weights.sum()) + more
    found = np.exp(added_items.simes(np.log(p), weights, total))
    # Those that are not listed have a p-value of one.
    expected = false_discovery_control(np.append(np.repeat(p, weights), np.ones(more))).min()
    assert found == pytest.approx(expected)
    order = np.random.default_rng(more).permutation(len(p))
    assert np.exp(added_items.simes(np.log(p)[order], weights[order], total)) == pytest.approx(found)


def test_no_items_show_nothing():
    assert added_items.simes(np.zeros(0), np.zeros(0, dtype=int), 5) == 0.0
    cells, classes = np.zeros((8, 0), dtype=np.uint8), np.repeat([0, 1], 4)
    assert log_p_of(cells, classes).tolist() == [0.0, 0.0]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_single_items_are_tested_by_fishers_test_where_most_rows_have_them(seed, c):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 15, c)
    hits = rng.integers(0, sizes[:, None] + 1, (c, 6))
    added = rng.random((c, 6)) < 0.7
    log_p = added_items.test_items(hits[None], sizes[None], added)
    for a in range(c):
        for i in range(6):
            n_hits, n_rows = hits[:, i].sum(), sizes.sum()
            expected = hypergeom.sf(hits[a, i] - 1, n_rows, n_hits, sizes[a])
            unlikely = hits[a, i] * n_rows > n_hits * sizes[a]
            tested = added[a, i] and 2 * hits[a, i] > sizes[a] and unlikely
            assert np.exp(log_p[a, i]) == pytest.approx(expected if tested else 1.0)


def test_single_items_are_compared_among_rows_of_the_same_size():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 15, (3, 2))
    hits = rng.integers(sizes[:, :, None] // 2, sizes[:, :, None] + 1, (3, 2, 20))
    log_p = added_items.test_items(hits, sizes, np.ones((2, 20), dtype=bool))
    assert (log_p < 0).any()
    for i in range(20):
        figures = hits[:, 0, i], hits[:, :, i].sum(axis=1), sizes[:, 0], sizes.sum(axis=1)
        most = 2 * hits[:, 0, i].sum() > sizes[:, 0].sum()
        # And among all rows: both have to show it.
        pooled = [np.array([figure.sum()]) for figure in figures]
        expected = max(log_p_value(*map(np.ascontiguousarray, figures)), log_p_value(*pooled))
        assert log_p[0, i] == pytest.approx(expected if most else 0.0)


def test_rows_of_every_class_and_group_are_counted():
    rng = np.random.default_rng(0)
    cells = (rng.random((150, 7)) < 0.4).astype(np.uint8)
    classes, strata = rng.integers(0, 3, 150), rng.integers(0, 2, 150)
    by_group = added_items.hits_by_group(cells, classes, strata, 4)
    np.testing.assert_array_equal(by_group.sum(axis=0), [cells[classes == a].sum(axis=0) for a in range(4)])
    for g in range(2):
        of_group = [cells[(classes == a) & (strata == g)].sum(axis=0) for a in range(4)]
        np.testing.assert_array_equal(by_group[g], of_group)


# ------------------------------------------------------------ all items together


def correlated(rng, m, n, groups=6):
    """Return items that go together in groups, whatever the class."""
    factors = rng.random((m, groups)) < rng.uniform(0.2, 0.7, groups)
    cells = factors[:, rng.integers(0, groups, n)]
    return (cells ^ (rng.random((m, n)) < 0.05)).astype(np.uint8)


@pytest.mark.parametrize("n", [5, 60, 300])
def test_shuffled_labels_show_nothing_more_often_than_they_may(n):
    """Also where items go together, so that chance shows many of them or none."""
    rng = np.random.default_rng(n)
    draws = 150
    log_p = np.empty((draws, 2))
    for k in range(draws):
        m = int(rng.integers(20, 80))
        classes = rng.permutation(np.arange(m) % 3 == 0).astype(int)
        log_p[k] = log_p_of(correlated(rng, m, n), classes)
    p = np.exp(log_p).ravel()
    # Two standard deviations above what is allowed.
    for level in (0.2, 0.05):
        assert (p <= level).mean() <= level + 2 * np.sqrt(level / p.size)
    # Beyond what 64 shuffles show the tail is an extrapolation: where items go together in few large groups, 1 % is
    # up to 2 %.
    assert (p <= 0.01).mean() <= 0.02 + 2 * np.sqrt(0.02 / p.size)


@pytest.mark.parametrize("shared", [0.3, 0.6])
def test_many_items_none_of_which_is_clear_by_itself_are_clear_together(shared):
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 15)
    rates = np.where(classes[:, None] == 0, min(shared + 0.4, 0.95), shared - 0.1)
    cells = np.hstack([rng.random((30, 40)) < rates, rng.random((30, 160)) < shared])
    log_p = log_p_of(cells, classes)
    hits = added_items.hits_by_group(cells.astype(np.uint8), classes, np.zeros(30, dtype=int), 2)
    single = added_items.test_items(hits, np.array([[15, 15]]), np.ones((2, 200), dtype=bool))
    assert added_items.simes(single[0], np.ones(200, dtype=int), 200) > log_p[0]
    assert log_p[0] < GOAL < log_p[1]


@pytest.mark.parametrize("seed", range(5))
def test_a_class_that_adds_items_is_found_and_the_others_are_not(seed):
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1, 2], [20, 40, 60])
    cells = (rng.random((120, 100)) < 0.1).astype(np.uint8)
    cells[np.ix_(classes == 1, range(8))] = rng.random((40, 8)) < 0.8
    log_p = log_p_of(cells, classes)
    assert log_p[1] < 10 * GOAL / 2
    assert min(log_p[0], log_p[2]) > GOAL
    # Only those are tested that add something.
    assert log_p_of(cells, classes, adding=np.array([True, False, True]))[1] == 0.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 4))
def test_no_p_value_is_below_one_over_the_number_of_labellings(seed, first, second):
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1], [first, second + 1])
    cells = np.zeros((len(classes), 50), dtype=np.uint8)
    cells[classes == 0] = 1
    cells ^= (rng.random(cells.shape) < rng.choice([0.0, 0.2])).astype(np.uint8)
    log_p = log_p_of(cells, classes)
    assert (log_p <= 0).all()
    assert (log_p >= -log_choices(len(classes), first) - 1e-9).all()


def test_a_single_row_against_few_is_never_clear_however_many_items_it_has():
    cells = np.zeros((8, 500), dtype=np.uint8)
    cells[0] = 1
    log_p = log_p_of(cells, np.array([0] + [1] * 7))
    assert -np.log(8) - 1e-9 <= log_p[0] < -1


def some_added(seed, m=60, n=80):
    """Return items of which a class has some more often, not so much that there is no need to shuffle."""
    rng = np.random.default_rng(seed)
    classes = (np.arange(m) % 3 == 0).astype(int)
    cells = correlated(rng, m, n)
    cells[:, :10] |= ((classes == 1)[:, None] & (rng.random((m, 10)) < 0.5)).astype(np.uint8)
    return cells, classes, rng.integers(0, 2, m)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_items_does_not_matter(seed):
    cells, classes, strata = some_added(seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, cells.shape[1])
    expected = log_p_of(cells, classes, strata=strata, weights=weights)
    for _ in range(5):
        order = rng.permutation(cells.shape[1])
        np.testing.assert_allclose(log_p_of(cells[:, order], classes, strata=strata, weights=weights[order]), expected)


@pytest.mark.parametrize("seed", range(8))
def test_equal_items_are_one_with_a_weight(seed):
    cells, classes, strata = some_added(seed)
    weights = np.random.default_rng(seed).integers(1, 6, cells.shape[1])
    copies = np.repeat(cells, weights, axis=1)
    expected = log_p_of(copies, classes, strata=strata)
    np.testing.assert_allclose(log_p_of(cells, classes, strata=strata, weights=weights), expected)


@pytest.mark.parametrize("m", [60, 200])
@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_rows_does_not_matter(seed, m):
    cells, classes, strata = some_added(seed, m)
    rng = np.random.default_rng(seed)
    expected = log_p_of(cells, classes, strata=strata)
    for _ in range(5):
        rows, items = rng.permutation(len(cells)), rng.permutation(cells.shape[1])
        np.testing.assert_allclose(log_p_of(cells[np.ix_(rows, items)], classes[rows], strata=strata[rows]), expected)


@pytest.mark.parametrize("n", [40, 400])
def test_large_rows_are_not_what_a_class_adds(n):
    """Rows of one class are larger, and have all items more often for that reason alone."""
    rng = np.random.default_rng(n)
    found = []
    for _ in range(40):
        strata = np.repeat([0, 1], 60)
        classes = (rng.random(120) < np.where(strata == 1, 0.8, 0.2)).astype(int)
        cells = rng.random((120, n)) < np.where(strata == 1, 0.7, 0.3)[:, None]
        found.append(log_p_of(cells, classes, strata=strata).min())
    assert np.mean(np.array(found) <= np.log(0.05)) <= 0.15


# ------------------------------------------------------------ shuffling


def test_labels_are_shuffled_within_groups():
    """A class that has all rows of a group keeps them; otherwise every row of the group is as likely."""
    strata, classes = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 1, 0, 1])
    labels = _core.shuffle_labels(classes, strata).reshape(-1, 7)
    assert len(labels) == SHUFFLES
    for group in range(3):
        assert (labels[:, strata == group].sum(axis=1) == classes[strata == group].sum()).all()
    assert (labels[:, strata == 1] == 1).all()
    shares = labels[:, strata == 0].mean(axis=0)
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * np.sqrt(2 / 9 / SHUFFLES))


def test_the_tail_is_counted_where_there_are_scores_and_falls_beyond():
    shuffled = np.random.default_rng(0).exponential(1.0, 64)
    scores = np.linspace(0, 30, 200)
    tails = np.array([_core.log_tail_of_score(score, shuffled) for score in scores])
    assert (tails <= 0).all()
    assert (np.diff(tails) <= 1e-9).all()
    below = scores <= np.quantile(shuffled, 1 - TAIL)
    counted = [np.log((1 + (shuffled >= score).sum()) / 65) for score in scores[below]]
    np.testing.assert_allclose(tails[below], counted)
    # Never faster than one nat per nat.
    assert (np.diff(tails[~below]) >= -np.diff(scores[~below]) - 1e-9).all()
    # Scores that are all the same know nothing of a tail.
    assert _core.log_tail_of_score(0.0, np.zeros(64)) == 0.0
    assert _core.log_tail_of_score(3.0, np.zeros(64)) == pytest.approx(np.log(TAIL) - 3)


@pytest.mark.parametrize("seed", range(4))
def test_of_many_rows_only_the_added_items_matter(seed):
    """Labels are not shuffled then, and the others only count as items that might have been added."""
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1, 2], 120)
    cells = (rng.random((360, 30)) < 0.3).astype(np.uint8)
    cells[:120, :4] |= rng.random((120, 4)) < 0.5
    assert not added_items.can_shuffle(*cells.shape)
    added = np.zeros((3, 30), dtype=bool)
    added[0, :4] = added[1, 4:6] = True
    strata, weights, some = rng.integers(0, 2, 360), rng.integers(1, 3, 30), added.any(axis=0)
    whole = added_items.test_added(cells, classes, added, strata, weights, GOAL, None)
    part = cells[:, some], classes, added[:, some], strata, weights[some], GOAL
    assert whole[0] < GOAL
    np.testing.assert_allclose(added_items.test_added(*part, int(weights.sum())), whole)
    # Fewer items to choose from cost less.
    assert added_items.test_added(*part, int(weights[some].sum()))[0] < whole[0]


def test_arrays_that_do_not_belong_together_are_refused():
    cells, classes, strata = np.zeros((4, 3), dtype=np.uint8), np.array([0, 1, 0, 1]), np.zeros(4, dtype=int)
    added, weights, hits = np.ones((2, 3), dtype=bool), np.ones(3, dtype=int), np.zeros((1, 2, 3), dtype=int)
    sizes, log_p = np.full((1, 2), 2), np.zeros((2, 3))
    wrong = {
        "hits_by_group": [
            (cells, classes[:3], strata, 2),
            (cells, classes, strata[:3], 2),
            (cells, classes, strata, 1),
            (cells, classes - 1, strata, 2),
            (cells, classes, strata - 1, 2),
        ],
        "test_added": [
            (cells, classes[:3], added, strata, weights, GOAL, -1),
            (cells, classes, added[:, :2].copy(), strata, weights, GOAL, -1),
            (cells, classes, added, strata, weights[:2], GOAL, -1),
            (cells, classes, added[:1], strata, weights, GOAL, -1),
        ],
        "test_items": [
            (hits, np.full((2, 2), 2), added, log_p),
            (hits, np.full((1, 3), 2), added, log_p),
            (hits, sizes, np.ones((3, 3), dtype=bool), np.zeros((3, 3))),
            (hits, sizes, np.ones((2, 4), dtype=bool), np.zeros((2, 4))),
            (hits, sizes, added, np.zeros((2, 4))),
        ],
        "simes": [(np.zeros(3), weights[:2], 5)],
        "simes_log_p": [
            (hits, np.full((2, 2), 2), weights, added, 5),
            (hits, np.full((1, 3), 2), weights, added, 5),
            (hits, sizes, weights[:2], added, 5),
            (hits, sizes, weights, np.ones((3, 3), dtype=bool), 5),
            (hits, sizes, weights, np.ones((2, 4), dtype=bool), 5),
        ],
        "shuffle_labels": [(classes, strata[:3])],
        "log_tail_of_score": [(1.0, np.zeros(0))],
    }
    for name, calls in wrong.items():
        for arguments in calls:
            with pytest.raises(ValueError, match="do not belong together"):
                getattr(_core, name)(*arguments)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_simes_of_a_class_is_that_of_the_items_it_adds(seed, groups):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 15, (groups, 2))
    hits = rng.integers(0, sizes[:, :, None] + 1, (groups, 2, 5))
    weights, added = rng.integers(1, 4, 5), rng.random((2, 5)) < 0.6
    found = added_items.simes_log_p(hits, sizes, weights, added, 30)
    each = added_items.test_items(hits, sizes, added)
    for a in range(2):
        expected = added_items.simes(each[a], weights, 30) if (each[a] < 0).any() else 0.0
        assert found[a] == pytest.approx(min(expected, 0.0) if expected < 0 else expected)


@pytest.mark.parametrize("seed", range(6))
def test_with_few_labellings_the_p_value_is_no_smaller_than_that_of_the_best_statistic(seed):
    """Whatever is looked at, the labels that were seen are one of all: no test may call them rarer than that."""
    rng = np.random.default_rng(seed)
    strata, classes = np.repeat([0, 1], [6, 5]), np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1])
    cells = np.zeros((11, 40), dtype=np.uint8)
    cells[classes == 0] = 1
    log_p = log_p_of(cells, classes, strata=strata)
    # C(6, 3) C(5, 2) ways to draw the rows of the first class, and as many of the second.
    assert log_p[0] == pytest.approx(-np.log(20 * 10))
    cells[:, rng.random(40) < 0.5] = 0
    assert log_p_of(cells, classes, strata=strata)[0] >= -np.log(200) - 1e-9


def test_only_a_class_that_has_most_added_items_more_often_than_the_others_is_tested():
    """Rows of the class must have most of what it adds 1.2 times as often, and that with a p-value of at most 0.2."""
    classes = np.repeat([0, 1], 40)

    def tested(own, other):
        cells = np.zeros((80, 9), dtype=np.uint8)
        # So many rows of each class have two items of three; the third is for those that have none.
        cells[:own, :2] = cells[40 : 40 + other, :2] = 1
        added = np.zeros((2, 9), dtype=bool)
        added[0, :3] = True
        weights, strata = np.ones(9, dtype=int), np.zeros(80, dtype=int)
        return added_items.test_added(cells, classes, added, strata, weights, GOAL, None)[0] < 0

    assert tested(40, 0)
    assert tested(30, 10)
    # As often in both, or nearly.
    assert not tested(30, 30)
    assert not tested(40, 36)
    # The labels of nobody else's rows say nothing.
    assert not tested(0, 30)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 11, 64])
def test_beyond_most_scores_the_tail_falls_as_the_largest_of_them_do(size):
    """By one nat for as many as these are above the point where the tail begins, on average."""
    rng = np.random.default_rng(size)
    for scale in (0.3, 3.0):
        shuffled = rng.exponential(scale, size)
        start = np.quantile(shuffled, 1 - TAIL)
        above = shuffled[shuffled > start] - start
        slope = 1 / max(above.mean() if len(above) else 1.0, 1.0)
        for further in (0.1, 1.0, 20.0):
            found = _core.log_tail_of_score(start + further, shuffled)
            assert found == pytest.approx(np.log(TAIL) - slope * further)
