"""The relaxed solve of saltmine: long steps, inertia, and a growing binary penalty.

The objective is that of `objective.RelaxedObjective` with another specificity term (docs/solver.md): the ones of an
alteration in classes that do not have it, weighted so that large classes do not dominate small ones. Every iteration
costs two products with the data; everything else is linear in the size of the factors, times the rank.

The solve runs where the data is: on this machine's processor in compiled loops over panels (`step_kernels`), on another
device in operations on whole arrays (`device`). Both take the same steps by the same formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.solver.relaxed import device, step_kernels
from saltmine.solver.relaxed.device import HOST, Array, DeviceOperator
from saltmine.solver.relaxed.objective import Descent, Factors, OnCheck, weighted
from saltmine.solver.relaxed.operator import Operator
from saltmine.solver.relaxed.step_kernels import Costs, Prox

# Inertia stays below one, and restarts when the objective rises.
MAX_INERTIA = 0.99
# The number of patterns is padded to a multiple of the first, which loops and BLAS prefer, and to at least the second,
# the width of a SIMD vector (`sparse_kernels`).
RANK_MULTIPLE, MIN_RANK = 4, 8


class AcceleratedDescent:
    """A descent at one rank.

    Parameters
    ----------
    data : Operator
        Single precision. Factors are returned as numpy arrays, also from a device.
    cross : (c, c) float
        Weights of the ones of class b in the items of an alteration of class a.
    """

    def __init__(self, data: Operator, cross: NDArray[np.float64]) -> None:
        self.data = data
        self.device = data.device if isinstance(data, DeviceOperator) else HOST
        self._kernels: Any = device if isinstance(data, DeviceOperator) else step_kernels
        put, counts = self.device.put, data.weights
        # All entries are 0 or 1, so the number of ones is the squared norm of the data.
        self._ones = int(counts.items @ data.item_counts)
        self.cross = put(cross.astype(np.float32))
        self.u = put(-np.log(data.item_counts / self._ones).astype(np.float32))
        self.mu = np.float32(1 + np.log(counts.shape[1]))
        self._costs = Costs(self.u, self.mu, self.cross)
        self._items, self._rows = put(counts.items.astype(np.float32)), put(counts.rows.astype(np.float32))
        # As columns to multiply factors by; None where all are 1.
        self._item_weights = self._items[:, None] if (counts.items > 1).any() else None
        self._row_weights = self._rows[:, None] if (counts.rows > 1).any() else None

    def start(self, rank: int, rng: np.random.Generator) -> Factors:
        """Draw random patterns and usage whose product has the density of the data; alterations start at zero."""
        (m, n), c = self.data.shape, len(self.data.blocks)
        rows, items = self.data.weights.shape
        density = self._ones / (rows * items)
        size = min(1.0, 2 * np.sqrt(density / max(rank, 1)))
        X = np.float32(size) * rng.random((n, rank), dtype=np.float32)
        Y = np.float32(size) * rng.random((m, rank), dtype=np.float32)
        return Factors(X, np.zeros((c, n, rank), dtype=np.float32), Y)

    def run(
        self,
        start: Factors,
        *,
        ramp: int,
        max_iter: int,
        tol: float = 1e-4,
        alterations: bool = True,
        check_every: int = 10,
        on_check: OnCheck = lambda iteration, value: None,
    ) -> Descent:
        """Descend for ``ramp`` iterations while the penalty grows, then until the decrease is small.

        ``tol`` is the relative decrease over one check below which the descent stops.
        """
        rank, put = start.X.shape[1], self.device.put
        padded = [_padded(factor) for factor in (start.X, start.V, start.Y)]
        X, V, Y = (put(factor) for factor in padded)
        before = Factors(*(put(factor) for factor in padded))
        work = _Buffers(self.device.xp, X, V, Y, rank)
        history = list[float]()
        momentum, iteration = 1.0, 0
        for iteration in range(1, max_iter + 1):
            weight = np.float32(min(1.0, (iteration / ramp) ** 2))
            next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            inertia = np.float32(min(MAX_INERTIA, (momentum - 1) / next_momentum))
            momentum = next_momentum
            if iteration % check_every == 1 and iteration > 1:
                history.append(self._value(X[:, :rank], V[:, :, :rank], Y[:, :rank], weight))
                on_check(iteration - 1, history[-1])
                # While the penalty grows, the objective may rise for that reason alone.
                decrease = history[-2] - history[-1] if iteration > ramp + check_every else np.inf
                if decrease < 0:
                    momentum = 1.0
                elif decrease < tol * history[-1]:
                    iteration -= 1
                    break
            self._step_items(Factors(X, V, Y), before, work, inertia, weight, alterations)
            self._step_rows(Y, before, work, inertia, weight)
        trimmed = (np.ascontiguousarray(self.device.get(factor)[..., :rank]) for factor in (X, V, Y))
        return Descent(Factors(*trimmed), iteration, history)

    def _step_items(
        self, now: Factors, before: Factors, work: _Buffers, inertia: np.float32, weight: np.float32, alterations: bool
    ) -> None:
        """Take the steps in X and V, for every panel of items as soon as its product is computed."""
        xp, kernels = self.device.xp, self._kernels
        X, V, Y = now.X, now.V, now.Y
        usage = weighted(Y, self._row_weights)
        G = self._usage_grams(usage, Y)
        step_X = Prox(self._steps(xp.sum(G, axis=0)), weight)
        step_V = Prox(xp.stack([self._steps(of_class) for of_class in G]), weight)

        def step(P: Array, items: slice) -> None:
            kernels.extrapolate(X, before.X, inertia, items, work.point)
            kernels.add_to_all(work.point, V, items, work.patterns)
            kernels.multiply(work.patterns[:, items], G, work.fitted[:, items])
            kernels.step_X(work.point, work.fitted, P, self._costs, step_X, items, X, before.X)
            if alterations:
                for a in range(len(V)):
                    kernels.extrapolate(V[a], before.V[a], inertia, items, work.points[a])
                kernels.add_to_all(X, work.points, items, work.patterns)
                kernels.multiply(work.patterns[:, items], G, work.fitted[:, items])
                kernels.step_V(work.points, work.fitted, P, self._costs, step_V, items, V, before.V)
            kernels.usage_weights(X, V, self._items, self._costs, items, work.patterns, work.weights)
            # The patterns include the roots of the multiplicities of the items here.
            patterns = work.patterns[:, items]
            work.grams[items.start] = xp.matrix_transpose(patterns) @ patterns

        self.data.transposed_times(usage, step)

    def _step_rows(self, Y: Array, before: Factors, work: _Buffers, inertia: np.float32, weight: np.float32) -> None:
        """Take the step in Y, for every panel of rows as soon as its product is computed."""
        xp, kernels = self.device.xp, self._kernels
        # In the order of the items, whichever thread was first, so that rounding is always the same.
        gram = sum(work.grams[start] for start in sorted(work.grams))
        used = self._used(weighted(Y, self._row_weights))
        codes = xp.asarray(0.5 - 0.5 * self._log_shares(used, work.rank), dtype=xp.float32)
        steps = [Prox(self._steps(of_class), weight) for of_class in gram]

        def step(product: Array, a: int, rows: slice) -> None:
            kernels.extrapolate(Y, before.Y, inertia, rows, work.row_point)
            point, fitted = work.row_point[rows], work.row_fitted[rows]
            kernels.multiply(point, gram[a], fitted)
            kernels.step_Y(point, fitted, product[rows], codes, self.mu, steps[a], Y[rows], before.Y[rows])

        self.data.times(work.weights, step)

    def _usage_grams(self, usage: Array, Y: Array) -> Array:
        return self.device.xp.stack([usage[rows].T @ Y[rows] for rows in self.data.blocks])

    def _used(self, usage: Array) -> Array:
        return self.device.xp.sum(usage, axis=0, dtype=self.device.wide)

    def _log_shares(self, used: Array, rank: int) -> Array:
        """Return the logarithms of the shares of the patterns in the usage, smoothed so that no share is 0."""
        xp = self.device.xp
        return xp.log((used + 1) / (xp.sum(used) + rank))

    def _steps(self, gram: Array) -> Array:
        """Return one step size per pattern: the row sums of a Gram matrix of non-negative factors majorise it."""
        xp = self.device.xp
        return 1 / (self.mu * xp.clip(xp.sum(gram, axis=0), 1, None))

    def _value(self, X: Array, V: Array, Y: Array, weight: np.float32) -> float:
        """Return the relaxed objective with the penalty; it costs one product."""
        xp, usage = self.device.xp, weighted(Y, self._row_weights)
        P, patterns = weighted(self.data.transposed_times(usage), self._item_weights), X + V
        G, gram = self._usage_grams(usage, Y), xp.matrix_transpose(patterns) @ weighted(patterns, self._item_weights)
        error = self._ones - 2 * self._dot(P, patterns) + self._dot(G, gram)
        used = self._used(usage)
        codes = float(xp.sum(used - (used + 1) * self._log_shares(used, len(used))))
        table = self._dot(self._items * self.u, _per_row(xp, X) + _per_row(xp, V))
        cross = self._dot(P, xp.tensordot(self.cross.T, V, axes=1) * (1 - V))
        penalty = self._dot(self._items, _per_row(xp, step_kernels.penalty(X)) + _per_row(xp, step_kernels.penalty(V)))
        penalty += self._dot(self._rows, _per_row(xp, step_kernels.penalty(Y)))
        return 0.5 * (float(self.mu) * error + codes + table + cross) + float(weight) * penalty

    def _dot(self, left: Array, right: Array) -> float:
        """Return the sum of the products of all entries."""
        xp = self.device.xp
        return float(xp.vecdot(xp.reshape(left, (-1,)), xp.reshape(right, (-1,))))


def _padded(factor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Append patterns of zeros, which no step changes.

    Their products with the data are zero. The rest of their gradients is positive: u / 2 in X and V, and a code of at
    least 1 / 2 in Y.
    """
    rank = factor.shape[-1]
    more = -rank % (MIN_RANK if rank < MIN_RANK else RANK_MULTIPLE)
    return np.concatenate([factor, np.zeros((*factor.shape[:-1], more), dtype=np.float32)], axis=-1)


def _per_row(xp: Any, factor: Array) -> Array:
    """Sum a factor over patterns, and over classes if it has them."""
    sums = xp.sum(factor, axis=-1)
    return xp.sum(sums, axis=0) if sums.ndim > 1 else sums


class _Buffers:
    """Memory that every iteration overwrites; the patterns after the first ``rank`` are padding.

    ``grams`` are the Gram matrices of the patterns by panel of items, with the first item as key.
    """

    def __init__(self, xp: Any, X: Array, V: Array, Y: Array, rank: int) -> None:
        self.rank = rank
        self.grams = dict[int, Array]()
        self.point = xp.empty_like(X)
        self.points, self.fitted = xp.empty_like(V), xp.empty_like(V)
        self.patterns, self.weights = xp.empty_like(V), xp.empty_like(V)
        self.row_point, self.row_fitted = xp.empty_like(Y), xp.empty_like(Y)
