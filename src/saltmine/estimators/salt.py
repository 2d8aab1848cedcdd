"""saltmine's own estimators: their parameters, and how data of every size is fitted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from saltmine.data.bits import BitMatrix
from saltmine.data.lazy import is_lazy
from saltmine.data.stacking import LabelledMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import BinaryMatrix
from saltmine.data.weights import Weights
from saltmine.estimators.base import PatternModel
from saltmine.estimators.runs import best_of_runs
from saltmine.parameters import check_choice, check_count, check_flag, check_number, check_starts, is_real
from saltmine.progress import Listener, Progress
from saltmine.solver.mdl_search import ALGORITHMS, PRECISION, USUALLY_DONE, Settings, Solution, Task
from saltmine.solver.relaxed.device import on_device, open_device
from saltmine.solver.relaxed.operator import STORAGES, Operator, make_operator

if TYPE_CHECKING:
    from saltmine.data.lazy import LazyMatrix
    from saltmine.distributed.fitting import Found
    from saltmine.solver.wide import MakeOperator

Result = TypeVar("Result")


class SaltModel(PatternModel):
    """What `CSalt` and `Primp` share: parameters, and fits in memory, in blocks, and on a cluster."""

    _history: ClassVar[tuple[str, str]] = ("check", "relaxed objective")

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

    @property
    def _title(self) -> str:
        return type(self).__name__ if self.algorithm == "saltmine" else f"{type(self).__name__} ({self.algorithm})"

    @property
    def _can_alter(self) -> bool:
        return self._knows_classes

    @property
    def _is_tested(self) -> bool:
        return self.algorithm == "saltmine"

    @property
    def _folds(self) -> bool:
        return self.fold

    # ------------------------------------------------------------------ fitting

    def _fit_input(self, X: Any, y: Any, item_names: Any, row_names: Any) -> None:
        if self.client is not None or is_lazy(X):
            self._fit_blocks(X, y, item_names, row_names)
        else:
            super()._fit_input(X, y, item_names, row_names)

    def _fit_rows(self, rows: BinaryMatrix, y: Any) -> None:
        if self._is_tall(rows.shape):
            self._fit_tall(rows, y, client=None)
        else:
            super()._fit_rows(rows, y)

    def _fit_blocks(self, X: Any, y: Any, item_names: Any, row_names: Any) -> None:
        """Fit data that is read lazily, or shared by a cluster."""
        # Few fits need a cluster.
        from saltmine.data import lazy as inputs
        from saltmine.distributed import fitting

        with ExitStack() as stack:
            client = stack.enter_context(fitting.open_client(self.client))
            data = inputs.open_blocks(X) if is_lazy(X) else self._binary_rows(X, reset=True)
            if isinstance(data, inputs.LazyMatrix):
                self._take_shape(data)
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
        from saltmine.solver.tall import is_tall

        return self.algorithm == "saltmine" and is_tall(shape)

    def _fit_tall(self, data: LazyMatrix | BinaryMatrix, y: Any, client: Any) -> None:
        """Fit data in blocks of rows, on a cluster or in this process."""
        from saltmine.distributed.fitting import Labels
        from saltmine.distributed.rows import open_row_crew, search_row_blocks

        classes, numbers = self._classes(y, data.shape[0])
        labels, as_one = Labels(numbers, len(classes)), not self._knows_classes
        with ThreadTeam() as team, open_row_crew(data, labels, client, team, self.binarize, as_one) as crew:

            def search(settings: Settings, rng: np.random.Generator) -> Found:
                return search_row_blocks(crew, labels, settings, self._operators(team), team, rng, as_one)

            # One after the other, as they share the blocks.
            found = self._best(search, lambda found: found.solution, len(classes), n_jobs=1)
        self._store_found(found, classes, numbers)

    def _demand_blocks(self, n_classes: int) -> None:
        if self.algorithm != "saltmine":
            raise ValueError("Data of this size is fitted in blocks, which only algorithm='saltmine' does.")
        if not self._knows_classes and n_classes > 1:
            raise ValueError("Data of this size is fitted in blocks, where Primp takes no y; leave y out.")

    def _search(self, data: LabelledMatrix, bits: BitMatrix) -> Solution:
        """Run all restarts on data in memory and return the best solution."""
        # Compiled code is loaded when it is needed.
        from saltmine.solver.wide import is_wide, search_here

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

        def run(restart: int, seed: int, tell: Listener) -> Result:
            return search(self._settings(n_classes, restart, tell), np.random.default_rng(seed))

        return best_of_runs(run, self._seeds(), self._title, self.verbose, self.callback, n_jobs, solution_of)

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
            alterations=self._knows_classes and n_classes > 1,
            alpha=self.alpha,
            max_rank=self.max_rank,
            rank_step=self.rank_step,
            max_iter=self.max_iter,
            tol=self.tol,
            on_check=on_check,
            on_refine=on_refine,
        )

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

    # ------------------------------------------------------------------ parameters

    def _check_parameters(self) -> None:
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        for name in ("rank_step", "max_iter", "max_rank"):
            check_count(name, getattr(self, name), or_none=name == "max_rank")
        check_number("tol", self.tol)
        if not is_real(self.alpha) or not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be a probability between 0 and 1, as 0.01, not {self.alpha!r}.")
        check_flag("fold", self.fold)
        check_choice("storage", self.storage, STORAGES)
        self._check_device()
        check_starts(self.n_restarts, self.n_jobs, self.random_state)
        super()._check_parameters()

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
