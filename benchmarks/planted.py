"""Planted structure: how much of it comes back, on the paper's shapes, classes, noise and imbalance.

    python -m benchmarks.planted            # everything but the paper's algorithm, about ten minutes on two cores
    python -m benchmarks.planted --quick    # a few cases in half a minute
    python -m benchmarks.planted --methods paper    # the published algorithm, another hour
    python -m benchmarks.planted --case "2 classes, noise 10%" --shape 800x1000 --repeats 8

Shapes are columns x rows, as in the paper. Every line is the mean over the shapes of one case; seeds start at 5000 and
were never tuned on. Beside C-Salt stands scikit-learn's NMF in the same run, at the planted rank and with the
thresholds that give it the best F-measure: a baseline that is told what the others have to find. "planted start" is the
local search of saltmine started from the planted model itself: what is left there is what the noise does not show.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from experiments.measuring import run_to_csv, timed
from experiments.planted import FIRST_SEED, SHAPES, true_length
from saltmine import CSalt, Primp
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import Planted, make_planted
from saltmine.metrics import alteration_recall, class_rank, description_length, f_measure
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.rounding import THRESHOLDS, best_thresholds

RANK = 24
METHODS = ("saltmine", "planted start", "paper", "primp", "nmf")
DEFAULT_METHODS = ("saltmine", "planted start", "nmf")
QUICK_CASE = "2 classes, noise 10%"
QUICK_SHAPES = ((800, 1000), (1000, 800))


@dataclass(frozen=True)
class Case:
    """One line of the table: class shares and noise."""

    name: str
    shares: tuple[float, ...]
    noise: float
    largest: bool = False


def cases() -> list[Case]:
    """Return what the paper varies: noise with two to four classes, and the share of the first class."""
    found = [Case(f"2 classes, noise {p:.0%}", (0.5, 0.5), p) for p in (0, 0.05, 0.1, 0.15, 0.2, 0.25)]
    for c in (3, 4):
        found += [Case(f"{c} classes, noise {p:.0%}", (1 / c,) * c, p) for p in (0, 0.1, 0.2, 0.25)]
    found += [Case(f"first class {share:.0%} of rows", (share, 1 - share), 0.1) for share in (0.05, 0.1, 0.2, 0.3)]
    found += [Case("10 classes, noise 10%", (0.1,) * 10, 0.1), Case("size limits, noise 10%", (0.5, 0.5), 0.1, True)]
    return found


def plant(case: Case, shape: tuple[int, int], seed: int) -> Planted:
    n, m = shape
    sizes = [round(share * m) for share in case.shares]
    sizes[-1] += m - sum(sizes)
    # Ten classes of 50 rows cannot have 24 patterns with rows of their own each.
    rank = min(RANK, min(sizes))
    return make_planted(n, sizes, rank, noise=case.noise, random_state=seed, largest=case.largest)


def fit_from_truth(planted: Planted) -> Any:
    """Refine the planted model itself."""
    data = StackedMatrix.from_rows(planted.X, planted.y, len(planted.alterations), keep_absent=True)
    truth = BinaryModel(planted.components.T, planted.alterations.transpose(0, 2, 1), planted.usage[data.order])
    local = LocalSearch(BitMatrix(data.matrix, data.blocks), truth)
    local.refit(trim=True)
    local.drop_insignificant()
    local.refit()
    local.drop_until_significant()
    found, usage = local.model(), np.empty((len(planted.y), len(local.patterns())), dtype=bool)
    usage[data.order] = found.Y
    return SimpleNamespace(components=found.X.T, alterations=found.V.transpose(0, 2, 1), usage=usage, y=planted.y)


def run_nmf(X: NDArray[np.bool_], rank: int, seed: Any) -> tuple[NMF, NDArray[np.float64]]:
    """Return scikit-learn's NMF of the data, and its usage matrix."""
    nmf = NMF(n_components=rank, solver="cd", init="nndsvd", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return nmf, nmf.fit_transform(X.astype(np.float64))


def fit_nmf(planted: Planted, seed: int) -> Any:
    """Fit NMF at the planted rank; scale every component to a largest entry of one, then threshold by the truth."""
    nmf, usage = run_nmf(planted.X, len(planted.components), seed)
    X = nmf.components_.T / np.maximum(nmf.components_.max(axis=1), 1e-12)
    Y = usage / np.maximum(usage.max(axis=0), 1e-12)
    c = len(planted.alterations)
    blocks = [slice(rows[0], rows[-1] + 1) for rows in (np.flatnonzero(planted.y == a) for a in range(c))]

    def as_found(model: BinaryModel) -> Any:
        return SimpleNamespace(components=model.X.T, alterations=model.V.transpose(0, 2, 1), usage=model.Y, y=planted.y)

    def loss(model: BinaryModel) -> float:
        return -f_measure(planted, as_found(model))

    best, _ = best_thresholds(X, np.zeros((c, *X.shape)), Y, BitMatrix(planted.X, blocks), loss, THRESHOLDS)
    return as_found(best)


def fit(method: str, planted: Planted, seed: int) -> Any:
    """Fit a method to a planted matrix."""
    if method == "nmf":
        return fit_nmf(planted, seed)
    if method == "planted start":
        return fit_from_truth(planted)
    kind = Primp if method == "primp" else CSalt
    algorithm = "paper" if method == "paper" else "saltmine"
    return kind(algorithm=algorithm, random_state=seed).fit(planted.X, planted.y)


def measure(method: str, case: Case, shape: tuple[int, int], seed: int) -> dict[str, Any]:
    planted = plant(case, shape, seed)
    model, seconds = timed(lambda: fit(method, planted, seed))
    suffix = "_" if hasattr(model, "components_") else ""
    factors = [getattr(model, name + suffix) for name in ("components", "alterations", "usage")]
    return {
        "case": case.name,
        "method": method,
        "n": shape[0],
        "m": shape[1],
        "seed": seed,
        "F": f_measure(planted, model),
        "rec_V": alteration_recall(planted, model),
        "rank": float(class_rank(model).mean()),
        "planted": float(class_rank(planted).mean()),
        "f/f*": description_length(planted.X, planted.y, *factors) / true_length(planted),
        "seconds": seconds,
    }


def progress_line(row: dict[str, Any]) -> str:
    return (
        f"{row['case']}, {row['n']} x {row['m']}, {row['method']}: "
        f"F {row['F']:.3f}, rec_V {row['rec_V']:.3f}, {row['seconds']:.1f} s"
    )


def show(rows: list[dict[str, Any]], order: list[Case]) -> None:
    columns = ("F", "rec_V", "rank", "planted", "f/f*", "seconds")
    table = Table("case", "method", *columns, "worst f/f*", "worst rank", title="means over shapes and matrices")
    for case in order:
        for method in METHODS:
            of_case = [row for row in rows if row["case"] == case.name and row["method"] == method]
            if of_case:
                means = [np.nanmean([row[column] for row in of_case]) for column in columns]
                formats = ("{:.3f}", "{:.3f}", "{:.1f}", "{:.1f}", "{:.3f}", "{:.1f}")
                cells = [text.format(mean) for text, mean in zip(formats, means, strict=True)]
                worst_rank = max((row["rank"] - row["planted"] for row in of_case), key=abs)
                worst = f"{max(row['f/f*'] for row in of_case):.3f}", f"{worst_rank:+.1f}"
                table.add_row(case.name, method, *cells, *worst)
    # A fixed width, so that a table sent to a file keeps its columns.
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what comes back of planted patterns and alterations.")
    parser.add_argument("--quick", action="store_true", help="two shapes of one case")
    parser.add_argument("--case", default="", help="only cases whose name contains this, as '2 classes, noise 10%%'")
    parser.add_argument("--shape", default="", help="only this shape, columns x rows, as 800x1000")
    parser.add_argument("--repeats", type=int, default=1, help="matrices per case and shape")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=DEFAULT_METHODS, help="what to compare")
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/planted.csv"), help="results as csv")
    args = parser.parse_args()
    chosen = [case for case in cases() if (QUICK_CASE if args.quick else args.case) in case.name]
    shapes = [shape for shape in SHAPES if args.shape in ("", f"{shape[0]}x{shape[1]}")]
    if args.quick:
        shapes = [shape for shape in shapes if shape in QUICK_SHAPES]
    todo = [
        (method, case, shape, FIRST_SEED + repeat * len(SHAPES) + SHAPES.index(shape))
        for case in chosen
        for shape in shapes
        for repeat in range(args.repeats)
        for method in args.methods
    ]
    if not todo:
        parser.error("no case or shape matches; run without --case and --shape to see them all")
    show(run_to_csv(measure, todo, args.jobs, args.output, progress_line), chosen)


if __name__ == "__main__":
    main()
