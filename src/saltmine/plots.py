"""Pictures of a fitted model with matplotlib; every function returns the axes and takes ``ax=`` to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.colours import SHARED, class_colours
from saltmine.data.item_counts import entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = "#f4f2ee"
# With more patterns there is no room for names; a name has so many items.
MOST_NAMED, NAMED_BY = 40, 3


class Plots:
    """What ``model.plot`` offers.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(60, [40, 40], rank=2, noise=0.01, random_state=0)
    >>> model = CSalt(random_state=0).fit(planted.X, planted.y)
    >>> model.plot.usage().get_xlabel()
    'pattern'
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def usage(self, ax: Axes | None = None) -> Axes:
        """Draw which row uses which pattern, rows by class and so that similar ones are neighbours."""
        from matplotlib.colors import ListedColormap

        model, ax = self._model, _axes(ax)
        numbers = np.searchsorted(model.classes_, model.row_labels_)
        order = np.lexsort((*(~model.usage_.T)[::-1], numbers))
        used = np.where(model.usage_, numbers[:, None] + 1, 0)[order]
        colours = ListedColormap([PAPER, *class_colours(len(model.classes_))])
        ax.imshow(used, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=len(model.classes_))
        ends = np.cumsum(model.class_counts_)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="#444444", linewidth=0.8)
        ax.set_yticks(ends - model.class_counts_ / 2, [str(label) for label in model.classes_])
        ax.set_xlabel("pattern")
        ax.set_ylabel("rows")
        return ax

    def patterns(self, ax: Axes | None = None) -> Axes:
        """Draw the share of every class that uses each pattern, named by its items; a dot marks who alters it."""
        model, ax = self._model, _axes(ax)
        share = (model.usage_counts_ / np.maximum(model.class_counts_, 1)[:, None]).T
        image = ax.imshow(share, aspect="auto", interpolation="nearest", cmap="Greys", vmin=0)
        s, a = np.nonzero(model.alterations_.any(axis=2).T)
        ax.scatter(a, s, s=18, color=SHARED, edgecolors="white", linewidths=0.5, zorder=3)
        ax.set_xticks(range(len(model.classes_)), [str(label) for label in model.classes_])
        ax.set_ylabel("pattern")
        if model.n_components_ <= MOST_NAMED:
            ax.set_yticks(range(model.n_components_), [self._name(s) for s in range(model.n_components_)])
        bar = ax.figure.colorbar(image, ax=ax)
        bar.set_label("share of rows that use it; dots: altered by the class")
        return ax

    def wordcloud(self, pattern: int, ax: Axes | None = None, max_words: int = 100) -> Axes:
        """Draw the items of a pattern, larger the more often they occur in the rows that use it.

        Pink items are shared, those of a class have its colour. Needs the package wordcloud (``saltmine[report]``).
        """
        model, ax = self._model, _axes(ax)
        draw_words(ax, *self._words(self._number(pattern), max_words))
        counts = zip(model.classes_, model.usage_counts_[:, pattern], strict=True)
        ax.set_title(f"pattern {pattern} ({', '.join(f'{label}: {count}' for label, count in counts)})")
        return ax

    def history(self, ax: Axes | None = None) -> Axes:
        """Draw what the search minimised, step by step: of `CSalt` the relaxed objective at every check."""
        ax = _axes(ax)
        ax.plot(self._model.history_, color="#1f6fb4", marker=".")
        step, value = self._model._history
        ax.set_xlabel(step)
        ax.set_ylabel(value)
        return ax

    def _name(self, s: int) -> str:
        """Call a pattern by its number and the items that are hit most."""
        names = list(self._words(s, most=NAMED_BY)[0])
        text = f"{s}: {', '.join(names)}"
        return text if len(text) <= 40 else f"{text[:39]}…"

    def _number(self, pattern: int) -> int:
        if not self._model.n_components_:
            raise ValueError("The model has no patterns, so there is nothing to draw.")
        if not 0 <= pattern < self._model.n_components_:
            raise ValueError(
                f"There is no pattern {pattern}; the model has patterns 0 to {self._model.n_components_ - 1}."
            )
        return int(pattern)

    def _words(self, s: int, most: int) -> tuple[dict[str, float], dict[str, str]]:
        """Return how often every item of a pattern occurs in the rows that use it, and its colour."""
        model = self._model
        pattern, item, owner = entries(model.components_, model.alterations_)
        here: NDArray[np.intp] = np.flatnonzero(pattern == s)
        used = model.usage_counts_[:, s]
        # What a single class uses is its own, shared part and all.
        of_one = used.argmax() if len(used) > 1 and (used > 0).sum() == 1 else -1
        palette = [*class_colours(len(model.classes_)), SHARED]
        hits = model._hits[:, here].sum(axis=0)
        sizes, colours = {}, {}
        for k in np.argsort(-hits, kind="stable")[:most]:
            name = str(item[here[k]] if model._item_names is None else model._item_names[item[here[k]]])
            name = " ".join(name.split())
            sizes[name] = float(max(hits[k], 1))
            colours[name] = palette[owner[here[k]] if owner[here[k]] >= 0 else of_one]
        return sizes, colours


def draw_words(ax: Axes, sizes: dict[str, float], colours: dict[str, str]) -> None:
    """Draw a cloud of words, each of its size and colour."""
    try:
        from wordcloud import WordCloud
    except ImportError:
        raise ImportError("Word clouds need the package wordcloud: pip install 'saltmine[report]'.") from None
    cloud = WordCloud(
        width=800,
        height=500,
        background_color="white",
        random_state=0,
        prefer_horizontal=1.0,
        # Sizes follow the figures, and the largest word leaves room for the others: equal figures, equal sizes.
        relative_scaling=1.0,
        max_font_size=_largest_size(sizes, 800 * 500),
        color_func=lambda word, **_: colours[word],
    )
    ax.imshow(cloud.generate_from_frequencies(sizes), interpolation="bilinear")
    ax.set_axis_off()


def _largest_size(sizes: dict[str, float], area: int) -> int:
    """Return the font size with which the words, at 0.6 em a letter, take less than half of the area."""
    most = max(sizes.values())
    letters = sum((len(word) + 1) * (size / most) ** 2 for word, size in sizes.items())
    return max(12, int((0.4 * area / (0.6 * letters)) ** 0.5))


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install 'saltmine[report]'.") from None
    return plt.subplots(layout="constrained")[1]
