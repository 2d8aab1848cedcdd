"""What tests of classes count where rows belong to groups, as samples to patients.

Rows of a group are not independent. The rows that a group has of one class count once, together. Where a group has rows
of several classes, labels are exchanged within the group only: it is compared with itself, as in a paired test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.class_tests import join_strata, size_strata

# Counts of strata, classes and items that are kept at a time.
MAX_COUNTS = 1 << 22


class Units(NamedTuple):
    """What is counted: the rows of one class in a group.

    Labels are exchanged within strata. A group of several classes is a stratum of its own. The others are in strata of
    as many rows, ``by_rows``, and in ``by_size`` also of about as many ones per row. Of a unit only so many rows are
    looked at as the other units of its stratum have, so that exchanging labels changes nothing else.
    """

    rows: Indices  # (k,): the rows that are looked at
    unit_of: Indices  # (k,): the unit of each
    classes: Indices  # (units,)
    by_rows: Indices  # (units,)
    by_size: Indices  # (units,)

    def collapse(self, cells: BinaryMatrix) -> Bools:
        """Return which units have what their rows have, (units, k); ``cells`` is (m, k).

        A unit of several rows has something if it has it at least as often as the average unit, and half as often as
        the one that has it most. That takes no labels to say, so exchanging them remains exact.

        Examples
        --------
        >>> units = make_units(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]), np.ones(6, dtype=int))
        >>> units.collapse(np.array([[1], [0], [0], [0], [1], [1]], dtype=bool)).ravel().tolist()
        [True, False, True]
        """
        n_units, k = len(self.classes), len(self.unit_of)
        share = 1.0 / np.bincount(self.unit_of, minlength=n_units)
        averaging = sp.csr_array((share[self.unit_of], (self.unit_of, np.arange(k))), shape=(n_units, k))
        shares = averaging @ cells[self.rows].astype(np.float64)
        shares = shares.toarray() if sp.issparse(shares) else np.asarray(shares)
        # A little less than the average, for sums that differ in the last digit.
        least = np.maximum(shares.mean(axis=0), shares.max(axis=0, initial=0) / 2) * (1 - 1e-9)
        return np.asarray((shares > 0) & (shares >= least))


def mixed_groups(groups: Indices, classes: Indices) -> Bools:
    """Say which groups have rows of several classes, (groups,).

    Examples
    --------
    >>> mixed_groups(np.array([0, 0, 1]), np.array([0, 1, 1])).tolist()
    [True, False]
    """
    n_groups = int(groups.max(initial=-1)) + 1
    lowest, highest = np.full(n_groups, np.iinfo(np.intp).max), np.full(n_groups, -1)
    np.minimum.at(lowest, groups, classes)
    np.maximum.at(highest, groups, classes)
    return lowest < highest


def make_units(groups: Indices, classes: Indices, row_sizes: Ints, mixed: Bools | None = None) -> Units:
    """Return the units of rows with these groups, classes and numbers of ones, (m,) each.

    ``mixed`` says which groups have several classes, where not all of their rows are here.

    Examples
    --------
    >>> units = make_units(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0]), np.ones(5, dtype=int))
    >>> units.classes.tolist(), units.by_rows.tolist(), units.rows.tolist()
    ([0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 2, 4])
    """
    mixed = mixed_groups(groups, classes) if mixed is None else mixed
    n_classes = int(classes.max(initial=0)) + 1
    keys, unit_of, count = np.unique(groups * n_classes + classes, return_inverse=True, return_counts=True)
    group, of_units = keys // n_classes, (keys % n_classes).astype(np.intp)
    is_mixed = mixed[group]
    exponent = np.log2(count).astype(np.intp)
    # In a group of several classes all have as many rows as the one with the fewest.
    least = np.full(len(mixed), np.iinfo(np.intp).max)
    np.minimum.at(least, group, exponent)
    exponent = np.where(is_mixed, least[group], _join_lonely(exponent, of_units, ~is_mixed))
    rows = _evenly(unit_of, count, 1 << exponent)
    by_rows = np.zeros(len(keys), dtype=np.intp)
    by_rows[~is_mixed] = _number(exponent[~is_mixed])
    sizes = np.round(64 * np.bincount(unit_of, row_sizes) / count).astype(np.int64)
    by_size = np.zeros(len(keys), dtype=np.intp)
    by_size[~is_mixed] = _split_by_size(by_rows[~is_mixed], sizes[~is_mixed])
    for strata in (by_rows, by_size):
        strata[is_mixed] = strata[~is_mixed].max(initial=-1) + 1 + _number(group[is_mixed])
    return Units(rows, unit_of[rows], of_units, by_rows, by_size)


def _join_lonely(exponent: Indices, classes: Indices, chosen: Bools) -> Indices:
    """Let units look at fewer rows where all that have as many are of one class; there would be nothing to exchange."""
    exponent = exponent.copy()
    for k in range(int(exponent[chosen].max(initial=0)), 0, -1):
        members = chosen & (exponent == k)
        if len(np.unique(classes[members])) == 1:
            exponent[members] = k - 1
    return exponent


def _evenly(unit_of: Indices, count: Ints, wanted: Ints) -> Indices:
    """Return so many rows of every unit, evenly spaced in their order, sorted."""
    order = np.argsort(unit_of, kind="stable")
    place = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    n, k = count[unit_of[order]], wanted[unit_of[order]]
    # The first row at which another k-th of the unit begins.
    chosen = (place * k) // n != ((place - 1) * k) // n
    rows: Indices = np.sort(order[chosen])
    return rows


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
    found = [_in_parts(carriers, units, strata, n_classes)[0] for strata in (units.by_rows, units.by_size)]
    return np.maximum(*found)


def item_log_p(rows: BinaryMatrix, units: Units, n_classes: int) -> tuple[Floats, Bools]:
    """Test for each class that it has each item more or less often than all others, two-sided, (c, n).

    Also returns where it is more often.

    Examples
    --------
    >>> groups, classes = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    >>> units = make_units(groups, classes, np.ones(20, dtype=int))
    >>> log_p, more = item_log_p((classes == 1)[:, None], units, 2)
    >>> log_p.round(2).tolist(), more.tolist()
    ([[-6.24], [-6.24]], [[False], [True]])
    """
    more, less = _in_parts(rows, units, units.by_rows, n_classes)
    return np.minimum(np.log(2.0) + np.minimum(more, less), 0.0), more < less


def _in_parts(cells: BinaryMatrix, units: Units, strata: Indices, n_classes: int) -> tuple[Floats, Floats]:
    """Test that classes have more, and less, of every column than the others, some columns at a time, (c, n) each."""
    n_strata, n = int(strata.max(initial=0)) + 1, cells.shape[1]
    width = max(MAX_COUNTS // max(n_strata * n_classes, len(units.rows)), 1)
    more, less = np.zeros((n_classes, n)), np.zeros((n_classes, n))
    for begin in range(0, n, width):
        part = slice(begin, begin + width)
        had = np.ascontiguousarray(units.collapse(cells[:, part]), dtype=np.uint8)
        found = np.empty((2, n_classes, had.shape[1]))
        _core.test_by_strata(had, units.classes, strata, found)
        more[:, part], less[:, part] = found
    return more, less
