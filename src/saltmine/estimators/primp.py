"""Primp: the same factorization for data without classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saltmine.estimators.base import PatternModel
from saltmine.model.encoding import CodeTable, encode


class Primp(PatternModel):
    """Mine patterns of 0/1 data, their number found by description length (Hess, Morik & Piatkowski 2017).

    C-Salt without alterations: all rows are one class. Labels, where given, only split the reporting: `classes_`,
    `usage_counts_` and the columns of `patterns` are then per class.

    Parameters and attributes are those of `CSalt`; `alterations_` is empty (all False).

    Examples
    --------
    >>> from saltmine import Primp
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200], rank=3, noise=0.02, random_state=0)
    >>> model = Primp(random_state=0).fit(planted.X)
    >>> model.usage_.shape == (200, model.n_components_)
    True
    """

    _alterations: ClassVar[bool] = False
    _kind: ClassVar[str] = "Primp"

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
