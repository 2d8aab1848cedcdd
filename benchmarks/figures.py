"""What `benchmarks.power`, `benchmarks.structure` and `benchmarks.quality` share: parts made of runs, and fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claim_checks import OF_A_CLASS, Claim, claims_of
from benchmarks.parts import DATA
from experiments.experiment import Row, Task
from saltmine import CSalt, Primp
from saltmine.arrays import Bools, Floats, Indices

Items = frozenset[int]
#: ``fit(X, y, seed)`` returns a model with at least ``components_``, ``alterations_``, ``usage_``, ``use_q_values_``.
#: X is a boolean array; of wrong labels and genomes, which are large, CSR.
Fit = Callable[[Any, Any, int], Any]
Figures = dict[str, float]
Measure = Callable[[Fit, str, int, Path], Row]

LEVEL = 0.01
TWICE = 2.0


def default_fit(X: Any, y: Any, seed: int) -> Any:
    """Fit `CSalt` as it is, or `Primp` where there is one class."""
    kind = CSalt if len(np.unique(y)) > 1 else Primp
    return kind(random_state=seed).fit(X, y)


@dataclass(frozen=True)
class Part:
    """One of the measurements.

    Attributes
    ----------
    title : str
    measure : callable
        ``measure(fit, case, seed, data)`` returns what was found in one run.
    summarise : callable
        ``summarise(runs)`` returns the figures of all runs. Runs have "case" and "seed" too.
    runs, quick : dict
        Runs of every case, and the same for a quick look.
    """

    title: str
    measure: Measure
    summarise: Callable[[Sequence[Row]], Figures]
    runs: Mapping[str, int]
    quick: Mapping[str, int]

    def tasks(self, first_seed: int, quick: bool = False) -> list[Task]:
        """Return the runs that are wished for."""
        wanted = self.quick if quick else self.runs
        return [{"case": case, "seed": first_seed + k} for case, count in wanted.items() for k in range(count)]


def run_all(measure: Measure, fit: Fit, cases: Iterable[str], seeds: Iterable[int], data: Path = DATA) -> list[Row]:
    """Measure every case with every seed, one after the other."""
    seeds = list(seeds)
    return [{"case": case, "seed": seed, **measure(fit, case, seed, data)} for case in cases for seed in seeds]


def of_cases(runs: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the runs of every case, in the order in which the cases occur."""
    found: dict[str, list[Row]] = {}
    for run in runs:
        found.setdefault(run["case"], []).append(run)
    return found


def mean(runs: Sequence[Row], name: str) -> float:
    """Return the mean of a figure over the runs that have it; NaN if none has."""
    values = [run[name] for run in runs if run.get(name) is not None]
    return float(np.mean(values)) if values else float("nan")


def share(runs: Sequence[Row], part: str, whole: str) -> float:
    """Return the sum of a count divided by that of another; 0 where there is nothing to divide by."""
    total = sum(run[whole] for run in runs)
    return float(sum(run[part] for run in runs) / total) if total else 0.0


# ---------------------------------------------------------------------- what a model says


def pattern_numbers(model: Any) -> Indices:
    """Return the numbers of the patterns; a typical row is none."""
    typical = getattr(model, "typical_", np.zeros(len(model.components_), dtype=bool))
    return np.flatnonzero(~np.asarray(typical))


def items_of(row: Bools) -> Items:
    return frozenset(np.flatnonzero(row).tolist())


def whole_items(model: Any, s: int) -> Items:
    """Return the items of a pattern, with those that any class adds."""
    return items_of(model.components_[s] | model.alterations_[:, s].any(axis=0))


def jaccard(one: Items, other: Items) -> float:
    """Return the Jaccard similarity of two sets; 0 if both are empty."""
    return len(one & other) / len(one | other) if one | other else 0.0


def use_shares(model: Any, y: Any) -> Floats:
    """Return the share of the rows of every class that use a pattern, (c, r); classes are sorted."""
    usage = np.asarray(model.usage_, dtype=np.float64)
    return np.stack([usage[y == label].mean(axis=0) for label in np.unique(y)])


def claims_about(model: Any, y: Any) -> list[Claim]:
    """Return what a model claims about classes: by its table of patterns, or by its arrays where it has no table.

    By the arrays, a class has a pattern "mostly" if its q-value is low and the share of its rows that use the pattern
    is at least twice that of all others.
    """
    if hasattr(model, "patterns"):
        return claims_of(model.patterns())
    claims, labels, usage = [], np.unique(y), np.asarray(model.usage_)
    for s in pattern_numbers(model):
        base = items_of(model.components_[s])
        for a, label in enumerate(labels):
            inside, q = usage[y == label, s].mean(), float(model.use_q_values_[a, s])
            if q <= LEVEL and inside >= TWICE * usage[y != label, s].mean():
                claims.append(Claim(int(s), str(label), OF_A_CLASS[1], base, frozenset(), q))
            if added := items_of(model.alterations_[a, s]):
                claims.append(Claim(int(s), str(label), "added", added, base, float("nan")))
    return claims
