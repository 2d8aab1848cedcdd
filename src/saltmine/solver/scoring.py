"""f and scores of a model in memory: one block of items, scored as those of wide data are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Ints
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import ItemCounts, find_carriers
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.mdl import code_length as code_lengths
from saltmine.mdl.code_length import errors_code, make_costs, patterns_code
from saltmine.mdl.scores import PatternScores
from saltmine.solver.executor import LocalExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.simple_tests import with_simple_tests
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


def score_model(bits: BitMatrix, model: BinaryModel) -> PatternScores:
    """Return the evidence and the gain of every part of a model."""
    return _in_one_block(bits, model).scores()


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
    solution: Solution, data: StackedMatrix, bits: BitMatrix, rows: BinaryMatrix, labels: Labels, fold: bool
) -> Found:
    """Return the model of a search in memory with its scores and the counts that the tables need.

    The search knew the classes of ``data``; the counts are by those of ``labels``.
    """
    model, scores, null = solution.model, score_model(bits, solution.model), null_length(bits)
    usage = model.Y[data.row_of]
    if labels.n_classes > len(data.blocks):
        # The search knew one class, so no class alters anything.
        data = StackedMatrix.from_rows(rows, labels.numbers, labels.n_classes, fold=fold)
        bits = BitMatrix(data.matrix, data.blocks, data.weights)
        no_alterations = np.zeros((labels.n_classes, *model.X.shape), dtype=bool)
        model = BinaryModel(model.X, no_alterations, usage[data.order])
    carriers = find_carriers(bits, model)
    items = ItemCounts.of(bits, model, data.item_of)
    carrier_counts = bits.used(carriers)
    sizes = np.bincount(labels.numbers, minlength=labels.n_classes)
    scores = with_simple_tests(scores, items, sizes, carrier_counts, labels.count(usage))
    # Without patterns the same to the last digit, whatever summed it up.
    length = solution.length if model.rank else null
    run = solution.score, solution.n_iter, solution.history
    return Found(length, *run, null, scores, items, usage, carrier_counts)
