"""What the baselines share: the parameters that each of them has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saltmine.estimators.base import PatternModel
from saltmine.progress import Listener


@dataclass(kw_only=True, eq=False, repr=False)
class Baseline(PatternModel):
    """Base of the methods that C-Salt is compared with; most of them describe classes."""

    _knows_classes: ClassVar[bool] = True

    binarize: float | None = None
    verbose: int = 0
    callback: Listener | None = None
