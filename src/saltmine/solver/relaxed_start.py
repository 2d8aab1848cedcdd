"""A start for the moves: a short relaxed solve, rounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.rounding import round_factors
from saltmine.solver.solution import SearchSettings, Task

# The relaxed solve starts from more patterns than the spectrum shows: they find their places by crowding out each
# other.
START_FACTOR, START_MORE = 1.5, 4
# The penalty grows over the first iterations; few more are needed, as the local search does the rest.
RAMP, ITERATIONS = 60, 80
# With so many classes, and so many items times classes, the relaxed solve takes all rows for one class: alterations
# take most of its time and memory, and the moves find them. On smaller, dense tables it finds more with them.
MANY_CLASSES, MANY_ALTERATIONS = 5, 3 << 13
# The relaxed solve then starts with so many more patterns per class, and no more than the second; with more items times
# classes than the third with none, which would take too long.
MORE_PER_CLASS, MOST_MORE, MOST_ALTERATIONS = 8, 64, 1 << 17


def relaxed_start(task: Task, settings: SearchSettings) -> tuple[BinaryModel, int, list[float]]:
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
        deadline=settings.deadline,
    )
    return _round(descent.factors, task.bits), descent.n_iter, descent.history


def _round(factors: Factors, bits: BitMatrix) -> BinaryModel:
    """Round by f over both thresholds; the local search does not need them to the last digit."""
    return round_factors(factors.X, factors.V, factors.Y, bits, thresholds=np.array([0.3, 0.5, 0.7]))[0]
