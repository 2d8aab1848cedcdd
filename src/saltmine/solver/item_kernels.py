"""Compiled loops over items for given rows: each item on its own, all patterns at once.

Given who uses which pattern, the choice of one item does not depend on any other. So an item is taken up once, all
patterns are weighed for it while its few words are at hand, and nothing is kept of it but the patterns that carry it
(``masks``). The rows are then weighed for all patterns in one pass over the items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import ONE, ZERO, count_ones, lowest_one
from saltmine.mdl.class_tests import join, log_p_twice, sum_classes
from saltmine.mdl.code_length import ONES, OPEN_ONES, OPEN_ZEROS, add_errors
from saltmine.mdl.evidence import log_likelihood_ratio, min_item_evidence, rounded_density
from saltmine.mdl.item_choice import choose_carriers, evidence_to_join
from saltmine.mdl.scores import ItemState, ModelSums, ScoreSums, add_to_model, add_to_scores
from saltmine.solver.kernels import Data, cell_evidence, weigh_cells

# Ratio of cells that do not count as evidence.
NO_EVIDENCE = (0.0, 0.0)

# An item is chosen for all patterns in turn, and again while anything changes.
TURNS = 3
# Places in the totals of an item; the third is that of its open ones, `ONES`.
ERRORS, OPEN = 0, 1


class Plan(NamedTuple):
    """What the choice of an item depends on besides its own column."""

    usage: Words  # (R, W)
    used: Ints  # (R, c): rows of every pattern
    density: Floats  # (R,): share of ones among the open cells of a pattern
    items: Ints  # (R,): items of every pattern, as far as they are known
    typical: Bools  # (R,): patterns that are asked for no evidence
    log_total: float  # logarithm of all usage and errors
    may_alter: Bools  # (R, c): classes that may add items


class Scratch(NamedTuple):
    """Room to work on one item."""

    covered: Words  # (W,): cells that some pattern covers
    covered_twice: Words  # (W,): cells that two cover, or more
    totals: Ints  # (3,): errors, open cells, and ones among them
    cells: Ints  # (3, c, 1)
    carriers: Bools  # (c,)
    some: Bools  # (c,)


@compiled()
def make_scratch(data: Data) -> Scratch:
    """Return room to work on one item."""
    n_words, c = len(data.row_mask), len(data.edges) - 1
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
    """Return whether class a carries item i in pattern s."""
    return bool((masks[a, i, s // 64] >> np.uint64(s % 64)) & ONE != ZERO)


@compiled()
def find_carriers_of(masks: Words, i: int, s: int, carriers: Bools) -> int:
    """Find the classes that carry an item in a pattern, and count them."""
    count = 0
    for a in range(len(carriers)):
        carriers[a] = carries(masks, a, i, s)
        count += carriers[a]
    return count


@compiled()
def cover_item(data: Data, usage: Words, masks: Words, i: int, now: Scratch) -> None:
    """Find the cells of an item that patterns cover, and count the others."""
    now.covered[:] = ZERO
    now.covered_twice[:] = ZERO
    for a in range(len(data.edges) - 1):
        for k in range(masks.shape[2]):
            left = masks[a, i, k]
            while left != ZERO:
                s = 64 * k + lowest_one(left)
                for w in range(data.edges[a], data.edges[a + 1]):
                    now.covered_twice[w] |= now.covered[w] & usage[s, w]
                    now.covered[w] |= usage[s, w]
                left &= left - ONE
    errors, size, ones = 0, 0, 0
    for w in range(len(data.row_mask)):
        open_ = data.row_mask[w] & ~now.covered[w]
        errors += data.row_weights[w] * count_ones(now.covered[w] ^ data.columns[i, w])
        size += data.row_weights[w] * count_ones(open_)
        ones += data.row_weights[w] * count_ones(open_ & data.columns[i, w])
    now.totals[ERRORS], now.totals[OPEN], now.totals[ONES] = errors, size, ones


@compiled(error_model="numpy")
def leave_out_of_item(data: Data, usage: Words, masks: Words, i: int, s: int, now: Scratch) -> tuple[int, float]:
    """Look at an item without pattern s: its errors, and the share of ones among its open cells.

    The cells of the rows of the pattern are counted in ``now.cells``.
    """
    errors, size, ones = now.totals[ERRORS], now.totals[OPEN], now.totals[ONES]
    for a in range(len(data.edges) - 1):
        carried = carries(masks, a, i, s)
        open_ones, open_zeros, all_ones = 0, 0, 0
        for w in range(data.edges[a], data.edges[a + 1]):
            weight, column, rows = data.row_weights[w], data.columns[i, w], usage[s, w]
            open_ = rows & ~(now.covered_twice[w] if carried else now.covered[w])
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
def solve_items(data: Data, plan: Plan, masks: Words) -> None:
    """Choose anew which patterns carry the items, from what ``masks`` say now; f falls with every change."""
    now = make_scratch(data)
    rank, c = plan.used.shape
    gains, order = np.empty(rank, dtype=np.int64), np.empty(rank, dtype=np.int64)
    used = plan.used.sum(axis=1)
    for i in range(len(data.columns)):
        cover_item(data, plan.usage, masks, i, now)
        count = 0
        for s in range(rank):
            if used[s] == 0:
                continue
            leave_out_of_item(data, plan.usage, masks, i, s, now)
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
    """Choose the classes that carry an item in pattern s, given the other patterns; return whether that changed."""
    c = len(now.carriers)
    errors, background = leave_out_of_item(data, plan.usage, masks, i, s, now)
    pays = False
    for a in range(c):
        pays |= now.cells[OPEN_ONES, a, 0] > now.cells[OPEN_ZEROS, a, 0]
    # Logarithms are only taken where they matter.
    ratio = log_likelihood_ratio(background, plan.density[s]) if pays else NO_EVIDENCE
    least = evidence_to_join(data.costs.codes[i], background, 0 if plan.typical[s] else plan.items[s])
    terms = data.costs.counted, data.costs.cross, data.costs.codes[i], plan.log_total
    choose_carriers(terms, now.cells, 0, errors, plan.may_alter[s], ratio, least, now.carriers, now.some)
    changed = False
    bit = ONE << np.uint64(s % 64)
    for a in range(c):
        if now.carriers[a] != carries(masks, a, i, s):
            masks[a, i, s // 64] ^= bit
            changed = True
    return changed


@compiled()
def sum_items(data: Data, plan: Plan, masks: Words, sums: ModelSums) -> None:
    """Add up what f and the next plan need of the items."""
    now = make_scratch(data)
    for i in range(len(data.columns)):
        cover_item(data, plan.usage, masks, i, now)
        add_errors(data.costs, i, now.totals[ERRORS], data.costs.weights[i], sums.code)
        for s in range(len(plan.used)):
            if find_carriers_of(masks, i, s, now.carriers) > 0:
                leave_out_of_item(data, plan.usage, masks, i, s, now)
                add_to_model(data.costs, i, now.cells, 0, now.carriers, plan.used[s], s, sums)


@compiled()
def score_items(data: Data, plan: Plan, masks: Words, sums: ScoreSums) -> None:
    """Add up the evidence of every pattern, and what f would be without it or what classes add to it."""
    now = make_scratch(data)
    for i in range(len(data.columns)):
        cover_item(data, plan.usage, masks, i, now)
        for s in range(len(plan.used)):
            if find_carriers_of(masks, i, s, now.carriers) == 0:
                continue
            without, background = leave_out_of_item(data, plan.usage, masks, i, s, now)
            shown = evidence_of_item(data, plan, i, s, background, now)
            item, least = (
                ItemState(now.totals[ERRORS], without, shown),
                min_item_evidence(data.costs.codes[i], plan.items[s]),
            )
            add_to_scores(data.costs, i, now.cells, 0, now.carriers, item, least, s, sums)


@compiled()
def evidence_of_item(data: Data, plan: Plan, i: int, s: int, background: float, now: Scratch) -> float:
    """Return the evidence of an item in pattern s, in the classes that carry it."""
    shown = 0.0
    if 0.0 < background < 1.0:
        odds, density = background / (1.0 - background), rounded_density(plan.density[s])
        for a in range(len(now.carriers)):
            for w in range(data.edges[a], data.edges[a + 1]) if now.carriers[a] else range(0):
                cells = plan.usage[s, w] & ~now.covered_twice[w]
                if cells != ZERO:
                    shown += data.row_weights[w] * cell_evidence(
                        data.columns[i, w], cells, 64 * w, odds, density, data.row_shifts, data.row_odds
                    )
    return shown


@compiled()
def weigh_all_rows(data: Data, plan: Plan, masks: Words, total: float, gains: Floats) -> None:
    """Sum up for every pattern and row what using it saves, less its share of S, (R, 64 W)."""
    now = make_scratch(data)
    c, n_words = len(data.edges) - 1, len(data.row_mask)
    flat = gains.reshape(-1)
    for i in range(len(data.columns)):
        cover_item(data, plan.usage, masks, i, now)
        weight = np.float64(data.costs.weights[i])
        worth = weight * np.log(total / max(np.float64(now.totals[ERRORS]), 0.5))
        for s in range(len(plan.used)):
            n_carriers = find_carriers_of(masks, i, s, now.carriers)
            if n_carriers == 0:
                continue
            for a in range(c):
                if now.carriers[a]:
                    for w in range(data.edges[a], data.edges[a + 1]):
                        open_ = data.row_mask[w] & ~(now.covered[w] & ~(plan.usage[s, w] & ~now.covered_twice[w]))
                        ones, zeros = open_ & data.columns[i, w], open_ & ~data.columns[i, w]
                        weigh_cells(ones, zeros, data.word_sizes[w], 64 * (s * n_words + w), worth, flat)
                elif n_carriers < c:
                    cross = 0.0
                    for b in range(c):
                        if now.carriers[b]:
                            cross += weight * data.costs.cross[b, a]
                    for w in range(data.edges[a], data.edges[a + 1]):
                        column, at = data.columns[i, w], 64 * (s * n_words + w)
                        weigh_cells(column, ZERO, data.word_sizes[w], at, -cross, flat)


@compiled()
def weigh_carriers(data: Data, plan: Plan, masks: Words, total: float, gains: Floats) -> None:
    """Sum up for every pattern and row what using it would save if there were no other pattern, (R, 64 W).

    By the items that all classes carry.
    """
    now = make_scratch(data)
    c, n_words = len(data.edges) - 1, len(data.row_mask)
    flat = gains.reshape(-1)
    for i in range(len(data.columns)):
        cover_item(data, plan.usage, masks, i, now)
        worth = data.costs.weights[i] * np.log(total / max(np.float64(now.totals[ERRORS]), 0.5))
        for s in range(len(plan.used)):
            if find_carriers_of(masks, i, s, now.carriers) == c:
                for w in range(n_words):
                    column, at = data.columns[i, w], 64 * (s * n_words + w)
                    weigh_cells(column, data.row_mask[w] & ~column, data.word_sizes[w], at, worth, flat)


class Carriers(NamedTuple):
    """The rows that carry patterns, and groups of rows of about the same size."""

    rows: Words  # (R, W)
    strata: Words  # (G, W)
    joined: Ints  # (R, G): groups that are taken together
    sizes: Ints  # (R, G, c): rows of every group and class


@compiled()
def test_added(data: Data, among: Carriers, masks: Words, wanted: Bools, entry: Ints, log_p: Floats) -> int:
    """List the items that classes add to patterns, where ``wanted``, (R, c), and test each.

    Of the rows that carry a pattern, do more in this class have the item than in all others of their size? Returns the
    number of items; ``entry``, (k, 3), is pattern, class and item, and has room for all, as ``log_p``, (k,).
    """
    rank, c = wanted.shape
    found, hits, count = np.zeros(c, dtype=np.bool_), np.zeros((len(among.strata), c), dtype=np.int64), 0
    for i in range(len(data.columns)):
        for s in range(rank):
            n_carriers = find_carriers_of(masks, i, s, found)
            if n_carriers == 0 or n_carriers == c:
                continue
            hits[:] = 0
            for a in range(c):
                for w in range(data.edges[a], data.edges[a + 1]):
                    having = among.rows[s, w] & data.columns[i, w]
                    for g in range(len(hits) if having != ZERO else 0):
                        hits[g, a] += data.row_weights[w] * count_ones(having & among.strata[g, w])
            own_hits, own_rows = join(hits, among.joined[s]), join(among.sizes[s], among.joined[s])
            all_hits, all_rows = sum_classes(own_hits), sum_classes(own_rows)
            for a in range(c):
                if found[a] and wanted[s, a]:
                    entry[count, 0], entry[count, 1], entry[count, 2] = s, a, i
                    log_p[count] = 0.0
                    if 2 * own_hits[:, a].sum() > own_rows[:, a].sum():
                        log_p[count] = log_p_twice(own_hits[:, a].copy(), all_hits, own_rows[:, a].copy(), all_rows)
                    count += 1
    return count


@compiled()
def count_added(masks: Words, rank: int) -> int:
    """Count the entries of all patterns that some classes carry and some do not."""
    c, n, _ = masks.shape
    carriers = np.zeros(c, dtype=np.bool_)
    count = 0
    for i in range(n):
        for s in range(rank):
            n_carriers = find_carriers_of(masks, i, s, carriers)
            if n_carriers < c:
                count += n_carriers
    return count
