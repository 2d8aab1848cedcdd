"""Dbssl, a reconstruction: shared and class-wise patterns by a variant of Asso (Miettinen 2012)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltmine.baselines.asso_search import LEAST_GAIN, Choice, GreedyCover, best_over_taus, part_of, pulse_of
from saltmine.baselines.candidates import associations, demand_room, fold, itemset_patterns
from saltmine.data.bits import BitMatrix, Words
from saltmine.data.threads import ThreadTeam
from saltmine.progress import OnStep
from saltmine.solver.solution import Solution

Floats = NDArray[np.float64]
#: Numbers of shared patterns and of those of every class; None where the description length says when to stop.
Ranks = tuple[int, ...] | None

SOURCES = ("both", "associations", "itemsets")
# What the gain of a shared pattern counts for beside that of one class: 0 takes class-wise patterns first, and just
# below 1 leaves those to their class that only its rows use. Shared ones first (1) was worse than the better of these
# two on planted data: what one class alone uses then takes the places of shared patterns.
PREFERENCES = (0.0, 0.99)
# Candidates for the shared and the class-wise rank, around a third of the patterns that a search without ranks finds.
SHARED_STEPS, CLASS_FACTORS = (-5, 0, 5), (1, 2, 4)
# Much noise makes a search without ranks find hundreds; a third of them is taken to be no more than this.
LARGEST_THIRD = 20


@dataclass(frozen=True)
class Source:
    """Where candidates come from."""

    kind: str = "both"
    tau: float | None = None
    min_support: int = 4
    max_candidates: int = 20_000


def dbssl(bits: BitMatrix, ranks: Ranks, source: Source, on_step: OnStep) -> Solution:
    """Return shared and class-wise patterns, as many as ``ranks`` says or as the description length wants."""
    with ThreadTeam() as team:
        start = _start(bits, ranks, source, team, part_of(on_step, 0.0, 0.8))
        cover = cover_by_ranks(start, ranks, part_of(on_step, 0.8, 1.0))
    return cover.solution(class_weights(bits))


def mdl_dbssl(
    bits: BitMatrix, constellations: Sequence[tuple[int, ...]] | None, source: Source, on_step: OnStep
) -> Solution:
    """Return the patterns at those ranks of a list that give the shortest description; None makes a list."""
    largest = None if constellations is None else max(constellations, key=sum)

    def covers(start: GreedyCover, tried: Sequence[tuple[int, ...]] | None) -> Iterator[GreedyCover]:
        if tried is None:
            free = cover_by_ranks(start, None, part_of(on_step, 0.4, 0.5))
            tried = default_constellations(len(free.patterns), len(bits.blocks))
            yield free
        for k, ranks in enumerate(tried):
            begin, end = (0.5 + 0.5 * (k + more) / len(tried) for more in (0, 1))
            yield cover_by_ranks(start, ranks, part_of(on_step, begin, end))

    with ThreadTeam() as team:
        start = _start(bits, largest, source, team, part_of(on_step, 0.0, 0.4))
        best = min(covers(start, constellations), key=lambda cover: cover.length)
    return best.solution(class_weights(bits))


def default_constellations(n_patterns: int, n_classes: int) -> list[tuple[int, ...]]:
    """Return the ranks to try where a search without ranks finds so many patterns.

    Examples
    --------
    >>> default_constellations(24, 2)[:3]
    [(3, 8, 8), (3, 16, 16), (3, 32, 32)]
    """
    third = min(max(round(n_patterns / 3), 1), LARGEST_THIRD)
    shared = sorted({max(third + step, 0) for step in SHARED_STEPS})
    return [(r0, *[factor * third] * n_classes) for r0 in shared for factor in CLASS_FACTORS]


def class_weights(bits: BitMatrix) -> Floats:
    """Return what an error in every class counts for.

    The paper's ``mu_1 = 1 / |D_2|`` and ``mu_2 = 1 / |D_1|`` are in the ratio of ``|D_1|`` and ``|D_2|``, which any
    number of classes can be; here their mean is 1.
    """
    ones = bits.class_counts.sum(axis=1)
    weights: Floats = ones / ones.mean()
    return weights


def cover_by_ranks(start: GreedyCover, ranks: Ranks, on_step: OnStep) -> GreedyCover:
    """Cover the data in every order of preference, and return the best: by errors, or by f without ranks."""
    weights = class_weights(start.bits)
    # With one kind of patterns there is one order.
    orders = PREFERENCES if ranks is None or (ranks[0] and any(ranks[1:])) else PREFERENCES[:1]
    covers = []
    for k, preference in enumerate(orders):
        cover = start.copy(part_of(on_step, k / len(orders), (k + 1) / len(orders)))
        _cover(cover, ranks, weights, preference)
        covers.append(cover)
    return min(covers, key=lambda cover: cover.length if ranks is None else float(weights @ cover.loss))


def _cover(cover: GreedyCover, ranks: Ranks, weights: Floats, preference: float) -> None:
    """Take patterns of the kind that gains most, all rows or those of one class, while the ranks allow it."""
    kinds = [None, *cover.bits.blocks]
    left: list[float] = [np.inf] * len(kinds) if ranks is None else list(ranks)

    def choose(cover: GreedyCover) -> Choice:
        weighted = cover.gains * weights
        # The last row stands for no candidate: there may be none at all, where no set is frequent.
        gains = np.vstack([np.column_stack([weighted.sum(axis=1), weighted]), np.zeros(len(kinds))])
        best = np.argmax(gains, axis=0)
        gained = gains[best, np.arange(len(kinds))]
        # Kinds whose rank is used up, or that gain nothing, are out.
        open_kinds = [k for k in range(len(kinds)) if left[k] and gained[k] > LEAST_GAIN]
        if not open_kinds:
            return None
        kind = max(open_kinds, key=lambda k: gained[k] * (1.0 if k else preference))
        left[kind] -= 1
        return int(best[kind]), kinds[kind]

    cover.run(choose, until_shortest=ranks is None)


def _start(bits: BitMatrix, ranks: Ranks, source: Source, team: ThreadTeam, on_step: OnStep) -> GreedyCover:
    """Return a cover without patterns by all candidates; a tau that is not given is chosen with associations alone."""
    # Associations of all rows and of every class.
    demand_room(bits.shape, "Dbssl", tables=1 + len(bits.blocks))

    def associated(tau: float, on_step: OnStep) -> Words:
        words, pulse = [None, *(bits.layout.words(a) for a in range(len(bits.blocks)))], pulse_of(bits, on_step)
        # Table by table, so that few of them are there at a time.
        return fold(np.concatenate([fold(associations(bits, tau, team, pulse, of)) for of in words]))

    def cover_by(candidates: Words, on_step: OnStep) -> GreedyCover:
        cover = GreedyCover(bits, candidates, team, on_step=on_step)
        # One order is enough to tell a good tau.
        _cover(cover, ranks, class_weights(bits), PREFERENCES[-1])
        return cover

    mining, choosing, end = part_of(on_step, 0.0, 0.5), part_of(on_step, 0.5, 1.0), part_of(on_step, 1.0, 1.0)
    parts = list[Words]()
    if source.kind != "associations":
        parts.append(itemset_patterns(bits, source.min_support, source.max_candidates, pulse_of(bits, mining)))
    if source.kind != "itemsets":
        tau = source.tau or best_over_taus(None, associated, cover_by, choosing)[0]
        parts.append(associated(tau, end))
    return GreedyCover(bits, fold(np.concatenate(parts)), team, on_step=end)
