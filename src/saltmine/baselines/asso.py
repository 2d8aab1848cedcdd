"""Asso: patterns from associations between items, greedily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from saltmine.baselines.base import Baseline
from saltmine.parameters import check_count, check_number, check_share

if TYPE_CHECKING:
    from saltmine.estimators.fitting import BitMatrix, Solution, StackedMatrix


@dataclass(kw_only=True, eq=False, repr=False)
class Asso(Baseline):
    """Boolean matrix factorization by associations (Miettinen, Mielikäinen, Gionis, Das & Mannila 2008).

    Every item has a candidate: the items that at least a share ``tau`` of its rows have. Candidates of a single item
    are used only where there are no others. In each step the candidate with the largest total gain becomes a pattern,
    and the rows that gain by it use it: a newly covered one gains ``w_plus``, a newly covered zero costs ``w_minus``.
    Labels, where given, only split the reporting.

    Parameters
    ----------
    rank : int or None
        Number of patterns; fewer where no candidate gains anything. None takes the number with the shortest
        description.
    tau : float or None
        Threshold of the associations, above 0 and at most 1. None tries 0.1, 0.2, ..., 1.0, then finer steps around
        the best, and takes the one with the shortest description.
    w_plus, w_minus : float
        Gain of a covered one, and cost of a covered zero.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    history_ : (r,) float
        Weighted errors after every added pattern.
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

    rank: int | None = None
    tau: float | None = None
    w_plus: float = 1.0
    w_minus: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("rank", self.rank, or_none=True)
        check_share("tau", self.tau, or_none=True)
        check_number("w_plus", self.w_plus)
        check_number("w_minus", self.w_minus)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        # Compiled code would slow the import.
        from saltmine.baselines.asso_search import asso

        weights = self.w_plus, self.w_minus
        return self._run_once(lambda on_step: asso(bits, self.rank, self.tau, weights, on_step))
