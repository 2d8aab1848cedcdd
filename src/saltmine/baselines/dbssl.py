"""Dbssl and MdlDbssl: patterns that all classes share, and patterns of every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from saltmine.baselines.base import Baseline
from saltmine.parameters import check_choice, check_count, check_ranks, check_share, spread_ranks

if TYPE_CHECKING:
    from saltmine.estimators.fitting import BitMatrix, Solution, StackedMatrix

SOURCES = ("both", "associations", "itemsets")


@dataclass(kw_only=True, eq=False, repr=False)
class _SharedAndClassWise(Baseline):
    """The common part of both estimators: the options for candidates, and the call of the search."""

    _history: ClassVar[tuple[str, str]] = ("pattern", "weighted errors")
    _source: ClassVar[str] = (
        "Shared and class-wise patterns, reconstructed after P. Miettinen, "
        "On Finding Joint Subspace Boolean Matrix Factorizations, 2012."
    )

    tau: float | None = None
    candidates: str = "both"
    min_support: int = 4
    max_candidates: int = 20_000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("tau", self.tau, or_none=True)
        check_choice("candidates", self.candidates, SOURCES)
        check_count("min_support", self.min_support)
        check_count("max_candidates", self.max_candidates)

    def _search_at(self, bits: BitMatrix, ranks: Sequence[tuple[int, ...] | None] | None) -> Solution:
        # Compiled code would slow the import.
        from saltmine.baselines.dbssl_search import CandidateOptions, dbssl

        options = CandidateOptions(self.candidates, self.tau, self.min_support, self.max_candidates)
        return self._run_once(lambda on_step: dbssl(bits, ranks, options, on_step))


@dataclass(kw_only=True, eq=False, repr=False)
class Dbssl(_SharedAndClassWise):
    """Shared and class-wise patterns by a variant of Asso (after Miettinen 2012).

    A reconstruction: the program of "On Finding Joint Subspace Boolean Matrix Factorizations" (SDM 2012) is not public.
    It follows the description in the C-Salt paper (Hess & Morik 2017): the errors ``sum_a mu_a / 2 |D_a -
    theta([Y_S Y_D] [X_S X_a]^T)|`` with ``mu_1 = 1 / |D_2|`` and ``mu_2 = 1 / |D_1|`` are minimised greedily, with
    candidates from associations, as in `Asso`, and from frequent item sets. Three details are our own:

    - Any number of classes: ``mu_a`` is proportional to ``|D_a|``, as it is for two.
    - The order. A shared pattern gains at least as much as the same pattern in one class, so it would always come
      first. The cover is computed twice, with class-wise patterns first and with each pattern where it gains most. The
      cover with fewer errors is kept, or without given ranks the one with the shorter description.
    - A frequent set gives a second candidate, the items that most of its rows have, because noise breaks the sets
      themselves into fragments. A few sets are sought around every item, so that time and memory stay bounded at any
      support.

    Parameters
    ----------
    ranks : int, tuple or None
        Number of shared patterns and of those of each class: ``(8, 4, 4)``; ``(8, 4)`` is the same 4 for every class,
        ``8`` means shared ones only. None takes the numbers with the shortest description.
    tau : float or None
        Threshold of the associations, above 0 and at most 1. None takes the one with the shortest description, as in
        `Asso`.
    candidates : {"both", "associations", "itemsets"}
        Where candidates come from. Item sets need mlxtend: ``pip install 'saltmine[itemsets]'``.
    min_support : int
        Minimum number of rows of a class that contain a frequent set.
    max_candidates : int
        Maximum number of candidates from frequent sets.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    history_ : (r,) float
        Weighted errors after every added pattern; the mean weight is 1.
    components_, usage_, description_length_, ...
        As in `CSalt`; `alterations_` is empty (all False), and only the rows of a class use its patterns.

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

    ranks: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranks(self.ranks)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        return self._search_at(bits, [None if self.ranks is None else spread_ranks(self.ranks, len(bits.blocks))])


@dataclass(kw_only=True, eq=False, repr=False)
class MdlDbssl(_SharedAndClassWise):
    """`Dbssl` with the ranks chosen from a list by description length (after Miettinen 2012).

    Like `Dbssl`, a reconstruction.

    Parameters
    ----------
    constellations : list or None
        Ranks to choose from, each as `Dbssl` takes them. None makes a list as in the C-Salt paper's experiment:
        q - 5, q and q + 5 shared patterns, each with q, 2 q and 4 q patterns of every class, where q is a third of the
        patterns that ``Dbssl()`` finds (in the paper, of the planted ones), at most 20; and the ranks that ``Dbssl()``
        finds.
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

    constellations: Sequence[Any] | None = None

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
        ranks = None if given is None else [spread_ranks(ranks, len(bits.blocks), name) for ranks in given]
        return self._search_at(bits, ranks)
