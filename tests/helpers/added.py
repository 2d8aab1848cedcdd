"""What classes add, tested as blocks test it."""

from __future__ import annotations

import numpy as np

from saltmine.mdl.added_items import hits_by_group, simes_log_p
from saltmine.mdl.class_tests import count_by_stratum


def by_simes(cells, classes, added, strata, weights, goal, n_items=None):
    """Stand in for `mdl.added_items.test_added` where a model in memory is compared with one in blocks."""
    everyone = np.ones((len(classes), 1), dtype=bool)
    rows = count_by_stratum(everyone, classes, len(added), strata)[0]
    hits = hits_by_group(cells, classes, strata, len(added))
    return simes_log_p(hits, rows, weights, added, int(weights.sum()) if n_items is None else n_items)
