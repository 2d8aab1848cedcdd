"""What every fitted estimator offers: tables, a summary, pictures, a report, a file, and stability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from saltmine.arrays import Bools, Indices
from saltmine.data.canonical import canonical_order
from saltmine.data.labels import class_numbers, group_numbers
from saltmine.data.stacking import Labels
from saltmine.data.validation import BinaryMatrix
from saltmine.fitted.differences import difference_table
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.model_file import save_model
from saltmine.fitted.pattern_table import pattern_table
from saltmine.fitted.stability import Stability, bootstrap_rows, carried, compare
from saltmine.fitted.summary import Summary
from saltmine.parameters import is_real
from saltmine.plots import Plots
from saltmine.report import model_html, write_report

if TYPE_CHECKING:
    import pandas as pd


class Outputs(BaseEstimator):
    """The part of an estimator that shows and stores what a fit found."""

    def patterns(self) -> pd.DataFrame:
        """Return the patterns as a tidy table, one row per pattern, item and role.

        Returns
        -------
        DataFrame with the columns

            - ``pattern``: number of the pattern: the typical row first, then the one that covers most cells;
            - ``item``: column name, or column number where the data had no names;
            - ``role``: "common" for shared items, else the class that the row is about, as text ("class common" for a
              class of that very name); a pattern that is mostly of several classes has rows for each of them;
            - ``kind``: "mostly" if the class uses the pattern significantly more than the others (``q_value`` at most
              ``alpha``), and at least twice as often; "only" if, in addition, it is outside the class no more frequent
              than noise explains; "typical" for items that at least two in five rows have, without evidence that they
              go together; "group" for a pattern of one group of rows, or not significant when groups are counted
              (after a fit with groups); "shared" for all other patterns; "added" for items that a class adds to a
              pattern;
            - ``evidence``: minus the logarithm (nats) of a bound on the probability that chance makes such a pattern;
              for added items ``-log(q_value)``;
            - ``gain``: nats by which the description would be longer without the pattern, or without the alteration;
            - ``p_value``, ``q_value``: test of what the row says about the class, and its correction by Benjamini and
              Hochberg for all such tests of the model; NaN for shared items. For "mostly" and "only", the test compares
              the shares of rows that carry the pattern; for "added", it compares how often carriers of the class and of
              other classes have the added items. Rows, or the groups of the fit, count as independent;
            - ``stability``: share of refits in which the item came back in this role (after `assess_stability`);
            - ``usage_<class>``: rows of the class that use the pattern;
            - ``all_<class>``, ``most_<class>``: rows of the class that have all, and more than half, of the shared
              items of the pattern, whether they use it or not;
            - ``support_<class>``: of the rows of the class that use the pattern, the share that has the item (NaN if no
              row uses it);
            - ``share_<class>``: of all rows of the class, the share that has the item;
            - ``lift_<class>``: support divided by share: how many times more frequent the item is with the pattern.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.patterns().columns[:8].tolist()
        ['pattern', 'item', 'role', 'kind', 'evidence', 'gain', 'p_value', 'q_value']
        """
        check_is_fitted(self)
        return pattern_table(self)

    def summary(self) -> Summary:
        """Return what the model found: a headline, at most ten findings, and a table with one row per pattern.

        All of it passed a significance test. ``print`` shows the headline and the findings.

        Returns
        -------
        Summary

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> summary = CSalt(random_state=0).fit(p.X, p.y).summary()
        >>> len(summary.findings) <= 10, len(summary.table) == len(summary.patterns)
        (True, True)
        """
        check_is_fitted(self)
        return Summary(self)

    def differences(self, max_p: float = 0.05) -> pd.DataFrame:
        """Return the single items that differ between classes, whether or not they belong to a pattern.

        Parameters
        ----------
        max_p : float
            Largest p-value that is listed; 1 lists every test.

        Returns
        -------
        DataFrame with a row per item and class, the surest first, and the columns

            - ``item``: column name, or column number where the data had no names;
            - ``class``: the class that is compared with all other rows; of two classes the one with the larger share;
            - ``rows``, ``share``: rows of the class that have the item, and their share of the class;
            - ``rows_elsewhere``, ``share_elsewhere``: the same for all other rows;
            - ``odds_ratio``, ``odds_low``, ``odds_high``: odds of the item in the class divided by those elsewhere, one
              half added to every count, and both ends of the 95 % interval;
            - ``p_value``, ``q_value``: two-sided Fisher's exact test for independent rows, and its correction by
              Benjamini and Hochberg for all items and classes. After a fit with groups, the test counts groups; rows of
              several classes in one group are compared within the group.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> differences = CSalt(random_state=0).fit(p.X, p.y).differences()
        >>> bool(differences["q_value"].is_monotonic_increasing)
        True
        """
        check_is_fitted(self)
        if not is_real(max_p) or not 0 < max_p <= 1:
            raise ValueError(f"max_p must be a probability of at most 1, as 0.05, not {max_p!r}.")
        return difference_table(self, max_p)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `saltmine.load` reads; an existing file is replaced as a whole.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.salt"
        >>> model.save(path)
        >>> path.exists()
        True
        """
        check_is_fitted(self)
        if type(self).__name__ != self._kind:
            raise TypeError(f"{type(self).__name__} cannot be saved: load would not know it, only {self._kind} itself.")
        save_model(self, self._kind, path)

    @property
    def plot(self) -> Plots:
        """Figures of the model: ``plot.usage()``, ``.patterns()``, ``.wordcloud(pattern)``, ``.history()``.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.plot.patterns().get_ylabel()
        'pattern'
        """
        check_is_fitted(self)
        return Plots(self)

    def _repr_html_inner(self) -> str:
        """Show a fitted model in a notebook by what it found, any other by its parameters."""
        if not hasattr(self, "classes_"):
            return str(super()._repr_html_inner())
        return model_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def report(self, path: str | PathLike[str], title: str | None = None, max_patterns: int | None = None) -> None:
        """Write a report on the model, a single HTML file: findings, patterns, and the rows that use them.

        Parameters
        ----------
        path : path
        title : str, optional
            Heading of the page.
        max_patterns : int, optional
            Largest number of patterns on the page; by default all.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> model.report(path, title="Planted data")
        >>> "Planted data" in path.read_text()
        True
        """
        check_is_fitted(self)
        write_report(self, path, title, max_patterns)

    def assess_stability(
        self,
        X: Any,
        y: Any = None,
        refits: int = 20,
        random_state: Any = None,
        on_refit: Callable[[int], object] | None = None,
        groups: Any = None,
    ) -> Stability:
        """Fit bootstrap samples of the rows, and return how often each pattern and alteration comes back.

        The result is also stored as `stability_`, and as a column of `patterns`.

        Parameters
        ----------
        X, y : the data of the fit
        refits : int
            Number of bootstrap samples; each has as many rows of every class as the data.
        random_state : int, RandomState or None
        on_refit : callable, optional
            Called after each refit with the number of completed refits.
        groups : (m,) labels, optional
            Which rows belong together, such as samples of one patient; whole groups are drawn. By default, the groups
            of the fit.

        Returns
        -------
        Stability

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
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
        if y is not None:
            classes, numbers = class_numbers(y, rows.shape[0])
            if not np.array_equal(classes[numbers], self.row_labels_):
                raise ValueError("y differs from the labels of the fit; pass the same data in the same order.")
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        groups = self.groups_ if groups is None else groups
        together = None if groups is None else group_numbers(groups, rows.shape[0])[1]
        copies = np.repeat(np.arange(rows.shape[0]), 1 if self.row_weights_ is None else self.row_weights_)
        together = None if together is None else together[copies]
        again = self._refits(rows[copies], self.row_labels_[copies], refits, rng, on_refit, together)
        stability = compare(self.components_, self.alterations_, class_kinds(self) != "", again)
        self.stability_ = stability
        return stability

    def _drawn_groups(self, groups: Indices | None, drawn: Indices) -> Indices | None:
        """Return the groups of drawn rows where the fit had any; a group that was drawn twice is two."""
        if groups is None or self.groups_ is None:
            return None
        order = np.argsort(drawn, kind="stable")
        begins = np.searchsorted(drawn[order], drawn[order])
        copy = np.empty(len(drawn), dtype=np.intp)
        copy[order] = np.arange(len(drawn)) - begins
        of_copies = groups[drawn] * len(drawn) + copy
        return None if len(np.unique(of_copies)) == 1 else of_copies

    def _refits(
        self,
        rows: BinaryMatrix,
        labels: NDArray[Any],
        refits: int,
        rng: np.random.Generator,
        on_refit: Callable[[int], object] | None,
        groups: Indices | None,
    ) -> Iterator[Bools]:
        """Fit on rows drawn anew, time after time, and yield what the patterns carry."""
        numbers = np.searchsorted(self.classes_, labels)
        # Rows are drawn as they stand when sorted by content, so that their order makes no difference.
        order = canonical_order(rows, numbers, len(self.classes_), groups, self._item_names)
        rows, labels = rows[order.sort_rows(np.arange(len(labels)))], order.sort_rows(labels)
        numbers = Labels(numbers, len(self.classes_)).sort(order).numbers
        groups = None if groups is None else order.sort_groups(groups)
        quiet = {"binarize": None, "verbose": 0, "callback": None}
        known = self.get_params(deep=False)
        quiet |= {"checkpoint": None} if "checkpoint" in known else {}
        for done in range(1, refits + 1):
            drawn = bootstrap_rows(numbers, rng, groups)
            again = clone(self).set_params(**quiet)
            if "random_state" in known:
                again.set_params(random_state=int(rng.integers(np.iinfo(np.int32).max)))
            again.fit(rows[drawn], labels[drawn], groups=self._drawn_groups(groups, drawn))
            if on_refit is not None:
                on_refit(done)
            yield carried(again.components_, again.alterations_, class_kinds(again) != "")
