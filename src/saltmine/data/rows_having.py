"""Rows that have all, or most, of the items of a pattern, whether they use it or not; and what such rows have more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.folding import stored
from saltmine.data.lazy import LazyMatrix
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix

if TYPE_CHECKING:
    from distributed import Client

# Cells, and counts, of the rows that a thread looks at together.
PART_CELLS, PART_COUNTS = 1 << 24, 1 << 22
# Lazy data of fewer rows is read in blocks of columns.
FEW_ROWS = 1 << 12


class Having(NamedTuple):
    """Counts of rows.

    Attributes
    ----------
    all_items, most_items : (c, r) int
        Rows of every class that have all, and more than half, of what classes share in a pattern; where they share
        fewer than two items, of what any class has in it.
    added_ones, added_cells, added_rows : (2, c, r) int
        Among the rows with most of what classes share, or all rows where they share fewer than two items:
        ``[0, a, s]`` are the ones, cells and rows of class a in the items that it adds to pattern s. ``[1, a, s]`` are
        those of the other classes, each in the items that it does not add itself.
    """

    all_items: Ints
    most_items: Ints
    added_ones: Ints
    added_cells: Ints
    added_rows: Ints

    @property
    def added_shares(self) -> Floats:
        """How frequent what classes add is among these rows, (2, c, r); NaN where there is nothing to count."""
        empty = np.full(self.added_cells.shape, np.nan)
        shares: Floats = np.divide(self.added_ones, self.added_cells, out=empty, where=self.added_cells > 0)
        return shares


class _Added(NamedTuple):
    """Items that class ``a`` adds to pattern ``s``, as they are counted in some classes; set number ``number``."""

    a: int
    s: int
    side: int
    classes: list[int]
    size: int
    number: int


class ItemSets:
    """The sets of items whose hits are counted in every row: those of the patterns, and those that classes add.

    Parameters
    ----------
    components : (r, n) bool
    alterations : (c, r, n) bool
    weights : (n,) int, optional
        How many columns that are alike every item stands for.

    Examples
    --------
    >>> shared = np.array([[True, True, False]])
    >>> added = np.array([[[False, False, True]], [[False, False, False]]])
    >>> rows = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=bool)
    >>> found = count_having(rows, ItemSets(shared, added), np.array([0, 0, 1, 1]))
    >>> found.all_items.tolist(), found.added_shares[:, 0, 0].tolist(), found.added_rows[:, 0, 0].tolist()
    ([[2], [1]], [1.0, 0.0], [2, 1])
    """

    def __init__(self, components: Bools, alterations: Bools, weights: Ints | None = None) -> None:
        self.n_classes, self.rank = alterations.shape[:2]
        self._weights = np.ones(components.shape[1], dtype=np.int64) if weights is None else weights
        # One pattern at a time: a product would make numbers of all items at once.
        self.shares_enough = np.array([self._size(items) >= 2 for items in components], dtype=bool)
        sets, self.added = list[NDArray[np.int32]](), list[_Added]()
        for s, items in enumerate(components):
            whole = items if self.shares_enough[s] else items | np.logical_or.reduce(alterations[:, s], axis=0)
            sets.append(np.flatnonzero(whole).astype(np.int32))
        for s in range(self.rank):
            for a in [a for a in range(self.n_classes) if alterations[a, s].any()]:
                own = np.flatnonzero(alterations[a, s]).astype(np.int32)
                self._add(sets, own, _Added(a, s, 0, [a], 0, 0))
                lacking: dict[bytes, list[int]] = {}
                for b in range(self.n_classes):
                    lacking.setdefault((~alterations[b, s, own]).tobytes(), []).append(b)
                for chosen, classes in lacking.items():
                    self._add(sets, own[np.frombuffer(chosen, dtype=bool)], _Added(a, s, 1, classes, 0, 0))
        items = np.concatenate([np.zeros(0, dtype=np.int32), *sets])
        begins = np.cumsum([0, *(len(chosen) for chosen in sets)]).astype(np.int32)
        hits = self._weights.astype(np.int32)[items]
        # Rows times these are the hits of every set.
        self.items = sp.csc_array((hits, items, begins), shape=(components.shape[1], len(sets))).tocsr()
        self.sizes = np.array([self._size(chosen) for chosen in sets[: self.rank]], dtype=np.int64)

    def _add(self, sets: list[NDArray[np.int32]], items: NDArray[np.int32], entry: _Added) -> None:
        if len(items):
            self.added.append(entry._replace(size=self._size(items), number=len(sets)))
            sets.append(items)

    def _size(self, items: NDArray[np.int32] | Bools) -> int:
        return int(self._weights[items].sum())

    def reduce(self, hits: Ints, numbers: Indices) -> Having:
        """Count the rows of every class by their hits."""
        found = self.nothing()
        of_patterns, sizes = hits[:, : self.rank], self.sizes
        has_most: Bools = 2 * of_patterns > sizes
        for a in range(self.n_classes):
            own = numbers == a
            found.all_items[a] = np.count_nonzero(of_patterns[own] >= sizes, axis=0)
            found.most_items[a] = np.count_nonzero(has_most[own], axis=0)
        for a, s, side, classes, size, number in self.added:
            is_chosen = np.zeros(self.n_classes, dtype=bool)
            is_chosen[classes] = True
            chosen = is_chosen[numbers]
            if self.shares_enough[s]:
                chosen &= has_most[:, s]
            count = int(np.count_nonzero(chosen))
            found.added_ones[side, a, s] += int(hits[chosen, number].sum())
            found.added_cells[side, a, s] += count * size
            found.added_rows[side, a, s] += count
        return found

    def nothing(self) -> Having:
        """Return counts of nothing."""
        of_classes = [np.zeros((self.n_classes, self.rank), dtype=np.int64) for _ in range(2)]
        return Having(*of_classes, *(np.zeros((2, self.n_classes, self.rank), dtype=np.int64) for _ in range(3)))

    def count(self, rows: BinaryMatrix, numbers: Indices) -> Having:
        """Count the rows of a matrix in memory."""
        return self.reduce(hits_of(self.items, rows), numbers)


def hits_of(items: sp.csr_array, rows: BinaryMatrix) -> Ints:
    """Count the items of every set, (n, sets), in every row, (m, sets)."""
    if isinstance(rows, np.ndarray):
        return np.asarray((items.T @ rows.T.astype(np.int32)).T)
    return np.asarray((rows.astype(np.int32) @ items).toarray())


def count_having_in_memory(
    data: BinaryMatrix, sets: ItemSets, numbers: Indices, columns: Indices | None = None
) -> Having:
    """Count the rows of every class that have the items of patterns, of these columns, some rows at a time."""
    if not sets.rank:
        return sets.nothing()
    columns = np.arange(data.shape[1]) if columns is None else columns
    count = (
        _hits_of_cells(data, sets, columns) if isinstance(data, np.ndarray) else _hits_of_stored(data, sets, columns)
    )
    found = list[Having]()

    def reduce(part: slice) -> None:
        hits = np.zeros((part.stop - part.start, sets.items.shape[1]), dtype=np.int64)
        count(part, hits)
        found.append(sets.reduce(hits, numbers[part]))

    width = max(data.shape[1] * PART_COUNTS / PART_CELLS, sets.items.shape[1], 1)
    parts = cut(data.shape[0], int(width), PART_COUNTS)
    with ThreadTeam() if len(parts) > 1 else ThreadTeam(1) as team:
        team.run(reduce, [(part,) for part in parts])
    return _sum(sets, found)


def _hits_of_cells(data: Bools, sets: ItemSets, columns: Indices) -> Callable[[slice, Ints], None]:
    """Return what counts the hits of some rows."""
    by_set = sets.items.tocsc()
    of_sets = by_set.indptr, columns[by_set.indices].astype(np.int32), by_set.data

    def count(part: slice, hits: Ints) -> None:
        _core.count_set_hits_of_cells(np.ascontiguousarray(data[part]), *of_sets, hits)

    return count


def _hits_of_stored(data: sp.csr_array, sets: ItemSets, columns: Indices) -> Callable[[slice, Ints], None]:
    """Return what counts the hits of some rows of sparse data, without a copy of it."""
    item_of = np.full(data.shape[1], -1, dtype=np.int32)
    item_of[columns] = np.arange(sets.items.shape[0], dtype=np.int32)
    of_items = sets.items.indptr, sets.items.indices, sets.items.data

    def count(part: slice, hits: Ints) -> None:
        _core.count_set_hits(stored(data), part.start, item_of, *of_items, hits)

    return count


def count_having(
    data: LazyMatrix | BinaryMatrix,
    sets: ItemSets,
    numbers: Indices,
    binarize: float | None = None,
    client: Client | None = None,
) -> Having:
    """Count the rows of every class that have the items of patterns, some rows or columns at a time.

    ``numbers`` are the classes of the rows.
    """
    if not sets.rank:
        return sets.nothing()
    if not isinstance(data, LazyMatrix):
        return count_having_in_memory(data, sets, numbers)
    axis = 1 if data.shape[0] < FEW_ROWS else 0
    edges = data.edges(axis)
    blocks = list(zip(data.sources(axis, edges, binarize), pairwise(edges), strict=True))
    if axis == 0:
        counted = [(sets.count, block, numbers[begin:end]) for block, (begin, end) in blocks]
        return _sum(sets, _compute(counted, client))
    hits = _compute([(hits_of, sets.items[begin:end], block) for block, (begin, end) in blocks], client)
    return sets.reduce(np.sum(hits, axis=0, dtype=np.int64), numbers)


def _sum(sets: ItemSets, found: Iterable[Having]) -> Having:
    total = sets.nothing()
    for part in found:
        for sums, counts in zip(total, part, strict=True):
            sums += counts
    return total


def _compute(calls: list[tuple[Any, ...]], client: Client | None) -> list[Any]:
    """Call functions with delayed blocks, where these are."""
    # An optional extra, which lazy data comes from.
    from dask import compute, delayed

    tasks = [delayed(function)(*arguments) for function, *arguments in calls]
    if client is None:
        return list(compute(*tasks, scheduler="threads"))
    return list(client.gather(client.compute(tasks)))
