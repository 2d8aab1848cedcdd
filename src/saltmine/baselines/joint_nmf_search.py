"""The search of JointNMF: start, descent, and rounding to a binary model by description length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from saltmine.arrays import Bools
from saltmine.baselines import joint_nmf_objectives as objectives
from saltmine.baselines.joint_nmf_objectives import JointObjective, descend
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.progress import OnStep
from saltmine.solver.relaxed.objective import OnCheck
from saltmine.solver.relaxed.operator import Floats, Operator, make_operator
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.rounding import THRESHOLDS, best_thresholds
from saltmine.solver.scoring import description_length
from saltmine.solver.solution import Solution, rescale, without_patterns

# Default weights, tuned on planted data of two classes with 10 % noise.
ALPHA = {"rjsnmf": 0.001, "jnmf": 0.3}
BETA = {"rjsnmf": 0.001, "jnmf": 0.1}
# The spectrum gives a lower bound of the number of patterns; these multiples of it are tried.
RANK_FACTORS = (1.0, 1.25, 1.5)
# A pattern with at least this share of its usage in one class belongs to that class.
CLASS_WISE_SHARE = 0.9
# Iterations of the plain factorization of the start: enough to see which class uses which pattern.
PLAIN_ITERATIONS = 20
# Random numbers of up to this multiple of the mean entry are added to the parts of the singular vectors. Zeros would
# stay zero for long, and without randomness all restarts would be the same.
RANDOM_SCALE = 1.0
# The typical share of the time that the descent takes; the rest is rounding.
DESCENT_SHARE = 0.5


class JointProblem(NamedTuple):
    """The data as an operator, as bit sets, and as a sparse matrix for its singular vectors."""

    data: Operator
    bits: BitMatrix
    matrix: sp.csr_array


class JointSettings(NamedTuple):
    """The parameters of `saltmine.JointNMF`; ``ranks`` are (r0, r1, ..., rc) or None."""

    penalty: str
    ranks: tuple[int, ...] | None
    alpha: float | None
    beta: float | None
    strength: float
    max_iter: int
    tol: float


def make_problem(data: StackedMatrix, bits: BitMatrix, team: ThreadTeam) -> JointProblem:
    """Return the data in all forms that the search needs."""
    operator = make_operator(data.matrix, data.blocks, team)
    return JointProblem(operator, bits, sp.csr_array(data.matrix, dtype=np.float64))


def joint_nmf(problem: JointProblem, settings: JointSettings, rng: np.random.Generator, on_step: OnStep) -> Solution:
    """Factorize from one start; without ranks, try several and keep the shortest description."""
    if settings.ranks is not None:
        return _solve(problem, settings, sum(settings.ranks), rng, on_step)
    n_signals = count_signals(problem.data, rng, min(problem.data.shape))
    best = replace(without_patterns(problem.bits), n_iter=1)
    totals = sorted({round(factor * n_signals) for factor in RANK_FACTORS}) if n_signals else []
    for k, total in enumerate(totals):
        on_part = rescale(on_step, k / len(totals), (k + 1) / len(totals))
        best = min(best, _solve(problem, settings, total, rng, on_part), key=lambda found: found.length)
    return best


def _solve(
    problem: JointProblem, settings: JointSettings, total: int, rng: np.random.Generator, on_step: OnStep
) -> Solution:
    """Factorize at the given ranks, or with ``total`` patterns, split by their usage in the start."""
    if not total:
        return replace(without_patterns(problem.bits), n_iter=1)
    ranks: tuple[int, ...] | int = total if settings.ranks is None else settings.ranks
    if settings.penalty == "inmf":
        # All patterns are shared.
        ranks = (total,) + (0,) * len(problem.data.blocks)
    start = make_start(problem, ranks, rng, lambda k, value: on_step(total, value, 0.0))
    objective = make_objective(settings, start, problem.bits)

    def on_check(k: int, value: float) -> None:
        on_step(total, value, DESCENT_SHARE * k / settings.max_iter)

    history = descend(problem.data, objective, start.usage, settings.max_iter, settings.tol, on_check)
    on_round = rescale(on_step, DESCENT_SHARE, 1.0)
    model, length = round_joint(objective, start.usage, problem.bits, partial(on_round, total))
    return Solution(model, length, length, len(history) - 1, history)


def make_objective(settings: JointSettings, start: Start, bits: BitMatrix) -> JointObjective:
    """Return the objective of a penalty, with the patterns of the start."""
    patterns, uses, penalty = start.patterns, start.uses, settings.penalty
    ones = bits.class_counts.sum(axis=1).astype(np.float64)
    if penalty == "inmf":
        return objectives.Alterations(patterns, uses, ones, settings.strength)
    if penalty == "jsmf":
        return objectives.SharedSubspaces(patterns, uses, ones)
    alpha = ALPHA[penalty] if settings.alpha is None else settings.alpha
    beta = BETA[penalty] if settings.beta is None else settings.beta
    if penalty == "rjsnmf":
        return objectives.SharedSubspaces(patterns, uses, ones, alpha, beta)
    return objectives.SimilarSubspaces(patterns, uses, ones, np.array(bits.class_sizes), alpha, beta)


# ---------------------------------------------------------------------- start


class Start(NamedTuple):
    """Patterns (n, r), shared ones first, usage (m, r), and which class may use which pattern, (c, r)."""

    patterns: Floats
    usage: Floats
    uses: Bools


def make_start(
    problem: JointProblem, ranks: tuple[int, ...] | int, rng: np.random.Generator, on_check: OnCheck
) -> Start:
    """Return the start for ranks (r0, r1, ..., rc), or for a number of patterns, split by their usage."""
    if isinstance(ranks, tuple) and not ranks[0]:
        # Without shared patterns every class is a separate problem.
        return _separate_start(problem, ranks, rng)
    total = ranks if isinstance(ranks, int) else sum(ranks)
    patterns, usage = plain_start(problem, total, rng, on_check)
    shares = class_shares(usage, problem.data.blocks)
    if isinstance(ranks, int):
        ranks = split_ranks(shares)
    order = sort_by_class(shares, ranks)
    uses = allowed_uses(ranks)
    usage = usage[:, order]
    for a, rows in enumerate(problem.data.blocks):
        usage[rows] *= uses[a]
    return Start(patterns[:, order], usage, uses)


def _separate_start(problem: JointProblem, ranks: tuple[int, ...], rng: np.random.Generator) -> Start:
    (m, n), uses = problem.data.shape, allowed_uses(ranks)
    patterns, usage = np.zeros((n, sum(ranks))), np.zeros((m, sum(ranks)))
    for rows, own in zip(problem.data.blocks, uses, strict=True):
        if own.any():
            patterns[:, own], usage[rows, own] = singular_start(problem.matrix[rows], int(own.sum()), rng)
    return Start(patterns, usage, uses)


def plain_start(problem: JointProblem, rank: int, rng: np.random.Generator, on_check: OnCheck) -> tuple[Floats, Floats]:
    """Return patterns of length 1, (n, r), and usage, (m, r), of a short factorization with shared patterns only."""
    patterns, usage = singular_start(problem.matrix, rank, rng)
    uses = np.ones((len(problem.data.blocks), rank), dtype=bool)
    objective = objectives.SharedSubspaces(patterns, uses, problem.bits.class_counts.sum(axis=1).astype(np.float64))
    descend(problem.data, objective, usage, max_iter=PLAIN_ITERATIONS, tol=0, on_check=on_check)
    return objective.patterns[0], usage


def singular_start(matrix: sp.csr_array, rank: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return patterns (n, r) and usage (m, r) from the positive or the negative parts of the singular vectors.

    The pair with the larger product is taken (Boutsidis & Gallopoulos 2008). Beyond the rank of the data, all entries
    are random.
    """
    m, n = matrix.shape
    scale = RANDOM_SCALE * max(matrix.nnz, 1) / (m * n)
    patterns, usage = scale * rng.random((n, rank)), scale * rng.random((m, rank))
    k = min(rank, m, n)
    seed = int(rng.integers(np.iinfo(np.int32).max))
    left, singular_values, right = randomized_svd(matrix, n_components=k, random_state=seed)
    positive, negative = (
        np.linalg.norm(np.maximum(sign * left, 0), axis=0) * np.linalg.norm(np.maximum(sign * right, 0), axis=1)
        for sign in (1, -1)
    )
    roots = np.where(positive >= negative, 1, -1) * np.sqrt(singular_values)
    usage[:, :k] += np.maximum(left * roots, 0)
    patterns[:, :k] += np.maximum(right.T * roots, 0)
    return patterns, usage


def class_shares(usage: Floats, blocks: list[slice]) -> Floats:
    """Return the share of every class in the usage of every pattern, (c, r), per row of the class.

    Examples
    --------
    >>> import numpy as np
    >>> usage = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    >>> class_shares(usage, [slice(0, 1), slice(1, 3)])
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    means = np.stack([(usage[rows] ** 2).sum(axis=0) / max(rows.stop - rows.start, 1) for rows in blocks])
    sums = means.sum(axis=0)
    return np.where(sums > 0, means / np.where(sums > 0, sums, 1), 1 / len(blocks))


def split_ranks(shares: Floats) -> tuple[int, ...]:
    """Return the numbers of shared patterns and of patterns that one class uses, (r0, r1, ..., rc).

    Examples
    --------
    >>> import numpy as np
    >>> split_ranks(np.array([[0.5, 0.0, 0.7], [0.5, 1.0, 0.3]]))
    (2, 0, 1)
    """
    if len(shares) == 1:
        return shares.shape[1], 0
    own = np.count_nonzero(shares >= CLASS_WISE_SHARE, axis=1).tolist()
    return shares.shape[1] - sum(own), *own


def sort_by_class(shares: Floats, ranks: tuple[int, ...]) -> list[int]:
    """Return the order of the patterns that fits the ranks: shared ones, then those of each class.

    The patterns with the largest share in one class become patterns of this class.

    Examples
    --------
    >>> import numpy as np
    >>> sort_by_class(np.array([[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]]), (1, 1, 1))
    [1, 0, 2]
    """
    free = set(range(shares.shape[1]))
    own: list[list[int]] = [[] for _ in shares]
    for flat in np.argsort(-shares, axis=None, kind="stable").tolist():
        a, s = divmod(flat, shares.shape[1])
        if s in free and len(own[a]) < ranks[1 + a]:
            own[a].append(s)
            free.remove(s)
    return sorted(free) + [s for of_class in own for s in of_class]


def allowed_uses(ranks: tuple[int, ...]) -> Bools:
    """Return which class may use which pattern, (c, r).

    Examples
    --------
    >>> allowed_uses((1, 2, 0)).astype(int)
    array([[1, 1, 1],
           [1, 0, 0]])
    """
    owner = np.repeat(np.arange(-1, len(ranks) - 1), ranks)
    return np.asarray((owner == np.arange(len(ranks) - 1)[:, None]) | (owner == -1))


# ---------------------------------------------------------------------- rounding


def round_joint(
    objective: JointObjective, usage: Floats, bits: BitMatrix, on_step: Callable[[float, float], None]
) -> tuple[BinaryModel, float]:
    """Return the binary model with the shortest description over both thresholds and two scales.

    A pattern is scaled by a number and its usage by the inverse, so that thresholds between 0 and 1 mean the same for
    all of them. An item belongs to the pattern of a class where its entry reaches the threshold: the smallest entry
    among the classes gives the shared part, and the other entries the alterations of single classes.
    """
    patterns = objective.patterns.copy()
    # Class-wise patterns are given to all classes: only their usage is class-wise.
    for s in np.flatnonzero(~objective.uses.all(axis=0)):
        patterns[:, :, s] = patterns[objective.uses[:, s].argmax(), :, s]
    used = np.stack([(usage[rows] ** 2).sum(axis=0) for rows in bits.blocks])
    # Weighted by usage: the entries of a class that hardly uses a pattern are arbitrary.
    mean = np.einsum("ar,anr->nr", used / np.maximum(used.sum(axis=0), np.finfo(float).tiny), patterns)
    numbers, max_models = count(1), 2 * len(THRESHOLDS) ** 2

    def length(model: BinaryModel) -> float:
        value = description_length(bits, model)
        on_step(value, next(numbers) / max_models)
        return value

    found = []
    for scale in (mean.max(axis=0), _typical_entry(mean)):
        scale = np.where(scale > 0, scale, 1)
        scaled = patterns / scale
        found.append(best_thresholds(scaled.min(axis=0), scaled, usage * scale, bits, length, THRESHOLDS))
    return min(found, key=lambda model_and_length: model_and_length[1])


def _typical_entry(patterns: Floats) -> Floats:
    """Return the mean entry of every pattern, (r,), weighted by the squares, so that small entries hardly count.

    Examples
    --------
    >>> import numpy as np
    >>> _typical_entry(np.array([[2.0], [2.0], [0.1], [0.1], [0.0]])).round(2)
    array([2.])
    """
    squares = (patterns**2).sum(axis=0)
    return np.asarray((patterns**3).sum(axis=0) / np.where(squares > 0, squares, 1))
