"""Why Dbssl recalls more alterations of a small class, and what it would cost C-Salt to do the same.

    python -m benchmarks.small_classes      # a quarter of an hour on two cores

The paper's matrices with 10 % noise and a first class of 5, 10 and 20 % of the rows; means over one matrix of every
shape, seeds 5000 to 5003, as in `python -m experiments imbalance`. Beside `CSalt()` and Dbssl, told the ranks:

- a weaker significance filter (alpha), down to one that keeps everything;
- five starts instead of one;
- the local search started from the planted model itself: what is left there, the description length does not want;
- the rows of the first class counted twice, as a class weight would.

"pre_V" is the precision of what the planted alterations are matched with: a pattern that has the alteration together
with what it alters recalls it, but does not tell it apart. "one row" is the share of the planted altered cells of the
first class that are in patterns of a single row of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from benchmarks.planted import fit_from_truth
from experiments.measuring import run_to_csv
from experiments.planted import FIRST_SEED, SHAPES, USUAL, plant
from saltmine import CSalt, Dbssl
from saltmine.datasets import Planted
from saltmine.metrics import alteration_precision, alteration_recall, f_measure

SHARES = (0.05, 0.1, 0.2)
RANK = USUAL["rank"]
COLUMNS = {"F": "{:.3f}", "rec_V": "{:.3f}", "pre_V": "{:.3f}", "patterns": "{:.1f}", "one row": "{:.0%}"}


def fit_twice(planted: Planted, seed: int) -> Any:
    """Fit with the rows of the first class counted twice; return the model of each row once."""
    times = np.where(planted.y == 0, 2, 1)
    rows = np.repeat(np.arange(len(planted.y)), times)
    model = CSalt(random_state=seed).fit(planted.X[rows], planted.y[rows])
    once = np.cumsum(times) - times
    return SimpleNamespace(
        components=model.components_, alterations=model.alterations_, usage=model.usage_[once], y=planted.y
    )


WAYS: dict[str, Callable[[Planted, int], Any]] = {
    "CSalt()": lambda planted, seed: CSalt(random_state=seed).fit(planted.X, planted.y),
    "alpha=0.1": lambda planted, seed: CSalt(random_state=seed, alpha=0.1).fit(planted.X, planted.y),
    "alpha=0.99": lambda planted, seed: CSalt(random_state=seed, alpha=0.99).fit(planted.X, planted.y),
    "five starts": lambda planted, seed: CSalt(random_state=seed, n_restarts=5).fit(planted.X, planted.y),
    "started from the truth": lambda planted, seed: fit_from_truth(planted),
    "first class counted twice": fit_twice,
    "Dbssl[0, r*, r*]": lambda planted, seed: Dbssl(ranks=(0, RANK, RANK)).fit(planted.X, planted.y),
}


def one_row_share(planted: Planted) -> float:
    """Return the share of the altered cells of the first class that are in patterns of one row of it."""
    rows, items = planted.usage[planted.y == 0].sum(axis=0), planted.alterations[0].sum(axis=1)
    return float((items * (rows == 1)).sum() / max((items * rows).sum(), 1))


def measure(way: str, share: float, k: int) -> dict[str, Any]:
    columns, rows = SHAPES[k]
    seed = FIRST_SEED + k
    planted = plant({**USUAL, "share": share, "columns": columns, "rows": rows, "seed": seed})
    model = WAYS[way](planted, seed)
    usage = model.usage_ if hasattr(model, "usage_") else model.usage
    return {
        "share": share,
        "way": way,
        "columns": columns,
        "rows": rows,
        "seed": seed,
        "F": f_measure(planted, model),
        "rec_V": alteration_recall(planted, model),
        "pre_V": alteration_precision(planted, model),
        "patterns": int(np.asarray(usage).shape[1]),
        "one row": one_row_share(planted),
    }


def progress_line(row: dict[str, Any]) -> str:
    return f"{row['share']:.0%}, {row['way']}, seed {row['seed']}: F {row['F']:.3f}, rec_V {row['rec_V']:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what holds back the recall of alterations in small classes.")
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/small_classes.csv"), help="results as csv")
    args = parser.parse_args()
    todo = [(way, share, k) for share in SHARES for way in WAYS for k in range(len(SHAPES))]
    runs = pd.DataFrame(run_to_csv(measure, todo, args.jobs, args.output, progress_line))
    shown = Table("first class", "way", *COLUMNS)
    for share in SHARES:
        for way in WAYS:
            means = runs[(runs["share"] == share) & (runs["way"] == way)][list(COLUMNS)].mean()
            shown.add_row(f"{share:.0%}", way, *(form.format(means[column]) for column, form in COLUMNS.items()))
    Console(width=100).print(shown)


if __name__ == "__main__":
    main()
