"""Encode rows with the patterns of a class: which patterns a row uses, and how many nats that takes.

Every class has a code table of its own, with the codes that its rows of the training data would get: a pattern or an
item that is rare in a class is expensive there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.matrix.threads import cut
from saltmine.matrix.validation import BinaryMatrix

# Pseudo-count for patterns and items that a class never used: the code exists, but it is long.
PSEUDO_COUNT = 0.5
# Gains are compared after rounding, so that the last bit of a sum never decides.
DECIMALS = 9


@dataclass(frozen=True)
class CodeTable:
    """Patterns of one class, (r, n), and the code lengths of patterns and of single items in nats."""

    patterns: NDArray[np.bool_]
    pattern_nats: NDArray[np.float64]
    item_nats: NDArray[np.float64]

    @classmethod
    def from_counts(cls, patterns: NDArray[np.bool_], usage: NDArray[np.int64], noise: NDArray[np.int64]) -> CodeTable:
        """Make the table of a class from how often it used every pattern and erred in every item.

        Examples
        --------
        >>> import numpy as np
        >>> table = CodeTable.from_counts(np.ones((1, 2), bool), np.array([6]), np.array([1, 1]))
        >>> bool(table.pattern_nats[0] < table.item_nats[0])
        True
        """
        counts = np.concatenate([usage, noise]) + PSEUDO_COUNT
        nats = -np.log(counts / counts.sum())
        return cls(patterns, nats[: len(usage)], nats[len(usage) :])


def encode(rows: BinaryMatrix, table: CodeTable) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Choose for every row the patterns that shorten its code: usage (m, r) and length in nats (m,).

    The pattern that saves most comes first, again and again; then every pattern that others made superfluous goes.
    """
    rank = len(table.patterns)
    length = np.asarray(rows @ table.item_nats, dtype=np.float64).copy()
    usage = np.zeros((rows.shape[0], rank), dtype=bool)
    items = np.flatnonzero(table.patterns.any(axis=0))
    if len(items) == 0:
        return usage, length
    patterns, item_nats = table.patterns[:, items], table.item_nats[items]
    for part in cut(rows.shape[0], len(items), panel_cells=1 << 22):
        panel = rows[part][:, items]
        dense = panel if isinstance(panel, np.ndarray) else panel.toarray() != 0
        # Covering a one saves its code; covering a zero costs as much.
        savings = np.where(dense, item_nats, -item_nats)
        usage[part] = _prune(_cover(savings, patterns, table.pattern_nats), savings, patterns, table.pattern_nats)
        covered = (usage[part].astype(np.float64) @ patterns) > 0
        length[part] += usage[part] @ table.pattern_nats - (savings * covered).sum(axis=1)
    return usage, length


def _cover(
    savings: NDArray[np.float64], patterns: NDArray[np.bool_], pattern_nats: NDArray[np.float64]
) -> NDArray[np.bool_]:
    usage = np.zeros((len(savings), len(patterns)), dtype=bool)
    left = savings.copy()
    columns = patterns.T.astype(np.float64)
    active = np.arange(len(savings))
    while len(active):
        gains = np.round(left[active] @ columns - pattern_nats, DECIMALS)
        gains[usage[active]] = -np.inf
        best = gains.argmax(axis=1)
        helps = gains[np.arange(len(active)), best] > 0
        active, best = active[helps], best[helps]
        usage[active, best] = True
        left[active] *= ~patterns[best]
    return usage


def _prune(
    usage: NDArray[np.bool_],
    savings: NDArray[np.float64],
    patterns: NDArray[np.bool_],
    pattern_nats: NDArray[np.float64],
) -> NDArray[np.bool_]:
    cover_count = usage.astype(np.int64) @ patterns
    for s in range(len(patterns)):
        rows = np.flatnonzero(usage[:, s])
        alone = (cover_count[rows] == 1) & patterns[s]
        gain = np.round((savings[rows] * alone).sum(axis=1) - pattern_nats[s], DECIMALS)
        superfluous = rows[gain <= 0]
        usage[superfluous, s] = False
        cover_count[superfluous] -= patterns[s]
    return usage
