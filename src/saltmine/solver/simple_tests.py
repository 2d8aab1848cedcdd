"""Simple tests of what is said about classes: Fisher's, on carriers for use and on cells of users for added items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from saltmine.arrays import Ints
from saltmine.data.item_counts import ItemCounts, entries
from saltmine.mdl.class_tests import correct, fisher_tests
from saltmine.mdl.scores import PatternScores


def with_simple_tests(
    scores: PatternScores, items: ItemCounts, class_sizes: Ints, carrier_counts: Ints, usage_counts: Ints
) -> PatternScores:
    """Return scores with p- and q-values of uses and additions; the counts are (c, r)."""
    c, rank = carrier_counts.shape
    use_p, added_p = np.full((c, rank), np.nan), np.full((c, rank), np.nan)
    pattern, item, owner = entries(items.components, items.alterations)
    for a in range(c if c > 1 else 0):
        outside = np.arange(c) != a
        rows, others = np.repeat(class_sizes[a], rank), np.repeat(class_sizes[outside].sum(), rank)
        use_p[a] = fisher_tests(carrier_counts[a], rows, carrier_counts[outside].sum(axis=0), others)
        for s in np.flatnonzero(items.alterations[a].any(axis=1)):
            own = np.flatnonzero((pattern == s) & (owner == a))
            lacks = ~items.alterations[:, s, item[own]]
            cells = usage_counts[:, s, None] * np.ones(len(own), dtype=np.int64)
            counts = [figures[a].sum() for figures in (items.hits[:, own], cells)]
            counts += [(figures * lacks).sum() for figures in (items.hits[:, own], cells)]
            added_p[a, s] = fisher_tests(*(np.array([count], dtype=np.int64) for count in counts))[0]
    both = correct(np.concatenate([use_p.ravel(), added_p.ravel()])).reshape(2, c, rank)
    evidence = -np.log(np.maximum(both[1], 1e-300))
    tests = {"use_p": use_p, "use_q": both[0], "added_p": added_p, "added_q": both[1]}
    return replace(scores, alteration_evidence=evidence, **tests)
