"""The significance filter: parts of a model that chance explains are taken away.

One filter for all searches. A search says how much evidence there is for a part, and how a part is taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from saltmine.arrays import Bools, Floats


class ModelUnderTest(Protocol):
    """A model whose parts can be tested and taken away."""

    log_alpha: float

    def patterns(self) -> list[int]:
        """Return the numbers of the patterns there are."""

    def pattern_evidence(self, s: int) -> float:
        """Return the evidence for a pattern."""

    def class_evidence(self, s: int) -> Floats:
        """Return the evidence that every class uses a pattern, (c,); infinite where it does not."""

    def alteration_evidence(self, s: int) -> Floats:
        """Return the evidence for what every class adds to a pattern, (c,); infinite where it adds nothing."""

    def overlapping(self, s: int) -> list[int]:
        """Return the patterns whose evidence may change without this one."""

    def remove(self, s: int) -> None:
        """Take a pattern away."""

    def reduce(self, s: int, classes: Bools, *, use: bool) -> None:
        """Take away what these classes add to a pattern and, with ``use``, their use of it."""

    def update(self) -> None:
        """Bring figures of the whole model up to date after parts were taken away."""


def drop_insignificant(model: ModelUnderTest) -> bool:
    """Take away what chance explains: patterns, then the use of them by single classes, then what classes add.

    Returns whether anything was taken away.
    """
    # All three, whatever the others found.
    dropped = [drop_patterns(model), drop_class_use(model), drop_alterations(model)]
    return any(dropped)


def drop_until_significant(model: ModelUnderTest) -> None:
    """Take away until nothing is left that chance explains; nothing is added, so this ends."""
    while drop_insignificant(model):
        pass


def drop_patterns(model: ModelUnderTest) -> bool:
    """Take away the patterns that chance explains, the weakest first."""
    evidence = {s: model.pattern_evidence(s) for s in model.patterns()}
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


def drop_class_use(model: ModelUnderTest) -> bool:
    """Take away the use of patterns by single classes that chance explains."""
    return _drop_parts(model, model.class_evidence, use=True)


def drop_alterations(model: ModelUnderTest) -> bool:
    """Take away what classes add to patterns where chance explains it."""
    return _drop_parts(model, model.alteration_evidence, use=False)


def _drop_parts(model: ModelUnderTest, evidence_of: Callable[[int], Floats], use: bool) -> bool:
    dropped = False
    for s in model.patterns():
        weak = evidence_of(s) < -model.log_alpha
        if weak.any():
            model.reduce(s, weak, use=use)
            dropped = True
    model.update()
    return dropped
