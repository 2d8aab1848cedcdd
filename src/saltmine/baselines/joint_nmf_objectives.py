"""The objectives of the joint factorizations, each with the update of its patterns, and their common descent.

Every objective holds the patterns of every class, ``patterns`` (c, n, r), and which class may use which of them,
``uses`` (c, r). It does not hold the usage, (m, r). In place of the data it takes ``products``, ``D_a^T Y_a``
(c, n, r), and ``grams``, ``Y_a^T Y_a`` (c, r, r): the squared error depends only on these and on ``||D_a||^2``, the
number of ones of every class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations

import numpy as np

from saltmine.arrays import Bools
from saltmine.solver.relaxed.objective import OnCheck
from saltmine.solver.relaxed.operator import Floats, Operator

# A class with less than this share of a pattern's squared usage does not alter it: its entries, multiplied by almost
# nothing, could grow without bounds.
MIN_USAGE_SHARE = 1e-8


class JointObjective(ABC):
    """An objective with its patterns, (c, n, r); they are zero where a class may not use them."""

    patterns: Floats

    def __init__(self, uses: Bools, ones: Floats) -> None:
        self.uses, self.ones = uses, ones

    def usage_grams(self) -> Floats:
        """Return the matrix of the quadratic term in the usage of every class, (c, r, r)."""
        return pattern_grams(self.patterns)

    @abstractmethod
    def update(self, products: Floats, grams: Floats) -> None:
        """Lower the objective in the patterns, one after the other."""

    @abstractmethod
    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""

    def squared_errors(self, products: Floats, grams: Floats) -> Floats:
        """Return ``||D_a - Y_a W_a^T||^2`` of every class, (c,), without forming the residual."""
        fitted = np.einsum("anr,anr->a", self.patterns, products)
        squares = np.einsum("ars,ars->a", grams, pattern_grams(self.patterns))
        return np.asarray(self.ones - 2 * fitted + squares)


def descend(
    data: Operator,
    objective: JointObjective,
    usage: Floats,
    max_iter: int,
    tol: float,
    on_check: OnCheck = lambda iteration, value: None,
) -> list[float]:
    """Update usage (in place) and patterns in turn; return the objective before the first update and after each.

    The descent ends when an iteration lowers the objective by less than ``tol`` times its first value.
    """
    history = list[float]()
    for iteration in range(max_iter + 1):
        if iteration:
            update_usage(data, objective, usage)
        products = data.transposed_times(usage)
        grams = np.stack([usage[rows].T @ usage[rows] for rows in data.blocks])
        if iteration:
            objective.update(products, grams)
        history.append(objective.value(products, grams))
        on_check(iteration, history[-1])
        if iteration and history[-2] - history[-1] <= tol * history[0]:
            break
    return history


def update_usage(data: Operator, objective: JointObjective, usage: Floats) -> None:
    """Set the usage of every pattern in turn to its optimum, the others fixed."""
    products, grams = data.times(objective.patterns), objective.usage_grams()
    for a, rows in enumerate(data.blocks):
        # Column-major, as the loop works on columns.
        of_class, target, gram = np.asfortranarray(usage[rows]), np.asfortranarray(products[rows]), grams[a]
        for s in np.flatnonzero(objective.uses[a] & (gram.diagonal() > 0)):
            step = (target[:, s] - of_class @ gram[:, s]) / gram[s, s]
            of_class[:, s] = np.maximum(of_class[:, s] + step, 0)
        usage[rows] = of_class


def pattern_grams(patterns: Floats) -> Floats:
    """Return ``W_a^T W_a`` of every class, (c, r, r)."""
    return np.stack([of_class.T @ of_class for of_class in patterns])


class SharedSubspaces(JointObjective):
    """Shared and class-wise patterns (``jsmf``), and a penalty for their overlap (``rjsnmf``).

    ``sum_a ||D_a - Y_a W_a^T||^2 / ||D_a||^2 + alpha sum_a ||W_S^T W_a,own||^2
    + beta sum_{a<b} ||W_a,own^T W_b,own||^2``, where W_a is the shared patterns W_S and the class's own.
    Patterns have length 1: otherwise smaller patterns with larger usage would avoid the penalty.
    """

    def __init__(self, patterns: Floats, uses: Bools, ones: Floats, alpha: float = 0.0, beta: float = 0.0) -> None:
        super().__init__(uses, ones)
        # Every pattern once, (n, r): shared patterns are the same in all classes.
        self._patterns = unit_columns(patterns)
        self._weights = 1 / np.maximum(ones, 1)
        self._penalties = overlap_penalties(uses, alpha, beta)
        self.patterns = self._patterns * uses[:, None]

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern to its optimum, the others fixed; with penalties, to that of an upper bound."""
        for s in range(self.uses.shape[1]):
            target = np.zeros(len(self._patterns))
            for a in np.flatnonzero(self.uses[:, s]):
                target += self._weights[a] * residual_product(self._patterns, products[a], grams[a], s)
            if self._penalties[s].any():
                target += self._penalty_direction(s)
            self._patterns[:, s] = best_unit_vector(target, self._patterns[:, s])
        self.patterns = self._patterns * self.uses[:, None]

    def _penalty_direction(self, s: int) -> Floats:
        """Return minus half the gradient of the penalty, plus the pattern times a bound of the curvature.

        With it, a linear function bounds the penalty from above among patterns of length 1.
        """
        pattern, penalised = self._patterns[:, s], np.flatnonzero(self._penalties[s])
        others, penalties = self._patterns[:, penalised], self._penalties[s, penalised]
        roots = np.sqrt(penalties)
        curvature = np.linalg.eigvalsh(roots[:, None] * (others.T @ others) * roots)[-1]
        return np.asarray(curvature * pattern - others @ (penalties * (pattern @ others)))

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        errors = self.squared_errors(products, grams)
        # Every pair is twice in the matrix of penalties.
        overlaps = (self._penalties * (self._patterns.T @ self._patterns) ** 2).sum() / 2
        return float(self._weights @ errors + overlaps)


def overlap_penalties(uses: Bools, alpha: float, beta: float) -> Floats:
    """Return the weights of overlaps, (r, r): alpha for a shared and a class-wise pattern, beta for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> overlap_penalties(np.array([[True, True, False], [True, False, True]]), 2.0, 3.0)
    array([[0., 2., 2.],
           [2., 0., 3.],
           [2., 3., 0.]])
    """
    shared: Bools = np.logical_and.reduce(uses, axis=0)
    owner = uses.argmax(axis=0)
    mixed = shared[:, None] != shared
    apart = ~(shared[:, None] | shared) & (owner[:, None] != owner)
    return np.asarray(alpha * mixed + beta * apart, dtype=np.float64)


class SimilarSubspaces(JointObjective):
    """Common patterns that may differ slightly, and discriminative ones that should not overlap (``jnmf``).

    ``sum_a ||D_a - Y_a W_a^T||^2 / m_a + alpha sum_{a<b} ||W_a,common - W_b,common||^2
    + beta sum_{a<b} |W_a,disc^T W_b,disc|`` with patterns of length 1; ``|.|`` is the sum of all entries.
    """

    def __init__(
        self, patterns: Floats, uses: Bools, ones: Floats, class_sizes: Floats, alpha: float, beta: float
    ) -> None:
        super().__init__(uses, ones)
        self.patterns = unit_columns(patterns) * uses[:, None]
        self._weights = 1 / np.maximum(class_sizes, 1)
        self._alpha, self._beta = alpha, beta
        self._common: Bools = np.logical_and.reduce(uses, axis=0)

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern of every class to its optimum, the others fixed."""
        for a, of_class in enumerate(self.patterns):
            # The sums over the other classes stay the same during this loop.
            common = self.patterns.sum(axis=0) - of_class
            discriminative = common[:, ~self._common].sum(axis=1)
            for s in np.flatnonzero(self.uses[a]).tolist():
                target = self._weights[a] * residual_product(of_class, products[a], grams[a], s)
                target += self._alpha * common[:, s] if self._common[s] else -self._beta / 2 * discriminative
                of_class[:, s] = best_unit_vector(target, of_class[:, s])

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        total = float(self._weights @ self.squared_errors(products, grams))
        common = self.patterns[:, :, self._common]
        discriminative = self.patterns[:, :, ~self._common].sum(axis=2)
        for a, b in combinations(range(len(self.uses)), 2):
            total += self._alpha * float(((common[a] - common[b]) ** 2).sum())
            total += self._beta * float(discriminative[a] @ discriminative[b])
        return total


class Alterations(JointObjective):
    """Patterns that all classes share, with non-negative alterations in every class (``inmf``).

    ``sum_a ||D_a - Y_a (W + V_a)^T||^2 + strength ||Y_a V_a^T||^2``.
    """

    def __init__(self, patterns: Floats, uses: Bools, ones: Floats, strength: float) -> None:
        super().__init__(uses, ones)
        self._strength, self.shared = strength, patterns.copy()
        self.altered = np.zeros((len(uses), *patterns.shape))
        self.patterns = self.shared + self.altered

    def usage_grams(self) -> Floats:
        """Return the matrix of the quadratic term in the usage of every class, (c, r, r)."""
        return pattern_grams(self.patterns) + self._strength * pattern_grams(self.altered)

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern, then the alterations of each class, to the optimum, all others fixed."""
        for s in np.flatnonzero(grams.diagonal(axis1=1, axis2=2).any(axis=0)):
            curvatures = grams[:, s, s]
            fitted = [of_class @ gram[:, s] for of_class, gram in zip(self.patterns, grams, strict=True)]
            slopes = products[:, :, s] - np.stack(fitted)
            before = self.shared[:, s].copy()
            self.shared[:, s] = np.maximum(before + slopes.sum(axis=0) / curvatures.sum(), 0)
            moved = self.shared[:, s] - before
            for a in np.flatnonzero(curvatures > MIN_USAGE_SHARE * curvatures.max()):
                penalty = self._strength * (self.altered[a] @ grams[a, :, s])
                step = (slopes[a] - curvatures[a] * moved - penalty) / ((1 + self._strength) * curvatures[a])
                self.altered[a, :, s] = np.maximum(self.altered[a, :, s] + step, 0)
            self.patterns[:, :, s] = self.shared[:, s] + self.altered[:, :, s]

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        errors = self.squared_errors(products, grams)
        penalty = np.einsum("ars,ars->", grams, pattern_grams(self.altered))
        return float(errors.sum() + self._strength * penalty)


def unit_columns(patterns: Floats) -> Floats:
    """Scale every pattern, (n, r), to length 1; a pattern of zeros gets equal entries."""
    lengths = np.linalg.norm(patterns, axis=0)
    even = 1 / np.sqrt(max(len(patterns), 1))
    return np.where(lengths > 0, patterns / np.where(lengths > 0, lengths, 1), even)


def residual_product(patterns: Floats, products: Floats, gram: Floats, s: int) -> Floats:
    """Return ``R^T y_s``, where R is the data minus the other patterns."""
    return np.asarray(products[:, s] - patterns @ gram[:, s] + patterns[:, s] * gram[s, s])


def best_unit_vector(target: Floats, before: Floats) -> Floats:
    """Return the non-negative vector of length 1 with the largest product with ``target``.

    Examples
    --------
    >>> import numpy as np
    >>> best_unit_vector(np.array([3.0, -1.0, 4.0]), np.zeros(3))
    array([0.6, 0. , 0.8])
    >>> best_unit_vector(np.array([-3.0, -1.0]), np.zeros(2))
    array([0., 1.])
    """
    positive = np.maximum(target, 0)
    length = np.linalg.norm(positive)
    if length > 0:
        return np.asarray(positive / length)
    if not target.any():
        # No row uses the pattern, so every vector is optimal.
        return before
    single = np.zeros_like(target)
    single[target.argmax()] = 1
    return single
