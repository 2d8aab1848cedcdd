"""How the time of a fit grows with patterns, rows, columns and classes, one of them at a time.

- Patterns: a pattern always has 15 to 35 items and 25 to 75 rows, a third of them in both classes and a third in each.
  Rows and columns both grow with the square root of the number of patterns. So the share of ones stays the same, and
  with it how much patterns overlap; there are as many cells per pattern as before. A row uses more patterns, as it
  does in large data.
- Rows and columns: the paper's planted matrices, 24 patterns and 10 % noise, where patterns grow with the matrix.
- Classes: 4,000 rows of 400 columns cut into more and smaller classes, which all use the same 24 patterns.

The exponent is the slope of a line through all points, where both axes are logarithms: 1 is time in proportion.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.parts import Lines, Runs
from benchmarks.speed.timing import least_cpu
from experiments.experiment import Row
from saltmine import CSalt
from saltmine.comparison import load_compiled
from saltmine.datasets import make_planted

Data = tuple[NDArray[np.bool_], NDArray[Any]]

SIZES = {
    "patterns": (20, 40, 80, 160, 320, 640),
    "rows": (500, 1000, 2000, 4000, 8000, 16000),
    "columns": (500, 1000, 2000, 4000, 8000, 16000),
    "classes": (2, 4, 8, 16, 32),
}
CASES = tuple(f"{size} {what}" for what, sizes in SIZES.items() for size in sizes)
QUICK_CASES = tuple(f"{size} {what}" for what, sizes in SIZES.items() for size in sizes[:3])
RANK, FEWEST = 24, 500
SIDE, FEWEST_PATTERNS = 500, 20
ITEMS, USES = (15, 35), (25, 75)
LOST, ADDED = 0.05, 0.02
ROWS_OF_CLASSES, COLUMNS_OF_CLASSES = 4000, 400
ROUNDS = 2


def growth(name: str, seed: int, data: Path) -> Row:
    """Measure the CPU seconds of a fit; the case is a size and what has this size."""
    load_compiled("csalt")
    size, what = name.split()
    X, y = make_data(what, int(size), seed)
    found = {}

    def fit() -> None:
        found["patterns"] = int(CSalt(random_state=seed).fit(X, y).n_components_)

    (seconds,) = least_cpu([fit], ROUNDS)
    return {"what": what, "size": int(size), "cpu_seconds": round(seconds, 4), **found}


def make_data(what: str, size: int, seed: int) -> Data:
    """Return rows and labels of a size."""
    if what == "patterns":
        return more_patterns(size, seed)
    if what == "classes":
        sizes, all_use_all = [ROWS_OF_CLASSES // size] * size, np.ones((size, 1), dtype=bool)
        made = make_planted(COLUMNS_OF_CLASSES, sizes, RANK, all_use_all, random_state=seed)
    else:
        rows, columns = (size, FEWEST) if what == "rows" else (FEWEST, size)
        made = make_planted(columns, [rows // 2, rows // 2], RANK, random_state=seed)
    return made.X, made.y


def more_patterns(rank: int, seed: int) -> Data:
    """Plant patterns of the same sizes in a matrix whose cells are in proportion to their number."""
    rng = np.random.default_rng(seed)
    side = 2 * round(SIDE / 2 * np.sqrt(rank / FEWEST_PATTERNS))
    X, y = np.zeros((side, side), dtype=bool), np.repeat([0, 1], side // 2)
    rows_of = (np.arange(side), np.flatnonzero(y == 0), np.flatnonzero(y == 1))
    for pattern in range(rank):
        rows = rng.choice(rows_of[pattern % 3], rng.integers(*USES, endpoint=True), replace=False)
        X[np.ix_(rows, rng.choice(side, rng.integers(*ITEMS, endpoint=True), replace=False))] = True
    X ^= rng.random(X.shape) < np.where(X, LOST, ADDED)
    return X, y


# ---------------------------------------------------------------------- table and figure


def exponent(sizes: Any, seconds: Any) -> float:
    """Return the power of the size with which time grows.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def points_of(runs: Runs) -> dict[str, Runs]:
    """Return the medians of all sizes, by what grows."""
    figures = runs.groupby(["what", "size"], as_index=False)[["cpu_seconds", "patterns"]].median()
    return {what: figures[figures["what"] == what] for what in SIZES if (figures["what"] == what).any()}


def growth_table(runs: Runs) -> Lines:
    """Return a line for all that grows, with the exponents over all sizes and over the last step."""
    lines = []
    for what, points in points_of(runs).items():
        sizes, seconds = points["size"].to_numpy(), points["cpu_seconds"].to_numpy()
        shown = [", ".join(map(str, sizes)), ", ".join(f"{each:.2g}" for each in seconds)]
        powers = [f"{exponent(sizes[-n:], seconds[-n:]):.2f}" if len(sizes) > 1 else "-" for n in (len(sizes), 2)]
        lines.append([what, *shown, *powers])
    return ["", "sizes", "CPU seconds", "exponent", "of the last step"], lines


def _short(size: int) -> str:
    return f"{size // 1000}k" if size % 1000 == 0 else str(size)


def draw(runs: Runs, path: Path) -> None:
    """Draw time against size, a panel for all that grows."""
    import matplotlib.pyplot as plt

    found = points_of(runs)
    figure, axes = plt.subplots(1, len(found), figsize=(2.6 * len(found), 2.6), layout="constrained", squeeze=False)
    for axis, (what, points) in zip(axes[0], found.items(), strict=True):
        sizes, seconds = points["size"].to_numpy(), points["cpu_seconds"].to_numpy()
        axis.loglog(sizes, seconds, "o", color="tab:blue", markersize=4)
        if len(sizes) > 1:
            slope, height = np.polyfit(np.log(sizes), np.log(seconds), 1)
            label = f"{what}$^{{{slope:.2f}}}$"
            axis.loglog(sizes, np.exp(height) * sizes**slope, "-", color="tab:blue", alpha=0.5, label=label)
            axis.legend(fontsize=8, frameon=False)
        axis.set(xlabel=what, xticks=sizes, xticklabels=[_short(size) for size in sizes])
        axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("CPU seconds of a fit")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
