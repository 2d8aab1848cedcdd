"""The topic figure: word clouds of the largest patterns, corpus by corpus and method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.experiment import Row
from experiments.text_corpora import CORPORA, Corpus
from experiments.text_products import COMMON
from saltmine.colours import SHARED, class_colours
from saltmine.plots import PAPER, draw_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

#: Inches that the clouds of one corpus by one method take; as in the paper four of them, in a square.
WIDTH, HEIGHT, SIDE = 4.6, 3.7, 2
#: Words of a smaller share of the largest are not drawn, for nobody could read them.
LEAST_SIZE = 0.15


def draw(rows: Sequence[Row], titles: Mapping[str, str], path: Path) -> None:
    """Draw the clouds of these runs: a row per corpus, a column per method that has a title."""
    from matplotlib.figure import Figure

    runs = {(row["corpus"], row["method"]): row for row in rows}
    corpora = [name for name in CORPORA if any(key[0] == name for key in runs)]
    methods = [name for name in titles if any(key[1] == name for key in runs)]
    figure = Figure(figsize=(WIDTH * len(methods), HEIGHT * len(corpora)), layout="constrained", facecolor=PAPER)
    strips = figure.subfigures(len(corpora), 1, squeeze=False, hspace=0.02)[:, 0]
    for strip, name in zip(strips, corpora, strict=True):
        strip.set_facecolor(PAPER)
        _heading(strip, CORPORA[name])
        blocks = strip.subfigures(1, len(methods), squeeze=False, wspace=0.02)[0]
        for block, method in zip(blocks, methods, strict=True):
            block.set_facecolor(PAPER)
            block.suptitle(titles[method], fontsize=10)
            if (name, method) in runs:
                _clouds(block, runs[name, method]["clouds"], CORPORA[name])
            else:
                block.text(0.5, 0.5, "not measured", ha="center", fontsize=9, color="#555555")
    figure.savefig(path, dpi=150)


def _heading(strip: SubFigure, corpus: Corpus) -> None:
    """Write the name of the corpus, and beside it what the colours mean."""
    from matplotlib.patches import Patch

    strip.suptitle(corpus.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    owners = {"common": SHARED, **dict(zip(corpus.classes, class_colours(len(corpus.classes)), strict=True))}
    patches = [Patch(color=colour, label=owner) for owner, colour in owners.items()]
    strip.legend(handles=patches, loc="upper right", ncols=len(patches), frameon=False, fontsize=9, borderaxespad=0.3)


def _clouds(block: SubFigure, clouds: Sequence[Mapping[str, Any]], corpus: Corpus) -> None:
    """Draw the clouds of one run; all four places are there, drawn or not, so that blocks are of one size."""
    palette = {COMMON: SHARED, **dict(enumerate(class_colours(len(corpus.classes))))}
    axes: list[Axes] = list(block.subplots(SIDE, SIDE).flat)
    for ax in axes:
        ax.set_axis_off()
    # A model may have fewer patterns than there are places.
    for ax, cloud in zip(axes, clouds, strict=False):
        least = LEAST_SIZE * max(size for _, size, _ in cloud["words"])
        sizes = {word: float(max(size, 1)) for word, size, _ in cloud["words"] if size >= least}
        draw_words(ax, sizes, {word: palette[owner] for word, _, owner in cloud["words"]})
        first, second = cloud["used"]
        ax.set_title(f"used by {first} + {second} documents", fontsize=7, color="#555555", pad=2)
