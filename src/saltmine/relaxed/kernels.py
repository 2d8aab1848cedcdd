"""Compiled steps of the accelerated descent: everything elementwise in one pass over the factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.compiled import compiled

Floats = NDArray[np.float32]


@compiled(fastmath=True)
def prox(point: np.float32, reach: np.float32) -> np.float32:
    """Move an entry by ``reach`` towards 0 or 1, whichever is nearer, and into [0, 1]; see `penalty.prox_binary`."""
    moved = point + (reach if point > np.float32(0.5) else -reach)
    moved = moved if moved > np.float32(0.0) else np.float32(0.0)
    return moved if moved < np.float32(1.0) else np.float32(1.0)


@compiled(fastmath=True)
def extrapolate(factor: Floats, before: Floats, inertia: np.float32, begin: int, end: int, out: Floats) -> None:
    """``out = factor + inertia (factor - before)`` for rows of a (n, r) factor."""
    for i in range(begin, end):
        for s in range(factor.shape[1]):
            out[i, s] = factor[i, s] + inertia * (factor[i, s] - before[i, s])


@compiled(fastmath=True)
def add_to_all(X: Floats, V: Floats, begin: int, end: int, out: Floats) -> None:
    """``out_a = X + V_a``."""
    for a in range(V.shape[0]):
        for i in range(begin, end):
            for s in range(X.shape[1]):
                out[a, i, s] = X[i, s] + V[a, i, s]


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
    for i in range(begin, end):
        half = np.float32(0.5) * u[i]
        # The old X is saved, and its gradient gathered where the new X will stand.
        for s in range(X.shape[1]):
            before[i, s] = X[i, s]
            X[i, s] = half
        for a in range(P.shape[0]):
            for s in range(X.shape[1]):
                X[i, s] += mu * (fitted[a, i, s] - P[a, i, s])
        for s in range(X.shape[1]):
            X[i, s] = prox(point[i, s] - steps[s] * X[i, s], np.float32(2.0) * weight * steps[s])


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
    one = np.float32(1.0)
    for i in range(begin, end):
        half = np.float32(0.5) * u[i]
        for a in range(c):
            for s in range(r):
                before[a, i, s] = V[a, i, s]
        for a in range(c):
            for s in range(r):
                V[a, i, s] = mu * (fitted[a, i, s] - P[a, i, s]) + half
            for b in range(c):
                meets, met = np.float32(0.5) * cross[a, b], np.float32(0.5) * cross[b, a]
                for s in range(r):
                    V[a, i, s] += meets * P[b, i, s] * (one - before[b, i, s]) - met * P[a, i, s] * before[b, i, s]
            for s in range(r):
                V[a, i, s] = prox(point[a, i, s] - steps[a, s] * V[a, i, s], np.float32(2.0) * weight * steps[a, s])


@compiled(fastmath=True)
def usage_weights(
    X: Floats, V: Floats, mu: np.float32, cross: Floats, begin: int, end: int, patterns: Floats, weights: Floats
) -> None:
    """``patterns_a = X + V_a``, and ``weights_a``, whose product with the data is all the usage step needs of it."""
    c, _, r = V.shape
    for i in range(begin, end):
        for b in range(c):
            for s in range(r):
                patterns[b, i, s] = X[i, s] + V[b, i, s]
                weights[b, i, s] = -mu * patterns[b, i, s]
            for a in range(c):
                half = np.float32(0.5) * cross[a, b]
                for s in range(r):
                    weights[b, i, s] += half * V[a, i, s] * (np.float32(1.0) - V[b, i, s])


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
    """Take the step in rows of one class from ``point``.

    ``fitted`` is ``point (X+V_a)^T (X+V_a)``, ``product`` is ``D_a W_a``.
    """
    for j in range(begin, end):
        for s in range(Y.shape[1]):
            gradient = product[j, s] + mu * fitted[j, s] + codes[s]
            before[j, s] = Y[j, s]
            Y[j, s] = prox(point[j, s] - steps[s] * gradient, np.float32(2.0) * weight * steps[s])
