"""The relaxed solve of saltmine: long steps, inertia, and a binary penalty that grows.

The objective is that of `objective.RelaxedObjective` with another specificity term (docs/solver.md): ones that an
alteration meets in classes which do not carry it, weighted so that large classes do not silence small ones. Every
iteration costs two products with the data; all else is linear in the size of the factors, times the rank.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from saltmine.matrix.operator import Operator
from saltmine.relaxed import kernels
from saltmine.relaxed.objective import Factors
from saltmine.relaxed.palm import Descent

Floats = NDArray[np.float32]

# Inertia stays below one, and starts again when the objective rises.
MOST_INERTIA = 0.99


class AcceleratedDescent:
    """A descent at one rank.

    Parameters
    ----------
    data : Operator
        Single precision.
    cross : (c, c) float
        Weight of the ones of class b that an alteration of class a meets.
    """

    def __init__(self, data: Operator, cross: NDArray[np.float64]) -> None:
        ones = int(data.item_counts.sum())
        self.data = data
        self.cross = cross.astype(np.float32)
        self.u = -np.log(data.item_counts / ones).astype(np.float32)
        self.mu = np.float32(1 + np.log(data.shape[1]))
        self._squared_norm = ones

    def start(self, rank: int, rng: np.random.Generator) -> Factors:
        """Draw random patterns and usage whose product has the density of the data; alterations start from none."""
        (m, n), c = self.data.shape, len(self.data.blocks)
        density = self.data.item_counts.sum() / (m * n)
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
        on_check: Callable[[int, float], None] | None = None,
    ) -> Descent:
        """Descend for ``ramp`` iterations while the penalty grows, then until the objective hardly falls.

        ``tol`` is the relative decrease over one check below which the descent stops.
        """
        X, V, Y = start.X.copy(), start.V.copy(), start.Y.copy()
        before = Factors(X.copy(), V.copy(), Y.copy())
        work = _Work(X, V, Y)
        history = list[float]()
        momentum, iteration = 1.0, 0
        for iteration in range(1, max_iter + 1):
            weight = np.float32(min(1.0, (iteration / ramp) ** 2))
            faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            inertia = np.float32(min(MOST_INERTIA, (momentum - 1) / faster))
            momentum = faster
            if iteration % check_every == 1 and iteration > 1:
                history.append(self._value(X, V, Y, weight))
                if on_check is not None:
                    on_check(iteration - 1, history[-1])
                # While the penalty grows, the objective may rise for that reason alone.
                fall = history[-2] - history[-1] if iteration > ramp + check_every else np.inf
                if fall < 0:
                    momentum = 1.0
                elif fall < tol * history[-1]:
                    iteration -= 1
                    break
            self._items(X, V, Y, before, work, inertia, weight, alterations)
            self._rows(Y, before, work, inertia, weight)
        return Descent(Factors(X, V, Y), iteration, history)

    def _items(
        self,
        X: Floats,
        V: Floats,
        Y: Floats,
        before: Factors,
        work: _Work,
        inertia: np.float32,
        weight: np.float32,
        alterations: bool,
    ) -> None:
        """Take the steps in X and V of every panel of items as soon as its product is there."""
        G = self._usage_grams(Y)
        steps_X = self._steps(G.sum(axis=0))
        steps_V = np.stack([self._steps(of_class) for of_class in G])

        def step(P: Floats, items: slice) -> None:
            part = items.start, items.stop
            kernels.extrapolate(X, before.X, inertia, *part, work.point)
            kernels.add_to_all(work.point, V, *part, work.patterns)
            np.matmul(work.patterns[:, items], G, out=work.fitted[:, items])
            known = P, self.u, self.mu
            kernels.step_X(work.point, work.fitted, *known, steps_X, weight, *part, X, before.X)
            if alterations:
                for a in range(len(V)):
                    kernels.extrapolate(V[a], before.V[a], inertia, *part, work.points[a])
                kernels.add_to_all(X, work.points, *part, work.patterns)
                np.matmul(work.patterns[:, items], G, out=work.fitted[:, items])
                kernels.step_V(work.points, work.fitted, *known, self.cross, steps_V, weight, *part, V, before.V)
            kernels.usage_weights(X, V, self.mu, self.cross, *part, work.patterns, work.weights)

        self.data.transposed_times(Y, step)

    def _rows(self, Y: Floats, before: Factors, work: _Work, inertia: np.float32, weight: np.float32) -> None:
        """Take the step in Y of every panel of rows as soon as its product is there."""
        gram = work.patterns.transpose(0, 2, 1) @ work.patterns
        used = Y.sum(axis=0, dtype=np.float64)
        codes = (0.5 - 0.5 * np.log((used + 1) / (used.sum() + len(used)))).astype(np.float32)
        steps = [self._steps(of_class) for of_class in gram]

        def step(product: Floats, a: int, rows: slice) -> None:
            part = rows.start, rows.stop
            kernels.extrapolate(Y, before.Y, inertia, *part, work.row_point)
            np.matmul(work.row_point[rows], gram[a], out=work.row_fitted[rows])
            point, fitted = work.row_point, work.row_fitted
            kernels.step_Y(point, fitted, product, codes, self.mu, steps[a], weight, *part, Y, before.Y)

        self.data.times(work.weights, step)

    def _usage_grams(self, Y: Floats) -> Floats:
        return np.stack([Y[rows].T @ Y[rows] for rows in self.data.blocks])

    def _steps(self, gram: Floats) -> Floats:
        """Return one step per pattern: the row sums of a Gram matrix of non-negative factors majorise it."""
        steps: Floats = (1 / (self.mu * np.maximum(gram.sum(axis=0), 1))).astype(np.float32)
        return steps

    def _value(self, X: Floats, V: Floats, Y: Floats, weight: np.float32) -> float:
        """Return the relaxed objective, penalty included, at the price of one product."""
        P, patterns = self.data.transposed_times(Y), X + V
        gram = patterns.transpose(0, 2, 1) @ patterns
        error = self._squared_norm - 2 * float(np.vdot(P, patterns)) + float(np.vdot(self._usage_grams(Y), gram))
        used = Y.sum(axis=0, dtype=np.float64)
        codes = -float((used + 1) @ np.log((used + 1) / (used.sum() + len(used)))) + float(used.sum())
        table = float(self.u @ (X.sum(axis=1) + V.sum(axis=(0, 2))))
        met = np.tensordot(self.cross.T, V, 1) * (1 - V)
        smooth = 0.5 * (float(self.mu) * error + codes + table + float(np.vdot(P, met)))
        penalty = sum(float(factor.size - np.abs(1 - 2 * factor).sum(dtype=np.float64)) for factor in (X, V, Y))
        return smooth + float(weight) * penalty


class _Work:
    """Arrays that every iteration fills anew."""

    def __init__(self, X: Floats, V: Floats, Y: Floats) -> None:
        self.point = np.empty_like(X)
        self.points, self.fitted = np.empty_like(V), np.empty_like(V)
        self.patterns, self.weights = np.empty_like(V), np.empty_like(V)
        self.row_point, self.row_fitted = np.empty_like(Y), np.empty_like(Y)
