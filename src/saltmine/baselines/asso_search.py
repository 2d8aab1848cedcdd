"""The search of Asso (Miettinen et al. 2008): candidates from associations between items, and the best threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saltmine.baselines.greedy_cover import Choice, GreedyCover, OnProgress, rescaled, run_panels, without_rank
from saltmine.compiled import compiled
from saltmine.data.bit_kernels import count_ones
from saltmine.data.bits import BitMatrix, Words, count_bits
from saltmine.data.threads import ThreadTeam, cut
from saltmine.progress import OnStep
from saltmine.solver.solution import Solution

# Thresholds to try first, then steps to both sides of the best one.
TAUS, FINE_STEPS = tuple(k / 10 for k in range(1, 11)), (0.05, 0.025)
# Smaller gains, as a share of the gain of a one, are rounding errors.
MIN_GAIN = 1e-6
# The associations of this many items take 300 MB; packing this many cells takes 200 MB.
MAX_ITEMS, MAX_CELLS = 50_000, 200_000_000

ONE_BIT = np.uint64(1)


def asso(
    bits: BitMatrix, rank: int | None, tau: float | None, w_plus: float, w_minus: float, on_step: OnStep
) -> Solution:
    """Cover the data by ``rank`` candidates from associations; rank and tau that are None are chosen by f."""
    check_size(bits.shape, "Asso")

    def choose(cover: GreedyCover) -> Choice:
        if len(cover.patterns) == rank:
            return None
        best = int(np.argmax(cover.gains[:, 0]))
        return (best, None) if cover.gains[best, 0] > MIN_GAIN * w_plus else None

    def cover_by(candidates: Words, on_step: OnStep) -> GreedyCover:
        cover = GreedyCover(bits, candidates, team, w_plus, w_minus, on_step)
        cover.run(choose, until_shortest=rank is None)
        return cover

    def candidates_at(tau: float, on_step: OnStep) -> Words:
        return distinct_sets(associations(bits, tau, team, without_rank(bits, on_step)))

    with ThreadTeam() as team:
        _, cover = best_over_taus(tau, candidates_at, cover_by, on_step)
    return cover.solution(np.ones(1))


def check_size(shape: tuple[int, int], method: str, n_tables: int = 1) -> None:
    """Refuse data that is too large for ``n_tables`` bit matrices over all pairs of items, or for a dense copy."""
    m, n = shape
    max_items = int(MAX_ITEMS / n_tables**0.5)
    if n > max_items:
        raise ValueError(
            f"{method} compares all pairs of items, which is too much for {n:,} of them; keep the {max_items:,} most "
            "frequent ones, or use CSalt or Primp."
        )
    if m * n > MAX_CELLS:
        raise ValueError(
            f"{method} takes at most {MAX_CELLS:,} cells, and {m:,} rows of {n:,} items are more; fit a sample of the "
            "rows, or use CSalt or Primp."
        )


@compiled()
def associate(columns: Words, begin: int, end: int, tau: float, first: int, last: int, candidates: Words) -> None:
    """Set bit j of candidate i where item j is in a share of at least ``tau`` of the rows that item i is in.

    The rows are words ``begin`` to ``end`` of the columns, the candidates those from ``first`` to ``last``.
    """
    for i in range(first, last):
        rows = 0
        for w in range(begin, end):
            rows += count_ones(columns[i, w])
        if rows == 0:
            continue
        for j in range(len(columns)):
            both = 0
            for w in range(begin, end):
                both += count_ones(columns[i, w] & columns[j, w])
            # A quotient rounds as the tau that a user writes does: 3 of 10 rows are 0.3, but 10 times 0.3 may not be 3.
            if both / rows >= tau:
                candidates[i, j >> 6] |= ONE_BIT << np.uint64(j & 63)


def associations(
    bits: BitMatrix, tau: float, team: ThreadTeam, on_progress: OnProgress, words: slice | None = None
) -> Words:
    """Return for every item the set of items that at least ``tau`` of its rows have, (n, W).

    ``words`` restricts the rows to these words of the columns, those of one class.
    """
    n = bits.shape[1]
    words = words or slice(0, bits.columns.shape[1])
    candidates = np.zeros((n, -(-n // 64)), dtype=np.uint64)
    parts = cut(n, n * (words.stop - words.start))
    panels = [(bits.columns, words.start, words.stop, tau, p.start, p.stop, candidates) for p in parts]
    run_panels(team, associate, panels, on_progress)
    return candidates


def distinct_sets(candidates: Words) -> Words:
    """Drop duplicates, and single items unless there is nothing larger; the order is kept.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_sets(np.array([[0b01], [0b11], [0b110], [0b11]], dtype=np.uint64)).tolist()
    [[3], [6]]
    """
    _, first = np.unique(candidates, axis=0, return_index=True)
    distinct = candidates[np.sort(first)]
    sizes = count_bits(distinct)
    kept: Words = distinct[sizes >= min(2, sizes.max(initial=1))]
    return kept


def best_over_taus(
    tau: float | None,
    candidates_at: Callable[[float, OnStep], Words],
    cover_by: Callable[[Words, OnStep], GreedyCover],
    on_step: OnStep,
) -> tuple[float, GreedyCover]:
    """Return the tau with the shortest description and its cover; a tau that is given is used."""
    if tau is not None:
        return tau, cover_by(candidates_at(tau, rescaled(on_step, 0.0, 0.1)), rescaled(on_step, 0.1, 1.0))
    best, shortest = 0.0, None
    tried = set[int]()
    n_trials, trial = len(TAUS) + 2 * len(FINE_STEPS), 0
    for step in (0.0, *FINE_STEPS):
        for at in (best - step, best + step) if step else TAUS:
            begin, middle, end = ((trial + share) / n_trials for share in (0.0, 0.1, 1.0))
            trial += 1
            if not 0 < at <= 1:
                continue
            candidates = candidates_at(at, rescaled(on_step, begin, middle))
            # Many thresholds give the same candidates, such as all that are too high for any pair of items.
            if hash(candidates.tobytes()) in tried:
                continue
            tried.add(hash(candidates.tobytes()))
            cover = cover_by(candidates, rescaled(on_step, middle, end))
            if shortest is None or cover.length < shortest.length:
                best, shortest = at, cover
    assert shortest is not None  # the first threshold has candidates
    return best, shortest
