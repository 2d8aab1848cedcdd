"""New rows in the patterns of a fitted model: with classes, and without."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from saltmine.data.labels import class_numbers
from saltmine.data.validation import BinaryMatrix
from saltmine.estimators.base import PatternModel
from saltmine.fitted.encoding import DECIMALS, CodeTable, encode


class ByClass(ClassifierMixin, PatternModel):
    """A model of classes: every class has a code table of its own."""

    _knows_classes: ClassVar[bool] = True

    def fit(self, X: Any, y: Any = None, *, item_names: Any = None, row_names: Any = None) -> Self:
        """Find patterns, usage and, where the method has them, alterations.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Also what is read lazily: a dask array, a zarr array or its path, or the path of a folder of .npz or
            .parquet files, each with some of the rows.
        y : (m,) labels
            Needed; without labels, use `Primp`.
        item_names, row_names : lists of text, optional
            What tables and reports call columns and rows; for data that has no names of its own, as sparse matrices.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it compares classes; use "
                "Primp for data without labels."
            )
        return self._fit(X, y, item_names, row_names)

    def transform(self, X: Any, y: Any = None) -> NDArray[np.bool_]:
        """Return the patterns that every row uses, (m, r).

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
        y : (m,) labels, optional
            Classes of the rows, whose alterations are then taken into account; predicted where they are not given.
        """
        check_is_fitted(self)
        rows = self._binary_rows(X, reset=False)
        numbers = self._shortest(rows) if y is None else self._known_classes(y, rows.shape[0])
        usage = np.zeros((rows.shape[0], self.n_components_), dtype=bool)
        for a, table in enumerate(self._code_tables()):
            of_class = np.flatnonzero(numbers == a)
            usage[of_class] = encode(rows[of_class], table)[0]
        return usage

    def predict(self, X: Any) -> NDArray[Any]:
        """Return for every row the class whose patterns encode it in the fewest nats."""
        check_is_fitted(self)
        return self.classes_[self._shortest(self._binary_rows(X, reset=False))]

    def code_lengths(self, X: Any) -> NDArray[np.float64]:
        """Return how many nats the patterns and codes of every class take for every row, (m, c)."""
        check_is_fitted(self)
        return self._code_lengths(self._binary_rows(X, reset=False))

    def _code_lengths(self, rows: BinaryMatrix) -> NDArray[np.float64]:
        return np.stack([encode(rows, table)[1] for table in self._code_tables()], axis=1)

    def _shortest(self, rows: BinaryMatrix) -> NDArray[np.intp]:
        shortest: NDArray[np.intp] = np.argmin(np.round(self._code_lengths(rows), DECIMALS), axis=1)
        return shortest

    def _code_tables(self) -> list[CodeTable]:
        occurs = self.item_counts_.sum(axis=0) > 0
        parts = zip(self.alterations_, self.usage_counts_, self.noise_counts_, strict=True)
        return [
            CodeTable.from_counts(self.components_ | altered, usage, noise, occurs) for altered, usage, noise in parts
        ]

    def _known_classes(self, y: Any, n_rows: int) -> NDArray[np.intp]:
        given, numbers = class_numbers(y, n_rows)
        unknown = [label for label in given.tolist() if label not in set(self.classes_.tolist())]
        if unknown:
            known = ", ".join(repr(label) for label in self.classes_.tolist())
            raise ValueError(f"y holds the label {unknown[0]!r}, which the model has not seen; it knows {known}.")
        return np.searchsorted(self.classes_, given)[numbers]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Patterns describe; a pattern has two items at least. On data of two columns, as the estimator checks use it,
        # there are none, and the codes of single items tell classes apart only as well as they can.
        tags.classifier_tags.poor_score = True
        return tags


class OneClass(PatternModel):
    """A model that knows no classes; labels, where given, only split the reporting."""

    _knows_classes: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None, *, item_names: Any = None, row_names: Any = None) -> Self:
        """Find patterns and usage.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
        y : (m,) labels, optional
            They split the reporting and nothing else.
        item_names, row_names : lists of text, optional
            What tables and reports call columns and rows; for data that has no names of its own, as sparse matrices.
        """
        return self._fit(X, y, item_names, row_names)

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Return the patterns that every row uses, (m, r)."""
        check_is_fitted(self)
        rows = self._binary_rows(X, reset=False)
        counts = self.usage_counts_.sum(axis=0), self.noise_counts_.sum(axis=0)
        table = CodeTable.from_counts(self.components_, *counts, self.item_counts_.sum(axis=0) > 0)
        return encode(rows, table)[0]
