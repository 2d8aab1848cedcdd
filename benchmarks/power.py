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
- groceries: market baskets without classes. Distinct patterns are taken in the order of the model, each that has fewer
  than half of its items, or of theirs, in common with every one before it. Of a fit of half of the baskets, one is
  confirmed if in the other half more rows have more than half of its items than in each of 19 swapped copies.
- planted: the paper's matrices, 800 columns x 1000 rows; F and recall of the alterations.
- nulls: swaps of real tables that keep both margins, pure noise, independent items of 14 kinds: fits with a pattern.
- lines: tic-tac-toe; lines of crosses and of noughts among the claims about classes, and other claims.
- wrong_labels: patterns of classes, one label in ten wrong; soft F1 of the claims.
- halves: claims about classes of half of the rows; the share that the other half confirms (`benchmarks.claims`).
- genome: a simulated genome with planted programs of classes; recall and precision of their items.
- seeds: of all pairs of five fits that differ in the seed, the share of the patterns of the one that come back in the
  other, with a Jaccard similarity of at least .7; items that classes add count too.

Rivals are in `benchmarks.rivals`. `benchmarks.quality` prints all figures and stores the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.claim_checks import half_of, has_most, is_confirmed
from benchmarks.claims import LARGE, SMALL, count_lines, load, score_claims
from benchmarks.clinical import ALTERED, MOSTLY, ONLY, ClinicalTable, PlantedPattern, simulate
from benchmarks.figures import (
    LEVEL,
    Figures,
    Fit,
    Items,
    Part,
    claims_about,
    default_fit,
    items_of,
    jaccard,
    mean,
    of_cases,
    pattern_numbers,
    run_all,
    share,
    use_shares,
    whole_items,
)
from benchmarks.independent import KINDS as INDEPENDENT
from benchmarks.independent import make_independent
from benchmarks.noise import make_noise
from benchmarks.parts import DATA, require
from benchmarks.scale import read_genome
from experiments import planted as planted_experiment
from experiments.experiment import Row, SkipTask, Task
from experiments.genome import recovered
from saltmine.arrays import Bools
from saltmine.datasets import make_class_patterns, swap
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
    whole = [whole_items(model, s) for s in numbers]
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


# ---------------------------------------------------------------------- market baskets

COPIES = 19
ALL_BASKETS, HALF_OF_BASKETS = "all baskets", "one half"


def read_groceries(data: Path) -> sp.csr_array:
    """Read the baskets."""
    require(data / "data" / "baskets")
    return sp.csr_array(sp.load_npz(data / "data" / "baskets" / "groceries.npz") != 0)


def distinct(sets: Iterable[Items]) -> list[Items]:
    """Leave out every set that has half of its items, or half of theirs, in common with one before it."""
    kept: list[Items] = []
    for items in sets:
        if items and all(2 * len(items & other) < min(len(items), len(other)) for other in kept):
            kept.append(items)
    return kept


def measure_groceries(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X = read_groceries(data)
    first = np.ones(X.shape[0], dtype=bool)
    if case == HALF_OF_BASKETS:
        first = half_of(np.full(X.shape[0], ""), seed)
    model = fit(X[first].toarray(), np.zeros(int(first.sum()), dtype=np.int64), seed)
    sets = distinct(items_of(model.components_[s]) for s in pattern_numbers(model))
    if case == ALL_BASKETS:
        return {"distinct": len(sets)}
    return {"distinct": len(sets), "confirmed": sum(confirmed(X[~first], sets, seed))}


def confirmed(X: sp.csr_array, sets: Sequence[Items], seed: int) -> list[bool]:
    """Say of every set whether more rows have most of it than in each of the swapped copies."""

    def rows(of: sp.csr_array) -> NDArray[np.int64]:
        dense = of.toarray()
        return np.array([has_most(dense, items).sum() for items in sets], dtype=np.int64)

    copies = [rows(swap(X, COPIES * seed + k)) for k in range(COPIES)]
    return [bool(more) for more in rows(X) > np.max(copies, axis=0)]


def figures_of_groceries(runs: Sequence[Row]) -> Figures:
    cases = of_cases(runs)
    found = {case: mean(of, "distinct") for case, of in cases.items()}
    if HALF_OF_BASKETS in cases:
        found["confirmed"] = share(cases[HALF_OF_BASKETS], "confirmed", "distinct")
    return found


def groceries(fit: Fit = default_fit, seeds: Iterable[int] = range(2), data: Path = DATA) -> Figures:
    """Return the number of distinct patterns of all baskets and of half of them, and the share that is confirmed."""
    return figures_of_groceries(run_all(measure_groceries, fit, (ALL_BASKETS, HALF_OF_BASKETS), seeds, data))


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


# ---------------------------------------------------------------------- claims about classes

LINES = ("tictactoe",)
WRONG_LABELS = ("2 classes", "5 classes", "10 classes", "20 classes", "50 classes")


def measure_lines(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X, y, items = load(case, data)
    return count_lines(claims_about(fit(X.toarray(), y, seed), y), items)


def figures_of_lines(runs: Sequence[Row]) -> Figures:
    return {name: mean(runs, name) for name in ("crosses", "noughts", "others")}


def lines(fit: Fit = default_fit, seeds: Iterable[int] = range(5), data: Path = DATA) -> Figures:
    """Return how many lines of crosses and noughts are claimed, and what else."""
    return figures_of_lines(run_all(measure_lines, fit, LINES, seeds, data))


def measure_wrong_labels(fit: Fit, case: str, seed: int, data: Path) -> Row:
    made = make_class_patterns(int(case.split()[0]), random_state=seed)
    return score_claims(claims_about(fit(made.X, made.y, seed), made.y), made)


def figures_of_wrong_labels(runs: Sequence[Row]) -> Figures:
    return {case: mean(of, "soft F1") for case, of in of_cases(runs).items()}


def wrong_labels(
    fit: Fit = default_fit, seeds: Iterable[int] = range(1), cases: Iterable[str] = WRONG_LABELS[:3]
) -> Figures:
    """Return the soft F1 of what is claimed where one label in ten is wrong."""
    return figures_of_wrong_labels(run_all(measure_wrong_labels, fit, cases, seeds))


HALVES = ("soybean", "zoo")


def measure_halves(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X, y, _ = load(case, data)
    rows, first = X.toarray(), half_of(y, seed)
    claims = claims_about(fit(rows[first], y[first], seed), y[first])
    confirmed = sum(is_confirmed(claim, rows[~first], y[~first]) for claim in claims)
    return {"claims": len(claims), "confirmed": confirmed}


def figures_of_halves(runs: Sequence[Row]) -> Figures:
    figures: Figures = {}
    for case, of in of_cases(runs).items():
        figures |= {f"{case}: claims": mean(of, "claims"), f"{case}: confirmed": share(of, "confirmed", "claims")}
    return figures


def halves(fit: Fit = default_fit, seeds: Iterable[int] = range(4), data: Path = DATA) -> Figures:
    """Return how much is claimed by half of the rows, and the share that the other half confirms."""
    return figures_of_halves(run_all(measure_halves, fit, HALVES, seeds, data))


# ---------------------------------------------------------------------- genomes

GENOMES = ("small",)


def measure_genome(fit: Fit, case: str, seed: int, data: Path) -> Row:
    require(data / "genome" / case)
    X, y, programs = read_genome(data / "genome" / case)
    model = fit(X, y, seed)
    if not hasattr(model, "sparse_components_"):
        raise SkipTask("models of genomes need sparse_components_, sparse_alterations_, usage_counts_ and classes_")
    loci, back, reported = np.sum(recovered(model, programs), axis=0).tolist()
    return {"loci": loci, "back": back, "reported": reported}


def figures_of_genome(runs: Sequence[Row]) -> Figures:
    return {"recall": share(runs, "back", "loci"), "precision": share(runs, "back", "reported")}


def genome(fit: Fit = default_fit, seeds: Iterable[int] = range(1), data: Path = DATA) -> Figures:
    """Return recall and precision of the items of planted programs of classes."""
    return figures_of_genome(run_all(measure_genome, fit, GENOMES, seeds, data))


# ---------------------------------------------------------------------- seeds

OF_SEEDS = ("kr_vs_kp", "soybean", "zoo", "vote")
FITS = 5


def measure_seeds(fit: Fit, case: str, seed: int, data: Path) -> Row:
    X, y, _ = load(case, data)
    models = [fit(X.toarray(), y, FITS * seed + k) for k in range(FITS)]
    return count_returning([[whole_items(m, s) for s in pattern_numbers(m)] for m in models])


def count_returning(fits: Sequence[Sequence[Items]]) -> Row:
    """Count patterns in all pairs of fits, and those that come back."""
    pairs = [(one, other) for one in fits for other in fits if one is not other]
    back = sum(any(jaccard(items, again) >= SIMILAR for again in other) for one, other in pairs for items in one)
    return {"patterns": sum(len(one) for one, _ in pairs), "back": back}


def figures_of_seeds(runs: Sequence[Row]) -> Figures:
    return {case: share(of, "back", "patterns") for case, of in of_cases(runs).items()}


def seeds(
    fit: Fit = default_fit, seeds: Iterable[int] = range(1), cases: Iterable[str] = OF_SEEDS, data: Path = DATA
) -> Figures:
    """Return the share of patterns that come back with another seed; five fits for each of the given numbers."""
    return figures_of_seeds(run_all(measure_seeds, fit, cases, seeds, data))


# ---------------------------------------------------------------------- all parts


def _each(cases: Iterable[str], count: int) -> dict[str, int]:
    return dict.fromkeys(cases, count)


PARTS: dict[str, Part] = {
    "narrow": Part("Narrow tables", measure_narrow, figures_of_narrow, _each(COLUMNS, 12), _each(COLUMNS, 4)),
    "clinical": Part("Clinical tables", measure_clinical, figures_of_clinical, {"tables": 80}, {"tables": 16}),
    "groceries": Part(
        "Groceries",
        measure_groceries,
        figures_of_groceries,
        {ALL_BASKETS: 1, HALF_OF_BASKETS: 4},
        {ALL_BASKETS: 1, HALF_OF_BASKETS: 1},
    ),
    "planted": Part("The paper's matrices", measure_planted, figures_of_planted, _each(PLANTED, 8), _each(PLANTED, 1)),
    "nulls": Part(
        "Nothing to find: fits with a pattern",
        measure_nulls,
        figures_of_nulls,
        {**_each(NULLS, 22), PURE_NOISE: 50},
        _each(NULLS, 1),
    ),
    "lines": Part("Lines of tic-tac-toe", measure_lines, figures_of_lines, _each(LINES, 5), _each(LINES, 1)),
    "wrong_labels": Part(
        "One label in ten wrong: soft F1",
        measure_wrong_labels,
        figures_of_wrong_labels,
        _each(WRONG_LABELS, 1) | _each(WRONG_LABELS[:2], 3),
        _each(WRONG_LABELS[:2], 1),
    ),
    "halves": Part(
        "Claims of half of the rows, confirmed by the other half",
        measure_halves,
        figures_of_halves,
        _each(HALVES, 10),
        _each(HALVES, 2),
    ),
    "genome": Part("A simulated genome", measure_genome, figures_of_genome, _each(GENOMES, 2), _each(GENOMES, 1)),
    "seeds": Part(
        "Patterns that come back with another seed",
        measure_seeds,
        figures_of_seeds,
        _each(OF_SEEDS, 3),
        _each(OF_SEEDS[1:], 1),
    ),
}
