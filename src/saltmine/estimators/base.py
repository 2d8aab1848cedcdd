"""What all estimators share: input, one fit, the fitted attributes, and new rows in the patterns."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import ItemCounts
from saltmine.data.labels import Grouping, check_n_classes, class_numbers, only_class, row_counts
from saltmine.data.lazy import LazyMatrix, is_lazy, open_blocks
from saltmine.data.rows_having import ItemSets, count_having, count_having_in_memory
from saltmine.data.validation import (
    BinaryMatrix,
    TableNames,
    as_binary,
    check_n_columns,
    given_names,
    reject_unreadable,
)
from saltmine.deadline import Deadline
from saltmine.estimators.new_rows import NewRows
from saltmine.estimators.outputs import Outputs
from saltmine.estimators.runs import best_of_runs, steps_of
from saltmine.fitted.kinds import count_groups, of_few_groups, typical_rows
from saltmine.fitted.model import NearMiss
from saltmine.fitted.stability import Stability
from saltmine.mdl.typical import TYPICAL_SHARE
from saltmine.memory import MemoryLimitError, available_memory, format_size
from saltmine.names import as_text, check_distinct
from saltmine.parameters import check_binarize, check_listening
from saltmine.progress import Listener, OnStep

if TYPE_CHECKING:
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


class PatternModel(NewRows, Outputs):
    """Base of the estimators that describe binary data by patterns; they say how to search."""

    # The name of the estimator in model files.
    _kind: ClassVar[str]
    # Where the method was published, for reports.
    _source: ClassVar[str]
    # What the steps and the values of its history are.
    _history: ClassVar[tuple[str, str]]
    # Whether the search takes the classes in an order of their content; parameters of single classes forbid that.
    _sorts_classes: ClassVar[bool] = False
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
    # Of the methods whose search may be cut short.
    max_time: float | None = None
    # Of the methods whose search goes on from a file.
    checkpoint: str | PathLike[str] | None = None
    # When the fit that runs has to end.
    _deadline: Deadline

    classes_: NDArray[Any]
    n_components_: int
    finished_: bool
    row_labels_: NDArray[Any]
    row_names_: NDArray[Any] | None
    row_weights_: Ints | None
    groups_: NDArray[Any] | None
    group_name_: str
    stability_: Stability | None
    near_miss_: NearMiss | None
    usage_: Bools
    usage_counts_: Ints
    all_counts_: Ints | None
    most_counts_: Ints | None
    _items: ItemCounts
    _item_p_values: Floats | None
    _added_shares: Floats | None
    _added_rows: Ints | None
    _within: Bools | None

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
    def _has_row_model(self) -> bool:
        """Whether rows have a likelihood, which the method maximises."""
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
        typical = self._is_tested & typical_rows(*figures, self._level)
        if self.groups_ is not None:
            # Of groups as well as of rows.
            present = self._present
            n_groups = len(np.unique(self.groups_[present]))
            typical &= count_groups(self.usage_[present], self.groups_[present]) >= TYPICAL_SHARE * n_groups
        return typical

    @property
    def of_few_groups_(self) -> Bools:
        """Which patterns one group of rows has, or are not significant when groups are counted, (r,)."""
        check_is_fitted(self)
        if self.groups_ is None:
            return np.zeros(self.n_components_, dtype=bool)
        is_shown = self.typical_ | (self.pattern_evidence_ >= -np.log(self._level)) | (not self._is_tested)
        return of_few_groups(self.usage_[self._present], self.groups_[self._present], is_shown)

    @property
    def _present(self) -> Indices:
        """The rows that occur."""
        everyone = np.ones(len(self.usage_), dtype=bool) if self.row_weights_ is None else self.row_weights_ > 0
        return np.flatnonzero(everyone)

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        item_names: Any = None,
        row_names: Any = None,
    ) -> Self:
        """Find patterns, their usage and, if the method has them, alterations.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Or data that is read lazily: a dask array, a zarr array or its path, or the path of a folder of .npz or
            .parquet files, each with some of the rows.
        y : (m,) labels
            Classes of the rows; a single class is fitted with a warning, since there is nothing to compare. Methods
            without classes, such as `Primp`, do not need labels; if given, tables and reports count rows by class.
        sample_weight : (m,) whole numbers, optional
            How often every row occurs: 3 is the same as three equal rows, 0 as none. Not for data that is read lazily.
        groups : (m,) names, optional
            Which rows belong together, such as samples of one patient. Evidence and tests then count groups, not rows;
            rows of several classes in one group are compared within the group. A pattern of one group, or one that is
            not significant when groups are counted, has the kind "group". With groups, data that is read lazily is
            loaded completely.
        item_names, row_names : lists of text, optional
            Names of columns and rows for tables and reports, if the data has none of its own, as sparse matrices.

        Returns
        -------
        The estimator itself

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.usage_.shape == (200, model.n_components_)
        True
        """
        if y is None and self._knows_classes:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it compares classes; use "
                "Primp for data without labels."
            )
        with _all_or_nothing(self):
            self._check_parameters()
            self._deadline = Deadline(self.max_time, resumable=self.checkpoint is not None)
            with self._open_client(X) as client:
                data = self._validate(X, item_names, row_names)
                classes, numbers = self._classes(y, data.shape[0])
                if self._knows_classes and len(classes) == 1:
                    # Not an error: a fold of a cross-validation may be so, and scikit-learn takes it for a valid fit.
                    problem = f"{type(self).__name__} compares classes, but {only_class(classes.tolist()[0])}"
                    warnings.warn(f"{problem}, or use Primp for data without classes.", stacklevel=2)
                grouping = None if groups is None else Grouping.of(groups, data.shape[0])
                if sample_weight is None:
                    self._fit_rows(data, classes, numbers, grouping, client)
                else:
                    self._fit_copies(data, classes, numbers, grouping, sample_weight, client)
            del self._deadline
        return self

    def _fit_rows(
        self,
        data: BinaryMatrix | LazyMatrix,
        classes: NDArray[Any],
        numbers: Indices,
        grouping: Grouping | None,
        client: Any,
    ) -> None:
        """Search, test and store; every row counts once."""
        labels = import_fitting().Labels(numbers, len(classes))
        found = self._find(data, labels, client)
        if grouping is None or grouping.is_trivial:
            self._store(found, classes, labels)
        else:
            found, p_values = self._count_groups(grouping.numbers, data, labels, found)
            self._store(found, classes, labels)
            self.groups_, self.group_name_, self._item_p_values = grouping.of_rows, grouping.noun, p_values
        if self._has_row_model:
            fitting = import_fitting()
            within = np.zeros(0, dtype=bool) if self._within is None else self._within
            rows = fitting.read_whole(data, self.binarize)
            self._row_model = fitting.estimate_rows(self, rows, labels, within)
        self._count_having(data, numbers, client)
        self.near_miss_ = self._near_miss(data, found.by_content)
        self.temperature_ = self._temperature(data, numbers, found.by_content, client)

    def _fit_copies(
        self,
        data: BinaryMatrix | LazyMatrix,
        classes: NDArray[Any],
        numbers: Indices,
        grouping: Grouping | None,
        sample_weight: Any,
        client: Any,
    ) -> None:
        """Fit as many copies of every row as it occurs; what is kept of rows is kept once for each."""
        if isinstance(data, LazyMatrix):
            raise ValueError("sample_weight is for data in memory; leave it out, or repeat the rows in the files.")
        counts = row_counts(sample_weight, numbers, classes)
        _check_copies(data, counts)
        copies = np.repeat(np.arange(len(numbers)), counts)
        grouped = None if grouping is None else grouping.of_copies(copies)
        self._fit_rows(data[copies], classes, numbers[copies], grouped, client)
        usage = np.zeros((len(numbers), self.n_components_), dtype=bool)
        usage[copies] = self.usage_
        absent = np.flatnonzero(counts == 0)
        self.row_labels_, self.row_weights_ = classes[numbers], counts
        if len(absent):
            usage[absent] = self._usage_of(data[absent], self.row_labels_[absent])
        self.usage_ = usage
        if grouping is not None and self.groups_ is not None:
            self.groups_ = grouping.of_rows

    def _near_miss(self, data: BinaryMatrix | LazyMatrix, by_content: Indices) -> NearMiss | None:
        """Look for the strongest candidate where no pattern passed the tests of a method that has any.

        ``by_content`` are the rows sorted by their content.
        """
        if not self._is_tested or isinstance(data, LazyMatrix) or not self.typical_.all() or not self.finished_:
            return None
        # Of rows that belong together one is enough.
        if self.groups_ is not None:
            by_content = by_content[np.sort(np.unique(self.groups_[by_content], return_index=True)[1])]
        found = import_fitting().strongest_pair(data[by_content])
        # What is clear by itself, and yet no pattern, is left to the tables.
        return NearMiss(*found) if found is not None and found[2] > self._level else None

    def _count_having(self, data: BinaryMatrix | LazyMatrix, numbers: Indices, client: Any = None) -> None:
        """Count the rows that have all, or most, of what classes share in a pattern, and what these add."""
        if isinstance(data, LazyMatrix):
            found = count_having(data, ItemSets(self.components_, self.alterations_), numbers, self.binarize, client)
        else:
            # Columns that are alike are one.
            first, weights = self._items.distinct
            sets = ItemSets(self._items.components, self._items.alterations, weights)
            found = count_having_in_memory(data, sets, numbers, first)
        self.all_counts_, self.most_counts_ = found.all_items, found.most_items
        self._added_shares, self._added_rows = found.added_shares, found.added_rows

    def _count_groups(
        self, groups: Indices, data: BinaryMatrix | LazyMatrix, labels: Labels, found: Found
    ) -> tuple[Found, Floats]:
        """Return what was found, tested by groups, and p-values of single items by groups, (c, items)."""
        fitting = import_fitting()
        counted: tuple[Found, Floats] = fitting.count_groups(
            self, fitting.read_whole(data, self.binarize), labels, groups, found
        )
        return counted

    def _open_client(self, X: Any) -> AbstractContextManager[Any]:
        """Reach the cluster that the fit runs on, if any."""
        return nullcontext()

    def _validate(self, X: Any, item_names: Any, row_names: Any) -> BinaryMatrix | LazyMatrix:
        """Check the data, and keep the names of columns and rows."""
        data = self._open_lazily(X) if is_lazy(X) else self._binary_rows(X, reset=True)
        check_n_columns(data.shape[1])
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
        classes, numbers = class_numbers(y, n_rows)
        check_n_classes(classes)
        return classes, numbers

    def _find(self, data: BinaryMatrix | LazyMatrix, labels: Labels, client: Any) -> Found:
        """Stack and fold, search and score."""
        fitting = import_fitting()
        rows = fitting.read_whole(data, self.binarize)
        found: Found = fitting.fit_in_memory(self, rows, labels, self._search)
        return found

    def _temperature(
        self, data: BinaryMatrix | LazyMatrix, numbers: Indices, by_content: Indices, client: Any
    ) -> float:
        """Return what makes probabilities of code lengths, by some rows of the fit.

        ``by_content`` are the rows sorted by their content.
        """
        if not self._knows_classes or len(self.classes_) < 2:
            return 1.0
        if self._row_model is not None:
            fitting = import_fitting()
            rows = fitting.read_whole(data, self.binarize)
            return float(fitting.temperature_of_rows(self, rows, numbers, self._row_model.within, by_content))
        work = max(len(self.classes_) * self.n_components_ * data.shape[1], 1)
        count = int(np.clip(CALIBRATION_WORK // work, MIN_CALIBRATION_ROWS, MAX_CALIBRATION_ROWS))
        # Wide data is never read as a whole.
        count = min(count, CALIBRATION_CELLS // data.shape[1])
        # Always the same, in the order of their content.
        chosen = by_content[np.sort(np.random.default_rng(0).permutation(len(by_content))[:count])]
        return self._calibrate(import_fitting().read_rows(data, chosen, self.binarize, client), numbers[chosen])

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
        self.finished_ = found.finished
        self.pattern_evidence_, self.pattern_gain_ = scores.evidence, scores.gain
        self.alteration_evidence_ = _for_classes(scores.alteration_evidence, labels.n_classes)
        self.alteration_gain_ = _for_classes(scores.alteration_gain, labels.n_classes)
        self.use_p_values_, self.use_q_values_ = scores.claims.use_p, scores.claims.use_q
        self.alteration_p_values_, self.alteration_q_values_ = scores.claims.added_p, scores.claims.added_q
        self.stability_, self.preparation_ = None, None
        self.groups_, self.group_name_, self._item_p_values = None, "group", None
        self.near_miss_, self.row_weights_ = None, None
        self.all_counts_, self.most_counts_ = None, None
        self._added_shares, self._added_rows = None, None
        self._within = None if found.within is None else found.within[by_area]
        self._row_model = None
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


def _check_copies(data: BinaryMatrix, counts: Ints) -> None:
    """Refuse weights for which there is no memory: the rows are repeated, with their numbers and labels."""
    cells = data.size if isinstance(data, np.ndarray) else data.nnz * (1 + data.indices.itemsize)
    needed = int(counts.sum()) * (24 + cells // len(counts))
    if needed > available_memory():
        problem = f"The weights add up to {counts.sum():,} rows, which take at least {format_size(needed)} of memory"
        remedy = "divide all weights by the same number"
        raise MemoryLimitError(f"{problem}, but only {format_size(available_memory())} may be used; {remedy}.")


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
