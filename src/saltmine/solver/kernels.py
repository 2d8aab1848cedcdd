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
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import ONE, ZERO, lowest, popcount
from saltmine.data.bits import BitMatrix, Layout
from saltmine.mdl import code_length
from saltmine.mdl import evidence as stats
from saltmine.mdl.code_length import ONES, OPEN_ONES, OPEN_ZEROS, Costs
from saltmine.mdl.item_choice import ItemsWithout, choose_items
from saltmine.mdl.row_sizes import frequency_bins, row_shifts

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
    row_shifts: Floats  # (64 W,): by how much the log-odds of a one are higher in a row of its size
    row_odds: Floats  # (64 W,): the same as a factor of the odds
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


def make_data(
    bits: BitMatrix, ones: int | None = None, n_items: int | None = None, shifts: Floats | None = None
) -> Data:
    """Return the data of all items; or of some, where ``ones`` and ``n_items`` count those of the whole input.

    ``shifts``, (m,), are then those of its rows.
    """
    costs = code_length.make_costs(bits.item_counts, bits.class_sizes, bits.weights.items, ones, n_items)
    if shifts is None:
        m = sum(bits.class_sizes)
        sizes = bits.row_sizes
        shifts = row_shifts(sizes, frequency_bins(bits.item_counts, bits.weights.items, m), m)
    return pack_data(bits.columns, bits.layout, bits.layout.edges, np.array(bits.class_sizes), costs, shifts)


def pack_data(columns: Words, layout: Layout, edges: Ints, class_sizes: Ints, costs: Costs, shifts: Floats) -> Data:
    """Return columns in the words of a layout, with classes that begin at the words ``edges``."""
    word_sizes = np.bitwise_count(layout.row_mask).astype(np.int64)
    of_places = np.zeros(64 * len(word_sizes))
    of_places[layout.places] = shifts[layout.rows]
    return Data(
        columns, layout.weights, layout.row_mask, word_sizes, edges, class_sizes, of_places, np.exp(of_places), costs
    )


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
def leave_out(data: Data, state: State, s: int, items: Ints, without: WithoutPattern) -> None:
    """Look at these items without pattern ``s``."""
    for i in items:
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
def count_cells(data: Data, without: WithoutPattern, rows: Words, classes: Ints, items: Ints, cells: Ints) -> None:
    """Count open ones, open zeros and all ones among the rows, for these classes and items.

    ``cells`` is (3, classes, n); items that are not asked for stay as they are.
    """
    for first in range(0, len(items), ITEMS_AT_ONCE):
        some = items[first : first + ITEMS_AT_ONCE]
        for k in range(len(classes)):
            for i in some:
                cells[OPEN_ONES, k, i] = 0
                cells[OPEN_ZEROS, k, i] = 0
                cells[ONES, k, i] = 0
            for w in range(data.edges[classes[k]], data.edges[classes[k] + 1]):
                # A pattern of few rows has none in most words.
                if rows[w] == ZERO:
                    continue
                for i in some:
                    column, open_ = data.columns[i, w] & rows[w], without.open_cells[i, w] & rows[w]
                    open_ones = data.row_weights[w] * popcount(open_ & column)
                    cells[OPEN_ONES, k, i] += open_ones
                    cells[OPEN_ZEROS, k, i] += data.row_weights[w] * popcount(open_) - open_ones
                    cells[ONES, k, i] += data.row_weights[w] * popcount(column)


@compiled()
def count_all_cells(data: Data, without: WithoutPattern, rows: Words, cells: Ints) -> None:
    """Count the cells of all classes and items, (3, c, n)."""
    count_cells(data, without, rows, np.arange(len(data.edges) - 1), np.arange(len(data.columns)), cells)


@compiled(fastmath=True, forceinline=True)
def weigh_cells(ones: np.uint64, zeros: np.uint64, size: int, begin: int, worth: float, gains: Floats) -> None:
    """Add what the open ones and zeros of a word save to the sums of its rows, which begin at ``begin``."""
    # There is no row, so no one, beyond the size of the word: whole instructions are faster than a rest.
    for bit in range((size + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE * ROWS_AT_ONCE):
        place = ONE << np.uint64(bit)
        one = 1.0 if ones & place else 0.0
        zero = 1.0 if zeros & place else 0.0
        # Without a sign: an index that might count from the end is looked at one by one.
        gains[np.uint64(begin + bit)] += worth * (one - zero)


@compiled()
def weigh_rows(data: Data, without: WithoutPattern, pattern: Pattern, total: float, gains: Floats) -> None:
    """Sum up for every row what the pattern saves there, less its share of S; ``gains`` is (64 W,)."""
    c = len(pattern.carry)
    gains[:] = 0.0
    counts = code_length.count_carriers(pattern.carry)
    for i in np.flatnonzero(counts):
        n_carriers = counts[i]
        weight = np.float64(data.costs.weights[i])
        worth = weight * np.log(total / max(pattern.errors[i], 0.5))
        for a in range(c):
            if pattern.carry[a, i]:
                for w in range(data.edges[a], data.edges[a + 1]):
                    open_, column = without.open_cells[i, w], data.columns[i, w]
                    weigh_cells(open_ & column, open_ & ~column, data.word_sizes[w], 64 * w, worth, gains)
            elif n_carriers < c:
                cross = 0.0
                for b in range(c):
                    if pattern.carry[b, i]:
                        cross += weight * data.costs.cross[b, a]
                for w in range(data.edges[a], data.edges[a + 1]):
                    weigh_cells(data.columns[i, w], ZERO, data.word_sizes[w], 64 * w, -cross, gains)


@compiled()
def choose_rows(data: Data, gains: Floats, price: float, rows: Words) -> None:
    """Take the rows that save more than one more usage costs: a row uses what shortens its description."""
    for w in range(len(rows)):
        word = ZERO
        for bit in range(data.word_sizes[w]):
            if gains[64 * w + bit] > price:
                word |= ONE << np.uint64(bit)
        rows[w] = word


@compiled()
def copy_pattern(new: Pattern, best: Pattern) -> None:
    """Copy a pattern. Item by item: numba takes seconds to compile assignments of whole arrays."""
    c, n = new.carry.shape
    for w in range(len(new.rows)):
        best.rows[w] = new.rows[w]
    for i in range(n):
        best.errors[i] = new.errors[i]
    for a in range(c):
        for i in range(n):
            best.carry[a, i] = new.carry[a, i]


@compiled()
def fit_pattern(
    data: Data,
    state: State,
    s: int,
    without: WithoutPattern,
    start: Words,
    may_alter: Bools,
    typical: bool,
    rounds: int,
    best: Pattern,
) -> float:
    """Optimise pattern ``s`` against the others: items for its rows, rows for its items, while f falls.

    The first choice of items only starts the walk: the evidence asked of an item depends on the size and the density of
    the pattern. The typical row is asked for none as long as two in five rows use it. ``may_alter``, (c,), are the
    classes that may add items. Returns f, infinite where nothing is left, and the pattern in ``best``.
    """
    costs = data.costs
    c, n = best.carry.shape
    every_item = np.arange(n)
    gains = np.empty(64 * len(start))
    ratios = np.zeros(n), np.zeros(n)
    used, extra = state.used.copy(), state.extra.copy()
    used[s] = 0
    others = used.sum()
    new = Pattern(start.copy(), np.zeros((c, n), dtype=np.bool_), without.errors.copy())
    items, length = 0, np.inf
    least = stats.min_rows(data.class_sizes.sum())
    for turn in range(rounds):
        by_class = rows_by_class(data, new.rows)
        used[s] = by_class.sum()
        # Classes without rows have nothing to say: what all others carry, all carry.
        using = np.flatnonzero(by_class)
        cells, carry = np.empty((3, len(using), n), dtype=np.int64), np.empty((len(using), n), dtype=np.bool_)
        count_cells(data, without, new.rows, using, every_item, cells)
        own = code_length.costs_of_classes(costs, using)
        log_total = np.log(others + used[s] + code_length.count_errors(costs, new.errors))
        seen = ItemsWithout(own, cells, without.background, without.errors, log_total, may_alter[using])
        is_typical = typical and stats.is_typical(used[s], data.class_sizes.sum())
        choose_items(seen, ratios, 0 if is_typical else items, carry, new.errors)
        items = stats.count_items(own, carry)
        if items < 2 or used[s] < least:
            break
        carry_in_all(using, carry, new.carry)
        if turn > 0:
            extra[s] = code_length.pattern_extra(own, cells, carry)
            now = state_length(costs, used, extra, new.errors)
            if now >= length - 1e-9:
                break
            length = now
            copy_pattern(new, best)
        density = stats.pattern_density(own, cells, carry)
        stats.log_likelihood_ratios(without.background, density, ratios[0], ratios[1])
        total = others + used[s] + code_length.count_errors(costs, new.errors)
        weigh_rows(data, without, new, total, gains)
        choose_rows(data, gains, np.log(total / used[s]), new.rows)
    return length


@compiled()
def carry_in_all(classes: Ints, carry: Bools, whole: Bools) -> None:
    """Fill in which classes carry every item, (c, n), from those of some of them: what all of these carry, all do."""
    n = carry.shape[1]
    counts = code_length.count_carriers(carry)
    for a in range(len(whole)):
        for i in range(n):
            whole[a, i] = counts[i] == len(classes)
    for k in range(len(classes)):
        for i in range(n):
            whole[classes[k], i] = carry[k, i]


@compiled()
def fit_rows(data: Data, state: State, s: int, without: WithoutPattern, carry: Bools, rounds: int, rows: Words) -> None:
    """Choose the rows of pattern ``s`` with these items, from the rows that are given, while they change."""
    c, n = carry.shape
    cells, gains = np.empty((3, c, n), dtype=np.int64), np.empty(64 * len(rows))
    others = state.used.sum() - state.used[s]
    pattern = Pattern(rows, carry, without.errors.copy())
    every_class, items = np.arange(c), np.flatnonzero(code_length.count_carriers(carry))
    for _ in range(rounds):
        count_cells(data, without, rows, every_class, items, cells)
        used = count_rows(data.row_weights, rows, 0, len(rows))
        if used < stats.min_rows(data.class_sizes.sum()):
            rows[:] = ZERO
            break
        for i in items:
            pattern.errors[i] = without.errors[i]
            for a in range(c):
                if carry[a, i]:
                    pattern.errors[i] += cells[OPEN_ZEROS, a, i] - cells[OPEN_ONES, a, i]
        total = others + used + code_length.count_errors(data.costs, pattern.errors)
        weigh_rows(data, without, pattern, total, gains)
        before = rows.copy()
        choose_rows(data, gains, np.log(total / used), rows)
        if np.array_equal(before, rows):
            break


@compiled(fastmath=True, forceinline=True)
def cell_evidence(
    column: np.uint64, cells: np.uint64, begin: int, odds: float, density: float, shifts: Floats, row_odds: Floats
) -> float:
    """Return the evidence of some cells of an item in a word of rows, which begin at ``begin``.

    Chance gives a cell the odds of its item times those of its row. Cells in which it is as dense as the pattern show
    nothing.
    """
    shown = 0.0
    left = cells
    while left != ZERO:
        bit = int(lowest(left))
        of_cell = odds * row_odds[begin + bit]
        if of_cell < density / (1.0 - density):
            shown += np.log(1.0 + of_cell)
            if (column >> np.uint64(bit)) & ONE:
                shown += np.log(density / odds) - shifts[begin + bit]
            else:
                shown += np.log(1.0 - density)
        left &= left - ONE
    return shown


@compiled()
def item_evidence(
    data: Data, without: WithoutPattern, rows: Words, carry: Bools, density: float, shown: Floats
) -> None:
    """Fill in the evidence of every item, (n,): its cells in these rows against chance, which knows both margins."""
    for i in range(len(shown)):
        shown[i] = 0.0
    for i in np.flatnonzero(code_length.count_carriers(carry)):
        if not 0.0 < without.background[i] < 1.0:
            continue
        odds = without.background[i] / (1.0 - without.background[i])
        for a in range(len(carry)):
            for w in range(data.edges[a], data.edges[a + 1]) if carry[a, i] else range(0):
                cells = rows[w] & without.open_cells[i, w]
                if cells != ZERO:
                    shown[i] += data.row_weights[w] * cell_evidence(
                        data.columns[i, w], cells, 64 * w, odds, density, data.row_shifts, data.row_odds
                    )


@compiled()
def evidence_of(data: Data, without: WithoutPattern, rows: Words, carry: Bools) -> float:
    """Return the evidence that the items of a pattern go together."""
    c, n = carry.shape
    cells, shown = np.empty((3, c, n), dtype=np.int64), np.empty(n)
    count_cells(data, without, rows, np.arange(c), np.flatnonzero(code_length.count_carriers(carry)), cells)
    density = stats.rounded_density(stats.pattern_density(data.costs, cells, carry))
    item_evidence(data, without, rows, carry, density, shown)
    return stats.pattern_evidence(data.costs, carry, shown, data.class_sizes, rows_by_class(data, rows))


@compiled()
def screen(
    data: Data,
    state: State,
    s: int,
    without: WithoutPattern,
    starts: Words,
    may_alter: Bools,
    rounds: int,
    length: float,
    lengths: Floats,
    evidence: Floats,
) -> None:
    """Try every start as pattern ``s``, on its own: f with it, and if it is below ``length`` the evidence for it."""
    c, n = state.carry.shape[1:]
    best = Pattern(np.zeros_like(data.row_mask), np.zeros((c, n), dtype=np.bool_), np.zeros(n, dtype=np.int64))
    for k in range(len(starts)):
        # A plain False, a constant, would compile all of it a second time.
        typical = np.bool_(False)
        lengths[k] = fit_pattern(data, state, s, without, starts[k], may_alter, typical, rounds, best)  # type: ignore[arg-type]
        evidence[k] = -np.inf
        if lengths[k] < length:
            evidence[k] = evidence_of(data, without, best.rows, best.carry)


@compiled()
def find_carriers(data: Data, items: Bools, worth: Floats, price: float, rows: Words) -> None:
    """Find the rows that carry a pattern: it would shorten their description if there were no other.

    ``items``, (n,), are those that all classes carry, ``worth`` is what covering a one of every item saves.
    """
    gains = np.zeros(64 * len(rows))
    for i in range(len(items)):
        if items[i]:
            for w in range(len(rows)):
                column = data.columns[i, w]
                weigh_cells(column, data.row_mask[w] & ~column, data.word_sizes[w], 64 * w, worth[i], gains)
    choose_rows(data, gains, price, rows)


@compiled()
def count_by_stratum(data: Data, strata: Words, rows: Words) -> Ints:
    """Count the rows of the input in every group of rows of a size and every class, (G, c)."""
    counts = np.zeros((len(strata), len(data.edges) - 1), dtype=np.int64)
    for g in range(len(strata)):
        for a in range(counts.shape[1]):
            for w in range(data.edges[a], data.edges[a + 1]):
                counts[g, a] += data.row_weights[w] * popcount(rows[w] & strata[g, w])
    return counts


@compiled()
def unpack_cells(columns: Words, items: Ints, places: Ints) -> NDArray[np.uint8]:
    """Return the cells of these items in the rows at these places, (rows, items)."""
    cells = np.empty((len(places), len(items)), dtype=np.uint8)
    for k in range(len(items)):
        for j in range(len(places)):
            word = columns[items[k], places[j] // 64]
            cells[j, k] = (word >> np.uint64(places[j] % 64)) & ONE
    return cells


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
    items: Ints = np.flatnonzero(code_length.count_carriers(state.carry[s]))
    for a in range(len(data.edges) - 1):
        begin, end = data.edges[a], data.edges[a + 1]
        for i in items:
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
    cells, items = np.empty((3, c, n), dtype=np.int64), np.flatnonzero(code_length.count_carriers(carry))
    count_cells(data, without, rows, np.arange(c), items, cells)
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
        for i in items:
            if carry[a, i]:
                state.errors[i] += cells[OPEN_ZEROS, a, i] - cells[OPEN_ONES, a, i]
                state.masks[a, i, s // 64] |= bit
                cover(state, s, i, data.edges[a], data.edges[a + 1])
