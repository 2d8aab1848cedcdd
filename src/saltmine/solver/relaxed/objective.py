"""The relaxed objective: the smooth part F with its gradients and Lipschitz moduli, and the binary penalty.

docs/method/objective.md has the formulas. Letters as in the paper: D data, X patterns (n, r), V alterations (c, n, r),
Y usage (m, r). The m x n residual is never formed. The X and V steps need only the *projection* of the data on the
usage, ``P_a = D_a^T Y_a`` and ``G_a = Y_a^T Y_a``; the Y step needs one product ``D_a W_a``.

Identical items, or identical rows, may be folded into one. Sums over items and rows are then weighted by the
multiplicities, and a gradient is that of one copy, so all values equal those of the unfolded data.

Everything is written against the array API: factors are arrays of the device that holds the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltmine.solver.relaxed.device import Array
from saltmine.solver.relaxed.operator import Operator

#: Called with the number of iterations and the objective.
OnCheck = Callable[[int, float], None]


def weighted(factor: Array, multiplicities: Array | None) -> Array:
    """Multiply the rows of a factor by their multiplicities, a column; None means that all are 1."""
    return factor if multiplicities is None else factor * multiplicities


@dataclass
class Factors:
    """Relaxed factors: ``X`` (n, r), ``V`` (c, n, r), ``Y`` (m, r), entries in [0, 1]."""

    X: Array
    V: Array
    Y: Array

    @property
    def rank(self) -> int:
        """Number of patterns."""
        return int(self.X.shape[1])


@dataclass
class Projection:
    """The projection of the data on the usage: ``P`` (c, n, r) and ``G`` (c, r, r)."""

    P: Array
    G: Array


@dataclass
class Descent:
    """The result of a descent: factors, iterations, and the objective at the start and at every check."""

    factors: Factors
    n_iter: int
    history: list[float]


class RelaxedObjective:
    """``F = 1/2 (mu sum_a ||D_a - Y_a (X+V_a)^T||^2 + G + S)``.

    Parameters
    ----------
    data : Operator
        Every item must occur at least once. Factors are arrays of its device.
    specificity : float
        Weight of S inside the bracket. The default is F as the paper states it; 2 gives the unhalved S of its printed
        gradients.
    """

    def __init__(self, data: Operator, specificity: float = 1.0) -> None:
        self.data, self.device, self.specificity = data, data.device, specificity
        items, rows, put = data.weights.items, data.weights.rows, data.device.put
        self._items, self._rows = put(items), put(rows)
        self._item_weights = self._items[:, None] if (items > 1).any() else None
        self._row_weights = self._rows[:, None] if (rows > 1).any() else None
        ones = int(items @ data.item_counts)
        # Every entry of D is 0 or 1, so the number of ones is its squared Frobenius norm.
        self._squared_norm = float(ones)
        self.u = put(-np.log(data.item_counts / ones))
        self.mu = 1.0 + float(np.log(data.weights.shape[1]))
        self.class_sizes = put(np.array(data.weights.class_sizes(data.blocks)))

    def project(self, Y: Array) -> Projection:
        """Return the projection on the usage: the one product of the X and V steps."""
        usage = weighted(Y, self._row_weights)
        G = self.device.xp.stack([usage[rows, :].T @ Y[rows, :] for rows in self.data.blocks])
        return Projection(self.data.transposed_times(usage), G)

    def gram(self, patterns: Array) -> Array:
        """Return ``(X+V_a)^T (X+V_a)``, (c, r, r), from ``X+V_a``, (c, n, r)."""
        return self.device.xp.matrix_transpose(patterns) @ weighted(patterns, self._item_weights)

    def value(self, factors: Factors, projection: Projection) -> float:
        """Return F; ``projection`` must be that on ``factors.Y``."""
        patterns = factors.X + factors.V
        error = self._squared_norm - 2 * self._dot(projection.P, weighted(patterns, self._item_weights))
        error += self._dot(projection.G, self.gram(patterns))
        return 0.5 * float(self.mu * error + self._code_length(factors) + self._specificity_term(factors, projection))

    def penalty(self, factors: Factors) -> float:
        """Return the binary penalty of all factors."""
        X, V, Y, xp = factors.X, factors.V, factors.Y, self.device.xp
        of_patterns = binary_penalty(X, self._items, xp) + binary_penalty(V, self._items, xp)
        return of_patterns + binary_penalty(Y, self._rows, xp)

    def _code_length(self, factors: Factors) -> Array:
        xp, used = self.device.xp, self._used(factors.Y)
        total = xp.sum(used)
        usage_codes = -((used + 1) @ xp.log((used + 1) / (total + factors.rank)))
        table = (self._items * self.u) @ (xp.sum(factors.X, axis=1) + xp.sum(factors.V, axis=(0, 2)))
        return usage_codes + table + total

    def _specificity_term(self, factors: Factors, projection: Projection) -> Array:
        xp, V = self.device.xp, weighted(factors.V, self._item_weights)
        hits = xp.sum(projection.P, axis=0) - 2 * projection.P
        term = self._dot(self._used_by_class(factors.Y), xp.sum(V, axis=1)) + self._dot(V, hits)
        return self.specificity * term

    def gradient_X(self, X: Array, V: Array, projection: Projection) -> Array:
        """Return ``-mu sum_a R_a^T Y_a + u/2``."""
        residual = (X + V) @ projection.G
        residual -= projection.P
        out = self.device.xp.sum(residual, axis=0)
        out *= self.mu
        out += 0.5 * self.u[:, None]
        return out

    def gradient_V(self, X: Array, V: Array, Y: Array, projection: Projection) -> Array:
        """Return ``-mu R_a^T Y_a + u/2 + 1/2 [D^T Y + (1 - 2 D_a)^T Y_a]`` for every class, shape (c, n, r)."""
        out = (X + V) @ projection.G
        out *= self.mu
        out -= (self.mu + self.specificity) * projection.P
        shared = (0.5 * self.specificity) * self.device.xp.sum(projection.P, axis=0)
        shared += 0.5 * self.u[:, None]
        out += shared
        out += (0.5 * self.specificity) * self._used_by_class(Y)[:, None, :]
        return out

    def gradient_Y(self, X: Array, V: Array, Y: Array, gram: Array) -> Array:
        """Return the gradient in Y, (m, r); ``gram`` is that of ``X+V_a``. All data terms are one product."""
        xp, half = self.device.xp, 0.5 * self.specificity
        W = (half * xp.sum(V, axis=0) - self.mu * X) - (self.mu + 2 * half) * V
        out = self.data.times(weighted(W, self._item_weights))
        used = self._used(Y)
        altered = xp.sum(weighted(V, self._item_weights), axis=1)
        codes = 0.5 - 0.5 * xp.log((used + 1) / (xp.sum(used) + used.shape[0]))
        for a, rows in enumerate(self.data.blocks):
            out[rows, :] += Y[rows, :] @ (self.mu * gram[a, :, :])
            out[rows, :] += codes + half * altered[a, :]
        return out

    # Moduli with Frobenius norms, as in the paper. A minimum of mu keeps the step finite where no pattern is used; a
    # larger modulus is always valid. They stay on the device, so that no step waits for a copy.

    def modulus_X(self, projection: Projection) -> Array:
        """Return the Lipschitz modulus of the gradient in X."""
        xp = self.device.xp
        return self.mu * xp.clip(self._norm(xp.sum(projection.G, axis=0)), 1.0, None)

    def modulus_V(self, projection: Projection) -> Array:
        """Return the Lipschitz moduli of the gradients in V_a, one per class."""
        xp = self.device.xp
        return self.mu * xp.clip(xp.linalg.matrix_norm(projection.G), 1.0, None)

    def modulus_Y(self, gram: Array) -> Array:
        """Return the Lipschitz modulus of the gradient in Y, which all classes share as in the paper."""
        return self._norm(self.mu * self.device.xp.linalg.matrix_norm(gram) + self.class_sizes)

    def _used(self, Y: Array) -> Array:
        """Return how often every pattern is used, (r,)."""
        return self.device.xp.sum(weighted(Y, self._row_weights), axis=0)

    def _used_by_class(self, Y: Array) -> Array:
        """Return how often every class uses every pattern, (c, r)."""
        xp, usage = self.device.xp, weighted(Y, self._row_weights)
        return xp.stack([xp.sum(usage[rows, :], axis=0) for rows in self.data.blocks])

    def _dot(self, left: Array, right: Array) -> Array:
        """Return the sum of the products of all entries."""
        xp = self.device.xp
        return xp.vecdot(xp.reshape(left, (-1,)), xp.reshape(right, (-1,)))

    def _norm(self, array: Array) -> Array:
        """Return the root of the sum of the squares of all entries."""
        return self.device.xp.sqrt(self._dot(array, array))


# ---------------------------------------------------------------------- binary penalty


def binary_penalty(factor: Array, counts: Array, xp: Any = np) -> float:
    """Return the sum of ``Lambda(x) = 1 - |1 - 2x|`` over the entries; infinite outside [0, 1].

    ``counts`` are the multiplicities of the rows of the factor (items of X and V, rows of Y), ``xp`` is the library of
    both arrays.

    Examples
    --------
    >>> import numpy as np
    >>> binary_penalty(np.array([[0.0, 1.0], [0.25, 0.5]]), counts=np.array([5, 2]))
    3.0
    """
    if 0 not in factor.shape and (xp.min(factor) < 0 or xp.max(factor) > 1):
        return float("inf")
    per_row = factor.shape[-1] - xp.sum(xp.abs(1 - 2 * factor), axis=-1)
    return float(xp.sum(per_row @ counts))


def prox_binary(point: Array, step: Any, xp: Any = np) -> Array:
    """Return the proximal map of ``step * phi``: towards 0 up to one half, towards 1 above, clipped to [0, 1].

    ``xp`` is the library of the array.

    Examples
    --------
    >>> import numpy as np
    >>> prox_binary(np.array([-3.0, 0.4, 0.5, 0.7, 2.0]), step=0.1)
    array([0. , 0.2, 0.3, 0.9, 1. ])
    """
    # -2 step or +2 step, by arithmetic: three times as fast as np.where.
    moved = xp.asarray(point > 0.5, dtype=point.dtype)
    moved *= 4 * step
    moved -= 2 * step
    moved += point
    return xp.clip(moved, 0.0, 1.0)
