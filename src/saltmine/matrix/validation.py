"""Turn what a user passes into a 0/1 matrix, or say in one sentence why that is not possible."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: A boolean array, or a scipy CSR array that stores nothing but ones.
BinaryMatrix: TypeAlias = "NDArray[np.bool_] | sp.csr_array"


def is_frame(X: Any) -> bool:
    """Tell whether ``X`` is a table with named columns, as pandas and polars have them."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def column_names(X: Any) -> NDArray[Any] | None:
    """Return the column labels of a table, text or numbers, or None where there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"hats": [1], 7: [0]})).tolist()
    ['hats', 7]
    """
    if not is_frame(X):
        return None
    names = np.empty(len(X.columns), dtype=object)
    names[:] = [name if isinstance(name, (str, int)) else str(name) for name in X.columns]
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"Two columns are called {name!r}; rename one of them.")
        seen.add(name)
    return names


def reject_text(X: Any) -> None:
    """Name the first column that holds text, a date or a gap that is not a NaN."""
    if is_frame(X) and hasattr(X, "iloc"):
        for position, dtype in enumerate(X.dtypes):
            if getattr(dtype, "kind", "O") not in "biuf":
                _reject_objects(X.iloc[:, position], repr(X.columns[position]))
        return
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)) and len({len(row) for row in X}) == 1:
        X = np.array(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return
    if X.dtype.kind in "OUSTMm":
        for column in range(X.shape[1]):
            _reject_objects(X[:, column], str(column))
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        row, column = np.argwhere(np.ma.getmaskarray(X))[0]
        raise ValueError(_missing(f"Column {column}", row))


def _reject_objects(values: Iterable[Any], column: str) -> None:
    for row, value in enumerate(values):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise ValueError(_missing(f"Column {column}", row))
        if isinstance(value, (str, bytes, date, timedelta, np.datetime64, np.timedelta64)):
            shown = value.item() if isinstance(value, np.generic) else value
            raise ValueError(
                f"Column {column} holds {shown!r} in row {row}, which is not a number; turn each of its values into a "
                "0/1 column of its own first, for example with pandas.get_dummies."
            )


def as_binary(
    X: NDArray[Any] | sp.csr_array, binarize: float | None, names: NDArray[Any] | None = None
) -> BinaryMatrix:
    """Return ``X`` as a boolean array or a CSR array of ones, after checking that it is 0/1.

    Parameters
    ----------
    X : ndarray or CSR, numeric
    binarize : float or None
        Values above it become ones. None accepts nothing but 0 and 1.
    names : ndarray, optional
        Column names for the error messages.

    Examples
    --------
    >>> import numpy as np
    >>> as_binary(np.array([[0, 3], [1, 0]]), binarize=0)
    array([[False,  True],
           [ True, False]])
    """
    if not isinstance(X, np.ndarray):
        return _sparse_as_binary(sp.csr_array(X), binarize, names)
    if X.dtype == bool and binarize is None:
        return X
    if X.dtype.kind == "f":
        _reject(~np.isfinite(X), X, names, _not_finite)
    if binarize is not None:
        return np.asarray(binarize < X)
    _reject((X != 0) & (X != 1), X, names, _not_binary)
    return X.astype(bool)


def _sparse_as_binary(X: sp.csr_array, binarize: float | None, names: NDArray[Any] | None) -> sp.csr_array:
    X = X.copy()
    X.sum_duplicates()
    if X.dtype.kind == "f":
        _reject_stored(~np.isfinite(X.data), X, names, _not_finite)
    if binarize is None:
        _reject_stored((X.data != 0) & (X.data != 1), X, names, _not_binary)
        ones = X.data != 0
    elif binarize < 0:
        raise ValueError(
            f"binarize={binarize} would turn every zero of a sparse matrix into a one; use a threshold of 0 or more, "
            "or pass a dense array."
        )
    else:
        ones = X.data > binarize
    X.data = ones.astype(np.int8)
    X.eliminate_zeros()
    return X


def _reject(bad: NDArray[np.bool_], X: NDArray[Any], names: NDArray[Any] | None, explain: Any) -> None:
    if bad.any():
        column = int(np.argmax(bad.any(axis=0)))
        row = int(np.argmax(bad[:, column]))
        raise ValueError(explain(_column_name(column, names), row, X[row, column]))


def _reject_stored(bad: NDArray[np.bool_], X: sp.csr_array, names: NDArray[Any] | None, explain: Any) -> None:
    if bad.any():
        positions = np.flatnonzero(bad)
        position = positions[np.argmin(X.indices[positions])]
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        raise ValueError(explain(_column_name(int(X.indices[position]), names), row, X.data[position]))


def _column_name(column: int, names: NDArray[Any] | None) -> str:
    return f"Column {names[column]!r}" if names is not None else f"Column {column}"


def _missing(column: str, row: int, what: str = "a missing value (NaN)") -> str:
    return (
        f"{column} holds {what} in row {row}; fill it, drop the row, or make a 0/1 column that says where the value "
        "is missing."
    )


def _not_finite(column: str, row: int, value: Any) -> str:
    return _missing(column, row) if np.isnan(value) else _missing(column, row, "an infinite value (inf)")


def _not_binary(column: str, row: int, value: Any) -> str:
    return (
        f"{column} holds {value.item()!r} in row {row}, which is neither 0 nor 1; pass binarize=t to make every value "
        "above t a one (binarize=0 for counts), or turn the column into 0/1 yourself."
    )
