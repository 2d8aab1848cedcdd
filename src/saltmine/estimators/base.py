"""What all estimators share: input, the run of a fit, and the fitted attributes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import validate_data

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.labels import class_numbers
from saltmine.data.lazy import is_lazy
from saltmine.data.stacking import LabelledMatrix
from saltmine.data.validation import (
    BinaryMatrix,
    TableNames,
    as_binary,
    given_names,
    reject_unreadable,
)
from saltmine.estimators.results import FittedResults
from saltmine.estimators.runs import best_of_runs, steps_of
from saltmine.mdl.class_tests import find_carriers
from saltmine.names import as_text, check_distinct
from saltmine.parameters import check_binarize, check_listening
from saltmine.progress import Listener, OnStep
from saltmine.solver.description import null_length
from saltmine.solver.items import ItemFigures
from saltmine.solver.judgement import Judgement
from saltmine.solver.mdl_search import Solution, without_patterns

if TYPE_CHECKING:
    from saltmine.data.lazy import LazyMatrix


class PatternModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedResults):
    """Base of the estimators that describe binary data by patterns; they say how to search."""

    # Whether the search knows the classes; False describes all rows as one class.
    _knows_classes: ClassVar[bool]
    # Where the method was published, for reports.
    _source: ClassVar[str]
    # What the steps and the values of its history are.
    _history: ClassVar[tuple[str, str]]
    # Whether a row has all items of the patterns that it uses.
    _covers_exactly: ClassVar[bool] = False

    row_names_: NDArray[Any] | None
    binarize: float | None
    verbose: int
    callback: Listener | None
    # Of the methods with random starts.
    n_restarts: int
    n_jobs: int | None
    random_state: Any

    # ------------------------------------------------------------------ what a method says of itself

    def _check_parameters(self) -> None:
        check_binarize(self.binarize)
        check_listening(self.verbose, self.callback)

    def _search(self, data: LabelledMatrix, bits: BitMatrix) -> Solution:
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
    def _folds(self) -> bool:
        """Whether the search takes identical rows and columns as one with a weight."""
        return False

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, y: Any, item_names: Any = None, row_names: Any = None) -> Self:
        with _all_or_nothing(self):
            self._check_parameters()
            self._fit_input(X, y, item_names, row_names)
        return self

    def _fit_input(self, X: Any, y: Any, item_names: Any, row_names: Any) -> None:
        rows = self._binary_rows(X, reset=True)
        self._take_names(item_names, row_names, rows.shape[0])
        self._fit_rows(rows, y)

    def _fit_rows(self, rows: BinaryMatrix, y: Any) -> None:
        """Fit data that is in memory."""
        classes, numbers = self._classes(y, rows.shape[0])
        searched = numbers if self._knows_classes else np.zeros_like(numbers)
        data = LabelledMatrix.from_rows(rows, searched, len(classes) if self._knows_classes else 1, fold=self._folds)
        bits = BitMatrix(data.matrix, data.blocks, data.weights)
        solution = self._search(data, bits) if len(data.items) else without_patterns(bits)
        by_area = _by_area(solution.model, bits)
        model = solution.model.keep(by_area)
        judged = Judgement.of(bits, model) if solution.judgement is None else solution.judgement.keep(by_area)
        without = null_length(bits)
        if not model.rank:
            # The same to the last digit, whatever summed it up.
            solution = replace(solution, length=without)
        self._store_run(solution, judged, without, classes, numbers)
        if len(classes) > len(data.blocks):
            # The search knew one class; the reporting is split by the labels.
            whole = LabelledMatrix.from_rows(rows, numbers, len(classes), fold=self._folds)
            model, data = _split(model, data, whole), whole
            bits = BitMatrix(data.matrix, data.blocks, data.weights)
        self._store(model, data, bits)

    def _classes(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        if y is None:
            return np.array([0]), np.zeros(n_rows, dtype=np.intp)
        return class_numbers(y, n_rows)

    def _run_once(self, search: Callable[[OnStep], Solution]) -> Solution:
        """Run a search that knows no chance."""
        return best_of_runs(
            lambda restart, seed, tell: search(steps_of(restart, tell)),
            [0],
            self._title,
            self.verbose,
            self.callback,
            n_jobs=1,
            solution_of=lambda solution: solution,
        )

    def _run_restarts(self, search: Callable[[OnStep, np.random.Generator], Solution]) -> Solution:
        """Run a search from several random starts, and return the best solution."""
        return best_of_runs(
            lambda restart, seed, tell: search(steps_of(restart, tell), np.random.default_rng(seed)),
            self._seeds(),
            self._title,
            self.verbose,
            self.callback,
            self.n_jobs,
            solution_of=lambda solution: solution,
        )

    def _seeds(self) -> list[int]:
        drawn = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_restarts)
        return [int(seed) for seed in drawn]

    def _store_run(
        self,
        solution: Solution,
        judged: Judgement,
        null_length: float,
        classes: NDArray[Any],
        numbers: NDArray[np.intp],
    ) -> None:
        """Keep what the search says of the whole model, and what speaks for its parts."""
        self.classes_ = classes
        self.row_labels_ = classes[numbers]
        self.description_length_ = solution.length
        self.null_description_length_ = null_length
        self.n_iter_ = solution.n_iter
        self.history_ = np.array(solution.history)
        self._judge(judged, len(classes))
        self.n_components_ = solution.model.rank
        self.stability_ = None
        self.about_: dict[str, Any] = {}
        self.preparation_ = None

    def _judge(self, judged: Judgement, n_classes: int) -> None:
        """Keep what speaks for every part of the model, by the classes that the search knew."""
        self.pattern_evidence_, self.pattern_gain_ = judged.evidence, judged.gain
        self.alteration_evidence_ = _for_classes(judged.alteration_evidence, n_classes)
        self.alteration_gain_ = _for_classes(judged.alteration_gain, n_classes)

    def _store(self, model: BinaryModel, data: LabelledMatrix, bits: BitMatrix) -> None:
        """Keep the model in the order of the input, with the counts that encoding and tables need."""
        carriers = find_carriers(bits, model)
        self._items = ItemFigures.of(bits, model, carriers, data.item_of)
        self.carrier_counts_ = bits.used(carriers)
        self.usage_ = model.Y[data.row_of]
        self.usage_counts_ = bits.used(model.Y)
        self.class_counts_ = np.array(bits.class_sizes)

    # ------------------------------------------------------------------ input

    def _binary_rows(self, X: Any, reset: bool) -> BinaryMatrix:
        if is_lazy(X):
            return self._read_lazily(X, reset)
        names = TableNames.of(X)
        reject_unreadable(X, names)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
        if reset:
            self._item_names = getattr(self, "feature_names_in_", names.columns)
            self.row_names_ = None if names.rows is None else as_text(names.rows)
        return as_binary(X, self.binarize, names)

    def _read_lazily(self, X: Any, reset: bool) -> BinaryMatrix:
        """Read rows that are not in memory yet; all of them, as searches and code lengths need them."""
        from saltmine.data import lazy as inputs
        from saltmine.distributed import fitting

        data = inputs.open_blocks(X)
        if reset:
            self._take_shape(data)
        rows = fitting.read_whole(data, self.binarize, client=None)
        return rows if reset else as_binary(validate_data(self, rows, reset=False, accept_sparse="csr"), None)

    def _take_shape(self, data: LazyMatrix) -> None:
        """Keep number and names of the columns of data that is read lazily."""
        self.n_features_in_, self._item_names = data.shape[1], data.item_names
        # Names of an earlier fit are none of this one.
        self.__dict__.pop("feature_names_in_", None)
        self.row_names_ = None

    def _take_names(self, item_names: Any, row_names: Any, n_rows: int) -> None:
        """Keep the names that come beside the data, as sparse matrices have none of their own."""
        if item_names is not None:
            self._item_names = given_names(item_names, self.n_features_in_, "item_names", "columns")
            check_distinct(self._item_names)
        if row_names is not None:
            self.row_names_ = given_names(row_names, n_rows, "row_names", "rows")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Usage is boolean whatever the data was.
        tags.transformer_tags.preserves_dtype = []
        return tags


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


def _for_classes(figures: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Fill up figures of a search that knew one class: the other classes of the reporting alter nothing."""
    whole = np.full((n_classes, figures.shape[1]), np.nan)
    whole[: len(figures)] = figures
    return whole


def _by_area(model: BinaryModel, bits: BitMatrix) -> NDArray[np.intp]:
    """Order the patterns by the number of cells they cover, largest first."""
    carried = [[int(bits.weights.items @ (model.X[:, s] | V[:, s])) for s in range(model.rank)] for V in model.V]
    return np.argsort(-(np.array(carried) * bits.used(model.Y)).sum(axis=0), kind="stable")


def _split(model: BinaryModel, data: LabelledMatrix, whole: LabelledMatrix) -> BinaryModel:
    """Stack the usage of a one-class model by the labels; no class alters anything."""
    usage = model.Y[data.row_of[whole.order]]
    return BinaryModel(model.X, np.zeros((len(whole.blocks), *model.X.shape), dtype=bool), usage)
