"""The order of data in blocks by its content, as `data.canonical` has it for data in memory.

Of wide data rows and classes are sorted, of tall data items and classes. The others stay where they are in their
blocks: sums over them do not depend on their order (`mdl.code_length.unit_of_lengths`), and samples of them are drawn
by content (`sampling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices
from saltmine.data.content_colours import OnePart, mix, mix_numbers, sort_by_content, sum_by
from saltmine.data.folding import Keys, group
from saltmine.data.order import Order, inverse
from saltmine.data.stacking import Labels
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.row_block import RowBlock


class _RowsOfBlocks:
    """Rows, stacked class by class, and classes; blocks of items are the links between them."""

    def __init__(self, executor: BlockExecutor[ItemBlock], of_class: Indices, work: int) -> None:
        self._executor, self._of_class, self.work = executor, of_class, work

    @cached_property
    def contents(self) -> list[Indices | None]:
        """Numbers that are equal for identical rows of a class."""
        keys = _add(self._executor.query_each(ItemBlock.row_contents, [(b,) for b in range(len(self._executor))]))
        return [group(keys + mix_numbers(self._of_class))[0], None]

    def look(self, colours: list[Keys]) -> list[Keys]:
        """Return sums over the items of every row, and over the rows of every class."""
        rows, classes = colours
        sums = _add(self._executor.query(ItemBlock.sum_keys, mix(rows) + mix(classes ^ np.uint64(1))[self._of_class]))
        return [sums, sum_by(self._of_class, mix(rows ^ sums), len(classes))]

    def split(self, tied: list[Bools], colours: list[Keys]) -> OnePart:
        """Return what is tied as one part."""
        return OnePart(self, tied, colours)


class _ItemsOfBlocks:
    """Items and classes; blocks of rows are the links between them."""

    def __init__(self, executor: BlockExecutor[RowBlock], work: int) -> None:
        self._executor, self.work = executor, work

    @cached_property
    def contents(self) -> list[Indices | None]:
        """Numbers that are equal for identical items."""
        keys = _add(self._executor.query_each(RowBlock.item_contents, [(b,) for b in range(len(self._executor))]))
        return [group(keys)[0], None]

    def look(self, colours: list[Keys]) -> list[Keys]:
        """Return sums over the rows of every item and class."""
        items, classes = colours
        parts = self._executor.query(RowBlock.sum_keys, mix(items), mix(classes ^ np.uint64(1)))
        return [_add(part) for part in zip(*parts, strict=True)]

    def split(self, tied: list[Bools], colours: list[Keys]) -> OnePart:
        """Return what is tied as one part."""
        return OnePart(self, tied, colours)


def _add(parts: Sequence[Keys]) -> Keys:
    sums: Keys = np.sum(parts, axis=0, dtype=np.uint64)
    return sums


def arrange_item_blocks(
    executor: BlockExecutor[ItemBlock],
    labels: Labels,
    merge_classes: bool,
    row_names: NDArray[Any] | None,
    n_items: int,
) -> Order:
    """Sort the rows of all blocks of items; return their order."""
    known = labels.merged() if merge_classes else labels
    stacked = np.argsort(known.numbers, kind="stable")
    of_class, names = known.numbers[stacked], None if row_names is None else row_names[stacked]
    links = _RowsOfBlocks(executor, of_class, len(stacked) * n_items)
    rows, classes = sort_by_content(links, [len(stacked), known.n_classes], [names, None])
    rows = np.lexsort((inverse(rows), inverse(classes)[of_class]))
    executor.arrange(ItemBlock.arrange, rows, np.bincount(of_class, minlength=known.n_classes)[classes].tolist())
    return Order(rows=stacked[rows], classes=None if merge_classes else classes)


def arrange_row_blocks(
    executor: BlockExecutor[RowBlock],
    labels: Labels,
    merge_classes: bool,
    item_names: NDArray[Any] | None,
    n_items: int,
) -> Order:
    """Sort the items and classes of all blocks of rows; return their order."""
    links = _ItemsOfBlocks(executor, len(labels.numbers) * n_items)
    sizes = [n_items, 1 if merge_classes else labels.n_classes]
    items, classes = sort_by_content(links, sizes, [item_names, None])
    order = Order(items=items, classes=None if merge_classes else classes)
    executor.arrange(RowBlock.arrange, items, np.arange(labels.n_classes) if merge_classes else classes)
    return order
