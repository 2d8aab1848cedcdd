"""The steps of the accelerated descent, compiled: all elementwise operations in one pass over the factors.

The formulas come first, each written for one entry. Inside the loops numba compiles them; called from Python they take
whole arrays of any library, as in `device`. They stay in one file with the loops: numba compiles a loop again when its
own file changes, not when another one does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from saltmine.compiled import compiled

Floats = NDArray[np.float32]
# An entry inside a compiled loop, or an array.
Entries = Any

# In single precision, like all entries: a plain 0.5 would make the loops compute in double precision.
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)

formula = register_jitable(fastmath=True)


class Costs(NamedTuple):
    """The constants of the objective."""

    u: Floats  # (n,): code lengths of the items
    mu: np.float32  # weight of the error
    cross: Floats  # (c, c): weights of the cross term


class Prox(NamedTuple):
    """The parameters of a proximal step."""

    steps: Floats  # step sizes of the patterns
    weight: np.float32  # weight of the binary penalty


@formula
def prox(point: Entries, reach: Entries) -> Entries:
    """Move an entry by ``reach`` towards 0 or 1, whichever is nearer, and into [0, 1]; see `prox_binary`."""
    # Conditions are factors 0 and 1 here; the compiler makes selections of them.
    moved = point + (point > HALF) * reach - (point <= HALF) * reach
    return moved * (moved > ZERO) * (moved < ONE) + (moved >= ONE) * ONE


@formula
def penalty(x: Entries) -> Entries:
    """Return the binary penalty of an entry; see `binary_penalty`."""
    return ONE - abs(ONE - TWO * x)


@formula
def prox_step(point: Entries, gradient: Entries, step: Entries, weight: Entries) -> Entries:
    """Take a proximal step; ``weight`` is that of the binary penalty."""
    return prox(point - step * gradient, TWO * weight * step)


@formula
def extrapolated(now: Entries, before: Entries, inertia: Entries) -> Entries:
    """Extrapolate from the last step."""
    return now + inertia * (now - before)


@formula
def error_gradient(fitted: Entries, P: Entries, mu: Entries) -> Entries:
    """Return the gradient of the error of one class; ``fitted`` is ``(X + V_a) G_a``."""
    return mu * (fitted - P)


@formula
def cross_gradient(P_own: Entries, P_other: Entries, V_other: Entries, weight: Entries, back: Entries) -> Entries:
    """Return the part of the gradient of the cross term in V_a that belongs to one other class.

    ``weight`` is that of the ones of the other class, ``back`` the one in the opposite direction.
    """
    return HALF * weight * P_other * (ONE - V_other) - HALF * back * P_own * V_other


@formula
def cross_weight(V_other: Entries, V_own: Entries, weight: Entries) -> Entries:
    """Return the part of the weights of the usage step that belongs to the cross term with one other class."""
    return HALF * weight * V_other * (ONE - V_own)


@formula
def usage_gradient(product: Entries, fitted: Entries, codes: Entries, mu: Entries) -> Entries:
    """Return the gradient in Y; ``product`` is ``D_a W_a``, ``fitted`` is ``Y_a (X+V_a)^T (X+V_a)``."""
    return product + mu * fitted + codes


@register_jitable
def flat(factor: Floats, part: slice) -> Floats:
    """Return rows of a (n, r) factor as one flat array.

    One long loop over all entries uses the vector instructions of the processor better than many short ones over the
    patterns of a row. It starts at 0, so the compiler need not handle negative indices.
    """
    return factor[part].reshape(-1)


@compiled(fastmath=True)
def extrapolate(factor: Floats, before: Floats, inertia: np.float32, part: slice, out: Floats) -> None:
    """Extrapolate rows of a (n, r) factor."""
    now, old, new = flat(factor, part), flat(before, part), flat(out, part)
    for k in range(len(new)):
        new[k] = extrapolated(now[k], old[k], inertia)


@compiled(fastmath=True)
def add_to_all(X: Floats, V: Floats, part: slice, out: Floats) -> None:
    """Compute ``out_a = X + V_a``."""
    shared = flat(X, part)
    for a in range(V.shape[0]):
        own, total = flat(V[a], part), flat(out[a], part)
        for k in range(len(total)):
            total[k] = shared[k] + own[k]


def multiply(factor: Floats, gram: Floats, out: Floats) -> None:
    """Compute ``out = factor gram``, for which BLAS is faster than a compiled loop."""
    np.matmul(factor, gram, out=out)


@compiled(fastmath=True)
def step_X(
    point: Floats, fitted: Floats, P: Floats, costs: Costs, step: Prox, part: slice, X: Floats, before: Floats
) -> None:
    """Take the step in X from ``point``; ``fitted`` is ``(point + V_a) G_a``. The old X goes to ``before``."""
    # The gradient is summed up in the memory of the new X.
    old, gradient = flat(before, part), flat(X, part)
    for k in range(len(old)):
        old[k] = gradient[k]
        gradient[k] = ZERO
    for a in range(P.shape[0]):
        fitted_a, P_a = flat(fitted[a], part), flat(P[a], part)
        for k in range(len(gradient)):
            gradient[k] += error_gradient(fitted_a[k], P_a[k], costs.mu)
    for i in range(part.start, part.stop):
        half = HALF * costs.u[i]
        for s in range(X.shape[1]):
            X[i, s] = prox_step(point[i, s], X[i, s] + half, step.steps[s], step.weight)


@compiled(fastmath=True)
def step_V(
    point: Floats, fitted: Floats, P: Floats, costs: Costs, step: Prox, part: slice, V: Floats, before: Floats
) -> None:
    """Take the step in every V_a from ``point``; ``fitted`` is ``(X + point_a) G_a``. The old V goes to ``before``."""
    c, _, r = V.shape
    for a in range(c):
        old, now = flat(before[a], part), flat(V[a], part)
        for k in range(len(old)):
            old[k] = now[k]
    for a in range(c):
        # The gradient is summed up in the memory of the new V_a.
        gradient = flat(V[a], part)
        fitted_a, P_a = flat(fitted[a], part), flat(P[a], part)
        for k in range(len(gradient)):
            gradient[k] = error_gradient(fitted_a[k], P_a[k], costs.mu)
        for b in range(c):
            there, back = costs.cross[a, b], costs.cross[b, a]
            if there == ZERO and back == ZERO:
                continue  # such as a class with itself
            P_b, V_b = flat(P[b], part), flat(before[b], part)
            for k in range(len(gradient)):
                gradient[k] += cross_gradient(P_a[k], P_b[k], V_b[k], there, back)
        for i in range(part.start, part.stop):
            half = HALF * costs.u[i]
            for s in range(r):
                V[a, i, s] = prox_step(point[a, i, s], V[a, i, s] + half, step.steps[a, s], step.weight)


@compiled(fastmath=True)
def usage_weights(
    X: Floats, V: Floats, items: Floats, costs: Costs, part: slice, patterns: Floats, weights: Floats
) -> None:
    """Compute what the usage step needs; ``items`` are the multiplicities of the items.

    ``patterns_a`` is ``X + V_a`` times the roots of the multiplicities, for the Gram matrix. The product of the data
    with ``weights_a`` is all that the usage step needs of the data.
    """
    c, _, r = V.shape
    for b in range(c):
        total, V_b = flat(weights[b], part), flat(V[b], part)
        for k in range(len(total)):
            total[k] = ZERO
        for a in range(c):
            weight, V_a = costs.cross[a, b], flat(V[a], part)
            if weight == ZERO:
                continue
            for k in range(len(total)):
                total[k] += cross_weight(V_a[k], V_b[k], weight)
        for i in range(part.start, part.stop):
            multiplicity, root = items[i], np.sqrt(items[i])
            for s in range(r):
                pattern = X[i, s] + V[b, i, s]
                patterns[b, i, s] = root * pattern
                weights[b, i, s] = multiplicity * (weights[b, i, s] - costs.mu * pattern)


@compiled(fastmath=True)
def step_Y(
    point: Floats, fitted: Floats, product: Floats, codes: Floats, mu: np.float32, step: Prox, Y: Floats, before: Floats
) -> None:
    """Take the step in rows of one class from ``point``; see `usage_gradient` for the other arguments."""
    for j in range(len(Y)):
        for s in range(Y.shape[1]):
            before[j, s] = Y[j, s]
            gradient = usage_gradient(product[j, s], fitted[j, s], codes[s], mu)
            Y[j, s] = prox_step(point[j, s], gradient, step.steps[s], step.weight)
