"""What classes add, tested as blocks test it."""

from __future__ import annotations

import numpy as np

from saltmine.mdl.added_items import hits_by_group, simes_log_p
from saltmine.mdl.class_tests import count_by_stratum, join_strata, size_strata
from saltmine.solver.local_search import LocalSearch


def ask_as_blocks_do(monkeypatch):
    """Let searches in memory test what classes add as blocks do, which do not shuffle labels; moves still do."""
    monkeypatch.setattr(LocalSearch, "added_log_p", of_all)


def of_all(local, patterns):
    """Stand in for `LocalSearch.added_log_p` where a model in memory is compared with one in blocks."""
    return np.array([by_simes(local, s) for s in patterns]).reshape(len(patterns), len(local.bits.blocks))


def by_simes(local, s):
    """Test what every class adds to one pattern, (c,)."""
    bits, carry = local.bits, local.carry(s)
    numbers = np.repeat(np.arange(len(bits.blocks)), [block.stop - block.start for block in bits.blocks])
    # As often as they occur in the input.
    rows = np.repeat(np.arange(bits.shape[0]), bits.weights.rows)
    rows = rows[bits.layout.unpack(local.carriers(s)[None])[0][rows]]
    strata = size_strata(bits.row_sizes, bits.weights.rows)
    strata = join_strata(np.bincount(strata[rows], minlength=int(strata.max(initial=0)) + 1))[strata[rows]]
    items = np.flatnonzero(~carry.all(axis=0))
    cells, weights = bits.rows()[np.ix_(rows, items)].astype(np.uint8), bits.weights.items[items]
    everyone = np.ones((len(rows), 1), dtype=bool)
    sizes = count_by_stratum(everyone, numbers[rows], len(carry), strata)[0]
    hits = hits_by_group(cells, numbers[rows], strata, len(carry))
    return simes_log_p(hits, sizes, weights, carry[:, items], int(weights.sum()))
