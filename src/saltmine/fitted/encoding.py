"""Encode rows with the patterns of a class: which patterns a row uses, and its code length in nats.

Every class has its own code table, from its rows of the training data and one average row of all classes: a pattern or
an item that is rare in a class is expensive there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Indices, Ints
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix

# Pseudo-count for patterns and items that were never used: the code exists, but it is long.
PSEUDO_COUNT = 0.5
# Gains are compared after rounding, so that rounding errors never decide.
DECIMALS = 9

# Work on rows, in units of one item or pattern of a row and table: that of a panel, which takes some milliseconds, and
# at least that of laying out a row of all items, which every panel begins with.
PANEL_WORK = 1 << 20
# Cells of the patterns of all tables that are worth the time that it takes to start threads.
MIN_CELLS = 1 << 20

Nats = NDArray[np.float64]
# Rows in the form of CSR: where those of each begin and end, and their columns.
Ones: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]


@dataclass(frozen=True)
class CodeTable:
    """Patterns of one class, (r, n), and the code lengths of patterns and of single items in nats."""

    patterns: Bools
    pattern_nats: Nats
    item_nats: Nats

    @classmethod
    def from_counts(
        cls, patterns: Bools, usage: Ints, noise: Ints, weights: Ints | Bools, prior: Nats | float = PSEUDO_COUNT
    ) -> CodeTable:
        """Return the table of a class from its counts of pattern usage and of errors per item.

        ``prior``, (r + n,), is added to the counts. ``weights``, (n,), are the columns that an item stands for. Items
        that occur nowhere in the training data have none and take no share of the code, so that empty columns change
        nothing; in new rows they cost as much as an item without errors.

        Examples
        --------
        >>> import numpy as np
        >>> table = CodeTable.from_counts(np.ones((1, 2), bool), np.array([6]), np.array([1, 1]), np.ones(2, bool))
        >>> bool(table.pattern_nats[0] < table.item_nats[0])
        True
        """
        counts = np.concatenate([usage, noise]) + prior
        total = counts[: len(usage)].sum() + counts[len(usage) :] @ weights
        # A class without any ones still has codes, all equally long.
        nats = -np.log(counts / max(total, counts.min(initial=np.inf)))
        return cls(patterns, nats[: len(usage)], nats[len(usage) :])


def shared_codes(used: Ints, errors: Ints, weights: Ints | None = None) -> tuple[Nats, Nats]:
    """Return the code lengths of patterns and of items in f, which knows no classes.

    ``used``, (r,), counts the rows of every pattern, ``errors``, (n,), the errors of every item, behind each of which
    there are ``weights`` columns.

    Examples
    --------
    >>> import numpy as np
    >>> pattern_nats, item_nats = shared_codes(np.array([6]), np.array([1, 1]), np.array([1, 1]))
    >>> bool(pattern_nats[0] < item_nats[0])
    True
    """
    weights = np.ones(len(errors), dtype=np.int64) if weights is None else weights
    total = max(float(used.sum() + weights @ errors), 1.0)
    pattern_nats: Nats = np.log(total / np.maximum(used, PSEUDO_COUNT))
    item_nats: Nats = np.log(total / np.maximum(errors, PSEUDO_COUNT)) * weights
    return pattern_nats, item_nats


def class_prior(usage: Ints, noise: Ints, n_rows: int, weights: Ints | Bools) -> Nats:
    """Return what the code of every class begins with, (r + n,): one row as it is on average over all classes.

    A small class then has codes like those of the others where its own few rows say nothing. ``usage`` is (c, r),
    ``noise`` (c, n); ``weights`` are those of `CodeTable.from_counts`.

    Examples
    --------
    >>> import numpy as np
    >>> class_prior(np.array([[6], [2]]), np.array([[0], [7]]), 4, np.ones(1, bool)).round(2).tolist()
    [1.99, 1.76]
    """
    counts = np.concatenate([usage.sum(axis=0), noise.sum(axis=0)]) + PSEUDO_COUNT
    counted = np.concatenate([np.ones(usage.shape[1]), weights])
    # Rows without any ones say nothing about the size of one either.
    per_row = max((usage.sum() + noise.sum(axis=0) @ weights) / max(n_rows, 1), PSEUDO_COUNT)
    prior: Nats = counts * (per_row / max(counts @ counted, PSEUDO_COUNT))
    return prior


def lengths_left_out(
    rows: BinaryMatrix,
    usage: Bools,
    numbers: Indices,
    patterns: Callable[[int], Bools],
    used: Ints,
    noise: Ints,
    prior: Nats,
    weights: Ints,
) -> Nats:
    """Return the code lengths of rows of the fit by codes that do not know them, (m,): their own counts are taken off.

    ``usage``, (m, r), are the patterns that they use, ``numbers``, (m,), their classes. ``patterns`` returns those of a
    class, (r, n); ``used``, (c, r), and ``noise``, (c, n), count what it has with these rows. Every item stands for
    ``weights``, (n,), columns.

    Examples
    --------
    >>> import numpy as np
    >>> row, nothing = np.array([[True, True]]), np.zeros((1, 0), dtype=bool)
    >>> counts = np.zeros((1, 0), int), np.array([[3, 1]]), np.ones(2), np.ones(2, int)
    >>> of_two = lengths_left_out(row, nothing, np.array([0]), lambda a: np.zeros((0, 2), bool), *counts)
    >>> bool(np.isclose(of_two[0], -np.log(3 / 4) - np.log(1 / 4)))
    True
    """
    counts, r = np.hstack([used, noise]), used.shape[1]
    nats: Nats = -np.log(np.maximum(counts - 1, 0) + prior)
    lengths, n_parts = np.zeros(rows.shape[0]), np.zeros(rows.shape[0], dtype=np.int64)
    ones = _ones(rows, slice(0, rows.shape[0]))

    def measure(a: int) -> None:
        own_nats, item_nats = np.ascontiguousarray(nats[a, :r]), np.ascontiguousarray(nats[a, r:])
        codes = np.ascontiguousarray(patterns(a)), own_nats, item_nats
        _core.lengths_of_usage(*codes, weights, ones, numbers, a, usage, lengths, n_parts)

    _side_by_side(measure, [(a,) for a in range(len(used))], worth_it=counts.size * (r + 1) > MIN_CELLS)
    total = ((counts + prior) @ np.concatenate([np.ones(r), weights]))[numbers] - n_parts
    spread: Nats = n_parts * np.log(np.maximum(total, prior.min(initial=PSEUDO_COUNT)))
    return lengths + spread


class Encoder:
    """Code tables of some classes, laid out for encoding rows with them."""

    def __init__(self, tables: Sequence[CodeTable]) -> None:
        self.n_tables, (self.n_patterns, self.n_items) = len(tables), tables[0].patterns.shape
        self.handle = _core.Encoder(len(tables))

        def lay_out(a: int) -> None:
            patterns = np.ascontiguousarray(tables[a].patterns)
            nats = np.ascontiguousarray(tables[a].pattern_nats), np.ascontiguousarray(tables[a].item_nats)
            self.handle.set_code_table(a, patterns, *nats)

        n_cells = len(tables) * self.n_patterns * self.n_items
        _side_by_side(lay_out, [(a,) for a in range(len(tables))], worth_it=n_cells > MIN_CELLS)


def encode(rows: BinaryMatrix, table: CodeTable) -> tuple[Bools, Nats]:
    """Return for every row the patterns that shorten its code, (m, r), and its code length in nats, (m,).

    Greedy: the pattern that saves most is added until none saves; patterns that others made superfluous are removed;
    every pattern is tried without; all of this is repeated until nothing shortens the code.
    """
    return encode_by_own(rows, Encoder([table]), np.zeros(rows.shape[0], dtype=np.intp))


def encode_by_own(rows: BinaryMatrix, encoder: Encoder, table_of: Indices) -> tuple[Bools, Nats]:
    """Return what `encode` does, every row by a table of its own: ``table_of``, (m,), has their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> all_items = CodeTable(np.ones((1, 3), bool), np.ones(1), np.ones(3))
    >>> usage, lengths = encode_by_own(np.ones((2, 3), bool), Encoder([all_items] * 2), np.array([0, 1]))
    >>> usage.tolist(), lengths.tolist()
    ([[True], [True]], [1.0, 1.0])
    """
    usage = np.zeros((rows.shape[0], encoder.n_patterns), dtype=bool)
    lengths = np.zeros(rows.shape[0])

    def task(part: slice, ones: Ones) -> None:
        encoder.handle.encode_by_own(ones, table_of[part], usage[part], lengths[part])

    _run(task, rows, encoder, of_every=1)
    return usage, lengths


def encode_by_all(rows: BinaryMatrix, encoder: Encoder) -> Nats:
    """Return the code lengths that `encode` gives every row by every table, (m, c).

    Examples
    --------
    >>> import numpy as np
    >>> tables = [CodeTable(np.ones((1, 3), bool), np.array([nats]), np.ones(3)) for nats in (1.0, 2.0)]
    >>> encode_by_all(np.ones((1, 3), bool), Encoder(tables)).tolist()
    [[1.0, 2.0]]
    """
    lengths = np.zeros((rows.shape[0], encoder.n_tables))

    def task(part: slice, ones: Ones) -> None:
        encoder.handle.encode_by_all(ones, lengths[part])

    _run(task, rows, encoder, of_every=encoder.n_tables)
    return lengths


def shorten(rows: BinaryMatrix, usage: Bools, encoder: Encoder, table_of: Indices) -> Bools:
    """Return the patterns that `encode_by_own` gives every row, or those it uses, (m, r), where they are shorter."""
    best = usage.copy()

    def task(part: slice, ones: Ones) -> None:
        encoder.handle.shorten(ones, table_of[part], best[part])

    _run(task, rows, encoder, of_every=1)
    return best


def _run(task: Callable[[slice, Ones], None], rows: BinaryMatrix, encoder: Encoder, of_every: int) -> None:
    """Call a task with some of the rows and their ones, until it has had all rows.

    Every row is encoded by ``of_every`` tables.
    """
    m, n = rows.shape
    if encoder.n_items != n:
        raise ValueError(f"rows have {n} columns, code tables {encoder.n_items}")
    mean_ones = int(n if isinstance(rows, np.ndarray) else rows.nnz / max(m, 1))
    parts = cut(m, of_every * (mean_ones + encoder.n_patterns), max(PANEL_WORK, of_every * n))
    _side_by_side(lambda part: task(part, _ones(rows, part)), [(part,) for part in parts], worth_it=len(parts) > 1)


def _side_by_side(task: Callable[..., None], panels: list[tuple[Any, ...]], worth_it: bool) -> None:
    """Call a task with every panel, by several threads where that is worth the time that it takes to start them."""
    if worth_it:
        with ThreadTeam() as team:
            team.run(task, panels)
    else:
        for panel in panels:
            task(*panel)


def _ones(rows: BinaryMatrix, part: slice) -> Ones:
    """Return where the ones of some rows begin and end, and their columns."""
    if isinstance(rows, np.ndarray):
        dense = np.ascontiguousarray(rows[part])
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))])
        items = np.empty(starts[-1], dtype=np.int32)
        _core.list_ones(dense, starts, items)
        return starts, items
    starts = rows.indptr[part.start : part.stop + 1].astype(np.int64)
    items = rows.indices[starts[0] : starts[-1]].astype(np.int32, copy=False)
    return starts - starts[0], items
