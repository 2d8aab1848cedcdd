"""Turn labels of any kind into sorted classes and a class number per row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from saltmine.names import quoted

# Rows that weights may add up to.
MAX_ROWS = 1 << 31


def class_numbers(y: Any, n_rows: int | None = None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct labels and the number of each row's label among them.

    If ``n_rows`` is given, there must be as many labels.

    Examples
    --------
    >>> class_numbers(["tumour", "normal", "tumour"])
    (array(['normal', 'tumour'], dtype='<U6'), array([1, 0, 1]))
    """
    y = _only_column(y)
    if np.ma.is_masked(y):
        row = int(np.flatnonzero(np.ma.getmaskarray(y))[0])
        raise ValueError(f"Input y contains NaN: row {row} has no label (masked); give it one or drop the row.")
    # Types of pandas, and numpy's strings of variable length, keep their kind only as objects.
    if isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype):
        y = y.to_numpy(dtype=object)
    elif getattr(getattr(y, "dtype", None), "kind", "") == "T":
        y = y.astype(object)
    labels = column_or_1d(y, warn=True)
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(labels)} labels; give every row one label.")
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        row, gap = int(missing[0]), labels[missing[0]]
        shown = gap.item() if isinstance(gap, np.generic) else gap
        raise ValueError(
            f"Input y contains NaN: row {row} has no label ({quoted(shown)}); give it one or drop the row."
        )
    if labels.dtype == object:
        labels = _of_one_kind(labels)
    if labels.dtype.kind not in "OUbiuf" or (labels.dtype == object and not isinstance(labels[0], str)):
        raise ValueError(
            f"Labels such as {quoted(labels.tolist()[0])} are not supported; make them text, for example y.astype(str)."
        )
    with warnings.catch_warnings():
        # That there are many classes for so few rows: users of the command line are asked about it, others know.
        warnings.simplefilter("ignore", UserWarning)
        check_classification_targets(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers


def only_class(label: Any) -> str:
    """Return the part of a sentence that says that all rows have this label.

    Examples
    --------
    >>> only_class("tumour")
    "there is only one class, 'tumour', and nothing to compare it with; add rows of another class"
    """
    return f"there is only one class, {quoted(label)}, and nothing to compare it with; add rows of another class"


def group_numbers(groups: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted names of the groups, as text, and the number of each row's group among them.

    Examples
    --------
    >>> group_numbers(["DS2", "DS1", "DS2"], 3)
    (array(['DS1', 'DS2'], dtype='<U3'), array([1, 0, 1]))
    """
    groups = _only_column(groups)
    if np.ma.is_masked(groups):
        row = int(np.flatnonzero(np.ma.getmaskarray(groups))[0])
        raise ValueError(f"groups has no name for row {row} (masked); give it one, or a group of its own.")
    names = np.array(groups, dtype=object)
    if names.ndim != 1:
        raise ValueError(f"groups must be one name per row, not an array of {names.ndim} dimensions.")
    if len(names) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but groups has {len(names)} names; give every row one group.")
    missing = np.flatnonzero(pd.isna(names))
    if len(missing):
        row = int(missing[0])
        raise ValueError(
            f"groups has no name for row {row} ({quoted(names[row])}); give it one, or a group of its own."
        )
    found, numbers = np.unique(names.astype(str), return_inverse=True)
    if len(found) == 1 and n_rows > 1:
        raise ValueError(
            f"All rows are in one group, {quoted(str(found[0]))}, so nothing can be said; leave groups out."
        )
    return found, numbers


@dataclass(frozen=True)
class Grouping:
    """The groups of rows.

    Attributes
    ----------
    names : (g,) text
    numbers : (m,) int
        The number of each row's group.
    noun : str
        What a group is called, as "patient".
    """

    names: NDArray[Any]
    numbers: NDArray[np.intp]
    noun: str = "group"

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> Grouping:
        """Return the groups of rows; a Series brings the noun with its name."""
        is_frame = getattr(groups, "ndim", 1) == 2 and hasattr(groups, "columns")
        name = groups.columns[0] if is_frame else getattr(groups, "name", None)
        return cls(*group_numbers(groups, n_rows), name if isinstance(name, str) and name else "group")

    def of_copies(self, rows: NDArray[np.intp]) -> Grouping:
        """Return the groups of these rows."""
        present, numbers = np.unique(self.numbers[rows], return_inverse=True)
        return Grouping(self.names[present], numbers, self.noun)

    @property
    def is_trivial(self) -> bool:
        """Whether every row is a group of its own."""
        return len(np.unique(self.numbers)) == len(self.numbers)

    @property
    def of_rows(self) -> NDArray[Any]:
        """The name of each row's group."""
        return self.names[self.numbers]


def row_counts(sample_weight: Any, numbers: NDArray[np.intp], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return how often every row occurs; a number stands for all rows.

    Examples
    --------
    >>> row_counts([1.0, 0, 2], np.array([0, 0, 1]), np.array(["a", "b"])).tolist()
    [1, 0, 2]
    """
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight is masked for some rows; give every row a weight, 0 to leave it out.")
    weights = np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(len(numbers), weights)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: one per row, not {weights.ndim} dimensions.")
    if len(weights) != len(numbers):
        problem = f"sample_weight.shape == {weights.shape}, expected ({len(numbers)},)"
        raise ValueError(f"{problem}: X has {len(numbers)} rows; give every row one weight.")
    if weights.dtype.kind not in "biuf":
        raise ValueError(
            f"sample_weight has {quoted(weights.tolist()[0])}; weights are whole numbers, how often each row occurs."
        )
    wrong = np.flatnonzero(~((weights >= 0) & (weights % 1 == 0)))
    if len(wrong):
        row = int(wrong[0])
        problem = f"The weight of row {row} is {weights[row]}; weights are whole numbers of at least 0"
        raise ValueError(f"{problem}, how often each row occurs: tests count rows.")
    if weights.sum() > MAX_ROWS:
        raise ValueError(f"The weights add up to {weights.sum():.3g} rows, more than fit; divide them.")
    counts = weights.astype(np.int64)
    absent = np.bincount(numbers, counts, minlength=len(classes)) == 0
    if absent.any():
        label = classes.tolist()[int(absent.argmax())]
        raise ValueError(f"The weight of all rows of class {quoted(label)} is zero; leave the class out.")
    return counts


def _only_column(values: Any) -> Any:
    """Return the column of a table that has only one, and anything else as it is."""
    is_table = hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2 and values.shape[1] == 1
    return values.iloc[:, 0] if is_table else values


def _of_one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Return objects as plain Python values; numbers and truth values as an array of their type."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {type(label) for label in plain}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"y mixes labels of different kinds ({names}); make them all text, for example y.astype(str).")
    if kinds <= {bool, int, float}:
        return np.array(plain)
    unwrapped = np.empty(len(plain), dtype=object)
    unwrapped[:] = plain
    return unwrapped
