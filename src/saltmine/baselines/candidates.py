"""Where the patterns of Asso and Dbssl come from: sets of items that occur together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.data.bits import BitMatrix, Ints, Layout, Words, count_bits
from saltmine.data.threads import ThreadTeam, cut

#: Called often with the share of the work that is done; may raise to end the search.
Pulse = Callable[[float], None]

# The associations of so many items take 300 MB, and the rows of so many cells 200 MB while they are packed.
MOST_ITEMS, MOST_CELLS = 50_000, 200_000_000
# Panels between two calls of a pulse, a tenth of a second of work or so.
PANELS_AT_ONCE = 64
# Frequent sets are looked for among an item and the items nearest to it; the first few of them are kept.
NEAREST, SETS_OF_ITEM = 8, 3


def demand_room(shape: tuple[int, int], method: str, tables: int = 1) -> None:
    """Refuse data that is too large for so many tables of bits of all pairs of items, or for a dense copy."""
    m, n = shape
    most = int(MOST_ITEMS / tables**0.5)
    if n > most:
        raise ValueError(
            f"{method} compares all pairs of items, which is too much for {n:,} of them; keep the {most:,} most "
            "frequent ones, or use CSalt or Primp."
        )
    if m * n > MOST_CELLS:
        raise ValueError(
            f"{method} takes at most {MOST_CELLS:,} cells, and {m:,} rows of {n:,} items are more; fit a sample of the "
            "rows, or use CSalt or Primp."
        )


def item_layout(n_items: int) -> Layout:
    """Return the places of the items in bit sets over them."""
    return Layout([slice(0, n_items)], np.ones(n_items, dtype=np.int64))


def run_panels(team: ThreadTeam, task: Callable[..., None], panels: Sequence[tuple[Any, ...]], pulse: Pulse) -> None:
    """Run panels of work on all threads, with a pulse every now and then."""
    for first in range(0, len(panels), PANELS_AT_ONCE):
        pulse(first / len(panels))
        team.run(task, panels[first : first + PANELS_AT_ONCE])


def associations(bits: BitMatrix, tau: float, team: ThreadTeam, pulse: Pulse, words: slice | None = None) -> Words:
    """Return for every item the set of those that at least ``tau`` of its rows have, (n, W).

    ``words`` are those of one class, where only its rows count.
    """
    # Compiled code is loaded when it is needed.
    from saltmine.baselines.asso_kernels import associate

    n = bits.shape[1]
    of = words or slice(0, bits.columns.shape[1])
    candidates = np.zeros((n, -(-n // 64)), dtype=np.uint64)
    parts = cut(n, n * (of.stop - of.start))
    panels = [(bits.columns, of.start, of.stop, tau, part.start, part.stop, candidates) for part in parts]
    run_panels(team, associate, panels, pulse)
    return candidates


def fold(candidates: Words) -> Words:
    """Leave out what repeats, and single items where there are larger sets; the order is kept.

    Examples
    --------
    >>> import numpy as np
    >>> fold(np.array([[0b01], [0b11], [0b110], [0b11]], dtype=np.uint64)).tolist()
    [[3], [6]]
    """
    _, first = np.unique(candidates, axis=0, return_index=True)
    distinct = candidates[np.sort(first)]
    sizes = count_bits(distinct)
    least = 2 if (sizes > 1).any() else 1
    folded: Words = distinct[sizes >= least]
    return folded


def itemset_patterns(bits: BitMatrix, min_support: int, most: int, pulse: Pulse) -> Words:
    """Return patterns made from frequent item sets of every class, at most ``most`` of them, (K, W).

    A set gives two: the items that all of its rows have, and those that most have, the pattern that leaves the fewest
    errors in these rows. Sets are sought item by item, the most frequent items first, among the items nearest to it,
    and only the first few maximal ones are taken, so neither time nor memory depends on how many sets are frequent.
    """
    _demand_miner()
    layout, patterns = item_layout(bits.shape[1]), list[Words]()
    for a, counts in enumerate(bits.class_counts):
        columns = bits.columns[:, bits.layout.words(a)]
        room = most * (a + 1) // len(bits.blocks)
        frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts >= min_support)]
        each = min(SETS_OF_ITEM, max(1, (room - len(patterns)) // max(2 * len(frequent), 1)))
        for k, item in enumerate(frequent.tolist()):
            pulse((a + k / len(frequent)) / len(bits.blocks))
            near = _nearest(columns, counts, item, bits.class_sizes[a], min_support)
            for found in islice(_maximal_sets(bits, a, item, near, min_support), each):
                rows = np.bitwise_and.reduce(columns[found], axis=0)
                support, having = count_bits(rows), count_bits(columns & rows)
                patterns += list(layout.pack(np.array([having == support, 2 * having > support])))
            if len(patterns) >= room:
                break
    return np.array(patterns[:most], dtype=np.uint64).reshape(-1, len(layout.weights))


def _demand_miner() -> None:
    try:
        import mlxtend.frequent_patterns.fpmax  # noqa: F401  # only whether it is there
    except ImportError:
        raise ImportError(
            "Candidates from frequent item sets need mlxtend; pip install 'saltmine[itemsets]', or take "
            "candidates='associations' (--candidates associations)."
        ) from None


def _nearest(columns: Words, counts: Ints, item: int, n_rows: int, min_support: int) -> NDArray[np.intp]:
    """Return the items that share most rows with an item beyond what chance would have them share."""
    together = count_bits(columns & columns[item])
    surprise = (together - counts[item] * counts / n_rows) / np.sqrt(np.maximum(counts, 1))
    surprise[(together < min_support) | (np.arange(len(counts)) == item)] = 0
    nearest: NDArray[np.intp] = np.argsort(-surprise, kind="stable")[: min(NEAREST, np.count_nonzero(surprise > 0))]
    return nearest


def _maximal_sets(
    bits: BitMatrix, a: int, item: int, near: NDArray[np.intp], min_support: int
) -> Iterator[NDArray[np.intp]]:
    """Walk lazily over the maximal frequent sets with an item, in class ``a`` and among the items near to it."""
    from mlxtend.frequent_patterns.fpcommon import FPTree
    from mlxtend.frequent_patterns.fpmax import MFITree, fpmax_step

    has = bits.layout.unpack(bits.columns[[item, *near]])[:, bits.blocks[a]]
    rows = has[1:, has[0]]
    # The miner wants the items numbered by how frequent they are, and rows with the most frequent first.
    order = np.argsort(rows.sum(axis=1), kind="stable")
    rank = {k: k for k in range(len(near))}
    tree = FPTree(rank)
    for row in rows[order].T:
        tree.insert_itemset(np.flatnonzero(row)[::-1].tolist())
    for _, found in fpmax_step(tree, min_support, MFITree(rank), None, None, 0):
        yield np.array([item, *near[order[found]]])
