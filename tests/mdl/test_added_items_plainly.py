"""The test of added items against one that is written plainly, for rows of few kinds."""

from itertools import chain, permutations, product
from math import exp, inf, log

import numpy as np
import pytest
from scipy.stats import hypergeom

from saltmine import _core
from saltmine.mdl import added_items
from saltmine.mdl.evidence import log_choices

GOAL = float(np.log(0.01))
# Halvings of the items, from the most frequent on; what most of the added items must show in the class.
SHARES, MIN_RATIO, CLEAR = 6, 1.2, 0.2


def rate_length(ones, size):
    if ones in (0, size):
        return 0.0
    return -ones * log(ones / size) - (size - ones) * log((size - ones) / size)


def levels(frequency, weights):
    """Return the least numbers of rows of an item: any, as the more frequent half has, the more frequent quarter..."""
    highest = max(1, *frequency)
    having = [sum(w for f, w in zip(frequency, weights, strict=True) if f >= least) for least in range(highest + 1)]
    found = []
    for k in range(SHARES):
        few = [least for least in range(1, highest) if having[least] <= having[1] / 2**k]
        least = few[0] if few else highest
        if least not in found:
            found.append(least)
    return [(least, max(having[least], 1)) for least in found]


def plain_score(cells, labels, a, weights, allowed):
    """Return how many more items are as clear as some than chance would have so: a log-likelihood ratio."""
    classes = range(int(labels.max()) + 1)
    sizes, hits = [(labels == b).sum() for b in classes], [cells[labels == b].sum(axis=0) for b in classes]
    frequency = cells.sum(axis=0).tolist()
    clear = []
    for i in np.flatnonzero(allowed):
        own = int(hits[a][i])
        if 2 * own <= sizes[a]:
            continue
        rare = [b for b in classes if 2 * hits[b][i] <= sizes[b]]
        other, rows = sum(int(hits[b][i]) for b in rare), sum(int(sizes[b]) for b in rare)
        evidence = rate_length(own + other, int(sizes[a]) + rows)
        clear.append((evidence - rate_length(own, int(sizes[a])) - rate_length(other, rows), i))
    best = 0.0
    for least, n_items in levels(frequency, weights):
        found, wanted = 0, 1
        members = [(evidence, weights[i]) for evidence, i in clear if frequency[i] >= least]
        for evidence in sorted({evidence for evidence, _ in members}, reverse=True):
            found += sum(weight for other, weight in members if other == evidence)
            if found < wanted:
                continue
            wanted, expected = 2 * found, n_items * exp(-evidence)
            if found > expected:
                best = max(best, found * log(found / expected) - found + expected)
    return best


def is_clear(cells, classes, a, items, weights):
    has_most = 2 * (cells[:, items] @ weights[items]) > weights[items].sum()
    own, others = has_most[classes == a], has_most[classes != a]
    if not len(own) or not len(others) or own.mean() < MIN_RATIO * others.mean():
        return False
    if own.mean() <= has_most.mean():
        return CLEAR >= 1
    return hypergeom.sf(own.sum() - 1, len(classes), has_most.sum(), len(own)) <= CLEAR


def plain_orders(cells, classes, strata):
    """Yield the rows in every order of their kinds within groups: the test sorts them by keys that nobody knows."""
    of_groups = []
    for g in range(int(strata.max()) + 1):
        kinds = {}
        for j in np.flatnonzero(strata == g).tolist():
            kinds.setdefault((classes[j], cells[j].tobytes()), []).append(j)
        of_groups.append([[*chain.from_iterable(order)] for order in permutations(kinds.values())])
    for parts in product(*of_groups):
        yield np.array([*chain.from_iterable(parts)])


def plain_test(cells, classes, added, strata, weights):
    """Yield what the test may find for the first class, several figures where labels have to be shuffled."""
    everything, adding = np.ones(len(weights), dtype=bool), added.copy()
    for a in range(len(added)):
        adding[a] &= added[a].any() and is_clear(cells, classes, a, added[a], weights)
    if not adding[0].any():
        yield 0.0
        return
    n_classes, n_groups = len(added), int(strata.max()) + 1
    sizes = np.array([[((strata == g) & (classes == a)).sum() for a in range(n_classes)] for g in range(n_groups)])
    hits = added_items.hits_by_group(cells, classes, strata, n_classes)
    log_p = added_items.simes_log_p(hits, sizes, weights, adding, int(weights.sum()))[0] + log(2)
    ways = sum(log_choices(int(row.sum()), int(row[0])) for row in sizes)
    score = plain_score(cells, classes, 0, weights, added[0]) if log_p > 3 * GOAL else -inf
    if score < -GOAL:
        yield min(max(log_p, -ways), 0.0)
        return
    for order in plain_orders(cells, classes, strata):
        shuffled = _core.shuffle_labels(classes[order], strata[order]).reshape(-1, len(order))
        labels = np.empty_like(shuffled)
        labels[:, order] = shuffled
        scores = np.array([plain_score(cells, row, 0, weights, everything) for row in labels])
        yield min(max(min(log_p, log(2) + _core.log_tail_of_score(score, scores)), -ways), 0.0)


def few_kinds(seed):
    """Return rows of three kinds, or of two in each of two groups, and items that the first class adds."""
    rng = np.random.default_rng(seed)
    kinds, n = rng.random((4, 12)) < 0.5, 12
    # The first class has some items more often.
    kinds[0, :6] = True
    kinds[1, :4] = True
    counts = rng.integers(1, 9, 4) * [2, 1, 2, seed % 2]
    which = np.repeat(np.arange(4), counts)
    classes = np.array([0, 0, 1, 1])[which]
    strata = which % 2 if seed % 2 else np.zeros(len(which), dtype=int)
    order = rng.permutation(len(which))
    cells = kinds[which][order].astype(np.uint8)
    classes, strata = classes[order], strata[order]
    share = np.array([cells[classes == a].mean(axis=0) for a in (0, 1)])
    added = (share > 0.5) & (share > share[::-1])
    return cells, classes, added, strata, rng.integers(1, 12, n)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_class_adds_is_as_clear_as_by_the_plain_test(seed):
    case = few_kinds(seed)
    found = added_items.test_added(*case, GOAL, None)[0]
    assert any(abs(found - one) < 1e-9 for one in plain_test(*case))
