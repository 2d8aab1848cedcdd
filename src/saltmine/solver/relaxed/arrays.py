"""The steps of the accelerated descent on whole arrays: for devices that numba does not compile for.

Every function takes what its namesake in `kernels` takes, in arrays of any library that follows the array API and
writes into slices (torch, cupy), and does the same by the same formulas.
"""

from __future__ import annotations

from typing import Any

from saltmine.solver.relaxed.kernels import HALF, extrapolated, meeting, met_weight, misfit, stepped, usage_gradient

Array = Any


def extrapolate(factor: Array, before: Array, inertia: Any, begin: int, end: int, out: Array) -> None:
    """Extrapolate rows of a (n, r) factor."""
    out[begin:end] = extrapolated(factor[begin:end], before[begin:end], inertia)


def add_to_all(X: Array, V: Array, begin: int, end: int, out: Array) -> None:
    """``out_a = X + V_a``."""
    out[:, begin:end] = X[begin:end] + V[:, begin:end]


def multiply(factor: Array, gram: Array, out: Array) -> None:
    """``out = factor gram``."""
    out[...] = factor @ gram


def step_X(
    point: Array,
    fitted: Array,
    P: Array,
    u: Array,
    mu: Any,
    steps: Array,
    weight: Any,
    begin: int,
    end: int,
    X: Array,
    before: Array,
) -> None:
    """Take the step in X from ``point``. The old X goes to ``before``."""
    items = slice(begin, end)
    gradient = HALF * u[items, None]
    for a in range(P.shape[0]):
        gradient = gradient + misfit(fitted[a, items], P[a, items], mu)
    before[items] = X[items]
    X[items] = stepped(point[items], gradient, steps, weight)


def step_V(
    point: Array,
    fitted: Array,
    P: Array,
    u: Array,
    mu: Any,
    cross: Array,
    steps: Array,
    weight: Any,
    begin: int,
    end: int,
    V: Array,
    before: Array,
) -> None:
    """Take the step in every V_a from ``point``. The old V goes to ``before``."""
    items = slice(begin, end)
    P = P[:, items]
    gradient = misfit(fitted[:, items], P, mu) + HALF * u[items, None]
    for b in range(V.shape[0]):
        gradient += meeting(P, P[b], V[b, items], cross[:, b, None, None], cross[b, :, None, None])
    before[:, items] = V[:, items]
    V[:, items] = stepped(point[:, items], gradient, steps[:, None], weight)


def usage_weights(
    X: Array, V: Array, items: Array, mu: Any, cross: Array, begin: int, end: int, patterns: Array, weights: Array
) -> None:
    """Prepare the usage step, with every item as often as ``items`` says."""
    part = slice(begin, end)
    V, times = V[:, part], items[part, None]
    pattern = X[part] + V
    patterns[:, part] = times**0.5 * pattern
    gathered = -mu * times * pattern
    for a in range(V.shape[0]):
        gathered += met_weight(V[a], V, times * cross[a, :, None, None])
    weights[:, part] = gathered


def step_Y(
    point: Array,
    fitted: Array,
    product: Array,
    codes: Array,
    mu: Any,
    steps: Array,
    weight: Any,
    begin: int,
    end: int,
    Y: Array,
    before: Array,
) -> None:
    """Take the step in rows of one class from ``point``."""
    rows = slice(begin, end)
    before[rows] = Y[rows]
    gradient = usage_gradient(product[rows], fitted[rows], codes, mu)
    Y[rows] = stepped(point[rows], gradient, steps, weight)
