"""The parameters of `CSalt` and `Primp`, and their fit."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import clone

from saltmine.data.lazy import LazyMatrix, is_lazy
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.connect import open_client
from saltmine.estimators.base import PatternModel, import_fitting
from saltmine.parameters import check_choice, check_count, check_flag, check_number, check_starts, is_real
from saltmine.progress import Listener

if TYPE_CHECKING:
    from saltmine.estimators.fitting import Found, Labels

ALGORITHMS, STORAGES = ("saltmine", "paper"), ("auto", "dense", "sparse")


@dataclass(kw_only=True, eq=False, repr=False)
class MdlEstimator(PatternModel):
    """What `CSalt` and `Primp` share: parameters, and a fit by description length."""

    _history: ClassVar[tuple[str, str]] = ("check", "relaxed objective")

    algorithm: str = "saltmine"
    alpha: float = 0.01
    binarize: float | None = None
    max_rank: int | None = None
    rank_step: int = 10
    max_iter: int = 10_000
    tol: float = 0.005
    n_restarts: int = 1
    fold: bool = True
    storage: str = "auto"
    device: str | None = None
    client: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    callback: Listener | None = None

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

    def _open_client(self, X: Any) -> AbstractContextManager[Any]:
        return open_client(self.client) if self.client is not None or is_lazy(X) else nullcontext()

    def _find(self, data: BinaryMatrix | LazyMatrix, labels: Labels, client: Any) -> Found:
        found: Found = import_fitting().fit_by_description_length(self, data, labels, client)
        return found

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
        import_fitting().open_device(self.device)

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
