"""The search of Dbssl, a reconstruction: shared and class-wise patterns by a variant of Asso (Miettinen 2012)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Floats, Indices, Ints, Words
from saltmine.baselines import asso_search
from saltmine.baselines.asso_search import Choice, GreedyCover, OnProgress, distinct_sets, without_rank
from saltmine.data.bits import BitMatrix, count_bits
from saltmine.data.threads import ThreadTeam
from saltmine.progress import OnStep
from saltmine.solver.solution import Solution, rescale

#: Numbers of shared patterns and of those of every class; None where the description length says when to stop.
Ranks = tuple[int, ...] | None

# Weights of the gain of a shared pattern: 0 takes class-wise patterns first, and just below 1 prefers a class-wise
# pattern where only one class would use the shared one. Shared patterns first (1) was worse than the better of these
# two on planted data: patterns of a single class then take the places of shared ones.
SHARED_WEIGHTS = (0.0, 0.99)
# Default constellations: shared ranks around a third of the patterns that a search without ranks finds, and class-wise
# ranks as multiples of it.
SHARED_STEPS, CLASS_FACTORS = (-5, 0, 5), (1, 2, 4)
# In heavy noise a search without ranks finds hundreds of patterns; the third is bounded by this.
MAX_THIRD = 20
# Frequent sets are sought among an item and its nearest items; the first few of them are kept.
N_NEAREST, SETS_PER_ITEM = 8, 3


class CandidateOptions(NamedTuple):
    """Where candidates come from; the parameters of `saltmine.Dbssl`."""

    source: str
    tau: float | None
    min_support: int
    max_candidates: int


def dbssl(
    bits: BitMatrix, constellations: Sequence[Ranks] | None, options: CandidateOptions, on_step: OnStep
) -> Solution:
    """Return the patterns at the ranks with the shortest description; without a list, `default_constellations`."""
    largest = max(filter(None, constellations or []), key=sum, default=None)

    def covers(start: GreedyCover, tried: Sequence[Ranks] | None) -> Iterator[GreedyCover]:
        begin = 0.5
        if tried is None:
            begin = 0.6
            free = cover_by_ranks(start, None, rescale(on_step, 0.5, begin))
            yield free
            tried = default_constellations(len(free.patterns), len(bits.blocks))
        steps = np.linspace(begin, 1, len(tried) + 1)
        for k, ranks in enumerate(tried):
            yield cover_by_ranks(start, ranks, rescale(on_step, steps[k], steps[k + 1]))

    with ThreadTeam() as team:
        start = _start(bits, largest, options, team, rescale(on_step, 0.0, 0.5))
        best = min(covers(start, constellations), key=lambda cover: cover.length)
    return best.solution(class_weights(bits))


def default_constellations(n_patterns: int, n_classes: int) -> list[tuple[int, ...]]:
    """Return the ranks to try where a search without ranks finds ``n_patterns`` patterns.

    Examples
    --------
    >>> default_constellations(24, 2)[:3]
    [(3, 8, 8), (3, 16, 16), (3, 32, 32)]
    """
    third = min(max(round(n_patterns / 3), 1), MAX_THIRD)
    shared = sorted({max(third + step, 0) for step in SHARED_STEPS})
    return [(r0, *[factor * third] * n_classes) for r0 in shared for factor in CLASS_FACTORS]


def class_weights(bits: BitMatrix) -> Floats:
    """Return the weight of an error in every class; the mean is 1.

    The paper's ``mu_1 = 1 / |D_2|`` and ``mu_2 = 1 / |D_1|`` are in the ratio of ``|D_1|`` and ``|D_2|``, which extends
    to any number of classes.
    """
    ones = bits.class_counts.sum(axis=1)
    return np.asarray(ones / ones.mean())


def cover_by_ranks(start: GreedyCover, ranks: Ranks, on_step: OnStep) -> GreedyCover:
    """Cover the data with every weight of shared patterns, and return the best: by errors, or by f without ranks."""
    weights = class_weights(start.bits)
    # With one kind of patterns the weight makes no difference.
    shared_weights = SHARED_WEIGHTS if ranks is None or (ranks[0] and any(ranks[1:])) else SHARED_WEIGHTS[:1]
    covers, count = [], len(shared_weights)
    for k, shared_weight in enumerate(shared_weights):
        cover = start.copy(rescale(on_step, k / count, (k + 1) / count))
        _cover(cover, ranks, weights, shared_weight)
        covers.append(cover)
    return min(covers, key=lambda cover: cover.length if ranks is None else float(weights @ cover.loss))


def _cover(cover: GreedyCover, ranks: Ranks, weights: Floats, shared_weight: float) -> None:
    """Add patterns of the kind that gains most, all rows or those of one class, while the ranks allow it."""
    kinds = [None, *cover.bits.blocks]
    left: list[float] = [np.inf] * len(kinds) if ranks is None else list(ranks)

    def choose(cover: GreedyCover) -> Choice:
        weighted = cover.gains * weights
        # The last row stands for no candidate: there may be none at all, where no set is frequent.
        gains = np.vstack([np.column_stack([weighted.sum(axis=1), weighted]), np.zeros(len(kinds))])
        best = np.argmax(gains, axis=0)
        gained = gains[best, np.arange(len(kinds))]
        # Leave out kinds whose rank is reached and kinds without a gain.
        open_kinds = [k for k in range(len(kinds)) if left[k] and gained[k] > asso_search.MIN_GAIN]
        if not open_kinds:
            return None
        kind = max(open_kinds, key=lambda k: gained[k] * (1.0 if k else shared_weight))
        left[kind] -= 1
        return int(best[kind]), kinds[kind]

    cover.run(choose, until_shortest=ranks is None)


def _start(bits: BitMatrix, ranks: Ranks, options: CandidateOptions, team: ThreadTeam, on_step: OnStep) -> GreedyCover:
    """Return a cover without patterns by all candidates; a missing tau is chosen with associations alone."""
    # Associations of all rows and of every class.
    asso_search.check_size(bits.shape, "Dbssl", n_tables=1 + len(bits.blocks))

    def associated(tau: float, on_step: OnStep) -> Words:
        words = [None, *(bits.layout.words(a) for a in range(len(bits.blocks)))]
        on_progress = without_rank(bits, on_step)
        # Duplicates are dropped table by table, which saves memory.
        tables = [distinct_sets(asso_search.associations(bits, tau, team, on_progress, part)) for part in words]
        return distinct_sets(np.concatenate(tables))

    def cover_by(candidates: Words, on_step: OnStep) -> GreedyCover:
        cover = GreedyCover(bits, candidates, team, on_step)
        # One weight is enough to compare thresholds.
        _cover(cover, ranks, class_weights(bits), SHARED_WEIGHTS[-1])
        return cover

    at_end, parts = rescale(on_step, 1.0, 1.0), list[Words]()
    if options.source != "associations":
        on_progress = without_rank(bits, rescale(on_step, 0.0, 0.5))
        parts.append(itemset_patterns(bits, options.min_support, options.max_candidates, on_progress))
    if options.source != "itemsets":
        tau = options.tau or asso_search.best_over_taus(None, associated, cover_by, rescale(on_step, 0.5, 1.0))[0]
        parts.append(associated(tau, at_end))
    return GreedyCover(bits, distinct_sets(np.concatenate(parts)), team, at_end)


def itemset_patterns(bits: BitMatrix, min_support: int, max_candidates: int, on_progress: OnProgress) -> Words:
    """Return patterns made from frequent item sets of every class, at most ``max_candidates``, (K, W).

    A set gives two: the items that all of its rows have, and those that most have, the pattern that leaves the fewest
    errors in these rows. Sets are sought item by item, the most frequent items first, among the items nearest to it,
    and only the first few maximal ones are taken, so neither time nor memory depends on how many sets are frequent.
    """
    _require_mlxtend()
    layout, patterns = asso_search.item_layout(bits.shape[1]), list[Words]()
    for a, counts in enumerate(bits.class_counts):
        columns = bits.columns[:, bits.layout.words(a)]
        limit = max_candidates * (a + 1) // len(bits.blocks)
        frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts >= min_support)]
        n_sets = min(SETS_PER_ITEM, max(1, (limit - len(patterns)) // max(2 * len(frequent), 1)))
        for k, item in enumerate(frequent.tolist()):
            on_progress((a + k / len(frequent)) / len(bits.blocks))
            near = _nearest(columns, counts, item, bits.class_sizes[a], min_support)
            for found in islice(_maximal_sets(bits, a, item, near, min_support), n_sets):
                rows = np.bitwise_and.reduce(columns[found], axis=0)
                support, having = count_bits(rows), count_bits(columns & rows)
                patterns += list(layout.pack(np.array([having == support, 2 * having > support])))
            if len(patterns) >= limit:
                break
    return np.array(patterns[:max_candidates], dtype=np.uint64).reshape(-1, len(layout.weights))


def _require_mlxtend() -> None:
    try:
        import mlxtend.frequent_patterns.fpmax  # noqa: F401  # an optional extra; is it installed?
    except ImportError:
        raise ImportError(
            "Candidates from frequent item sets need mlxtend; pip install 'saltmine[itemsets]', or take "
            "candidates='associations' (--candidates associations)."
        ) from None


def _nearest(columns: Words, counts: Ints, item: int, n_rows: int, min_support: int) -> Indices:
    """Return the items that share the most rows with an item, beyond the number expected by chance."""
    together = count_bits(columns & columns[item])
    surprise = (together - counts[item] * counts / n_rows) / np.sqrt(np.maximum(counts, 1))
    surprise[(together < min_support) | (np.arange(len(counts)) == item)] = 0
    return np.argsort(-surprise, kind="stable")[: min(N_NEAREST, np.count_nonzero(surprise > 0))]


def _maximal_sets(bits: BitMatrix, a: int, item: int, near: Indices, min_support: int) -> Iterator[Indices]:
    """Yield the maximal frequent sets with an item, in class ``a`` and among the items near to it."""
    # An optional extra.
    from mlxtend.frequent_patterns.fpcommon import FPTree
    from mlxtend.frequent_patterns.fpmax import MFITree, fpmax_step

    has = bits.layout.unpack(bits.columns[[item, *near]])[:, bits.blocks[a]]
    rows = has[1:, has[0]]
    # mlxtend expects items numbered by frequency, and rows with the most frequent item first.
    order = np.argsort(rows.sum(axis=1), kind="stable")
    rank = {k: k for k in range(len(near))}
    tree = FPTree(rank)
    for row in rows[order].T:
        tree.insert_itemset(np.flatnonzero(row)[::-1].tolist())
    for _, found in fpmax_step(tree, min_support, MFITree(rank), None, None, 0):
        yield np.array([item, *near[order[found]]])
