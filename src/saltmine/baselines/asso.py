"""Asso: patterns from associations between items, greedily."""

from __future__ import annotations

from typing import ClassVar

from saltmine.baselines.asso_search import asso
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.estimators.base import PatternModel
from saltmine.parameters import check_count, check_number, check_share
from saltmine.progress import Listener
from saltmine.solver.solution import Solution


class Asso(PatternModel):
    """Boolean matrix factorization by associations (Miettinen, Mielikäinen, Gionis, Das & Mannila 2008).

    For every item there is a candidate: the items that at least a share ``tau`` of its rows have; single items, which
    say nothing beyond themselves, only where there are no others. Time after time that candidate becomes a pattern by
    which the rows gain most, and those rows use it that gain: newly covered ones count ``w_plus``, newly covered zeros
    ``w_minus``. Labels, where given, only split the reporting.

    Parameters
    ----------
    rank : int or None
        Number of patterns, fewer only where no candidate gains anything. None takes as many as give the shortest
        description.
    tau : float or None
        Threshold of the associations, above 0 and at most 1. None tries 0.1, 0.2, ..., 1.0, then finer steps around
        the best, and takes the one with the shortest description.
    w_plus, w_minus : float
        What a one that is covered gains, and what a zero costs.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    history_ : (r,) float
        Weighted errors after every pattern that was taken.
    components_, usage_, description_length_, ...
        As in `CSalt`; `alterations_` is empty (all False).

    Examples
    --------
    >>> from saltmine import Asso
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200], rank=3, noise=0.02, random_state=0)
    >>> Asso(rank=3).fit(planted.X).components_.shape
    (3, 120)
    """

    _kind: ClassVar[str] = "Asso"
    _history: ClassVar[tuple[str, str]] = ("pattern", "weighted errors")
    _knows_classes: ClassVar[bool] = False
    _source: ClassVar[str] = (
        "Boolean matrix factorization by associations, P. Miettinen, T. Mielikäinen, A. Gionis, G. Das and H. Mannila, "
        "The Discrete Basis Problem, 2008."
    )

    def __init__(
        self,
        *,
        rank: int | None = None,
        tau: float | None = None,
        w_plus: float = 1.0,
        w_minus: float = 1.0,
        binarize: float | None = None,
        verbose: int = 0,
        callback: Listener | None = None,
    ) -> None:
        self.rank = rank
        self.tau = tau
        self.w_plus = w_plus
        self.w_minus = w_minus
        self.binarize = binarize
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("rank", self.rank, or_none=True)
        check_share("tau", self.tau, or_none=True)
        check_number("w_plus", self.w_plus)
        check_number("w_minus", self.w_minus)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        weights = self.w_plus, self.w_minus
        return self._run_once(lambda on_step: asso(bits, self.rank, self.tau, *weights, on_step))
