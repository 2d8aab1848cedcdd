"""The picture of the genome experiment: who uses which pattern, and what came back of the planted programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Row
from saltmine.colours import class_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASS_NAMES = {"N": "normal tissue", "T": "primary tumour", "R": "relapse"}
# Programs of both kinds of tumours get a colour of their own.
COLOURS = dict(zip(("N", "T", "R", "TR"), class_colours(4), strict=True))
NOTHING, FOREIGN = "#f4f2ef", "#b3aea6"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw a column of two panels per cohort."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("The figure needs matplotlib; install it with: pip install 'saltmine[report]'.") from None

    most = max(len(shared_patterns(row)) for row in rows)
    figure = Figure(figsize=(0.8 + 4.2 * len(rows), 3.9 + 0.17 * most), layout="constrained")
    axes = figure.subplots(2, len(rows), squeeze=False, height_ratios=[0.6 + 0.17 * most, 2.4])
    top = max(max(program["loci"], program["reported"]) for row in rows for program in row["programs"])
    for column, row in enumerate(rows):
        _usage_panel(axes[0, column], row)
        _program_panel(axes[1, column], row, top)
    axes[0, 0].set_ylabel("patterns, with their numbers of columns", fontsize=8)
    axes[1, 0].set_ylabel("loci", fontsize=8)
    _legend(axes[1, 0])
    figure.savefig(path, dpi=150)


def shared_patterns(row: Row) -> list[int]:
    """Return the patterns that several patients use: those that all classes use first, then by class and patient."""
    patients, labels = np.array(row["patients"]), np.array(list(row["labels"]))

    def order(s: int) -> tuple[int, list[bool], list[int]]:
        used = _as_array(row["usage"][s])
        classes = [bool(used[labels == label].any()) for label in CLASS_NAMES]
        return -sum(classes), [not has for has in classes], sorted(set(patients[used].tolist()))

    several = (s for s, usage in enumerate(row["usage"]) if len(set(patients[_as_array(usage)])) > 1)
    return sorted(several, key=order)


def _as_array(usage: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([used == "1" for used in usage])


def _usage_panel(ax: Axes, row: Row) -> None:
    """Draw the transposed usage matrix, as the paper does: a row per pattern, a column per sample."""
    from matplotlib.colors import to_rgb

    shown = shared_patterns(row)
    colours = np.array([to_rgb(COLOURS[label]) for label in row["labels"]])
    image = np.full((len(shown), len(colours), 3), to_rgb(NOTHING))
    for place, s in enumerate(shown):
        used = _as_array(row["usage"][s])
        image[place, used] = colours[used]
    if shown:
        ax.pcolormesh(image, edgecolors="white", linewidth=0.5)
    ax.invert_yaxis()
    ax.set_yticks(np.arange(len(shown)) + 0.5, [f"{_columns_of(row, s):,}" for s in shown])
    ends = [row["labels"].rindex(label) + 1 for label in CLASS_NAMES]
    for end in ends[:-1]:
        ax.axvline(end, color="#2f2d2a", linewidth=0.8)
    middles = [(begin + end) / 2 for begin, end in zip([0, *ends], ends, strict=False)]
    ax.set_xticks(middles, list(CLASS_NAMES.values()))
    for tick, label in zip(ax.get_xticklabels(), CLASS_NAMES, strict=True):
        tick.set_color(COLOURS[label])
    omitted = f"{row['one_patient']} of one patient not shown"
    ax.set_title(f"cohort {row['seed']}: {row['patterns']} patterns,\n{omitted}", fontsize=9)
    _plain(ax)


def _columns_of(row: Row, s: int) -> int:
    """Count the columns that a pattern has in some class."""
    return int(row["shared_sizes"][s] + sum(sizes[s] for sizes in row["altered_sizes"].values()))


def _program_panel(ax: Axes, row: Row, top: int) -> None:
    """Draw a bar per program: planted as its outline, filled with what came back, and on top what does not belong."""
    for place, program in enumerate(row["programs"]):
        colour = COLOURS[program["classes"]]
        loci, back, foreign = program["loci"], program["back"], program["reported"] - program["back"]
        ax.bar(place, back, color=colour, width=0.7)
        ax.bar(place, loci, facecolor="none", edgecolor=colour, linewidth=1.0, width=0.7)
        ax.bar(place, foreign, bottom=loci, color=FOREIGN, width=0.7)
        share = f"{100 * back / max(loci, 1):.0f}"
        ax.annotate(share, (place, loci + foreign), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=7)
    ax.set_xticks(range(len(row["programs"])), ["+".join(program["classes"]) for program in row["programs"]])
    for tick, program in zip(ax.get_xticklabels(), row["programs"], strict=True):
        tick.set_color(COLOURS[program["classes"]])
    # Room for the legend.
    ax.set_ylim(0, 1.25 * top)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("classes of the program", fontsize=8)
    ax.set_title("planted programs, and % of their loci that came back", fontsize=9)
    _plain(ax)


def _plain(ax: Axes) -> None:
    ax.tick_params(labelsize=7, length=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _legend(ax: Axes) -> None:
    from matplotlib.patches import Patch

    grey = "#5b6b7a"
    handles = [
        Patch(facecolor="none", edgecolor=grey, label="planted"),
        Patch(color=grey, label="came back"),
        Patch(color=FOREIGN, label="reported, not planted"),
    ]
    ax.legend(handles=handles, fontsize=7, frameon=False, loc="upper left", ncols=3, columnspacing=1, handlelength=1)
