"""What all estimators share: parameters, the run of a fit, and the fitted attributes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import validate_data

from saltmine.algorithms import ALGORITHMS, PRECISION, USUALLY_DONE, Settings, Solution, Task, without_patterns
from saltmine.binary.bits import BitMatrix
from saltmine.binary.description import null_length
from saltmine.binary.model import BinaryModel
from saltmine.cluster.inputs import is_lazy
from saltmine.estimators.results import FittedResults
from saltmine.matrix.device import on_device, open_device
from saltmine.matrix.labelled import LabelledMatrix
from saltmine.matrix.labels import class_numbers
from saltmine.matrix.operator import STORAGES, Operator, make_operator
from saltmine.matrix.threads import ThreadTeam
from saltmine.matrix.validation import (
    BinaryMatrix,
    TableNames,
    as_binary,
    as_text,
    demand_distinct,
    given_names,
    reject_unreadable,
)
from saltmine.matrix.weights import Weights
from saltmine.model.association import find_carriers
from saltmine.model.items import ItemFigures
from saltmine.model.judgement import Judgement
from saltmine.progress import Listener, Progress, ProgressBar
from saltmine.restarts import Restarts

if TYPE_CHECKING:
    from saltmine.cluster.fitting import Found
    from saltmine.cluster.inputs import LazyMatrix
    from saltmine.wide import MakeOperator

Result = TypeVar("Result")


class PatternModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedResults):
    """Base of the estimators that describe binary data by patterns."""

    # Whether the patterns may differ between classes; False describes all rows as one class.
    _alterations: ClassVar[bool]

    def __init__(
        self,
        *,
        algorithm: str = "saltmine",
        alpha: float = 0.01,
        binarize: float | None = None,
        max_rank: int | None = None,
        rank_step: int = 10,
        max_iter: int = 10_000,
        tol: float = 0.005,
        n_restarts: int = 1,
        fold: bool = True,
        storage: str = "auto",
        device: str | None = None,
        client: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Listener | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.alpha = alpha
        self.binarize = binarize
        self.max_rank = max_rank
        self.rank_step = rank_step
        self.max_iter = max_iter
        self.tol = tol
        self.n_restarts = n_restarts
        self.fold = fold
        self.storage = storage
        self.device = device
        self.client = client
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, y: Any, item_names: Any = None, row_names: Any = None) -> Self:
        with _all_or_nothing(self):
            self._check_parameters()
            if self.client is not None or is_lazy(X):
                self._fit_blocks(X, y, item_names, row_names)
            else:
                rows = self._binary_rows(X, reset=True)
                self._take_names(item_names, row_names, rows.shape[0])
                self._fit_rows(rows, y)
        return self

    def _fit_rows(self, rows: BinaryMatrix, y: Any) -> None:
        """Fit data that is in memory."""
        if self._is_tall(rows.shape):
            self._fit_tall(rows, y, client=None)
            return
        classes, numbers = self._classes(y, rows.shape[0])
        searched = numbers if self._alterations else np.zeros_like(numbers)
        data = LabelledMatrix.from_rows(rows, searched, len(classes) if self._alterations else 1, fold=self.fold)
        bits = BitMatrix(data.matrix, data.blocks, data.weights)
        solution = self._search(data, bits)
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
            whole = LabelledMatrix.from_rows(rows, numbers, len(classes), fold=self.fold)
            model, data = _split(model, data, whole), whole
            bits = BitMatrix(data.matrix, data.blocks, data.weights)
        self._store(model, data, bits)

    def _fit_blocks(self, X: Any, y: Any, item_names: Any, row_names: Any) -> None:
        """Fit data that is read lazily, or shared by a cluster."""
        # Few fits need a cluster.
        from saltmine.cluster import fitting, inputs

        with ExitStack() as stack:
            client = stack.enter_context(fitting.open_client(self.client))
            data = inputs.open_blocks(X) if is_lazy(X) else self._binary_rows(X, reset=True)
            if isinstance(data, inputs.LazyMatrix):
                self.n_features_in_, self._item_names = data.shape[1], data.item_names
                # Names of an earlier fit are none of this one.
                self.__dict__.pop("feature_names_in_", None)
                self.row_names_: NDArray[Any] | None = None
            self._take_names(item_names, row_names, data.shape[0])
            classes, numbers = self._classes(y, data.shape[0])
            if self._is_tall(data.shape):
                self._fit_tall(data, y, client)
                return
            if fitting.is_small(data.shape):
                rows = data
                if isinstance(data, inputs.LazyMatrix):
                    rows = fitting.read_whole(data, self.binarize, client)
                self._fit_rows(rows, y)
                return
            self._demand_blocks(len(classes))
            labels = fitting.Labels(numbers, len(classes))
            team = stack.enter_context(ThreadTeam())
            crew = stack.enter_context(fitting.open_crew(data, labels, client, team, self.binarize))

            def search(settings: Settings, rng: np.random.Generator) -> fitting.Found:
                return fitting.search_blocks(crew, labels, settings, self._operators(team), team, rng)

            found = self._best(search, lambda found: found.solution, len(classes), n_jobs=1)
        self._store_found(found, classes, numbers)

    def _is_tall(self, shape: tuple[int, int]) -> bool:
        """Say whether data is fitted in blocks of rows, in memory or not."""
        # Compiled code is loaded when it is needed.
        from saltmine.tall import is_tall

        return self.algorithm == "saltmine" and is_tall(shape)

    def _fit_tall(self, data: LazyMatrix | BinaryMatrix, y: Any, client: Any) -> None:
        """Fit data in blocks of rows, on a cluster or in this process."""
        from saltmine.cluster.fitting import Labels
        from saltmine.cluster.rows import open_row_crew, search_row_blocks

        classes, numbers = self._classes(y, data.shape[0])
        labels, as_one = Labels(numbers, len(classes)), not self._alterations
        with ThreadTeam() as team, open_row_crew(data, labels, client, team, self.binarize, as_one) as crew:

            def search(settings: Settings, rng: np.random.Generator) -> Found:
                return search_row_blocks(crew, labels, settings, self._operators(team), team, rng, as_one)

            # One after the other, as they share the blocks.
            found = self._best(search, lambda found: found.solution, len(classes), n_jobs=1)
        self._store_found(found, classes, numbers)

    def _demand_blocks(self, n_classes: int) -> None:
        if self.algorithm != "saltmine":
            raise ValueError("Data of this size is fitted in blocks, which only algorithm='saltmine' does.")
        if not self._alterations and n_classes > 1:
            raise ValueError("Data of this size is fitted in blocks, where Primp takes no y; leave y out.")

    def _classes(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        if y is None:
            return np.array([0]), np.zeros(n_rows, dtype=np.intp)
        return class_numbers(y, n_rows)

    def _search(self, data: LabelledMatrix, bits: BitMatrix) -> Solution:
        """Run all restarts on data in memory and return the best solution."""
        # Compiled code is loaded when it is needed.
        from saltmine.wide import is_wide, search_here

        if not len(data.items):
            return without_patterns(bits)
        with ThreadTeam() as team:
            operator_of = self._operators(team)
            # By the shape of the input, as blocks know no other: folded data may be far smaller.
            wide = self.algorithm == "saltmine" and is_wide((bits.weights.shape[0], data.n_features))
            task = None if wide else Task(operator_of(data.matrix, data.blocks, data.weights), bits, team)

            def search(settings: Settings, rng: np.random.Generator) -> Solution:
                if task is None:
                    return search_here(bits, data.item_of, settings, operator_of, team, rng)
                return ALGORITHMS[self.algorithm](task, settings, rng)

            return self._best(search, lambda solution: solution, len(data.blocks), self.n_jobs)

    def _best(
        self,
        search: Callable[[Settings, np.random.Generator], Result],
        solution_of: Callable[[Result], Solution],
        n_classes: int,
        n_jobs: int | None,
    ) -> Result:
        """Search once per restart, and return the best result."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_restarts)
        with ExitStack() as stack:
            listeners = [] if self.callback is None else [self.callback]
            bar = stack.enter_context(ProgressBar(type(self).__name__, self.n_restarts)) if self.verbose else None
            if bar is not None:
                listeners.append(bar.show)
            restarts = Restarts(n_jobs)
            one_at_a_time = threading.Lock()

            def tell(now: Progress) -> None:
                restarts.checkpoint()
                with one_at_a_time:
                    for listener in listeners:
                        listener(now)

            def run(restart: int, seed: int) -> Result:
                found = search(self._settings(n_classes, restart, tell), np.random.default_rng(seed))
                if bar is not None:
                    solution = solution_of(found)
                    bar.finish(restart, f"{solution.model.rank} patterns", solution.length)
                return found

            return min(restarts.run(run, seeds.tolist()), key=lambda found: solution_of(found).score)

    def _operators(self, team: ThreadTeam) -> MakeOperator:
        """Return how data becomes what the relaxed solve multiplies by."""

        def make(matrix: BinaryMatrix, blocks: list[slice], weights: Weights) -> Operator:
            if self.device is not None:
                return on_device(matrix, blocks, weights, self.device)
            return make_operator(matrix, blocks, team, PRECISION[self.algorithm], weights, self.storage)

        return make

    def _settings(self, n_classes: int, restart: int, tell: Listener) -> Settings:
        def on_check(rank: int, iteration: int, max_iter: int, objective: float) -> None:
            # The published algorithm knows how far it is at this rank; saltmine's relaxed solve is its shorter part.
            whole = USUALLY_DONE[0] if self.algorithm == "saltmine" else 1.0
            tell(Progress(restart, rank, iteration, max_iter, objective, done=whole * iteration / max_iter))

        def on_refine(rank: int, length: float, done: float) -> None:
            tell(Progress(restart, rank, 0, 0, length, "refinement", done))

        return Settings(
            # What a single class carries alone, all classes carry: the definition leaves no alterations.
            alterations=self._alterations and n_classes > 1,
            alpha=self.alpha,
            max_rank=self.max_rank,
            rank_step=self.rank_step,
            max_iter=self.max_iter,
            tol=self.tol,
            on_check=on_check,
            on_refine=on_refine,
        )

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

    def _store_found(self, found: Found, classes: NDArray[Any], numbers: NDArray[np.intp]) -> None:
        """Keep a model that was found in blocks, rows in the order of the input, largest pattern first."""
        solution, items = found.solution, found.items
        stacked = np.argsort(numbers, kind="stable")
        usage = np.zeros_like(solution.model.Y)
        usage[stacked] = solution.model.Y
        used = np.stack([usage[numbers == a].sum(axis=0) for a in range(len(classes))])
        by_area = np.argsort(-(items.carried() * used).sum(axis=0), kind="stable")
        assert solution.judgement is not None  # a search in blocks judges what it finds
        self._store_run(solution, solution.judgement.keep(by_area), found.null_length, classes, numbers)
        self._items = items.keep(by_area)
        self.usage_, self.usage_counts_ = usage[:, by_area], used[:, by_area]
        self.carrier_counts_ = found.carrier_counts[:, by_area]
        self.class_counts_ = np.bincount(numbers, minlength=len(classes))

    # ------------------------------------------------------------------ input

    def _binary_rows(self, X: Any, reset: bool) -> BinaryMatrix:
        if is_lazy(X) and not reset:
            return self._read_rows(X)
        names = TableNames.of(X)
        reject_unreadable(X, names)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
        if reset:
            self._item_names = getattr(self, "feature_names_in_", names.columns)
            self.row_names_ = None if names.rows is None else as_text(names.rows)
        return as_binary(X, self.binarize, names)

    def _read_rows(self, X: Any) -> BinaryMatrix:
        """Read new rows that are not in memory yet; all of them, as their code lengths are."""
        from saltmine.cluster import fitting, inputs

        rows = fitting.read_whole(inputs.open_blocks(X), self.binarize, client=None)
        return as_binary(validate_data(self, rows, reset=False, accept_sparse="csr"), None)

    def _take_names(self, item_names: Any, row_names: Any, n_rows: int) -> None:
        """Keep the names that come beside the data, as sparse matrices have none of their own."""
        if item_names is not None:
            self._item_names = given_names(item_names, self.n_features_in_, "item_names", "columns")
            demand_distinct(self._item_names)
        if row_names is not None:
            self.row_names_ = given_names(row_names, n_rows, "row_names", "rows")

    def _check_parameters(self) -> None:
        if not isinstance(self.algorithm, str) or self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be {_or(ALGORITHMS)}, not {self.algorithm!r}.")
        for name in ("rank_step", "max_iter", "n_restarts", "max_rank"):
            value = getattr(self, name)
            if name == "max_rank" and value is None:
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
        if not _is_real(self.tol) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a finite number of at least 0, not {self.tol!r}.")
        if not _is_real(self.alpha) or not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be a probability between 0 and 1, as 0.01, not {self.alpha!r}.")
        if self.binarize is not None and not (_is_real(self.binarize) and np.isfinite(self.binarize)):
            raise ValueError(f"binarize must be a number (values above it become ones) or None, not {self.binarize!r}.")
        if not isinstance(self.fold, (bool, np.bool_)):
            raise ValueError(f"fold must be True or False, not {self.fold!r}.")
        if self.storage not in STORAGES:
            raise ValueError(f"storage must be {_or(STORAGES)}, not {self.storage!r}.")
        self._check_device()
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be a whole number other than 0, or None, not {self.n_jobs!r}.")
        if not isinstance(self.verbose, Integral) or self.verbose < 0:
            raise ValueError(f"verbose must be a whole number, 0 for a quiet fit, not {self.verbose!r}.")
        if not (self.random_state is None or isinstance(self.random_state, (Integral, np.random.RandomState))):
            raise ValueError(
                f"random_state must be a whole number, a numpy RandomState or None, not {self.random_state!r}."
            )
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function of one Progress argument or None, not {self.callback!r}.")

    def _check_device(self) -> None:
        if self.device is None:
            return
        if not isinstance(self.device, str):
            raise ValueError(f"device must be the name of one, such as 'cuda', or None, not {self.device!r}.")
        if self.algorithm != "saltmine":
            raise ValueError(f"device works with algorithm='saltmine', not with {self.algorithm!r}; leave one out.")
        open_device(self.device)

    def __sklearn_clone__(self) -> Self:
        # A connection is shared, never copied.
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        # What is stored or sent elsewhere keeps the address of a cluster, not the connection.
        state = dict(super().__getstate__())
        client = state.get("client")
        if client is not None and not isinstance(client, (str, PathLike)):
            state["client"] = getattr(getattr(client, "scheduler", None), "address", None)
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Usage is boolean whatever the data was.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _or(names: Iterable[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
