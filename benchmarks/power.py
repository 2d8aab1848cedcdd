"""What is found where the truth is known, and where there is nothing to find.

    from benchmarks import power
    power.clinical(fit, range(80))      # fit(X, y, seed) returns a model; CSalt by default

Parts:

- narrow: 1000 rows x 10, 15 or 20 columns, each one with probability 5 %; four columns go together in a tenth of the
  rows. Found is a pattern with a Jaccard similarity of at least .7.
- clinical: the tables of `benchmarks.clinical`. A planted pattern is recovered if the shared items of a found one have
  a Jaccard similarity of at least .5 with its items; the most similar one counts. A class difference (planted "only" or
  "mostly") is recovered if of that pattern the q-value of the class is at most .01 and no class uses it more; an
  alteration, if the class adds at least half of the planted items to it and at most as many others. A found set, with
  all that classes add, is unrelated if it has fewer than two items of each planted pattern, added ones included.
- planted: the paper's matrices, 800 columns x 1000 rows; F and recall of the alterations.
- nulls: swaps of real tables that keep both margins, pure noise, independent items of 14 kinds: fits with a pattern.

`benchmarks.quality` prints all figures and stores the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims import LARGE, SMALL, load
from benchmarks.clinical import ALTERED, MOSTLY, ONLY, ClinicalTable, PlantedPattern, simulate
from benchmarks.figures import (
    LEVEL,
    Figures,
    Fit,
    Part,
    default_fit,
    items_of,
    jaccard,
    mean,
    of_cases,
    pattern_numbers,
    run_all,
    share,
    use_shares,
)
from benchmarks.independent import KINDS as INDEPENDENT
from benchmarks.independent import make_independent
from benchmarks.noise import make_noise
from benchmarks.parts import DATA
from experiments import planted as planted_experiment
from experiments.experiment import Row, Task
from saltmine.arrays import Bools
from saltmine.datasets import swap
from saltmine.metrics import alteration_recall, f_measure

# ---------------------------------------------------------------------- narrow tables

N_ROWS, NOISE, USED_BY, TOGETHER = 1000, 0.05, 0.1, 4
SIMILAR, HALF = 0.7, 0.5
COLUMNS = ("10", "15", "20")


def narrow_table(n: int, seed: int) -> tuple[Bools, NDArray[np.int64]]:
    """Return noise with four columns that go together, and labels that say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, n)) < NOISE
    X[rng.random(N_ROWS) < USED_BY, :TOGETHER] = True
    return X, rng.integers(0, 2, N_ROWS)


def measure_narrow(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X, y = narrow_table(int(case), seed)
    model, wanted = fit(X, y, seed), frozenset(range(TOGETHER))
    sets = [items_of(model.components_[s]) for s in pattern_numbers(model)]
    similar = [jaccard(items, wanted) >= SIMILAR for items in sets]
    return {"found": any(similar), "others": similar.count(False)}


def figures_of_narrow(runs: Sequence[Row]) -> Figures:
    found = {f"{case} columns": share(of, "found", "one") for case, of in of_cases(_with_one(runs)).items()}
    return found | {"other sets per table": mean(runs, "others")}


def narrow(fit: Fit = default_fit, seeds: Iterable[int] = range(12)) -> Figures:
    """Return the share of narrow tables whose planted set is found."""
    return figures_of_narrow(run_all(measure_narrow, fit, COLUMNS, seeds))


def _with_one(runs: Sequence[Row]) -> list[Row]:
    return [{**run, "one": 1} for run in runs]


# ---------------------------------------------------------------------- clinical tables


def measure_clinical(fit: Fit, case: str, seed: int, data: Path) -> Row:
    table = simulate(seed)
    return score_clinical(table, fit(table.X, table.y, seed))


def score_clinical(table: ClinicalTable, model: Any) -> Row:
    """Count what was planted in a table and what of it a model has."""
    numbers = pattern_numbers(model)
    sets = [items_of(model.components_[s]) for s in numbers]
    whole = [items_of(model.components_[s] | model.alterations_[:, s].any(axis=0)) for s in numbers]
    uses = use_shares(model, table.y)
    found: Row = dict.fromkeys(("patterns", "differences", "alterations"), 0)
    planted = {f"planted {name}": 0 for name in found}
    for pattern in table.patterns:
        similar = [jaccard(items, pattern.items) for items in sets]
        best = int(np.argmax(similar)) if max(similar, default=0) >= HALF else None
        s = None if best is None else int(numbers[best])
        planted["planted patterns"] += 1
        found["patterns"] += s is not None
        if pattern.kind in (ONLY, MOSTLY):
            planted["planted differences"] += 1
            found["differences"] += s is not None and _differs(model, uses[:, s], pattern, s)
        if pattern.kind == ALTERED:
            planted["planted alterations"] += 1
            found["alterations"] += s is not None and _adds(model, pattern, s)
    unrelated = sum(all(len(items & pattern.whole) < 2 for pattern in table.patterns) for items in whole)
    return {**found, **planted, "sets": len(sets), "unrelated": unrelated}


def _differs(model: Any, uses: NDArray[np.float64], pattern: PlantedPattern, s: int) -> bool:
    """Say whether the model says that the class uses the pattern more."""
    return bool(model.use_q_values_[pattern.role, s] <= LEVEL and uses[pattern.role] == uses.max())


def _adds(model: Any, pattern: PlantedPattern, s: int) -> bool:
    """Say whether the class adds half of the planted items, and no more others than those."""
    added = items_of(model.alterations_[pattern.role, s])
    right = len(added & pattern.added)
    return right >= HALF * len(pattern.added) and len(added) - right <= right


def figures_of_clinical(runs: Sequence[Row]) -> Figures:
    recovered = {name: share(runs, name, f"planted {name}") for name in ("patterns", "differences", "alterations")}
    return recovered | {"unrelated": share(runs, "unrelated", "sets"), "sets per table": mean(runs, "sets")}


def clinical(fit: Fit = default_fit, seeds: Iterable[int] = range(80)) -> Figures:
    """Return the shares of what was planted in clinical tables that is recovered, and of unrelated sets."""
    return figures_of_clinical(run_all(measure_clinical, fit, ["tables"], seeds))


# ---------------------------------------------------------------------- the paper's matrices

PLANTED: dict[str, Task] = {
    "10 %": {"noise": 0.1},
    "20 %": {"noise": 0.2},
    "25 %": {"noise": 0.25},
    "30 %": {"noise": 0.3},
    "4 classes, 10 %": {"classes": 4},
    "4 classes, 20 %": {"classes": 4, "noise": 0.2},
    "100:900": {"share": 0.1},
    "50:950": {"share": 0.05},
}


def measure_planted(fit: Fit, case: str, seed: int, data: Path) -> Row:
    usual = {**planted_experiment.USUAL, "columns": 800, "rows": 1000}
    made = planted_experiment.plant({**usual, **PLANTED[case], "seed": seed})
    model = fit(made.X, made.y, seed)
    return {"F": f_measure(made, model), "rec_V": alteration_recall(made, model)}


def figures_of_planted(runs: Sequence[Row]) -> Figures:
    return {f"{case}: {name}": mean(of, name) for case, of in of_cases(runs).items() for name in ("F", "rec_V")}


def planted(fit: Fit = default_fit, seeds: Iterable[int] = range(8), cases: Iterable[str] = tuple(PLANTED)) -> Figures:
    """Return F and rec_V of the paper's matrices."""
    return figures_of_planted(run_all(measure_planted, fit, cases, seeds))


# ---------------------------------------------------------------------- nothing to find

TABLES = (*SMALL, *LARGE)
MAX_ROWS = 2000
PURE_NOISE = "pure noise"
NULLS = (*(f"swapped {name}" for name in TABLES), PURE_NOISE, *INDEPENDENT)


@lru_cache(maxsize=16)
def small_table(name: str, data: Path) -> tuple[Bools, NDArray[np.str_]]:
    """Return a table, of a large one 2000 random rows."""
    X, y, _ = load(name, data)
    rows = np.arange(len(y))
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False))
    return X[rows].toarray(), y[rows]


def make_null(case: str, seed: int, data: Path = DATA) -> tuple[Bools, Any]:
    """Return a table without patterns, and its labels."""
    if case == PURE_NOISE:
        return make_noise(seed)[:2]
    if case in INDEPENDENT:
        return make_independent(case, seed)
    X, y = small_table(case.removeprefix("swapped "), data)
    return swap(X, seed), y


def measure_nulls(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X, y = make_null(case, seed, data)
    return {"patterns": len(pattern_numbers(fit(X, y, seed)))}


def figures_of_nulls(runs: Sequence[Row]) -> Figures:
    """Return the share of fits with a pattern, for each of the three sorts of tables."""
    sorts: dict[str, list[bool]] = {}
    for run in runs:
        sort = "swaps" if run["case"].startswith("swapped") else run["case"]
        sorts.setdefault("independent items" if sort in INDEPENDENT else sort, []).append(run["patterns"] > 0)
    return {sort: float(np.mean(some)) for sort, some in sorts.items()}


def nulls(
    fit: Fit = default_fit, seeds: Iterable[int] = range(3), cases: Iterable[str] = NULLS, data: Path = DATA
) -> Figures:
    """Return the share of fits with a pattern where there is none."""
    return figures_of_nulls(run_all(measure_nulls, fit, cases, seeds, data))


# ---------------------------------------------------------------------- all parts


def _each(cases: Iterable[str], count: int) -> Mapping[str, int]:
    return dict.fromkeys(cases, count)


PARTS: dict[str, Part] = {
    "narrow": Part("Narrow tables", measure_narrow, figures_of_narrow, _each(COLUMNS, 12), _each(COLUMNS, 4)),
    "clinical": Part("Clinical tables", measure_clinical, figures_of_clinical, {"tables": 80}, {"tables": 16}),
    "planted": Part("The paper's matrices", measure_planted, figures_of_planted, _each(PLANTED, 8), _each(PLANTED, 1)),
    "nulls": Part(
        "Nothing to find",
        measure_nulls,
        figures_of_nulls,
        {**_each(NULLS, 22), PURE_NOISE: 50},
        _each(NULLS, 1),
    ),
}

#: Every part as a function of a fit and seeds.
FUNCTIONS: dict[str, Callable[..., Figures]] = {
    "narrow": narrow,
    "clinical": clinical,
    "planted": planted,
    "nulls": nulls,
}
