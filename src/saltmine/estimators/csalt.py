"""C-Salt: shared patterns, their usage, and what each class alters; with the parameters that Primp has too."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import clone

from saltmine.checkpoint import check_checkpoint, remove_checkpoint
from saltmine.data.lazy import LazyMatrix, is_lazy
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.connect import open_client
from saltmine.estimators.base import PatternModel, import_fitting
from saltmine.memory import check_max_memory
from saltmine.parameters import (
    check_choice,
    check_count,
    check_flag,
    check_max_time,
    check_number,
    check_starts,
    is_real,
)
from saltmine.progress import Listener

if TYPE_CHECKING:
    from saltmine.estimators.fitting import Found, Labels

ALGORITHMS, STORAGES, FEATURES = ("saltmine", "paper"), ("auto", "dense", "sparse"), ("usage", "alterations")


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
    checkpoint: str | PathLike[str] | None = None
    max_time: float | None = None
    max_memory: str | float | None = None

    # Whether the checkpoint of a fit that has ended is removed; the command line first writes its results.
    _removes_checkpoint: ClassVar[bool] = True
    _sorts_classes: ClassVar[bool] = True

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
    def _level(self) -> float:
        return self.alpha

    @property
    def _folds(self) -> bool:
        return self.fold

    # ------------------------------------------------------------------ fitting

    def _open_client(self, X: Any) -> AbstractContextManager[Any]:
        return open_client(self.client) if self.client is not None or is_lazy(X) else nullcontext()

    def _find(self, data: BinaryMatrix | LazyMatrix, labels: Labels, client: Any) -> Found:
        found: Found = import_fitting().fit_by_description_length(self, data, labels, client)
        return found

    def _fit_rows(self, *data: Any) -> None:
        with import_fitting().keeping_freed_memory():
            super()._fit_rows(*data)
        if self.finished_ and self._removes_checkpoint:
            remove_checkpoint(self.checkpoint)

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
        check_checkpoint(self.checkpoint)
        check_max_time(self.max_time)
        check_max_memory(self.max_memory)
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


@dataclass(kw_only=True, eq=False, repr=False)
class CSalt(MdlEstimator):
    """Mine patterns that classes share and the alterations that single classes make to them.

    Boolean matrix factorization of labelled 0/1 data (Hess & Morik, "C-SALT: Mining Class-Specific ALTerations in
    Boolean Matrix Factorization", 2017). The number of patterns is found by description length, and nothing stays that
    chance explains; there is nothing to tune.

    Parameters
    ----------
    algorithm : {"saltmine", "paper"}
        "saltmine" is the library's own solver (docs/method/search.md). "paper" is the published algorithm;
        docs/method/paper.md says what was taken where it leaves a choice.
    alpha : float
        Level of significance. "saltmine" keeps a pattern only if chance shows as much with a probability below this,
        and lets classes differ only where the data shows it at this level. `patterns` says that a pattern is mostly or
        only of a class if its ``q_value`` is at most this, with either algorithm.
    binarize : float or None
        Values above it become ones. By default nothing is made binary silently: the data must be 0/1.
    max_rank : int or None
        Most patterns to look for.
    rank_step : int
        Patterns added at a time while the rank is exhausted. Of "paper" only: "saltmine" sees from the spectrum of the
        data how many to start from.
    max_iter : int
        Most iterations at one rank of "paper"; every start of "saltmine" stops at 80 anyway.
    tol : float
        "saltmine": stop when the relaxed objective falls by less than this share over ten iterations. "paper": stop
        when its mean decrease over 500 iterations is below.
    n_restarts : int
        Independent runs; the model with the shortest description is kept. Each run of "saltmine" tries up to six
        starts, the more the smaller the data, and goes on with the best.
    fold : bool
        Make one of identical columns, and one of identical rows of a class, with a weight: the same figures, with less
        to look at. All results come back unfolded. Blocks of wide and of tall data are always folded.
    storage : {"auto", "dense", "sparse"}
        How the relaxed solve holds the data; "auto" takes what is faster for its size and share of ones.
    device : str or None
        Where the relaxed solve runs: "cuda", "mps", "cupy" or another device of torch; None is this processor.
    client : distributed.Client, str or None
        A Dask cluster, or the address of its scheduler, that holds the data in blocks (docs/guide/large_data.md). Data
        that is read lazily goes to the client that is open, where there is one.
    n_jobs : int or None
        Restarts run at the same time; wide and tall data is searched by one after the other.
    random_state : int, RandomState or None
        The same seed gives the same model, whatever the number of threads.
    verbose : int
        1 shows a progress bar on standard error.
    callback : callable or None
        Called with a `saltmine.progress.Progress` as the search goes on, of several starts in the first one; never
        twice at the same time, also where restarts run side by side.
    checkpoint : path or None
        File that holds the state of the search, so that the same fit goes on from there after it was killed, and ends
        with the same model. Removed when the fit has ended (docs/guide/large_data.md).
    max_time : float or None
        Seconds that a fit may take; it then ends with the best model so far, and `finished_` is False. Results depend
        on the clock only if the limit is reached. With a checkpoint, the next run goes on.
    max_memory : str, number or None
        Memory that a fit may take beside its input, as "2G" or bytes. What the search needs is estimated first; if that
        is more, it looks at a smaller sample of wide or tall data, or is refused with a sentence. Without a limit,
        the model does not depend on memory.
    fit_prior : bool
        Whether `predict` knows how frequent the classes were; otherwise all are equally likely.
    features : {"usage", "alterations"}
        Columns of `transform`: one per pattern, or further ones for what classes add to them, set where a row has most
        of the added items. With these, a classifier on top sees *whose* pattern a row has.

    Attributes
    ----------
    classes_ : (c,) labels, sorted
    n_components_ : int
        Number of patterns, r, with the typical row.
    components_ : (r, n) bool
        Shared patterns, largest first; the typical row before all others.
    typical_ : (r,) bool
        Whether a pattern is the typical row: items that most rows have, of which nothing shows that they go together.
    sparse_components_ : (r, n) CSR
        The same as a sparse matrix: made of what is stored, without the dense one.
    alterations_ : (c, r, n) bool
        Items that a class adds to a pattern.
    usage_ : (m, r) bool
        Which row uses which pattern, rows in the order of the input.
    row_labels_ : (m,) labels
        The class of every row of the input.
    usage_counts_ : (c, r) int
        Rows of every class that use a pattern.
    item_counts_ : (c, n) int
        Ones of every class and column.
    noise_counts_ : (c, n) int
        Cells of every class and column that the model gets wrong.
    pattern_evidence_ : (r,) float
        Evidence for every pattern: minus the logarithm of a bound on the probability that chance shows as much.
    alteration_evidence_ : (c, r) float
        Evidence for what a class adds to a pattern, ``-log(alteration_q_values_)``; NaN where it adds nothing.
    use_p_values_, use_q_values_ : (c, r) float
        Test that a larger share of the rows of the class carries the pattern than of all other rows together, among
        all rows as well as among rows of about the same size; q-values are corrected for all tests of the model. NaN
        with one class.
    alteration_p_values_, alteration_q_values_ : (c, r) float
        Test that carriers of the class have the items that it adds, all of them together, more often than those of the
        other classes that do not add them; NaN where it adds nothing.
    description_length_, null_description_length_ : float
        Description length of the model and of the model without patterns, in nats, with the specificity term as the
        paper prints it. "saltmine" minimises it with a fairer term (docs/method/objective.md), which matters with many
        classes.
    class_counts_ : (c,) int
        Rows of every class.
    carrier_counts_ : (c, r) int
        Rows of every class that carry a pattern, whether or not they use it in the model: those whose description it
        would shorten if there were no other pattern, by the items that all classes have in it.
    all_counts_, most_counts_ : (c, r) int
        Rows of every class that have all, and more than half, of the items that classes share in a pattern.
    pattern_gain_ : (r,) float
        Nats by which the description would be longer without the pattern.
    alteration_gain_ : (c, r) float
        The same for what a class adds to a pattern; NaN where it adds nothing.
    stability_ : Stability or None
        How often everything came back, after `assess_stability`.
    near_miss_ : NearMiss or None
        The strongest candidate (items, rows, chance) where no pattern passed the tests.
    row_names_ : (m,) text or None
        Names of the rows, where the data had any.
    row_weights_ : (m,) int or None
        How often every row occurs, after a fit with ``sample_weight``.
    groups_ : (m,) text or None
        The group of every row, after a fit with ``groups``; ``group_name_`` is what a group is called.
    of_few_groups_ : (r,) bool
        Which patterns one group has, or a few that show nothing when groups are counted.
    about_ : dict
        What else is known of the data: "source", "title", "kind" of the items, size of an "image", and the options
        for "reading" new data. Kept in files, shown in reports.
    preparation_ : Prepare or None
        How the columns became items, where the command line did it; kept in files and applied to new data.
    temperature_ : float
        What `predict_proba` divides nats by, at least 1.
    finished_ : bool
        False where ``max_time`` ended the search early.
    n_iter_ : int
        Iterations in all.
    history_ : (checks,) float
        Relaxed objective at every check, start after start, of "paper" rank after rank.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = CSalt(random_state=0).fit(planted.X, planted.y)
    >>> model.components_.shape == (model.n_components_, 120)
    True
    >>> bool(model.description_length_ < model.null_description_length_)
    True
    """

    fit_prior: bool = True
    features: str = "usage"

    _kind: ClassVar[str] = "CSalt"
    _knows_classes: ClassVar[bool] = True
    _source: ClassVar[str] = (
        "Boolean matrix factorization by description length, S. Hess and K. Morik, "
        "C-SALT: Mining Class-Specific ALTerations in Boolean Matrix Factorization, 2017."
    )

    @property
    def _uses_class_frequencies(self) -> bool:
        return self.fit_prior

    @property
    def _features(self) -> str:
        return self.features

    def _check_parameters(self) -> None:
        check_flag("fit_prior", self.fit_prior)
        check_choice("features", self.features, FEATURES)
        super()._check_parameters()
