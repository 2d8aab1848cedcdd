"""Draw the pictures of the user guide; run it again after a change: python docs/guide/drawings.py.

The data are small and invented, so that every cell can be seen.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from saltmine.colours import SHARED, class_colours

FOLDER = Path(__file__).parent
MAINZ, TRIER = class_colours(2)
ONE, ZERO, LINE, TEXT, TYPICAL = "#b9b9b9", "#ffffff", "#dddddd", "#333333", "#8a8a8a"
ITEMS = ["bread", "butter", "jam", "milk", "sugar", "coffee", "tea", "rice"]

# Rows of baskets, columns as in ITEMS.
BASKETS = np.array(
    [
        [1, 1, 1, 1, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1, 1, 0],
        [1, 1, 1, 1, 0, 0, 1, 0],
        [1, 1, 0, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 1],
        [1, 1, 1, 1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 0, 1],
        [1, 1, 1, 1, 1, 1, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 1],
    ],
    dtype=bool,
)
SHOPS = np.repeat(["Mainz", "Trier"], 5)
USES = np.array([0, 2, 3, 5, 7, 8])
PATTERN, ADDED = np.arange(4), np.array([4, 5])


def grid(axis: Axes, cells: np.ndarray, colours: np.ndarray, items: list[str], title: str) -> None:
    """Draw the cells of a table, a square each; ``colours`` holds that of every cell."""
    n_rows, n_items = cells.shape
    for row in range(n_rows):
        for item in range(n_items):
            axis.add_patch(Rectangle((item, row), 1, 1, facecolor=colours[row, item], edgecolor=LINE, linewidth=0.8))
    axis.set(xlim=(-0.1, n_items + 0.1), ylim=(n_rows + 0.1, -0.1), aspect="equal", yticks=[])
    axis.set_xticks(np.arange(n_items) + 0.5, items, rotation=60, ha="left", rotation_mode="anchor", fontsize=9)
    axis.xaxis.tick_top()
    axis.tick_params(length=0, colors=TEXT, pad=2)
    axis.spines[:].set_visible(False)
    axis.set_title(title, fontsize=10.5, color=TEXT, pad=8)


def plain(cells: np.ndarray) -> np.ndarray:
    """Return the colours of a table without patterns."""
    return np.where(cells, ONE, ZERO).astype(object)


def outline(axis: Axes, items: tuple[int, int], rows: tuple[int, int], colour: str) -> None:
    """Draw a frame around a block."""
    axis.add_patch(
        Rectangle(
            (items[0], rows[0]), items[1] - items[0], rows[1] - rows[0], fill=False, edgecolor=colour, linewidth=2.4
        )
    )


def bracket(axis: Axes, rows: tuple[int, int], text: str, colour: str) -> None:
    """Name rows on the left."""
    axis.plot([-0.35, -0.35], [rows[0] + 0.1, rows[1] - 0.1], color=colour, linewidth=4, clip_on=False)
    middle = sum(rows) / 2
    axis.text(-0.7, middle, text, rotation=90, ha="center", va="center", color=colour, fontsize=10, clip_on=False)


def save(figure: Figure, name: str) -> None:
    """Write a picture, the same bytes for the same picture."""
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, facecolor="white")


# ---------------------------------------------------------------------- the pictures


def draw_pattern() -> None:
    """Draw a pattern: a block of rows and items, wherever they stand in the table."""
    figure = Figure(figsize=(7.6, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    grid(left, BASKETS, plain(BASKETS), ITEMS, "the table")
    order = np.concatenate([USES, np.setdiff1d(np.arange(len(BASKETS)), USES)])
    cells = BASKETS[order]
    colours = plain(cells)
    block = np.ix_(np.arange(len(USES)), PATTERN)
    colours[block] = np.where(cells[block], SHARED, "#f7dbe9")
    grid(right, cells, colours, ITEMS, "its rows in another order")
    outline(right, (0, 4), (0, len(USES)), SHARED)
    right.annotate(
        "missing: an error\nof the pattern", (2.5, 2.5), (8.6, 2.5), fontsize=9, color=TEXT, va="center",
        arrowprops={"arrowstyle": "-", "color": TEXT}, annotation_clip=False,
    )  # fmt: skip
    right.plot([8.35, 8.35], [0.1, 5.9], color=SHARED, linewidth=4, clip_on=False)
    right.text(8.6, 4.9, "six rows use\nthe pattern", fontsize=9, color=SHARED, va="center")
    right.text(8.6, 8.0, "grey: ones that\nno pattern explains", fontsize=9, color="#777777", va="center")
    save(figure, "pattern")


def draw_alteration() -> None:
    """Draw an alteration: the same pattern in both classes, and what one class adds to it."""
    figure = Figure(figsize=(7.6, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = plain(BASKETS)
    for row in USES:
        colours[row, PATTERN] = np.where(BASKETS[row, PATTERN], SHARED, "#f7dbe9")
        if SHOPS[row] == "Trier":
            colours[row, ADDED] = TRIER
    grid(left, BASKETS, colours, ITEMS, "the pattern in both shops")
    bracket(left, (0, 5), "Mainz", MAINZ)
    bracket(left, (5, 10), "Trier", TRIER)
    right.set_axis_off()
    right.set(xlim=(-0.2, 10), ylim=(0, 10))
    _chips(right, 7.6, "both shops", ITEMS[:4], SHARED)
    _chips(right, 5.4, "Trier adds", ["sugar", "coffee"], TRIER)
    right.text(0, 3.3, "written as", fontsize=9.5, color="#777777")
    right.text(0, 2.4, "bread, butter, jam, milk;", fontsize=11, color=TEXT)
    right.text(0, 1.6, "Trier adds: sugar, coffee", fontsize=11, color=TEXT)
    save(figure, "alteration")


def _chips(axis: Axes, height: float, title: str, names: list[str], colour: str) -> None:
    axis.text(0, height + 0.9, title, fontsize=9.5, color=colour)
    for k, name in enumerate(names):
        box = FancyBboxPatch(
            (2.45 * k, height - 0.4), 2.1, 0.9, boxstyle="round,pad=0.08", facecolor=colour, edgecolor="none"
        )
        axis.add_patch(box)
        axis.text(2.45 * k + 1.05, height + 0.05, name, color="white", ha="center", va="center", fontsize=9.5)


def draw_typical() -> None:
    """Draw the typical row: what most rows have, described once; patterns come on top."""
    items = ["film", "make", "good", "story", "alien", "crew", "court", "war"]
    cells = np.zeros((10, 8), dtype=bool)
    cells[:, :4] = True
    cells[[1, 3, 6], [1, 3, 0]] = False
    cells[4:8, 4:6] = True
    cells[[0, 2, 9], [6, 7, 5]] = True
    colours = plain(cells)
    colours[:, :4] = np.where(cells[:, :4], TYPICAL, "#e6e6e6")
    colours[4:8, 4:6] = SHARED
    figure = Figure(figsize=(6.2, 4.2), layout="constrained")
    axis = figure.subplots()
    grid(axis, cells, colours, items, "")
    outline(axis, (0, 4), (0, 10), "#555555")
    outline(axis, (4, 6), (4, 8), SHARED)
    axis.text(
        8.5,
        1.6,
        "the typical row:\nitems that most rows have;\nno discovery",
        fontsize=9.5,
        color="#555555",
        va="center",
    )
    axis.text(
        8.5,
        6.0,
        "a pattern:\nitems that go together\nmore than chance explains",
        fontsize=9.5,
        color=SHARED,
        va="center",
    )
    save(figure, "typical_row")


def draw_table_row() -> None:
    """Draw how a line of the table in the terminal is read."""
    figure = Figure(figsize=(8.6, 1.9), layout="constrained")
    axis = figure.subplots()
    axis.set_axis_off()
    axis.set(xlim=(0, 100), ylim=(3, 22))
    font = {"fontsize": 11, "family": "DejaVu Sans Mono", "va": "center"}
    axis.add_patch(Rectangle((0, 13), 100, 5, facecolor="#f4f4f4", edgecolor="none"))
    for x, text in ((2, "#"), (7, "items"), (82, "Mainz"), (91, "Trier")):
        axis.text(x, 20.5, text, color="#777777", **font)
    pieces = ((2, "0", TEXT), (7, "bread, butter, jam, milk;", SHARED), (35.5, "Trier adds: sugar, coffee", TRIER))
    for x, text, colour in (*pieces, (84, "41", MAINZ), (93, "57", TRIER)):
        axis.text(x, 15.5, text, color=colour, **font)
    notes = (
        (2.6, (0, 3.5), "number of\nthe pattern", TEXT),
        (21, (12.5, 3.5), "items that all classes\nhave in the pattern", SHARED),
        (48, (38, 3.5), "an alteration: items that\nrows of Trier have on top", TRIER),
        (89, (80, 3.5), "rows of each class\nthat use the pattern", TEXT),
    )
    for x, (left, low), text, colour in notes:
        axis.plot([x, x], [8.2, 12.6], color=colour, linewidth=1)
        axis.text(left, low + 2, text, color=colour, fontsize=9.5, va="center")
    save(figure, "table_row")


def draw_kinds() -> None:
    """Draw the kinds of a pattern, by the share of rows that carry it."""
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    axes = figure.subplots(1, 4, sharey=True)
    shares = {"shared": (24, 21), "mostly Trier": (8, 30), "only Trier": (0, 28), "added by Trier": (24, 28)}
    for axis, (title, pair) in zip(axes, shares.items(), strict=True):
        axis.bar([0, 1], pair, color=[MAINZ, TRIER] if "Trier" in title and "added" not in title else SHARED, width=0.6)
        if title == "added by Trier":
            axis.bar([0, 1], (1, 28), color=[MAINZ, TRIER], width=0.28)
            axis.text(1.75, 29, "all of them have\nthe added items", ha="right", fontsize=8, color=TRIER)
            axis.text(-0.75, 25, "few of\nthem do", ha="left", fontsize=8, color=MAINZ)
        axis.set_title(title, fontsize=10.5, color=TEXT)
        axis.set_xticks([0, 1], ["Mainz", "Trier"], fontsize=9)
        axis.set(ylim=(0, 36), xlim=(-0.75, 1.75))
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(length=0, colors=TEXT)
    axes[0].set_ylabel("% of the rows that\ncarry the pattern", fontsize=9, color=TEXT)
    save(figure, "kinds")


def main() -> None:
    """Draw all pictures."""
    # Text becomes outlines, so that it looks the same everywhere; names inside of the file stay the same.
    mpl.rcParams |= {"svg.fonttype": "path", "svg.hashsalt": "saltmine", "font.family": "DejaVu Sans"}
    for draw in (draw_pattern, draw_alteration, draw_typical, draw_table_row, draw_kinds):
        draw()


if __name__ == "__main__":
    main()
