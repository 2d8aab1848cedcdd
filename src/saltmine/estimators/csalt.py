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

ALGORITHMS, STORAGES = ("saltmine", "likelihood", "paper"), ("auto", "dense", "sparse")
FEATURES = ("usage", "probability", "alterations")


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
        return self.algorithm != "paper"

    @property
    def _has_row_model(self) -> bool:
        return self.algorithm == "likelihood"

    @property
    def _level(self) -> float:
        return self.alpha

    @property
    def _folds(self) -> bool:
        return self.fold and self.algorithm != "likelihood"

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
        if self.algorithm == "likelihood" and self.checkpoint is not None:
            raise ValueError("algorithm='likelihood' does not know checkpoint yet; leave it out, or take 'saltmine'.")
        super()._check_parameters()

    def _check_device(self) -> None:
        if self.device is None:
            return
        if not isinstance(self.device, str):
            raise ValueError(f"device must be the name of one, such as 'cuda', or None, not {self.device!r}.")
        if self.algorithm != "paper":
            raise ValueError("device is for algorithm='paper' only; the search of 'saltmine' runs on the processor.")
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
    """Find patterns that classes share, patterns of single classes, and the items that a class adds to a pattern.

    Boolean matrix factorization of labelled 0/1 data (Hess & Morik, "C-SALT: Mining Class-Specific ALTerations in
    Boolean Matrix Factorization", 2017). The number of patterns follows from the description length, and significance
    tests remove what chance explains.

    Parameters
    ----------
    algorithm : {"saltmine", "likelihood", "paper"}
        "saltmine" is the search of this library, "paper" is the published algorithm. "likelihood" is the search that
        will replace "saltmine"; it is offered for trial, for data in memory. The part "The method" of the documentation
        describes all of them.
    alpha : float
        Level of significance. "saltmine" and "likelihood" keep only patterns and differences between classes that are
        significant at this level; with "likelihood" it is the expected share of false patterns. With all algorithms,
        `patterns` calls a pattern "mostly" or "only" of a class if its ``q_value`` is at most this.
    binarize : float or None
        Values above it become ones. By default, data other than 0/1 are an error.
    max_rank : int or None
        Maximum number of patterns.
    rank_step : int
        Number of patterns that "paper" adds at a time. Ignored by "saltmine", which starts from the spectrum of the
        data.
    max_iter : int
        Maximum number of iterations of "paper" at one rank. The starts of "saltmine" stop after at most 80.
    tol : float
        "saltmine" stops the relaxed solve when the objective falls by less than this share over ten iterations. "paper"
        stops when the mean decrease over 500 iterations is below it.
    n_restarts : int
        Number of independent runs; the model with the shortest description is kept. "likelihood" needs one only, as
        nothing in it is random. Each run of "saltmine" tries up to
        six starts (more of them for small data) and continues with the best.
    fold : bool
        Merge identical columns, and identical rows of a class, into one with a weight. This saves time and does not
        change the results, which are unfolded again. Data that is searched in blocks is always folded.
    storage : {"auto", "dense", "sparse"}
        How the relaxed solve stores the data; "auto" chooses the faster way for their size and share of ones, on a
        device dense unless sparse data would be huge.
    device : str or None
        Where "paper" takes its iterations: "cuda", "mps", "cpu" or another device of torch, or "cupy". None is NumPy.
        Iterations are in double precision; on devices without it, such as "mps", in single precision, which may give
        another model. "saltmine" takes no device.
    client : distributed.Client, str or None
        A Dask cluster, or the address of its scheduler, that holds the data in blocks. By default, data that is read
        lazily uses the client that is open, if there is one.
    n_jobs : int or None
        Number of restarts that run in parallel. Data that is searched in blocks runs one restart after the other.
    random_state : int, RandomState or None
        The same seed gives the same model, whatever the number of threads.
    verbose : int
        1 shows a progress bar on standard error.
    callback : callable or None
        Called with a `saltmine.progress.Progress` during the search, never from two threads at once. If there are
        several starts, it reports the first one.
    checkpoint : path or None
        File for the state of the search. If a fit is killed, the same fit continues from this file and ends with the
        same model. The file is removed when the fit has ended.
    max_time : float or None
        Seconds that a fit may take; it then ends with the best model so far, and `finished_` is False. Results depend
        on the clock only if the limit is reached, or if wide or tall data is searched in a smaller sample because of
        it. With a checkpoint, the next run goes on.
    max_memory : str, number or None
        Memory that a fit may take beside its input, as "2G" or bytes. What the search needs is estimated first; if that
        is more, it looks at a smaller sample of wide or tall data, or is refused with a sentence. Without a limit,
        the model does not depend on memory.
    fit_prior : bool
        Whether `predict` takes into account how frequent the classes are; otherwise all are equally likely.
    features : {"usage", "probability", "alterations"} or None
        Columns of `transform`: whether a row uses each pattern; the probability that it does so, followed by the
        logarithms of the probabilities of the classes; or use, followed by a column per alteration, which is True if a
        row has more than half of the added items. None is "probability" with ``algorithm="likelihood"``, so that a
        model without patterns still has columns for a classifier, and else "usage".

    Attributes
    ----------
    classes_ : (c,) labels, sorted
    n_components_ : int
        Number of rows of `components_`, r. It counts the typical row (`typical_`) and patterns of few groups
        (`of_few_groups_`), which the headline of `summary` does not count as patterns.
    components_ : (r, n) bool
        Shared patterns, largest first; the typical row before all others.
    typical_ : (r,) bool
        Whether a pattern is the typical row: items that many rows have, without evidence that they go together.
    sparse_components_ : (r, n) CSR
        `components_` as a sparse matrix; needs little memory.
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
        Evidence for every pattern: minus the logarithm of a bound on the probability that chance makes such a pattern.
    alteration_evidence_ : (c, r) float
        Evidence for every alteration, ``-log(alteration_q_values_)``; NaN if the class adds nothing.
    use_p_values_, use_q_values_ : (c, r) float
        Test that the share of rows that carry the pattern is larger in the class than in all other rows, both among all
        rows and among rows with about the same number of items. q-values are corrected for all tests of the model. NaN
        if there is one class.
    alteration_p_values_, alteration_q_values_ : (c, r) float
        Test that carriers of the class have the added items more often than carriers of the classes that do not add
        them; one test for all added items. NaN if the class adds nothing.
    description_length_, null_description_length_ : float
        Description length of the model and of the model without patterns, in nats, with the specificity term of the
        paper. The search of "saltmine" uses another specificity term, which differs if there are many classes.
    class_counts_ : (c,) int
        Rows of every class.
    carrier_counts_ : (c, r) int
        Rows of every class that carry a pattern. A row carries a pattern if its shared items would shorten the
        description of the row in a model without other patterns.
    all_counts_, most_counts_ : (c, r) int
        Rows of every class that have all, and more than half, of the shared items of a pattern.
    pattern_gain_ : (r,) float
        Nats by which the description would be longer without the pattern.
    alteration_gain_ : (c, r) float
        The same for every alteration; NaN if the class adds nothing.
    stability_ : Stability or None
        How often patterns, alterations and items came back, after `assess_stability`.
    near_miss_ : NearMiss or None
        The strongest candidate (items, rows, chance) if no pattern passed the tests.
    row_names_ : (m,) text or None
        Names of the rows, if the data had any.
    row_weights_ : (m,) int or None
        How often every row occurs, after a fit with ``sample_weight``.
    groups_ : (m,) text or None
        The group of every row, after a fit with ``groups``; ``group_name_`` is the name of the grouping, as "patient".
    of_few_groups_ : (r,) bool
        Patterns of one group, or not significant when groups are counted.
    about_ : dict
        Information on the data: "source", "title", "kind" of the items, size of an "image", and the options for
        "reading" new data. It is saved with the model and shown in reports.
    preparation_ : Prepare or None
        How the command line turned the columns into items; saved with the model and applied to new data.
    temperature_ : float
        Factor by which `predict_proba` divides code lengths, at least 1. With ``algorithm="likelihood"`` `predict` does
        so, too, as the frequencies of the classes are not divided.
    finished_ : bool
        False if ``max_time`` ended the search early, or made the sample that it looks at smaller.
    n_iter_ : int
        Total number of iterations.
    history_ : (checks,) float
        Relaxed objective at every check; starts (or the ranks of "paper") follow each other.
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
    features: str | None = None

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
        if self.features is None:
            return "probability" if self._has_row_model else "usage"
        return self.features

    def _check_parameters(self) -> None:
        check_flag("fit_prior", self.fit_prior)
        if self.features is not None:
            check_choice("features", self.features, FEATURES)
        super()._check_parameters()
