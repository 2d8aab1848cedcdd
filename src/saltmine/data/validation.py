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
from saltmine.io.sparse_indices import find_flaw
from saltmine.memory import MemoryLimitError, available_memory, format_size
from saltmine.names import as_text, check_distinct, quoted

#: A boolean array, or a scipy CSR array that stores only ones.
BinaryMatrix: TypeAlias = "Bools | sp.csr_array"

_NOT_NUMBERS = (str, bytes, date, timedelta, np.datetime64, np.timedelta64)
# The most columns, and the bytes that a fit takes for each at least, whatever it holds.
MAX_COLUMNS, BYTES_PER_COLUMN = (1 << 31) - 1, 50


class NoNumberError(TypeError, ValueError):
    """An object in a cell that is neither a number nor text; scikit-learn expects a TypeError.

    Examples
    --------
    >>> issubclass(NoNumberError, TypeError), issubclass(NoNumberError, ValueError)
    (True, True)
    """


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
    """Refuse data that is not a table of numbers: paths, rows of different length, text, dates, gaps other than NaN.

    Invalid sparse matrices are refused here, too, before they are converted.
    """
    if isinstance(X, (str, bytes, PathLike)):
        raise ValueError(f"X is {quoted(X)}, not a table; read the file first, for example with pandas.read_csv.")
    if sp.issparse(X):
        _reject_invalid(X)
        return
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
    if X.dtype.kind in "OUSTMmV":
        for column in range(X.shape[1]):
            _reject_objects(X[:, column], column, names)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        row, column = np.argwhere(np.ma.getmaskarray(X))[0]
        raise _missing(names, column, row)


def _reject_invalid(X: Any) -> None:
    if X.ndim != 2:
        raise ValueError(f"X is a sparse matrix of {X.ndim} dimensions; two are needed, rows and columns.")
    flaw = find_flaw(X)
    if flaw is not None:
        remedy = "build it again, for example with scipy.sparse.coo_array((values, (rows, columns)), shape=shape)"
        raise ValueError(f"X is an invalid sparse matrix ({X.format}): {flaw}; {remedy}.")
    if X.dtype.kind not in "biufcO":
        raise ValueError(f"X is a sparse matrix of {X.dtype}, not of numbers; make it 0/1 first.")
    if X.dtype == object and X.format not in ("lil", "dok"):
        for value in X.data.flat:
            if not is_number(value):
                raise ValueError(
                    f"X is a sparse matrix that stores {quoted(value)}, which is not a number; make it 0/1."
                )
    pointers = 8 * (X.shape[0] + 1)
    if X.format != "csr" and pointers > available_memory():
        problem = f"X has {X.shape[0]:,} rows, which take at least {format_size(pointers)} of memory"
        raise MemoryLimitError(f"{problem}, but only {format_size(available_memory())} may be used; leave out rows.")


def check_n_columns(n_columns: int) -> None:
    """Refuse more columns than a fit can take, or than there is memory for, before anything is made of them.

    Examples
    --------
    >>> check_n_columns(1 << 31)
    Traceback (most recent call last):
    ValueError: X has 2,147,483,648 columns, but a fit takes 2,147,483,647 at most; leave out the columns without ones.
    """
    remedy = "leave out the columns without ones"
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"X has {n_columns:,} columns, but a fit takes {MAX_COLUMNS:,} at most; {remedy}.")
    needed = BYTES_PER_COLUMN * n_columns
    if needed > 1 << 28 and needed > available_memory():
        problem = f"X has {n_columns:,} columns, which take at least {format_size(needed)} of memory"
        raise MemoryLimitError(f"{problem}, but only {format_size(available_memory())} may be used; {remedy}.")


def is_number(value: Any) -> bool:
    """Return whether an object is a real number that is not too large for a float.

    Examples
    --------
    >>> is_number(True), is_number(10**30), is_number(10**400), is_number("1"), is_number([1])
    (True, True, False, False, False)
    """
    if isinstance(value, (bool, float, np.bool_)):
        return True
    # Time spans of numpy are among its whole numbers, and arrays of one value can be made a float.
    if isinstance(value, (*_NOT_NUMBERS, np.ndarray, complex, np.complexfloating)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return values as an array; ``what`` says what they are where that is not possible.

    Examples
    --------
    >>> as_array([[1, 2], [3]], "sample_weight")
    Traceback (most recent call last):
    ValueError: sample_weight holds lists of different lengths; give every row one value.
    """
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} holds lists of different lengths; give every row one value.") from None


def as_bools(values: Any) -> Bools:
    """Return truth values whose bytes are 0 and 1, as compiled code reads them; any other byte is True.

    Masks that were read from a file or a buffer may have other bytes, for example 255.

    Examples
    --------
    >>> as_bools(np.array([0, 255], dtype=np.uint8).view(bool)).view(np.uint8).tolist()
    [0, 1]
    """
    array = np.asarray(values)
    if array.dtype != bool:
        return array.astype(bool)
    stored = array.view(np.uint8)
    return array if stored.max(initial=0) <= 1 else stored != 0


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def _reject_objects(values: Iterable[Any], column: int, names: TableNames) -> None:
    for row, value in enumerate(values):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise _missing(names, column, row)
        if not is_number(value):
            shown = value.item() if isinstance(value, np.generic) else value
            problem = f"{names.cell(column, row, quoted(shown))}, which is not a number"
            if not isinstance(value, _NOT_NUMBERS):
                must = "the argument must be 0/1 (saltmine.Prepare turns a string or a number of any kind into items)"
                raise NoNumberError(f"{problem}; {must}.")
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
        X = as_bools(X) if X.dtype == bool else X
        return X if X.dtype == bool and binarize is None else _ones(X, X, binarize, names)
    X = sp.csr_array(X)
    if X.dtype == bool:
        X.data = as_bools(X.data)
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
    if values.dtype.itemsize == 1 and values.view(np.uint8).max(initial=0) <= 1:
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
