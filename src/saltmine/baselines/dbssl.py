"""Dbssl and MdlDbssl: patterns that all classes share, and patterns of every class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from saltmine.baselines.dbssl_search import SOURCES, Source, dbssl, mdl_dbssl
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.estimators.base import PatternModel
from saltmine.parameters import check_choice, check_count, check_ranks, check_share, spread_ranks
from saltmine.progress import Listener
from saltmine.solver.solution import Solution


class _SharedAndOwn(PatternModel):
    """What the two have in common: where candidates come from."""

    _history: ClassVar[tuple[str, str]] = ("pattern", "weighted errors")
    _knows_classes: ClassVar[bool] = True
    _source: ClassVar[str] = (
        "Shared and class-wise patterns, reconstructed after P. Miettinen, "
        "On Finding Joint Subspace Boolean Matrix Factorizations, 2012."
    )

    tau: float | None
    candidates: str
    min_support: int
    max_candidates: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("tau", self.tau, or_none=True)
        check_choice("candidates", self.candidates, SOURCES)
        check_count("min_support", self.min_support)
        check_count("max_candidates", self.max_candidates)

    def _candidate_source(self) -> Source:
        return Source(self.candidates, self.tau, self.min_support, self.max_candidates)


class Dbssl(_SharedAndOwn):
    """Shared and class-wise patterns by a variant of Asso (after Miettinen 2012).

    A reconstruction: the program of "On Finding Joint Subspace Boolean Matrix Factorizations" (SDM 2012) is not public.
    It follows what the C-Salt paper (Hess & Morik 2017) states of it: the errors ``sum_a mu_a / 2 |D_a -
    theta([Y_S Y_D] [X_S X_a]^T)|`` with ``mu_1 = 1 / |D_2|`` and ``mu_2 = 1 / |D_1|`` are made small, greedily, by
    candidates from associations, as in `Asso`, and from frequent item sets. Three things are ours:

    - Any number of classes: ``mu_a`` is proportional to ``|D_a|``, as it is for two.
    - The order. A shared pattern always gains as much as one of a class, so it would always come first. The cover is
      made twice, class-wise patterns first and each pattern where it belongs; the one with fewer errors is kept, or
      where no ranks are given the one with the shorter description.
    - A frequent set gives a second candidate, the items that most of its rows have; sets themselves are fragments
      where there is noise. They are sought around every item, a few each, so that time and memory stay bounded at any
      support.

    Parameters
    ----------
    ranks : int, tuple or None
        Number of shared patterns and of those of each class: ``(8, 4, 4)``; ``(8, 4)`` is the same 4 for every class,
        ``8`` means shared ones only. None takes as many of each as give the shortest description.
    tau : float or None
        Threshold of the associations, above 0 and at most 1. None takes the one with the shortest description, as in
        `Asso`.
    candidates : {"both", "associations", "itemsets"}
        Where candidates come from. Item sets need mlxtend: ``pip install 'saltmine[itemsets]'``.
    min_support : int
        Rows of a class that a frequent set needs.
    max_candidates : int
        Most candidates from frequent sets.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    history_ : (r,) float
        Weighted errors after every pattern that was taken, the mean weight being 1.
    components_, usage_, description_length_, ...
        As in `CSalt`; `alterations_` is empty (all False), and a pattern of one class is used by its rows only.

    Examples
    --------
    >>> from saltmine import Dbssl
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = Dbssl(ranks=(1, 2, 2), candidates="associations").fit(planted.X, planted.y)
    >>> model.components_.shape
    (5, 120)
    """

    _kind: ClassVar[str] = "Dbssl"

    def __init__(
        self,
        *,
        ranks: Any = None,
        tau: float | None = None,
        candidates: str = "both",
        min_support: int = 4,
        max_candidates: int = 20_000,
        binarize: float | None = None,
        verbose: int = 0,
        callback: Listener | None = None,
    ) -> None:
        self.ranks = ranks
        self.tau = tau
        self.candidates = candidates
        self.min_support = min_support
        self.max_candidates = max_candidates
        self.binarize = binarize
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranks(self.ranks)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        ranks = None if self.ranks is None else spread_ranks(self.ranks, len(bits.blocks))
        return self._run_once(lambda on_step: dbssl(bits, ranks, self._candidate_source(), on_step))


class MdlDbssl(_SharedAndOwn):
    """`Dbssl` with its ranks chosen among given ones by description length (after Miettinen 2012).

    A reconstruction as `Dbssl` is.

    Parameters
    ----------
    constellations : list or None
        Ranks to choose from, each as `Dbssl` takes them. None makes a list as in the C-Salt paper's experiment: with q
        a third of the patterns that ``Dbssl()`` finds (there, of those planted), 20 at most, q - 5, q and q + 5 shared
        ones, each with q, 2 q and 4 q of every class; and what ``Dbssl()`` finds itself.
    tau, candidates, min_support, max_candidates, binarize, verbose, callback
        As in `Dbssl`.

    Attributes
    ----------
    components_, usage_, description_length_, ...
        As in `Dbssl`.

    Examples
    --------
    >>> from saltmine import MdlDbssl
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = MdlDbssl(constellations=[(1, 1), (1, 2)], candidates="associations").fit(planted.X, planted.y)
    >>> model.n_components_ in (3, 5)
    True
    """

    _kind: ClassVar[str] = "MdlDbssl"

    def __init__(
        self,
        *,
        constellations: Sequence[Any] | None = None,
        tau: float | None = None,
        candidates: str = "both",
        min_support: int = 4,
        max_candidates: int = 20_000,
        binarize: float | None = None,
        verbose: int = 0,
        callback: Listener | None = None,
    ) -> None:
        self.constellations = constellations
        self.tau = tau
        self.candidates = candidates
        self.min_support = min_support
        self.max_candidates = max_candidates
        self.binarize = binarize
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.constellations is None:
            return
        listed = isinstance(self.constellations, Sequence) and not isinstance(self.constellations, str)
        if not listed or not self.constellations:
            raise ValueError(
                "constellations must be a list of ranks to choose from, as [(4, 8, 8), (8, 4, 4)], or None, not "
                f"{self.constellations!r}."
            )
        for ranks in self.constellations:
            check_ranks(ranks, "every entry of constellations", or_none=False)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        given, name = self.constellations, "an entry of constellations"
        spread = None if given is None else [spread_ranks(ranks, len(bits.blocks), name) for ranks in given]
        return self._run_once(lambda on_step: mdl_dbssl(bits, spread, self._candidate_source(), on_step))
