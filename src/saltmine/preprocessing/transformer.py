"""The transformer that turns the columns of a table into items."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from saltmine.names import check_distinct, quoted
from saltmine.nouns import plural
from saltmine.parameters import check_choice, check_count
from saltmine.preprocessing.columns import (
    AtLeast,
    Codes,
    Column,
    ColumnError,
    Constant,
    Encoder,
    Intervals,
    choose_encoder,
    encoder_from,
)

ERROR, ITEM, IGNORE = "error", "item", "ignore"
CUTS: dict[str, type[Intervals] | type[AtLeast]] = {"intervals": Intervals, "cumulative": AtLeast}
# `items_of` returns larger matrices as sparse ones.
MAX_DENSE_CELLS = 1 << 28
# From this number of rows on, several threads are faster than one.
MIN_ROWS_FOR_THREADS = 20_000
# Names of columns in a message.
_MAX_LISTED = 10

Result = TypeVar("Result")


class Prepare(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into yes/no items with readable names; use it before `CSalt` in a pipeline.

    A column of 0 and 1, or of yes and no, is an item itself; a column with a single value is left out. A column of
    text, categories or few distinct numbers has an item per value (``colour=red``). Every other numeric column is cut
    into intervals (``age<30``, ``30<=age<60``, ``age>=60``). New data gets the same items: unknown values have no item,
    and unknown columns are left out. A column of yes and no may have True and False, 1 and 0, or yes and no in any case
    in new data; other values are warned of, because a row without the item is a no.

    Parameters
    ----------
    bins : int
        Number of parts of about equal size into which numeric columns are cut; a column with at most that many
        distinct values has an item per value instead.
    thresholds : dict of column to list of numbers, optional
        Where to cut the given columns.
    cuts : {"intervals", "cumulative"}
        Items of a column that is cut: one per interval, or one per cut for all values from there on (``age>=30``,
        ``age>=60``). With cumulative items, a single item of a pattern can say "at least 30".
    missing : {"error", "item", "ignore"}
        Treatment of missing values: an error, an item of its own (``age missing``), or no item.
    sparse_output : bool
        Return a CSR array instead of a DataFrame. It has no names: pass ``item_names=prepare.item_names_`` to fit.

    Attributes
    ----------
    item_names_ : (n,) text
        Names of the items.
    left_out_ : list of text
        Columns with a single value.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from saltmine import Prepare
    >>> table = pd.DataFrame({"age": [25, 61, 70], "colour": ["red", "blue", "red"], "member": [1, 0, 1]})
    >>> Prepare(thresholds={"age": [60]}).fit_transform(table).astype(int)
       age<60  age>=60  colour=blue  colour=red  member
    0       1        0            0           1       1
    1       0        1            1           0       0
    2       0        1            0           1       1
    >>> Prepare(thresholds={"age": [30, 60]}, cuts="cumulative").fit_transform(table[["age"]]).astype(int)
       age>=30  age>=60
    0        0        0
    1        1        1
    2        1        1
    """

    def __init__(
        self,
        *,
        bins: int = 4,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        cuts: str = "intervals",
        missing: str = ERROR,
        sparse_output: bool = False,
    ) -> None:
        self.bins = bins
        self.thresholds = thresholds
        self.cuts = cuts
        self.missing = missing
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the items of every column.

        Parameters
        ----------
        X : DataFrame or (m, n) array-like
            The table; text, categories, truth values and numbers.
        y : ignored

        Returns
        -------
        Prepare
            The transformer itself.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> Prepare(thresholds={"age": [60]}).fit(table).item_names_.tolist()
        ['age<60', 'age>=60', 'member']
        """
        self._fit_codes(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Choose the items of every column and return those of every row, as `transform` does.

        Parameters
        ----------
        X : DataFrame or (m, n) array-like
            The table.
        y : ignored

        Returns
        -------
        (m, items) DataFrame of bool, or CSR with ``sparse_output``

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> Prepare(thresholds={"age": [60]}).fit_transform(table).astype(int).to_numpy().tolist()
        [[1, 0, 1], [0, 1, 0], [0, 1, 1]]
        """
        return self._items(*self._fit_codes(X))

    def transform(self, X: Any) -> Any:
        """Return the items of every row.

        Parameters
        ----------
        X : DataFrame or (m, n) array-like
            A table with the columns of the fit.

        Returns
        -------
        (m, items) DataFrame of bool, or CSR with ``sparse_output``
            Values that were not there in the fit have no item; in a column of yes and no, they are warned of.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> prepare = Prepare(thresholds={"age": [60]}).fit(table)
        >>> prepare.transform(pd.DataFrame({"age": [30], "member": ["no"]})).astype(int).to_numpy().tolist()
        [[1, 0, 0]]
        """
        return self._items(*self._codes(X))

    def items_of(self, X: Any, fit: bool = False) -> Any:
        """Return the items as a matrix without names, dense, or CSR if a dense one would take much memory.

        Parameters
        ----------
        X : DataFrame or (m, n) array-like
            The table.
        fit : bool
            Choose the items of every column first.

        Returns
        -------
        (m, items) array or CSR, bool

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> Prepare(thresholds={"age": [60]}).items_of(table, fit=True).shape
        (3, 3)
        """
        frame, codes = self._fit_codes(X) if fit else self._codes(X)
        is_large = len(frame) * len(self.item_names_) > MAX_DENSE_CELLS
        return self._sparse(codes, len(frame)) if is_large else self._dense(codes, len(frame))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the items.

        Parameters
        ----------
        input_features : ignored
            For pipelines.

        Returns
        -------
        (items,) array of text

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> Prepare(thresholds={"age": [60]}).fit(table).get_feature_names_out().tolist()
        ['age<60', 'age>=60', 'member']
        """
        check_is_fitted(self)
        return self.item_names_

    # ------------------------------------------------------------------ for files

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted state as plain values.

        Returns
        -------
        dict
            Text, numbers, lists and dicts only, as JSON has them.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> sorted(Prepare().fit(table).to_dict())
        ['bins', 'columns', 'cuts', 'missing']
        """
        check_is_fitted(self)
        columns = []
        for encoder in self._encoders:
            columns.append({"kind": encoder.kind, "missing": encoder.column in self._with_missing, **vars(encoder)})
        return {"missing": self.missing, "bins": self.bins, "cuts": self.cuts, "columns": columns}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Prepare:
        """Return the fitted transformer of `to_dict`; raise KeyError, TypeError or ValueError if it is invalid.

        Parameters
        ----------
        plain : dict
            What `to_dict` returned.

        Returns
        -------
        Prepare

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 61, 70], "member": ["yes", "no", "yes"]})
        >>> prepare = Prepare(thresholds={"age": [60]}).fit(table)
        >>> Prepare.from_dict(prepare.to_dict()).item_names_.tolist()
        ['age<60', 'age>=60', 'member']
        """
        prepare = cls(bins=int(plain["bins"]), cuts=plain.get("cuts", "intervals"), missing=plain["missing"])
        prepare._check_parameters()
        encoders = [encoder_from(column) for column in plain["columns"]]
        with_missing = {str(column["column"]) for column in plain["columns"] if column["missing"]}
        prepare._keep(encoders, with_missing)
        prepare.n_features_in_ = len(encoders)
        prepare.feature_names_in_ = np.array([encoder.column for encoder in encoders], dtype=object)
        return prepare

    # ------------------------------------------------------------------ fitting

    def _fit_codes(self, X: Any) -> tuple[pd.DataFrame, list[Codes]]:
        self._check_parameters()
        frame = self._as_frame(X)
        given = {str(column): list(cuts) for column, cuts in (self.thresholds or {}).items()}
        for name in given:
            if name not in frame.columns:
                raise ValueError(
                    f"There is no column {quoted(name)} to cut at thresholds; check its name in the table."
                )

        def choose(column: Column) -> Encoder:
            self._reject_missing(column)
            return choose_encoder(column, self.bins, given.get(column.name), CUTS[self.cuts])

        columns = _columns(frame)
        encoders = _each(choose, columns)
        self._keep(encoders, {column.name for column in columns if column.missing is not None})
        # Last, so that an error leaves the state of a previous fit unchanged.
        validate_data(self, X, skip_check_array=True)
        return frame, _each(self._encode, columns, encoders)

    def _keep(self, encoders: list[Encoder], with_missing: set[str]) -> None:
        names = np.array([name for encoder in encoders for name in self._names(encoder, with_missing)], dtype=object)
        check_distinct(names, "items")
        if not len(names):
            raise ValueError("No column has more than one value, so there are no items; check the table.")
        self.left_out_ = [encoder.column for encoder in encoders if isinstance(encoder, Constant)]
        self._encoders, self._with_missing, self.item_names_ = encoders, with_missing, names

    def _names(self, encoder: Encoder, with_missing: set[str]) -> list[str]:
        extra = [f"{encoder.column} missing"] if self.missing == ITEM and encoder.column in with_missing else []
        return encoder.items + extra

    def _check_parameters(self) -> None:
        check_count("bins", self.bins, 2)
        check_choice("cuts", self.cuts, tuple(CUTS))
        check_choice("missing", self.missing, (ERROR, ITEM, IGNORE))
        if not isinstance(self.thresholds, Mapping | None):
            raise ValueError(f"thresholds must be a dict such as {{'age': [18, 60]}}, not {quoted(self.thresholds)}.")
        for column, cuts in (self.thresholds or {}).items():
            numbers = isinstance(cuts, Sequence) and not isinstance(cuts, str) and len(cuts) > 0
            if not numbers or not all(isinstance(cut, Real) and np.isfinite(cut) for cut in cuts):
                allowed = "a list of numbers such as [18, 60]"
                raise ValueError(f"The thresholds of {quoted(column)} must be {allowed}, not {quoted(cuts)}.")

    # ------------------------------------------------------------------ rows

    def _as_frame(self, X: Any) -> pd.DataFrame:
        if sp.issparse(X):
            raise ValueError("X is sparse, so it is a matrix already; pass it to the estimator directly.")
        frame = X.to_pandas() if hasattr(X, "to_pandas") else X
        if not isinstance(frame, pd.DataFrame):
            array = np.asarray(frame)
            if array.ndim != 2:
                found = f"it has {array.ndim} dimensions"
                raise ValueError(f"X must be a table with rows and columns, but {found}. Reshape your data.")
            frame = pd.DataFrame(array, columns=_array_names(array.shape[1]))
        n_rows, n_columns = frame.shape
        if n_rows < 1 or n_columns < 1:
            raise ValueError(f"X has {n_rows} rows and {n_columns} columns; at least one of each is needed.")
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        check_distinct(frame.columns)
        return frame

    def _codes(self, X: Any) -> tuple[pd.DataFrame, list[Codes]]:
        """Return the columns of the fit, in the order of the fit, and their codes; other columns are left out."""
        check_is_fitted(self)
        frame = self._as_frame(X)
        wanted = [encoder.column for encoder in self._encoders]
        missing = [column for column in wanted if column not in frame.columns]
        if missing:
            self._reject_other_names(X, frame, wanted)
            raise ValueError(f"{_listed(missing)} missing; new data needs all columns of the fit.")
        frame = frame[wanted]
        columns = _columns(frame)
        codes = _each(self._encode, columns, self._encoders)
        for column, encoder in zip(columns, self._encoders, strict=True):
            if found := encoder.warning(column):
                warnings.warn(found, UserWarning, stacklevel=3)
        return frame, codes

    def _reject_other_names(self, X: Any, frame: pd.DataFrame, wanted: list[str]) -> None:
        """Refuse rows without column names where the fit had names, and rows with names where it had none."""
        had_names = hasattr(self, "feature_names_in_") or wanted != _array_names(len(wanted))
        is_table = hasattr(X, "columns")
        if had_names and (not is_table or isinstance(X.columns, pd.RangeIndex)):
            some = ", ".join(map(quoted, wanted[:2])) + (", ..." if len(wanted) > 2 else "")
            problem = f"X has no column names, but the columns of the fit ({some}) are looked up by name"
            if frame.shape[1] != len(wanted):
                raise ValueError(f"{problem}; pass a DataFrame with all {len(wanted)} of them.")
            names = "prepare.feature_names_in_" if hasattr(self, "feature_names_in_") else "names"
            raise ValueError(f"{problem}; pass a DataFrame, such as pd.DataFrame(X, columns={names}).")
        if is_table and not had_names:
            problem = f"X has column names such as {quoted(frame.columns[0])}, but the fit had none"
            raise ValueError(f"{problem}; pass an array with the columns of the fit, such as X.to_numpy().")

    def _encode(self, column: Column, encoder: Encoder) -> Codes:
        codes = encoder.encode(column)
        if column.missing is not None:
            self._reject_missing(column)
            if self.missing == ITEM and encoder.column in self._with_missing:
                codes = np.where(column.missing, len(encoder.items), codes)
        return codes

    def _reject_missing(self, column: Column) -> None:
        if self.missing == ERROR and column.missing is not None:
            gaps = np.flatnonzero(column.missing)
            more = f" (and {len(gaps) - 1:,} more rows)" if len(gaps) > 1 else ""
            problem = f"Column {quoted(column.name)} has no value in row {gaps[0]}{more}, counted from 0"
            choices = "missing='item' for an item of its own or missing='ignore' for none"
            options = "--missing item for an item of its own or --missing ignore for none"
            raise ColumnError(
                f"{problem}; choose {choices}, or fill the gaps.", f"{problem}; choose {options}, or fill the gaps."
            )

    def _items(self, frame: pd.DataFrame, codes: list[Codes]) -> Any:
        if self.sparse_output:
            return self._sparse(codes, len(frame))
        return pd.DataFrame(self._dense(codes, len(frame)), columns=self.item_names_, index=frame.index, copy=False)

    def _one_item_per_row(self, codes: list[Codes]) -> tuple[list[Codes], NDArray[np.int64]]:
        """Return codes of columns of which a row has at most one item, and the position of the first item of each.

        The last position is the number of items.
        """
        parts: list[Codes] = []
        sizes = [0]
        for encoder, column in zip(self._encoders, codes, strict=True):
            size = len(self._names(encoder, self._with_missing))
            if isinstance(encoder, AtLeast):
                parts += encoder.split(column, with_missing=size > len(encoder.items))
                sizes += [1] * size
            else:
                parts.append(column)
                sizes.append(size)
        return parts, np.cumsum(sizes)

    def _dense(self, codes: list[Codes], n_rows: int) -> NDArray[np.bool_]:
        codes, offsets = self._one_item_per_row(codes)
        # Column by column in memory, like tables.
        items = np.empty((n_rows, offsets[-1]), dtype=bool, order="F")

        def fill(column: Codes, begin: int, end: int) -> None:
            for k in range(end - begin):
                np.equal(column, k, out=items[:, begin + k])

        _each(fill, codes, offsets[:-1].tolist(), offsets[1:].tolist())
        return items

    def _sparse(self, codes: list[Codes], n_rows: int) -> sp.csr_array:
        codes, offsets = self._one_item_per_row(codes)
        table = np.stack(codes, axis=1)
        has = table >= 0
        indices = (table + offsets[:-1])[has]
        indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
        return sp.csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n_rows, offsets[-1]))


def _each(function: Callable[..., Result], column_wise: Sequence[Any], *more: Sequence[Any]) -> list[Result]:
    """Return the results of a function for every column, computed on all cores if the table is long."""
    if len(column_wise[0]) < MIN_ROWS_FOR_THREADS:
        return list(map(function, column_wise, *more))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, column_wise, *more))


def _listed(columns: list[str]) -> str:
    """Return the beginning of a sentence about columns, of which ten are named.

    Examples
    --------
    >>> print(_listed(["eggs"]), _listed(["eggs", "milk"]), sep=" | ")
    The column 'eggs' is | The columns 'eggs', 'milk' are
    """
    more = f" (and {len(columns) - _MAX_LISTED:,} more)" if len(columns) > _MAX_LISTED else ""
    names = ", ".join(map(quoted, columns[:_MAX_LISTED]))
    return f"The {plural(len(columns), 'column')} {names}{more} {'is' if len(columns) == 1 else 'are'}"


def _array_names(n_columns: int) -> list[str]:
    """Return the names of the columns of an array."""
    return [f"x{j}" for j in range(n_columns)]


def _columns(frame: pd.DataFrame) -> list[Column]:
    return [Column(frame.iloc[:, j], name) for j, name in enumerate(frame.columns)]
