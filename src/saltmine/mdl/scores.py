"""Scores of a model from sums over its items: f, the evidence for every part, and what each part saves.

The sums of blocks of columns add up, so that no block needs to know the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints
from saltmine.compiled import compiled
from saltmine.mdl import code_length
from saltmine.mdl.code_length import NO_CODE, ONES, OPEN_ONES, OPEN_ZEROS, Costs, specificity
from saltmine.mdl.evidence import EvidenceSums, add_item_evidence, evidence_from_sums, log_likelihood_ratio


class ModelSums(NamedTuple):
    """What f and the choice of rows need of all items."""

    code: Floats  # (3,): code of the errors
    extra: Floats  # (R,): code table and specificity of every pattern, as the search weighs it
    table: Floats  # (R, 1 + c): code table and S as printed, of the shared part and of what each class adds
    items: Ints  # (R,): items that any class carries
    shared: Ints  # (R,): items that all classes carry
    carried: Ints  # (R, c): items of every class
    alone: Ints  # (R, c): items of one class only
    open_ones: Ints  # (R,): cells that no other pattern covers
    open_zeros: Ints  # (R,)


class ScoreSums(NamedTuple):
    """What the scores need of all items beside `ModelSums`."""

    evidence: Floats  # (2, R): see `EvidenceSums`
    shared: Ints  # (2, R)
    added: Ints  # (2, R, c)
    class_evidence: Floats  # (R, c): evidence of the items in every class
    without: Floats  # (R, 3): what leaving out the pattern adds to the code of the errors
    without_added: Floats  # (R, c, 3): the same for what a class adds


def make_model_sums(rank: int, n_classes: int) -> ModelSums:
    """Return sums of nothing."""
    counts = [np.zeros((rank, *shape), dtype=np.int64) for shape in ((), (), (n_classes,), (n_classes,), (), ())]
    return ModelSums(np.zeros(3), np.zeros(rank), np.zeros((rank, 1 + n_classes)), *counts)


def make_score_sums(rank: int, n_classes: int) -> ScoreSums:
    """Return sums of nothing."""
    return ScoreSums(
        np.zeros((2, rank)),
        np.zeros((2, rank), dtype=np.int64),
        np.zeros((2, rank, n_classes), dtype=np.int64),
        np.zeros((rank, n_classes)),
        np.zeros((rank, 3)),
        np.zeros((rank, n_classes, 3)),
    )


@compiled(forceinline=True)
def add_to_model(
    costs: Costs, i: int, cells: Ints, j: int, carriers: Bools, used: Ints, s: int, sums: ModelSums
) -> None:
    """Add item i, which some class carries in pattern ``s``, to the sums; it is number j of ``cells``.

    ``used``, (c,), counts the rows of the pattern.
    """
    c, weight, n_carriers, met = len(carriers), costs.weights[i], 0, 0
    for a in range(c):
        n_carriers += carriers[a]
        met += cells[ONES, a, j]
    sums.items[s] += weight
    sums.shared[s] += weight * (n_carriers == c)
    if n_carriers == c:
        sums.table[s, 0] += weight * costs.codes[i]
        sums.extra[s] += weight * costs.codes[i]
    else:
        own = specificity(costs.cross, cells, j, carriers)
        sums.extra[s] += weight * (n_carriers * costs.codes[i] + own)
    for a in range(c):
        if carriers[a]:
            sums.carried[s, a] += weight
            sums.alone[s, a] += weight * (n_carriers == 1)
            sums.open_ones[s] += weight * cells[OPEN_ONES, a, j]
            sums.open_zeros[s] += weight * cells[OPEN_ZEROS, a, j]
            if n_carriers < c:
                # S as the paper prints it: zeros under the alteration in its class, and ones elsewhere.
                printed = used[a] + met - 2 * cells[ONES, a, j]
                sums.table[s, 1 + a] += weight * (costs.codes[i] + printed)


class ItemState(NamedTuple):
    """An item in a pattern: its errors with and without the pattern, and its frequency without it."""

    errors: int
    without: int
    background: float


class PatternState(NamedTuple):
    """A pattern: its density, exact and rounded, and the evidence of a strong item."""

    density: float
    rounded: float
    min_evidence: float


@compiled(forceinline=True)
def add_to_scores(
    costs: Costs,
    i: int,
    cells: Ints,
    j: int,
    carriers: Bools,
    item: ItemState,
    pattern: PatternState,
    s: int,
    sums: ScoreSums,
) -> None:
    """Add item i, which some class carries in pattern ``s``, to the sums; it is number j of ``cells``."""
    c, weight = len(carriers), costs.weights[i]
    ratio = log_likelihood_ratio(item.background, pattern.rounded)
    exact = log_likelihood_ratio(item.background, pattern.density)
    evidence, n_carriers = 0.0, 0
    for a in range(c):
        if carriers[a]:
            n_carriers += 1
            ones, zeros = cells[OPEN_ONES, a, j], cells[OPEN_ZEROS, a, j]
            evidence += ones * ratio[0] + zeros * ratio[1]
            sums.class_evidence[s, a] += weight * (ones * exact[0] + zeros * exact[1])
    of_items = EvidenceSums(sums.evidence, sums.shared, sums.added)
    add_item_evidence(of_items, s, weight, evidence, pattern.min_evidence, carriers, n_carriers)
    code_length.add_errors(costs, i, item.without, weight, sums.without[s])
    code_length.add_errors(costs, i, item.errors, -weight, sums.without[s])
    for a in range(c if n_carriers < c else 0):
        if carriers[a]:
            gain = cells[OPEN_ONES, a, j] - cells[OPEN_ZEROS, a, j]
            code_length.add_errors(costs, i, item.errors + gain, weight, sums.without_added[s, a])
            code_length.add_errors(costs, i, item.errors, -weight, sums.without_added[s, a])


@compiled()
def sum_pattern(costs: Costs, cells: Ints, carry: Bools, used: Ints, s: int, sums: ModelSums) -> None:
    """Add all items of pattern ``s`` to the sums, from the counts of its cells, (3, c, n)."""
    for i in range(carry.shape[1]):
        if carry[:, i].any():
            add_to_model(costs, i, cells, i, carry[:, i], used, s, sums)


@compiled()
def score_pattern(
    costs: Costs,
    cells: Ints,
    carry: Bools,
    background: Floats,
    errors: Ints,
    without: Ints,
    pattern: PatternState,
    s: int,
    sums: ScoreSums,
) -> None:
    """Add all items of pattern ``s`` to the sums, from the counts of its cells, (3, c, n)."""
    for i in range(carry.shape[1]):
        if carry[:, i].any():
            item = ItemState(errors[i], without[i], background[i])
            add_to_scores(costs, i, cells, i, carry[:, i], item, pattern, s, sums)


@dataclass(frozen=True)
class PatternScores:
    """Evidence and gain of every pattern, (r,), and of what every class adds to it, (c, r), in nats; tests of classes.

    A gain is f without the part minus f with it, all else left as it is. The evidence of what a class adds is
    ``-log(added_q)``. NaN where a class adds nothing.

    ``use_p`` and ``use_q``, (c, r), are p- and q-values of the test that a larger share of the rows of the class
    carries the pattern than of all other rows together; NaN where there is one class only. ``added_p`` and
    ``added_q``, (c, r), are those of the test that carriers of the class have the items that it adds, all of them
    together, more often than carriers of the other classes that do not add them; NaN where it adds nothing. One
    correction by Benjamini and Hochberg covers all uses and additions of the model.
    """

    evidence: Floats
    alteration_evidence: Floats
    gain: Floats
    alteration_gain: Floats
    use_p: Floats
    use_q: Floats
    added_p: Floats
    added_q: Floats

    def keep(self, patterns: NDArray[np.intp]) -> PatternScores:
        """Return the scores of these patterns, in this order."""
        return PatternScores(
            self.evidence[patterns],
            self.alteration_evidence[:, patterns],
            self.gain[patterns],
            self.alteration_gain[:, patterns],
            self.use_p[:, patterns],
            self.use_q[:, patterns],
            self.added_p[:, patterns],
            self.added_q[:, patterns],
        )


def model_length(used: Ints, sums: ModelSums, *, printed: bool) -> float:
    """Return f, with S as the paper prints it or as the search weighs it; ``used``, (R, c), counts rows."""
    counted = code_length.count_lengths(int(used.sum(axis=1).max(initial=0)))
    return _length(counted, used.sum(axis=1), sums.table.sum(axis=1) if printed else sums.extra, sums.code)


def null_length(costs: Costs, item_counts: Ints) -> float:
    """Return f of the model without patterns."""
    return float(code_length.description_length(code_length.errors_code(costs, item_counts, NO_CODE)))


def score(
    used: Ints, class_sizes: Ints, n_items: int, sums: ModelSums, scores: ScoreSums, alteration_evidence: Floats
) -> PatternScores:
    """Return the scores of all patterns; ``used``, (R, c), counts rows, ``alteration_evidence`` is (c, R)."""
    rank, c = used.shape
    total, table = used.sum(axis=1), sums.table.sum(axis=1)
    counted = code_length.count_lengths(int(total.max(initial=0)))
    length = _length(counted, total, table, sums.code)
    evidence, gain, added = np.zeros(rank), np.zeros(rank), np.full((c, rank), np.nan)
    of_items = EvidenceSums(scores.evidence, scores.shared, scores.added)
    for s in np.flatnonzero(total).tolist():
        evidence[s] = evidence_from_sums(of_items, s, n_items, class_sizes, used[s])
        without = total.copy()
        without[s] = 0
        gain[s] = _length(counted, without, table, sums.code + scores.without[s]) - length
        for a in np.flatnonzero(scores.added[0, s]):
            shorter = table.copy()
            shorter[s] -= sums.table[s, 1 + a]
            added[a, s] = _length(counted, total, shorter, sums.code + scores.without_added[s, a]) - length
    shown = np.where(np.isinf(alteration_evidence), np.nan, alteration_evidence)
    untested = np.full((c, rank), np.nan)
    return PatternScores(evidence, shown, gain, added, untested, untested, untested, untested)


def _length(counted: Floats, used: Ints, extra: Floats, errors: Floats) -> float:
    code = np.array(code_length.patterns_code(counted, used, extra)) + errors
    return float(code_length.description_length((float(code[0]), float(code[1]), float(code[2]))))
