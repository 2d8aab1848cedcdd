"""Whole searches, from a labelled matrix to a binary model: each takes the same arguments and gives a `Solution`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from saltmine.binary.bits import BitMatrix
from saltmine.binary.description import null_length
from saltmine.binary.model import BinaryModel
from saltmine.binary.rounding import round_factors
from saltmine.matrix.operator import Operator
from saltmine.relaxed.objective import Factors, RelaxedObjective
from saltmine.relaxed.palm import palm


@dataclass(frozen=True)
class Task:
    """What a search works on; shared by all restarts."""

    data: Operator
    bits: BitMatrix


@dataclass(frozen=True)
class Settings:
    """How a search goes about it.

    ``on_check(rank, iteration, objective)`` is called at every check of the relaxed objective.
    """

    alterations: bool = True
    max_rank: int | None = None
    rank_step: int = 10
    max_iter: int = 10_000
    tol: float = 0.005
    on_check: Callable[[int, int, float], None] | None = None


@dataclass
class Solution:
    """A binary model with its f, the iterations it took and the relaxed objective at every check, rank after rank."""

    model: BinaryModel
    length: float
    n_iter: int = 0
    history: list[float] = field(default_factory=list)


def paper(task: Task, settings: Settings, rng: np.random.Generator) -> Solution:
    """Algorithm 1 of the paper: descend, round, and add random columns while the rank is exhausted.

    With ``settings.alterations`` off this is Primp.
    """
    m, n = task.data.shape
    c = len(task.data.blocks)
    objective = RelaxedObjective(task.data)
    factors = Factors(np.zeros((n, 0)), np.zeros((c, n, 0)), np.zeros((m, 0)))
    limit = min(m, n) if settings.max_rank is None else settings.max_rank
    n_iter, history = 0, list[float]()
    while True:
        rank = min(factors.rank + settings.rank_step, limit)
        start = _add_random_columns(factors, rank - factors.rank, rng)
        descent = palm(
            objective,
            start,
            max_iter=settings.max_iter,
            tol=settings.tol,
            alterations=settings.alterations,
            on_check=None if settings.on_check is None else partial(settings.on_check, rank),
        )
        factors = descent.factors
        n_iter += descent.n_iter
        history += descent.history[1:]
        model, length = round_factors(factors.X, factors.V, factors.Y, task.bits)
        if rank - model.rank > 1 or rank >= limit:
            return Solution(model, length, n_iter, history)


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


def without_patterns(task: Task) -> Solution:
    """Return the model without patterns: all there is to say of data without a single one."""
    return Solution(BinaryModel.empty(*task.bits.shape, len(task.bits.blocks)), null_length(task.bits))


# saltmine's own solver is the next step; until then the default is the paper's.
ALGORITHMS: dict[str, Callable[[Task, Settings, np.random.Generator], Solution]] = {
    "saltmine": paper,
    "paper": paper,
}
