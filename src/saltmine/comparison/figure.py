"""The table of a comparison as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from saltmine.colours import SHARED, class_colours
from saltmine.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Columns of the table that get a panel, with what stands above it; those that are missing get none.
PANELS = {
    "of_null": "description length\n(share of that without patterns)",
    "rss": "cells in error",
    "patterns": "patterns",
    "f_measure": "F-measure",
    "alteration_recall": "recall of alterations",
    "seconds": "seconds (logarithmic)",
}
OURS, OTHERS = "#2f2d2a", "#b3aea6"


def draw(table: pd.DataFrame) -> Figure:
    """Return a figure with a panel per column and a bar per method, in the order of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"method": ["csalt", "asso"], "of_null": [0.5, 0.7], "rss": [10, 20], "seconds": [1.0, 0.1]}
    >>> len(draw(pd.DataFrame(rows)).axes)
    3
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("The figure needs matplotlib; install it with: pip install 'saltmine[report]'.") from None

    panels = [column for column in PANELS if column in table.columns and table[column].notna().any()]
    titles = [METHODS[name].title if name in METHODS else str(name).upper() for name in table["method"]]
    figure = Figure(figsize=(2.4 * len(panels) + 1.6, 0.36 * len(table) + 1.4), layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    colours = [OURS if name == "csalt" else OTHERS for name in table["method"]]
    for ax, column in zip(all_axes, panels, strict=True):
        _panel(ax, table, column, colours)
    all_axes[0].set_yticks(range(len(table)), titles)
    all_axes[0].invert_yaxis()
    return figure


def _panel(ax: Axes, table: pd.DataFrame, column: str, colours: list[str]) -> None:
    places, values = np.arange(len(table)), table[column].to_numpy(dtype=np.float64)
    longest = max(values[np.isfinite(values)].max(initial=0), 1e-9)
    if column == "patterns" and "common" in table.columns:
        # A method that finds thousands shall not hide the others; its bar is cut, and its figure stands beside it.
        longest = max(min(longest, 4 * float(np.median(values))), 1)
        _stacked(ax, table.assign(**_cut(table, longest)))
    else:
        ax.barh(places, np.nan_to_num(values), color=colours, height=0.72)
    if column == "seconds":
        ax.set_xscale("log")
        ax.set_xlim(left=max(values.min() / 2, 1e-3))
    else:
        # Room for the figures beside the bars.
        ax.set_xlim(0, longest * 1.32)
    for place, value in zip(places, values, strict=True):
        if np.isfinite(value):
            end = (min(value, longest), place)
            ax.annotate(_shown(value), end, xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_title(PANELS[column], fontsize=9)
    ax.tick_params(labelsize=8, length=0)
    ax.set_xticks([])
    ax.minorticks_off()
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)


def _cut(table: pd.DataFrame, longest: float) -> dict[str, Any]:
    """Return the numbers of patterns, in proportion, of bars that are no longer than that."""
    share = np.minimum(1, longest / np.maximum(table["patterns"].to_numpy(dtype=np.float64), 1))
    return {column: table[column].to_numpy() * share for column in ("common", "altered", "specific")}


def _stacked(ax: Axes, table: pd.DataFrame) -> None:
    """Draw common patterns, those that are altered hatched, and behind them the specific ones."""
    places = np.arange(len(table))
    altered, common = table["altered"].to_numpy(), table["common"].to_numpy()
    style: dict[str, Any] = {"height": 0.72}
    ax.barh(places, common - altered, color=SHARED, label="common", **style)
    ax.barh(
        places,
        altered,
        left=common - altered,
        color=SHARED,
        hatch="////",
        edgecolor="white",
        linewidth=0,
        label="altered",
        **style,
    )
    ax.barh(places, table["specific"], left=common, color=class_colours(1)[0], label="specific", **style)
    ax.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, handlelength=1)


def _shown(value: float) -> str:
    if value == round(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"
