"""The steps of the accelerated descent on this machine's processor: compiled loops over panels of the factors.

The formulas come first. They take arrays of any library, as in `device`; ``core/step_kernels.cpp`` has them for the
compiled loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine import _core

Floats = NDArray[np.float32]
# An array of any library, or a number.
Entries = Any
# The number of patterns is a multiple of it, for loops that take several entries at once.
RANK_MULTIPLE = 8
# Bytes that the processor loads at once, if they begin at a multiple of this number.
CACHE_LINE = 64

# In single precision, like all entries.
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)


class State(NamedTuple):
    """The factors, those before the last step, and what the data is multiplied with in the step in Y.

    X has a row for every item, V and the weights one for every class and item, Y one for every row.
    """

    X: Floats
    X_before: Floats
    V: Floats
    V_before: Floats
    Y: Floats
    Y_before: Floats
    weights: Floats


class Costs(NamedTuple):
    """The constants of the objective."""

    u: Floats  # (n,): code lengths of the items
    mu: Any  # weight of the error, float32
    cross: Floats  # (c, c): weights of the cross term
    items: Floats  # (n,): multiplicities of the items


class Pace(NamedTuple):
    """How far steps go."""

    inertia: Any  # float32
    weight: Any  # of the binary penalty, float32


def prox(point: Entries, reach: Entries) -> Entries:
    """Move an entry by ``reach`` towards 0 or 1, whichever is nearer, and into [0, 1]; see `prox_binary`."""
    # Conditions are factors 0 and 1 here, which every library has.
    moved = point + (point > HALF) * reach - (point <= HALF) * reach
    return moved * (moved > ZERO) * (moved < ONE) + (moved >= ONE) * ONE


def penalty(x: Entries) -> Entries:
    """Return the binary penalty of an entry; see `binary_penalty`."""
    return ONE - abs(ONE - TWO * x)


def prox_step(point: Entries, gradient: Entries, step: Entries, weight: Entries) -> Entries:
    """Take a proximal step; ``weight`` is that of the binary penalty."""
    return prox(point - step * gradient, TWO * weight * step)


def extrapolated(now: Entries, before: Entries, inertia: Entries) -> Entries:
    """Extrapolate from the last step."""
    return now + inertia * (now - before)


def error_gradient(fitted: Entries, P: Entries, mu: Entries) -> Entries:
    """Return the gradient of the error of one class; ``fitted`` is ``(X + V_a) G_a``."""
    return mu * (fitted - P)


def cross_gradient(P_own: Entries, P_other: Entries, V_other: Entries, weight: Entries, back: Entries) -> Entries:
    """Return the part of the gradient of the cross term in V_a that belongs to one other class.

    ``weight`` is that of the ones of the other class, ``back`` the one in the opposite direction.
    """
    return HALF * weight * P_other * (ONE - V_other) - HALF * back * P_own * V_other


def cross_weight(V_other: Entries, V_own: Entries, weight: Entries) -> Entries:
    """Return the part of the weights of the usage step that belongs to the cross term with one other class."""
    return HALF * weight * V_other * (ONE - V_own)


def usage_gradient(product: Entries, fitted: Entries, codes: Entries, mu: Entries) -> Entries:
    """Return the gradient in Y; ``product`` is ``D_a W_a``, ``fitted`` is ``Y_a (X+V_a)^T (X+V_a)``."""
    return product + mu * fitted + codes


# ---------------------------------------------------------------------- compiled loops


def copy(factor: Floats, device: Any) -> Floats:
    """Return a copy that begins where the processor loads it fastest."""
    room = np.empty(factor.size + CACHE_LINE // factor.itemsize, dtype=factor.dtype)
    first = -room.ctypes.data % CACHE_LINE // factor.itemsize
    out = room[first : first + factor.size].reshape(factor.shape)
    out[...] = factor
    return out


def step_items(
    state: State,
    costs: Costs,
    P: Floats,
    G: Floats,
    pace: Pace,
    steps: tuple[Floats, Floats],
    alterations: bool,
    part: slice,
) -> Floats:
    """Take the steps in X and, if there are alterations, in V for some items; return Gram matrices of their patterns.

    ``P`` is ``D_a^T Y_a``, ``G`` is ``Y_a^T Y_a``; ``steps`` are the step sizes in X, (r,), and in V, (c, r).
    """
    gram = np.empty_like(G)
    _core.step_items(state, costs, P, G, pace, *steps, alterations, part.start, part.stop, gram)
    return gram


def step_rows(
    state: State,
    costs: Costs,
    product: Floats,
    gram: Floats,
    codes: Floats,
    pace: Pace,
    steps: Floats,
    part: slice,
) -> None:
    """Take the step in Y for some rows of one class.

    ``product`` is ``D_a W_a``, ``gram`` is ``(X + V_a)^T (X + V_a)``, ``codes`` the code lengths of the patterns, (r,).
    """
    _core.step_rows(state, costs, product, gram, codes, pace, steps, part.start, part.stop)
