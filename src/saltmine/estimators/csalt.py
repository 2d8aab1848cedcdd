"""C-Salt: shared patterns, their usage, and what each class alters."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from saltmine.estimators.base import PatternModel
from saltmine.matrix.labels import class_numbers
from saltmine.matrix.validation import BinaryMatrix
from saltmine.model.encoding import DECIMALS, CodeTable, encode


class CSalt(ClassifierMixin, PatternModel):
    """Mine patterns that classes share and the alterations that single classes make to them.

    Boolean matrix factorization of labelled 0/1 data (Hess & Morik, "C-SALT: Mining Class-Specific ALTerations in
    Boolean Matrix Factorization", 2017). The number of patterns is found by description length, and nothing stays that
    chance explains; there is nothing to tune.

    Parameters
    ----------
    algorithm : {"saltmine", "paper"}
        "saltmine" is the library's own solver (docs/solver.md). "paper" is the published algorithm; docs/paper.md says
        what was taken where it leaves a choice.
    alpha : float
        A pattern, its use by a class, or a class's alterations of it stay only if chance shows as much with a
        probability below this. That a class differs from the others is not tested here but in `patterns` (``q_value``).
        Of "saltmine" only.
    binarize : float or None
        Values above it become ones. By default nothing is made binary silently: the data must be 0/1.
    max_rank : int or None
        Most patterns to look for.
    rank_step : int
        Patterns added at a time while the rank is exhausted. Of "paper" only: "saltmine" sees from the spectrum of the
        data how many to start from.
    max_iter : int
        Most iterations at one rank of "paper"; "saltmine" stops at 80 anyway.
    tol : float
        "saltmine": stop when the relaxed objective falls by less than this share over ten iterations. "paper": stop
        when its mean decrease over 500 iterations is below.
    n_restarts : int
        Independent random starts; the model with the shortest description is kept. On clear data all starts of
        "saltmine" end in the same model; with much noise or small classes a few more pay.
    fold : bool
        Make one of identical columns, and one of identical rows of a class, with a weight: the same figures, with less
        to look at. All results come back unfolded.
    storage : {"auto", "dense", "sparse"}
        How the relaxed solve holds the data; "auto" takes what is faster for its size and share of ones.
    device : str or None
        Where the relaxed solve runs: "cuda", "mps", "cupy" or another device of torch; None is this processor.
    client : distributed.Client, str or None
        A Dask cluster, or the address of its scheduler, that holds the data in blocks (docs/scaling.md). Data that is
        read lazily goes to the client that is open, where there is one.
    n_jobs : int or None
        Restarts run at the same time.
    random_state : int, RandomState or None
        The same seed gives the same model, whatever the number of threads.
    verbose : int
        1 shows a progress bar on standard error.
    callback : callable or None
        Called with a `saltmine.progress.Progress` at every check of the objective; never twice at the same time,
        also where restarts run side by side.

    Attributes
    ----------
    classes_ : (c,) labels, sorted
    n_components_ : int
        Number of patterns, r.
    components_ : (r, n) bool
        Shared patterns, largest first.
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
        The same for what a class adds to a pattern; NaN where it adds nothing, or fewer than two items are shared.
    description_length_, null_description_length_ : float
        Description length of the model and of the model without patterns, in nats, with the specificity term as the
        paper prints it. "saltmine" minimises it with a fairer term (docs/solver.md), which matters with many classes.
    class_counts_ : (c,) int
        Rows of every class.
    carrier_counts_ : (c, r) int
        Rows of every class that have more than half of a pattern's items, whether or not they use it in the model.
    pattern_gain_ : (r,) float
        Nats by which the description would be longer without the pattern.
    alteration_gain_ : (c, r) float
        The same for what a class adds to a pattern; NaN where it adds nothing.
    stability_ : Stability or None
        How often everything came back, after `assess_stability`.
    row_names_ : (m,) text or None
        Names of the rows, where the data had any.
    about_ : dict
        What else is known of the data: "source", "kind" of the items, size of an "image".
        Kept in files, shown in reports.
    preparation_ : Prepare or None
        How the columns became items, where the command line did it; kept in files and applied to new data.
    n_iter_ : int
        Iterations in all.
    history_ : (checks,) float
        Relaxed objective at every check, rank after rank.
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

    _alterations: ClassVar[bool] = True
    _kind: ClassVar[str] = "CSalt"

    def fit(self, X: Any, y: Any = None, *, item_names: Any = None, row_names: Any = None) -> Self:
        """Find patterns, usage and alterations.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Also what is read lazily: a dask array, a zarr array or its path, or the path of a folder of .npz or
            .parquet files, each with some of the rows.
        y : (m,) labels
            Needed; without labels, use `Primp`.
        item_names, row_names : lists of text, optional
            What tables and reports call columns and rows; for data that has no names of its own, as sparse matrices.
        """
        if y is None:
            raise ValueError(
                "CSalt requires y to be passed, but the target y is None: it compares classes; use Primp for data "
                "without labels."
            )
        return self._fit(X, y, item_names, row_names)

    def transform(self, X: Any, y: Any = None) -> NDArray[np.bool_]:
        """Return the patterns that every row uses, (m, r).

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
        y : (m,) labels, optional
            Classes of the rows, whose alterations are then taken into account; predicted where they are not given.
        """
        check_is_fitted(self)
        rows = self._binary_rows(X, reset=False)
        numbers = self._shortest(rows) if y is None else self._known_classes(y, rows.shape[0])
        usage = np.zeros((rows.shape[0], self.n_components_), dtype=bool)
        for a, table in enumerate(self._code_tables()):
            of_class = np.flatnonzero(numbers == a)
            usage[of_class] = encode(rows[of_class], table)[0]
        return usage

    def predict(self, X: Any) -> NDArray[Any]:
        """Return for every row the class whose patterns encode it in the fewest nats."""
        check_is_fitted(self)
        return self.classes_[self._shortest(self._binary_rows(X, reset=False))]

    def code_lengths(self, X: Any) -> NDArray[np.float64]:
        """Return how many nats the patterns and codes of every class take for every row, (m, c)."""
        check_is_fitted(self)
        return self._code_lengths(self._binary_rows(X, reset=False))

    def _code_lengths(self, rows: BinaryMatrix) -> NDArray[np.float64]:
        return np.stack([encode(rows, table)[1] for table in self._code_tables()], axis=1)

    def _shortest(self, rows: BinaryMatrix) -> NDArray[np.intp]:
        shortest: NDArray[np.intp] = np.argmin(np.round(self._code_lengths(rows), DECIMALS), axis=1)
        return shortest

    def _code_tables(self) -> list[CodeTable]:
        occurs = self.item_counts_.sum(axis=0) > 0
        parts = zip(self.alterations_, self.usage_counts_, self.noise_counts_, strict=True)
        return [
            CodeTable.from_counts(self.components_ | altered, usage, noise, occurs) for altered, usage, noise in parts
        ]

    def _known_classes(self, y: Any, n_rows: int) -> NDArray[np.intp]:
        given, numbers = class_numbers(y, n_rows)
        unknown = [label for label in given.tolist() if label not in set(self.classes_.tolist())]
        if unknown:
            known = ", ".join(repr(label) for label in self.classes_.tolist())
            raise ValueError(f"y holds the label {unknown[0]!r}, which the model has not seen; it knows {known}.")
        return np.searchsorted(self.classes_, given)[numbers]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Patterns describe; a pattern has two items at least. On data of two columns, as the estimator checks use it,
        # there are none, and the codes of single items tell classes apart only as well as they can.
        tags.classifier_tags.poor_score = True
        return tags
