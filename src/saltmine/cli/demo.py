"""``saltmine demo``: what handwritten threes and eights share, and which strokes belong to one digit.

The digits ship with scikit-learn; each pixel is an item, present where its ink is above half of the maximum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.datasets import load_digits

from saltmine.cli import options, streams
from saltmine.cli.errors import user_mistakes
from saltmine.cli.output import atomic_folder, print_rich, terminal_width
from saltmine.colours import SHARED, class_colours
from saltmine.estimators import CSalt
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import percent
from saltmine.names import shorten_message
from saltmine.report import write_report

REPORT, PICTURE = "report.html", "digits.png"
DIGITS = (3, 8)
SIDE = 8
SHOWN = 12
# Pictures beside each other in the terminal.
ACROSS = 4
# One mark and one colour per role: off, of no digit in particular, first digit, second digit.
MARKS = (".", "#", "3", "8")
COLOURS = ("#f4f2ee", SHARED, *class_colours(len(DIGITS)))


def roles(model: CSalt, pattern: int) -> NDArray[np.int64]:
    """Return the role of every pixel: 0 off, 1 of no digit in particular, 2 of the first digit, 3 of the second."""
    owners = np.flatnonzero(class_kinds(model)[:, pattern] != "")
    picture = np.where(model.components_[pattern], 2 + owners[0] if len(owners) == 1 else 1, 0)
    for a, altered in enumerate(model.alterations_[:, pattern]):
        picture[altered] = 2 + a
    return picture.reshape(SIDE, SIDE)


def _name(model: CSalt, pattern: int) -> str:
    return f"{pattern}: typical row" if model.typical_[pattern] else f"pattern {pattern}"


def _usage(model: CSalt, pattern: int) -> str:
    return "  ".join(f"{digit}: {count}x" for digit, count in zip(DIGITS, model.usage_counts_[:, pattern], strict=True))


def as_text(model: CSalt, patterns: range) -> str:
    """Return pictures of patterns side by side, in characters."""
    pictures = [roles(model, s) for s in patterns]
    lines = [[_name(model, s) for s in patterns], [_usage(model, s) for s in patterns]]
    lines += [[" ".join(MARKS[role] for role in picture[row]) for picture in pictures] for row in range(SIDE)]
    width = max(len(cell) for line in lines for cell in line)
    return "\n".join("   ".join(f"{cell:<{width}}" for cell in line).rstrip() for line in lines)


def draw(model: CSalt, path: Path) -> None:
    """Write a picture of the first patterns to a file."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown, columns = min(SHOWN, model.n_components_), 6
    figure = Figure(figsize=(9, 1.2 + 1.75 * -(-shown // columns)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(-(-shown // columns), columns)).ravel()
    for s, ax in enumerate(axes):
        ax.set_axis_off()
        if s < shown:
            ax.imshow(roles(model, s), cmap=ListedColormap(COLOURS), vmin=0, vmax=3)
            ax.set_title(f"{_name(model, s)}\n{_usage(model, s)}", fontsize=8)
    labels = ("not shown to belong to one digit", *(f"mostly or only in {digit}, or added by it" for digit in DIGITS))
    handles = [Patch(color=colour, label=label) for colour, label in zip(COLOURS[1:], labels, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"Strokes of handwritten {DIGITS[0]} and {DIGITS[1]}: what they share and what they do not")
    figure.savefig(path, dpi=150)


def print_patterns(summary: Summary) -> None:
    """Print the headline of the summary, and pictures of the first patterns."""
    model: Any = summary.model
    sizes = " and ".join(f"{entry.rows} handwritten {entry.name}s" for entry in summary.classes)
    saved = percent(1 - model.description_length_ / model.null_description_length_)
    length = f"Described in {model.description_length_:,.0f} nats, {saved} less than without patterns."
    texts = f"{sizes}, {model.n_features_in_} pixels each.", summary.headline, length
    shown = min(SHOWN, model.n_components_)
    first = "first patterns" if shown < model.n_components_ else "patterns"
    which = f"The typical row and the {first}" if model.typical_.any() else f"The {first}"
    lead = f"\n{which}, and how many digits use each"
    legend = "(#: not shown to belong to one digit; 3 and 8: mostly or only in that digit, or added by it):\n"
    print_rich(*(Text(text) for text in (*texts, lead, legend)), width=terminal_width(otherwise=120))
    for begin in range(0, shown, ACROSS):
        print(as_text(model, range(begin, min(begin + ACROSS, shown))) + "\n")


@click.command()
@options.output_option("out/demo", "Folder.")
@options.FORCE
@user_mistakes()
def demo(output: Path, force: bool) -> None:
    """Compare handwritten threes and eights; write a picture and a report.

    \b
    Example:
      saltmine demo -o out/demo
    """
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, DIGITS)
    X, y = X[chosen], y[chosen]
    pixels = [f"pixel_{row}_{column}" for row in range(SIDE) for column in range(SIDE)]
    model = CSalt(binarize=7, random_state=0).fit(X, y, item_names=pixels)
    model.about_ = {"source": f"handwritten {DIGITS[0]} and {DIGITS[1]}", "kind": "pixels", "image": [SIDE, SIDE]}
    summary = Summary(model)
    print_patterns(summary)
    with atomic_folder(output, (REPORT, PICTURE), (REPORT, b"<!doctype html>"), force) as folder:
        write_report(summary, folder / REPORT)
        picture = f"The picture is in {output / PICTURE}."
        try:
            draw(model, folder / PICTURE)
        except ImportError:
            picture = "There is no picture: it needs matplotlib (pip install 'saltmine[report]')."
    streams.outcome.written_to(output)
    print(shorten_message(f"The report is in {output / REPORT}."))
    print(shorten_message(picture))
