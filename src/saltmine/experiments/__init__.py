"""The paper's experiments: `saltmine reproduce` runs them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltmine.experiments.experiment import Experiment

#: The experiments in the paper's order, and where they are; loaded when they are asked for.
EXPERIMENTS = {
    "noise": "saltmine.experiments.planted",
    "imbalance": "saltmine.experiments.planted",
    "rank": "saltmine.experiments.planted",
    "classes": "saltmine.experiments.planted",
    "text": "saltmine.experiments.text",
    "genome": "saltmine.experiments.genome",
}


def find(name: str) -> Experiment:
    """Return an experiment.

    Examples
    --------
    >>> find("noise").title
    'Noise'
    """
    module = import_module(EXPERIMENTS[name])
    found: Experiment = getattr(module, name.upper())
    return found
