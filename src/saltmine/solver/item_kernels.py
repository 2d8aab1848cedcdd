"""Compiled kernels of the extension: items for given rows, each item on its own, all patterns at once.

Given who uses which pattern, the choice of one item does not depend on any other. So an item is taken up once, all
patterns are weighed for it while its few words are at hand, and nothing is kept of it but the patterns that carry it
(``masks``). The rows are then weighed for all patterns in one pass over the items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.compiled import compiled
from saltmine.solver.kernels import (
    DENSITIES,
    NOTHING,
    ONE,
    ONES,
    OPEN_ONES,
    OPEN_ZEROS,
    RIDES,
    ZERO,
    Bools,
    Data,
    Floats,
    Ints,
    Words,
    chance_to_show,
    choose_carriers,
    count_ones,
    evidence_of_cell,
    lowest_one,
    specificity_of,
    weigh_cells,
)

# An item is chosen for all patterns in turn, and again while anything changes.
TURNS = 3
# Places in the totals of an item; the third is that of its open ones, `ONES`.
ERRORS, OPEN = 0, 1


class Plan(NamedTuple):
    """What the choice of an item depends on besides its own column."""

    usage: Words  # (R, W)
    used: Ints  # (R,): rows of every pattern
    density: Floats  # (R,): share of ones among the open cells of a pattern
    needed: Floats  # (R, 2): evidence that a shared item must show, and an altered one for every class
    of_all: Bools  # (R,): whether all classes use the pattern
    log_total: float  # logarithm of all usage and errors
    alterations: bool


class Sums(NamedTuple):
    """What all items together amount to."""

    code: Floats  # (3,): errors, errors and one for every item that has some, and the lengths that go with them
    extra: Floats  # (R,): code table and specificity of every pattern
    items: Ints  # (R,): items that any class carries
    shared: Ints  # (R,): those that all carry
    carried: Ints  # (R, c): those of every class
    alone: Ints  # (R, c): those of one class only
    open_ones: Ints  # (R,): open cells of the pattern
    open_zeros: Ints  # (R,)


class Evidence(NamedTuple):
    """What the items of every pattern show, and what f would be without it; sums over items."""

    shown: Floats  # (2, R): evidence of all items, and of the strong ones
    shared: Ints  # (2, R): number of items that all classes carry
    added: Ints  # (2, R, c): number that some carry
    code: Floats  # (R, 3): what leaving out the pattern adds to the code of `Sums`
    altered_code: Floats  # (R, c, 3): the same for the alterations of a class
    table: (
        Floats  # (R, 1 + c): length of code table and of specificity as printed, of the shared part and of each class
    )


class Scratch(NamedTuple):
    """Room to work on one item."""

    once: Words  # (W,): cells that some pattern covers
    twice: Words  # (W,): cells that two cover, or more
    totals: Ints  # (3,): errors, open cells, and ones among them
    cells: Ints  # (3, c, 1)
    carriers: Bools  # (c,)
    some: Bools  # (c,)


@compiled()
def make_scratch(data: Data) -> Scratch:
    """Return room to work on one item."""
    n_words, c = len(data.valid), len(data.edges) - 1
    return Scratch(
        np.zeros(n_words, dtype=np.uint64),
        np.zeros(n_words, dtype=np.uint64),
        np.zeros(3, dtype=np.int64),
        np.zeros((3, c, 1), dtype=np.int64),
        np.zeros(c, dtype=np.bool_),
        np.zeros(c, dtype=np.bool_),
    )


@compiled()
def carries(masks: Words, a: int, i: int, s: int) -> bool:
    """Say whether class a carries item i in pattern s."""
    return bool((masks[a, i, s // 64] >> np.uint64(s % 64)) & ONE != ZERO)


@compiled()
def cover_item(data: Data, usage: Words, masks: Words, i: int, now: Scratch) -> None:
    """Find the cells of an item that patterns cover, and count the others."""
    now.once[:] = ZERO
    now.twice[:] = ZERO
    for a in range(len(data.edges) - 1):
        for k in range(masks.shape[2]):
            left = masks[a, i, k]
            while left != ZERO:
                s = 64 * k + lowest_one(left)
                for w in range(data.edges[a], data.edges[a + 1]):
                    now.twice[w] |= now.once[w] & usage[s, w]
                    now.once[w] |= usage[s, w]
                left &= left - ONE
    errors, size, ones = 0, 0, 0
    for w in range(len(data.valid)):
        open_ = data.valid[w] & ~now.once[w]
        errors += data.row_weights[w] * count_ones(now.once[w] ^ data.columns[i, w])
        size += data.row_weights[w] * count_ones(open_)
        ones += data.row_weights[w] * count_ones(open_ & data.columns[i, w])
    now.totals[ERRORS], now.totals[OPEN], now.totals[ONES] = errors, size, ones


@compiled(error_model="numpy")
def open_item(data: Data, usage: Words, masks: Words, i: int, s: int, now: Scratch) -> tuple[int, float]:
    """Look at an item without pattern s: its errors, and the share of ones among its open cells.

    The cells of the rows of the pattern are counted in ``now.cells``.
    """
    errors, size, ones = now.totals[ERRORS], now.totals[OPEN], now.totals[ONES]
    for a in range(len(data.edges) - 1):
        carried = carries(masks, a, i, s)
        open_ones, open_zeros, all_ones = 0, 0, 0
        for w in range(data.edges[a], data.edges[a + 1]):
            weight, column, rows = data.row_weights[w], data.columns[i, w], usage[s, w]
            open_ = rows & ~(now.twice[w] if carried else now.once[w])
            here = weight * count_ones(open_ & column)
            open_ones += here
            open_zeros += weight * count_ones(open_) - here
            all_ones += weight * count_ones(column & rows)
        now.cells[OPEN_ONES, a, 0] = open_ones
        now.cells[OPEN_ZEROS, a, 0] = open_zeros
        now.cells[ONES, a, 0] = all_ones
        # What the pattern alone covers is open without it.
        if carried:
            errors += open_ones - open_zeros
            size += open_ones + open_zeros
            ones += open_ones
    return errors, ones / size if size > 0 else 1.0


@compiled()
def solve_items(data: Data, plan: Plan, begin: int, end: int, masks: Words) -> None:
    """Choose anew which patterns carry these items, from what ``masks`` say now; f falls with every change."""
    now = make_scratch(data)
    rank, c = len(plan.used), len(data.edges) - 1
    gains, order = np.empty(rank, dtype=np.int64), np.empty(rank, dtype=np.int64)
    for i in range(begin, end):
        cover_item(data, plan.usage, masks, i, now)
        count = 0
        for s in range(rank):
            if plan.used[s] == 0:
                continue
            open_item(data, plan.usage, masks, i, s, now)
            ones, gain = 0, 0
            for a in range(c):
                ones += now.cells[OPEN_ONES, a, 0]
                gain += now.cells[OPEN_ONES, a, 0] - now.cells[OPEN_ZEROS, a, 0]
            # A pattern without a one to win, as long as it carries nothing, has none either when others take some.
            if ones > 0 or find_carriers_of(masks, i, s, now.carriers) > 0:
                # Patterns that gain most come first: a later one then gets what is left for it.
                place = count
                while place > 0 and gains[place - 1] < gain:
                    gains[place], order[place] = gains[place - 1], order[place - 1]
                    place -= 1
                gains[place], order[place] = gain, s
                count += 1
        # In turn, until none has changed since it was last looked at.
        unchanged, looks = 0, 0
        while unchanged < count and looks < TURNS * count:
            unchanged += 1
            if choose_pattern(data, plan, i, order[looks % count], masks, now):
                cover_item(data, plan.usage, masks, i, now)
                unchanged = 1
            looks += 1


@compiled()
def choose_pattern(data: Data, plan: Plan, i: int, s: int, masks: Words, now: Scratch) -> bool:
    """Choose the classes that carry an item in pattern s, given the other patterns; say whether that changed."""
    c = len(now.carriers)
    errors, background = open_item(data, plan.usage, masks, i, s, now)
    pays = False
    for a in range(c):
        pays |= now.cells[OPEN_ONES, a, 0] > now.cells[OPEN_ZEROS, a, 0]
    # Logarithms are only taken where they matter.
    says = evidence_of_cell(background, plan.density[s]) if pays else NOTHING
    rides = plan.of_all[s] and background >= RIDES
    needed = plan.needed[s, 0], plan.needed[s, 1]
    terms = data.counted, data.cross, data.codes[i], plan.log_total
    choose_carriers(terms, now.cells, 0, errors, plan.alterations, rides, says, needed, now.carriers, now.some)
    changed = False
    bit = ONE << np.uint64(s % 64)
    for a in range(c):
        if now.carriers[a] != carries(masks, a, i, s):
            masks[a, i, s // 64] ^= bit
            changed = True
    return changed


@compiled()
def sum_items(data: Data, plan: Plan, masks: Words, begin: int, end: int, sums: Sums) -> None:
    """Add up what f and the next plan need of these items."""
    now = make_scratch(data)
    c = len(data.edges) - 1
    for i in range(begin, end):
        weight = data.weights[i]
        cover_item(data, plan.usage, masks, i, now)
        add_code(data, i, now.totals[ERRORS], weight, sums.code)
        for s in range(len(plan.used)):
            carriers = find_carriers_of(masks, i, s, now.carriers)
            if carriers == 0:
                continue
            open_item(data, plan.usage, masks, i, s, now)
            sums.items[s] += weight
            sums.shared[s] += weight * (carriers == c)
            for a in range(c):
                if now.carriers[a]:
                    sums.carried[s, a] += weight
                    sums.alone[s, a] += weight * (carriers == 1)
                    sums.open_ones[s] += weight * now.cells[OPEN_ONES, a, 0]
                    sums.open_zeros[s] += weight * now.cells[OPEN_ZEROS, a, 0]
            if carriers == c:
                sums.extra[s] += weight * data.codes[i]
            else:
                own = carriers * data.codes[i] + specificity_of(data.cross, now.cells, 0, now.carriers)
                sums.extra[s] += weight * own


@compiled()
def find_carriers_of(masks: Words, i: int, s: int, carriers: Bools) -> int:
    """Find the classes that carry an item in a pattern, and count them."""
    count = 0
    for a in range(len(carriers)):
        carriers[a] = carries(masks, a, i, s)
        count += carriers[a]
    return count


@compiled()
def add_code(data: Data, i: int, errors: int, weight: int, code: Floats) -> None:
    """Add to a code what the errors of an item take: see `Sums`."""
    if errors > 0:
        code[0] += weight * errors
        code[1] += weight * (errors + 1)
        code[2] += weight * (data.counted[errors] + data.codes[i])


@compiled()
def add_codes(data: Data, errors: Ints, code: Floats) -> None:
    """Add to a code what the errors of all items take."""
    for i in range(len(errors)):
        add_code(data, i, errors[i], data.weights[i], code)


@compiled()
def weigh_all_rows(
    data: Data, plan: Plan, masks: Words, total: float, begin: int, end: int, gains: Floats, shown: Floats
) -> None:
    """Sum up for every pattern and row what using it saves, less its share of S, and the evidence: (R, 64 W)."""
    now = make_scratch(data)
    c, n_words = len(data.edges) - 1, len(data.valid)
    flat_gains, flat_shown = gains.reshape(-1), shown.reshape(-1)
    for i in range(begin, end):
        cover_item(data, plan.usage, masks, i, now)
        weight = np.float64(data.weights[i])
        worth = weight * np.log(total / max(np.float64(now.totals[ERRORS]), 0.5))
        for s in range(len(plan.used)):
            carriers = find_carriers_of(masks, i, s, now.carriers)
            if carriers == 0:
                continue
            _, background = open_item(data, plan.usage, masks, i, s, now)
            of_cell = evidence_of_cell(background, plan.density[s])
            says = weight * of_cell[0], weight * of_cell[1]
            for a in range(c):
                if now.carriers[a]:
                    for w in range(data.edges[a], data.edges[a + 1]):
                        open_ = data.valid[w] & ~(now.once[w] & ~(plan.usage[s, w] & ~now.twice[w]))
                        ones, zeros = open_ & data.columns[i, w], open_ & ~data.columns[i, w]
                        at = 64 * (s * n_words + w)
                        weigh_cells(ones, zeros, data.lanes[w], at, worth, says, flat_gains, flat_shown)
                elif carriers < c:
                    cross = 0.0
                    for b in range(c):
                        if now.carriers[b]:
                            cross += weight * data.cross[b, a]
                    for w in range(data.edges[a], data.edges[a + 1]):
                        column, at = data.columns[i, w], 64 * (s * n_words + w)
                        weigh_cells(column, ZERO, data.lanes[w], at, -cross, NOTHING, flat_gains, flat_shown)


@compiled()
def judge_items(data: Data, plan: Plan, masks: Words, begin: int, end: int, found: Evidence) -> None:
    """Add up the evidence of every pattern, and what f would be without it or its alterations."""
    now = make_scratch(data)
    c = len(data.edges) - 1
    for i in range(begin, end):
        cover_item(data, plan.usage, masks, i, now)
        weight, errors = data.weights[i], now.totals[ERRORS]
        for s in range(len(plan.used)):
            carriers = find_carriers_of(masks, i, s, now.carriers)
            if carriers == 0:
                continue
            without, background = open_item(data, plan.usage, masks, i, s, now)
            step = min(max(round(DENSITIES * plan.density[s]), 1), DENSITIES - 1)
            says = evidence_of_cell(background, step / DENSITIES)
            shown = 0.0
            for a in range(c):
                if now.carriers[a]:
                    shown += now.cells[OPEN_ONES, a, 0] * says[0] + now.cells[OPEN_ZEROS, a, 0] * says[1]
            for strong in range(2):
                if strong == 0 or shown >= plan.needed[s, 0]:
                    found.shown[strong, s] += weight * shown
                    found.shared[strong, s] += weight * (carriers == c)
                    for a in range(c):
                        found.added[strong, s, a] += weight * (carriers < c and now.carriers[a])
            add_code(data, i, without, weight, found.code[s])
            add_code(data, i, errors, -weight, found.code[s])
            add_parts(data, plan, i, s, weight, carriers, errors, now, found)


@compiled()
def add_parts(
    data: Data, plan: Plan, i: int, s: int, weight: int, carriers: int, errors: int, now: Scratch, found: Evidence
) -> None:
    """Add what the shared part of a pattern takes, or what every class adds, and what it saves."""
    c = len(now.carriers)
    if carriers == c:
        found.table[s, 0] += weight * data.codes[i]
        return
    met = 0
    for a in range(c):
        met += now.cells[ONES, a, 0]
    for a in range(c):
        if not now.carriers[a]:
            continue
        used = 0
        for w in range(data.edges[a], data.edges[a + 1]):
            used += data.row_weights[w] * count_ones(plan.usage[s, w])
        printed = used + met - 2 * now.cells[ONES, a, 0]
        found.table[s, 1 + a] += weight * (data.codes[i] + printed)
        gain = now.cells[OPEN_ONES, a, 0] - now.cells[OPEN_ZEROS, a, 0]
        add_code(data, i, errors + gain, weight, found.altered_code[s, a])
        add_code(data, i, errors, -weight, found.altered_code[s, a])


@compiled()
def shown_by_alterations(
    data: Data, plan: Plan, masks: Words, wanted: Bools, begin: int, end: int, entry: Ints, shown: Floats
) -> int:
    """List the items that classes add to patterns, where ``wanted``, (R, c), and what they show.

    Returns their number; ``entry``, (k, 3), is pattern, class and item, and has room for all, as ``shown``, (k,).
    """
    now = make_scratch(data)
    c, count = len(now.carriers), 0
    for i in range(begin, end):
        cover_item(data, plan.usage, masks, i, now)
        for s in range(len(plan.used)):
            carriers = find_carriers_of(masks, i, s, now.carriers)
            if carriers == 0 or carriers == c:
                continue
            _, background = open_item(data, plan.usage, masks, i, s, now)
            says = evidence_of_cell(background, plan.density[s])
            for a in range(c):
                if now.carriers[a] and wanted[s, a]:
                    entry[count, 0], entry[count, 1], entry[count, 2] = s, a, i
                    shown[count] = now.cells[OPEN_ONES, a, 0] * says[0] + now.cells[OPEN_ZEROS, a, 0] * says[1]
                    count += 1
    return count


@compiled()
def count_altered(masks: Words, rank: int) -> int:
    """Count the entries of all patterns that some classes carry and some do not."""
    c, n, _ = masks.shape
    carriers = np.zeros(c, dtype=np.bool_)
    count = 0
    for i in range(n):
        for s in range(rank):
            here = find_carriers_of(masks, i, s, carriers)
            if here < c:
                count += here
    return count


@compiled()
def expected_by_chance(
    data: Data, plan: Plan, masks: Words, levels: Floats, begin: int, end: int, expected: Floats
) -> None:
    """Add up how many items that a class might add to a pattern chance expects to show as much as each level.

    ``levels`` and ``expected`` are (R, c, k); a level that is not finite is left out.
    """
    now = make_scratch(data)
    c = len(now.carriers)
    wanted = np.zeros(len(levels), dtype=np.bool_)
    for s in range(len(levels)):
        wanted[s] = np.isfinite(levels[s]).any()
    for i in range(begin, end):
        cover_item(data, plan.usage, masks, i, now)
        for s in range(len(plan.used)):
            if not wanted[s] or find_carriers_of(masks, i, s, now.carriers) == c:
                continue
            _, background = open_item(data, plan.usage, masks, i, s, now)
            says = evidence_of_cell(background, plan.density[s])
            if says[0] <= 0.0:
                continue
            for a in range(c):
                trials = now.cells[OPEN_ONES, a, 0] + now.cells[OPEN_ZEROS, a, 0]
                for k in range(levels.shape[2]):
                    if np.isfinite(levels[s, a, k]):
                        tail = chance_to_show(levels[s, a, k], trials, background, says)
                        expected[s, a, k] += data.weights[i] * tail


@compiled()
def count_class_errors(data: Data, usage: Words, masks: Words, begin: int, end: int, errors: Ints) -> None:
    """Count the cells of every class and item in which data and model differ: (c, n)."""
    now = make_scratch(data)
    for i in range(begin, end):
        cover_item(data, usage, masks, i, now)
        for a in range(len(data.edges) - 1):
            errors[a, i] = 0
            for w in range(data.edges[a], data.edges[a + 1]):
                errors[a, i] += data.row_weights[w] * count_ones(now.once[w] ^ data.columns[i, w])
