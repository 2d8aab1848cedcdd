"""Labels of any kind become sorted classes and a class number per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d


def class_numbers(y: Any, n_rows: int | None = None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct labels and the number of each row's label among them.

    Where ``n_rows`` is given, there must be as many labels.

    Examples
    --------
    >>> class_numbers(["tumour", "normal", "tumour"])
    (array(['normal', 'tumour'], dtype='<U6'), array([1, 0, 1]))
    """
    import pandas as pd

    # pandas' own types would turn into floats on the way to an array; as objects they keep their kind.
    own_type = hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)
    labels = column_or_1d(y.to_numpy(dtype=object) if own_type else y, warn=True)
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(labels)} labels; give every row one label.")
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        row, gap = int(missing[0]), labels[missing[0]]
        shown = gap.item() if isinstance(gap, np.generic) else gap
        raise ValueError(f"Input y contains NaN: row {row} has no label ({shown!r}); give it one or drop the row.")
    if labels.dtype == object:
        labels = _of_one_kind(labels)
    check_classification_targets(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers


def _of_one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Unwrap objects; numbers and truth values get an array of their own type."""
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
