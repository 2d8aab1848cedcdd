"""The paper's experiments on planted data: noise, class sizes, rank, and more classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Row, Task
from experiments.measuring import timed
from saltmine.comparison import load_compiled
from saltmine.datasets import Planted, make_planted, membership_of
from saltmine.methods import make
from saltmine.metrics import (
    alteration_precision,
    alteration_recall,
    class_rank,
    description_length,
    f_measure,
    for_every_class,
)

#: Columns and rows, as the paper lists them; two matrices of each. Nothing was tuned on seeds from the first on.
SHAPES = ((500, 1600), (1600, 500), (800, 1000), (1000, 800))
FIRST_SEED, MATRICES, QUICK_MATRICES = 5000, 8, 4
USUAL: dict[str, Any] = {"classes": 2, "share": 0.5, "rank": 24, "noise": 0.1}

#: Curves: how they are called, and the method of `saltmine.methods`.
CURVES = {
    "csalt": ("C-Salt", "csalt"),
    "paper": ("C-Salt as published", "paper"),
    "primp": ("Primp", "primp"),
    "dbssl-shared": ("Dbssl, true ranks", "dbssl"),
    "dbssl-own": ("Dbssl, classes only", "dbssl"),
    "mdldbssl": ("MdlDbssl", "mdldbssl"),
}
# The paper runs MdlDbssl where the rank is varied only: elsewhere Dbssl is told the rank.
TOLD = ("csalt", "paper", "primp", "dbssl-shared", "dbssl-own")


@dataclass(frozen=True)
class Series:
    """One experiment: what is varied, and the points that are measured."""

    name: str
    title: str
    varied: str
    label: str
    points: tuple[float, ...]
    quick: tuple[float, ...]
    classes: tuple[int, ...] = (2,)
    methods: tuple[str, ...] = TOLD


SERIES = {
    series.name: series
    for series in (
        Series("noise", "Noise", "noise", "noise p", (0.0, 0.05, 0.1, 0.15, 0.2, 0.25), (0.0, 0.1, 0.2)),
        Series(
            "imbalance",
            "Classes of different size",
            "share",
            "share of the first class in the rows",
            (0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
            (0.05, 0.2, 0.5),
        ),
        Series(
            "rank",
            "Number of planted patterns",
            "rank",
            "planted patterns r*",
            (6, 15, 24, 33, 45),
            (6, 24, 45),
            methods=tuple(CURVES),
        ),
        Series(
            "classes",
            "Three and four classes",
            "noise",
            "noise p",
            (0.0, 0.1, 0.2, 0.25),
            (0.0, 0.1, 0.2),
            classes=(3, 4),
        ),
    )
}


def tasks_of(series: Series, quick: bool) -> list[Task]:
    """Return what to measure: one matrix of every shape at all points, then the second ones."""
    # With twice the points, half the matrices.
    chosen = range(0, QUICK_MATRICES, len(series.classes)) if quick else range(MATRICES)
    rounds = [[k for k in chosen if k // len(SHAPES) == again] for again in range(MATRICES // len(SHAPES))]
    return [
        {
            "method": method,
            **USUAL,
            "classes": classes,
            series.varied: point,
            "columns": SHAPES[k % len(SHAPES)][0],
            "rows": SHAPES[k % len(SHAPES)][1],
            "seed": FIRST_SEED + k,
        }
        for matrices in rounds
        for classes in series.classes
        for point in (series.quick if quick else series.points)
        for k in matrices
        for method in series.methods
    ]


def plant(task: Task) -> Planted:
    """Generate the matrix of a task."""
    rows, classes = task["rows"], task["classes"]
    if classes == 2:
        first = round(task["share"] * rows)
        sizes = [first, rows - first]
    else:
        sizes = [len(part) for part in np.array_split(np.arange(rows), classes)]
    return make_planted(task["columns"], sizes, task["rank"], noise=task["noise"], random_state=task["seed"])


def ranks_told(curve: str, rank: int, classes: int) -> dict[str, Any]:
    """Return what a method is told of the planted ranks.

    The one setting of Dbssl counts alterations as patterns of their class: of 24 patterns of two classes 8 are shared
    and altered, so each class has 8 of its own and 8 alterations, [8, 16, 16]. The other counts all as patterns of the
    classes. MdlDbssl chooses among the paper's constellations.

    Examples
    --------
    >>> ranks_told("dbssl-shared", 24, 2), ranks_told("dbssl-own", 24, 2), ranks_told("csalt", 24, 2)
    ({'ranks': (8, 16, 16)}, {'ranks': (0, 24, 24)}, {})
    """
    if curve == "dbssl-shared":
        uses = membership_of(None, classes, rank)
        common, several = uses.all(axis=0), uses.sum(axis=0) > 1
        own = [int((used & ~common).sum() + (used & several).sum()) for used in uses]
        return {"ranks": (int(common.sum()), *own)}
    if curve == "dbssl-own":
        return {"ranks": (0, *[rank] * classes)}
    if curve == "mdldbssl":
        third = rank // 3
        shared = sorted({max(third + step, 0) for step in (-5, 0, 5)})
        return {"constellations": [(r0, *[k * third] * classes) for r0 in shared for k in (1, 2, 4)]}
    return {}


def true_length(planted: Planted) -> float:
    """Return the description length of the planted model: f*."""
    return description_length(planted.X, planted.y, planted.components, planted.alterations, planted.usage)


def measure(task: Task, data: Path | None = None) -> Row:
    """Fit a method to a matrix and compare what it finds with what was planted."""
    planted = plant(task)
    method = CURVES[task["method"]][1]
    load_compiled(method)
    model = make(method, random_state=task["seed"], **ranks_told(task["method"], task["rank"], task["classes"]))
    _, seconds = timed(lambda: model.fit(planted.X, planted.y))
    alterations = for_every_class(model.alterations_, task["classes"])
    found = description_length(planted.X, planted.y, model.components_, alterations, model.usage_)
    recall, precision = alteration_recall(planted, model), alteration_precision(planted, model)
    return {
        "F": f_measure(planted, model),
        "rec_V": None if np.isnan(recall) else recall,
        "pre_V": None if np.isnan(precision) else precision,
        "r": float(class_rank(model).mean()),
        "planted r": float(class_rank(planted).mean()),
        "patterns": int(model.n_components_),
        "f/f*": found / true_length(planted),
        "seconds": seconds,
    }


def _write(series: Series, rows: Sequence[Row], folder: Path) -> str:
    from experiments.planted_page import write

    return write(series, rows, folder)


NOISE, IMBALANCE, RANK, CLASSES = (
    Experiment(series.name, series.title, partial(tasks_of, series), measure, partial(_write, series))
    for series in SERIES.values()
)
