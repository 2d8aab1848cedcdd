"""What classes add, tested as blocks test it."""

from __future__ import annotations

import numpy as np

from saltmine.mdl.added_items import hits_by_class, simes_log_p


def by_simes(cells, classes, added, strata, weights, goal):
    """Stand in for `mdl.added_items.test_added` where a model in memory is compared with one in blocks."""
    hits = hits_by_class(cells, classes, len(added))
    return simes_log_p(hits, np.bincount(classes, minlength=len(added)), weights, added)
