"""The steps of the accelerated descent, compiled: everything elementwise in one pass over the factors.

The formulas come first, each written for one entry. Inside the loops numba compiles them; called from Python they take
whole arrays of any library (`arrays` does so on other devices). They stay in one file with the loops, since numba
compiles a loop anew when its own file changes, and does not look at others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from saltmine.compiled import compiled

Floats = NDArray[np.float32]
# An entry inside of a compiled loop, or an array.
Entries = Any

# Of single precision, as all entries are: a plain 0.5 would turn the loops to double precision.
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)

formula = register_jitable(fastmath=True)


@formula
def prox(point: Entries, reach: Entries) -> Entries:
    """Move an entry by ``reach`` towards 0 or 1, whichever is nearer, and into [0, 1]; see `penalty.prox_binary`."""
    # Conditions are factors 0 and 1 here, which the compiler turns into selections.
    moved = point + (point > HALF) * reach - (point <= HALF) * reach
    return moved * (moved > ZERO) * (moved < ONE) + (moved >= ONE) * ONE


@formula
def penalty(x: Entries) -> Entries:
    """Return the binary penalty of an entry; see `penalty.binary_penalty`."""
    return ONE - abs(ONE - TWO * x)


@formula
def stepped(point: Entries, gradient: Entries, step: Entries, weight: Entries) -> Entries:
    """Take a proximal step; ``weight`` is that of the binary penalty."""
    return prox(point - step * gradient, TWO * weight * step)


@formula
def extrapolated(now: Entries, before: Entries, inertia: Entries) -> Entries:
    """Go on the way that led here."""
    return now + inertia * (now - before)


@formula
def misfit(fitted: Entries, P: Entries, mu: Entries) -> Entries:
    """Return the gradient of the error of one class; ``fitted`` is ``(X + V_a) G_a``."""
    return mu * (fitted - P)


@formula
def meeting(P_own: Entries, P_other: Entries, V_other: Entries, meets: Entries, met: Entries) -> Entries:
    """Return the gradient of the cross term in V_a, as far as one other class is concerned."""
    return HALF * meets * P_other * (ONE - V_other) - HALF * met * P_own * V_other


@formula
def met_weight(V_other: Entries, V_own: Entries, meets: Entries) -> Entries:
    """Return what the cross term with one other class adds to the weights of the usage step."""
    return HALF * meets * V_other * (ONE - V_own)


@formula
def usage_gradient(product: Entries, fitted: Entries, codes: Entries, mu: Entries) -> Entries:
    """Return the gradient in Y; ``product`` is ``D_a W_a``, ``fitted`` is ``Y_a (X+V_a)^T (X+V_a)``."""
    return product + mu * fitted + codes


@register_jitable
def flat(factor: Floats, begin: int, end: int) -> Floats:
    """Return rows of a (n, r) factor end to end.

    One long loop over all entries uses the vector instructions of the processor better than many short ones over the
    patterns of a row; and it starts at 0, where the compiler need not look for negative indices.
    """
    return factor[begin:end].reshape(-1)


@compiled(fastmath=True)
def extrapolate(factor: Floats, before: Floats, inertia: np.float32, begin: int, end: int, out: Floats) -> None:
    """Extrapolate rows of a (n, r) factor."""
    now, old, new = flat(factor, begin, end), flat(before, begin, end), flat(out, begin, end)
    for k in range(len(new)):
        new[k] = extrapolated(now[k], old[k], inertia)


@compiled(fastmath=True)
def add_to_all(X: Floats, V: Floats, begin: int, end: int, out: Floats) -> None:
    """``out_a = X + V_a``."""
    shared = flat(X, begin, end)
    for a in range(V.shape[0]):
        own, total = flat(V[a], begin, end), flat(out[a], begin, end)
        for k in range(len(total)):
            total[k] = shared[k] + own[k]


def multiply(factor: Floats, gram: Floats, out: Floats) -> None:
    """``out = factor gram``: the one thing here that BLAS does better."""
    np.matmul(factor, gram, out=out)


@compiled(fastmath=True)
def step_X(
    point: Floats,
    fitted: Floats,
    P: Floats,
    u: Floats,
    mu: np.float32,
    steps: Floats,
    weight: np.float32,
    begin: int,
    end: int,
    X: Floats,
    before: Floats,
) -> None:
    """Take the step in X from ``point``; ``fitted`` is ``(point + V_a) G_a``. The old X goes to ``before``."""
    # The old X is saved, and its gradient gathered where the new X will stand.
    old, gathered = flat(before, begin, end), flat(X, begin, end)
    for k in range(len(old)):
        old[k] = gathered[k]
        gathered[k] = ZERO
    for a in range(P.shape[0]):
        fitted_a, P_a = flat(fitted[a], begin, end), flat(P[a], begin, end)
        for k in range(len(gathered)):
            gathered[k] += misfit(fitted_a[k], P_a[k], mu)
    for i in range(begin, end):
        half = HALF * u[i]
        for s in range(X.shape[1]):
            X[i, s] = stepped(point[i, s], X[i, s] + half, steps[s], weight)


@compiled(fastmath=True)
def step_V(
    point: Floats,
    fitted: Floats,
    P: Floats,
    u: Floats,
    mu: np.float32,
    cross: Floats,
    steps: Floats,
    weight: np.float32,
    begin: int,
    end: int,
    V: Floats,
    before: Floats,
) -> None:
    """Take the step in every V_a from ``point``; ``fitted`` is ``(X + point_a) G_a``. The old V goes to ``before``."""
    c, _, r = V.shape
    for a in range(c):
        old, now = flat(before[a], begin, end), flat(V[a], begin, end)
        for k in range(len(old)):
            old[k] = now[k]
    for a in range(c):
        # The gradient is gathered where the new V_a will stand.
        gathered = flat(V[a], begin, end)
        fitted_a, P_a = flat(fitted[a], begin, end), flat(P[a], begin, end)
        for k in range(len(gathered)):
            gathered[k] = misfit(fitted_a[k], P_a[k], mu)
        for b in range(c):
            meets, met = cross[a, b], cross[b, a]
            if meets == ZERO and met == ZERO:
                continue  # as a class with itself
            P_b, V_b = flat(P[b], begin, end), flat(before[b], begin, end)
            for k in range(len(gathered)):
                gathered[k] += meeting(P_a[k], P_b[k], V_b[k], meets, met)
        for i in range(begin, end):
            half = HALF * u[i]
            for s in range(r):
                V[a, i, s] = stepped(point[a, i, s], V[a, i, s] + half, steps[a, s], weight)


@compiled(fastmath=True)
def usage_weights(
    X: Floats,
    V: Floats,
    items: Floats,
    mu: np.float32,
    cross: Floats,
    begin: int,
    end: int,
    patterns: Floats,
    weights: Floats,
) -> None:
    """Prepare the usage step, with every item as often as ``items`` says.

    ``patterns_a = X + V_a``, times the root of it, for the Gram matrix; and ``weights_a``, whose product with the data
    is all the usage step needs of it.
    """
    c, _, r = V.shape
    for b in range(c):
        gathered, V_b = flat(weights[b], begin, end), flat(V[b], begin, end)
        for k in range(len(gathered)):
            gathered[k] = ZERO
        for a in range(c):
            meets = cross[a, b]
            if meets == ZERO:
                continue
            V_a = flat(V[a], begin, end)
            for k in range(len(gathered)):
                gathered[k] += met_weight(V_a[k], V_b[k], meets)
        for i in range(begin, end):
            times, root = items[i], np.sqrt(items[i])
            for s in range(r):
                pattern = X[i, s] + V[b, i, s]
                patterns[b, i, s] = root * pattern
                weights[b, i, s] = times * (weights[b, i, s] - mu * pattern)


@compiled(fastmath=True)
def step_Y(
    point: Floats,
    fitted: Floats,
    product: Floats,
    codes: Floats,
    mu: np.float32,
    steps: Floats,
    weight: np.float32,
    begin: int,
    end: int,
    Y: Floats,
    before: Floats,
) -> None:
    """Take the step in rows of one class from ``point``; `usage_gradient` says what the others are."""
    for j in range(begin, end):
        for s in range(Y.shape[1]):
            before[j, s] = Y[j, s]
            gradient = usage_gradient(product[j, s], fitted[j, s], codes[s], mu)
            Y[j, s] = stepped(point[j, s], gradient, steps[s], weight)
