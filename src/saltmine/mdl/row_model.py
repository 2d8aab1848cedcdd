"""The likelihood of rows: single items by class, patterns that a row may use, and which of them it uses.

A row of class a uses pattern s with probability ``rates[a, s]``. It lacks item i with probability
``(1 - base[a, i]) * (1 - strength)``, where the strength is that of the strongest pattern that it uses and that has the
item. Patterns whose items go together only because classes differ take no part in the likelihood: there the rates of
single items by class say the same. Which rows use them is decided without the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, softmax

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.item_counts import entries
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import BinaryMatrix

# A row uses a pattern if it does so with more than this probability.
MORE_LIKELY = 0.5
# Rounds of estimation by the posterior. Sets that classes have differently are used as they were found: their items
# need not go together.
ROUNDS = 3
# Rows that a model draws to see how often it has sets: so many of all classes, and no fewer of one.
MOST_DRAWN, FEWEST_DRAWN = 100_000, 5_000
# How many rows of a class the rates by all the rest may count for.
CONCENTRATIONS = 2.0 ** np.arange(-1, 13)
# Rows are left out in this many parts; of more than so many rows, this many are left out once.
PARTS, MANY_ROWS, SOME_ROWS = 5, 5000, 1000


class ItemLists(NamedTuple):
    """The items of some patterns, one pattern after the other."""

    edges: Indices  # (patterns + 1,)
    items: Indices  # (k,)
    in_class: Bools  # (c, k): whether they are items of the class


@dataclass(frozen=True)
class RowModel:
    """Rates and strengths of patterns, and rates of single items.

    Attributes
    ----------
    within : (r,) bool
        Patterns whose items go together within classes.
    base : (c, n) float
        Rates of items in rows that use no pattern with them.
    base_of_all : (n,) float
        The same for all classes together, where other patterns are used.
    rates : (c, r) float
        Rates of use.
    strengths : (c, entries) float
        By `entries` of shared and added items.
    set_nats : (c, r) float
        Nats of rows whose first set is this one, against rows with the rates above; zero for patterns within classes.
    no_set_nats : (c,) float
        The same for rows without any of these sets.
    """

    within: Bools
    base: Floats
    base_of_all: Floats
    rates: Floats
    strengths: Floats
    set_nats: Floats
    no_set_nats: Floats

    @classmethod
    def estimate(cls, matrix: BinaryMatrix, labels: Indices, model: BinaryModel, within: Bools) -> RowModel:
        """Estimate everything from rows, their classes and the patterns that they use."""
        c, n = len(model.V), matrix.shape[1]
        shared, altered = np.ascontiguousarray(model.X.T), np.ascontiguousarray(model.V.transpose(0, 2, 1))
        pattern, item, _ = entries(shared, altered)
        rates, strengths = np.zeros((c, len(shared))), np.zeros((c, len(pattern)))
        bases = []
        for is_within in (True, False):
            chosen = np.flatnonzero(within == is_within)
            numbers, n_classes = (labels, c) if is_within else (np.zeros_like(labels), 1)
            lists = _item_lists(shared[chosen], altered[:, chosen] if is_within else altered[:1, chosen] & False)
            base = np.zeros((n_classes, n))
            of_patterns, of_items = np.zeros((n_classes, len(chosen))), np.zeros((n_classes, len(lists.items)))
            _core.estimate_rows(
                *_sparse_rows(matrix),
                numbers.astype(np.int64),
                n,
                n_classes,
                lists.edges,
                lists.items,
                lists.in_class,
                np.ascontiguousarray(model.Y[:, chosen]),
                base,
                of_patterns,
                of_items,
                _n_threads(),
                ROUNDS if is_within else 0,
            )
            bases.append(base)
            if not is_within:
                # As in the class that uses it most: without classes, a set of frequent items would seem to be chance.
                sizes = np.bincount(labels, minlength=c)
                used = np.stack([model.Y[labels == a][:, chosen].sum(axis=0) for a in range(c)])
                of_patterns = ((used + 0.5) / (sizes[:, None] + 1)).max(axis=0)
            rates[:, chosen] = of_patterns
            places = np.full((len(shared), n), -1)
            places[np.repeat(chosen, np.diff(lists.edges)), lists.items] = np.arange(len(lists.items))
            at = places[pattern, item]
            strengths[:, at >= 0] = of_items[:, at[at >= 0]]
        no_nats = np.zeros((c, len(shared))), np.zeros(c)
        estimated = cls(within, bases[0], bases[1][0], rates, strengths, *no_nats)
        return estimated._with_sets(matrix, labels, shared, altered)

    def _with_sets(self, matrix: BinaryMatrix, labels: Indices, shared: Bools, altered: Bools) -> RowModel:
        """Estimate how much more often rows of a class have a set first than the other rates say."""
        chosen = self._sets(shared)
        if not len(chosen):
            return self
        c, n_sets = len(self.base), len(chosen)
        first = first_set(matrix, shared[chosen])
        counts = np.stack([np.bincount(first[labels == a], minlength=n_sets + 1) for a in range(c)]).astype(np.float64)
        items = np.flatnonzero(shared[chosen].any(axis=0))
        # The order of the columns makes no difference.
        items = items[np.lexsort(self.base[:, items])]
        sets = shared[np.ix_(chosen, items)]
        drawn = [first_set(self._draw(a, shared, altered, items), sets) for a in range(c)]
        chance = np.stack([np.bincount(numbers, minlength=n_sets + 1) + 0.5 for numbers in drawn])
        chance /= chance.sum(axis=1, keepdims=True)
        nats = _rates_beside(counts, chance) - np.log(chance)
        set_nats = np.zeros((c, len(shared)))
        set_nats[:, chosen] = nats[:, :-1]
        return replace(self, set_nats=set_nats, no_set_nats=np.ascontiguousarray(nats[:, -1]))

    def _sets(self, shared: Bools) -> Indices:
        """Return the patterns that say what a row has in full."""
        return np.flatnonzero(~self.within & shared.any(axis=1))

    def _draw(self, a: int, shared: Bools, altered: Bools, items: Indices) -> Bools:
        """Draw some items of rows of a class by rates and strengths."""
        c, n = self.base.shape
        n_rows = int(np.clip(MOST_DRAWN // c, FEWEST_DRAWN, MOST_DRAWN))
        rng = np.random.default_rng(0)
        pattern, item, _ = entries(shared, altered)
        missing = np.ones((n_rows, len(items)))
        for s in np.flatnonzero(self.within):
            strengths = np.zeros(n)
            np.maximum.at(strengths, item[pattern == s], self.strengths[a, pattern == s])
            if strengths[items].any():
                uses = rng.random((n_rows, 1)) < self.rates[a, s]
                missing = np.minimum(missing, np.where(uses, 1 - strengths[items], 1.0))
        drawn: Bools = rng.random(missing.shape) >= missing * (1 - self.base[a, items])
        return drawn

    def nats(self, rows: BinaryMatrix, shared: Bools, altered: Bools) -> Floats:
        """Return the log-likelihood of rows in every class, (m, c); patterns are (r, n), what classes add (c, r, n)."""
        nats = self._score(rows, shared, altered, True, with_use=False)[0]
        chosen = self._sets(shared)
        if not len(chosen):
            return nats
        return nats + np.column_stack([self.set_nats[:, chosen], self.no_set_nats]).T[first_set(rows, shared[chosen])]

    def use(self, rows: BinaryMatrix, shared: Bools, altered: Bools, of_class: Floats) -> Floats:
        """Return the probability that rows use every pattern, (m, r), by the probabilities of their classes, (m, c)."""
        use = np.zeros((rows.shape[0], len(shared)))
        inner = self._score(rows, shared, altered, True, with_use=True)[1]
        use[:, self.within] = (inner * of_class[:, :, None]).sum(axis=1)
        use[:, ~self.within] = self._score(rows, shared, altered, False, with_use=True)[1][:, 0]
        return use

    def _score(
        self, rows: BinaryMatrix, shared: Bools, altered: Bools, is_within: bool, with_use: bool
    ) -> tuple[Floats, Floats]:
        chosen = np.flatnonzero(self.within == is_within)
        c = len(self.base) if is_within else 1
        lists = _item_lists(shared[chosen], altered[:, chosen] if is_within else altered[:1, chosen] & False)
        pattern, item, _ = entries(shared, altered)
        place = np.zeros(shared.shape, dtype=np.int64)
        place[pattern, item] = np.arange(len(pattern))
        at = place[np.repeat(chosen, np.diff(lists.edges)), lists.items]
        nats = np.zeros((rows.shape[0], c))
        use = np.zeros((rows.shape[0], c, len(chosen)) if with_use else (0, 0, 0))
        base = self.base if is_within else self.base_of_all[None]
        _core.score_rows(
            np.ascontiguousarray(base),
            np.ascontiguousarray(self.rates[:c, chosen]),
            lists.edges,
            lists.items,
            np.where(lists.in_class, self.strengths[:c, at], 0.0),
            *_sparse_rows(rows),
            nats,
            use,
            _n_threads(),
        )
        return nats, use


def left_out_nats(
    matrix: BinaryMatrix, labels: Indices, model: BinaryModel, within: Bools, order: Indices, groups: Indices
) -> tuple[Indices, Floats]:
    """Return some rows, and their nats in every class by models that are estimated without them; see `RowModel.nats`.

    The patterns are those of all rows. ``order`` are the rows in the order in which they are dealt to parts; rows of
    one group are left out together.
    """
    dealt = order[np.argsort(labels[order], kind="stable")]
    _, first, group = np.unique(groups[dealt], return_index=True, return_inverse=True)
    turns = np.argsort(np.argsort(first))[group]
    are_many = len(dealt) > MANY_ROWS
    n_parts = len(dealt) // SOME_ROWS if are_many else PARTS
    parts = [dealt[turns % n_parts == k] for k in range(1 if are_many else PARTS)]
    patterns = np.ascontiguousarray(model.X.T), np.ascontiguousarray(model.V.transpose(0, 2, 1))
    rows = sp.csr_array(matrix)
    nats = []
    for part in parts:
        others = np.setdiff1d(dealt, part)
        of_others = BinaryModel(model.X, model.V, np.ascontiguousarray(model.Y[others]))
        nats.append(RowModel.estimate(rows[others], labels[others], of_others, within).nats(rows[part], *patterns))
    return np.concatenate(parts), np.concatenate(nats)


def first_set(rows: BinaryMatrix, sets: Bools) -> Indices:
    """Return the first set that each row has in full, or the number of sets.

    Examples
    --------
    >>> import numpy as np
    >>> first_set(np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]]), np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)).tolist()
    [0, 1, 2]
    """
    had = sp.csr_array(rows).astype(np.int32) @ sets.T.astype(np.int32) == sets.sum(axis=1)
    return np.where(had.any(axis=1), had.argmax(axis=1), len(sets))


def _rates_beside(counts: Floats, chance: Floats) -> Floats:
    """Return the logarithms of rates by class, drawn to those of chance, averaged over by how much."""

    def nats(size: float) -> float:
        drawn = gammaln(counts + size * chance) - gammaln(size * chance)
        return float((drawn.sum(axis=1) + gammaln(size) - gammaln(size + counts.sum(axis=1))).sum())

    # Rates that are those of chance are as probable as all others.
    prior = -np.log(len(CONCENTRATIONS))
    weights = softmax([float((counts * np.log(chance)).sum()), *(nats(size) + prior for size in CONCENTRATIONS)])
    rows = counts.sum(axis=1, keepdims=True)
    drawn = [(counts + size * chance) / (rows + size) for size in CONCENTRATIONS]
    logarithms: Floats = np.log(sum(weight * rates for weight, rates in zip(weights, [chance, *drawn], strict=True)))
    return logarithms


def _item_lists(shared: Bools, altered: Bools) -> ItemLists:
    """Return the items of patterns, (r, n), with what classes add, (c, r, n)."""
    anywhere = shared | altered.any(axis=0)
    pattern, item = np.nonzero(anywhere)
    edges = np.concatenate([[0], np.cumsum(anywhere.sum(axis=1))]).astype(np.int64)
    in_class = (shared | altered)[:, pattern, item]
    return ItemLists(edges, item.astype(np.int64), np.ascontiguousarray(in_class))


def _n_threads() -> int:
    with ThreadTeam() as team:
        return team.n_threads or 1


def _sparse_rows(rows: BinaryMatrix) -> tuple[Indices, Indices]:
    """Return the items of rows, one row after the other, and where each begins."""
    stored = sp.csr_array(rows)
    stored.sort_indices()
    return stored.indptr.astype(np.int64), stored.indices.astype(np.int64)
