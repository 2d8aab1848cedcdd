"""Turn the data of a user into a 0/1 matrix, or say in one sentence why that is not possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Bools
from saltmine.names import as_text, check_distinct, quoted

#: A boolean array, or a scipy CSR array that stores only ones.
BinaryMatrix: TypeAlias = "Bools | sp.csr_array"

_NOT_NUMBERS = (str, bytes, date, timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class TableNames:
    """Names of the columns and rows of a table; None if it has none.

    For a part of a table, ``first_row`` and ``first_column`` are its position in the whole table, which errors give.

    Examples
    --------
    >>> TableNames(first_row=100, first_column=20).cell(3, 4, "2.0")
    'Column 23 holds 2.0 in row 104'
    """

    columns: NDArray[Any] | None = None
    rows: Any = None
    first_row: int = 0
    first_column: int = 0

    @classmethod
    def of(cls, X: Any) -> TableNames:
        """Return the names of a table; refuse columns with the same name.

        Examples
        --------
        >>> import pandas as pd
        >>> TableNames.of(pd.DataFrame({"hats": [1], 7: [0]})).columns.tolist()
        ['hats', 7]
        """
        if not _is_frame(X):
            return cls()
        columns = np.empty(len(X.columns), dtype=object)
        columns[:] = [name if isinstance(name, (str, int)) else str(name) for name in X.columns]
        check_distinct(columns)
        rows = getattr(X, "index", None)
        # An index that only counts the rows is not a name.
        named = rows is not None and not np.array_equal(np.asarray(rows), np.arange(len(rows)))
        return cls(columns, rows if named else None)

    def cell(self, column: int, row: int, what: str) -> str:
        """Return a phrase with the contents and the position of a cell."""
        column, row = column + self.first_column, row + self.first_row
        name = quoted(self.columns[column]) if self.columns is not None else str(column)
        place = f"row {row}" if self.rows is None else f"row {row} (index {quoted(self.rows[row])})"
        return f"Column {name} holds {what} in {place}"


def given_names(names: Any, count: int, argument: str, what: str) -> NDArray[Any]:
    """Return the names passed with the data as text, one per column or row."""
    if isinstance(names, (str, set, frozenset, dict)) or not hasattr(names, "__len__"):
        raise ValueError(f"{argument} must be a list of names, not {quoted(names)}.")
    if len(names) != count:
        raise ValueError(f"{argument} has {len(names)} names, but the data has {count} {what}; give each one name.")
    return as_text(names)


def reject_unreadable(X: Any, names: TableNames) -> None:
    """Refuse data that is not a table of numbers: paths, rows of different length, text, dates, gaps other than NaN."""
    if isinstance(X, (str, bytes, PathLike)):
        raise ValueError(f"X is {quoted(X)}, not a table; read the file first, for example with pandas.read_csv.")
    if _is_frame(X):
        if not len(X.columns):
            raise ValueError("X has no columns; at least one is needed.")
        for column, dtype in enumerate(X.dtypes):
            # Numeric columns of pandas are known by their type; all others, and polars, are checked value by value.
            if getattr(dtype, "kind", "O") not in "biuf" and not getattr(dtype, "is_numeric", bool)():
                _reject_objects(X.iloc[:, column] if hasattr(X, "iloc") else X[:, column], column, names)
        return
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, (list, tuple, set, frozenset)) for row in X):
        if len({len(row) for row in X}) > 1 or isinstance(X[0], (set, frozenset)):
            problem = "X is a list of sets or of rows that differ in length; turn lists of names into 0/1 columns first"
            raise ValueError(f"{problem}, for example with sklearn.preprocessing.MultiLabelBinarizer.")
        X = np.array(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return
    if X.dtype.kind in "OUSTMm":
        for column in range(X.shape[1]):
            _reject_objects(X[:, column], column, names)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        row, column = np.argwhere(np.ma.getmaskarray(X))[0]
        raise _missing(names, column, row)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def _reject_objects(values: Iterable[Any], column: int, names: TableNames) -> None:
    for row, value in enumerate(values):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise _missing(names, column, row)
        if isinstance(value, _NOT_NUMBERS) or type(value).__name__ in ("Period", "Interval"):
            shown = value.item() if isinstance(value, np.generic) else value
            problem = f"{names.cell(column, row, quoted(shown))}, which is not a number"
            ways = "saltmine.Prepare turns any column into items, astype(int) turns digits stored as text into numbers"
            raise ValueError(f"{problem}; make it 0/1 first ({ways}), or drop the column if it is the label.")


def as_binary(X: NDArray[Any] | sp.csr_array, binarize: float | None, names: TableNames | None = None) -> BinaryMatrix:
    """Return ``X`` as a boolean array or a CSR array of ones, after checking that it is 0/1.

    Parameters
    ----------
    X : ndarray or CSR, numeric
    binarize : float or None
        Values above it become ones. None accepts only 0 and 1.
    names : TableNames, optional
        Names for the error messages.

    Examples
    --------
    >>> import numpy as np
    >>> as_binary(np.array([[0, 3], [1, 0]]), binarize=0)
    array([[False,  True],
           [ True, False]])
    """
    names = names or TableNames()
    if isinstance(X, np.ndarray) and X.dtype == object:
        # Tables of categories, and of libraries other than pandas, are arrays of objects.
        for column in range(X.shape[1]):
            _reject_objects(X[:, column], column, names)
        X = X.astype(np.float64)
    if isinstance(X, np.ndarray):
        return X if X.dtype == bool and binarize is None else _ones(X, X, binarize, names)
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    ones = _ones(X.data, X, binarize, names)
    if binarize is not None and binarize < 0:
        problem = f"binarize={binarize} would turn every zero of a sparse matrix into a one"
        raise ValueError(f"{problem}; use a threshold of 0 or more, or pass a dense array.")
    # The indices may be large: they are shared with the input unless zeros have to be removed.
    binary = sp.csr_array((ones.view(np.int8), X.indices, X.indptr), shape=X.shape)
    if not ones.all():
        binary = binary.copy()
        binary.eliminate_zeros()
    return binary


def _ones(values: NDArray[Any], X: Any, binarize: float | None, names: TableNames) -> Bools:
    """Return which of the values, all cells of a dense ``X`` or the stored ones of a sparse ``X``, are ones."""
    if values.dtype.kind == "f":
        _reject(~np.isfinite(values), X, names)
    if binarize is not None:
        return np.asarray(values > binarize)
    if values.dtype.itemsize == 1 and (not values.size or values.view(np.uint8).max() <= 1):
        # There may be gigabytes of them.
        return values.view(bool)
    _reject((values != 0) & (values != 1), X, names)
    return values.astype(bool)


def _reject(bad: Bools, X: Any, names: TableNames) -> None:
    """Refuse the first bad value of the first column that has one."""
    if not bad.any():
        return
    if isinstance(X, np.ndarray):
        column = int(np.argmax(bad.any(axis=0)))
        row = int(np.argmax(bad[:, column]))
        value = X[row, column]
    else:
        positions = np.flatnonzero(bad)
        position = positions[np.argmin(X.indices[positions])]
        column, row = int(X.indices[position]), int(np.searchsorted(X.indptr, position, side="right")) - 1
        value = X.data[position]
    if np.isnan(value):
        raise _missing(names, column, row)
    if np.isinf(value):
        raise ValueError(f"{names.cell(column, row, 'an infinite value (inf)')}; replace it or drop the row.")
    problem = f"{names.cell(column, row, repr(value.item()))}, which is neither 0 nor 1"
    use = "binarize=t (--binarize t) to turn every value above t into a one (t=0 for counts)"
    raise ValueError(f"{problem}; create the estimator with {use}, or turn the column into 0/1 yourself.")


def _missing(names: TableNames, column: int, row: int) -> ValueError:
    remedy = "fill it, drop the row, or add a 0/1 column that tells where the value is missing"
    return ValueError(f"{names.cell(column, row, 'a missing value (NaN)')}; {remedy}.")
