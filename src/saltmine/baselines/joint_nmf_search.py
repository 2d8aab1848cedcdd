"""Joint non-negative factorizations of several classes, rounded to binary models by description length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from saltmine.baselines.joint_nmf_descent import descend
from saltmine.baselines.joint_nmf_objectives import Alterations, JointObjective, SharedSubspaces, SimilarSubspaces
from saltmine.baselines.joint_nmf_starts import Start, make_start
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.progress import OnStep
from saltmine.solver.relaxed.operator import Floats, Operator
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.rounding import THRESHOLDS, best_thresholds
from saltmine.solver.scoring import description_length
from saltmine.solver.solution import Solution, without_patterns

PENALTIES = ("inmf", "jsmf", "rjsnmf", "jnmf")
# Weights of the penalties where none are given: tuned on planted data of two classes with 10 % noise.
ALPHA = {"rjsnmf": 0.001, "jnmf": 0.3}
BETA = {"rjsnmf": 0.001, "jnmf": 0.1}
# The spectrum shows a lower bound of the number of patterns; these multiples of it are tried.
RANK_FACTORS = (1.0, 1.25, 1.5)
# The share of the work that is usually done when the factors are there and only thresholds are left.
USUALLY_FACTORED = 0.5


@dataclass(frozen=True)
class JointProblem:
    """What is factorized: the data as products, as bit sets, and as a sparse matrix for its singular vectors."""

    data: Operator
    bits: BitMatrix
    matrix: sp.csr_array


@dataclass(frozen=True)
class JointSettings:
    """Which member of the family is minimised, and how; ``ranks`` are (r0, r1, ..., rc) or None."""

    penalty: str
    ranks: tuple[int, ...] | None
    alpha: float
    beta: float
    strength: float
    max_iter: int
    tol: float


def joint_nmf(problem: JointProblem, settings: JointSettings, rng: np.random.Generator, on_step: OnStep) -> Solution:
    """Factorize from one start; without ranks, try a few and keep what has the shortest description."""
    if settings.ranks is not None:
        return _at_ranks(problem, settings, sum(settings.ranks), rng, on_step)
    signals = count_signals(problem.data, rng, most=min(problem.data.shape))
    best = replace(without_patterns(problem.bits), n_iter=1)
    totals = sorted({round(factor * signals) for factor in RANK_FACTORS}) if signals else []
    for k, total in enumerate(totals):

        def tell(rank: int, value: float, done: float, k: int = k) -> None:
            on_step(rank, value, (k + done) / len(totals))

        found = _at_ranks(problem, settings, total, rng, tell)
        if found.length < best.length:
            best = found
    return best


def _at_ranks(
    problem: JointProblem, settings: JointSettings, total: int, rng: np.random.Generator, on_step: OnStep
) -> Solution:
    """Factorize at the given ranks, or with so many patterns, split as the start uses them."""
    if not total:
        return replace(without_patterns(problem.bits), n_iter=1)
    ranks = _ranks_or_total(settings, total, len(problem.data.blocks))
    start = make_start(problem.data, problem.matrix, ranks, rng, lambda k, value: on_step(total, value, 0.0))
    objective = make_objective(settings, start, problem.bits)
    history = descend(
        problem.data,
        objective,
        start.usage,
        max_iter=settings.max_iter,
        tol=settings.tol,
        on_check=lambda k, value: on_step(total, value, USUALLY_FACTORED * k / settings.max_iter),
    )

    def on_round(length: float, done: float) -> None:
        on_step(total, length, USUALLY_FACTORED + (1 - USUALLY_FACTORED) * done)

    model, length = round_joint(objective, start.usage, problem.bits, on_round)
    return Solution(model, length, length, len(history) - 1, history)


def _ranks_or_total(settings: JointSettings, total: int, n_classes: int) -> tuple[int, ...] | int:
    """Return the ranks as far as they are known: all patterns of ``inmf`` are shared."""
    if settings.ranks is None and settings.penalty == "inmf":
        return (total,) + (0,) * n_classes
    return total if settings.ranks is None else settings.ranks


def make_objective(settings: JointSettings, start: Start, bits: BitMatrix) -> JointObjective:
    """Return the objective of a penalty, with its first patterns."""
    patterns, uses = start.patterns, start.uses
    ones = bits.class_counts.sum(axis=1).astype(np.float64)
    if settings.penalty == "inmf":
        return Alterations(patterns, uses, ones, settings.strength)
    if settings.penalty == "jnmf":
        return SimilarSubspaces(patterns, uses, ones, np.array(bits.class_sizes), settings.alpha, settings.beta)
    priced = settings.penalty == "rjsnmf"
    return SharedSubspaces(patterns, uses, ones, settings.alpha if priced else 0.0, settings.beta if priced else 0.0)


def round_joint(
    objective: JointObjective, usage: Floats, bits: BitMatrix, on_step: Callable[[float, float], None]
) -> tuple[BinaryModel, float]:
    """Return the binary model with the shortest description over both thresholds and two ways to scale.

    A pattern is scaled by a number and its usage by the inverse, so that thresholds between 0 and 1 mean the same for
    all of them. An item belongs to the pattern of a class where its entry reaches the threshold: the smallest entry
    among the classes makes the shared part, and what single classes have beyond it their alterations.
    """
    patterns = _for_all_classes(objective)
    used = np.stack([(usage[rows] ** 2).sum(axis=0) for rows in bits.blocks])
    # As the rows that use a pattern see it: where a class hardly uses one, its entries say nothing.
    mean = np.einsum("ar,anr->nr", used / np.maximum(used.sum(axis=0), np.finfo(float).tiny), patterns)
    best, judged, most = None, 0, 2 * len(THRESHOLDS) ** 2

    def length(model: BinaryModel) -> float:
        nonlocal judged
        judged += 1
        value = description_length(bits, model)
        on_step(value, judged / most)
        return value

    for scale in (mean.max(axis=0), _typical(mean)):
        scale = np.where(scale > 0, scale, 1)
        scaled = patterns / scale
        found = best_thresholds(scaled.min(axis=0), scaled, usage * scale, bits.blocks, length)
        if best is None or found[1] < best[1]:
            best = found
    assert best is not None  # two scales were tried
    return best


def _for_all_classes(objective: JointObjective) -> Floats:
    """Return the patterns, (c, n, r), class-wise ones for all classes alike: it is usage that makes them class-wise."""
    patterns = objective.patterns.copy()
    for s in np.flatnonzero(~objective.uses.all(axis=0)):
        patterns[:, :, s] = patterns[objective.uses[:, s].argmax(), :, s]
    return patterns


def _typical(patterns: Floats) -> Floats:
    """Return the size of the entries that make most of every pattern, (r,): a mean in which small ones do not count.

    Examples
    --------
    >>> import numpy as np
    >>> _typical(np.array([[2.0], [2.0], [0.1], [0.1], [0.0]])).round(2)
    array([2.])
    """
    squares = (patterns**2).sum(axis=0)
    typical: Floats = (patterns**3).sum(axis=0) / np.where(squares > 0, squares, 1)
    return typical
