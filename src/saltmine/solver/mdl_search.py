"""saltmine's own search: a short relaxed solve, rounding, and a local search by description length."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.rounding import round_factors
from saltmine.solver.scoring import description_length
from saltmine.solver.seeds import SEEDS, SEEDS_OF_FEW_ROWS
from saltmine.solver.solution import USUALLY_DONE, SearchSettings, Solution, Task, without_patterns

# The relaxed solve starts from more patterns than the spectrum shows: they find their places by crowding out each
# other.
START_FACTOR, START_MORE = 1.5, 4
# The penalty grows over the first iterations; few more are needed, as the local search does the rest.
RAMP, ITERATIONS = 60, 80
# With this many times more items than rows, items that occur in exactly the same rows show the patterns.
FEW_ROWS = 100
# With so many classes, and so many items times classes, the relaxed solve takes all rows for one class: alterations
# take most of its time and memory, and the moves find them. On smaller, dense tables it finds more with them.
MANY_CLASSES, MANY_ALTERATIONS = 5, 3 << 13
# The relaxed solve then starts with so many more patterns per class, and no more than the second; with more items times
# classes than the third with none, which would take too long.
MORE_PER_CLASS, MOST_MORE, MOST_ALTERATIONS = 8, 64, 1 << 17
# The work of a start grows with cells and classes, and with the number of patterns, which grows with that of the items.
# Data of so much work is searched from one start. Smaller data, where starts differ more, from more: as many as the
# square root of the share, but no more than six.
WORK_OF_ONE_START, MOST_STARTS = 1 << 28, 6
# Rounds of moves on the binary model; one or two are the rule.
MAX_ROUNDS = 5


def search_sample(matrix: BinaryMatrix, bits: BitMatrix, settings: SearchSettings) -> Solution:
    """Search a sample of the data, which may have no ones at all."""
    return mdl_search(settings.task(matrix, bits), settings) if bits.shape[1] else without_patterns(bits)


def mdl_search(task: Task, settings: SearchSettings) -> Solution:
    """Run saltmine's own solver: a short relaxed solve, then moves on the binary model; docs/solver.md says why."""
    n_rows, n_items = task.bits.weights.shape
    # The relaxed solve would then give every row a pattern of its own.
    few_rows = n_items > FEW_ROWS * n_rows
    if few_rows:
        local, n_iter, history = _make_search(task, settings), 0, list[float]()
        _improve(local, settings, USUALLY_DONE[0], USUALLY_DONE[1])
    else:
        local, n_iter, history = _best_start(task, settings)
    limit = None if settings.max_rank is None else 2 * settings.max_rank
    seeds = SEEDS_OF_FEW_ROWS if few_rows else SEEDS
    for max_n, (begin, end) in zip(seeds, pairwise(USUALLY_DONE[1:]), strict=True):
        if not local.grow_from_residual(max_n, settings.rng, limit, by_similarity=not few_rows):
            break
        _improve(local, settings, begin, end)
    local.add_contrasts(limit)
    if settings.max_rank is not None:
        local.truncate(settings.max_rank)
    # Classes that were not shown to differ may be by now.
    local.allow_differences()
    if local.leave_to_typical():
        # What differed only in these items is one pattern.
        for _ in range(MAX_ROUNDS):
            if not local.merge():
                break
    local.refit()
    local.split_unrelated_classes(settings.max_rank)
    if local.drop_insignificant():
        # What a pattern of most rows described is left to the typical row.
        local.add_typical()
        local.drop_until_significant()
    if local.leave_to_typical():
        local.drop_until_significant()
    model = local.model()
    # The look at the spectrum is an iteration as well, and the only one where it shows nothing.
    n_iter = max(n_iter, 1)
    # Judged by the terms of this search: with many classes, S as printed punishes alterations that several share.
    if local.length >= without_patterns(task.bits).length:
        return replace(without_patterns(task.bits), n_iter=n_iter, history=history)
    typical = [k for k, s in enumerate(local.patterns()) if local.is_typical(s)]
    return Solution(model, description_length(task.bits, model), local.length, n_iter, history, typical)


def _make_search(task: Task, settings: SearchSettings) -> LocalSearch:
    """Return a search that begins without patterns."""
    nothing = BinaryModel.empty(*task.bits.shape, len(task.bits.blocks))
    return LocalSearch(
        task.bits, nothing, alterations=settings.alterations, alpha=settings.alpha, n_threads=task.team.n_threads or 1
    )


def count_starts(n_rows: int, n_items: int, n_classes: int) -> int:
    """Return the number of starts, by the size of the data.

    Examples
    --------
    >>> count_starts(100, 40, 2), count_starts(3000, 70, 2), count_starts(1000, 1000, 2)
    (6, 3, 1)
    """
    share = WORK_OF_ONE_START / (n_rows * n_items**2 * n_classes)
    return min(max(round(math.sqrt(share)), 1), MOST_STARTS)


def _best_start(task: Task, settings: SearchSettings) -> tuple[LocalSearch, int, list[float]]:
    """Solve the relaxed problem from several starts and improve what it gives; return the best, and how it went."""
    best, n_iter, history = _make_search(task, settings), 0, list[float]()
    n_starts = count_starts(*task.bits.shape, len(task.bits.blocks))
    for k in range(n_starts):
        # The first tells how far it is; those after it would begin again.
        model, iterations, checks = _relaxed_start(task, settings if k == 0 else replace(settings, on_check=_be_quiet))
        n_iter, history = n_iter + iterations, [*history, *checks]
        local = _make_search(task, settings)
        local.add(model)
        local.refit(trim=True)
        # Each start has its share of the time; the last ends where the first moves usually end.
        parts = np.linspace(USUALLY_DONE[0], USUALLY_DONE[1], n_starts + 1)
        _improve(local, settings, float(parts[k]), float(parts[k + 1]))
        if k == 0 or local.length < best.length:
            best = local
        if not iterations:
            # Where the spectrum shows nothing, all starts are the same.
            break
    return best, n_iter, history


def _be_quiet(rank: int, iteration: int, max_iter: int, objective: float) -> None:
    """Tell nobody."""


def _relaxed_start(task: Task, settings: SearchSettings) -> tuple[BinaryModel, int, list[float]]:
    """Solve the relaxed problem, without alterations where there would be too many of them, and round it."""
    n_items, n_classes = task.bits.shape[1], len(task.bits.blocks)
    if n_classes < MANY_CLASSES or n_classes * n_items < MANY_ALTERATIONS:
        return _solve_and_round(task, settings, START_MORE)
    # A pattern with alterations may hold a set of items for every class; without, each of them needs one.
    affordable = n_classes * n_items < MOST_ALTERATIONS
    more = START_MORE + (min(MORE_PER_CLASS * n_classes, MOST_MORE) if affordable else 0)
    model, n_iter, history = _solve_and_round(task.merged, replace(settings, alterations=False), more)
    return replace(model, V=np.zeros((n_classes, *model.X.shape), dtype=bool)), n_iter, history


def _solve_and_round(task: Task, settings: SearchSettings, more: int) -> tuple[BinaryModel, int, list[float]]:
    """Solve the relaxed problem at a rank that the spectrum of the data suggests, and ``more``, and round it."""
    m, n = task.data.shape
    limit = min(m, n) if settings.max_rank is None else min(m, n, settings.max_rank)
    signals = count_signals(task.data, settings.rng, max_n=limit)
    if not signals:
        return BinaryModel.empty(m, n, len(task.data.blocks)), 0, []
    rank = min(int(START_FACTOR * signals) + more, limit)
    max_iter = min(settings.max_iter, ITERATIONS)
    solver = AcceleratedDescent(task.data, cross_weights(task.bits.class_sizes))
    descent = solver.run(
        solver.start(rank, settings.rng),
        ramp=RAMP,
        max_iter=max_iter,
        tol=settings.tol,
        alterations=settings.alterations,
        on_check=lambda iteration, value: settings.on_check(rank, iteration, max_iter, value),
    )
    return _round(descent.factors, task.bits), descent.n_iter, descent.history


def _round(factors: Factors, bits: BitMatrix) -> BinaryModel:
    """Round by f over both thresholds; the local search does not need them to the last digit."""
    return round_factors(factors.X, factors.V, factors.Y, bits, thresholds=np.array([0.3, 0.5, 0.7]))[0]


def _improve(local: LocalSearch, settings: SearchSettings, begin: float, end: float) -> None:
    """Merge, split and refit until no move helps; then take away what chance explains."""

    def tell(done: float) -> None:
        settings.on_refine(len(local.patterns()), local.length, begin + done * (end - begin))

    local.allow_differences()
    for k in range(MAX_ROUNDS):
        tell(0.3 + 0.5 * k / MAX_ROUNDS)
        if settings.max_rank is None:
            local.split_unrelated_classes()
        merged = local.merge()
        if not local.split() and not merged:
            break
        local.refit()
    for k in range(MAX_ROUNDS):
        tell(0.8 + 0.2 * k / MAX_ROUNDS)
        if not local.drop_insignificant():
            break
        local.add_typical()
        local.refit()
    if local.add_typical():
        local.refit()
