"""Compiled loops of the local search: everything that touches the rows, on 64-bit words.

A pattern ``s`` is its rows, ``usage[s]`` (words), and ``carry[s, a, i]``: whether class a has item i in it. An item
that every class carries is in X, one that only some carry is in their V_a; so every state satisfies the definition of
alterations. Rows are packed class by class, each class beginning a new word.

A cell is *open* for a pattern where no other pattern covers it: only there does the pattern change anything, and only
there can it show evidence.

Functions that are called for every item have one way out and are given single arrays rather than all of `Data`: numba
counts references to every array it cannot follow, which takes longer than the work itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import ONE, ZERO, lowest, popcount
from saltmine.data.bits import BitMatrix, Layout
from saltmine.mdl import code_length
from saltmine.mdl import evidence as stats
from saltmine.mdl.code_length import ONES, OPEN_ONES, OPEN_ZEROS, Costs
from saltmine.mdl.item_choice import ItemsWithout, choose_items, choose_items_of_some

# Ratio of cells that do not count as evidence.
NO_EVIDENCE = (0.0, 0.0)
# Items whose words stay in the cache while they are counted word by word.
ITEMS_AT_ONCE = 256
# Rows that are weighed by the same instruction.
ROWS_AT_ONCE = 4


class Data(NamedTuple):
    """The data and the constants of f."""

    columns: Words  # (n, W)
    row_weights: Ints  # (W,): rows of the input behind a row of every word
    row_mask: Words  # (W,): ones where a row stands
    word_sizes: Ints  # (W,): rows of every word, in its lowest bits
    edges: Ints  # (c+1,): words of the classes
    class_sizes: Ints  # (c,): rows of the input
    costs: Costs


class State(NamedTuple):
    """A binary model and what f needs of it, with room for more patterns: those not there have no rows."""

    usage: Words  # (R, W)
    carry: Bools  # (R, c, n)
    masks: Words  # (c, n, K): patterns that carry an item in a class
    covered: Words  # (n, W): cells that some pattern covers
    covered_twice: Words  # (n, W): cells that two patterns cover, or more
    used: Ints  # (R,): rows of every pattern
    extra: Floats  # (R,): code table and specificity of every pattern
    errors: Ints  # (n,): errors of every item


class WithoutPattern(NamedTuple):
    """The data as it looks without one pattern."""

    open_cells: Words  # (n, W)
    errors: Ints  # (n,)
    background: Floats  # (n,): share of ones among the open cells


class Pattern(NamedTuple):
    """One pattern, and the errors of every item with it."""

    rows: Words  # (W,)
    carry: Bools  # (c, n)
    errors: Ints  # (n,)


def make_data(bits: BitMatrix, ones: int | None = None, n_items: int | None = None) -> Data:
    """Return the data of all items, or of some where ``ones`` and ``n_items`` count those of the whole input."""
    costs = code_length.make_costs(bits.item_counts, bits.class_sizes, bits.weights.items, ones, n_items)
    return pack_data(bits.columns, bits.layout, bits.layout.edges, np.array(bits.class_sizes), costs)


def pack_data(columns: Words, layout: Layout, edges: Ints, class_sizes: Ints, costs: Costs) -> Data:
    """Return columns in the words of a layout, with classes that begin at the words ``edges``."""
    word_sizes = np.bitwise_count(layout.row_mask).astype(np.int64)
    return Data(columns, layout.weights, layout.row_mask, word_sizes, edges, class_sizes, costs)


def make_state(columns: Words, item_counts: Ints, rank: int, n_classes: int) -> State:
    """Return the state without patterns, with room for ``rank`` of them."""
    n, n_words = columns.shape
    return State(
        usage=np.zeros((rank, n_words), dtype=np.uint64),
        carry=np.zeros((rank, n_classes, n), dtype=bool),
        masks=np.zeros((n_classes, n, -(-rank // 64)), dtype=np.uint64),
        covered=np.zeros_like(columns),
        covered_twice=np.zeros_like(columns),
        used=np.zeros(rank, dtype=np.int64),
        extra=np.zeros(rank),
        errors=item_counts.copy(),
    )


def make_without(columns: Words) -> WithoutPattern:
    """Return room for the data without one pattern."""
    return WithoutPattern(np.empty_like(columns), np.empty(len(columns), dtype=np.int64), np.empty(len(columns)))


@compiled()
def count_rows(row_weights: Ints, words: Words, begin: int, end: int) -> int:
    """Count the rows of the input in some of the words."""
    count = 0
    for w in range(begin, end):
        count += row_weights[w] * popcount(words[w])
    return count


@compiled()
def rows_by_class(data: Data, rows: Words) -> Ints:
    """Count the rows of the input of every class."""
    counts = np.empty(len(data.edges) - 1, dtype=np.int64)
    for a in range(len(counts)):
        counts[a] = count_rows(data.row_weights, rows, data.edges[a], data.edges[a + 1])
    return counts


@compiled()
def state_length(costs: Costs, used: Ints, extra: Floats, errors: Ints) -> float:
    """Return f of a state, with the specificity term of the search."""
    return code_length.description_length(
        code_length.errors_code(costs, errors, code_length.patterns_code(costs.counted, used, extra))
    )


@compiled()
def leave_out(data: Data, state: State, s: int, without: WithoutPattern) -> None:
    """Look at the data without pattern ``s``."""
    for i in range(data.columns.shape[0]):
        errors, size, ones = 0, 0, 0
        for a in range(len(data.edges) - 1):
            carried = state.carry[s, a, i]
            for w in range(data.edges[a], data.edges[a + 1]):
                covered = state.covered[i, w]
                if carried:
                    covered &= ~(state.usage[s, w] & ~state.covered_twice[i, w])
                column, open_ = data.columns[i, w], data.row_mask[w] & ~covered
                without.open_cells[i, w] = open_
                size += data.row_weights[w] * popcount(open_)
                ones += data.row_weights[w] * popcount(open_ & column)
                errors += data.row_weights[w] * popcount((open_ & column) | (covered & ~column))
        without.errors[i] = errors
        without.background[i] = ones / size if size > 0 else 1.0


@compiled()
def count_cells(data: Data, without: WithoutPattern, rows: Words, cells: Ints) -> None:
    """Count open ones, open zeros and all ones among the rows, per class and item; ``cells`` is (3, c, n)."""
    n = data.columns.shape[0]
    cells[:] = 0
    for first in range(0, n, ITEMS_AT_ONCE):
        last = min(first + ITEMS_AT_ONCE, n)
        for a in range(len(data.edges) - 1):
            for w in range(data.edges[a], data.edges[a + 1]):
                # A pattern of few rows has none in most words.
                if rows[w] == ZERO:
                    continue
                for i in range(first, last):
                    column, open_ = data.columns[i, w] & rows[w], without.open_cells[i, w] & rows[w]
                    open_ones = data.row_weights[w] * popcount(open_ & column)
                    cells[OPEN_ONES, a, i] += open_ones
                    cells[OPEN_ZEROS, a, i] += data.row_weights[w] * popcount(open_) - open_ones
                    cells[ONES, a, i] += data.row_weights[w] * popcount(column)


@compiled(fastmath=True, forceinline=True)
def weigh_cells(
    ones: np.uint64,
    zeros: np.uint64,
    size: int,
    begin: int,
    worth: float,
    ratio: tuple[float, float],
    gains: Floats,
    evidence: Floats,
) -> None:
    """Add what the open ones and zeros of a word save and show to the sums of its rows, which begin at ``begin``."""
    # There is no row, so no one, beyond the size of the word: whole instructions are faster than a rest.
    for bit in range((size + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE * ROWS_AT_ONCE):
        place = ONE << np.uint64(bit)
        one = 1.0 if ones & place else 0.0
        zero = 1.0 if zeros & place else 0.0
        # Without a sign: an index that might count from the end is looked at one by one.
        k = np.uint64(begin + bit)
        gains[k] += worth * (one - zero)
        evidence[k] += ratio[0] * one + ratio[1] * zero


@compiled()
def weigh_rows(
    data: Data,
    without: WithoutPattern,
    pattern: Pattern,
    total: float,
    ratios: tuple[Floats, Floats],
    gains: Floats,
    evidence: Floats,
) -> None:
    """Sum up for every row what the pattern saves there, less its share of S, and its evidence; both are (64 W,)."""
    c, n = pattern.carry.shape
    gains[:] = 0.0
    evidence[:] = 0.0
    for i in range(n):
        n_carriers = 0
        for a in range(c):
            n_carriers += pattern.carry[a, i]
        if n_carriers == 0:
            continue
        weight = np.float64(data.costs.weights[i])
        worth = weight * np.log(total / max(pattern.errors[i], 0.5))
        ratio = weight * ratios[0][i], weight * ratios[1][i]
        for a in range(c):
            if pattern.carry[a, i]:
                for w in range(data.edges[a], data.edges[a + 1]):
                    open_, column = without.open_cells[i, w], data.columns[i, w]
                    size = data.word_sizes[w]
                    weigh_cells(open_ & column, open_ & ~column, size, 64 * w, worth, ratio, gains, evidence)
            elif n_carriers < c:
                cross = 0.0
                for b in range(c):
                    if pattern.carry[b, i]:
                        cross += weight * data.costs.cross[b, a]
                for w in range(data.edges[a], data.edges[a + 1]):
                    size = data.word_sizes[w]
                    weigh_cells(data.columns[i, w], ZERO, size, 64 * w, -cross, NO_EVIDENCE, gains, evidence)


@compiled()
def choose_rows(
    data: Data, gains: Floats, evidence: Floats, price: float, min_evidence: float, log_alpha: float, pattern: Pattern
) -> None:
    """Take the rows that save more than one more usage costs and show the evidence that is needed.

    A class whose rows chance explains does not use the pattern at all.
    """
    for a in range(len(data.edges) - 1):
        begin, end = data.edges[a], data.edges[a + 1]
        shown = 0.0
        for w in range(begin, end):
            word = ZERO
            for bit in range(64):
                k = 64 * w + bit
                if gains[k] > price and evidence[k] >= min_evidence and (data.row_mask[w] >> np.uint64(bit)) & ONE:
                    word |= ONE << np.uint64(bit)
                    shown += data.row_weights[w] * evidence[k]
            pattern.rows[w] = word
        chosen = count_rows(data.row_weights, pattern.rows, begin, end)
        if chosen > 0:
            items, carried, alone = stats.count_class_items(data.costs, pattern.carry, a)
            size = data.class_sizes[a]
            if shown - stats.class_choices(data.costs.n_items, size, chosen, items, carried, alone) < -log_alpha:
                pattern.rows[begin:end] = ZERO


@compiled()
def copy_pattern(new: Pattern, best: Pattern) -> None:
    """Copy a pattern. Item by item: numba takes seconds to compile assignments of whole arrays."""
    c, n = new.carry.shape
    for w in range(len(new.rows)):
        best.rows[w] = new.rows[w]
    for i in range(n):
        best.errors[i] = new.errors[i]
        for a in range(c):
            best.carry[a, i] = new.carry[a, i]


@compiled()
def fit_pattern(
    data: Data,
    state: State,
    s: int,
    without: WithoutPattern,
    start: Words,
    alterations: bool,
    allow_frequent: bool,
    log_alpha: float,
    rounds: int,
    best: Pattern,
) -> float:
    """Optimise pattern ``s`` against the others: items for its rows, rows for its items, while f falls.

    The first choice of items only starts the walk: the evidence asked of a row or an item depends on the size and the
    density of the pattern. Any number of frequent items may join a pattern of all classes; with one of some only if
    ``allow_frequent``, otherwise a few. Returns f, infinite where nothing is left, and the pattern in ``best``.
    """
    costs = data.costs
    c, n = best.carry.shape
    m = data.class_sizes.sum()
    cells = np.empty((3, c, n), dtype=np.int64)
    gains, evidence = np.empty(64 * len(start)), np.empty(64 * len(start))
    ratios = np.zeros(n), np.zeros(n)
    used, extra = state.used.copy(), state.extra.copy()
    used[s] = 0
    others = used.sum()
    new = Pattern(start.copy(), np.zeros((c, n), dtype=np.bool_), without.errors.copy())
    min_items, min_rows = (-np.inf, -np.inf), -np.inf
    length = np.inf
    for turn in range(rounds):
        count_cells(data, without, new.rows, cells)
        by_class = rows_by_class(data, new.rows)
        used[s] = by_class.sum()
        log_total = np.log(others + used[s] + code_length.count_errors(costs, new.errors))
        seen = ItemsWithout(costs, cells, without.background, without.errors, log_total, alterations)
        if allow_frequent or by_class.min() > 0:
            choose_items(seen, True, ratios, min_items, new.carry, new.errors)
        else:
            choose_items_of_some(seen, ratios, min_items, new.carry, new.errors)
        items = stats.count_items(costs, new.carry)
        if items < 2 or used[s] < 2:
            break
        if turn > 0:
            extra[s] = code_length.pattern_extra(costs, cells, new.carry)
            now = state_length(costs, used, extra, new.errors)
            if now >= length - 1e-9:
                break
            length = now
            copy_pattern(new, best)
        density = stats.pattern_density(costs, cells, new.carry)
        stats.log_likelihood_ratios(without.background, density, ratios[0], ratios[1])
        total = others + used[s] + code_length.count_errors(costs, new.errors)
        min_rows = np.log(m / used[s])
        min_items = np.log(costs.n_items / items), np.log(c * costs.n_items / items)
        weigh_rows(data, without, new, total, ratios, gains, evidence)
        choose_rows(data, gains, evidence, np.log(total / used[s]), min_rows, log_alpha, new)
    return length


@compiled()
def evidence_of(data: Data, without: WithoutPattern, rows: Words, carry: Bools) -> float:
    """Return the evidence for a pattern of these rows and items."""
    cells = np.empty((3, *carry.shape), dtype=np.int64)
    count_cells(data, without, rows, cells)
    used = rows_by_class(data, rows)
    return stats.pattern_evidence(data.costs, cells, carry, without.background, data.class_sizes, used)


@compiled()
def screen(
    data: Data,
    state: State,
    s: int,
    without: WithoutPattern,
    starts: Words,
    alterations: bool,
    allow_frequent: bool,
    log_alpha: float,
    rounds: int,
    lengths: Floats,
    evidence: Floats,
) -> None:
    """Try every start as pattern ``s``, on its own: f with it, and the evidence for it."""
    c, n = state.carry.shape[1:]
    best = Pattern(np.zeros_like(data.row_mask), np.zeros((c, n), dtype=np.bool_), np.zeros(n, dtype=np.int64))
    for k in range(len(starts)):
        lengths[k] = fit_pattern(
            data, state, s, without, starts[k], alterations, allow_frequent, log_alpha, rounds, best
        )
        evidence[k] = -np.inf
        if lengths[k] < np.inf:
            evidence[k] = evidence_of(data, without, best.rows, best.carry)


@compiled()
def cover(state: State, s: int, i: int, begin: int, end: int) -> None:
    """Mark these words of an item as covered by a pattern."""
    for w in range(begin, end):
        state.covered_twice[i, w] |= state.covered[i, w] & state.usage[s, w]
        state.covered[i, w] |= state.usage[s, w]


@compiled()
def take_out(data: Data, state: State, s: int) -> None:
    """Remove a pattern from the state, but for the errors that it leaves behind."""
    bit = ONE << np.uint64(s % 64)
    for a in range(len(data.edges) - 1):
        begin, end = data.edges[a], data.edges[a + 1]
        for i in range(data.columns.shape[0]):
            if not state.carry[s, a, i]:
                continue
            state.masks[a, i, s // 64] &= ~bit
            state.covered[i, begin:end] = ZERO
            state.covered_twice[i, begin:end] = ZERO
            for k in range(state.masks.shape[2]):
                left = state.masks[a, i, k]
                while left != ZERO:
                    cover(state, 64 * k + lowest(left), i, begin, end)
                    left &= left - ONE
    state.usage[s] = ZERO
    state.carry[s] = False
    state.used[s] = 0
    state.extra[s] = 0.0


@compiled()
def put(data: Data, state: State, s: int, without: WithoutPattern, rows: Words, carry: Bools) -> None:
    """Make this pattern number ``s``, of which there is none yet. ``without`` must be the data as it is."""
    c, n = carry.shape
    cells = np.empty((3, c, n), dtype=np.int64)
    count_cells(data, without, rows, cells)
    state.used[s] = count_rows(data.row_weights, rows, 0, len(rows))
    state.extra[s] = code_length.pattern_extra(data.costs, cells, carry)
    for w in range(len(rows)):
        state.usage[s, w] = rows[w]
    for i in range(n):
        state.errors[i] = without.errors[i]
    bit = ONE << np.uint64(s % 64)
    for a in range(c):
        for i in range(n):
            state.carry[s, a, i] = carry[a, i]
            if carry[a, i]:
                state.errors[i] += cells[OPEN_ZEROS, a, i] - cells[OPEN_ONES, a, i]
                state.masks[a, i, s // 64] |= bit
                cover(state, s, i, data.edges[a], data.edges[a + 1])
