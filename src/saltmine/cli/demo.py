"""``saltmine demo``: what handwritten threes and eights share, and which strokes belong to one digit.

The digits ship with scikit-learn; each pixel is an item, present where its ink is above half of the maximum.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from saltmine.cli import options, streams
from saltmine.cli.errors import user_mistakes
from saltmine.cli.output import atomic_folder
from saltmine.colours import SHARED, class_colours
from saltmine.estimators import CSalt
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.summary import Summary
from saltmine.names import shorten_message
from saltmine.report import write_report

REPORT, PICTURE = "report.html", "digits.png"
DIGITS = (3, 8)
SIDE = 8
SHOWN = 12
# One mark and one colour per role: off, shared, first digit, second digit.
MARKS = (".", "#", "3", "8")
COLOURS = ("#f4f2ee", SHARED, *class_colours(len(DIGITS)))


def roles(model: CSalt, pattern: int) -> NDArray[np.int64]:
    """Return the role of every pixel: 0 off, 1 shared, 2 of the first digit, 3 of the second."""
    owners = np.flatnonzero(class_kinds(model)[:, pattern] != "")
    picture = np.where(model.components_[pattern], 2 + owners[0] if len(owners) == 1 else 1, 0)
    for a, altered in enumerate(model.alterations_[:, pattern]):
        picture[altered] = 2 + a
    return picture.reshape(SIDE, SIDE)


def _usage(model: CSalt, pattern: int) -> str:
    return "  ".join(f"{digit}: {count}x" for digit, count in zip(DIGITS, model.usage_counts_[:, pattern], strict=True))


def as_text(model: CSalt, patterns: range) -> str:
    """Return pictures of patterns side by side, in characters."""
    pictures = [roles(model, s) for s in patterns]
    lines = [[f"pattern {s}" for s in patterns], [_usage(model, s) for s in patterns]]
    lines += [[" ".join(MARKS[role] for role in picture[row]) for picture in pictures] for row in range(SIDE)]
    return "\n".join("   ".join(f"{cell:<{2 * SIDE - 1}}" for cell in line) for line in lines)


def draw(model: CSalt, path: Path) -> None:
    """Write a picture of the largest patterns to a file."""
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
            ax.set_title(f"pattern {s}\n{_usage(model, s)}", fontsize=8)
    labels = ("shared", *(f"mostly, only or added in {digit}" for digit in DIGITS))
    handles = [Patch(color=colour, label=label) for colour, label in zip(COLOURS[1:], labels, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"Strokes of handwritten {DIGITS[0]} and {DIGITS[1]}: what they share and what they do not")
    figure.savefig(path, dpi=150)


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
    model = CSalt(binarize=7, random_state=0, verbose=1).fit(X, y, item_names=pixels)
    model.about_ = {"source": f"handwritten {DIGITS[0]} and {DIGITS[1]}", "kind": "pixels", "image": [SIDE, SIDE]}
    saved = 1 - model.description_length_ / model.null_description_length_
    print(f"{len(X)} digits of {X.shape[1]} pixels: {model.n_components_} patterns describe them in", end=" ")
    print(f"{model.description_length_:,.0f} nats, {saved:.0%} less than without patterns.\n")
    shown = min(SHOWN, model.n_components_)
    print(f"The {shown} largest patterns and how many digits use them")
    print("(# ink that both share, 3 and 8 ink mostly or only of that digit, or added by it):\n")
    for first in range(0, shown, 4):
        print(as_text(model, range(first, min(first + 4, shown))) + "\n")
    summary = Summary(model)
    own = summary.entries.query("kind != 'shared'").groupby("role").size()
    for digit in DIGITS:
        print(f"{own.get(str(digit), 0)} of the pixels in these and the other patterns belong to {digit}.")
    with atomic_folder(output, (REPORT, PICTURE), (REPORT, b"<!doctype html>"), force) as folder:
        write_report(summary, folder / REPORT)
        picture = f"The picture is in {output / PICTURE}."
        try:
            draw(model, folder / PICTURE)
        except ImportError:
            picture = "There is no picture: it needs matplotlib (pip install 'saltmine[report]')."
    streams.outcome.written_to(output)
    print()
    print(shorten_message(f"The report, with all of them, is in {output / REPORT}."))
    print(shorten_message(picture))
