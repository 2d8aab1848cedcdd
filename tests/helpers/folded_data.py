"""Folded data beside the same data unfolded, and the operators of the processor that can hold it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from saltmine.data.folding import Weights
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.relaxed.operator import DenseOperator, SparseOperator


@dataclass
class Folded:
    """``matrix`` with weights, and ``whole``, where everything stands as often as the weights say."""

    matrix: np.ndarray
    blocks: list[slice]
    weights: Weights
    whole: np.ndarray
    whole_blocks: list[slice]
    item_of: np.ndarray
    row_of: np.ndarray

    def unfold(self, factors):
        """Give all copies of an item, and of a row, the same values."""
        return Factors(factors.X[self.item_of], factors.V[:, self.item_of], factors.Y[self.row_of])


def folded_data(m=23, n=17, ends=(9, 11, 23), most=4, density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.random((m, n)) < density
    matrix[0] = True
    weights = Weights(rng.integers(1, most + 1, n), rng.integers(1, most + 1, m))
    row_of = np.repeat(np.arange(m), weights.rows)
    item_of = rng.permutation(np.repeat(np.arange(n), weights.items))
    edges = np.concatenate([[0], np.cumsum(weights.rows)])[[0, *ends]]
    return Folded(
        matrix,
        [slice(a, b) for a, b in zip((0, *ends[:-1]), ends, strict=True)],
        weights,
        matrix[row_of][:, item_of],
        [slice(int(a), int(b)) for a, b in pairwise(edges)],
        item_of,
        row_of,
    )


def random_factors(matrix, blocks, rank, dtype=np.float64, seed=1):
    rng = np.random.default_rng(seed)
    (m, n), c = matrix.shape, len(blocks)
    return Factors(*(rng.random(shape).astype(dtype) for shape in ((n, rank), (c, n, rank), (m, rank))))


def dense(matrix, blocks, team, dtype, weights=None):
    return DenseOperator(matrix, blocks, team, dtype, weights)


def sparse(matrix, blocks, team, dtype, weights=None):
    return SparseOperator(sp.csr_array(matrix), blocks, team, dtype, weights)
