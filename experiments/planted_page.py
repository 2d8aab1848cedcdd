"""The table, the figure and the page of the experiments on planted data, made of the stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.experiment import Row, code_versions
from experiments.planted import CURVES, Series
from saltmine.cli.output import markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The paper's panels.
PANELS = {"F": "F-measure", "rec_V": "recall of alterations", "r": "patterns per class"}
MEASURES = (*PANELS, "pre_V", "planted r", "patterns", "f/f*", "seconds")
#: The same for all experiments on planted data.
HOW_TO_READ = """\
The methods are:

- **C-Salt** is `CSalt()`, and **C-Salt as published** is `CSalt(algorithm="paper")`.
- **Primp** is the related method without classes.
  C-Salt and Primp get no information about the truth.
- **Dbssl, true ranks** is told the planted number of common patterns, and twice this number for each of two classes.
  Alterations count as patterns of their class here.
- **Dbssl, classes only** is told to find no common patterns, and as many patterns of each class as were planted in all.
- **MdlDbssl** chooses among nine such settings of the paper; it is run if the number of patterns varies.

The measures are:

- **F** is the F-measure of the patterns of every class, with their rows.
  It is 1 if exactly the planted patterns are found.
- **rec_V** is the recall of the planted alterations, which may be found in any pattern.
- **pre_V** is the precision of the patterns in which they are found.
  It is low if a pattern holds the alteration together with the items that it alters.
- **r** is the number of patterns per class, as the mean over the classes.

Two methods are compared on the matrices that both were run on, to three digits.
Bars in the figures are two standard deviations long."""
#: What the cells of each of two tables show.
CELLS = (("F", "rec_V"), ("pre_V", "r"))
#: Methods beside each other in a table.
METHODS_PER_TABLE = 5
STYLES: dict[str, dict[str, Any]] = {
    "csalt": {"color": "#2f2d2a", "marker": "o", "linewidth": 2.2, "zorder": 5},
    "paper": {"color": "#d95f9f", "marker": "s"},
    "primp": {"color": "#d9790f", "marker": "^", "linestyle": "--"},
    "dbssl-shared": {"color": "#1f6fb4", "marker": "v", "linestyle": "--"},
    "dbssl-own": {"color": "#0d9aa6", "marker": "D", "linestyle": "--"},
    "mdldbssl": {"color": "#7b4fb0", "marker": "*", "linestyle": "--"},
}


def write(series: Series, rows: Sequence[Row], folder: Path) -> str:
    """Write table and figure; return the page."""
    runs = pd.DataFrame(rows).astype({"rec_V": float, "pre_V": float})
    table = summarise(series, runs)
    baselines = [method for method in series.methods[1:] if {"csalt", method} <= set(runs["method"])]
    table.to_csv(folder / f"{series.name}.csv", index=False)
    draw(series, table, folder / f"{series.name}.png")
    return "\n\n".join(
        [
            f"# {series.title}",
            _what_was_measured(series, runs, code_versions(rows)),
            HOW_TO_READ,
            *(verdict(series, runs, baseline) for baseline in baselines),
            f"![{series.title}: F-measure, recall of alterations and number of patterns]({series.name}.png)",
            *(_tables(series, table, *measures) for measures in CELLS),
            "",
        ]
    )


def summarise(series: Series, runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations of every method at every point."""
    groups = runs.groupby(["classes", series.varied, "method"], sort=True)
    table = groups[list(MEASURES)].mean()
    spread = groups[list(PANELS)].std(ddof=0).add_suffix(" sd")
    found = table.join(spread).join(groups.size().rename("matrices")).reset_index()
    order = {method: k for k, method in enumerate(CURVES)}
    return found.sort_values(
        ["classes", series.varied, "method"], key=lambda c: c.map(order) if c.name == "method" else c
    )


def _what_was_measured(series: Series, runs: pd.DataFrame, code: str) -> str:
    matrices = runs.groupby(["classes", series.varied, "method"]).size()
    count = f"{matrices.min()}" if matrices.min() == matrices.max() else f"{matrices.min()} to {matrices.max()}"
    points = ", ".join(_shown(series, point) for point in sorted(runs[series.varied].unique()))
    classes = " and ".join(str(count) for count in sorted(runs["classes"].unique()))
    usual = {
        "noise": "24 planted patterns",
        "share": "24 planted patterns, 10 % noise",
        "rank": "10 % noise",
    }[series.varied]
    shapes = runs[["columns", "rows"]].drop_duplicates().sort_values("columns").to_numpy()
    sizes = ", ".join(f"{n} x {m}" for n, m in shapes)
    return "\n".join(
        [
            f"{len(runs):,} fits with {code}.",
            "",
            f"- Data: {classes} classes, {usual}, {series.label} {points}.",
            f"- {count} matrices per method and point, of {sizes} columns x rows.",
            f"- Seeds {runs['seed'].min()} to {runs['seed'].max()}.",
        ]
    )


class Standing(NamedTuple):
    """How C-Salt compares with a baseline: points at which it is above, level and below, to three digits."""

    above: int
    level: int
    below: pd.DataFrame  # ours and theirs, at the points below


def standing(series: Series, runs: pd.DataFrame, baseline: str, measure: str) -> Standing:
    """Compare means of C-Salt with those of a baseline, point by point, over the matrices that both were run on."""
    pair = of_both(series, runs, baseline, measure).groupby(level=["classes", series.varied]).mean().round(3)
    above, level = int((pair["ours"] > pair["theirs"]).sum()), int((pair["ours"] == pair["theirs"]).sum())
    return Standing(above, level, pair[pair["ours"] < pair["theirs"]])


def of_both(series: Series, runs: pd.DataFrame, baseline: str, measure: str) -> pd.DataFrame:
    """Return a measure of C-Salt and of a baseline, a line per matrix that both were run on."""
    matrix = ["classes", series.varied, "seed"]
    ours, theirs = (runs[runs["method"] == method].set_index(matrix)[measure] for method in ("csalt", baseline))
    return pd.DataFrame({"ours": ours, "theirs": theirs}).dropna()


def standing_in_words(series: Series, runs: pd.DataFrame, baseline: str, measure: str) -> str:
    """Say where C-Salt is above a baseline, level with it or below it."""
    above, level, below = standing(series, runs, baseline, measure)
    text = f"above at {above} of {above + level + len(below)} points"
    if level:
        text += f", level at {level}"
    if below.empty:
        return text + "."
    places = (
        f"  - {_where(series, place)}: {ours:.3f} against {theirs:.3f}" for place, ours, theirs in below.itertuples()
    )
    return "\n".join([f"{text}, below at {len(below)}:", *places])


def standing_in_counts(series: Series, runs: pd.DataFrame, baseline: str, measure: str) -> str:
    """Return the number of points at which C-Salt is above a baseline, level with it and below it."""
    above, level, below = standing(series, runs, baseline, measure)
    return f"{above} / {level} / {len(below)}"


def verdict(series: Series, runs: pd.DataFrame, baseline: str) -> str:
    """Say how C-Salt compares with a baseline, and how well both tell alterations apart."""
    lines = [
        f"- {measure}: C-Salt is {standing_in_words(series, runs, baseline, measure)}" for measure in ("F", "rec_V")
    ]
    precision = of_both(series, runs, baseline, "pre_V").mean()
    if precision.notna().all():
        lines.append(f"- pre_V: {precision['ours']:.2f} against {precision['theirs']:.2f}.")
    return "\n".join([f"C-Salt against **{CURVES[baseline][0]}**:", "", *lines])


def _where(series: Series, place: Any) -> str:
    point = _shown(series, place[1])
    return f"{place[0]} classes, {point}" if len(series.classes) > 1 else point


def _shown(series: Series, point: Any) -> str:
    return f"{point:g}" if series.varied == "rank" else f"{100 * point:g} %"


def _tables(series: Series, table: pd.DataFrame, first: str, second: str) -> str:
    """Return tables of two measures with a sentence that names them."""
    named = f"Cells show {first} / {second}, as means over the matrices."
    planted = "\nThe planted r is in parentheses." if second == "r" else ""
    parts = [_as_markdown(series, part, first, second) for _, part in table.groupby("classes")]
    return "\n\n".join([named + planted, *parts])


def _as_markdown(series: Series, table: pd.DataFrame, first_measure: str, second_measure: str) -> str:
    """Return a table of the points and methods, in parts that are narrow enough to read."""
    methods = [method for method in series.methods if (table["method"] == method).any()]
    classes = f", {table['classes'].iloc[0]} classes" if len(series.classes) > 1 else ""
    points = [(point, part.set_index("method")) for point, part in table.groupby(series.varied)]
    tables = []
    for first in range(0, len(methods), METHODS_PER_TABLE):
        shown = methods[first : first + METHODS_PER_TABLE]
        lines = [
            [
                _shown(series, point) + (f" ({cells['planted r'].iloc[0]:.1f})" if second_measure == "r" else ""),
                *(
                    f"{_value(cells.loc[method], first_measure)} / {_value(cells.loc[method], second_measure)}"
                    if method in cells.index
                    else ""
                    for method in shown
                ),
            ]
            for point, cells in points
        ]
        tables.append(markdown_table([series.label + classes, *(CURVES[method][0] for method in shown)], lines))
    return "\n\n".join(tables)


def _value(row: Any, measure: str) -> str:
    if pd.isna(row[measure]):
        return "-"
    return f"{row[measure]:.1f}" if measure == "r" else f"{row[measure]:.3f}"


def draw(series: Series, table: pd.DataFrame, path: Path) -> None:
    """Draw the paper's panels, a column of them per number of classes."""
    from matplotlib.figure import Figure

    counts = sorted(table["classes"].unique())
    figure = Figure(figsize=(1.6 + 3.9 * len(counts), 7.6), layout="constrained")
    axes = figure.subplots(len(PANELS), len(counts), sharex="col", squeeze=False)
    for column, count in enumerate(counts):
        part = table[table["classes"] == count]
        for row, measure in enumerate(PANELS):
            _panel(axes[row, column], series, part, measure)
        if len(counts) > 1:
            axes[0, column].set_title(f"{count} classes", fontsize=10)
        axes[-1, column].set_xlabel(series.label, fontsize=9)
    for row, title in enumerate(PANELS.values()):
        axes[row, 0].set_ylabel(title, fontsize=9)
    handles, labels = axes[-1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)


def _panel(ax: Axes, series: Series, table: pd.DataFrame, measure: str) -> None:
    if measure == "r":
        planted = table.groupby(series.varied)["planted r"].mean()
        ax.plot(planted.index, planted, color="#999999", linestyle=":", linewidth=1.8, zorder=1, label="planted")
    for method in series.methods:
        part = table[table["method"] == method].sort_values(series.varied)
        if len(part):
            style: dict[str, Any] = {"linewidth": 1.3, "markersize": 4, **STYLES[method]}
            ax.errorbar(
                part[series.varied],
                part[measure],
                part[f"{measure} sd"],
                label=CURVES[method][0],
                elinewidth=0.8,
                capsize=2,
                **style,
            )
    if measure == "r":
        ax.set_ylim(bottom=0)
    else:
        least = (table[measure] - table[f"{measure} sd"]).min()
        ax.set_ylim(max(0, np.floor(10 * least) / 10) if least == least else 0, 1.02)
    if series.varied != "rank":
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    ax.tick_params(labelsize=8)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
