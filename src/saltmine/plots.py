"""Pictures of a fitted model with matplotlib; every function returns the axes and takes ``ax=`` to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltmine.colours import SHARED, class_colours
from saltmine.extras import needing
from saltmine.fitted.model import FittedModel
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = "#f4f2ee"
# With more patterns there is no room for titles, nor for longer ones.
MAX_TITLES, MAX_TITLE = 40, 60
# Smallest size of a word, as a share of the largest.
MIN_WORD = 0.05


class Plots:
    """The plots of a fitted model, as ``model.plot``.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = CSalt(random_state=0).fit(planted.X, planted.y)
    >>> model.plot.usage().get_xlabel()
    'pattern'
    """

    def __init__(self, model: FittedModel) -> None:
        self._model = model

    def usage(self, ax: Axes | None = None) -> Axes:
        """Draw which row uses which pattern, rows ordered by class and similarity.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.plot.usage().get_ylabel()
        'rows'
        """
        model, ax = self._model, _axes(ax)
        from matplotlib.colors import ListedColormap

        numbers = np.searchsorted(model.classes_, model.row_labels_)
        order = np.lexsort((*(~model.usage_.T)[::-1], numbers))
        used = np.where(model.usage_, numbers[:, None] + 1, 0)[order]
        colours = ListedColormap([PAPER, *class_colours(len(model.classes_))])
        ax.imshow(used, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=len(model.classes_))
        ends = np.cumsum(model.class_counts_)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="#444444", linewidth=0.8)
        ax.set_yticks(ends - model.class_counts_ / 2, [str(label) for label in model.classes_])
        ax.set(xlabel="pattern", ylabel="rows")
        return ax

    def patterns(self, ax: Axes | None = None) -> Axes:
        """Draw the share of every class that uses each pattern; a dot marks the classes that alter it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.plot.patterns().get_ylabel()
        'pattern'
        """
        model, ax = self._model, _axes(ax)
        share = (model.usage_counts_ / np.maximum(model.class_counts_, 1)[:, None]).T
        image = ax.imshow(share, aspect="auto", interpolation="nearest", cmap="Greys", vmin=0)
        s, a = np.nonzero(model.alterations_.any(axis=2).T)
        ax.scatter(a, s, s=18, color=SHARED, edgecolors="white", linewidths=0.5, zorder=3)
        ax.set_xticks(range(len(model.classes_)), [str(label) for label in model.classes_])
        ax.set_ylabel("pattern")
        if model.n_components_ <= MAX_TITLES:
            summary = Summary(model)
            titles = [f"{pattern.number}: {summary.title(pattern)}" for pattern in summary.patterns]
            ax.set_yticks(range(len(titles)), [shorten(title, MAX_TITLE) for title in titles])
        ax.figure.colorbar(image, ax=ax, label="share of rows that use it; dots: altered by the class")
        return ax

    def wordcloud(self, pattern: int, ax: Axes | None = None, max_words: int = 100) -> Axes:
        """Draw the items of a pattern, sized by how characteristic each of them is of the pattern.

        Items of one class have its colour; shared items and those of several classes are pink. Needs the package
        wordcloud (``saltmine[report]``).

        Parameters
        ----------
        pattern : int
            Number of the pattern.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        max_words : int
            Maximum number of items.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.plot.wordcloud(0).get_title().startswith("pattern 0")
        True
        """
        model, ax = self._model, _axes(ax)
        if not model.n_components_:
            raise ValueError("The model has no patterns, so there is nothing to draw.")
        if not 0 <= pattern < model.n_components_:
            raise ValueError(f"There is no pattern {pattern}; the model has patterns 0 to {model.n_components_ - 1}.")
        draw_words(ax, *self._words(pattern, max_words))
        counts = zip(model.classes_, model.usage_counts_[:, pattern], strict=True)
        ax.set_title(f"pattern {pattern} ({', '.join(f'{label}: {count}' for label, count in counts)})")
        return ax

    def history(self, ax: Axes | None = None) -> Axes:
        """Draw what the search minimised, step by step: for `CSalt` the relaxed objective at every check.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.plot.history().get_xlabel()
        'check'
        """
        ax = _axes(ax)
        ax.plot(self._model.history_, color="#1f6fb4", marker=".")
        step, value = self._model._history
        ax.set(xlabel=step, ylabel=value)
        return ax

    def _words(self, s: int, max_words: int) -> tuple[dict[str, float], dict[str, str]]:
        """Return how much each item sets a pattern apart, and its colour; the strongest items first."""
        summary = Summary(self._model)
        # Role -1, what is shared, is last.
        palette = [*class_colours(len(summary.classes)), SHARED]
        strengths: dict[int, float] = {}
        roles: dict[int, int] = {}
        for part in summary.patterns[s].parts:
            for item, strength in zip(part.items.tolist(), part.strength.tolist(), strict=True):
                strengths[item] = max(strength, strengths.get(item, 0.0))
                # What several classes have is of none of them.
                roles[item] = part.role if roles.get(item, part.role) == part.role else -1
        names = self._model._item_names
        # Items that set nothing apart are drawn small.
        least = MIN_WORD * max(strengths.values()) or 1.0
        sizes, colours = {}, {}
        for item in sorted(strengths, key=lambda item: (-strengths[item], item))[:max_words]:
            name = " ".join(str(item if names is None else names[item]).split())
            sizes[name], colours[name] = max(strengths[item], least), palette[roles[item]]
        return sizes, colours


def draw_words(ax: Axes, sizes: dict[str, float], colours: dict[str, str]) -> None:
    """Draw a word cloud with the given size and colour of each word."""
    with needing("report", "A word cloud"):
        from wordcloud import WordCloud
    style = {"width": 800, "height": 500, "background_color": "white", "prefer_horizontal": 1.0, "random_state": 0}
    # Sizes follow the values, and the largest word leaves room for the others: equal values, equal sizes.
    scale = {"relative_scaling": 1.0, "max_font_size": _largest_size(sizes, 800 * 500)}
    cloud = WordCloud(**style, **scale, color_func=lambda word, **_: colours[word])
    ax.imshow(cloud.generate_from_frequencies(sizes), interpolation="bilinear")
    ax.set_axis_off()


def _largest_size(sizes: dict[str, float], area: int) -> int:
    """Return the font size with which the words, at 0.6 em a letter, take less than half of the area."""
    largest = max(sizes.values())
    letters = sum((len(word) + 1) * (size / largest) ** 2 for word, size in sizes.items())
    return max(12, int((0.4 * area / (0.6 * letters)) ** 0.5))


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    with needing("report", "A plot"):
        import matplotlib.pyplot as plt
    return plt.subplots(layout="constrained")[1]
