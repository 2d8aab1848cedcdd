"""An order of rows, items and classes that depends on what they contain, not on where they stand in the input.

A search draws random numbers, adds up floats and breaks ties by position. Where positions come from the content, the
same data in another order gives the same model.

`content_colours` tells things apart by their content; here it is used for data in memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from saltmine.arrays import Bools, Indices
from saltmine.data.content_colours import mix, mix_numbers, sort_by_content, sum_by
from saltmine.data.folding import Keys, add_to_columns, add_to_rows, column_keys, group
from saltmine.data.order import Order, inverse
from saltmine.data.validation import BinaryMatrix


class Table:
    """Items, and sets of rows such as classes, of data in memory; rows are the links between them.

    Parameters
    ----------
    matrix : bool ndarray or CSR of ones, (m, n)
    sets : list of (m,) int
        The set that every row belongs to, for each kind of set; -1 for none.
    known : (m, 2) keys, optional
        What is known of the rows beside that.
    """

    def __init__(self, matrix: BinaryMatrix, sets: list[Indices], known: Keys | None = None) -> None:
        self._matrix, self._sets = matrix, sets
        self._known = np.zeros((matrix.shape[0], 2), dtype=np.uint64) if known is None else known

    @property
    def work(self) -> int:
        """Cells that a look takes."""
        matrix = self._matrix
        return int(matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz)

    @cached_property
    def contents(self) -> list[Indices | None]:
        """Numbers that are equal for identical items; no two sets are identical."""
        return [group(column_keys(self._matrix))[0], *(None for _ in self._sets)]

    def look(self, colours: list[Keys]) -> list[Keys]:
        """Return sums over the rows of every item and set."""
        rows = self._rows(colours)
        sums = np.zeros((self._matrix.shape[1], 2), dtype=np.uint64)
        add_to_columns(self._matrix, rows, sums)
        return [sums, *(sum_by(of, rows, len(keys)) for of, keys in zip(self._sets, colours[1:], strict=True))]

    def _rows(self, colours: list[Keys]) -> Keys:
        """Return the colours of the rows."""
        of_items, *of_sets = colours
        keys = self._known.copy()
        for kind, (numbers, of_kind) in enumerate(zip(self._sets, of_sets, strict=True)):
            in_one = numbers >= 0
            keys[in_one] += mix(of_kind ^ np.uint64(kind + 1))[numbers[in_one]]
        add_to_rows(self._matrix, mix(of_items), keys)
        return mix(keys)

    def split(self, tied: list[Bools], colours: list[Keys]) -> TableParts:
        """Return what is tied in parts that no row, item or set that is tied connects."""
        known = self._rows(colours)
        row = group(known)[0]
        rows, items = np.flatnonzero(np.bincount(row)[row] > 1), np.flatnonzero(tied[0])
        matrix = _part(self._matrix, rows, items)
        sets = [_numbered(of[rows], among) for of, among in zip(self._sets, tied[1:], strict=True)]
        return TableParts(matrix, sets, known[rows], [int(among.sum()) for among in tied])


class TableParts:
    """The connected parts of tied rows, items and sets, so many of each kind; each part is a table."""

    def __init__(self, matrix: BinaryMatrix, sets: list[Indices], known: Keys, sizes: list[int]) -> None:
        self._matrix, self._sets, self._known = matrix, sets, known
        m, edges = matrix.shape[0], np.concatenate([[0], np.cumsum(sizes)])
        # Rows come first, then the other kinds, one after the other.
        ends = [matrix.nonzero(), *((np.flatnonzero(of >= 0), of[of >= 0]) for of in sets)]
        row, other = (np.concatenate(end) for end in zip(*ends, strict=True))
        other += m + np.repeat(edges[:-1], [len(of_kind[0]) for of_kind in ends])
        graph = sp.coo_array((np.ones(len(row), dtype=bool), (row, other)), shape=(m + edges[-1], m + edges[-1]))
        label = connected_components(graph, directed=False)[1].astype(np.intp)
        self._of_rows = label[:m]
        self.labels = np.split(label[m:], edges[1:-1])

    def links(self, label: int) -> Table:
        """Return the table of one part."""
        rows, own = np.flatnonzero(self._of_rows == label), [of == label for of in self.labels]
        matrix = _part(self._matrix, rows, np.flatnonzero(own[0]))
        sets = [_numbered(of[rows], among) for of, among in zip(self._sets, own[1:], strict=True)]
        return Table(matrix, sets, self._known[rows])


def _numbered(numbers: Indices, chosen: Bools) -> Indices:
    """Return the numbers of sets among the chosen ones; -1 for others, and for none."""
    new = np.append(np.where(chosen, np.cumsum(chosen) - 1, -1), -1)
    return new[numbers]


def canonical_order(
    matrix: BinaryMatrix,
    classes: Indices,
    n_classes: int,
    groups: Indices | None = None,
    item_names: NDArray[Any] | None = None,
) -> Order:
    """Return the order of data in memory: class by class, rows and items by their content.

    ``groups`` are numbers of rows that belong together. Names decide between items that nothing else tells apart.

    Examples
    --------
    >>> matrix = np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]], dtype=bool)
    >>> order = canonical_order(matrix, np.array([0, 1, 1]), 2)
    >>> shuffled = matrix[[2, 0, 1]][:, [1, 2, 0]]
    >>> again = canonical_order(shuffled, np.array([0, 1, 0]), 2)
    >>> bool((order.sort(matrix) == again.sort(shuffled)).all())
    True
    """
    # Columns without ones come last, so that they change nothing.
    occurs = np.zeros(matrix.shape[1], dtype=bool)
    occurs[matrix.any(axis=0) if isinstance(matrix, np.ndarray) else matrix.indices] = True
    present = np.flatnonzero(occurs)
    names = None if item_names is None else item_names[present]
    table = Table(_part(matrix, np.arange(len(classes)), present), [classes] if groups is None else [classes, groups])
    sizes = [len(present), n_classes, *([] if groups is None else [int(groups.max()) + 1])]
    items, *of_sets = sort_by_content(table, sizes, [names, *(None for _ in sizes[1:])])
    items = np.concatenate([present[items], np.flatnonzero(~occurs)])
    keys = np.zeros((matrix.shape[0], 2), dtype=np.uint64)
    add_to_rows(matrix, mix_numbers(inverse(items)), keys)
    of_class = inverse(of_sets[0])[classes]
    of_group = [] if groups is None else [inverse(of_sets[1])[groups]]
    rows = np.lexsort((*of_group, keys[:, 1], keys[:, 0], of_class))
    return Order(rows, items, *of_sets)


def _part(matrix: BinaryMatrix, rows: Indices, items: Indices) -> BinaryMatrix:
    """Return some rows and some items of data."""
    if (len(rows), len(items)) == matrix.shape:
        return matrix
    part = matrix[rows][:, items]
    return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else sp.csr_array(part)
