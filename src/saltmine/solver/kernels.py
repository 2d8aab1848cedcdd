"""Compiled kernels of the refinement: everything that touches the rows, on 64-bit words.

A pattern ``s`` is its rows, ``usage[s]`` (words), and ``carry[s, a, i]``: whether class a has item i in it. An item
that every class carries is in X, one that only some carry is in their V_a; so every state satisfies the definition of
alterations. Rows are packed class by class, each class beginning a new word.

A cell is *open* for a pattern where no other pattern covers it: only there does the pattern change anything, and only
there can it show evidence.

Functions that are called for every item have one way out and are given single arrays rather than all of `Data`: numba
counts references to every array it cannot follow, which takes longer than the work itself.
"""

from __future__ import annotations

from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from saltmine.compiled import compiled

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ONE = np.uint64(1)
ZERO = np.uint64(0)
# Rows in `cells`: open ones, open zeros, and all ones among the rows of a pattern.
OPEN_ONES, OPEN_ZEROS, ONES = 0, 1, 2
# Densities that the evidence of a pattern is measured against: 1/20, ..., 19/20.
DENSITIES = 20
# The level of the test is shared by two looks at a pattern: 99 % for all of its items, 1 % for the strong ones.
FOR_ALL_ITEMS, FOR_STRONG_ITEMS = float(np.log(1 / 0.99)), float(np.log(1 / 0.01))
# An item that has this share of the open cells may ride along with a pattern whatever it shows.
RIDES = 0.5
# Such items may be this share of a pattern of some classes; more would be said to be theirs.
MOST_RIDERS = 1 / 3
# What cells say that do not count as evidence.
NOTHING = (0.0, 0.0)
# Items whose words, many or few, stay at hand while they are counted word by word.
ITEMS_AT_ONCE = 256
# Rows that are weighed by the same instruction.
ROWS_AT_ONCE = 4


class Data(NamedTuple):
    """The data and the constants of f."""

    columns: Words  # (n, W)
    weights: Ints  # (n,): items of the input behind every item
    row_weights: Ints  # (W,): rows of the input behind a row of every word
    valid: Words  # (W,): ones where a row stands
    lanes: Ints  # (W,): rows of every word, in its lowest bits
    edges: Ints  # (c+1,): words of the classes
    codes: Floats  # (n,): code length u of the items
    cross: Floats  # (c, c): weight of ones of class b under an alteration of class a
    counted: Floats  # (m+2,): -(k+1) log k, zero at 0
    n_items: int  # items of the input


class State(NamedTuple):
    """A binary model and what f needs of it, with room for more patterns: those not there have no rows."""

    usage: Words  # (R, W)
    carry: Bools  # (R, c, n)
    masks: Words  # (c, n, K): patterns that carry an item in a class
    once: Words  # (n, W): cells that some pattern covers
    twice: Words  # (n, W): cells that two patterns cover, or more
    used: Ints  # (R,): rows of every pattern
    extra: Floats  # (R,): code table and specificity of every pattern
    noise: Ints  # (n,): cells in error of every item


class Opened(NamedTuple):
    """The data as it looks without one pattern."""

    cells: Words  # (n, W): open cells
    noise: Ints  # (n,): cells in error
    background: Floats  # (n,): share of ones among the open cells


class Pattern(NamedTuple):
    """One pattern, and the cells in error of every item with it."""

    rows: Words  # (W,)
    carry: Bools  # (c, n)
    noise: Ints  # (n,)


# Some versions of numba have types for this decorator, some have none.
@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def popcount(typing: Any, word: Any) -> Any:
    """Count the ones of a word."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest(typing: Any, word: Any) -> Any:
    """Return the place of the lowest one of a word that is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), codegen


@compiled()
def count_ones(word: np.uint64) -> int:
    """Count the ones of a word."""
    return int(popcount(word))


@compiled()
def lowest_one(word: np.uint64) -> int:
    """Return the place of the lowest one of a word that is not zero."""
    return int(lowest(word))


@compiled()
def set_bits(matrix: Bools, rows: Ints, places: Ints, columns: Words) -> None:
    """Set the bits of all ones; row ``rows[j]`` has the place ``places[j]``."""
    for j in range(len(rows)):
        w, bit = places[j] // 64, ONE << np.uint64(places[j] % 64)
        for i in range(matrix.shape[1]):
            if matrix[rows[j], i]:
                columns[i, w] |= bit


@compiled()
def set_stored_bits(indptr: Ints, indices: Ints, rows: Ints, places: Ints, columns: Words) -> None:
    """Do the same for CSR data, all of whose stored entries are ones."""
    for j in range(len(rows)):
        w, bit = places[j] // 64, ONE << np.uint64(places[j] % 64)
        for k in range(indptr[rows[j]], indptr[rows[j] + 1]):
            columns[indices[k], w] |= bit


@compiled()
def count_in_rows(columns: Words, items: Bools, weights: Ints, counts: Ints) -> None:
    """Count how many of these items every row has; ``counts``, (64 W,), is added to."""
    for i in range(len(items)):
        if items[i]:
            for w in range(columns.shape[1]):
                left = columns[i, w]
                while left != ZERO:
                    counts[64 * w + lowest(left)] += weights[i]
                    left &= left - ONE


@compiled()
def count_rows(data: Data, words: Words, begin: int, end: int) -> int:
    """Count the rows of the input in some of the words."""
    count = 0
    for w in range(begin, end):
        count += data.row_weights[w] * popcount(words[w])
    return count


@compiled()
def count_items(data: Data, carry: Bools) -> int:
    """Count the items of the input that any class carries; ``carry`` is (c, n)."""
    c, n = carry.shape
    count = 0
    for i in range(n):
        carried = False
        for a in range(c):
            carried |= carry[a, i]
        count += data.weights[i] * carried
    return count


@compiled()
def count_errors(data: Data, noise: Ints) -> int:
    """Count the cells of the input in error."""
    count = 0
    for i in range(len(noise)):
        count += data.weights[i] * noise[i]
    return count


@compiled()
def log_choices(size: int, chosen: int) -> float:
    """Return the logarithm of the number of subsets."""
    return lgamma(size + 1.0) - lgamma(chosen + 1.0) - lgamma(size - chosen + 1.0)


@compiled()
def total_length(data: Data, used: Ints, extra: Floats, noise: Ints) -> float:
    """Return f, with the specificity term that is in ``extra``."""
    total, weight, length = 0, 0, 0.0
    for s in range(len(used)):
        if used[s] > 0:
            total += used[s]
            weight += used[s] + 1
            length += data.counted[used[s]] + extra[s]
    for i in range(len(noise)):
        if noise[i] > 0:
            total += data.weights[i] * noise[i]
            weight += data.weights[i] * (noise[i] + 1)
            length += data.weights[i] * (data.counted[noise[i]] + data.codes[i])
    return length + weight * np.log(max(total, 1))


@compiled()
def open_cells(data: Data, state: State, s: int, opened: Opened) -> None:
    """Look at the data without pattern ``s``."""
    for i in range(data.columns.shape[0]):
        errors, size, ones = 0, 0, 0
        for a in range(len(data.edges) - 1):
            carried = state.carry[s, a, i]
            for w in range(data.edges[a], data.edges[a + 1]):
                covered = state.once[i, w]
                if carried:
                    covered &= ~(state.usage[s, w] & ~state.twice[i, w])
                column, open_ = data.columns[i, w], data.valid[w] & ~covered
                opened.cells[i, w] = open_
                size += data.row_weights[w] * popcount(open_)
                ones += data.row_weights[w] * popcount(open_ & column)
                errors += data.row_weights[w] * popcount((open_ & column) | (covered & ~column))
        opened.noise[i] = errors
        opened.background[i] = ones / size if size > 0 else 1.0


@compiled()
def count_cells(data: Data, opened: Opened, rows: Words, cells: Ints) -> None:
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
                    column, open_ = data.columns[i, w] & rows[w], opened.cells[i, w] & rows[w]
                    open_ones = data.row_weights[w] * popcount(open_ & column)
                    cells[OPEN_ONES, a, i] += open_ones
                    cells[OPEN_ZEROS, a, i] += data.row_weights[w] * popcount(open_) - open_ones
                    cells[ONES, a, i] += data.row_weights[w] * popcount(column)


@compiled(error_model="numpy")
def evidence_of_cell(background: float, density: float) -> tuple[float, float]:
    """Log-likelihood ratio of a one and of a zero: density of the pattern against the background of the item.

    An item that is at least as frequent everywhere is no evidence.
    """
    if 0.0 < background < density:
        return np.log(density / background), np.log((1.0 - density) / (1.0 - background))
    return 0.0, 0.0


@compiled()
def evidence_of_cells(background: Floats, density: float, for_one: Floats, for_zero: Floats) -> None:
    """Return the same for every item."""
    for i in range(len(background)):
        for_one[i], for_zero[i] = evidence_of_cell(background[i], density)


@compiled()
def binomial_tail(least: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many successes."""
    if least <= 0:
        return 1.0
    if least > trials or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return 1.0
    # Summed up away from the most probable count, so that no first term is too small to tell.
    upwards = least > trials * chance
    first = least if upwards else least - 1
    log_first = first * np.log(chance) + (trials - first) * np.log(1.0 - chance)
    for k in range(first):
        log_first += np.log((trials - k) / (first - k))
    term = np.exp(log_first)
    tail, ratio = term, chance / (1.0 - chance)
    if upwards:
        for k in range(first, trials):
            term *= (trials - k) / (k + 1) * ratio
            tail += term
        return float(min(tail, 1.0))
    for k in range(first, 0, -1):
        term *= k / ((trials - k + 1) * ratio)
        tail += term
    return float(max(1.0 - tail, 0.0))


@compiled()
def chance_to_show(level: float, trials: int, background: float, says: tuple[float, float]) -> float:
    """Return the probability that so many cells of an item show as much as ``level`` by chance.

    ``says`` is what a one and a zero say.
    """
    least = np.ceil((level - trials * says[1]) / (says[0] - says[1]) - 1e-9)
    return binomial_tail(int(max(least, 0.0)), trials, background)


@compiled()
def expected_to_show(
    level: float, trials: Ints, background: Floats, for_one: Floats, for_zero: Floats, weights: Ints, candidates: Bools
) -> float:
    """Return how many candidate items chance expects to show as much as ``level``; all are (n,)."""
    expected = 0.0
    for i in range(len(trials)):
        if candidates[i] and for_one[i] > 0.0:
            expected += weights[i] * chance_to_show(level, trials[i], background[i], (for_one[i], for_zero[i]))
    return expected


@compiled()
def density_of(data: Data, cells: Ints, carry: Bools) -> float:
    """Return the share of ones among the open cells of a pattern, never quite 0 or 1."""
    c, n = carry.shape
    ones, zeros = 0, 0
    for a in range(c):
        for i in range(n):
            if carry[a, i]:
                ones += data.weights[i] * cells[OPEN_ONES, a, i]
                zeros += data.weights[i] * cells[OPEN_ZEROS, a, i]
    return (ones + 0.5) / (ones + zeros + 1.0)


@compiled(forceinline=True)
def errors_length(counted: Floats, code: float, errors: int, log_total: float) -> float:
    """Return what the errors of an item cost at the present size of the description."""
    if errors == 0:
        return 0.0
    return counted[errors] + code + (errors + 1) * log_total


@compiled(forceinline=True)
def specificity_of(cross: Floats, cells: Ints, i: int, carriers: Bools) -> float:
    """Return S of one item, number i of ``cells``: ones it meets in the classes that do not carry it."""
    term = 0.0
    for a in range(len(carriers)):
        if carriers[a]:
            for b in range(len(carriers)):
                if not carriers[b]:
                    term += cross[a, b] * cells[ONES, b, i]
    return term


@compiled()
def extra_length(data: Data, cells: Ints, carry: Bools) -> float:
    """Return the code table entry of a pattern and its specificity."""
    c, n = carry.shape
    extra = 0.0
    for i in range(n):
        carriers = 0
        for a in range(c):
            carriers += carry[a, i]
        if carriers == c:
            extra += data.weights[i] * data.codes[i]
        elif carriers > 0:
            extra += data.weights[i] * (carriers * data.codes[i] + specificity_of(data.cross, cells, i, carry[:, i]))
    return extra


@compiled()
def is_of_all_classes(data: Data, rows: Words) -> bool:
    """Say whether every class has some of the rows."""
    of_all = True
    for a in range(len(data.edges) - 1):
        of_all &= count_rows(data, rows, data.edges[a], data.edges[a + 1]) > 0
    return of_all


@compiled(forceinline=True)
def choose_carriers(
    terms: tuple[Floats, Floats, float, float],
    cells: Ints,
    i: int,
    errors: int,
    alterations: bool,
    rides: bool,
    evidence: tuple[float, float],
    needed: tuple[float, float],
    carriers: Bools,
    some: Bools,
) -> int:
    """Choose the classes that carry an item in a pattern, by what shortens f most: none, all, or some of them.

    ``terms`` are `Data.counted`, `Data.cross`, the code length of the item, and the logarithm of all usage and errors.
    The item is number i of ``cells``, (3, c, ...); ``errors`` counts its cells in error without the pattern,
    ``evidence`` is what a one and a zero say. What they say must reach what is ``needed`` of a shared item, unless it
    ``rides`` along, and of every class that carries an altered one. Returns the errors with the pattern; ``some``,
    (c,), is room to work.
    """
    counted, cross, code, log_total = terms
    c = len(carriers)
    left = errors
    saved, most, shown, at_most = 0, 0, 0.0, 0.0
    for a in range(c):
        carriers[a] = False
        some[a] = False
        gain = cells[OPEN_ONES, a, i] - cells[OPEN_ZEROS, a, i]
        shows = cells[OPEN_ONES, a, i] * evidence[0] + cells[OPEN_ZEROS, a, i] * evidence[1]
        saved += gain
        most += max(gain, 0)
        shown += shows
        at_most += max(shows, 0.0)
    # Some class saves something, and some choice of classes shows enough.
    if most > 0 and (at_most >= needed[0] or rides):
        best = errors_length(counted, code, errors, log_total)
        length = errors_length(counted, code, errors - saved, log_total) + code
        if length < best and (shown >= needed[0] or rides):
            best = length
            left = errors - saved
            for a in range(c):
                carriers[a] = True
        # The best proper subset: classes join in the order of what they gain.
        saved, shown = 0, 0.0
        for k in range(1, c if alterations else 1):
            joining, most = -1, 0
            for a in range(c):
                gain = cells[OPEN_ONES, a, i] - cells[OPEN_ZEROS, a, i]
                if not some[a] and gain > most:
                    joining, most = a, gain
            if joining >= 0:
                some[joining] = True
                saved += most
                shown += cells[OPEN_ONES, joining, i] * evidence[0] + cells[OPEN_ZEROS, joining, i] * evidence[1]
                length = errors_length(counted, code, errors - saved, log_total) + k * code
                length += specificity_of(cross, cells, i, some)
                if length < best and shown >= k * needed[1]:
                    best = length
                    left = errors - saved
                    for a in range(c):
                        carriers[a] = some[a]
    return left


@compiled()
def choose_items(
    data: Data,
    cells: Ints,
    opened: Opened,
    log_total: float,
    alterations: bool,
    riders: bool,
    evidence: tuple[Floats, Floats],
    needed: tuple[float, float],
    new: Pattern,
) -> None:
    """Choose for every item what shortens f most: not in the pattern, shared, or carried by some classes.

    With ``riders`` a frequent item, which shows little, may ride along if that shortens f.
    """
    c, n = new.carry.shape
    carriers, some = np.zeros(c, dtype=np.bool_), np.zeros(c, dtype=np.bool_)
    for i in range(n):
        rides = riders and opened.background[i] >= RIDES
        says = evidence[0][i], evidence[1][i]
        terms = data.counted, data.cross, data.codes[i], log_total
        new.noise[i] = choose_carriers(
            terms, cells, i, opened.noise[i], alterations, rides, says, needed, carriers, some
        )
        for a in range(c):
            new.carry[a, i] = carriers[a]


@compiled()
def choose_items_of_some(
    data: Data,
    cells: Ints,
    opened: Opened,
    log_total: float,
    alterations: bool,
    evidence: tuple[Floats, Floats],
    needed: tuple[float, float],
    new: Pattern,
) -> None:
    """Choose the items of a pattern of some classes: frequent ones ride along if they are few among all."""
    choose_items(data, cells, opened, log_total, alterations, True, evidence, needed, new)
    c, n = new.carry.shape
    riders = 0
    for i in range(n):
        shown, carried = 0.0, False
        for a in range(c):
            carried |= new.carry[a, i]
            shown += cells[OPEN_ONES, a, i] * evidence[0][i] + cells[OPEN_ZEROS, a, i] * evidence[1][i]
        riders += data.weights[i] * (carried and opened.background[i] >= RIDES and shown < needed[0])
    if riders > MOST_RIDERS * count_items(data, new.carry):
        choose_items(data, cells, opened, log_total, alterations, False, evidence, needed, new)


@compiled(fastmath=True, forceinline=True)
def weigh_cells(
    ones: np.uint64,
    zeros: np.uint64,
    lanes: int,
    begin: int,
    worth: float,
    says: tuple[float, float],
    gains: Floats,
    shown: Floats,
) -> None:
    """Add to the sums of the rows of a word, which begin at ``begin``, what its open ones and zeros save and show."""
    # There is no row, so no one, beyond the lanes: whole instructions are faster than a rest.
    for bit in range((lanes + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE * ROWS_AT_ONCE):
        place = ONE << np.uint64(bit)
        one = 1.0 if ones & place else 0.0
        zero = 1.0 if zeros & place else 0.0
        # Without a sign: an index that might count from the end is looked at one by one.
        k = np.uint64(begin + bit)
        gains[k] += worth * (one - zero)
        shown[k] += says[0] * one + says[1] * zero


@compiled()
def weigh_rows(
    data: Data,
    opened: Opened,
    new: Pattern,
    total: float,
    evidence: tuple[Floats, Floats],
    gains: Floats,
    shown: Floats,
) -> None:
    """Sum up for every row what the pattern saves there, less its share of S, and its evidence; both are (64 W,)."""
    c, n = new.carry.shape
    gains[:] = 0.0
    shown[:] = 0.0
    for i in range(n):
        carriers = 0
        for a in range(c):
            carriers += new.carry[a, i]
        if carriers == 0:
            continue
        weight = np.float64(data.weights[i])
        worth = weight * np.log(total / max(new.noise[i], 0.5))
        says = weight * evidence[0][i], weight * evidence[1][i]
        for a in range(c):
            if new.carry[a, i]:
                for w in range(data.edges[a], data.edges[a + 1]):
                    ones, zeros = opened.cells[i, w] & data.columns[i, w], opened.cells[i, w] & ~data.columns[i, w]
                    weigh_cells(ones, zeros, data.lanes[w], 64 * w, worth, says, gains, shown)
            elif carriers < c:
                cross = 0.0
                for b in range(c):
                    if new.carry[b, i]:
                        cross += weight * data.cross[b, a]
                for w in range(data.edges[a], data.edges[a + 1]):
                    weigh_cells(data.columns[i, w], ZERO, data.lanes[w], 64 * w, -cross, NOTHING, gains, shown)


@compiled()
def class_choices(data: Data, carry: Bools, a: int, rows: int) -> float:
    """Return the logarithm of the ways in which class a can use a pattern that the other classes define.

    It chooses its rows, which items of the others it shares, and which it has alone.
    """
    c, n = carry.shape
    others, shared, alone = 0, 0, 0
    for i in range(n):
        carriers = 0
        for b in range(c):
            carriers += carry[b, i]
        others += data.weights[i] * (carriers > carry[a, i])
        shared += data.weights[i] * (carry[a, i] and carriers > 1)
        alone += data.weights[i] * (carry[a, i] and carriers == 1)
    size = count_rows(data, data.valid, data.edges[a], data.edges[a + 1])
    return log_choices(size, rows) + log_choices(others, shared) + log_choices(data.n_items, alone)


@compiled()
def choose_rows(
    data: Data, gains: Floats, shown: Floats, price: float, needed: float, log_alpha: float, new: Pattern
) -> None:
    """Take the rows that save more than one more usage costs and show the evidence that is needed.

    A class whose rows chance explains does not use the pattern at all.
    """
    for a in range(len(data.edges) - 1):
        begin, end = data.edges[a], data.edges[a + 1]
        evidence = 0.0
        for w in range(begin, end):
            word = ZERO
            for bit in range(64):
                k = 64 * w + bit
                if gains[k] > price and shown[k] >= needed and (data.valid[w] >> np.uint64(bit)) & ONE:
                    word |= ONE << np.uint64(bit)
                    evidence += data.row_weights[w] * shown[k]
            new.rows[w] = word
        chosen = count_rows(data, new.rows, begin, end)
        if chosen > 0 and evidence - class_choices(data, new.carry, a, chosen) < -log_alpha:
            new.rows[begin:end] = ZERO


@compiled()
def keep(new: Pattern, best: Pattern) -> None:
    """Copy a pattern. Item by item: numba takes seconds to compile assignments of whole arrays."""
    c, n = new.carry.shape
    for w in range(len(new.rows)):
        best.rows[w] = new.rows[w]
    for i in range(n):
        best.noise[i] = new.noise[i]
        for a in range(c):
            best.carry[a, i] = new.carry[a, i]


@compiled()
def fit_pattern(
    data: Data,
    state: State,
    s: int,
    opened: Opened,
    start: Words,
    alterations: bool,
    riders: bool,
    log_alpha: float,
    rounds: int,
    best: Pattern,
) -> float:
    """Optimise pattern ``s`` against the others: items for its rows, rows for its items, while f falls.

    The first choice of items only starts the walk: what a row or an item must show depends on the size and the
    density of the pattern. Any number of frequent items may ride along with a pattern of all classes; with one of some
    only if ``riders`` says so, otherwise a few. Returns f, infinite where nothing is left, and the pattern in ``best``.
    """
    c, n = best.carry.shape
    m, n_words = count_rows(data, data.valid, 0, len(data.valid)), len(data.valid)
    cells = np.empty((3, c, n), dtype=np.int64)
    gains, shown = np.empty(64 * len(start)), np.empty(64 * len(start))
    evidence = np.zeros(n), np.zeros(n)
    used, extra = state.used.copy(), state.extra.copy()
    used[s] = 0
    others = used.sum()
    new = Pattern(start.copy(), np.zeros((c, n), dtype=np.bool_), opened.noise.copy())
    needed_items, needed_rows = (-np.inf, -np.inf), -np.inf
    length = np.inf
    for turn in range(rounds):
        count_cells(data, opened, new.rows, cells)
        used[s] = count_rows(data, new.rows, 0, n_words)
        log_total = np.log(others + used[s] + count_errors(data, new.noise))
        if riders or is_of_all_classes(data, new.rows):
            choose_items(data, cells, opened, log_total, alterations, True, evidence, needed_items, new)
        else:
            choose_items_of_some(data, cells, opened, log_total, alterations, evidence, needed_items, new)
        items = count_items(data, new.carry)
        if items < 2 or used[s] < 2:
            break
        if turn > 0:
            extra[s] = extra_length(data, cells, new.carry)
            now = total_length(data, used, extra, new.noise)
            if now >= length - 1e-9:
                break
            length = now
            keep(new, best)
        evidence_of_cells(opened.background, density_of(data, cells, new.carry), evidence[0], evidence[1])
        total = others + used[s] + count_errors(data, new.noise)
        needed_rows = np.log(m / used[s])
        needed_items = np.log(data.n_items / items), np.log(c * data.n_items / items)
        weigh_rows(data, opened, new, total, evidence, gains, shown)
        choose_rows(data, gains, shown, np.log(total / used[s]), needed_rows, log_alpha, new)
    return length


@compiled()
def pattern_evidence(data: Data, opened: Opened, rows: Words, carry: Bools) -> float:
    """Return the evidence for a pattern in nats, less the logarithm of the patterns of its sizes to choose from.

    ``exp(evidence)`` is a likelihood ratio whose mean under chance, every item shuffled over its open cells, is at
    most one for each pattern; so the probability that chance shows any pattern of these sizes with as much is at most
    ``exp(-evidence)``. Frequent items that ride along in many rows show less than the choice of them costs: what
    speaks for the pattern without them, as a pattern of its own, speaks for the whole.
    """
    c, n = carry.shape
    cells = np.empty((3, c, n), dtype=np.int64)
    count_cells(data, opened, rows, cells)
    step = min(max(round(DENSITIES * density_of(data, cells, carry)), 1), DENSITIES - 1)
    for_one, for_zero = np.zeros(n), np.zeros(n)
    evidence_of_cells(opened.background, step / DENSITIES, for_one, for_zero)
    choices = choices_of_rows(data, rows) + np.log(DENSITIES - 1.0)
    every = evidence_of_items(data, cells, carry, for_one, for_zero, -np.inf)
    needed = np.log(data.n_items / max(count_items(data, carry), 1))
    strong = evidence_of_items(data, cells, carry, for_one, for_zero, needed)
    return max(every - FOR_ALL_ITEMS, strong - FOR_STRONG_ITEMS) - choices


@compiled()
def choices_of_rows(data: Data, rows: Words) -> float:
    """Return the logarithm of the ways to choose so many rows of every class."""
    n_words, c = len(rows), len(data.edges) - 1
    chosen = count_rows(data, rows, 0, n_words)
    # Rows are chosen from all; or it is chosen how many each class has, and then which.
    by_class = log_choices(chosen + c - 1, c - 1)
    for a in range(c):
        begin, end = data.edges[a], data.edges[a + 1]
        by_class += log_choices(count_rows(data, data.valid, begin, end), count_rows(data, rows, begin, end))
    return min(by_class, log_choices(count_rows(data, data.valid, 0, n_words), chosen))


@compiled()
def evidence_of_items(data: Data, cells: Ints, carry: Bools, for_one: Floats, for_zero: Floats, needed: float) -> float:
    """Sum up what the items of a pattern show, if that is as much as ``needed``, less the choice of the items."""
    c, n = carry.shape
    evidence, shared = 0.0, 0
    added = np.zeros(c, dtype=np.int64)
    for i in range(n):
        shown, carriers = 0.0, 0
        for a in range(c):
            if carry[a, i]:
                carriers += 1
                shown += cells[OPEN_ONES, a, i] * for_one[i] + cells[OPEN_ZEROS, a, i] * for_zero[i]
        if carriers == 0 or shown < needed:
            continue
        evidence += data.weights[i] * shown
        if carriers == c:
            shared += data.weights[i]
        else:
            for a in range(c):
                if carry[a, i]:
                    added[a] += data.weights[i]
    evidence -= log_choices(data.n_items, shared)
    for a in range(c):
        evidence -= log_choices(data.n_items, added[a])
    return evidence


@compiled()
def class_evidence(data: Data, opened: Opened, rows: Words, carry: Bools, evidence: Floats) -> None:
    """Measure the evidence that every class uses a pattern, in nats, less its choices; infinite where it does not."""
    c, n = carry.shape
    cells = np.empty((3, c, n), dtype=np.int64)
    count_cells(data, opened, rows, cells)
    for_one, for_zero = np.zeros(n), np.zeros(n)
    evidence_of_cells(opened.background, density_of(data, cells, carry), for_one, for_zero)
    for a in range(c):
        used = count_rows(data, rows, data.edges[a], data.edges[a + 1])
        evidence[a] = np.inf
        if used > 0:
            evidence[a] = -class_choices(data, carry, a, used)
            for i in range(n):
                if carry[a, i]:
                    shown = cells[OPEN_ONES, a, i] * for_one[i] + cells[OPEN_ZEROS, a, i] * for_zero[i]
                    evidence[a] += data.weights[i] * shown


@compiled()
def screen(
    data: Data,
    state: State,
    s: int,
    opened: Opened,
    starts: Words,
    alterations: bool,
    riders: bool,
    log_alpha: float,
    rounds: int,
    lengths: Floats,
    evidence: Floats,
) -> None:
    """Try every start as pattern ``s``, on its own: f with it, and the evidence for it."""
    c, n = state.carry.shape[1:]
    best = Pattern(np.zeros_like(data.valid), np.zeros((c, n), dtype=np.bool_), np.zeros(n, dtype=np.int64))
    for k in range(len(starts)):
        lengths[k] = fit_pattern(data, state, s, opened, starts[k], alterations, riders, log_alpha, rounds, best)
        evidence[k] = -np.inf
        if lengths[k] < np.inf:
            evidence[k] = pattern_evidence(data, opened, best.rows, best.carry)


@compiled()
def cover(state: State, s: int, i: int, begin: int, end: int) -> None:
    """Note that a pattern covers these words of an item."""
    for w in range(begin, end):
        state.twice[i, w] |= state.once[i, w] & state.usage[s, w]
        state.once[i, w] |= state.usage[s, w]


@compiled()
def count_noise(columns: Words, usage: Words, row_weights: Ints, patterns: Bools, noise: Ints) -> None:
    """Count the cells of one class in which data and model differ, per item; usage is (r, W), patterns (n, r)."""
    n, rank = patterns.shape
    covered = np.empty(columns.shape[1], dtype=np.uint64)
    for i in range(n):
        covered[:] = ZERO
        for s in range(rank):
            if patterns[i, s]:
                for w in range(len(covered)):
                    covered[w] |= usage[s, w]
        noise[i] = 0
        for w in range(len(covered)):
            noise[i] += row_weights[w] * popcount(covered[w] ^ columns[i, w])


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
            state.once[i, begin:end] = ZERO
            state.twice[i, begin:end] = ZERO
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
def put(data: Data, state: State, s: int, opened: Opened, rows: Words, carry: Bools) -> None:
    """Make this pattern number ``s``, of which there is none yet. ``opened`` must be the data as it is."""
    c, n = carry.shape
    cells = np.empty((3, c, n), dtype=np.int64)
    count_cells(data, opened, rows, cells)
    state.used[s] = count_rows(data, rows, 0, len(rows))
    state.extra[s] = extra_length(data, cells, carry)
    for w in range(len(rows)):
        state.usage[s, w] = rows[w]
    for i in range(n):
        state.noise[i] = opened.noise[i]
    bit = ONE << np.uint64(s % 64)
    for a in range(c):
        for i in range(n):
            state.carry[s, a, i] = carry[a, i]
            if carry[a, i]:
                state.noise[i] += cells[OPEN_ZEROS, a, i] - cells[OPEN_ONES, a, i]
                state.masks[a, i, s // 64] |= bit
                cover(state, s, i, data.edges[a], data.edges[a + 1])
