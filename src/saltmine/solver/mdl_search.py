"""Whole searches, from a labelled matrix to a binary model: each takes the same arguments and gives a `Solution`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.solver.description import cross_weights, description_length, null_length
from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from saltmine.solver.relaxed.operator import Operator
from saltmine.solver.relaxed.palm import palm
from saltmine.solver.rounding import round_factors

if TYPE_CHECKING:
    from saltmine.solver.judgement import Judgement
    from saltmine.solver.local_search import Refinement


# The relaxed solve starts from more patterns than the spectrum shows: they find their places by crowding out each
# other.
START_FACTOR, START_MORE = 1.5, 4
# The penalty grows over the first iterations; few more are needed, as the refinement does the rest.
RAMP, ITERATIONS = 60, 80
# Rows, and items, to look for further patterns from, time after time; more where the first look found some.
SEEDS = (400, 1000, 1000)
# With so many items for every row, items that occur in exactly the same rows show the patterns, and the relaxed solve,
# which would give every row a pattern of its own, is left out.
FEW_ROWS, SEEDS_OF_FEW_ROWS = 100, (200, 200, 200)
# Rounds of moves on the binary model; one or two are the rule.
MOST_ROUNDS = 5
# How much of the time is usually over after the relaxed solve, the first moves, and each time of looking for more.
USUALLY_DONE = (0.1, 0.2, 0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Task:
    """What a search works on; shared by all restarts."""

    data: Operator
    bits: BitMatrix
    team: ThreadTeam


@dataclass(frozen=True)
class Settings:
    """How a search goes about it.

    ``on_check(rank, iteration, max_iter, objective)`` is called at every check of the relaxed objective,
    ``on_refine(rank, length, done)`` between the moves of the refinement, with the share of the work that is done by
    what searches usually take.
    """

    alterations: bool = True
    alpha: float = 0.01
    max_rank: int | None = None
    rank_step: int = 10
    max_iter: int = 10_000
    tol: float = 0.005
    on_check: Callable[[int, int, int, float], None] = lambda rank, iteration, max_iter, objective: None
    on_refine: Callable[[int, float, float], None] = lambda rank, length, done: None


@dataclass
class Solution:
    """A binary model with its f, the iterations it took and the relaxed objective at every check, rank after rank.

    ``score`` is what the search minimises, f with its own specificity term; of several solutions the lowest is best.
    ``judgement`` is there where the search made it on the way.
    """

    model: BinaryModel
    length: float
    score: float
    n_iter: int = 0
    history: list[float] = field(default_factory=list)
    judgement: Judgement | None = None


def paper(task: Task, settings: Settings, rng: np.random.Generator) -> Solution:
    """Algorithm 1 of the paper: descend, round, and add random columns while the rank is exhausted.

    With ``settings.alterations`` off this is Primp.
    """
    m, n = task.data.shape
    c = len(task.data.blocks)
    objective = RelaxedObjective(task.data)
    factors = Factors(np.zeros((n, 0)), np.zeros((c, n, 0)), np.zeros((m, 0)))
    limit = min(m, n) if settings.max_rank is None else settings.max_rank
    n_iter, history = 0, list[float]()

    def on_check(rank: int, iteration: int, value: float) -> None:
        settings.on_check(rank, iteration, settings.max_iter, value)

    while True:
        rank = min(factors.rank + settings.rank_step, limit)
        start = _add_random_columns(factors, rank - factors.rank, rng)
        descent = palm(
            objective,
            start,
            max_iter=settings.max_iter,
            tol=settings.tol,
            alterations=settings.alterations,
            on_check=partial(on_check, rank),
        )
        factors = descent.factors
        n_iter += descent.n_iter
        history += descent.history[1:]
        model, length = round_factors(factors.X, factors.V, factors.Y, task.bits)
        if rank - model.rank > 1 or rank >= limit:
            return Solution(model, length, length, n_iter, history)


def _add_random_columns(factors: Factors, count: int, rng: np.random.Generator) -> Factors:
    """Append random patterns and usage. Alterations start from none: they are alterations *of* something.

    The paper only says "random columns". Random alterations as well give the same F-measure and recall and class ranks
    that are half a pattern higher (benchmarks/starts.py).
    """
    n, m, c = factors.X.shape[0], factors.Y.shape[0], factors.V.shape[0]
    return Factors(
        np.hstack([factors.X, rng.random((n, count))]),
        np.concatenate([factors.V, np.zeros((c, n, count))], axis=2),
        np.hstack([factors.Y, rng.random((m, count))]),
    )


def saltmine(task: Task, settings: Settings, rng: np.random.Generator) -> Solution:
    """Run saltmine's own solver: a short relaxed solve, then moves on the binary model; docs/solver.md says why."""
    # Compiled code is loaded when it is needed: it would double the time of the import.
    from saltmine.solver.local_search import Refinement

    n_rows, n_items = task.bits.weights.shape
    few_rows = n_items > FEW_ROWS * n_rows
    if few_rows:
        model, n_iter, history = BinaryModel.empty(*task.bits.shape, len(task.bits.blocks)), 0, list[float]()
    else:
        model, n_iter, history = _relaxed_start(task, settings, rng)
    refinement = Refinement(task.bits, model, alterations=settings.alterations, alpha=settings.alpha)
    refinement.polish(trim=True)
    _improve(refinement, settings, USUALLY_DONE[0], USUALLY_DONE[1])
    limit = None if settings.max_rank is None else 2 * settings.max_rank
    seeds = SEEDS_OF_FEW_ROWS if few_rows else SEEDS
    for most, (begin, end) in zip(seeds, pairwise(USUALLY_DONE[1:]), strict=True):
        if not refinement.reseed(most, rng, task.team, limit, alike=not few_rows):
            break
        _improve(refinement, settings, begin, end)
    if settings.max_rank is not None:
        refinement.limit(settings.max_rank)
        refinement.polish()
    refinement.unglue(settings.max_rank)
    refinement.settle()
    model = refinement.model()
    # The look at the spectrum is an iteration as well, and the only one where it shows nothing.
    n_iter = max(n_iter, 1)
    # Judged by the terms of this search: with many classes, S as printed punishes alterations that several share.
    if refinement.length >= null_length(task.bits):
        return replace(without_patterns(task.bits), n_iter=n_iter, history=history)
    return Solution(model, description_length(task.bits, model), refinement.length, n_iter, history)


def _relaxed_start(task: Task, settings: Settings, rng: np.random.Generator) -> tuple[BinaryModel, int, list[float]]:
    """Solve the relaxed problem at a rank that the spectrum of the data suggests, and round it."""
    from saltmine.solver.relaxed.accelerated import AcceleratedDescent
    from saltmine.solver.relaxed.spectrum import count_signals

    m, n = task.data.shape
    limit = min(m, n) if settings.max_rank is None else min(m, n, settings.max_rank)
    signals = count_signals(task.data, rng, most=limit)
    if not signals:
        return BinaryModel.empty(m, n, len(task.data.blocks)), 0, []
    rank = min(int(START_FACTOR * signals) + START_MORE, limit)
    max_iter = min(settings.max_iter, ITERATIONS)
    solver = AcceleratedDescent(task.data, cross_weights(task.bits.class_sizes))
    descent = solver.run(
        solver.start(rank, rng),
        ramp=RAMP,
        max_iter=max_iter,
        tol=settings.tol,
        alterations=settings.alterations,
        on_check=lambda iteration, value: settings.on_check(rank, iteration, max_iter, value),
    )
    return _round(descent.factors, task.bits), descent.n_iter, descent.history


def _round(factors: Factors, bits: BitMatrix) -> BinaryModel:
    """Round by f over both thresholds; the refinement does not need them to the last digit."""
    return round_factors(factors.X, factors.V, factors.Y, bits, thresholds=np.array([0.1, 0.3, 0.5, 0.7, 0.9]))[0]


def _improve(refinement: Refinement, settings: Settings, begin: float, end: float) -> None:
    """Merge, split and polish until no move helps; then let only that stay which chance does not explain."""

    def tell(done: float) -> None:
        settings.on_refine(len(refinement.patterns()), refinement.length, begin + done * (end - begin))

    refinement.retry()
    for k in range(MOST_ROUNDS):
        tell(0.3 + 0.5 * k / MOST_ROUNDS)
        if settings.max_rank is None:
            refinement.unglue()
        merged = refinement.merge()
        if not refinement.split() and not merged:
            break
        refinement.polish()
    for k in range(MOST_ROUNDS):
        tell(0.8 + 0.2 * k / MOST_ROUNDS)
        if not refinement.gate():
            break
        refinement.polish()


def without_patterns(bits: BitMatrix) -> Solution:
    """Return the model without patterns: all there is to say of data without a single one."""
    length = null_length(bits)
    return Solution(BinaryModel.empty(*bits.shape, len(bits.blocks)), length, length)


Search = Callable[[Task, Settings, np.random.Generator], Solution]
ALGORITHMS: dict[str, Search] = {"saltmine": saltmine, "paper": paper}
# The paper's loop takes thousands of steps that add up; saltmine's few are rounded and refined.
PRECISION: dict[str, type[np.floating]] = {"saltmine": np.float32, "paper": np.float64}
