"""f and scores of a model in memory: one block of items, scored as those of wide data are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl import code_length as code_lengths
from saltmine.mdl.alteration_tests import alteration_log_p
from saltmine.mdl.class_tests import size_strata, use_log_p, vary_in_size
from saltmine.mdl.code_length import errors_code, make_costs, patterns_code
from saltmine.mdl.scores import PatternScores, Tested
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.solution import Found, Solution, without_patterns
from saltmine.solver.wide_model import WideModel


def description_length(bits: BitMatrix, model: BinaryModel, *, printed: bool = True) -> float:
    """Return f of a model, with S as the paper prints it or as the search weighs it."""
    return _in_one_block(bits, model).length(printed=printed)


def null_length(bits: BitMatrix) -> float:
    """Return f of the model without patterns."""
    return without_patterns(bits).length


def code_length(bits: BitMatrix, used: Ints, errors: Ints) -> float:
    """Return f without the code table of the patterns and without S; ``used`` counts rows, ``errors`` is (n,)."""
    costs = make_costs(bits.item_counts, bits.class_sizes, bits.weights.items)
    code = patterns_code(costs.counted, used, np.zeros(len(used)))
    return float(code_lengths.description_length(errors_code(costs, errors, code)))


def find_carriers(bits: BitMatrix, model: BinaryModel) -> Bools:
    """Return which rows carry a pattern, (m, r): it would shorten their description if there were no other.

    By the items that all classes have in it; where they share fewer than two, all rows.
    """
    errors, used = bits.noise_counts(model).sum(axis=0), bits.used(model.Y).sum(axis=0)
    weights = bits.weights.items
    total = max(float(used.sum() + weights @ errors), 1.0)
    worth = weights * np.log(total / np.maximum(errors, 0.5))
    carriers = np.ones(model.Y.shape, dtype=bool)
    for s in np.flatnonzero(weights @ model.X >= 2):
        shared = model.X[:, s]
        carriers[:, s] = bits.weigh(shared, worth) > np.log(total / max(used[s], 1))
    return carriers


def score_model(
    bits: BitMatrix,
    model: BinaryModel,
    use: Floats | None = None,
    alpha: float = 0.01,
    typical: Sequence[int] = (),
    known: tuple[Floats, Bools] | None = None,
    users: Bools | None = None,
) -> PatternScores:
    """Return the evidence, the gain and the claims of every part of a model.

    ``use``, (c, r), are the tests of use by the classes of the labels, where the search knew only one; ``typical`` are
    the numbers of typical rows. ``known`` is the evidence of a search by likelihood, (r,), and whether items go
    together within classes. ``users``, (m, r), are the rows among which is tested what classes add; by default those
    that carry a pattern.
    """
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)), alpha=alpha)
    local.add(model, typical)
    if use is None:
        strata = size_strata(bits.row_sizes, bits.weights.rows)
        rows = np.repeat(np.arange(bits.shape[0]), bits.weights.rows)
        numbers = np.repeat(np.arange(len(bits.blocks)), [block.stop - block.start for block in bits.blocks])
        use = use_log_p(find_carriers(bits, model)[rows], numbers[rows], len(bits.blocks), strata[rows])
    adding = np.stack([V.any(axis=0) for V in model.V]) & (bits.used(model.Y).sum(axis=0) > 0)
    added, tested_parts = np.zeros((model.rank, len(adding))), np.flatnonzero(adding.any(axis=0))
    if users is None:
        added[tested_parts] = local.added_log_p(tested_parts.tolist())
    else:
        for s in tested_parts.tolist():
            added[s] = added_log_p(bits, model, s, users[:, s], alpha)
    tested = Tested(
        together=np.array([local.together(s) for s in range(model.rank)])
        if known is None
        else np.where(known[1], known[0], 0),
        choice=np.array([local.item_choice(s) for s in range(model.rank)]),
        use=use,
        added=added.T,
        adding=adding,
    )
    scores = tested.scores(*gains(bits, model), float(np.log(alpha)))
    return scores if known is None else replace(scores, evidence=known[0])


def _use_by_size(rows: BinaryMatrix, users: Bools, shared: Bools, labels: Labels) -> Floats:
    """Test that classes use patterns more than others, (c, r), among rows with about as many other items."""
    sizes = np.asarray(rows.sum(axis=1)).ravel().astype(np.int64)
    varies = vary_in_size(sizes, np.asarray(rows.sum(axis=0)).ravel())
    once, found = np.ones(len(sizes), dtype=np.int64), []
    for used, items in zip(users.T, shared, strict=True):
        own = np.asarray(rows[:, np.flatnonzero(items)].sum(axis=1)).ravel().astype(np.int64)
        others = sizes - own if varies else sizes
        found.append(use_log_p(used[:, None], labels.numbers, labels.n_classes, size_strata(others, once))[:, 0])
    return np.array(found).reshape(-1, labels.n_classes).T


def added_log_p(bits: BitMatrix, model: BinaryModel, s: int, users: Bools, alpha: float) -> Floats:
    """Test what every class adds to pattern ``s``, (c,), among the rows that use it; no row stands for several."""
    items = np.flatnonzero(~model.X[:, s])
    added = model.V[:, items, s]
    columns = bits.layout.unpack(bits.columns[items])
    cells = columns[:, users].T
    numbers = np.repeat(np.arange(len(bits.blocks)), [block.stop - block.start for block in bits.blocks])
    sizes = np.zeros(int(users.sum()), dtype=np.int64)
    if vary_in_size(bits.row_sizes, bits.weights.items * bits.item_counts):
        sizes = bits.row_sizes[users] - cells[:, added.any(axis=0)].sum(axis=1)
    c, rest = len(added), columns[:, ~users]
    ones = np.stack([rest[:, numbers[~users] == a].sum(axis=1) for a in range(c)])
    elsewhere = ones, np.bincount(numbers[~users], minlength=c)
    return alteration_log_p(cells, numbers[users], added, sizes, alpha, elsewhere)


def gains(bits: BitMatrix, model: BinaryModel) -> tuple[Floats, Floats]:
    """Return what every pattern saves, (r,), and what every class saves by what it adds to it, (c, r)."""
    return _in_one_block(bits, model).gains()


def pattern_densities(bits: BitMatrix, model: BinaryModel) -> NDArray[np.float64]:
    """Return the share of ones among the cells of every pattern, (r,), never quite 0 or 1."""
    used, weights = bits.used(model.Y), bits.weights.items
    density = np.empty(model.rank)
    for s, rows in enumerate(bits.layout.pack(model.Y.T)):
        carried = model.X[:, s] | model.V[:, :, s]
        items = np.flatnonzero(carried.any(axis=0))
        ones = (bits.hits(rows, items) * carried[:, items]) @ weights[items]
        density[s] = (ones.sum() + 0.5) / ((used[:, s] * (carried @ weights)).sum() + 1.0)
    return density


def _in_one_block(bits: BitMatrix, model: BinaryModel) -> WideModel:
    whole = WideModel(LocalExecutor([ItemBlock(bits)]), bits.layout)
    whole.take(model)
    return whole


def collect(
    solution: Solution,
    data: StackedMatrix,
    bits: BitMatrix,
    rows: BinaryMatrix,
    labels: Labels,
    fold: bool,
    alpha: float = 0.01,
) -> Found:
    """Return the model of a search in memory with its scores and the counts that the tables need.

    The search knew the classes of ``data``, which may be one; the counts are by those of ``labels``. The rows are
    sorted by their content.
    """
    model, null = solution.model, null_length(bits)
    carriers = (find_carriers(bits, model) if solution.carriers is None else solution.carriers)[data.row_of]
    sizes = bits.row_sizes[data.row_of]
    strata = size_strata(sizes, np.ones(len(sizes), dtype=np.int64))
    if solution.carriers is None:
        use = use_log_p(carriers, labels.numbers, labels.n_classes, strata)
    else:
        use = _use_by_size(rows, solution.carriers[data.row_of], model.X[data.item_of].T, labels)
    known = None if solution.evidence is None or solution.within is None else (solution.evidence, solution.within)
    users, usage = solution.carriers, model.Y[data.row_of]
    scores = score_model(bits, model, use, alpha, solution.typical, known, users)
    if labels.n_classes > len(data.blocks):
        # The search knew one class, so no class alters anything.
        data = StackedMatrix.from_rows(rows, labels.numbers, labels.n_classes, fold=fold)
        bits = BitMatrix(data.matrix, data.blocks, data.weights)
        no_alterations = np.zeros((labels.n_classes, *model.X.shape), dtype=bool)
        model = BinaryModel(model.X, no_alterations, usage[data.order])
    items = ItemCounts.of(bits, model, data.item_of)
    # Without patterns the same to the last digit, whatever summed it up.
    length = solution.length if model.rank else null
    run = solution.score, solution.n_iter, solution.history
    return Found(
        length,
        *run,
        null,
        scores,
        items,
        usage,
        labels.count(carriers),
        np.arange(len(usage)),
        solution.finished,
        solution.within,
    )
