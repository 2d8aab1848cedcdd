"""The steps of the accelerated descent: compiled loops over panels of the factors (``core/step_kernels.cpp``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine import _core

Floats = NDArray[np.float32]
# The number of patterns is a multiple of it, for loops that take several entries at once.
RANK_MULTIPLE = 8
# Bytes that the processor loads at once, if they begin at a multiple of this number.
CACHE_LINE = 64


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


def copy(factor: Floats) -> Floats:
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
