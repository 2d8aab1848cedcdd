"""Bootstrap stability: how often patterns and alterations come back when rows are drawn again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import entries
from saltmine.fitted.model import specific_class

Entries = tuple[Indices, Indices, Indices]

# Attempts to draw groups until every class is there.
MAX_DRAWS = 1000
# A pattern has come back if the Jaccard index of its items, class by class, with a pattern of the refit is above this:
# a pattern of one class has not come back if two classes share it.
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
    """

    refits: int
    patterns: Floats
    alterations: Floats
    entries: Floats


def carried(components: Bools, alterations: Bools, usage_counts: Ints) -> Bools:
    """Return the items that each pattern has in every class that uses it, (r, c, n)."""
    return (components[:, None] | alterations.transpose(1, 0, 2)) & (usage_counts.T[:, :, None] > 0)


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


def compare(components: Bools, alterations: Bools, usage_counts: Ints, refits: Iterable[Bools]) -> Stability:
    """Return how often every part of a model is found in the refits, each given as the result of `carried`."""
    original = carried(components, alterations, usage_counts)
    parts = entries(components, alterations)
    altered, n = alterations.any(axis=2), 0
    patterns, found, kept = np.zeros(len(components)), np.zeros(len(parts[0])), np.zeros(altered.shape)
    for refit in refits:
        n += 1
        partner = _partners(original, refit)
        patterns += partner >= 0
        here = _entries_found(original, refit, partner, parts)
        found += here
        kept += _alterations_found(here, parts, altered.shape)
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


def _entries_found(original: Bools, refit: Bools, partner: Indices, parts: Entries) -> Bools:
    """Return which entries the matching pattern has in the same role.

    An item of a single class is found if that class alone has it; a shared one if all classes that had it have it; an
    added one if its class has it and a class that uses the pattern and lacked it lacks it again.
    """
    pattern, item, owner = parts
    found = np.zeros(len(pattern), dtype=bool)
    here = np.flatnonzero(partner[pattern] >= 0)
    before, after = original[pattern[here], :, item[here]], refit[partner[pattern[here]], :, item[here]]
    using = np.asarray(original.any(axis=2))[pattern[here]]
    alone_again, shared_again = (after == before).all(axis=1), (after >= before).all(axis=1)
    added_again = after[np.arange(len(here)), owner[here]] & (using & ~before & ~after).any(axis=1)
    kinds = [specific_class(using.T) >= 0, owner[here] < 0]
    found[here] = np.select(kinds, [alone_again, shared_again], added_again)
    return found


def _alterations_found(found: Bools, parts: Entries, shape: tuple[int, ...]) -> Bools:
    """Return the alterations, (c, r), of which at least half of the items came back."""
    pattern, _, owner = parts
    own = owner >= 0
    count, back = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (owner[own], pattern[own]), 1)
    np.add.at(back, (owner[own], pattern[own]), found[own])
    return (count > 0) & (2 * back >= count)
