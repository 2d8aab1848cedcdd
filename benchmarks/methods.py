"""The methods that C-Salt is compared with, each at its best setting, on the paper's default matrices.

    python -m benchmarks.methods            # all methods, eight matrices, about half an hour on two cores
    python -m benchmarks.methods --quick    # one matrix of every method but the slow ones, in two minutes
    python -m benchmarks.methods --methods csalt asso --noise 0.2

Two matrices for each of the paper's shapes (500 columns x 1600 rows, 1600 x 500, 800 x 1000, 1000 x 800), two classes,
24 planted patterns: 8 common, 8 of each class. `CSalt()` is told nothing. Methods that need a rank are told the planted
one, in every way in which it can be counted (an alteration is part of a pattern, or a pattern of its own), and those
with a threshold are run at several; the table shows of every method the setting with the highest mean F-measure, which
only somebody who knows the truth could choose. Seeds start at 5000 and were never tuned on. NMF is scikit-learn's, its
factors made binary by the same search for thresholds as those of the joint factorizations.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from benchmarks.planted import run_nmf
from experiments.measuring import run_to_csv, timed
from experiments.planted import FIRST_SEED, SHAPES, true_length
from saltmine.baselines.joint_nmf_search import round_joint
from saltmine.comparison import draw, figures, load_compiled
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.datasets import make_planted
from saltmine.estimators.base import PatternModel
from saltmine.methods import METHODS, make
from saltmine.solver.solution import Solution

RANK, COMMON, SPECIFIC = 24, 8, 8
SLOW = ("paper", "diffnorm")
TAUS = (0.2, 0.25, 0.3, 0.4, 0.5)
# Patterns that both classes use with their alterations as patterns of their own, as patterns of each class, or as one.
COUNTED = ((COMMON, 2 * SPECIFIC, 2 * SPECIFIC), (0, RANK, RANK), (COMMON, SPECIFIC, SPECIFIC), (0, 16, 16))

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "csalt": [{}],
    "paper": [{}],
    "primp": [{}],
    "asso": [{}, {"rank": RANK}, *({"rank": RANK, "tau": tau} for tau in TAUS)],
    "dbssl": [
        {},
        *({"ranks": ranks, "tau": tau} for ranks in COUNTED[:2] for tau in (None, 0.3, 0.5)),
        {"ranks": COUNTED[0], "candidates": "associations"},
    ],
    "mdldbssl": [
        {"constellations": [(r0, r, r) for r0 in (COMMON - 5, COMMON, COMMON + 5) for r in (8, 16, 32)]},
    ],
    "diffnorm": [{"max_time": 300.0}],
    **{name: [{}, *({"ranks": ranks} for ranks in COUNTED)] for name in ("jsmf", "rjsnmf", "jnmf")},
    "inmf": [{}, *({"ranks": RANK, "strength": strength} for strength in (1.0, 3.0, 5.0))],
    "nmf": [{"rank": RANK}, {"rank": 40}],
}


class Nmf(PatternModel):
    """scikit-learn's NMF as one of saltmine's estimators."""

    _knows_classes: ClassVar[bool] = False

    def __init__(self, *, rank: int = RANK, random_state: Any = None) -> None:
        self.rank = rank
        self.random_state = random_state
        self.binarize, self.verbose, self.callback = None, 0, None

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        nmf, usage = run_nmf(data.matrix, self.rank, self.random_state)
        factors: Any = SimpleNamespace(patterns=nmf.components_.T[None], uses=np.ones((1, self.rank), dtype=bool))
        model, length = round_joint(factors, usage, bits, lambda value, done: None)
        return Solution(model, length, length, nmf.n_iter_)


def told(setting: dict[str, Any]) -> str:
    """Write what a method was told, long lists by their length."""
    parts = [
        f"{len(value)} {name}" if isinstance(value, list) else f"{name}={value}" for name, value in setting.items()
    ]
    return ", ".join(parts)


def measure(method: str, setting: dict[str, Any], shape: tuple[int, int], noise: float, seed: int) -> dict[str, Any]:
    n, m = shape
    if method in METHODS:
        load_compiled(method)
    planted = make_planted(n, [m // 2, m - m // 2], RANK, noise=noise, random_state=seed)
    model = Nmf(random_state=seed, **setting) if method == "nmf" else make(method, random_state=seed, **setting)
    _, seconds = timed(lambda: model.fit(planted.X, planted.y))
    measured = figures(model, planted)
    where = {"method": method, "setting": told(setting), "columns": n, "rows_of_data": m, "noise": noise, "seed": seed}
    return {**where, **measured, "f/f*": measured["description_length"] / true_length(planted), "seconds": seconds}


COLUMNS = {
    "f_measure": ("F", "{:.3f}"),
    "alteration_recall": ("rec V", "{:.3f}"),
    "rank_error": ("rank error", "{:.1f}"),
    "f/f*": ("f/f*", "{:.4f}"),
    "rss": ("RSS", "{:,.0f}"),
    "patterns": ("patterns", "{:.1f}"),
    "shared": ("shared", "{:.1f}"),
    "mostly": ("mostly", "{:.1f}"),
    "only": ("only", "{:.1f}"),
    "added": ("added", "{:.1f}"),
    "by_chance": ("by chance", "{:.1f}"),
    "items": ("items", "{:.0f}"),
    "rows": ("rows", "{:.0f}"),
    "seconds": ("seconds", "{:.1f}"),
    "shortest": ("shortest f/f*", "{:.4f}"),
}


def best_settings(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the means of every method at the setting with the highest F-measure, with the lowest f of any setting."""
    means = (
        rows.fillna({"setting": ""}).groupby(["method", "setting"], sort=False).mean(numeric_only=True).reset_index()
    )
    best = means.loc[means.groupby("method", sort=False)["f_measure"].idxmax()]
    return best.assign(shortest=means.groupby("method")["f/f*"].min()[best["method"]].to_numpy())


def progress_line(row: dict[str, Any]) -> str:
    return (
        f"{row['method']} ({row['setting']}), {row['columns']} x {row['rows_of_data']}: "
        f"F {row['f_measure']:.3f}, f/f* {row['f/f*']:.3f}, {row['seconds']:.1f} s"
    )


def show(best: pd.DataFrame) -> None:
    # Results of earlier versions lack some columns.
    columns = {column: texts for column, texts in COLUMNS.items() if column in best}
    headings = [heading for heading, _ in columns.values()]
    table = Table("method", "setting", *headings, title="means over the matrices; shortest f/f* of any setting")
    records: list[dict[str, Any]] = best.to_dict("records")  # type: ignore[assignment]  # the keys are names of columns
    for row in records:
        title = METHODS[row["method"]].title if row["method"] in METHODS else "NMF"
        table.add_row(title, row["setting"], *(text.format(row[column]) for column, (_, text) in columns.items()))
    # A fixed width, so that a table sent to a file keeps its columns.
    Console(width=180).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare all methods on the paper's default matrices.")
    parser.add_argument("--quick", action="store_true", help="one small matrix, without the slow methods")
    parser.add_argument("--methods", nargs="+", choices=list(SETTINGS), help="all by default")
    parser.add_argument("--noise", type=float, default=0.1, help="probability of a flip, 0.1 by default")
    parser.add_argument("--repeats", type=int, default=2, help="matrices per shape")
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/methods.csv"), help="results as csv")
    parser.add_argument("--show", type=Path, help="measure nothing; table and figure of a csv of results")
    args = parser.parse_args()
    if args.show:
        best = best_settings(pd.read_csv(args.show))
        show(best)
        draw(best).savefig(args.show.with_suffix(".png"), dpi=150)
        return
    methods = args.methods or [method for method in SETTINGS if not args.quick or method not in SLOW]
    cases = [
        (shape, FIRST_SEED + repeat * len(SHAPES) + k)
        for repeat in range(args.repeats)
        for k, shape in enumerate(SHAPES)
    ]
    if args.quick:
        cases = cases[2:3]
    todo = [
        (method, setting, shape, args.noise, seed)
        for method in methods
        for setting in SETTINGS[method]
        for shape, seed in cases
    ]
    rows = run_to_csv(measure, todo, args.jobs, args.output, progress_line)
    # Results come as they are ready; the table keeps the order of the methods.
    rows.sort(key=lambda row: methods.index(row["method"]))
    best = best_settings(pd.DataFrame(rows))
    show(best)
    draw(best).savefig(args.output.with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
