"""The relaxed solve of saltmine: long steps, inertia, and a growing binary penalty.

The objective is that of `objective.RelaxedObjective` with another specificity term (docs/method/objective.md): the ones
of an alteration in classes that do not have it, weighted so that large classes do not dominate small ones. Every
iteration costs two products with the data; everything else is linear in the size of the factors, times the rank. The
steps are compiled loops over panels (`step_kernels`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from saltmine.deadline import Deadline
from saltmine.solver.relaxed import step_kernels
from saltmine.solver.relaxed.device import Array
from saltmine.solver.relaxed.objective import Descent, Factors, OnCheck, weighted
from saltmine.solver.relaxed.operator import HostOperator, Operator
from saltmine.solver.relaxed.step_kernels import RANK_MULTIPLE, Costs, Pace, State

# Inertia stays below one, and restarts when the objective rises.
MAX_INERTIA = 0.99
# After so many iterations it is known how long one takes.
TIMED = 4


class AcceleratedDescent:
    """A descent at one rank.

    Parameters
    ----------
    data : Operator
        Single precision, on the processor.
    cross : (c, c) float
        Weights of the ones of class b in the items of an alteration of class a.
    """

    def __init__(self, data: Operator, cross: NDArray[np.float64]) -> None:
        # Only algorithm="paper" has its data on other devices.
        self.data, counts = cast(HostOperator, data), data.weights
        # All entries are 0 or 1, so the number of ones is the squared norm of the data.
        self._ones = int(counts.items @ data.item_counts)
        self.cross = cross.astype(np.float32)
        self.u = -np.log(data.item_counts / self._ones).astype(np.float32)
        self.mu = np.float32(1 + np.log(counts.shape[1]))
        self._items, self._rows = counts.items.astype(np.float32), counts.rows.astype(np.float32)
        self._costs = Costs(self.u, self.mu, self.cross, self._items)
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
        deadline: Deadline | None = None,
    ) -> Descent:
        """Descend for ``ramp`` iterations while the penalty grows, then until the decrease is small.

        ``tol`` is the relative decrease over one check below which the descent stops. Where the time until the
        deadline is too short for all iterations, the penalty grows faster, and there are as many as there is time for.
        """
        rank = start.X.shape[1]
        work = self._make_work(start)
        X, V, Y = work.state.X, work.state.V, work.state.Y
        history = list[float]()
        deadline = deadline or Deadline()
        momentum, iteration, begin = 1.0, 0, deadline.left()
        for iteration in range(1, max_iter + 1):
            if iteration == TIMED and deadline.is_over((begin - deadline.left()) * (max_iter / (TIMED - 1) - 1)):
                ramp, max_iter = _shortened(ramp, max_iter, begin, deadline.left())
            if iteration > max_iter or (iteration > TIMED and deadline.is_over()):
                iteration -= 1
                break
            weight = np.float32(min(1.0, (iteration / ramp) ** 2))
            next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            inertia = np.float32(min(MAX_INERTIA, (momentum - 1) / next_momentum))
            pace = Pace(inertia, weight)
            momentum = next_momentum
            if iteration % check_every == 1 and iteration > 1:
                history.append(self._value(X, V, Y, rank, weight))
                on_check(iteration - 1, history[-1])
                # While the penalty grows, the objective may rise for that reason alone.
                decrease = history[-2] - history[-1] if iteration > ramp + check_every else np.inf
                if decrease < 0:
                    momentum = 1.0
                elif decrease < tol * history[-1]:
                    iteration -= 1
                    break
            self._step_items(work, pace, alterations)
            self._step_rows(work, pace)
        trimmed = (np.ascontiguousarray(factor[..., :rank]) for factor in (X, V, Y))
        return Descent(Factors(*trimmed), iteration, history)

    def _make_work(self, start: Factors) -> _Work:
        """Return memory for a descent, with the start as the factors of now and before."""
        X, V, Y = (_padded(factor) for factor in (start.X, start.V, start.Y))
        state = State(*(step_kernels.copy(factor) for factor in (X, X, V, V, Y, Y, V)))
        return _Work(start.rank, state)

    def _step_items(self, work: _Work, pace: Pace, alterations: bool) -> None:
        """Take the steps in X and V, for every panel of items as soon as its product is computed."""
        usage = weighted(work.state.Y, self._row_weights)
        G = self._usage_grams(usage, work.state.Y)
        steps = self._steps(np.sum(G, axis=0)), self._steps(G)

        def step(P: Array, items: slice) -> None:
            panel = work.state, self._costs, P, G, pace, steps, alterations, items
            work.grams[items.start] = step_kernels.step_items(*panel)

        self.data.transposed_times(usage, step)

    def _step_rows(self, work: _Work, pace: Pace) -> None:
        """Take the step in Y, for every panel of rows as soon as its product is computed."""
        state = work.state
        # In the order of the items, whichever thread was first, so that rounding is always the same.
        gram = sum(work.grams[start] for start in sorted(work.grams))
        used = self._used(weighted(state.Y, self._row_weights))
        codes = np.asarray(0.5 - 0.5 * self._log_shares(used, work.rank), dtype=np.float32)
        steps = self._steps(gram)

        def step(product: Array, a: int, rows: slice) -> None:
            step_kernels.step_rows(work.state, self._costs, product, gram[a], codes, pace, steps[a], rows)

        self.data.times(state.weights, step)

    def _usage_grams(self, usage: Array, Y: Array) -> Array:
        return np.stack([usage[rows].T @ Y[rows] for rows in self.data.blocks])

    def _used(self, usage: Array) -> Array:
        return np.sum(usage, axis=0, dtype=np.float64)

    def _log_shares(self, used: Array, rank: int) -> Array:
        """Return the logarithms of the shares of the patterns in the usage, smoothed so that no share is 0."""
        return np.log((used + 1) / (np.sum(used) + rank))

    def _steps(self, gram: Array) -> Array:
        """Return one step size per pattern, for every Gram matrix of non-negative factors: its row sums majorise it."""
        return 1 / (self.mu * np.clip(np.sum(gram, axis=-2), 1, None))

    def _value(self, X: Array, V: Array, Y: Array, rank: int, weight: np.float32) -> float:
        """Return the relaxed objective with the penalty; it costs one product.

        The patterns after the first ``rank`` are zeros.
        """
        usage = weighted(Y, self._row_weights)
        P, patterns = weighted(self.data.transposed_times(usage), self._item_weights), X + V
        G, gram = self._usage_grams(usage, Y), np.matrix_transpose(patterns) @ weighted(patterns, self._item_weights)
        error = self._ones - 2 * self._dot(P, patterns) + self._dot(G, gram)
        used = self._used(usage)[:rank]
        codes = float(np.sum(used - (used + 1) * self._log_shares(used, rank)))
        table = self._sum(self._items * self.u, X) + self._sum(self._items * self.u, V)
        cross = self._dot(P, np.tensordot(self.cross.T, V, axes=1) * (1 - V))
        penalty = self._sum(self._items, _penalty(X)) + self._sum(self._items, _penalty(V))
        penalty += self._sum(self._rows, _penalty(Y))
        return 0.5 * (float(self.mu) * error + codes + table + cross) + float(weight) * penalty

    def _sum(self, weights: Array, factor: Array) -> float:
        """Return the sum of all entries of a factor, whose rows have weights."""
        return float(np.sum(weights @ factor))

    def _dot(self, left: Array, right: Array) -> float:
        """Return the sum of the products of all entries."""
        return float(np.vecdot(np.reshape(left, (-1,)), np.reshape(right, (-1,))))


def _padded(factor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Append patterns of zeros, which no step changes.

    Their products with the data are zero. The rest of their gradients is positive: u / 2 in X and V, and a code of at
    least 1 / 2 in Y.
    """
    rank = factor.shape[-1]
    more = -rank % RANK_MULTIPLE
    return np.concatenate([factor, np.zeros((*factor.shape[:-1], more), dtype=np.float32)], axis=-1)


def _penalty(factor: Array) -> Array:
    """Return the binary penalty of every entry; see `binary_penalty`."""
    return 1 - abs(1 - 2 * factor)


def _shortened(ramp: int, max_iter: int, begin: float, left: float) -> tuple[int, int]:
    """Return for how many iterations the penalty grows, and how many there are time for.

    ``begin`` and ``left`` are the seconds left before the first iteration and before number `TIMED`.

    Examples
    --------
    >>> _shortened(60, 80, 43.0, 40.0), _shortened(60, 80, 3.0, 0.0)
    ((32, 43), (2, 3))
    """
    seconds = max((begin - left) / (TIMED - 1), 1e-9)
    possible = min(TIMED - 1 + int(max(left, 0.0) / seconds), max_iter)
    return max(ramp * possible // max_iter, 1), possible


@dataclass
class _Work:
    """Memory of a descent; patterns after the first ``rank`` are padding.

    ``bound`` is the state as the kernels take it. ``grams`` are the Gram matrices of the patterns by panel of items,
    with the first item as key.
    """

    rank: int
    state: State
    grams: dict[int, Array] = field(default_factory=dict)
