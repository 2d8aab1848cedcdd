"""The patterns of a fitted model as a tidy table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.binary.bits import BitMatrix
from saltmine.binary.model import BinaryModel

if TYPE_CHECKING:
    import pandas as pd

COMMON = "common"
SHARED, ADDED, ONLY = "shared", "added", "only"


def entries(
    components: NDArray[np.bool_], alterations: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """List what the patterns consist of: pattern, item and class of every entry, -1 for the shared part.

    Examples
    --------
    >>> import numpy as np
    >>> shared = np.array([[True, False]])
    >>> altered = np.array([[[False, True]], [[False, False]]])
    >>> [column.tolist() for column in entries(shared, altered)]
    [[0, 0], [0, 1], [-1, 0]]
    """
    owner, pattern, item = np.nonzero(np.concatenate([components[None], alterations]))
    order = np.lexsort((item, owner, pattern))
    return pattern[order], item[order], owner[order] - 1


def count_hits(bits: BitMatrix, model: BinaryModel) -> NDArray[np.int64]:
    """Count for every entry, in the order of `entries`, how often its item occurs in the rows that use its pattern.

    Shape (c, entries).
    """
    usage = bits.pack_usage(model.Y)
    pattern, item, _ = entries(model.X.T, model.V.transpose(0, 2, 1))
    hits = [bits.hits(usage, item[pattern == s], s) for s in range(model.rank)]
    return np.concatenate([np.zeros((len(bits.blocks), 0), dtype=np.int64), *hits], axis=1)


def pattern_table(
    components: NDArray[np.bool_],
    alterations: NDArray[np.bool_],
    usage_counts: NDArray[np.int64],
    hits: NDArray[np.int64],
    pattern_evidence: NDArray[np.float64],
    alteration_evidence: NDArray[np.float64],
    classes: NDArray[Any],
    names: NDArray[Any] | None,
) -> pd.DataFrame:
    """Return one row per pattern, item and role; see `CSalt.patterns` for the columns."""
    import pandas as pd

    pattern, item, owner = entries(components, alterations)
    of_one_class = np.zeros(len(pattern), dtype=bool)
    if len(classes) > 1:
        of_one_class = (usage_counts > 0).sum(axis=0)[pattern] == 1
    # A pattern that one class alone uses belongs to that class, shared part and all.
    belongs_to = np.where(of_one_class & (owner < 0), usage_counts.argmax(axis=0)[pattern], owner)
    # An alteration larger than what it alters is a pattern of its own (the paper's Table 1 counts so).
    sizes = np.concatenate([components.sum(axis=1)[None], alterations.sum(axis=2)])
    of_one = alterations.sum(axis=0)[pattern, item] == 1
    outgrown = (owner >= 0) & of_one & (sizes[owner + 1, pattern] > sizes[0, pattern])
    roles = np.array([f"class {label}" if str(label) == COMMON else str(label) for label in classes] + [COMMON])
    kind = np.select([of_one_class | outgrown, owner >= 0], [ONLY, ADDED], SHARED)
    columns = {
        "pattern": pattern,
        "item": item if names is None else names[item],
        "role": roles[belongs_to].astype(object),
        "kind": kind.astype(object),
        "evidence": _evidence(pattern, owner, pattern_evidence, alteration_evidence),
    }
    for a, label in enumerate(classes):
        used = usage_counts[a, pattern]
        columns[f"usage_{label}"] = used
        columns[f"support_{label}"] = np.divide(hits[a], used, out=np.full(len(used), np.nan), where=used > 0)
    return pd.DataFrame(columns)


def _evidence(
    pattern: NDArray[np.intp], owner: NDArray[np.intp], patterns: NDArray[np.float64], added: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for every entry the evidence for what the class adds, or where it adds nothing, for the pattern."""
    of_class = np.where(owner >= 0, added[owner, pattern], np.nan)
    evidence: NDArray[np.float64] = np.where(np.isnan(of_class), patterns[pattern], of_class)
    return evidence
