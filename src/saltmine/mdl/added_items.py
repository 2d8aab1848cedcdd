"""A test of all items that a class adds to a pattern, together, against the other classes that carry it.

It counts the items that are clear, and compares with what shuffled labels show. So it sees many items none of which is
clear by itself; and items that go together, which shuffling leaves as they are, make it no more sure than it may be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Indices, Ints, Words
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import ONE, ZERO, popcount
from saltmine.mdl.class_tests import count_by_stratum, log_p_twice, log_p_value, sum_classes
from saltmine.mdl.evidence import log_choices
from saltmine.mdl.item_choice import rate_length

# Items are looked at all together, and the most frequent half, quarter and so on of them: it takes no labels to know
# which are frequent, and only those that are looked at have to be paid for.
SHARES = 6
# So many times the share of rows with most of the added items in the class as in the others, and the p-value of that.
MIN_RATIO, CLEAR = 1.2, 0.2
# Shuffles of the labels; from this share of the largest scores on, the tail is taken to be exponential.
SHUFFLES, TAIL = 64, 0.2
# With more rows, or cells, than this labels are not shuffled: with so many Simes' inequality is enough.
MAX_ROWS, MAX_CELLS = 256, 1 << 19


def can_shuffle(n_rows: int, n_items: int) -> bool:
    """Say whether labels are shuffled for so many rows and items; if not, only items matter that classes add."""
    return n_rows <= MAX_ROWS and n_rows * n_items <= MAX_CELLS


def test_added(
    cells: NDArray[np.uint8],
    classes: Indices,
    added: Bools,
    strata: Indices,
    weights: Ints,
    goal: float,
    n_items: int | None,
) -> Floats:
    """Return the logarithm of a p-value for what every class adds, (c,); 0 where it adds nothing.

    Parameters
    ----------
    cells : (rows, n) 0 or 1
        The rows that carry the pattern, and all items that a class might add.
    classes, strata : (rows,) int
        The classes of the rows; and groups of rows of about the same size, within which labels are shuffled.
    added : (c, n) bool
        The items that every class adds.
    weights : (n,) int
        Columns of the input behind every item.
    goal : float
        Labels are shuffled where that may decide whether a class comes down to this logarithm.
    n_items : int or None
        How many items a class might add, where ``cells`` has only some of them; labels are then not shuffled.
    """
    # In one order of the cells, so that one form of the kernels is enough.
    added = np.ascontiguousarray(added)
    by_group = hits_by_group(cells, classes, strata, len(added))
    rows = count_by_stratum(np.ones((len(classes), 1), dtype=bool), classes, len(added), strata)[0]
    hits, sizes = by_group.sum(axis=0), rows.sum(axis=0)
    adding: Bools = np.logical_or.reduce(added, axis=1)
    for a in np.flatnonzero(adding):
        adding[a] = _is_clear(cells, classes == a, added[a], weights)
    all_items = int(weights.sum()) if n_items is None else n_items
    log_p = np.log(2) + simes_log_p(by_group, rows, weights, added & adding[:, None], all_items)
    open_ = adding & (log_p > 3 * goal)
    if open_.any() and n_items is None and can_shuffle(*cells.shape):
        figures = sizes, weights, *_thresholds(hits.sum(axis=0), weights, int(sizes[sizes > 0].min(initial=1)))
        score = count_scores(hits[None], added, open_, *figures)[0]
        open_ &= score >= -goal
        if open_.any():
            draws = np.random.default_rng(len(classes)).random((SHUFFLES, len(classes)))
            order = _order_rows(cells, classes, strata, weights, by_group)
            again = shuffled_scores(cells[order], classes[order], strata[order], draws, open_, *figures)
            for a in np.flatnonzero(open_):
                log_p[a] = min(log_p[a], np.log(2) + _log_tail(float(score[a]), again[:, a]))
    # However clear the items are, there are only so many ways to draw the rows of a class.
    of_group = rows.sum(axis=1)
    for a in np.flatnonzero(adding):
        log_p[a] = max(log_p[a], -sum(log_choices(n, k) for n, k in zip(of_group, rows[:, a], strict=True)))
    return np.where(adding, np.minimum(log_p, 0.0), 0.0)


def _is_clear(cells: NDArray[np.uint8], own: Bools, items: Bools, weights: Ints) -> bool:
    """Return whether many more rows of a class than of all others have most of the items that it adds."""
    own_rows, all_rows = np.count_nonzero(own), len(own)
    if own_rows in (0, all_rows):
        return False
    has_most = 2 * (cells[:, items] @ weights[items]) > weights[items].sum()
    own_hits, all_hits = np.count_nonzero(has_most & own), np.count_nonzero(has_most)
    if own_hits / own_rows < MIN_RATIO * (all_hits - own_hits) / (all_rows - own_rows):
        return False
    counts = np.array([own_hits, all_hits, own_rows, all_rows])
    return bool(log_p_value(counts[:1], counts[1:2], counts[2:3], counts[3:]) <= np.log(CLEAR))


@compiled()
def hits_by_group(cells: NDArray[np.uint8], classes: Indices, strata: Indices, n_classes: int) -> Ints:
    """Count the rows of every group of rows and every class that have each item, (G, c, n)."""
    n_strata = 1
    for j in range(len(strata)):
        n_strata = max(n_strata, strata[j] + 1)
    hits = np.zeros((n_strata, n_classes, cells.shape[1]), dtype=np.int64)
    for j in range(len(classes)):
        for i in range(cells.shape[1]):
            hits[strata[j], classes[j], i] += cells[j, i]
    return hits


def simes_log_p(hits: Ints, sizes: Ints, weights: Ints, added: Bools, n_items: int) -> Floats:
    """Return the logarithm of Simes' p-value for what every class adds, (c,), out of so many items.

    ``hits``, (G, c, n), and ``sizes``, (G, c), are counts of groups of rows of about the same size.
    """
    log_p = np.zeros(hits.shape[1:])
    test_items(hits, sizes, added, log_p)
    any_item = log_p.min(axis=1, initial=0.0) < 0
    return np.array([simes(log_p[a], weights, n_items) if any_item[a] else 0.0 for a in range(len(log_p))])


@compiled()
def test_items(hits: Ints, sizes: Ints, added: Bools, log_p: Floats) -> None:
    """Test for every class and item that it adds, (c, n), that more of its rows have it than of others of their size.

    ``hits`` is (G, c, n), ``sizes`` (G, c). Zero for other items, and for those that most rows of the class lack.
    """
    _, c, n = hits.shape
    all_rows = sum_classes(sizes)
    for a in range(c):
        own_rows = sizes[:, a].copy()
        for i in range(n):
            log_p[a, i] = 0.0
            if added[a, i] and 2 * hits[:, a, i].sum() > own_rows.sum():
                log_p[a, i] = log_p_twice(hits[:, a, i].copy(), sum_classes(hits[:, :, i].copy()), own_rows, all_rows)


def simes(log_p: Floats, weights: Ints, n_items: int) -> float:
    """Return the logarithm of one p-value for several items out of ``n_items``; it holds for items that go together.

    ``weights`` counts equal items.

    Examples
    --------
    >>> round(simes(np.array([-9.0, -9.0]), np.array([1, 1]), 10), 3)  # -9 + log 10 - log 2
    -7.391
    """
    if len(log_p) == 0:
        return 0.0
    order = np.argsort(log_p, kind="stable")
    return float(min(0.0, (log_p[order] + np.log(n_items) - np.log(np.cumsum(weights[order]))).min()))


@compiled()
def shuffled_scores(
    cells: NDArray[np.uint8],
    classes: Indices,
    strata: Indices,
    draws: Floats,
    wanted: Bools,
    sizes: Ints,
    weights: Ints,
    thresholds: Ints,
    n_items: Ints,
) -> Floats:
    """Return `count_scores` for labels that are shuffled within groups of rows, (SHUFFLES, c).

    ``draws``, (SHUFFLES, rows), are random numbers between 0 and 1.
    """
    order, labels = np.argsort(strata), classes.copy()
    score = np.empty((SHUFFLES, len(sizes)))
    any_item = np.ones((len(sizes), cells.shape[1]), dtype=np.bool_)
    columns = pack_rows(cells)
    hits = np.zeros((1, len(sizes), cells.shape[1]), dtype=np.int64)
    for k in range(SHUFFLES):
        first = 0
        for last in range(1, len(order) + 1):
            if last == len(order) or strata[order[last]] != strata[order[first]]:
                for j in range(last - 1, first, -1):
                    other = first + int(draws[k, j] * (j + 1 - first))
                    one, two = order[j], order[other]
                    labels[one], labels[two] = labels[two], labels[one]
                first = last
        count_hits(columns, labels, hits[0])
        figures = sizes, weights, thresholds, n_items
        score[k] = count_scores(hits, any_item, wanted, *figures)[0]
    return score


@compiled()
def pack_rows(cells: NDArray[np.uint8]) -> Words:
    """Return the rows that have each item, 64 to a word, (words, n)."""
    columns = np.zeros(((len(cells) + 63) // 64, cells.shape[1]), dtype=np.uint64)
    for j in range(len(cells)):
        for i in range(cells.shape[1]):
            columns[j // 64, i] |= np.uint64(cells[j, i]) << np.uint64(j % 64)
    return columns


@compiled()
def count_hits(columns: Words, labels: Indices, hits: Ints) -> None:
    """Count the rows of every class that have each item, (c, n)."""
    of_class = np.zeros((len(hits), len(columns)), dtype=np.uint64)
    for j in range(len(labels)):
        of_class[labels[j], j // 64] |= ONE << np.uint64(j % 64)
    hits[:] = 0
    for a in range(len(hits)):
        for w in range(len(columns)):
            if of_class[a, w] != ZERO:
                for i in range(columns.shape[1]):
                    hits[a, i] += popcount(columns[w, i] & of_class[a, w])


@compiled()
def largest_first(values: Floats, count: int) -> Ints:
    """Return the places of the first so many values, the largest first; equal ones in any order.

    A heap: numpy's sort takes much longer to compile.

    Examples
    --------
    >>> largest_first(np.array([3.0, 1.0, 7.0, 9.0]), 3).tolist()
    [2, 0, 1]
    """
    order = np.arange(count)
    for begin in range(count // 2 - 1, -1, -1):
        _sift(values, order, begin, count)
    for end in range(count - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(values, order, 0, end)
    return order


@compiled()
def _sift(values: Floats, order: Ints, begin: int, end: int) -> None:
    """Let the value at ``begin`` of a heap whose smallest is on top sink to its place."""
    place = begin
    while 2 * place + 1 < end:
        child = 2 * place + 1
        if child + 1 < end and values[order[child + 1]] < values[order[child]]:
            child += 1
        if values[order[place]] <= values[order[child]]:
            break
        order[place], order[child] = order[child], order[place]
        place = child


@compiled()
def count_scores(
    hits: Ints, items: Bools, wanted: Bools, sizes: Ints, weights: Ints, thresholds: Ints, n_items: Ints
) -> Floats:
    """Return for every labelling and class, (k, c), how clear it is that items are more frequent.

    ``hits`` is (k, c, n), ``items``, (c, n), are those to count. An item is compared with the classes most of whose
    rows do not have it.
    """
    labellings, c, n = hits.shape
    score, evidence = np.zeros((labellings, c)), np.empty(n)
    frequency = np.zeros(n, dtype=np.int64)
    for a in range(c):
        for i in range(n):
            frequency[i] += hits[0, a, i]
    for k in range(labellings):
        for a in range(c):
            if not wanted[a]:
                continue
            count = 0
            clear = np.empty(n, dtype=np.int64)
            for i in range(n):
                if not items[a, i] or 2 * hits[k, a, i] <= sizes[a]:
                    continue
                other_hits, other_rows = 0, 0
                for b in range(c):
                    if 2 * hits[k, b, i] <= sizes[b]:
                        other_hits += hits[k, b, i]
                        other_rows += sizes[b]
                zeros, other_zeros = sizes[a] - hits[k, a, i], other_rows - other_hits
                both = rate_length(hits[k, a, i] + other_hits, zeros + other_zeros)
                evidence[count] = both - rate_length(hits[k, a, i], zeros) - rate_length(other_hits, other_zeros)
                clear[count] = i
                count += 1
            order = largest_first(evidence, count)
            for t in range(len(thresholds)):
                found, next_level = 0, 1
                for place in range(count):
                    j = order[place]
                    if frequency[clear[j]] >= thresholds[t]:
                        found += weights[clear[j]]
                    # Items that are equally clear count together, whatever their order.
                    is_last = place + 1 == count or evidence[order[place + 1]] != evidence[j]
                    # At the first item, the second, the fourth and so on.
                    if is_last and found >= next_level:
                        next_level = 2 * found
                        expected = n_items[t] * np.exp(-evidence[j])
                        if found > expected:
                            score[k, a] = max(score[k, a], found * np.log(found / expected) - found + expected)
    return score


def _order_rows(cells: NDArray[np.uint8], classes: Indices, strata: Indices, weights: Ints, by_group: Ints) -> Indices:
    """Return an order of the rows by what they have: the same shuffles in whatever order rows and items are given.

    Items are known by who has them, rows by the items they have, and both once more by each other; sums of numbers of
    64 bits do not depend on an order.
    """
    codes = np.random.default_rng(0).integers(2**63, size=by_group.shape[0] * by_group.shape[1], dtype=np.uint64)
    ones = cells.astype(np.uint64)
    item_keys = _mix(codes @ by_group.reshape(len(codes), -1).astype(np.uint64))
    of_place = codes[strata * by_group.shape[1] + classes]
    for _ in range(2):
        row_keys = _mix(ones @ (item_keys * weights.astype(np.uint64)) + of_place)
        item_keys = _mix(row_keys @ ones)
    return np.lexsort((row_keys, strata))


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return keys whose sums tell different ones apart."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


def _thresholds(hits: Ints, weights: Ints, smallest: int) -> tuple[Ints, Ints]:
    """Return least numbers of hits, and how many items have as many."""
    least = smallest // 2 + 1
    at_least = np.cumsum(np.bincount(hits, weights, minlength=least + 1)[::-1])[::-1].astype(np.int64)
    shares = at_least[least] / 2.0 ** np.arange(SHARES)
    thresholds = np.unique([max(least, int(np.count_nonzero(at_least > share))) for share in shares])
    thresholds = np.unique(np.minimum(thresholds, len(at_least) - 1))
    return thresholds.astype(np.int64), np.maximum(at_least[thresholds], 1)


def _log_tail(score: float, shuffled: Floats) -> float:
    """Return the logarithm of the chance of such a score, from those of shuffled labels."""
    start = float(np.quantile(shuffled, 1 - TAIL))
    if score <= start:
        return float(np.log((1 + np.count_nonzero(shuffled >= score)) / (1 + len(shuffled))))
    beyond = shuffled[shuffled > start] - start
    # Of independent items the tail falls by one nat per nat.
    scale = max(float(beyond.mean()) if len(beyond) else 1.0, 1.0)
    return float(np.log(TAIL)) - (score - start) / scale
