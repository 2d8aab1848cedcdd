"""Random 0/1 data with the row and column sums of given data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from saltmine import _core
from saltmine.parameters import check_count


def swap(X: Any, random_state: Any = None, trades: int = 50) -> Any:
    """Return a random 0/1 matrix with the row and column sums of ``X``, by curveball trades.

    In every round, rows are paired at random. The items that only one row of a pair has are pooled, shuffled and
    redistributed, so that row and column sums stay the same (Strona et al. 2014, "A fast and unbiased procedure to
    randomize ecological binary matrices with fixed row and column totals"). All other structure of ``X`` is lost.

    Parameters
    ----------
    X : (m, n) array-like or scipy sparse, 0/1
    random_state : int, RandomState or None
    trades : int
        Number of rounds. About 10 are enough for tables with rows of similar size, and 30 to 50 for texts of very
        different length; more do no harm.

    Returns
    -------
    (m, n) array, or sparse matrix of the same format, with the dtype of ``X``
        The same for dense and sparse data with the same seed.

    Examples
    --------
    >>> X = np.eye(6, dtype=int)
    >>> swapped = swap(X, random_state=0)
    >>> swapped.sum(axis=0).tolist(), swapped.sum(axis=1).tolist()
    ([1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1])
    >>> bool((swapped != X).any())
    True
    """
    check_count("trades", trades, least=0)
    rows = _as_rows(X)
    rng = check_random_state(random_state)
    # The order of the ones in a row decides what a trade does with it.
    rows.sort_indices()
    items = rows.indices.astype(np.int64)
    seed = rng.randint(np.iinfo(np.int32).max)
    _core.trade_rows(rows.indptr.astype(np.int64), items, rows.shape[1], trades, seed)
    swapped = sp.csr_array((np.ones(len(items), dtype=rows.dtype), items, rows.indptr), shape=rows.shape)
    swapped.sort_indices()
    if not sp.issparse(X):
        return swapped.toarray()
    kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
    return kind(swapped).asformat(X.format)


def _as_rows(X: Any) -> sp.csr_array:
    """Return the data as CSR that stores only ones; refuse what is not 0/1."""
    matrix = X if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"swap needs a table of rows and columns, not an array of shape {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"swap needs 0/1 data, not values of type {matrix.dtype}; make the columns 0/1 first.")
    rows = sp.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    _reject_other_values(rows.data)
    return rows


def _reject_other_values(values: NDArray[Any]) -> None:
    wrong = values[values != 1]
    if len(wrong):
        raise ValueError(f"swap needs 0/1 data, but this has the value {wrong[0]!s}; make it 0/1 first.")
