"""How often patterns and alterations come back when the rows are drawn anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from saltmine.data.item_counts import entries

Bools = NDArray[np.bool_]
# Draws of groups until every class is there.
MOST_DRAWS = 1000
Shares = NDArray[np.float64]

# A pattern has come back if what it has in common with one of the refit, class by class, is more than half of what both
# have: a pattern of one class is not back if two classes share it.
SIMILAR = 0.5


@dataclass(frozen=True)
class Stability:
    """Shares of refits in which something came back.

    Attributes
    ----------
    refits : int
        Number of refits.
    patterns : (r,) float
        A similar pattern was there: more than half of all that both have, class by class, they have in common.
    alterations : (c, r) float
        The class added at least half of what it adds to the pattern; NaN where it adds nothing.
    entries : (e,) float
        The item was there in the same role; in the order of the rows of `CSalt.patterns`.
    """

    refits: int
    patterns: Shares
    alterations: Shares
    entries: Shares


def carried(components: Bools, alterations: Bools, usage_counts: NDArray[np.int64]) -> Bools:
    """Return the items that a pattern has in every class that uses it, (r, c, n)."""
    used = usage_counts.T[:, :, None] > 0
    return (components[:, None] | alterations.transpose(1, 0, 2)) & used


def bootstrap_rows(
    numbers: NDArray[np.intp], rng: np.random.Generator, groups: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Draw as many rows of every class as it has, with replacement; whole groups where rows belong together.

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


def _bootstrap_groups(
    numbers: NDArray[np.intp], rng: np.random.Generator, groups: NDArray[np.intp]
) -> NDArray[np.intp]:
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for _ in range(MOST_DRAWS):
        drawn = np.concatenate([members[k] for k in rng.integers(len(members), size=len(members))])
        if len(np.unique(numbers[drawn])) == len(np.unique(numbers)):
            return drawn
    raise ValueError(
        "Draws of groups keep missing a class, which too few groups have; assess stability without groups."
    )


def compare(
    components: Bools, alterations: Bools, usage_counts: NDArray[np.int64], refits: Iterable[Bools]
) -> Stability:
    """Look for every part of a model in the refits, each given by what `carried` returns for it."""
    original = carried(components, alterations, usage_counts)
    parts = entries(components, alterations)
    patterns = np.zeros(len(components))
    found = np.zeros(len(parts[0]))
    altered = alterations.any(axis=2)
    kept = np.zeros(altered.shape)
    n = 0
    for refit in refits:
        n += 1
        partner = _partners(original, refit)
        patterns += partner >= 0
        here = _entries_found(original, refit, partner, parts)
        found += here
        kept += _alterations_found(here, parts, altered.shape)
    share = 1 / max(n, 1)
    return Stability(n, patterns * share, np.where(altered, kept * share, np.nan), found * share)


def _partners(original: Bools, refit: Bools) -> NDArray[np.intp]:
    """Match patterns one to one by the Jaccard index of their items in all classes; -1 where none is similar."""
    partner = np.full(len(original), -1, dtype=np.intp)
    if not len(original) or not len(refit):
        return partner
    one = original.reshape(len(original), -1).astype(np.float32)
    two = refit.reshape(len(refit), -1).astype(np.float32)
    both = one @ two.T
    similarity = both / np.maximum(one.sum(axis=1)[:, None] + two.sum(axis=1) - both, 1)
    s, t = linear_sum_assignment(similarity, maximize=True)
    similar = similarity[s, t] > SIMILAR
    partner[s[similar]] = t[similar]
    return partner


def _entries_found(
    original: Bools, refit: Bools, partner: NDArray[np.intp], parts: tuple[NDArray[np.intp], ...]
) -> Bools:
    """Say of every entry whether the partner has it in the same role.

    An item of a single class is back if that class alone has it; a shared one if all classes that had it have it; an
    added one if its class has it and some class that uses the pattern and lacked it lacks it again.
    """
    pattern, item, owner = parts
    found = np.zeros(len(pattern), dtype=bool)
    here = np.flatnonzero(partner[pattern] >= 0)
    before, after = original[pattern[here], :, item[here]], refit[partner[pattern[here]], :, item[here]]
    using = np.asarray(original.any(axis=2))[pattern[here]]
    alone_again = (after == before).all(axis=1)
    shared_again = (after >= before).all(axis=1)
    added_again = after[np.arange(len(here)), owner[here]] & (using & ~before & ~after).any(axis=1)
    of_one = (using.sum(axis=1) == 1) & (using.shape[1] > 1)
    found[here] = np.select([of_one, owner[here] < 0], [alone_again, shared_again], added_again)
    return found


def _alterations_found(found: Bools, parts: tuple[NDArray[np.intp], ...], shape: tuple[int, ...]) -> Bools:
    """Say of every alteration, (c, r), whether at least half of its items came back."""
    pattern, _, owner = parts
    own = owner >= 0
    count, back = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (owner[own], pattern[own]), 1)
    np.add.at(back, (owner[own], pattern[own]), found[own])
    return (count > 0) & (2 * back >= count)
