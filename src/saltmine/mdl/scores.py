"""Scores of a model from sums over its items: f, the evidence for every part, and what each part saves.

The sums of blocks of columns add up, so that no block needs to know the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine import _core
from saltmine.arrays import Bools, Floats, Ints
from saltmine.mdl import code_length
from saltmine.mdl.class_tests import Claims, make_claims
from saltmine.mdl.code_length import Costs


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


def sum_pattern(costs: Costs, cells: Ints, carry: Bools, used: Ints, s: int, sums: ModelSums) -> None:
    """Add all items of pattern ``s`` to the sums, from the counts of its cells, (3, c, n).

    ``used``, (c,), counts the rows of the pattern.
    """
    _core.sum_pattern(costs, cells, carry, used, s, sums)


def score_pattern(
    costs: Costs, cells: Ints, carry: Bools, shown: Floats, errors: Ints, without: Ints, s: int, sums: ScoreSums
) -> None:
    """Add all items of pattern ``s`` to the sums, from the counts of its cells, (3, c, n), and their evidence, (n,).

    ``errors`` and ``without``, (n,), count the errors with and without the pattern.
    """
    _core.score_pattern(costs, cells, carry, shown, errors, without, s, sums)


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

    def of_classes(self, classes: NDArray[np.intp]) -> PatternScores:
        """Return the scores with the classes of the labels in this order."""
        # A search that took all classes for one has the gains of one.
        added = self.alteration_gain[classes] if len(self.alteration_gain) == len(classes) else self.alteration_gain
        return replace(self, alteration_gain=added, claims=self.claims.of_classes(classes))


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
    return float(_core.length_without_patterns(costs, item_counts))


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
    return float(_core.length_of_model(counted, used, extra, errors))
