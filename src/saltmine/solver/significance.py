"""The significance filter: parts of a model that chance explains are taken away.

One filter for all searches. A search says how much evidence there is for a part, and how a part is taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from saltmine.arrays import Bools, Floats


class ChosenItems(Protocol):
    """A model whose patterns have items that were chosen among many."""

    log_alpha: float

    def item_choice(self, s: int) -> float:
        """Return what the choice of the items that all classes carry costs."""


class ModelUnderTest(ChosenItems, Protocol):
    """A model whose parts can be tested and taken away."""

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns there are."""

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence for a pattern: that its items go together, or that classes differ in its use.

        Where one is enough, the other may be left out.
        """

    def evidence_of_all(self, patterns: list[int]) -> list[float]:
        """Return the evidence for each of these patterns."""

    def together(self, s: int) -> float:
        """Return the evidence that the items of a pattern go together."""

    def claim_evidence(self) -> Floats:
        """Return the evidence for what every class adds to every pattern, (R, c); infinite where it adds nothing."""

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns whose evidence may change without this one."""

    def remove(self, s: int) -> None:
        """Take a pattern away."""

    def make_alike(self, s: int, classes: Bools) -> None:
        """Let these classes have no items of their own in a pattern, for good."""

    def update(self) -> None:
        """Bring figures of the whole model up to date after parts were taken away."""


def choices_to_pay(model: ChosenItems, patterns: list[int], together: Sequence[float] | Floats) -> Floats:
    """Return what these patterns pay for the choice of their items before their use says anything about classes.

    Nothing where the items go together: those were found without the labels. ``together`` is the evidence for that.
    """
    is_shown = [shown >= -model.log_alpha for shown in together]
    choices = [0.0 if shown else model.item_choice(s) for s, shown in zip(patterns, is_shown, strict=True)]
    return np.array(choices, dtype=np.float64)


def drop_insignificant(model: ModelUnderTest) -> bool:
    """Take away what is not shown: patterns, then what classes add to them.

    Returns whether anything was taken away.
    """
    # Both, whatever the first found.
    dropped = [drop_patterns(model), drop_alterations(model)]
    return any(dropped)


def drop_until_significant(model: ModelUnderTest) -> None:
    """Take away until nothing is left that is not shown; what was taken away does not come back, so this ends."""
    while drop_insignificant(model):
        pass


def drop_patterns(model: ModelUnderTest) -> bool:
    """Take away the patterns that chance explains, the weakest first."""
    on = model.patterns()
    evidence = dict(zip(on, model.evidence_of_all(on), strict=True))
    dropped = False
    while evidence and min(evidence.values()) < -model.log_alpha:
        weakest = min(evidence, key=evidence.__getitem__)
        overlapping = model.overlapping(weakest)
        model.remove(weakest)
        model.update()
        del evidence[weakest]
        # Cells that two patterns shared are now evidence for one.
        evidence |= {s: model.pattern_evidence(s) for s in overlapping if s in evidence}
        dropped = True
    return dropped


def drop_alterations(model: ModelUnderTest) -> bool:
    """Make classes alike where the data does not show that they differ."""
    weak = model.claim_evidence() < -model.log_alpha
    for s in np.flatnonzero(np.logical_or.reduce(weak, axis=1)).tolist():
        model.make_alike(s, weak[s])
    model.update()
    return bool(weak.any())
