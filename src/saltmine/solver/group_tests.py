"""Tests of a found model that count groups of rows, as patients, instead of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.mdl.added_items import can_shuffle, test_added
from saltmine.mdl.evidence import log_choices, row_choices
from saltmine.mdl.groups import make_units, use_log_p
from saltmine.mdl.scores import PatternScores, Tested
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import find_carriers, gains

# Ways to choose one row of every group.
MOST_CHOICES = 8


class GroupTests(NamedTuple):
    """Scores that count groups, and which rows carry which pattern, (m, r); rows are stacked class by class."""

    scores: PatternScores
    carriers: Bools


def test_groups(
    data: StackedMatrix, bits: BitMatrix, model: BinaryModel, groups: Indices, alpha: float, typical: Sequence[int]
) -> GroupTests:
    """Test a model as `score_model` does, by groups; ``groups`` are those of the stacked rows, none of them folded."""
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)), alpha=alpha)
    local.add(model, typical)
    carriers, n_classes = find_carriers(bits, model), len(bits.blocks)
    classes = np.repeat(np.arange(n_classes), [block.stop - block.start for block in bits.blocks])
    use = use_log_p(carriers, make_units(groups, classes, bits.row_sizes), n_classes)
    adding = np.stack([V.any(axis=0) for V in model.V]) & (bits.used(model.Y).sum(axis=0) > 0)
    added = np.zeros(adding.shape)
    for s in np.flatnonzero(adding.any(axis=0)):
        rows = np.flatnonzero(carriers[:, s])
        added[:, s] = added_log_p(data, model, int(s), rows, groups, classes, local.log_alpha)
    tested = Tested(
        together=np.array([together(local, data, model, s, groups) for s in range(model.rank)]),
        choice=np.array([local.item_choice(s) for s in range(model.rank)]),
        use=use,
        added=added,
        adding=adding,
    )
    return GroupTests(tested.scores(*gains(bits, model), local.log_alpha), carriers)


def together(local: LocalSearch, data: StackedMatrix, model: BinaryModel, s: int, groups: Indices) -> float:
    """Return the evidence that the items of pattern ``s`` go together, with one row of every group that uses it.

    It is the mean over several choices of these rows. ``exp(evidence)`` of each has a mean of at most one under chance,
    so has their geometric mean, however much the rows of a group depend on each other.
    """
    rows, items = np.flatnonzero(model.Y[:, s]), np.flatnonzero(model.X[:, s] | model.V[:, :, s].any(axis=0))
    hits = np.asarray(data.matrix[rows][:, items].sum(axis=1)).ravel()
    rows = rows[np.lexsort((rows, hits, groups[rows]))]
    using, first, n_using = np.unique(groups[rows], return_index=True, return_counts=True)
    sizes, shown = np.array([block.stop - block.start for block in data.blocks]), list[float]()
    n_choices = min(int(n_using.max(initial=1)), MOST_CHOICES)
    for k in range(n_choices):
        chosen = np.zeros(len(groups), dtype=bool)
        chosen[rows[first + n_using * k // n_choices]] = True
        used = np.array([int(chosen[block].sum()) for block in data.blocks])
        shown.append(local.together(s, chosen) + row_choices(sizes, used))
    # Groups are chosen, not rows; and u of the n rows of a group, whose mean is at most n / u times that of all.
    of_groups = np.bincount(groups)
    choice = log_choices(len(of_groups), len(using)) + np.log(of_groups[using] / n_using).sum()
    return float(np.mean(shown) - choice)


def added_log_p(
    data: StackedMatrix, model: BinaryModel, s: int, rows: Indices, groups: Indices, classes: Indices, log_alpha: float
) -> Floats:
    """Test what every class adds to pattern ``s``, (c,), by the groups of the rows that carry it."""
    weights, shared, added = data.weights.items, model.X[:, s], model.V[:, :, s]
    row_sizes = np.asarray(data.matrix[rows] @ weights)
    units = make_units(np.unique(groups[rows], return_inverse=True)[1], classes[rows], row_sizes)
    items, n_items = np.flatnonzero(~shared), None
    if not can_shuffle(len(units.classes), len(items)):
        n_items, items = int(weights[items].sum()), np.flatnonzero(added.any(axis=0))
    cells = units.collapse(data.matrix[rows][:, items]).astype(np.uint8)
    return test_added(cells, units.classes, added[:, items], units.by_size, weights[items], log_alpha, n_items)


def failed_alterations(scores: PatternScores, typical: Sequence[int], alpha: float) -> Bools:
    """Say which alterations are not shown, (c, r): by their q-value, or as the pattern itself is not."""
    is_shown = scores.evidence >= -np.log(alpha)
    is_shown[list(typical)] = True
    # NaN where a class adds nothing.
    q_values = scores.claims.added_q
    failed: Bools = ~np.isnan(q_values) & ~((q_values <= alpha) & is_shown)
    return failed


def without_alterations(model: BinaryModel, failed: Bools, typical: Sequence[int]) -> tuple[BinaryModel, list[int]]:
    """Take alterations, (c, r), away, and patterns of which nothing is left; return them and the typical rows."""
    V = model.V & ~failed[:, None]
    stays: Bools = np.logical_or.reduce(model.X | V.any(axis=0), axis=0)
    is_typical = np.isin(np.arange(model.rank), typical)[stays]
    return BinaryModel(model.X, V, model.Y).keep(stays), np.flatnonzero(is_typical).tolist()
