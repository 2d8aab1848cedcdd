"""JointNMF: joint real-valued factorizations of several classes, rounded to binary patterns as in C-Salt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from saltmine.baselines.base import Baseline
from saltmine.data.threads import ThreadTeam
from saltmine.parameters import check_choice, check_count, check_number, check_ranks, check_starts, spread_ranks

if TYPE_CHECKING:
    from saltmine.estimators.fitting import BitMatrix, Solution, StackedMatrix

PENALTIES = ("inmf", "jsmf", "rjsnmf", "jnmf")


@dataclass(kw_only=True, eq=False, repr=False)
class JointNMF(Baseline):
    """Factorize the classes jointly into non-negative factors, and round these by description length.

    Class a is ``D_a ~ Y_a W_a^T`` with usage Y_a and patterns W_a, all real and non-negative. ``penalty`` selects how
    the patterns of the classes depend on each other, and the objective:

    - ``"inmf"`` (Yang & Michailidis 2016; LIGER): all patterns are shared and altered in every class, W_a = W + V_a;
      ``sum_a ||D_a - Y_a (W + V_a)^T||^2 + strength ||Y_a V_a^T||^2``. It is the real-valued counterpart of C-Salt.
    - ``"jsmf"`` (Gupta et al. 2010): shared patterns W_S that are the same in all classes, and patterns of each class;
      ``sum_a ||D_a - Y_a [W_S W_a]^T||^2 / ||D_a||^2``.
    - ``"rjsnmf"`` (Gupta et al. 2013): the same with a penalty for overlap between shared and class-wise patterns and
      between those of two classes, ``alpha sum_a ||W_S^T W_a||^2 + beta sum_{a<b} ||W_a^T W_b||^2``.
    - ``"jnmf"`` (Kim et al. 2015): common patterns may differ slightly between classes, discriminative ones should not
      overlap; ``sum_a ||D_a - Y_a W_a^T||^2 / m_a + alpha sum_{a<b} ||W_a,common - W_b,common||^2 +
      beta sum_{a<b} |W_a,disc^T W_b,disc|``, where ``|.|`` is the sum of all entries.

    Patterns have length 1, except for ``"inmf"``, whose penalty does not depend on the length. The descent starts from
    the singular vectors of the data and updates pattern by pattern; it never raises the objective. Then f selects both
    thresholds as in `CSalt`, with every pattern scaled by its largest entry or by a mean of the large ones, whichever
    is better. The original methods have no such rounding: their factors stay real.

    Parameters
    ----------
    penalty : "inmf", "jsmf", "rjsnmf" or "jnmf"
    ranks : int or tuple, optional
        The number r0 of shared patterns, (r0, r) with r patterns of every class beside them, or (r0, r1, ..., rc).
        ``"inmf"`` has shared patterns only. By default the numbers 1, 1.25 and 1.5 times the singular values above the
        noise level are tried, and f selects one; a pattern belongs to a class if a plain factorization has 90 % of its
        usage there.
    alpha : float, optional
        Weight of the first term of ``"rjsnmf"`` (0.001 by default) and ``"jnmf"`` (0.3 by default).
    beta : float, optional
        Weight of the second term (0.001 and 0.1 by default). Both defaults were tuned on planted data.
    strength : float
        Weight of the alterations in ``"inmf"``; LIGER's default.
    max_iter : int
        Maximum number of iterations of the descent.
    tol : float
        The descent ends when an iteration lowers the objective by less than this share of its first value.
    n_restarts : int
        Random starts; the model with the lowest f is kept.
    n_jobs, random_state, binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    components_, alterations_, usage_, classes_, ... :
        As in `CSalt`. Only the rows of a class use its class-wise patterns; ``"jsmf"`` and ``"rjsnmf"`` have no
        alterations.
    history_ : (iterations + 1,) float
        The objective before the first iteration and after each; empty if the model without patterns is best.

    Examples
    --------
    >>> from saltmine import JointNMF
    >>> from saltmine.datasets import make_planted
    >>> from saltmine.metrics import f_measure
    >>> planted = make_planted(100, [200, 200], rank=3, noise=0.0, random_state=0)
    >>> model = JointNMF(ranks=3, random_state=0).fit(planted.X, planted.y)
    >>> f_measure(planted, model) > 0.95
    True
    """

    _kind: ClassVar[str] = "JointNMF"
    _history: ClassVar[tuple[str, str]] = ("iteration", "objective")
    _source: ClassVar[str] = (
        "Joint non-negative factorization, after Gupta et al. 2010 (JSMF) and 2013 (RJSNMF), Kim et al. 2015 (JNMF), "
        "and Yang & Michailidis 2016 (iNMF), made binary by description length."
    )

    penalty: str = "inmf"
    ranks: int | tuple[int, ...] | None = None
    alpha: float | None = None
    beta: float | None = None
    strength: float = 5.0
    max_iter: int = 300
    tol: float = 1e-5
    n_restarts: int = 1
    n_jobs: int | None = None
    random_state: Any = None

    @property
    def _title(self) -> str:
        return f"JointNMF ({self.penalty})"

    @property
    def _can_alter(self) -> bool:
        return self.penalty in ("jnmf", "inmf")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("penalty", self.penalty, PENALTIES)
        check_ranks(self.ranks)
        check_number("alpha", self.alpha, or_none=True)
        check_number("beta", self.beta, or_none=True)
        check_number("strength", self.strength)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol)
        check_starts(self.n_restarts, self.n_jobs, self.random_state)

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        # Compiled code would slow the import.
        from saltmine.baselines.joint_nmf_search import JointSettings, joint_nmf, make_problem

        ranks = None if self.ranks is None else spread_ranks(self.ranks, len(data.blocks))
        if self.penalty == "inmf" and ranks is not None and any(ranks[1:]):
            raise ValueError(
                f"penalty='inmf' knows shared patterns only, so ranks must be their number, not {self.ranks!r}; for "
                "patterns of single classes take another penalty."
            )
        settings = JointSettings(self.penalty, ranks, self.alpha, self.beta, self.strength, self.max_iter, self.tol)
        with ThreadTeam() as team:
            problem = make_problem(data, bits, team)
            return self._run_restarts(lambda on_step, rng: joint_nmf(problem, settings, rng, on_step))
