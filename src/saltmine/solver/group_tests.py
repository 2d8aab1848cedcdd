"""Tests of a found model that count groups of rows, as patients, instead of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from saltmine.arrays import Bools, Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.mdl.added_items import can_shuffle, test_added
from saltmine.mdl.groups import make_units, mixed_groups, use_log_p
from saltmine.mdl.scores import PatternScores, Tested
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.scoring import find_carriers, gains

# Ways to choose one row of every group.
MOST_CHOICES = 8


class RowGroups(NamedTuple):
    """Of the stacked rows: their groups, and their classes by the labels, which the search may not have known."""

    groups: Indices  # (m,)
    classes: Indices  # (m,)
    n_classes: int


class GroupTests(NamedTuple):
    """Scores that count groups, and which rows carry which pattern, (m, r); rows are stacked class by class."""

    scores: PatternScores
    carriers: Bools


def test_groups(
    data: StackedMatrix, bits: BitMatrix, model: BinaryModel, rows: RowGroups, alpha: float, typical: Sequence[int]
) -> GroupTests:
    """Test a model as `score_model` does, by groups; none of the stacked rows may be folded."""
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)), alpha=alpha)
    local.add(model, typical)
    carriers, mixed = find_carriers(bits, model), mixed_groups(rows.groups, rows.classes)
    use = use_log_p(carriers, make_units(rows.groups, rows.classes, bits.row_sizes, mixed), rows.n_classes)
    adding = np.stack([V.any(axis=0) for V in model.V]) & (bits.used(model.Y).sum(axis=0) > 0)
    added = np.zeros(adding.shape)
    for s in np.flatnonzero(adding.any(axis=0)):
        of_pattern = np.flatnonzero(carriers[:, s])
        added[:, s] = added_log_p(data, model, int(s), of_pattern, rows, mixed, local.log_alpha)
    choice = np.array([local.item_choice(s) for s in range(model.rank)])
    by_use = -use.min(axis=0, initial=0.0) - choice - np.log(rows.n_classes) if len(adding) > 1 else None
    tested = Tested(
        together=together(data, model, rows.groups, typical, local.log_alpha, by_use),
        choice=choice,
        use=use,
        added=added,
        adding=adding,
    )
    return GroupTests(tested.scores(*gains(bits, model), local.log_alpha), carriers)


def together(
    data: StackedMatrix,
    model: BinaryModel,
    groups: Indices,
    typical: Sequence[int],
    log_alpha: float,
    by_use: Floats | None = None,
) -> Floats:
    """Return the evidence that the items of every pattern go together, (r,), with one row of every group.

    It is the mean over several choices of these rows, which look at neither patterns nor labels. ``exp(evidence)`` of
    each has a mean of at most one under chance, so has their geometric mean, however much the rows of a group depend on
    each other. Patterns that show nothing are taken away before the others are looked at again: each covers cells, and
    makes items look rare in what it leaves to the others. ``by_use``, (r,), is the evidence that classes differ.
    """
    samples = [_one_per_group(data, model, rows, typical) for rows in choose_rows(groups)]
    evidence = np.full(model.rank, -np.inf)
    left = np.ones(model.rank, dtype=bool)
    while left.any():
        shown = np.stack([_evidence_of(sample, left) for sample in samples]).mean(axis=0)
        evidence[left] = shown[left]
        best = evidence if by_use is None else np.maximum(evidence, by_use)
        failing = left & (best < -log_alpha) & ~np.isin(np.arange(model.rank), typical)
        if not failing.any():
            break
        for s in np.flatnonzero(failing):
            for sample in samples:
                if sample.used[s]:
                    sample.remove(int(s))
        left &= ~failing
    return evidence


def choose_rows(groups: Indices) -> list[Indices]:
    """Return one row of every group, several times: evenly spaced in their order, in groups that have enough.

    Examples
    --------
    >>> [rows.tolist() for rows in choose_rows(np.array([0, 0, 1]))]
    [[0, 2], [1, 2]]
    """
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups)
    first = np.cumsum(counts) - counts
    n_choices = min(int(counts.max(initial=1)), MOST_CHOICES)
    return [order[first + counts * k // n_choices] for k in range(n_choices)]


def _one_per_group(data: StackedMatrix, model: BinaryModel, rows: Indices, typical: Sequence[int]) -> LocalSearch:
    """Return the model in these of the stacked rows; items that they do not have are left out."""
    numbers = np.repeat(np.arange(len(data.blocks)), [block.stop - block.start for block in data.blocks])[rows]
    sample = StackedMatrix.from_rows(data.matrix[rows], numbers, len(data.blocks))
    # Columns stand for as many of the input as before.
    weights = replace(sample.weights, items=data.weights.items[sample.items])
    bits = BitMatrix(sample.matrix, sample.blocks, weights)
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)))
    part = BinaryModel(model.X[sample.items], model.V[:, sample.items], model.Y[rows[sample.order]])
    local.add(part, typical)
    return local


def _evidence_of(sample: LocalSearch, wanted: Bools) -> Floats:
    """Return the evidence of the patterns of a sample; none for those that no row uses."""
    used = sample.used
    return np.array([sample.together(s) if wanted[s] and used[s] else 0.0 for s in range(len(wanted))])


def added_log_p(
    data: StackedMatrix, model: BinaryModel, s: int, rows: Indices, of_rows: RowGroups, mixed: Bools, log_alpha: float
) -> Floats:
    """Test what every class adds to pattern ``s``, (c,), by the groups of the rows that carry it."""
    weights, shared, added = data.weights.items, model.X[:, s], model.V[:, :, s]
    row_sizes = np.asarray(data.matrix[rows] @ weights)
    present, groups = np.unique(of_rows.groups[rows], return_inverse=True)
    units = make_units(groups, of_rows.classes[rows], row_sizes, mixed[present])
    items, n_items = np.flatnonzero(~shared), None
    if not can_shuffle(max(len(units.classes), len(rows)), len(items)):
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
    V = model.V & ~failed[: len(model.V), None]
    stays: Bools = np.logical_or.reduce(model.X | V.any(axis=0), axis=0)
    is_typical = np.isin(np.arange(model.rank), typical)[stays]
    return BinaryModel(model.X, V, model.Y).keep(stays), np.flatnonzero(is_typical).tolist()
