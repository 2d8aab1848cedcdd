"""What a pattern is to the classes, in six words: typical, shared, mostly, only, added, group.

The typical row is what most rows, or many, have: frequent items, of which nothing shows that they go together. A
pattern is "mostly" of a class if the class is shown to use it more than the others do, and at least twice as often. It
is "only" of the class if, beyond that, no more rows outside carry it than noise explains, and at most a tenth of the
share of the class uses it or has most of its items. All other patterns are "shared". What a class adds to a pattern,
or to the typical row, is "added". Where rows belong to groups, a pattern that one group has, or that is not
significant when groups are counted, is a "group" pattern: it says nothing about classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, poisson

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import entries
from saltmine.fitted.model import FittedModel
from saltmine.mdl.typical import TYPICAL_SHARE

TYPICAL, SHARED, MOSTLY, ONLY, ADDED, GROUP = "typical", "shared", "mostly", "only", "added", "group"
# The role of what belongs to no class in particular.
COMMON = "common"
# A class has at least so many times the rate of the others together.
MIN_RATIO = 2.0
# So many times the share of rows that use it, and of rows with most of the items, where a pattern is "only" of a class.
MIN_RATIO_OF_ONLY = 10
# Share of the rows of a pattern with which a class is its main user.
MAIN_USER = 2 / 3
# More carriers than noise makes with this probability are more than it explains.
NOISE_LEVEL = 0.05
# Up to so many items a tail is summed up exactly; with more items it is that of a normal distribution.
MAX_EXACT_ITEMS = 60
# Pseudo-count for items without noise.
PSEUDO_COUNT = 0.5


def typical_rows(usage_counts: Ints, class_counts: Ints, evidence: Floats, level: float) -> Bools:
    """Say which patterns are the typical row, (r,): many rows use them, and there is no evidence for them.

    Examples
    --------
    >>> typical_rows(np.array([[90, 90, 9]]), np.array([100]), np.array([0.0, 50.0, 50.0]), 0.01).tolist()
    [True, False, False]
    """
    is_usual = usage_counts.sum(axis=0) >= TYPICAL_SHARE * class_counts.sum()
    typical: Bools = is_usual & (evidence < -np.log(level))
    return typical


def of_few_groups(usage: Bools, groups: NDArray[Any], shown: Bools) -> Bools:
    """Say which patterns one group of rows has, or are not significant when groups are counted, (r,).

    ``shown``, (r,), are the patterns that are significant, or need no evidence.

    Examples
    --------
    >>> usage = np.array([[True, True], [True, False], [False, True]])
    >>> of_few_groups(usage, np.array(["a", "a", "b"]), np.array([True, True])).tolist()
    [True, False]
    """
    few: Bools = (count_groups(usage, groups) <= 1) | ~shown
    return few


def count_groups(usage: Bools, groups: NDArray[Any]) -> Ints:
    """Count the groups whose rows use every pattern, (r,).

    Examples
    --------
    >>> count_groups(np.array([[True, True], [True, False], [False, True]]), np.array(["a", "a", "b"])).tolist()
    [1, 2]
    """
    numbers = np.unique(groups, return_inverse=True)[1]
    return np.array([len(np.unique(numbers[rows])) for rows in usage.T], dtype=np.int64)


def class_kinds(model: FittedModel) -> NDArray[Any]:
    """Return what every pattern is to every class, (c, r): "mostly", "only", or "" where it is neither.

    A pattern that is neither to any class is shared, or the typical row. If it is "mostly" of several classes, it is
    "only" of none.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> X = np.repeat([[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]], 20, axis=0)
    >>> model = CSalt(random_state=0).fit(X, np.repeat(["a", "b"], 20))
    >>> class_kinds(model).tolist()
    [['only', ''], ['', 'only']]
    """
    carriers, sizes = model.carrier_counts_, model.class_counts_[:, None]
    outside, rows_outside = carriers.sum(axis=0) - carriers, sizes.sum() - sizes
    # Products instead of rates: there may be no rows outside.
    is_twice = carriers * rows_outside >= MIN_RATIO * outside * sizes
    # It would not be true either of a pattern that the others use as often.
    used = model.usage_counts_
    is_twice &= used * rows_outside >= MIN_RATIO * (used.sum(axis=0) - used) * sizes
    # Comparisons with NaN, where nothing was tested, are false.
    owns = (model.use_q_values_ <= model._level) & is_twice & (carriers > 0)
    # Where nothing is shared there is nothing that could be mostly of a class, only what classes add.
    owns &= model.components_.any(axis=1) & ~model.typical_ & ~model.of_few_groups_
    kinds, noise = np.where(owns, MOSTLY, ""), model.noise_counts_.sum(axis=0)
    total = float(noise.sum() + model.usage_counts_.sum())
    for s in np.flatnonzero(owns.sum(axis=0) == 1).tolist():
        a, items = int(owns[:, s].argmax()), np.flatnonzero(model.components_[s])
        least = least_items(noise[items], int(model.usage_counts_[:, s].sum()), total)
        others = np.flatnonzero(~owns[:, s])
        # Rows that use the pattern say nothing about noise.
        hits = model._items.hits_of(np.full(len(items), s), items, np.full(len(items), -1))
        counts, rows = model.item_counts_[:, items] - hits, model.class_counts_ - model.usage_counts_[:, s]
        expected = carriers_by_noise(counts[others], rows[others], least)
        if poisson.sf(outside[a, s] - 1, expected) >= NOISE_LEVEL and _is_rare_outside(model, a, s):
            kinds[a, s] = ONLY
    return kinds


def main_user(model: FittedModel, s: int) -> int | None:
    """Return the class that most users of a pattern are in, if every class carries it and others hardly use it.

    The share of the class that uses it is at least ten times that of every other class: by its use, such a pattern
    might be "only" of the class. Other patterns describe its other carriers better.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> counts = {"class_counts_": np.array([100, 50]), "usage_counts_": np.array([[30], [1]])}
    >>> main_user(SimpleNamespace(**counts, carrier_counts_=np.array([[60], [20]])), 0)
    0
    >>> main_user(SimpleNamespace(**counts, carrier_counts_=np.array([[60], [0]])), 0) is None
    True
    """
    used, sizes, carriers = model.usage_counts_[:, s], model.class_counts_, model.carrier_counts_[:, s]
    a = int(used.argmax())
    others = np.arange(len(used)) != a
    is_main = others.any() and (carriers > 0).all() and used[a] >= max(1, MAIN_USER * used.sum())
    # Products instead of shares, as above.
    return a if is_main and (used[a] * sizes >= MIN_RATIO_OF_ONLY * used * sizes[a])[others].all() else None


def _is_rare_outside(model: FittedModel, a: int, s: int) -> bool:
    """Say whether rows outside of class ``a`` use pattern ``s``, or have most of its items, much more rarely."""
    rows = int(model.class_counts_[a])
    rows_outside = int(model.class_counts_.sum()) - rows
    for counts in (model.usage_counts_, model.most_counts_):
        if counts is not None:
            own, others = int(counts[a, s]), int(counts[:, s].sum() - counts[a, s])
            if others * rows * MIN_RATIO_OF_ONLY > own * rows_outside:
                return False
    return True


def least_items(noise: Ints, used: int, total: float) -> int:
    """Return with how many of its items a pattern begins to shorten the description of a row.

    An item that is there saves its code, one that is missing costs as much, and using the pattern has its price.

    Parameters
    ----------
    noise : (k,) int
        Cells that the model gets wrong, of every item of the pattern.
    used : int
        Rows that use the pattern.
    total : float
        Wrong cells of all items and usage of all patterns.

    Examples
    --------
    >>> least_items(np.array([5, 5, 5, 5]), 100, 1000.0)
    3
    """
    price = np.log(max(total, 1.0) / max(used, PSEUDO_COUNT))
    worth = np.log(max(total, 1.0) / np.maximum(noise, PSEUDO_COUNT)).mean()
    if price >= worth * len(noise):
        return len(noise)
    return int((len(noise) + price / worth) / 2) + 1


def carriers_by_noise(item_counts: Ints, class_counts: Ints, least: int) -> float:
    """Return how many rows have at least so many of the items if these occur independently in every class.

    ``item_counts``, (c, k), counts the rows of every class that have an item, ``class_counts``, (c,), all of its rows.

    Examples
    --------
    >>> carriers_by_noise(np.array([[10, 20, 10]]), np.array([100]), 3)
    0.2
    """
    shares = item_counts / np.maximum(class_counts, 1)[:, None]
    return float(np.round(class_counts @ tail_probability(shares, least), 12))


def tail_probability(shares: Floats, least: int) -> Floats:
    """Return the probability that at least so many of k independent items occur, (c,); ``shares`` is (c, k).

    Examples
    --------
    >>> tail_probability(np.array([[0.5, 0.5], [0.1, 1.0]]), 2)
    array([0.25, 0.1 ])
    """
    c, k = shares.shape
    if k > MAX_EXACT_ITEMS:
        deviation = np.sqrt((shares * (1 - shares)).sum(axis=1))
        tail: Floats = norm.sf(least - 0.5, shares.sum(axis=1), np.maximum(deviation, 1e-9))
        return tail
    # Probabilities of 0, 1, ... items, one item after the other.
    counts = np.zeros((c, k + 1))
    counts[:, 0] = 1
    for share in shares.T[:, :, None]:
        counts[:, 1:] = counts[:, 1:] * (1 - share) + counts[:, :-1] * share
        counts[:, :1] *= 1 - share
    return np.asarray(counts[:, least:].sum(axis=1))


class TableRows(NamedTuple):
    """The rows of the pattern table.

    ``role`` is the class that a row is about, -1 for what is common, and ``adds`` whether the class adds the item.
    """

    pattern: Indices
    item: Indices
    role: Indices
    adds: Bools

    @property
    def owner(self) -> Indices:
        """The class whose alteration the item belongs to, -1 for items of the shared part."""
        return np.where(self.adds, self.role, -1)


def table_rows(components: Bools, alterations: Bools, owns: Bools) -> TableRows:
    """List the rows of the pattern table: by pattern, the shared part before what classes add, by class and item.

    Shared items of a pattern that belongs to classes, ``owns``, (c, r), are listed once for each of these.

    Examples
    --------
    >>> shared = np.array([[True, True, False]])
    >>> altered = np.array([[[False, False, True]], [[False, False, False]]])
    >>> [column.tolist() for column in table_rows(shared, altered, np.array([[False], [True]]))]
    [[0, 0, 0], [0, 1, 2], [1, 1, 0], [False, False, True]]
    """
    pattern, item, owner = entries(components, alterations)
    is_owned = (owner < 0) & owns[:, pattern].any(axis=0)
    own = [np.flatnonzero(is_owned & owns[a, pattern]) for a in range(len(owns))]
    rows = np.concatenate([np.flatnonzero(~is_owned), *own])
    roles = np.concatenate([owner[~is_owned], *(np.full(len(part), a) for a, part in enumerate(own))])
    order = np.lexsort((item[rows], roles, owner[rows] >= 0, pattern[rows]))
    rows, roles = rows[order], roles[order]
    return TableRows(pattern[rows], item[rows], roles, owner[rows] >= 0)


def row_kinds(rows: TableRows, kinds: NDArray[Any], typical: Bools, few_groups: Bools) -> NDArray[Any]:
    """Return the kind of every row of the table; ``kinds`` are those of `class_kinds`."""
    if not len(rows.role):
        return np.zeros(0, dtype=str)
    of_class = kinds[rows.role, rows.pattern]
    otherwise = np.select([typical, few_groups], [TYPICAL, GROUP], SHARED)
    return np.select([rows.adds, rows.role >= 0], [ADDED, of_class], otherwise[rows.pattern])


def role_names(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the roles as text: one per class, and "common" last, which is role -1."""
    names = [f"class {label}" if str(label) == COMMON else str(label) for label in classes] + [COMMON]
    # Not as text of one width, which every row of the table would have.
    return np.array(names, dtype=object)
