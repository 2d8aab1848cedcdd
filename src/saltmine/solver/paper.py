"""Algorithm 1 of the paper: descend, round, and add random columns while the rank is exhausted.

The descent is proximal alternating linearised minimisation (PALM) at one rank.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from saltmine.solver.relaxed import objective as relaxed
from saltmine.solver.relaxed.objective import Descent, Factors, OnCheck, RelaxedObjective
from saltmine.solver.relaxed.operator import Floats
from saltmine.solver.rounding import round_factors
from saltmine.solver.solution import SearchSettings, Solution, Task

# The paper's gamma: steps stay strictly below the inverse modulus.
GAMMA = 1.00001
# The stopping rule uses the mean decrease over this many iterations.
WINDOW = 500


def paper_search(task: Task, settings: SearchSettings) -> Solution:
    """Run the published algorithm; without ``settings.alterations`` this is Primp."""
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
        start = _add_random_columns(factors, rank - factors.rank, settings.rng)
        tell = partial(on_check, rank)
        descent = palm(objective, start, settings.max_iter, settings.tol, settings.alterations, on_check=tell)
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


def palm(
    objective: RelaxedObjective,
    start: Factors,
    max_iter: int = 10_000,
    tol: float = 0.005,
    alterations: bool = True,
    check_every: int = 10,
    on_check: OnCheck = lambda iteration, value: None,
) -> Descent:
    """Descend from ``start`` (PALM) until the mean decrease over 500 iterations is below ``tol``.

    Parameters
    ----------
    objective : RelaxedObjective
        The smooth part; the binary penalty is added here.
    start : Factors
        Left unchanged.
    alterations : bool
        False keeps V as it is (Primp, or a single class).
    check_every : int
        Number of iterations between two evaluations of the objective and of the stopping rule.
    on_check : callable
        Called as ``on_check(iteration, value)``.
    """
    X, V, Y = start.X, start.V, start.Y
    projection = objective.project(Y)
    history = [_value(objective, start, projection)]
    lag = -(-WINDOW // check_every)
    iteration = 0
    for iteration in range(1, max_iter + 1):
        X = _step(X, objective.gradient_X(X, V, projection), objective.modulus_X(projection))
        if alterations:
            of_classes = zip(V, objective.gradient_V(X, V, Y, projection), objective.modulus_V(projection), strict=True)
            V = np.stack([_step(*of_class) for of_class in of_classes])
        gram = objective.gram(X + V)
        Y = _step(Y, objective.gradient_Y(X, V, Y, gram), objective.modulus_Y(gram))
        projection = objective.project(Y)
        if iteration % check_every and iteration < max_iter:
            continue
        history.append(_value(objective, Factors(X, V, Y), projection))
        on_check(iteration, history[-1])
        if len(history) > lag and history[-1 - lag] - history[-1] < tol * lag * check_every:
            break
    return Descent(Factors(X, V, Y), iteration, history)


def _step(point: Floats, gradient: Floats, modulus: float) -> Floats:
    step = 1.0 / (GAMMA * modulus)
    gradient *= -step
    gradient += point
    return relaxed.prox_binary(gradient, step)


def _value(objective: RelaxedObjective, factors: Factors, projection: relaxed.Projection) -> float:
    """Return F with the binary penalty of all factors."""
    counts = objective.data.weights
    penalty = relaxed.binary_penalty(factors.X, counts.items) + relaxed.binary_penalty(factors.V, counts.items)
    return objective.value(factors, projection) + penalty + relaxed.binary_penalty(factors.Y, counts.rows)
