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

from saltmine.data.validation import as_array, as_bools, is_number
from saltmine.names import quoted

# Rows that weights may add up to.
MAX_ROWS = 1 << 31
# The search weighs every class against every other one.
MAX_CLASSES = 10_000


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
    labels = column_or_1d(as_array(y, "y") if isinstance(y, list | tuple) else y, warn=True)
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(labels)} labels; give every row one label.")
    # Records have no gaps, and are refused below.
    missing = np.flatnonzero(pd.isna(labels) if labels.dtype.kind != "V" else [])
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
    classes, numbers = np.unique(as_bools(labels) if labels.dtype == bool else labels, return_inverse=True)
    return classes, numbers


def check_n_classes(classes: NDArray[Any]) -> None:
    """Refuse labels that are too many to be compared, as names or numbers of rows are.

    Examples
    --------
    >>> check_n_classes(np.arange(10_001))
    Traceback (most recent call last):
    ValueError: y has 10,001 classes, such as 0 and 1, but 10,000 are the most; label groups of rows, not rows.
    """
    if len(classes) > MAX_CLASSES:
        some = " and ".join(map(quoted, classes[:2].tolist()))
        problem = f"y has {len(classes):,} classes, such as {some}, but {MAX_CLASSES:,} are the most"
        raise ValueError(f"{problem}; label groups of rows, not rows.")


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
    found, numbers = np.unique([str(name) for name in names], return_inverse=True)
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
    weights = _weight_of_rows(sample_weight, len(numbers))
    wrong = np.flatnonzero(~((weights >= 0) & (weights % 1 == 0)))
    if len(wrong):
        row = int(wrong[0])
        problem = f"The weight of row {row} is {weights[row]}; weights are whole numbers of at least 0"
        raise ValueError(f"{problem}, how often each row occurs: tests count rows.")
    with np.errstate(over="ignore"):
        # The sum of integers could wrap around; sums of floats are exact as far as rows fit.
        total = weights.astype(np.float64).sum()
    if total > MAX_ROWS:
        row = int(weights.argmax())
        problem = f"The weights add up to {total:.3g} rows (row {row} alone: {float(weights[row]):.3g})"
        raise ValueError(f"{problem}, but {MAX_ROWS:,} fit at most; divide all weights by the same number.")
    counts = weights.astype(np.int64)
    absent = np.bincount(numbers, counts, minlength=len(classes)) == 0
    if absent.any():
        label = classes.tolist()[int(absent.argmax())]
        raise ValueError(f"The weight of all rows of class {quoted(label)} is zero; leave the class out.")
    return counts


def score_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weights of rows in a mean, which need not be whole.

    Examples
    --------
    >>> score_weights([1, 0.5], 2)
    array([1. , 0.5])
    """
    weights = _weight_of_rows(sample_weight, n_rows).astype(np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        problem = (
            f"Input sample_weight contains NaN, infinity or a negative value: {weights[wrong[0]]} in row {wrong[0]}"
        )
        raise ValueError(f"{problem}; give every row a weight of at least 0.")
    if not weights.any():
        raise ValueError("The weight of all rows is zero; give some of them a weight above 0.")
    # As shares, which cannot add up to infinity.
    shares: NDArray[np.float64] = weights / weights.max()
    return shares


def _weight_of_rows(sample_weight: Any, n_rows: int) -> NDArray[Any]:
    """Return one number per row; a single number stands for all rows."""
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight is masked for some rows; give every row a weight, 0 to leave it out.")
    weights = as_array(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: one per row, not {weights.ndim} dimensions.")
    if len(weights) != n_rows:
        problem = f"sample_weight.shape == {weights.shape}, expected ({n_rows},)"
        raise ValueError(f"{problem}: X has {n_rows} rows; give every row one weight.")
    if weights.dtype == object and all(map(is_number, weights)):
        weights = weights.astype(np.float64)
    if weights.dtype.kind not in "biuf":
        wrong = next(value for value in weights.tolist() if weights.dtype != object or not is_number(value))
        raise ValueError(f"sample_weight has {quoted(wrong)}; weights are whole numbers, how often each row occurs.")
    return as_bools(weights) if weights.dtype == bool else weights


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
