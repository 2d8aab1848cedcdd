"""The data as words of 64 rows, and loops over the rows of a block, which are compiled (``core/row_blocks.cpp``).

A pattern ``s`` is its rows, ``usage[s]`` (words), and ``carry[s, a, i]``: whether class a has item i in it. An item
that every class carries is in X, one that only some carry is in their V_a; so every state satisfies the definition of
alterations. Rows are packed class by class, each class beginning a new word.

A cell is *open* for a pattern where no other pattern covers it: only there does the pattern change anything, and only
there can it show evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints, Words
from saltmine.data.bits import BitMatrix, Layout
from saltmine.mdl import code_length
from saltmine.mdl.code_length import Costs
from saltmine.mdl.row_sizes import frequency_bins, row_shifts


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
    """The patterns of a block, with room for so many: those not there have no rows."""

    usage: Words  # (R, W)
    carry: Bools  # (R, c, n)
    masks: Words  # (c, n, K): patterns that carry an item in a class
    covered: Words  # (n, W): cells that some pattern covers
    covered_twice: Words  # (n, W): cells that two patterns cover, or more


class WithoutPattern(NamedTuple):
    """The data as it looks without one pattern."""

    open_cells: Words  # (n, W)
    errors: Ints  # (n,)
    background: Floats  # (n,): share of ones among the open cells


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


def make_state(columns: Words, rank: int, n_classes: int) -> State:
    """Return the state without patterns, with room for ``rank`` of them."""
    n, n_words = columns.shape
    return State(
        usage=np.zeros((rank, n_words), dtype=np.uint64),
        carry=np.zeros((rank, n_classes, n), dtype=bool),
        masks=np.zeros((n_classes, n, -(-rank // 64)), dtype=np.uint64),
        covered=np.zeros_like(columns),
        covered_twice=np.zeros_like(columns),
    )


def make_without(columns: Words) -> WithoutPattern:
    """Return room for the data without one pattern."""
    return WithoutPattern(np.empty_like(columns), np.empty(len(columns), dtype=np.int64), np.empty(len(columns)))


def state_length(costs: Costs, used: Ints, extra: Floats, errors: Ints) -> float:
    """Return f of a state, with the specificity term of the search."""
    patterns = code_length.patterns_code(costs.counted, used, extra)
    return code_length.description_length(code_length.errors_code(costs, errors, patterns))


def leave_out(data: Data, state: State, s: int, items: Ints, without: WithoutPattern) -> None:
    """Look at these items without pattern ``s``."""
    _core.leave_out(data, state, s, items, without)


def count_cells(
    data: Data, open_cells: Words, rows: Words, items: Ints, cells: Ints, ranges: Ints | None = None
) -> None:
    """Count open ones, open zeros and all ones among the rows, for these items.

    ``cells`` is (3, c, n), or (3, k, n) for k ranges of words, (k, 2); items that are not asked for stay as they are.
    """
    _core.count_cells(data, open_cells, rows, items, class_ranges(data) if ranges is None else ranges, cells)


def class_ranges(data: Data) -> Ints:
    """Return the words of every class, (c, 2)."""
    return np.stack([data.edges[:-1], data.edges[1:]], axis=1)


def weigh_rows(data: Data, open_cells: Words, carry: Bools, errors: Ints, total: float) -> Floats:
    """Sum up for every row what a pattern saves there, less its share of S, (64 W,).

    ``errors``, (n,), are those of the items with the pattern, ``total`` counts all usage and errors.
    """
    gains = np.zeros(64 * len(data.row_mask))
    _core.weigh_rows(data, open_cells, carry, errors, float(total), gains)
    return gains


def choose_rows(data: Data, gains: Floats, price: float) -> Words:
    """Take the rows that save more than one more usage costs: a row uses what shortens its description."""
    rows = np.zeros_like(data.row_mask)
    _core.choose_rows(data, gains, float(price), rows)
    return rows


def item_evidence(
    data: Data, without: WithoutPattern, rows: Words, carry: Bools, density: float, sizes: Ints, shifts: Floats
) -> Floats:
    """Return the evidence of every item, (n,): its cells in these rows against chance, which knows both margins.

    ``sizes``, (64 W,), are the sizes of the rows, and ``shifts`` those of rows of every size.
    """
    shown, of_cells = np.empty(len(without.background)), (without.open_cells, without.background)
    _core.item_evidence(data, *of_cells, rows, carry, float(density), sizes, shifts, shown)
    return shown


def find_carriers(data: Data, items: Bools, worth: Floats, price: float) -> Words:
    """Return the rows that carry a pattern: it would shorten their description if there were no other.

    ``items``, (n,), are those that all classes carry, ``worth`` is what covering a one of every item saves.
    """
    rows = np.zeros_like(data.row_mask)
    _core.find_carriers(data, items, worth, float(price), rows)
    return rows


def count_by_stratum(data: Data, strata: Words, rows: Words) -> Ints:
    """Count the rows of the input in every group of rows of a size and every class, (G, c)."""
    counts = np.zeros((len(strata), len(data.edges) - 1), dtype=np.int64)
    _core.count_by_stratum(data, strata, rows, counts)
    return counts


def exchange(data: Data, state: State, s: int, rows: Words, carry: Bools) -> None:
    """Give pattern ``s`` other rows and items."""
    _core.exchange(data, state, s, rows, carry)
