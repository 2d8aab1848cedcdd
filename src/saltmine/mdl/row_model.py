"""The likelihood of rows: single items by class, patterns that a row may use, and which of them it uses.

A row of class a uses pattern s with probability ``rates[a, s]``. It lacks item i with probability
``(1 - base[a, i]) * (1 - strength)``, where the strength is that of the strongest pattern that it uses and that has the
item. Patterns whose items go together only because classes differ take no part in the likelihood: there the rates of
single items by class say the same. Which rows use them is decided without the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

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
    """

    within: Bools
    base: Floats
    base_of_all: Floats
    rates: Floats
    strengths: Floats

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
        return cls(within, bases[0], bases[1][0], rates, strengths)

    def nats(self, rows: BinaryMatrix, shared: Bools, altered: Bools) -> Floats:
        """Return the log-likelihood of rows in every class, (m, c); patterns are (r, n), what classes add (c, r, n)."""
        return self._score(rows, shared, altered, True, with_use=False)[0]

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
