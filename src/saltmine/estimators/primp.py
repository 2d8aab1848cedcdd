"""Primp: the same factorization for data without classes."""

from __future__ import annotations

from typing import ClassVar

from saltmine.estimators.csalt import MdlEstimator


class Primp(MdlEstimator):
    """Mine patterns of 0/1 data, their number found by description length (Hess, Morik & Piatkowski 2017).

    C-Salt without alterations: all rows are one class. Labels, where given, only split the reporting: `classes_`,
    `usage_counts_` and the columns of `patterns` are then per class.

    Parameters
    ----------
    algorithm, alpha, binarize, max_rank, rank_step, max_iter, tol, n_restarts, fold, storage, device, client, n_jobs
        As in `CSalt`.
    random_state, verbose, callback, checkpoint, max_time, max_memory
        As in `CSalt`.

    Attributes
    ----------
    components_, usage_, description_length_, ...
        As in `CSalt`; `alterations_` is empty (all False).

    Examples
    --------
    >>> from saltmine import Primp
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200], rank=3, noise=0.02, random_state=0)
    >>> model = Primp(random_state=0).fit(planted.X)
    >>> model.usage_.shape == (200, model.n_components_)
    True
    """

    _kind: ClassVar[str] = "Primp"
    _knows_classes: ClassVar[bool] = False
    _source: ClassVar[str] = (
        "Boolean matrix factorization by description length, S. Hess, K. Morik and N. "
        "Piatkowski, The PRIMPING Routine: Tiling through Proximal Alternating Linearized Minimization, 2017."
    )
