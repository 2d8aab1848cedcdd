"""Turn what a user passes into a 0/1 matrix and class numbers, or say in one sentence why that is not possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

#: A boolean array, or a scipy CSR array that stores nothing but ones.
BinaryMatrix: TypeAlias = "NDArray[np.bool_] | sp.csr_array"


def reject_text(X: Any) -> None:
    """Name the first column that holds text, or anything else in a DataFrame that is not a number."""
    if hasattr(X, "dtypes") and hasattr(X, "iloc") and hasattr(X, "columns"):
        for position, dtype in enumerate(X.dtypes):
            if getattr(dtype, "kind", "O") not in "biuf":
                for row, value in enumerate(X.iloc[:, position]):
                    is_number = isinstance(value, (bool, int, float, np.bool_, np.number))
                    if not is_number and not _is_missing(value):
                        raise ValueError(_not_a_number(repr(X.columns[position]), row, value))
        return
    if isinstance(X, list):
        X = np.asarray(X, dtype=object)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        for row, column in np.ndindex(X.shape):
            if isinstance(X[row, column], (str, bytes)):
                raise ValueError(_not_a_number(str(column), row, X[row, column]))


def _not_a_number(column: str, row: int, value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return (
        f"Column {column} holds {value!r} in row {row}, which is not a number; turn each of its values into a 0/1 "
        "column of its own first, for example with pandas.get_dummies."
    )


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def as_binary(
    X: NDArray[Any] | sp.csr_array, binarize: float | None, names: Sequence[str] | None = None
) -> BinaryMatrix:
    """Return ``X`` as a boolean array or a CSR array of ones, after checking that it is 0/1.

    Parameters
    ----------
    X : ndarray or CSR, numeric
    binarize : float or None
        Values above it become ones. None accepts nothing but 0 and 1.
    names : sequence of str, optional
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
    if X.dtype == bool:
        return X
    if X.dtype.kind == "f":
        _reject(~np.isfinite(X), X, names, _not_finite)
    if binarize is not None:
        return np.asarray(binarize < X)
    _reject((X != 0) & (X != 1), X, names, _not_binary)
    return X.astype(bool)


def _sparse_as_binary(X: sp.csr_array, binarize: float | None, names: Sequence[str] | None) -> sp.csr_array:
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


def _reject(bad: NDArray[np.bool_], X: NDArray[Any], names: Sequence[str] | None, explain: Any) -> None:
    if bad.any():
        column = int(np.argmax(bad.any(axis=0)))
        row = int(np.argmax(bad[:, column]))
        raise ValueError(explain(_column_name(column, names), row, X[row, column]))


def _reject_stored(bad: NDArray[np.bool_], X: sp.csr_array, names: Sequence[str] | None, explain: Any) -> None:
    if bad.any():
        positions = np.flatnonzero(bad)
        position = positions[np.argmin(X.indices[positions])]
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        raise ValueError(explain(_column_name(int(X.indices[position]), names), row, X.data[position]))


def _column_name(column: int, names: Sequence[str] | None) -> str:
    return f"Column {names[column]!r}" if names is not None else f"Column {column}"


def _not_finite(column: str, row: int, value: Any) -> str:
    what = "a missing value (NaN)" if np.isnan(value) else "an infinite value (inf)"
    return (
        f"{column} holds {what} in row {row}; fill it, drop the row, or make a 0/1 column that says where the value "
        "is missing."
    )


def _not_binary(column: str, row: int, value: Any) -> str:
    return (
        f"{column} holds {value.item()!r} in row {row}, which is neither 0 nor 1; pass binarize=t to make every value "
        "above t a one (binarize=0 for counts), or turn the column into 0/1 yourself."
    )


def class_numbers(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct labels and the number of each row's label among them.

    Examples
    --------
    >>> class_numbers(["tumour", "normal", "tumour"])
    (array(['normal', 'tumour'], dtype='<U6'), array([1, 0, 1]))
    """
    labels = column_or_1d(y, warn=True)
    if labels.dtype == object:
        for row, label in enumerate(labels):
            if _is_missing(label) or label != label:
                raise ValueError(f"Row {row} has no label (y holds {label!r}); give it one or drop the row.")
        kinds = {type(label).__name__ for label in labels}
        if len(kinds) > 1:
            raise ValueError(
                f"y mixes labels of different kinds ({', '.join(sorted(kinds))}); make them all text, for example with "
                "y.astype(str)."
            )
    check_classification_targets(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers
