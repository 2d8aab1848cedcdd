"""What all estimators share: input, one fit, the fitted attributes, and new rows in the patterns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from numbers import Integral
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import ItemCounts
from saltmine.data.labels import class_numbers, group_numbers
from saltmine.data.lazy import LazyMatrix, is_lazy, open_blocks
from saltmine.data.rows_having import added_shares, count_rows_having
from saltmine.data.validation import BinaryMatrix, TableNames, as_binary, given_names, reject_unreadable
from saltmine.estimators.new_rows import NewRows
from saltmine.estimators.runs import best_of_runs, steps_of
from saltmine.fitted.differences import difference_table
from saltmine.fitted.kinds import class_kinds, of_few_groups, typical_rows
from saltmine.fitted.model_file import save_model
from saltmine.fitted.parts import NearMiss
from saltmine.fitted.pattern_table import pattern_table
from saltmine.fitted.stability import Stability, bootstrap_rows, carried, compare
from saltmine.fitted.summary import Summary
from saltmine.names import as_text, check_distinct
from saltmine.parameters import check_binarize, check_listening, is_real
from saltmine.plots import Plots
from saltmine.progress import Listener, OnStep
from saltmine.report import model_html, write_report

if TYPE_CHECKING:
    import pandas as pd

    from saltmine.estimators.fitting import BitMatrix, Found, Labels, Solution, StackedMatrix


# Level of the claims about classes of methods that have no parameter for it.
LEVEL = 0.01
# Rows that probabilities are calibrated by: as many as take this much work, in cells times patterns and classes, and
# never more cells than the last.
CALIBRATION_WORK, MIN_CALIBRATION_ROWS, MAX_CALIBRATION_ROWS, CALIBRATION_CELLS = 1 << 24, 100, 1000, 1 << 25


def import_fitting() -> ModuleType:
    """Return the module of compiled code."""
    # Compiled code would slow the import.
    from saltmine.estimators import fitting

    return fitting


class PatternModel(NewRows, BaseEstimator):
    """Base of the estimators that describe binary data by patterns; they say how to search."""

    # The name of the estimator in model files.
    _kind: ClassVar[str]
    # Where the method was published, for reports.
    _source: ClassVar[str]
    # What the steps and the values of its history are.
    _history: ClassVar[tuple[str, str]]
    # Whether a row has all items of the patterns that it uses.
    _covers_exactly: ClassVar[bool] = False

    binarize: float | None
    verbose: int
    callback: Listener | None
    _item_names: NDArray[Any] | None
    # Of the methods with random starts.
    n_restarts: int
    n_jobs: int | None
    random_state: Any

    classes_: NDArray[Any]
    n_components_: int
    row_labels_: NDArray[Any]
    row_names_: NDArray[Any] | None
    groups_: NDArray[Any] | None
    group_name_: str
    stability_: Stability | None
    near_miss_: NearMiss | None
    usage_counts_: Ints
    all_counts_: Ints | None
    most_counts_: Ints | None
    _items: ItemCounts
    _item_p_values: Floats | None
    _added_shares: Floats | None
    _added_rows: Ints | None

    # ------------------------------------------------------------------ what a method says of itself

    def _check_parameters(self) -> None:
        check_binarize(self.binarize)
        check_listening(self.verbose, self.callback)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        raise NotImplementedError  # every method has its own

    @property
    def _title(self) -> str:
        """What progress is shown under."""
        return type(self).__name__

    @property
    def _can_alter(self) -> bool:
        """Whether the method looks for alterations."""
        return False

    @property
    def _is_tested(self) -> bool:
        """Whether the method keeps out what chance explains."""
        return False

    @property
    def _level(self) -> float:
        """Largest q-value with which a class is said to use a pattern more than the others."""
        return LEVEL

    @property
    def _folds(self) -> bool:
        """Whether the search takes identical rows and columns as one with a weight."""
        return False

    @property
    def typical_(self) -> Bools:
        """Which patterns are the typical row, (r,)."""
        check_is_fitted(self)
        figures = self.usage_counts_, self.class_counts_, self.pattern_evidence_
        return self._is_tested & typical_rows(*figures, self._level)

    @property
    def of_few_groups_(self) -> Bools:
        """Which patterns one group of rows has, or a few that show nothing when groups are counted, (r,)."""
        check_is_fitted(self)
        if self.groups_ is None:
            return np.zeros(self.n_components_, dtype=bool)
        is_shown = self.typical_ | (self.pattern_evidence_ >= -np.log(self._level)) | (not self._is_tested)
        return of_few_groups(self.usage_, self.groups_, is_shown)

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None, *, item_names: Any = None, row_names: Any = None, groups: Any = None) -> Self:
        """Find patterns, usage and, where the method has them, alterations.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Also what is read lazily: a dask array, a zarr array or its path, or the path of a folder of .npz or
            .parquet files, each with some of the rows.
        y : (m,) labels
            Classes of the rows; needed by methods that compare classes. Methods that describe all rows as one class do
            without them: where given, they split the reporting and nothing else.
        item_names, row_names : lists of text, optional
            What tables and reports call columns and rows; for data that has no names of its own, as sparse matrices.
        groups : (m,) names, optional
            What rows belong together, as samples of one patient. Evidence and tests then count groups, not rows; where
            a group has rows of several classes, labels are exchanged within the group. A pattern of one group, or of
            too few to show anything, has the kind "group". The data is then read as a whole.
        """
        if y is None and self._knows_classes:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it compares classes; use "
                "Primp for data without labels."
            )
        with _all_or_nothing(self):
            self._check_parameters()
            with self._open_client(X) as client:
                data = self._validate(X, item_names, row_names)
                classes, numbers = self._classes(y, data.shape[0])
                labels = import_fitting().Labels(numbers, len(classes))
                of_rows = None if groups is None else group_numbers(groups, data.shape[0])
                found = self._find(data, labels, client)
                if of_rows is None or len(of_rows[0]) == data.shape[0]:
                    # Where every row is a group of its own, rows were counted already.
                    self._store(found, classes, labels)
                else:
                    found, p_values = self._count_groups(of_rows[1], data, labels, found)
                    self._store(found, classes, labels)
                    self.groups_, self.group_name_ = of_rows[0][of_rows[1]], str(getattr(groups, "name", "") or "group")
                    self._item_p_values = p_values
                self._count_having(data, numbers)
                self.near_miss_ = self._near_miss(data)
                self.temperature_ = self._temperature(data, numbers, client)
        return self

    def _near_miss(self, data: BinaryMatrix | LazyMatrix) -> NearMiss | None:
        """Look for the strongest candidate where no pattern passed the tests of a method that has any."""
        if not self._is_tested or isinstance(data, LazyMatrix) or not self.typical_.all():
            return None
        found = import_fitting().strongest_pair(data)
        # What is clear by itself, and yet no pattern, is left to the tables.
        return NearMiss(*found) if found is not None and found[2] > self._level else None

    def _count_having(self, data: BinaryMatrix | LazyMatrix, numbers: Indices) -> None:
        """Count the rows that have all, or most, of what classes share in a pattern; not where data is read lazily."""
        if not isinstance(data, LazyMatrix):
            # Where they share too little to be a pattern, everything counts that any class has.
            altered = self.alterations_.any(axis=0) & (self.components_.sum(axis=1) < 2)[:, None]
            counts = count_rows_having(data, self.components_ | altered, numbers, len(self.classes_))
            self.all_counts_, self.most_counts_ = counts
            parts = self.components_, self.alterations_
            self._added_shares, self._added_rows = added_shares(data, *parts, numbers, len(self.classes_))

    def _count_groups(
        self, groups: Indices, data: BinaryMatrix | LazyMatrix, labels: Labels, found: Found
    ) -> tuple[Found, Floats]:
        """Return what was found, tested by groups, and p-values of single items by groups, (c, items)."""
        fitting = import_fitting()
        rows = fitting.read_whole(data, self.binarize)
        counted: Found = fitting.count_groups(self, rows, labels, groups, found)
        return counted, fitting.item_p_values(rows, labels, groups, counted.items)

    def _open_client(self, X: Any) -> AbstractContextManager[Any]:
        """Reach the cluster that the fit runs on, if any."""
        return nullcontext()

    def _validate(self, X: Any, item_names: Any, row_names: Any) -> BinaryMatrix | LazyMatrix:
        """Check the data, and keep the names of columns and rows."""
        data = self._open_lazily(X) if is_lazy(X) else self._binary_rows(X, reset=True)
        if item_names is not None:
            self._item_names = given_names(item_names, self.n_features_in_, "item_names", "columns")
            check_distinct(self._item_names)
        if row_names is not None:
            self.row_names_ = given_names(row_names, data.shape[0], "row_names", "rows")
        return data

    def _classes(self, y: Any, n_rows: int) -> tuple[NDArray[Any], Indices]:
        """Return the classes, sorted, and the class number of every row."""
        if y is None:
            return np.array([0]), np.zeros(n_rows, dtype=np.intp)
        return class_numbers(y, n_rows)

    def _find(self, data: BinaryMatrix | LazyMatrix, labels: Labels, client: Any) -> Found:
        """Stack and fold, search and score."""
        fitting = import_fitting()
        rows = fitting.read_whole(data, self.binarize)
        found: Found = fitting.fit_in_memory(self, rows, labels, self._search)
        return found

    def _temperature(self, data: BinaryMatrix | LazyMatrix, numbers: Indices, client: Any) -> float:
        """Return what makes probabilities of code lengths, by some rows of the fit."""
        if not self._knows_classes or len(self.classes_) < 2:
            return 1.0
        work = max(len(self.classes_) * self.n_components_ * data.shape[1], 1)
        count = int(np.clip(CALIBRATION_WORK // work, MIN_CALIBRATION_ROWS, MAX_CALIBRATION_ROWS))
        # Wide data is never read as a whole.
        count = min(count, CALIBRATION_CELLS // data.shape[1])
        rows, chosen = import_fitting().read_some(data, count, self.binarize, client)
        return self._calibrate(rows, numbers[chosen])

    def _run_once(self, search: Callable[[OnStep], Solution]) -> Solution:
        """Run a search without random numbers."""
        return best_of_runs(self, lambda restart, seed, tell: search(steps_of(restart, tell)), [0], n_jobs=1)

    def _run_restarts(self, search: Callable[[OnStep, np.random.Generator], Solution]) -> Solution:
        """Run a search from several random starts, and return the best solution."""

        def run(restart: int, seed: int, tell: Listener) -> Solution:
            return search(steps_of(restart, tell), np.random.default_rng(seed))

        return best_of_runs(self, run, self._seeds(), self.n_jobs)

    def _seeds(self) -> list[int]:
        drawn = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_restarts)
        return [int(seed) for seed in drawn]

    def _store(self, found: Found, classes: NDArray[Any], labels: Labels) -> None:
        """Keep what was found, rows in the order of the input.

        The typical row comes first, then the pattern that covers most cells.
        """
        usage_counts = labels.count(found.usage)
        class_counts = np.bincount(labels.numbers, minlength=labels.n_classes)
        typical = self._is_tested & typical_rows(usage_counts, class_counts, found.scores.evidence, self._level)
        by_area = np.lexsort([-(found.items.carried() * usage_counts).sum(axis=0), ~typical])
        scores = found.scores.keep(by_area)
        self.n_components_ = found.rank
        self.usage_, self.usage_counts_ = found.usage[:, by_area], usage_counts[:, by_area]
        self._items, self.carrier_counts_ = found.items.keep(by_area), found.carrier_counts[:, by_area]
        self.classes_, self.row_labels_ = classes, classes[labels.numbers]
        self.class_counts_ = class_counts
        self.description_length_, self.null_description_length_ = found.length, found.null_length
        self.n_iter_, self.history_ = found.n_iter, np.array(found.history)
        self.pattern_evidence_, self.pattern_gain_ = scores.evidence, scores.gain
        self.alteration_evidence_ = _for_classes(scores.alteration_evidence, labels.n_classes)
        self.alteration_gain_ = _for_classes(scores.alteration_gain, labels.n_classes)
        self.use_p_values_, self.use_q_values_ = scores.claims.use_p, scores.claims.use_q
        self.alteration_p_values_, self.alteration_q_values_ = scores.claims.added_p, scores.claims.added_q
        self.stability_, self.preparation_ = None, None
        self.groups_, self.group_name_, self._item_p_values = None, "group", None
        self.near_miss_ = None
        self.all_counts_, self.most_counts_ = None, None
        self._added_shares, self._added_rows = None, None
        self.about_: dict[str, Any] = {}

    # ------------------------------------------------------------------ input

    def _binary_rows(self, X: Any, reset: bool) -> BinaryMatrix:
        """Return data as 0/1, in memory."""
        if is_lazy(X):
            rows = import_fitting().read_whole(open_blocks(X), self.binarize)
            return as_binary(validate_data(self, rows, reset=reset, accept_sparse="csr"), None)
        names = TableNames.of(X)
        reject_unreadable(X, names)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
        if reset:
            self._item_names = getattr(self, "feature_names_in_", names.columns)
            self.row_names_ = None if names.rows is None else as_text(names.rows)
        return as_binary(X, self.binarize, names)

    def _open_lazily(self, X: Any) -> LazyMatrix:
        """Open data that is read lazily, and keep number and names of its columns."""
        data = open_blocks(X)
        self.n_features_in_, self._item_names = data.shape[1], data.item_names
        # Drop the names of a previous fit.
        self.__dict__.pop("feature_names_in_", None)
        self.row_names_ = None
        return data

    def __dask_tokenize__(self) -> Any:
        # The whole state: by default Dask would look at the parameters of a dataclass only.
        return type(self).__name__, self.__getstate__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Usage is boolean whatever the data was.
        tags.transformer_tags.preserves_dtype = []
        if self._knows_classes:
            # Patterns describe; a pattern has two items at least. On data of two columns, as the estimator checks use
            # it, there are none, and the codes of single items tell classes apart only as well as they can.
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(poor_score=True)
            tags.target_tags.required = True
        return tags

    # ------------------------------------------------------------------ fitted attributes, by column

    @property
    def components_(self) -> Bools:
        """Shared patterns, (r, n)."""
        return self._items.all_components

    @property
    def alterations_(self) -> Bools:
        """Class-specific alterations, (c, r, n)."""
        return self._items.all_alterations

    @property
    def sparse_components_(self) -> sp.csr_array:
        """Shared patterns as a sparse matrix, (r, n)."""
        return self._items.sparse(self._items.components)

    @property
    def sparse_alterations_(self) -> list[sp.csr_array]:
        """Alterations of every class as sparse matrices, (r, n) each."""
        return [self._items.sparse(altered) for altered in self._items.alterations]

    @property
    def item_counts_(self) -> Ints:
        """Ones of every class and column, (c, n)."""
        return self._items.all_item_counts

    @property
    def noise_counts_(self) -> Ints:
        """Cells of every class and column that the model gets wrong, (c, n)."""
        return self._items.all_noise_counts

    # ------------------------------------------------------------------ what a fitted model offers

    def patterns(self) -> pd.DataFrame:
        """Return the patterns as a tidy table, one row per pattern, item and role.

        Returns
        -------
        DataFrame with the columns

            - ``pattern``: number of the pattern: the typical row first, then the one that covers most cells;
            - ``item``: column name, or column number where the data had no names;
            - ``role``: "common" for shared items, else the class that the row is about, as text ("class common" for a
              class of that very name); a pattern that is mostly of several classes has rows for each of them;
            - ``kind``: "mostly" if the class is shown to use the pattern more than the others (``q_value`` at most
              ``alpha``), and the share of its rows that carry it is at least twice that of all other rows together;
              "only" if, beyond that, no more rows outside carry it than there would be if its items occurred
              independently there, and the share of rows that have most of its items is at most a tenth there;
              "typical" for what two in five rows or more use without evidence that its items go together; "group"
              for what one group of rows has, or too few to show anything (after a fit with groups); "shared" for all
              other patterns; "added" for items that a class adds to a pattern;
            - ``evidence``: minus the logarithm (nats) of a bound on the probability that chance shows as much; for
              added items ``-log(q_value)``;
            - ``gain``: nats by which the description would be longer without the pattern, and for added items without
              all that the class adds to it;
            - ``p_value``, ``q_value``: exact test of what is said of the class, and its correction by Benjamini and
              Hochberg for all such tests of the model; NaN for shared items. "mostly" and "only": a larger share of
              the rows of the class carries the pattern than of all other rows together, among all rows as well as
              among rows of about the same size. "added", one test for all items that the class adds: its carriers have
              them more often than those of the other classes that do not add them. As if rows, or the groups of the
              fit, were independent;
            - ``stability``: share of refits in which the item came back in this role (after `assess_stability`);
            - ``usage_<class>``: rows of the class that use the pattern;
            - ``all_<class>``, ``most_<class>``: rows of the class that have all, and more than half, of the items that
              classes share in the pattern, whether they use it or not (not where data is read lazily);
            - ``support_<class>``: share of these rows that have the item (NaN where no row uses the pattern);
            - ``share_<class>``: share of all rows of the class that have the item;
            - ``lift_<class>``: support divided by share: how many times more frequent the item is with the pattern.
        """
        check_is_fitted(self)
        return pattern_table(self)

    def summary(self) -> Summary:
        """Return what the model found: a headline, at most ten findings, and a table with one row per pattern.

        All of it is confirmed: what the tests do not show is not said. Printed, it is the headline and the findings.

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
        """Return the single items that classes differ in, whether or not they belong to a pattern.

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
            - ``rows_elsewhere``, ``share_elsewhere``: the same of all other rows;
            - ``odds_ratio``, ``odds_low``, ``odds_high``: odds of the item in the class divided by those elsewhere, one
              half added to every count, and both ends of the 95 % interval;
            - ``p_value``, ``q_value``: Fisher's exact test, two-sided, as if rows were independent, and its correction
              by Benjamini and Hochberg for all items and classes. After a fit with groups the test counts groups, and
              compares groups of several classes with themselves.

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
        """Write the fitted model to a file that `saltmine.load` reads; an existing file is replaced as a whole."""
        check_is_fitted(self)
        if type(self).__name__ != self._kind:
            raise TypeError(f"{type(self).__name__} cannot be saved: load would not know it, only {self._kind} itself.")
        save_model(self, self._kind, path)

    @property
    def plot(self) -> Plots:
        """Pictures of the model: ``plot.usage()``, ``.patterns()``, ``.wordcloud(pattern)``, ``.history()``."""
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

    def report(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write the model as one HTML page that needs nothing else: patterns, who uses them, how far to trust them."""
        check_is_fitted(self)
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
            What rows belong together, as samples of one patient: whole groups are drawn then. Those of the fit, if not
            given.

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
        again = self._refits(rows, refits, rng, on_refit, together)
        stability = compare(self.components_, self.alterations_, class_kinds(self) != "", again)
        self.stability_ = stability
        return stability

    def _refits(
        self,
        rows: BinaryMatrix,
        refits: int,
        rng: np.random.Generator,
        on_refit: Callable[[int], object] | None,
        groups: Indices | None,
    ) -> Iterator[Bools]:
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
            yield carried(again.components_, again.alterations_, class_kinds(again) != "")


@contextmanager
def _all_or_nothing(estimator: Any) -> Iterator[None]:
    """Give the estimator its former state back if the block fails or is interrupted."""
    before = copy.copy(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _for_classes(figures: Floats, n_classes: int) -> Floats:
    """Fill up figures of a search that knew one class: the other classes of the reporting alter nothing."""
    whole = np.full((n_classes, figures.shape[1]), np.nan)
    whole[: len(figures)] = figures
    return whole
