"""Algorithm 1 of the paper: descend, round, and add random columns while the rank is exhausted."""

from __future__ import annotations

from functools import partial

import numpy as np

from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from saltmine.solver.relaxed.palm import palm
from saltmine.solver.rounding import round_factors
from saltmine.solver.solution import Search, Solution, Task


def paper_search(task: Task, search: Search) -> Solution:
    """Run the published algorithm; without ``search.alterations`` this is Primp."""
    m, n = task.data.shape
    c = len(task.data.blocks)
    objective = RelaxedObjective(task.data)
    factors = Factors(np.zeros((n, 0)), np.zeros((c, n, 0)), np.zeros((m, 0)))
    limit = min(m, n) if search.max_rank is None else search.max_rank
    n_iter, history = 0, list[float]()

    def on_check(rank: int, iteration: int, value: float) -> None:
        search.on_check(rank, iteration, search.max_iter, value)

    while True:
        rank = min(factors.rank + search.rank_step, limit)
        start = _add_random_columns(factors, rank - factors.rank, search.rng)
        descent = palm(
            objective,
            start,
            max_iter=search.max_iter,
            tol=search.tol,
            alterations=search.alterations,
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
