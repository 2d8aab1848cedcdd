"""The columns of `transform`: patterns, and what classes add to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Indices
from saltmine.data.validation import BinaryMatrix
from saltmine.fitted.kinds import ADDED
from saltmine.fitted.summary import Summary

# Items in the name of a column.
NAMED = 3
# Cells of sets that are counted at a time.
MAX_CELLS = 1 << 22


class Altered(NamedTuple):
    """What classes add to patterns, pattern by pattern."""

    pattern: Indices  # (k,)
    owner: Indices  # (k,): the class
    items: Bools  # (k, n)


def altered_parts(alterations: Bools) -> Altered:
    """Return the alterations, (c, r, n), that have any items.

    Examples
    --------
    >>> import numpy as np
    >>> altered = altered_parts(np.array([[[0, 0], [1, 1]], [[0, 1], [1, 0]]], dtype=bool))
    >>> altered.pattern.tolist(), altered.owner.tolist()
    ([0, 1, 1], [1, 0, 1])
    """
    pattern, owner = np.nonzero(alterations.any(axis=2).T)
    return Altered(pattern, owner, alterations[owner, pattern])


def has_most(rows: BinaryMatrix, sets: Bools) -> Bools:
    """Say which rows, (m, n), have more than half of the items of each set, (k, n): (m, k).

    Examples
    --------
    >>> import numpy as np
    >>> has_most(np.array([[1, 1, 0], [1, 0, 0]], dtype=bool), np.ones((1, 3), dtype=bool)).tolist()
    [[True], [False]]
    """
    cells, n = rows.astype(np.float64), sets.shape[1]
    # Some sets at a time, because numbers take eight times the memory of truth values.
    at_once = max(1, MAX_CELLS // max(n, 1))
    parts = [sets[begin : begin + at_once] for begin in range(0, len(sets), at_once)]
    had = [2 * np.asarray(cells @ part.T.astype(np.float64)) > part.sum(axis=1) for part in parts]
    return np.hstack([np.zeros((rows.shape[0], 0), dtype=bool), *had])


def feature_names(model: Any, altered: Altered | None) -> NDArray[Any]:
    """Return a name for every pattern of a fitted model, and for what classes add to them where that is asked for."""
    summary = Summary(model)

    def text(items: Iterable[int]) -> str:
        return ", ".join(" ".join(str(summary.item_names[item]).split()) for item in items)

    names = [f"{pattern.number}: {text([item for item, _ in pattern.title[:NAMED]])}" for pattern in summary.patterns]
    if altered is not None:
        added = {(p.number, part.role): part for p in summary.patterns for part in p.parts if part.kind == ADDED}
        for s, a in zip(altered.pattern.tolist(), altered.owner.tolist(), strict=True):
            items = text(added[s, a].items[:NAMED].tolist())
            names.append(f"{s}, {summary.classes[a].name} adds: {items}")
    return np.array(names, dtype=object)
