"""The paper's experiments: ``python -m experiments`` runs them and makes figures and tables of the stored runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.experiment import Experiment

#: The experiments in the paper's order, and their modules, which are imported when they are needed.
EXPERIMENTS = {
    "noise": "experiments.planted",
    "imbalance": "experiments.planted",
    "rank": "experiments.planted",
    "classes": "experiments.planted",
    "text": "experiments.text",
    "genome": "experiments.genome",
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
