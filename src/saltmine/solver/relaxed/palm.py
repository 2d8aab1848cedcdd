"""Proximal alternating linearised minimisation (PALM) at one rank, as in Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from saltmine.solver.relaxed.objective import Factors, Projection, RelaxedObjective, binary_penalty, prox_binary
from saltmine.solver.relaxed.operator import Floats

# The paper's gamma: steps stay strictly below the inverse modulus.
GAMMA = 1.00001
# The stopping rule uses the mean decrease over this many iterations.
WINDOW = 500


@dataclass
class Descent:
    """The result of a descent: factors, iterations, and the objective at the start and at every check."""

    factors: Factors
    n_iter: int
    history: list[float]


def palm(
    objective: RelaxedObjective,
    start: Factors,
    *,
    max_iter: int = 10_000,
    tol: float = 0.005,
    alterations: bool = True,
    check_every: int = 10,
    on_check: Callable[[int, float], None] | None = None,
) -> Descent:
    """Descend from ``start`` until the mean decrease over 500 iterations is below ``tol``.

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
            V = _step_classes(V, objective.gradient_V(X, V, Y, projection), objective.modulus_V(projection))
        gram = objective.gram(X + V)
        Y = _step(Y, objective.gradient_Y(X, V, Y, gram), objective.modulus_Y(gram))
        projection = objective.project(Y)
        if iteration % check_every and iteration < max_iter:
            continue
        history.append(_value(objective, Factors(X, V, Y), projection))
        if on_check is not None:
            on_check(iteration, history[-1])
        if len(history) > lag and history[-1 - lag] - history[-1] < tol * lag * check_every:
            break
    return Descent(Factors(X, V, Y), iteration, history)


def _step(point: Floats, gradient: Floats, modulus: float) -> Floats:
    step = 1.0 / (GAMMA * modulus)
    gradient *= -step
    gradient += point
    return prox_binary(gradient, step)


def _step_classes(points: Floats, gradients: Floats, moduli: Floats) -> Floats:
    return np.stack([_step(*of_class) for of_class in zip(points, gradients, moduli, strict=True)])


def _value(objective: RelaxedObjective, factors: Factors, projection: Projection) -> float:
    """Return F with the binary penalty of all factors."""
    counts = objective.data.weights
    penalty = binary_penalty(factors.X, counts.items) + binary_penalty(factors.V, counts.items)
    return objective.value(factors, projection) + penalty + binary_penalty(factors.Y, counts.rows)
