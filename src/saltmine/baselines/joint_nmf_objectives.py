"""What the joint factorizations minimise, each with the update of its patterns.

All of them hold the patterns of every class, ``patterns`` (c, n, r), and know which class may use which of them,
``uses`` (c, r). Usage, (m, r), is not theirs. In place of the data they take ``products``, ``D_a^T Y_a`` (c, n, r), and
``grams``, ``Y_a^T Y_a`` (c, r, r): with ``||D_a||^2``, the ones of every class, these are all that the squared error
depends on.
"""

from __future__ import annotations

from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saltmine.solver.relaxed.operator import Floats

Bools = NDArray[np.bool_]

# A class with less than this share of a pattern's squared usage does not alter it: what is multiplied by almost nothing
# may grow without bounds.
LEAST_USED = 1e-8


class JointObjective(Protocol):
    """One member of the family, with its patterns."""

    uses: Bools

    @property
    def patterns(self) -> Floats:
        """Patterns as every class carries them, (c, n, r); zero where the class may not use them."""

    def usage_grams(self) -> Floats:
        """Return the quadratic form that usage meets in every class, (c, r, r)."""

    def update(self, products: Floats, grams: Floats) -> None:
        """Lower the objective in the patterns, one after the other."""

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""


def squared_errors(ones: Floats, patterns: Floats, products: Floats, grams: Floats) -> Floats:
    """Return ``||D_a - Y_a W_a^T||^2`` of every class without forming the residual.

    Examples
    --------
    >>> import numpy as np
    >>> data, usage, pattern = np.ones((2, 3)), np.array([[1.0], [0.0]]), np.ones((1, 3, 1))
    >>> squared_errors(np.array([6.0]), pattern, (data.T @ usage)[None], (usage.T @ usage)[None])
    array([3.])
    """
    fitted = np.einsum("anr,anr->a", patterns, products)
    errors: Floats = ones - 2 * fitted + np.einsum("ars,ars->a", grams, own_grams(patterns))
    return errors


def own_grams(patterns: Floats) -> Floats:
    """Return ``W_a^T W_a`` of every class, (c, r, r)."""
    return np.stack([of_class.T @ of_class for of_class in patterns])


class SharedSubspaces:
    """Shared and class-wise patterns (``jsmf``), and a price for their overlap (``rjsnmf``).

    ``sum_a ||D_a - Y_a W_a^T||^2 / ||D_a||^2 + alpha sum_a ||W_S^T W_a,own||^2
    + beta sum_{a<b} ||W_a,own^T W_b,own||^2``, where W_a is the shared patterns W_S and the class's own.
    Patterns have length 1: overlaps could be had for nothing otherwise, by making patterns smaller and usage larger.
    """

    def __init__(self, patterns: Floats, uses: Bools, ones: Floats, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.uses, self.ones = uses, ones
        # Every pattern once, (n, r): shared ones are the same in all classes.
        self._patterns = unit_columns(patterns)
        self._weights = 1 / np.maximum(ones, 1)
        self._prices = overlap_prices(uses, alpha, beta)

    @property
    def patterns(self) -> Floats:
        """Patterns as every class carries them, (c, n, r)."""
        return np.asarray(self._patterns * self.uses[:, None])

    def usage_grams(self) -> Floats:
        """Return the quadratic form that usage meets in every class, (c, r, r)."""
        return own_grams(self.patterns)

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern to what is best while the others stay, or nearly so where overlaps have a price."""
        for s in range(self.uses.shape[1]):
            wanted = np.zeros(len(self._patterns))
            for a in np.flatnonzero(self.uses[:, s]):
                wanted += self._weights[a] * left_over(self._patterns, products[a], grams[a], s)
            if self._prices[s].any():
                wanted += self._away_from_others(s)
            self._patterns[:, s] = nearest_unit(wanted, self._patterns[:, s])

    def _away_from_others(self, s: int) -> Floats:
        """Return minus half the gradient of the overlaps, and the pattern itself times a bound of their curvature.

        With that, a linear function bounds the overlaps from above among patterns of length 1.
        """
        pattern, priced = self._patterns[:, s], np.flatnonzero(self._prices[s])
        others, prices = self._patterns[:, priced], self._prices[s, priced]
        roots = np.sqrt(prices)
        curvature = np.linalg.eigvalsh(roots[:, None] * (others.T @ others) * roots)[-1]
        return np.asarray(curvature * pattern - others @ (prices * (pattern @ others)))

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        errors = squared_errors(self.ones, self.patterns, products, grams)
        # Every pair stands twice in the table of prices.
        overlaps = (self._prices * (self._patterns.T @ self._patterns) ** 2).sum() / 2
        return float(self._weights @ errors + overlaps)


def overlap_prices(uses: Bools, alpha: float, beta: float) -> Floats:
    """Return what overlaps cost, (r, r): alpha for a shared and a class-wise pattern, beta for those of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> overlap_prices(np.array([[True, True, False], [True, False, True]]), 2.0, 3.0)
    array([[0., 2., 2.],
           [2., 0., 3.],
           [2., 3., 0.]])
    """
    shared: Bools = np.logical_and.reduce(uses, axis=0)
    owner = uses.argmax(axis=0)
    mixed = shared[:, None] != shared
    apart = ~(shared[:, None] | shared) & (owner[:, None] != owner)
    return np.asarray(alpha * mixed + beta * apart, dtype=np.float64)


class SimilarSubspaces:
    """Common patterns that may differ a little, and discriminative ones that should not overlap (``jnmf``).

    ``sum_a ||D_a - Y_a W_a^T||^2 / m_a + alpha sum_{a<b} ||W_a,common - W_b,common||^2
    + beta sum_{a<b} |W_a,disc^T W_b,disc|`` with patterns of length 1, ``|.|`` being the sum of all entries.
    """

    def __init__(
        self, patterns: Floats, uses: Bools, ones: Floats, class_sizes: Floats, alpha: float, beta: float
    ) -> None:
        self.uses, self.ones = uses, ones
        self.patterns: Floats = unit_columns(patterns) * uses[:, None]
        self._weights = 1 / np.maximum(class_sizes, 1)
        self._alpha, self._beta = alpha, beta
        self._common: Bools = np.logical_and.reduce(uses, axis=0)

    def usage_grams(self) -> Floats:
        """Return the quadratic form that usage meets in every class, (c, r, r)."""
        return own_grams(self.patterns)

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern of every class to what is best while the others stay."""
        for a, of_class in enumerate(self.patterns):
            # Those of the other classes do not change meanwhile.
            common = self.patterns.sum(axis=0) - of_class
            discriminative = common[:, ~self._common].sum(axis=1)
            for s in np.flatnonzero(self.uses[a]).tolist():
                wanted = self._weights[a] * left_over(of_class, products[a], grams[a], s)
                wanted += self._alpha * common[:, s] if self._common[s] else -self._beta / 2 * discriminative
                of_class[:, s] = nearest_unit(wanted, of_class[:, s])

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        total = float(self._weights @ squared_errors(self.ones, self.patterns, products, grams))
        common = self.patterns[:, :, self._common]
        discriminative = self.patterns[:, :, ~self._common].sum(axis=2)
        for a, b in combinations(range(len(self.uses)), 2):
            total += self._alpha * float(((common[a] - common[b]) ** 2).sum())
            total += self._beta * float(discriminative[a] @ discriminative[b])
        return total


class Alterations:
    """Patterns that all classes share, with non-negative alterations in every class (``inmf``).

    ``sum_a ||D_a - Y_a (W + V_a)^T||^2 + strength ||Y_a V_a^T||^2``.
    """

    def __init__(self, patterns: Floats, uses: Bools, ones: Floats, strength: float) -> None:
        self.uses, self.ones, self._strength = uses, ones, strength
        self.shared = patterns.copy()
        self.altered = np.zeros((len(uses), *patterns.shape))

    @property
    def patterns(self) -> Floats:
        """Patterns as every class carries them, (c, n, r)."""
        return np.asarray(self.shared + self.altered)

    def usage_grams(self) -> Floats:
        """Return the quadratic form that usage meets in every class, (c, r, r)."""
        return own_grams(self.patterns) + self._strength * own_grams(self.altered)

    def update(self, products: Floats, grams: Floats) -> None:
        """Set every pattern, then each class's alterations of it, to what is best while all others stay."""
        carried = self.patterns
        for s in np.flatnonzero(grams.diagonal(axis1=1, axis2=2).any(axis=0)):
            curvatures = grams[:, s, s]
            slopes = products[:, :, s] - np.stack([of @ gram[:, s] for of, gram in zip(carried, grams, strict=True)])
            before = self.shared[:, s].copy()
            self.shared[:, s] = np.maximum(before + slopes.sum(axis=0) / curvatures.sum(), 0)
            moved = self.shared[:, s] - before
            for a in np.flatnonzero(curvatures > LEAST_USED * curvatures.max()):
                price = self._strength * (self.altered[a] @ grams[a, :, s])
                step = (slopes[a] - curvatures[a] * moved - price) / ((1 + self._strength) * curvatures[a])
                self.altered[a, :, s] = np.maximum(self.altered[a, :, s] + step, 0)
            carried[:, :, s] = self.shared[:, s] + self.altered[:, :, s]

    def value(self, products: Floats, grams: Floats) -> float:
        """Return the objective."""
        errors = squared_errors(self.ones, self.patterns, products, grams)
        price = np.einsum("ars,ars->", grams, own_grams(self.altered))
        return float(errors.sum() + self._strength * price)


def unit_columns(patterns: Floats) -> Floats:
    """Bring every pattern, (n, r), to length 1; one without items spreads over all of them."""
    lengths = np.linalg.norm(patterns, axis=0)
    even = 1 / np.sqrt(max(len(patterns), 1))
    return np.where(lengths > 0, patterns / np.where(lengths > 0, lengths, 1), even)


def left_over(patterns: Floats, products: Floats, gram: Floats, s: int) -> Floats:
    """Return ``R^T y_s``, R being what the other patterns leave of the data."""
    rest: Floats = products[:, s] - patterns @ gram[:, s] + patterns[:, s] * gram[s, s]
    return rest


def nearest_unit(wanted: Floats, before: Floats) -> Floats:
    """Return the non-negative vector of length 1 with the largest product with ``wanted``.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_unit(np.array([3.0, -1.0, 4.0]), np.zeros(3))
    array([0.6, 0. , 0.8])
    >>> nearest_unit(np.array([-3.0, -1.0]), np.zeros(2))
    array([0., 1.])
    """
    positive = np.maximum(wanted, 0)
    length = np.linalg.norm(positive)
    if length > 0:
        return np.asarray(positive / length)
    if not wanted.any():
        # Nobody uses the pattern, and all are as good.
        return before
    alone = np.zeros_like(wanted)
    alone[wanted.argmax()] = 1
    return alone
