"""Algorithm 1 of the paper: descend, round, and add random columns while the rank is exhausted.

The descent is proximal alternating linearised minimisation (PALM) at one rank. It runs on the device that holds the
data; random numbers, rounding and checkpoints are NumPy's.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from saltmine.checkpoint import State
from saltmine.data.binary_model import BinaryModel
from saltmine.deadline import TimeOver
from saltmine.solver.relaxed.device import Array
from saltmine.solver.relaxed.objective import Descent, Factors, OnCheck, RelaxedObjective, prox_binary
from saltmine.solver.rounding import round_factors
from saltmine.solver.solution import SearchSettings, Solution, Task, without_patterns
from saltmine.solver.steps import Steps

# The paper's gamma: steps stay strictly below the inverse modulus.
GAMMA = 1.00001
# The stopping rule uses the mean decrease over this many iterations.
WINDOW = 500


def paper_search(task: Task, settings: SearchSettings) -> Solution:
    """Run the published algorithm; without ``settings.alterations`` this is Primp."""
    return _PaperSearch(task, settings).run()


class _PaperSearch:
    """Algorithm 1: the descent at the present rank, and the best rounded model so far.

    Everything that changes the state is a step, so that an interrupted fit goes on from a checkpoint (`steps`).
    """

    def __init__(self, task: Task, settings: SearchSettings) -> None:
        self._task, self._settings, self._deadline = task, settings, settings.deadline
        (m, n), c = task.data.shape, len(task.data.blocks)
        self._objective = RelaxedObjective(task.data)
        self._limit = min(m, n) if settings.max_rank is None else settings.max_rank
        self._descent = Palm(self._objective, Factors(np.zeros((n, 0)), np.zeros((c, n, 0)), np.zeros((m, 0))))
        self._n_iter, self._history = 0, list[float]()
        self._best = without_patterns(task.bits)
        self._steps = Steps(self, settings.part("search"), settings.deadline)

    def run(self) -> Solution:
        """Descend, round, and go on at a higher rank while all patterns are used."""
        try:
            while True:
                rank = self._steps.take(self._add_patterns)
                while self._steps.take(self._descend):
                    pass
                left = self._steps.take(self._round)
                if left > 1 or rank >= self._limit:
                    break
        except TimeOver:
            before = self._best
            self._round()
            self._best = min(before, self._best, key=lambda found: found.score)
        self._steps.keep()
        finished = not self._deadline.was_over
        return replace(self._best, n_iter=self._n_iter, history=self._history, finished=finished)

    def state(self) -> State:
        """Return all that the next steps depend on."""
        descent, best = self._descent, self._best
        return {
            "factors": vars(descent.factors),
            "descent": [descent.n_iter, list(descent.history)],
            "n_iter": self._n_iter,
            "history": list(self._history),
            "best": vars(best.model),
            "length": best.length,
            "random": self._settings.rng.bit_generator.state,
        }

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self._descent = Palm(self._objective, Factors(**state["factors"]))
        self._descent.n_iter, self._descent.history = state["descent"]
        self._n_iter, self._history = state["n_iter"], list(state["history"])
        self._best = Solution(BinaryModel(**state["best"]), state["length"], state["length"])
        self._settings.rng.bit_generator.state = state["random"]

    def _add_patterns(self) -> int:
        """Begin at a higher rank, and return it."""
        factors = self._descent.factors
        rank = min(factors.rank + self._settings.rank_step, self._limit)
        start = _add_random_columns(factors, rank - factors.rank, self._settings.rng)
        self._descent = Palm(self._objective, start)
        return rank

    def _descend(self) -> bool:
        """Descend until the next check, and return whether to go on."""
        settings, descent = self._settings, self._descent
        goes_on = descent.go_on(settings.max_iter, settings.tol, settings.alterations)
        settings.on_check(descent.rank, descent.n_iter, settings.max_iter, descent.history[-1])
        return goes_on

    def _round(self) -> int:
        """Round the factors, and return how many patterns are left over."""
        begin = time.perf_counter()
        factors, descent = self._descent.factors, self._descent
        model, length = round_factors(factors.X, factors.V, factors.Y, self._task.bits)
        self._best = Solution(model, length, length)
        self._n_iter += descent.n_iter
        self._history += descent.history[1:]
        # Before the end it has to be done once more.
        self._deadline.reserve = time.perf_counter() - begin
        return factors.rank - model.rank


def _add_random_columns(factors: Factors, count: int, rng: np.random.Generator) -> Factors:
    """Append random patterns and usage. Alterations start from none: they are alterations *of* something.

    The paper only says "random columns". Random alterations as well give the same F-measure and recall and class ranks
    that are half a pattern higher (benchmarks/starts.py).
    """
    n, m, c = factors.X.shape[0], factors.Y.shape[0], factors.V.shape[0]
    return Factors(
        np.hstack([factors.X, rng.random((n, count))]),
        np.concatenate([factors.V, np.zeros((c, n, count))], axis=2),
        np.hstack([factors.Y, rng.random((m, count))]),
    )


def palm(
    objective: RelaxedObjective,
    start: Factors,
    max_iter: int = 10_000,
    tol: float = 0.005,
    alterations: bool = True,
    check_every: int = 10,
    on_check: OnCheck = lambda iteration, value: None,
) -> Descent:
    """Descend from ``start`` (PALM) until the mean decrease over 500 iterations is below ``tol``.

    Parameters
    ----------
    objective : RelaxedObjective
        The smooth part; the binary penalty is added here.
    start : Factors
        NumPy arrays, left unchanged; so are the factors of the result.
    alterations : bool
        False keeps V as it is (Primp, or a single class).
    check_every : int
        Number of iterations between two evaluations of the objective and of the stopping rule.
    on_check : callable
        Called as ``on_check(iteration, value)``.
    """
    descent = Palm(objective, start)
    while descent.go_on(max_iter, tol, alterations, check_every):
        on_check(descent.n_iter, descent.history[-1])
    on_check(descent.n_iter, descent.history[-1])
    return Descent(descent.factors, descent.n_iter, descent.history)


class Palm:
    """A descent from some factors, which goes on from check to check; `palm` has the parameters."""

    def __init__(self, objective: RelaxedObjective, start: Factors) -> None:
        put = objective.device.put
        self._objective, self._factors = objective, Factors(put(start.X), put(start.V), put(start.Y))
        self._projection = objective.project(self._factors.Y)
        self.n_iter, self.history = 0, [self._value()]

    @property
    def rank(self) -> int:
        """Number of patterns."""
        return self._factors.rank

    @property
    def factors(self) -> Factors:
        """The factors now, as NumPy arrays."""
        get = self._objective.device.get
        return Factors(get(self._factors.X), get(self._factors.V), get(self._factors.Y))

    def go_on(self, max_iter: int, tol: float, alterations: bool, check_every: int = 10) -> bool:
        """Descend until the next check, and return whether that was not the last one."""
        objective, projection = self._objective, self._projection
        X, V, Y = self._factors.X, self._factors.V, self._factors.Y
        for _ in range(min(check_every - self.n_iter % check_every, max_iter - self.n_iter)):
            X = self._step(X, objective.gradient_X(X, V, projection), objective.modulus_X(projection))
            if alterations:
                moduli = objective.modulus_V(projection)[:, None, None]
                V = self._step(V, objective.gradient_V(X, V, Y, projection), moduli)
            gram = objective.gram(X + V)
            Y = self._step(Y, objective.gradient_Y(X, V, Y, gram), objective.modulus_Y(gram))
            projection = objective.project(Y)
            self.n_iter += 1
        self._factors, self._projection = Factors(X, V, Y), projection
        self.history.append(self._value())
        lag = -(-WINDOW // check_every)
        is_flat = len(self.history) > lag and self.history[-1 - lag] - self.history[-1] < tol * lag * check_every
        return self.n_iter < max_iter and not is_flat

    def _step(self, point: Array, gradient: Array, modulus: Array) -> Array:
        step = 1.0 / (GAMMA * modulus)
        gradient *= -step
        gradient += point
        return prox_binary(gradient, step, self._objective.device.xp)

    def _value(self) -> float:
        """Return F with the binary penalty of all factors."""
        return self._objective.value(self._factors, self._projection) + self._objective.penalty(self._factors)
