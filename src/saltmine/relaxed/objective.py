"""The smooth part F of the relaxed objective: value, gradients and Lipschitz moduli.

docs/paper.md has the formulas. Letters as in the paper: D data, X patterns (n, r), V alterations (c, n, r), Y usage
(m, r). The m x n residual is never formed. Everything the X and V steps need is in the *projection* of the data on the
usage, ``P_a = D_a^T Y_a`` and ``G_a = Y_a^T Y_a``; the Y step needs one product ``D_a W_a``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saltmine.matrix.operator import Floats, Operator


@dataclass
class Factors:
    """Relaxed factors: ``X`` (n, r), ``V`` (c, n, r), ``Y`` (m, r), entries in [0, 1]."""

    X: Floats
    V: Floats
    Y: Floats

    @property
    def rank(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])


@dataclass
class Projection:
    """The data seen through the usage: ``P`` (c, n, r) and ``G`` (c, r, r)."""

    P: Floats
    G: Floats


class RelaxedObjective:
    """``F = 1/2 (mu sum_a ||D_a - Y_a (X+V_a)^T||^2 + G + S)``.

    Parameters
    ----------
    data : Operator
        Every item must occur at least once.
    specificity : float
        Weight of S inside the bracket. The default is F as the paper states it; 2 gives the unhalved S of its printed
        gradients.
    """

    def __init__(self, data: Operator, specificity: float = 1.0) -> None:
        self.data = data
        self.specificity = specificity
        ones = int(data.item_counts.sum())
        # Every entry of D is 0 or 1, so the number of ones is its squared Frobenius norm.
        self._squared_norm = float(ones)
        self.u = -np.log(data.item_counts / ones)
        self.mu = 1.0 + np.log(data.shape[1])
        self.class_sizes = np.array([rows.stop - rows.start for rows in data.blocks])

    def project(self, Y: Floats) -> Projection:
        """See the data through the usage: the one product of the X and V steps."""
        G = np.stack([Y[rows].T @ Y[rows] for rows in self.data.blocks])
        return Projection(self.data.transposed_times(Y), G)

    def value(self, factors: Factors, seen: Projection) -> float:
        """Return F; ``seen`` must be the projection on ``factors.Y``."""
        patterns = factors.X + factors.V
        gram = patterns.transpose(0, 2, 1) @ patterns
        error = self._squared_norm - 2 * np.vdot(seen.P, patterns) + np.vdot(seen.G, gram)
        return 0.5 * float(self.mu * error + self._code_length(factors) + self._specificity_term(factors, seen))

    def _code_length(self, factors: Factors) -> float:
        used = factors.Y.sum(axis=0)
        total = used.sum()
        usage_codes = -((used + 1) @ np.log((used + 1) / (total + factors.rank)))
        return float(usage_codes + self.u @ (factors.X.sum(axis=1) + factors.V.sum(axis=(0, 2))) + total)

    def _specificity_term(self, factors: Factors, seen: Projection) -> float:
        hits = seen.P.sum(axis=0)
        term = 0.0
        for a, rows in enumerate(self.data.blocks):
            V = factors.V[a]
            term += factors.Y[rows].sum(axis=0) @ V.sum(axis=0)
            term += np.vdot(V, hits) - 2 * np.vdot(V, seen.P[a])
        return self.specificity * float(term)

    def gradient_X(self, X: Floats, V: Floats, seen: Projection) -> Floats:
        """Return ``-mu sum_a R_a^T Y_a + u/2``."""
        residual = (X + V) @ seen.G
        residual -= seen.P
        out: Floats = residual.sum(axis=0)
        out *= self.mu
        out += 0.5 * self.u[:, None]
        return out

    def gradient_V(self, X: Floats, V: Floats, Y: Floats, seen: Projection) -> Floats:
        """Return ``-mu R_a^T Y_a + u/2 + 1/2 [D^T Y + (1 - 2 D_a)^T Y_a]`` for every class, shape (c, n, r)."""
        out = (X + V) @ seen.G
        out *= self.mu
        out -= (self.mu + self.specificity) * seen.P
        shared = (0.5 * self.specificity) * seen.P.sum(axis=0)
        shared += 0.5 * self.u[:, None]
        out += shared
        for a, rows in enumerate(self.data.blocks):
            out[a] += (0.5 * self.specificity) * Y[rows].sum(axis=0)
        return out

    def gradient_Y(self, X: Floats, V: Floats, Y: Floats, gram: Floats) -> Floats:
        """Return the gradient in Y, (m, r); ``gram`` is ``(X+V_a)^T (X+V_a)``. All data terms are one product."""
        half = 0.5 * self.specificity
        W = (half * V.sum(axis=0) - self.mu * X) - (self.mu + 2 * half) * V
        out = self.data.times(W)
        used = Y.sum(axis=0)
        codes = 0.5 - 0.5 * np.log((used + 1) / (used.sum() + len(used)))
        for a, rows in enumerate(self.data.blocks):
            out[rows] += Y[rows] @ (self.mu * gram[a])
            out[rows] += codes + half * V[a].sum(axis=0)
        return out

    # Moduli with Frobenius norms, as the paper takes them. A floor of mu keeps the step finite where nothing is used;
    # a larger modulus is always valid.

    def modulus_X(self, seen: Projection) -> float:
        """Lipschitz modulus of the gradient in X."""
        return float(self.mu * max(1.0, np.linalg.norm(seen.G.sum(axis=0))))

    def modulus_V(self, seen: Projection) -> Floats:
        """Lipschitz modulus of the gradient in V_a, one per class."""
        moduli: Floats = self.mu * np.maximum(1.0, np.linalg.norm(seen.G, axis=(1, 2)))
        return moduli

    def modulus_Y(self, gram: Floats) -> float:
        """Lipschitz modulus of the gradient in Y: the paper's common step for all classes."""
        return float(np.linalg.norm(self.mu * np.linalg.norm(gram, axis=(1, 2)) + self.class_sizes))
