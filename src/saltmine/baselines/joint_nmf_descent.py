"""The descent that all joint factorizations share: usage and patterns in turn, one pattern after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saltmine.baselines.joint_nmf_objectives import JointObjective
from saltmine.solver.relaxed.operator import Floats, Operator

#: Called with the number of iterations and the objective.
OnCheck = Callable[[int, float], None]


def descend(
    data: Operator,
    objective: JointObjective,
    usage: Floats,
    max_iter: int,
    tol: float,
    on_check: OnCheck = lambda iteration, value: None,
) -> list[float]:
    """Update usage (in place) and patterns in turn; return the objective before the first update and after each.

    The descent ends when an iteration lowers the objective by less than ``tol`` times what it was at first.
    """
    history = list[float]()
    for iteration in range(max_iter + 1):
        if iteration:
            update_usage(data, objective, usage)
        products = data.transposed_times(usage)
        grams = np.stack([usage[rows].T @ usage[rows] for rows in data.blocks])
        if iteration:
            objective.update(products, grams)
        history.append(objective.value(products, grams))
        on_check(iteration, history[-1])
        if iteration and history[-2] - history[-1] <= tol * history[0]:
            break
    return history


def update_usage(data: Operator, objective: JointObjective, usage: Floats) -> None:
    """Set the usage of every pattern in turn to what is best while the others stay as they are."""
    products, grams = data.times(objective.patterns), objective.usage_grams()
    for a, rows in enumerate(data.blocks):
        # Columns are what is worked on.
        of_class, wanted, gram = np.asfortranarray(usage[rows]), np.asfortranarray(products[rows]), grams[a]
        for s in np.flatnonzero(objective.uses[a] & (gram.diagonal() > 0)):
            step = (wanted[:, s] - of_class @ gram[:, s]) / gram[s, s]
            of_class[:, s] = np.maximum(of_class[:, s] + step, 0)
        usage[rows] = of_class
