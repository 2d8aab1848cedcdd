"""What tests of classes count where rows belong to groups, as samples to patients.

Rows of a group are not independent. A group whose rows are all of one class counts once. Where a group has rows of
several classes, labels are exchanged among its rows only: it is compared with itself, as in a paired test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.compiled import compiled
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.added_items import hits_by_group
from saltmine.mdl.class_tests import join_strata, log_p_value, size_strata

# Counts of strata, classes and items that are kept at a time.
MAX_COUNTS = 1 << 22


class Units(NamedTuple):
    """What is counted: a group of one class, or a row of a group of several classes.

    Labels are exchanged within strata. Groups of one class are in strata of about as many rows per group, ``by_rows``;
    in ``by_size`` also of about as many ones per row. A group of several classes is a stratum of its own in both.
    """

    unit_of: Indices  # (m,)
    classes: Indices  # (units,)
    by_rows: Indices  # (units,)
    by_size: Indices  # (units,)

    def collapse(self, cells: BinaryMatrix) -> Bools:
        """Return which units have what their rows have, (units, k); ``cells`` is (m, k).

        A group of several rows has something if it has it at least as often as the average group, and half as often as
        the one that has it most. That takes no labels to say, so exchanging them remains exact.

        Examples
        --------
        >>> units = make_units(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]), np.ones(4, dtype=int))
        >>> units.collapse(np.array([[1], [0], [0], [1]], dtype=bool)).ravel().tolist()
        [True, False, True]
        """
        n_units, m = len(self.classes), len(self.unit_of)
        share = 1.0 / np.bincount(self.unit_of, minlength=n_units)
        averaging = sp.csr_array((share[self.unit_of], (self.unit_of, np.arange(m))), shape=(n_units, m))
        shares = averaging @ cells.astype(np.float64)
        shares = shares.toarray() if sp.issparse(shares) else np.asarray(shares)
        # A little less than the average, for sums that differ in the last digit.
        least = np.maximum(shares.mean(axis=0), shares.max(axis=0, initial=0) / 2) * (1 - 1e-9)
        return np.asarray((shares > 0) & (shares >= least))


def make_units(groups: Indices, classes: Indices, row_sizes: Ints) -> Units:
    """Return the units of rows with these groups, classes and numbers of ones, (m,) each.

    Examples
    --------
    >>> units = make_units(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0]), np.ones(5, dtype=int))
    >>> units.classes.tolist(), units.unit_of.tolist()
    ([1, 0, 0, 1], [2, 3, 0, 0, 1])
    """
    n_groups = int(groups.max(initial=-1)) + 1
    lowest, highest = np.full(n_groups, np.iinfo(np.intp).max), np.full(n_groups, -1)
    np.minimum.at(lowest, groups, classes)
    np.maximum.at(highest, groups, classes)
    is_mixed = lowest < highest
    alone = is_mixed[groups]
    unit_of = (np.cumsum(~is_mixed) - 1)[groups]
    n_pure = n_groups - int(is_mixed.sum())
    unit_of[alone] = n_pure + np.arange(int(alone.sum()))
    count = np.bincount(unit_of)
    of_units = np.zeros(len(count), dtype=np.intp)
    of_units[unit_of] = classes
    by_rows = np.zeros(len(count), dtype=np.intp)
    by_rows[:n_pure] = _number(np.log2(count[:n_pure]).astype(np.intp))
    sizes = np.round(64 * np.bincount(unit_of, row_sizes) / count).astype(np.int64)
    by_size = _split_by_size(by_rows[:n_pure], sizes[:n_pure])
    own = _number(groups[alone])
    mixed_rows, mixed_sizes = (strata.max(initial=-1) + 1 + own for strata in (by_rows[:n_pure], by_size))
    return Units(
        unit_of, of_units, np.concatenate([by_rows[:n_pure], mixed_rows]), np.concatenate([by_size, mixed_sizes])
    )


def _number(values: Indices) -> Indices:
    """Return the numbers of the distinct values, from 0."""
    numbers: Indices = np.unique(values, return_inverse=True)[1].astype(np.intp)
    return numbers


def _split_by_size(strata: Indices, sizes: Ints) -> Indices:
    """Split strata by the sizes of their units, as far as they have enough."""
    split = np.zeros(len(strata), dtype=np.intp)
    for stratum in range(int(strata.max(initial=-1)) + 1):
        members = np.flatnonzero(strata == stratum)
        fine = size_strata(sizes[members], np.ones(len(members), dtype=np.int64))
        split[members] = split.max(initial=-1) + 1 + join_strata(np.bincount(fine))[fine]
    # The first stratum began at 1.
    return _number(split)


def use_log_p(carriers: Bools, units: Units, n_classes: int) -> Floats:
    """Test that a larger share of each class carries each pattern than of all others, (c, r); ``carriers`` is (m, r).

    The larger of two p-values counts, as without groups: among units of about the same size, and among all.

    Examples
    --------
    >>> groups, classes = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    >>> units = make_units(groups, classes, np.ones(20, dtype=int))
    >>> use_log_p((classes == 1)[:, None], units, 2).round(2).tolist()  # ten pairs: 2 ** -10
    [[0.0], [-6.93]]
    """
    cells = units.collapse(carriers).astype(np.uint8)
    found = [_log_p(cells, units.classes, strata, n_classes, False) for strata in (units.by_rows, units.by_size)]
    return np.maximum(*found)


def item_log_p(rows: BinaryMatrix, units: Units, n_classes: int) -> Floats:
    """Test for each class that it has each item more or less often than all others, two-sided, (c, n).

    Examples
    --------
    >>> groups, classes = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    >>> units = make_units(groups, classes, np.ones(20, dtype=int))
    >>> item_log_p((classes == 1)[:, None], units, 2).round(2).tolist()
    [[-6.24], [-6.24]]
    """
    n_strata, n = int(units.by_rows.max(initial=0)) + 1, rows.shape[1]
    width = max(MAX_COUNTS // max(n_strata * n_classes, len(units.unit_of)), 1)
    found = np.zeros((n_classes, n))
    for begin in range(0, n, width):
        part = slice(begin, begin + width)
        cells = units.collapse(rows[:, part]).astype(np.uint8)
        found[:, part] = _log_p(cells, units.classes, units.by_rows, n_classes, True)
    return found


@compiled()
def _log_p(cells: NDArray[np.uint8], classes: Indices, strata: Indices, n_classes: int, two_sided: bool) -> Floats:
    """Return the logarithms of p-values, (c, k), of exchanging labels within strata; ``cells`` is (units, k)."""
    hits = hits_by_group(cells, classes, strata, n_classes)
    n_strata, _, n = hits.shape
    rows = np.zeros((n_strata, n_classes), dtype=np.int64)
    for j in range(len(classes)):
        rows[strata[j], classes[j]] += 1
    all_rows, found = rows.sum(axis=1), np.zeros((n_classes, n))
    had, successes, trials, total = (
        np.empty(n_strata, dtype=np.int64),
        np.empty(n_strata, dtype=np.int64),
        np.empty(n_strata, dtype=np.int64),
        np.empty(n_strata, dtype=np.int64),
    )
    for i in range(n):
        all_hits = hits[:, :, i].sum(axis=1)
        for a in range(n_classes):
            k = 0
            for g in range(n_strata):
                # Other strata are the same however labels are exchanged.
                if 0 < all_hits[g] < all_rows[g] and 0 < rows[g, a] < all_rows[g]:
                    had[k], successes[k], trials[k], total[k] = hits[g, a, i], all_hits[g], rows[g, a], all_rows[g]
                    k += 1
            if k == 0:
                continue
            log_p = log_p_value(had[:k], successes[:k], trials[:k], total[:k])
            if two_sided:
                less = log_p_value(successes[:k] - had[:k], successes[:k], total[:k] - trials[:k], total[:k])
                log_p = min(np.log(2.0) + min(log_p, less), 0.0)
            found[a, i] = log_p
    return found
