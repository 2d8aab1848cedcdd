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
from saltmine.mdl.class_tests import Claims, make_claims
from saltmine.mdl.code_length import NO_CODE, ONES, OPEN_ONES, OPEN_ZEROS, Costs, specificity
from saltmine.mdl.evidence import EvidenceSums, add_item_evidence, count_items, min_item_evidence


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

    evidence: Floats  # (2, R, 2): see `EvidenceSums`
    items: Ints  # (2, R, 1 + c)
    codes: Floats  # (2, R, 1 + c)
    without: Floats  # (R, 3): what leaving out the pattern adds to the code of the errors
    without_added: Floats  # (R, c, 3): the same for what a class adds


def make_model_sums(rank: int, n_classes: int) -> ModelSums:
    """Return sums of nothing."""
    counts = [np.zeros((rank, *shape), dtype=np.int64) for shape in ((), (), (n_classes,), (n_classes,), (), ())]
    return ModelSums(np.zeros(3), np.zeros(rank), np.zeros((rank, 1 + n_classes)), *counts)


def make_score_sums(rank: int, n_classes: int) -> ScoreSums:
    """Return sums of nothing."""
    return ScoreSums(
        np.zeros((2, rank, 2)),
        np.zeros((2, rank, 1 + n_classes), dtype=np.int64),
        np.zeros((2, rank, 1 + n_classes)),
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
    """An item in a pattern: its errors with and without the pattern, and its evidence."""

    errors: int
    without: int
    evidence: float


@compiled(forceinline=True)
def add_to_scores(
    costs: Costs, i: int, cells: Ints, j: int, carriers: Bools, item: ItemState, least: float, s: int, sums: ScoreSums
) -> None:
    """Add item i, which some class carries in pattern ``s``, to the sums; it is number j of ``cells``.

    It is strong if its evidence reaches ``least``.
    """
    c, weight, n_carriers = len(carriers), costs.weights[i], 0
    for a in range(c):
        n_carriers += carriers[a]
    of_items = EvidenceSums(sums.evidence, sums.items, sums.codes)
    add_item_evidence(of_items, s, weight, costs.codes[i], item.evidence, least, carriers, n_carriers)
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
    costs: Costs, cells: Ints, carry: Bools, shown: Floats, errors: Ints, without: Ints, s: int, sums: ScoreSums
) -> None:
    """Add all items of pattern ``s`` to the sums, from the counts of its cells, (3, c, n), and their evidence, (n,)."""
    items = count_items(costs, carry)
    for i in range(carry.shape[1]):
        if carry[:, i].any():
            item = ItemState(errors[i], without[i], shown[i])
            least = min_item_evidence(costs.codes[i], items)
            add_to_scores(costs, i, cells, i, carry[:, i], item, least, s, sums)


@dataclass(frozen=True)
class PatternScores:
    """Evidence and gain of every pattern, (r,), and the gain of what every class adds to it, (c, r), in nats.

    A gain is f without the part minus f with it, all else left as it is; NaN where a class adds nothing.
    """

    evidence: Floats
    gain: Floats
    alteration_gain: Floats
    claims: Claims

    @property
    def alteration_evidence(self) -> Floats:
        """The evidence for what every class adds, (c, r): minus the logarithm of its q-value.

        With many rows that is too small for a number; the evidence then is that of the smallest.
        """
        return -np.log(np.maximum(self.claims.added_q, np.finfo(np.float64).tiny))

    def keep(self, patterns: NDArray[np.intp]) -> PatternScores:
        """Return the scores of these patterns, in this order."""
        gains = self.gain[patterns], self.alteration_gain[:, patterns]
        return PatternScores(self.evidence[patterns], *gains, self.claims.keep(patterns))


class Tested(NamedTuple):
    """What the tests of a model say; logarithms of p-values are (c, r)."""

    together: Floats  # (r,): evidence that the items of a pattern go together
    choice: Floats  # (r,): what the choice of its items costs
    use: Floats  # that classes use a pattern more than the others, by the classes of the labels
    added: Floats  # what classes add, by those of the search, which may have known one class only
    adding: Bools  # (c, r): where they add anything

    def scores(self, gain: Floats, added_gain: Floats, log_alpha: float) -> PatternScores:
        """Return the scores of all patterns.

        A pattern whose items go together was found without the labels; of any other, the choice of items has to be
        paid for before its use says anything about classes.
        """
        c, added, adding = len(self.use), np.zeros(self.use.shape), np.zeros(self.use.shape, dtype=bool)
        added[: len(self.added)], adding[: len(self.adding)] = self.added, self.adding
        choice = np.where(self.together >= -log_alpha, 0.0, self.choice)
        evidence = self.together
        if len(self.added) > 1:
            evidence = np.maximum(evidence, -self.use.min(axis=0) - self.choice - np.log(c))
        return PatternScores(evidence, gain, added_gain, make_claims(self.use, choice, added, adding))


def model_length(used: Ints, sums: ModelSums, *, printed: bool) -> float:
    """Return f, with S as the paper prints it or as the search weighs it; ``used``, (R, c), counts rows."""
    counted = code_length.count_lengths(int(used.sum(axis=1).max(initial=0)))
    return _length(counted, used.sum(axis=1), sums.table.sum(axis=1) if printed else sums.extra, sums.code)


def null_length(costs: Costs, item_counts: Ints) -> float:
    """Return f of the model without patterns."""
    return float(code_length.description_length(code_length.errors_code(costs, item_counts, NO_CODE)))


def gains(used: Ints, sums: ModelSums, scores: ScoreSums) -> tuple[Floats, Floats]:
    """Return what every pattern saves, (R,), and what every class saves by what it adds to it, (c, R)."""
    rank, c = used.shape
    total, table = used.sum(axis=1), sums.table.sum(axis=1)
    counted = code_length.count_lengths(int(total.max(initial=0)))
    length = _length(counted, total, table, sums.code)
    gain, added = np.zeros(rank), np.full((c, rank), np.nan)
    for s in np.flatnonzero(total).tolist():
        without = total.copy()
        without[s] = 0
        gain[s] = _length(counted, without, table, sums.code + scores.without[s]) - length
        for a in np.flatnonzero(scores.items[0, s, 1:]):
            shorter = table.copy()
            shorter[s] -= sums.table[s, 1 + a]
            added[a, s] = _length(counted, total, shorter, sums.code + scores.without_added[s, a]) - length
    return gain, added


def _length(counted: Floats, used: Ints, extra: Floats, errors: Floats) -> float:
    code = np.array(code_length.patterns_code(counted, used, extra)) + errors
    return float(code_length.description_length((float(code[0]), float(code[1]), float(code[2]))))
