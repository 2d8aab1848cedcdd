"""What fitted estimators offer: the table, pictures, the report, the file, and how stable it all is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from saltmine.data.labels import class_numbers
from saltmine.data.validation import BinaryMatrix
from saltmine.estimators.unfolding import ByColumn
from saltmine.fitted.model_file import save_model
from saltmine.fitted.pattern_table import pattern_table
from saltmine.fitted.stability import Stability, bootstrap_rows, carried, compare

if TYPE_CHECKING:
    import pandas as pd

    from saltmine.plots import Plots


class FittedResults(ByColumn, BaseEstimator):
    """An estimator that has been fitted, but for the fit itself."""

    # The name of the estimator in model files.
    _kind: ClassVar[str]

    n_components_: int
    usage_counts_: NDArray[np.int64]
    classes_: NDArray[Any]
    row_labels_: NDArray[Any]
    stability_: Stability | None
    _binary_rows: Callable[..., BinaryMatrix]

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def patterns(self) -> pd.DataFrame:
        """Return the patterns as a tidy table, one row per pattern, item and role.

        Returns
        -------
        DataFrame with the columns

            - ``pattern``: number of the pattern, the one that covers most cells first;
            - ``item``: column name, or column number where the data had no names;
            - ``role``: "common" for items of a pattern that several classes use, else the class it belongs to, as
              text ("class common" for a class of that very name);
            - ``kind``: "shared" for what several classes have in common, "added" for what a class adds to that, and
              "only" for patterns of one class: those that no other class uses, and alterations larger than the
              shared part, which are patterns of their own rather than variations;
            - ``evidence``: minus the logarithm (nats) of a bound on the probability that chance shows as much: for the
              whole pattern, and for added items that they go with the pattern in that class (not that other classes
              lack them: that is ``q_value``); a fit with ``algorithm="saltmine"`` keeps nothing below ``-log(alpha)``;
            - ``gain``: nats by which the description would be longer without the pattern, and for added items without
              all that the class adds to it;
            - ``p_value``, ``q_value``: Fisher's exact test of what belongs to one class, one-sided, and its correction
              by Benjamini and Hochberg for the number of such claims in the table; NaN for shared items. Added items:
              of the rows that have more than half of the shared items, do more of this class have the item than of
              each class that does not add it? Patterns of one class (one test for all items): do more of its rows
              have more than half of the items than of each other class? On the rows of the fit, so on the optimistic
              side, and as if rows were independent;
            - ``stability``: share of refits in which the item came back in this role (after `assess_stability`);
            - ``usage_<class>``: rows of the class that use the pattern;
            - ``support_<class>``: share of these rows that have the item (NaN where no row uses the pattern);
            - ``share_<class>``: share of all rows of the class that have the item;
            - ``lift_<class>``: support divided by share: how many times more frequent the item is with the pattern.
        """
        check_is_fitted(self)
        return pattern_table(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `saltmine.load` reads; an existing file is replaced as a whole."""
        check_is_fitted(self)
        if type(self).__name__ != self._kind:
            raise TypeError(f"{type(self).__name__} cannot be saved: load would not know it, only {self._kind} itself.")
        save_model(self, self._kind, path)

    @property
    def plot(self) -> Plots:
        """Pictures of the model: ``plot.usage()``, ``.patterns()``, ``.wordcloud(pattern)``, ``.history()``."""
        check_is_fitted(self)
        from saltmine.plots import Plots

        return Plots(self)

    def _repr_html_inner(self) -> str:
        """Show a fitted model in a notebook by what it found, any other by its parameters."""
        if not hasattr(self, "classes_"):
            return str(super()._repr_html_inner())
        from saltmine.report.notebook import model_html

        return model_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def report(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write the model as one HTML page that needs nothing else: patterns, who uses them, how far to trust them."""
        check_is_fitted(self)
        # The page is needed by few fits.
        from saltmine.report import write_report

        write_report(self, path, title)

    def assess_stability(
        self,
        X: Any,
        y: Any = None,
        refits: int = 20,
        random_state: Any = None,
        on_refit: Callable[[int], object] | None = None,
        groups: Any = None,
    ) -> Stability:
        """Fit again on rows drawn with replacement and say how often each pattern and alteration comes back.

        The result is kept as `stability_`; `patterns` then has a column of it.

        Parameters
        ----------
        X, y : the data of the fit
        refits : int
            How many times to draw and fit; as many rows are drawn of every class as it has.
        random_state : int, RandomState or None
        on_refit : callable, optional
            Called with the number of refits that are done, after each.
        groups : (m,) labels, optional
            What rows belong together, as samples of one patient: whole groups are drawn then.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [80, 80], rank=2, noise=0.01, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.assess_stability(p.X, p.y, refits=2, random_state=0).patterns.shape == (model.n_components_,)
        True
        """
        check_is_fitted(self)
        if not isinstance(refits, Integral) or isinstance(refits, bool) or refits < 1:
            raise ValueError(f"refits must be a whole number of at least 1, not {refits!r}.")
        rows = self._binary_rows(X, reset=False)
        if rows.shape[0] != len(self.row_labels_):
            raise ValueError(
                f"The model was fitted on {len(self.row_labels_)} rows, not {rows.shape[0]}; pass the same data."
            )
        if y is not None and not np.array_equal(_labels(y, rows.shape[0]), self.row_labels_):
            raise ValueError("y differs from the labels of the fit; pass the same data in the same order.")
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        together = None if groups is None else class_numbers(groups, rows.shape[0])[1]
        again = self._refits(rows, refits, rng, on_refit, together)
        stability = compare(self.components_, self.alterations_, self.usage_counts_, again)
        self.stability_ = stability
        return stability

    def _refits(
        self,
        rows: BinaryMatrix,
        refits: int,
        rng: np.random.Generator,
        on_refit: Callable[[int], object] | None,
        groups: NDArray[np.intp] | None,
    ) -> Iterator[NDArray[np.bool_]]:
        """Fit on rows drawn anew, time after time, and yield what the patterns carry."""
        numbers = np.searchsorted(self.classes_, self.row_labels_)
        quiet = {"binarize": None, "verbose": 0, "callback": None}
        random = "random_state" in self.get_params(deep=False)
        for done in range(1, refits + 1):
            drawn = bootstrap_rows(numbers, rng, groups)
            again = clone(self).set_params(**quiet)
            if random:
                again.set_params(random_state=int(rng.integers(np.iinfo(np.int32).max)))
            again.fit(rows[drawn], self.row_labels_[drawn])
            if on_refit is not None:
                on_refit(done)
            yield carried(again.components_, again.alterations_, again.usage_counts_)


def _labels(y: Any, n_rows: int) -> NDArray[Any]:
    classes, numbers = class_numbers(y, n_rows)
    return classes[numbers]
