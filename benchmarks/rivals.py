"""Other methods on the tables of `benchmarks.power`, as fits.

- fpgrowth: frequent sets of up to three items (mlxtend), Fisher's test of each for each class, q-values by Benjamini
  and Hochberg; of those that pass, the distinct ones in the order of their p-values.
- diffnorm: `saltmine.DiffNorm`, at most a minute.
- paper: `CSalt` with the published algorithm, at most a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, hypergeom

from benchmarks import power
from benchmarks.figures import LEVEL, Figures, Fit, Part, items_of, of_cases
from experiments.experiment import Row
from saltmine import CSalt, DiffNorm
from saltmine.arrays import Bools, Floats

MIN_SUPPORT, MAX_ITEMS = 0.1, 3
MAX_TIME = 60.0


def fit_itemsets(X: Bools, y: NDArray[Any], seed: int) -> Any:
    """Return the frequent sets that differ between classes, as a model without alterations."""
    from mlxtend.frequent_patterns import fpgrowth

    found = fpgrowth(pd.DataFrame(X), min_support=MIN_SUPPORT, max_len=MAX_ITEMS)["itemsets"]
    sets = [np.array(sorted(items)) for items in found if len(items) > 1]
    usage = np.stack([X[:, items].all(axis=1) for items in sets], axis=1) if sets else np.zeros((len(X), 0), dtype=bool)
    labels = np.unique(y)
    p = np.stack([_enriched(usage, y == label) for label in labels])
    q = false_discovery_control(p.ravel()).reshape(p.shape) if p.size else p
    passing = [s for s in np.argsort(p.min(axis=0), kind="stable") if q[:, s].min() <= LEVEL]
    components = np.zeros((len(sets), X.shape[1]), dtype=bool)
    for s, items in enumerate(sets):
        components[s, items] = True
    of_items = {items_of(components[s]): int(s) for s in passing}
    kept = [of_items[items] for items in power.distinct(of_items)]
    return SimpleNamespace(
        components_=components[kept],
        alterations_=np.zeros((len(labels), len(kept), X.shape[1]), dtype=bool),
        usage_=usage[:, kept],
        use_q_values_=q[:, kept],
    )


def _enriched(usage: Bools, inside: Bools) -> Floats:
    """Return the p-values of Fisher's test that more rows inside use a set."""
    used = usage.sum(axis=0)
    return np.asarray(hypergeom.sf(usage[inside].sum(axis=0) - 1, len(usage), used, inside.sum()))


def fit_diffnorm(X: Any, y: Any, seed: int) -> Any:
    return DiffNorm(max_time=MAX_TIME).fit(X, y)


def fit_paper(X: Any, y: Any, seed: int) -> Any:
    return CSalt(random_state=seed, algorithm="paper", max_time=MAX_TIME).fit(X, y)


RIVALS: dict[str, Fit] = {"fpgrowth": fit_itemsets, "diffnorm": fit_diffnorm, "paper": fit_paper}
CASES = tuple(f"{rival}, {what}" for rival in RIVALS for what in ("tables", *power.COLUMNS))


def measure_rivals(fit: Fit, case: str, seed: int, data: Path) -> Row:
    rival, what = case.split(", ")
    measure = power.measure_clinical if what == "tables" else power.measure_narrow
    return measure(RIVALS[rival], what, seed, data)


def figures_of_rivals(runs: Sequence[Row]) -> Figures:
    figures: Figures = {}
    for case, of in of_cases(runs).items():
        rival, what = case.split(", ")
        summarise = power.figures_of_clinical if what == "tables" else power.figures_of_narrow
        found = summarise([{**run, "case": what} for run in of])
        figures |= {f"{rival}, {'clinical' if what == 'tables' else what}: {name}": found[name] for name in found}
    return figures


PART = Part(
    "Rivals on clinical and narrow tables",
    measure_rivals,
    figures_of_rivals,
    {case: 4 if case.startswith("paper") else 12 for case in CASES},
    {case: 2 for case in CASES if not case.startswith("paper")},
)
