"""Bootstrap stability: how often patterns and alterations come back when rows are drawn again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from saltmine.arrays import Bools, Floats, Indices
from saltmine.fitted.kinds import TableRows, table_rows

# Attempts to draw groups until every class is there.
MAX_DRAWS = 1000
# A pattern has come back if the Jaccard index of its items, class by class, with a pattern of the refit is above this:
# what belongs to one class has not come back if two classes share it.
MIN_SIMILARITY = 0.5


@dataclass(frozen=True)
class Stability:
    """Shares of refits in which patterns, alterations and items came back.

    Attributes
    ----------
    refits : int
        Number of refits.
    patterns : (r,) float
        The refit had a similar pattern: the Jaccard index of their items, class by class, is above one half.
    alterations : (c, r) float
        The class added at least half of the same items to the pattern; NaN where it adds nothing.
    entries : (e,) float
        The item had the same role; in the order of the rows of `CSalt.patterns`.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = CSalt(random_state=0).fit(p.X, p.y)
    >>> stability = model.assess_stability(p.X, p.y, refits=2, random_state=0)
    >>> len(stability.entries) == len(model.patterns())
    True
    """

    refits: int
    patterns: Floats
    alterations: Floats
    entries: Floats


def carried(components: Bools, alterations: Bools, owns: Bools) -> Bools:
    """Return the items that each pattern has in every class, (r, c, n).

    Shared items are those of the classes that the pattern belongs to, ``owns``, (c, r); of all classes if it belongs
    to none.

    Examples
    --------
    >>> shared, nothing = np.array([[True, False]]), np.zeros((2, 1, 2), dtype=bool)
    >>> carried(shared, nothing, np.array([[True], [False]])).tolist()
    [[[True, False], [False, False]]]
    """
    at_home = owns | ~owns.any(axis=0)
    return (components[:, None] & at_home.T[:, :, None]) | alterations.transpose(1, 0, 2)


def bootstrap_rows(numbers: Indices, rng: np.random.Generator, groups: Indices | None = None) -> Indices:
    """Return rows drawn with replacement, as many of every class as it has; whole groups where they are given.

    Examples
    --------
    >>> numbers = np.array([0, 1, 1, 0, 1])
    >>> rows = bootstrap_rows(numbers, np.random.default_rng(0))
    >>> np.bincount(numbers[rows]).tolist()
    [2, 3]
    """
    if groups is not None:
        return _bootstrap_groups(numbers, rng, groups)
    drawn = np.empty(len(numbers), dtype=np.intp)
    for a in np.unique(numbers):
        rows = np.flatnonzero(numbers == a)
        drawn[rows] = rng.choice(rows, len(rows))
    return drawn


def _bootstrap_groups(numbers: Indices, rng: np.random.Generator, groups: Indices) -> Indices:
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for _ in range(MAX_DRAWS):
        drawn = np.concatenate([members[k] for k in rng.integers(len(members), size=len(members))])
        if len(np.unique(numbers[drawn])) == len(np.unique(numbers)):
            return drawn
    raise ValueError("Draws of groups keep missing a class that too few groups have; assess stability without groups.")


def compare(components: Bools, alterations: Bools, owns: Bools, refits: Iterable[Bools]) -> Stability:
    """Return how often every part of a model is found in the refits, each given as the result of `carried`.

    ``owns``, (c, r), are the classes that a pattern belongs to.
    """
    original = carried(components, alterations, owns)
    rows = table_rows(components, alterations, owns)
    altered, n = alterations.any(axis=2), 0
    patterns, found, kept = np.zeros(len(components)), np.zeros(len(rows.pattern)), np.zeros(altered.shape)
    for refit in refits:
        n += 1
        partner = _partners(original, refit)
        patterns += partner >= 0
        here = _rows_found(original, refit, partner, rows)
        found += here
        kept += _alterations_found(here, rows, altered.shape)
    share = 1 / max(n, 1)
    return Stability(n, patterns * share, np.where(altered, kept * share, np.nan), found * share)


def _partners(original: Bools, refit: Bools) -> Indices:
    """Return the matching pattern of the refit, one to one by Jaccard index; -1 where none is similar."""
    partner = np.full(len(original), -1, dtype=np.intp)
    if not len(original) or not len(refit):
        return partner
    one = original.reshape(len(original), -1).astype(np.float32)
    two = refit.reshape(len(refit), -1).astype(np.float32)
    both = one @ two.T
    similarity = both / np.maximum(one.sum(axis=1)[:, None] + two.sum(axis=1) - both, 1)
    s, t = linear_sum_assignment(similarity, maximize=True)
    similar = similarity[s, t] > MIN_SIMILARITY
    partner[s[similar]] = t[similar]
    return partner


def _rows_found(original: Bools, refit: Bools, partner: Indices, rows: TableRows) -> Bools:
    """Return which rows of the table the matching pattern has in the same role.

    A common item is found if all classes have it; an item of a class if the class has it and another does not; an
    added one if its class has it and a class that lacked it lacks it again.
    """
    found = np.zeros(len(rows.pattern), dtype=bool)
    here = np.flatnonzero(partner[rows.pattern] >= 0)
    pattern, item, role, adds = rows.pattern[here], rows.item[here], rows.role[here], rows.adds[here]
    before, after = original[pattern, :, item], refit[partner[pattern], :, item]
    of_class, of_all = after[np.arange(len(here)), role], after.all(axis=1)
    added_again = of_class & (~before & ~after).any(axis=1)
    found[here] = np.select([adds, role >= 0], [added_again, of_class & ~of_all], of_all)
    return found


def _alterations_found(found: Bools, rows: TableRows, shape: tuple[int, ...]) -> Bools:
    """Return the alterations, (c, r), of which at least half of the items came back."""
    count, back = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (rows.role[rows.adds], rows.pattern[rows.adds]), 1)
    np.add.at(back, (rows.role[rows.adds], rows.pattern[rows.adds]), found[rows.adds])
    return (count > 0) & (2 * back >= count)
