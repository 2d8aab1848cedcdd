"""A fit against another one on the same data in the same process: that of an older revision, or one of NMF."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.claims import PLANTED, load
from benchmarks.speed.older import older_package
from benchmarks.speed.timing import cpu_timed, least_seconds
from experiments import planted as planted_experiment
from experiments.experiment import Row
from experiments.measuring import alternating_times
from experiments.simulated_genomes import simulate_genomes
from saltmine import CSalt
from saltmine.comparison import load_compiled
from saltmine.datasets import make_class_patterns, make_planted

RANK, COLUMNS, ROWS = 24, 800, 1000
# Just below the columns of 56 rows that are searched without drawing a sample.
GENOME, GENOME_BASES = "56 x 40000 genome", 3e7
ROUNDS = 2
MANY_CLASSES = 41


def read_case(name: str, seed: int, data: Path) -> tuple[Any, Any]:
    """Return rows and labels of a table, a corpus, a planted matrix or a small genome."""
    if name == GENOME:
        genomes = simulate_genomes(GENOME_BASES, random_state=seed)
        return genomes.X, genomes.y
    if name in PLANTED:
        usual = {**planted_experiment.USUAL, "columns": COLUMNS, "rows": ROWS}
        made = planted_experiment.plant({**usual, **PLANTED[name], "seed": seed})
        return made.X, made.y
    X, y, _ = load(name, data)
    return X, y


def against_older(name: str, seed: int, data: Path) -> Row:
    """Compare seconds and patterns with those of the older revision."""
    X, y = read_case(name, seed, data)
    makers: list[Callable[..., Any]] = [older_package().CSalt, CSalt]
    models: list[Any] = [None, None]

    def fit(k: int) -> None:
        models[k] = makers[k](random_state=seed).fit(X, y)

    _load_both()
    # A part of the same data comes first: some code is compiled, or loaded, for data of its kind only.
    for make in makers:
        few = np.arange(0, X.shape[0], max(1, X.shape[0] // 200))
        make(random_state=seed).fit(X[few][:, : COLUMNS * 4], y[few])
    before, after = least_seconds([partial(fit, 0), partial(fit, 1)], ROUNDS)
    patterns = [int(model.n_components_) for model in models]
    return {
        "before": round(before.clock, 3),
        "after": round(after.clock, 3),
        "cpu_before": round(before.cpu, 3),
        "cpu_after": round(after.cpu, 3),
        "patterns_before": patterns[0],
        "patterns": patterns[1],
    }


@lru_cache(maxsize=1)
def _load_both() -> None:
    small = make_planted(30, [20, 20], rank=2, noise=0.02, random_state=0)
    for make in (older_package().CSalt, CSalt):
        make(random_state=0).fit(small.X, small.y)


def against_nmf(name: str, seed: int, data: Path) -> Row:
    """Compare the seconds of a fit with those of NMF, which is told the rank."""
    load_compiled("csalt")
    planted = make_planted(COLUMNS, [ROWS // 2, ROWS // 2], RANK, random_state=seed)
    dense = planted.X.astype(np.float64)
    nmf = NMF(RANK, solver="cd", init="nndsvd", random_state=seed)
    works = [partial(CSalt(random_state=seed).fit, planted.X, planted.y), partial(nmf.fit_transform, dense)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, theirs = map(statistics.median, alternating_times(works, 3))
    return {"seconds": round(ours, 4), "nmf": round(theirs, 4)}


def transforming(name: str, seed: int, data: Path) -> Row:
    """Compare `transform` of new rows, whose classes it is not told, with the fit of as many."""
    load_compiled("csalt")
    rows, columns = (int(size.replace(",", "")) for size in name.split(" x "))
    of_a_class = 2 * max(1, rows // MANY_CLASSES)
    made = make_class_patterns(
        MANY_CLASSES, of_a_class, columns, n_patterns=5, random_items=5, wrong_labels=0, random_state=seed
    )
    first = np.arange(len(made.y)) % 2 == 0
    model, fitting = cpu_timed(lambda: CSalt(random_state=seed).fit(made.X[first], made.y[first]))
    _, transforming = cpu_timed(lambda: model.transform(made.X[~first]))
    found = int(model.n_components_)
    return {"rows": int(first.sum()), "patterns": found, "fit": round(fitting, 3), "transform": round(transforming, 3)}
