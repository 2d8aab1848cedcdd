"""Fit several methods to the same data and compare what they found, in a table and a figure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from saltmine.colours import SHARED, class_colours
from saltmine.data.labels import class_numbers
from saltmine.datasets import make_planted
from saltmine.extras import needing
from saltmine.fitted.kinds import MOSTLY, ONLY, class_kinds
from saltmine.fitted.model import FittedModel
from saltmine.methods import METHODS, check_methods, make, ranks_for
from saltmine.metrics import alteration_recall, class_rank, f_measure
from saltmine.parameters import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

__all__ = ["Comparison", "compare"]

# Level at which a pattern counts as explained by chance, the default of CSalt.
ALPHA = 0.01
# Columns of the table that get a panel, and its title; missing columns get none.
PANELS = {
    "of_null": "description length\n(share of that without patterns)",
    "rss": "cells in error",
    "patterns": "patterns",
    "f_measure": "F-measure",
    "alteration_recall": "recall of alterations",
    "seconds": "seconds (logarithmic)",
}
OURS, OTHERS = "#2f2d2a", "#b3aea6"


@dataclass(repr=False)
class Comparison:
    """What several methods found in the same data.

    Attributes
    ----------
    table : DataFrame
        One row per method; `saltmine.compare` documents the columns. ``plot()`` draws it.
    rows : list of dict
        A row of the table per method.
    models : dict
        The fitted estimators by the names of the methods.
    failed : dict
        The reasons of methods that could not be fitted, by name.

    Examples
    --------
    >>> from saltmine import compare
    >>> found = compare([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], ["a", "a", "b", "b"], ["csalt", "asso"])
    >>> sorted(found.models), found.failed
    (['asso', 'csalt'], {})
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """One row per method; `saltmine.compare` documents the columns.

        Examples
        --------
        >>> from saltmine import compare
        >>> compare([[1, 1, 0], [1, 1, 0], [0, 0, 1]], ["a", "a", "b"], ["primp"]).table["method"].tolist()
        ['primp']
        """
        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        return self.table.to_string() if self.rows else "Comparison()"

    def _repr_html_(self) -> str:
        return str(self.table.to_html())

    def plot(self) -> Figure:
        """Draw the table: a panel per column, a bar per method.

        Returns
        -------
        matplotlib Figure

        Examples
        --------
        >>> from saltmine import compare
        >>> found = compare([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], ["a", "a", "b", "b"], ["csalt", "asso"])
        >>> figure = found.plot()
        >>> len(figure.axes) > 1
        True
        """
        return draw(self.table)


def compare(
    X: Any,
    y: Any,
    methods: Iterable[str] | None = None,
    *,
    ranks: Any = None,
    truth: Any = None,
    n_restarts: int = 1,
    random_state: Any = 0,
    max_time: float | None = None,
    binarize: float | None = None,
    item_names: Any = None,
    row_names: Any = None,
    verbose: int = 0,
    on_result: Callable[[Comparison], object] | None = None,
) -> Comparison:
    """Fit methods to labelled data, one after the other, and compare what they found.

    Parameters
    ----------
    X, y : data and labels, as `CSalt` takes them
    methods : names, optional
        Any of csalt, paper, primp, asso, dbssl, mdldbssl, diffnorm, jsmf, rjsnmf,
        jnmf, inmf; all of them by default.
    ranks : int or tuple, optional
        Maximum number of shared patterns and of patterns of each class, as (8, 4, 4), for the methods that have such
        a parameter (Asso and iNMF get the sum). By default they choose by description length.
    truth : result of `make_planted`, optional
        The planted patterns.
    n_restarts : int
        Independent runs of the methods with random starts, of which the best model is kept.
    random_state : int
    max_time : float, optional
        Time limit in seconds for each of the methods that have one: C-Salt, Primp and DiffNorm, which may take long.
    binarize, item_names, row_names, verbose
        As in `CSalt` and its ``fit``.
    on_result : callable, optional
        Called with the comparison so far after every method.

    Returns
    -------
    Comparison, whose ``table`` has the columns

        - ``method``;
        - ``description_length``: f in nats, the same for all methods; ``of_null``: its share of that without patterns;
        - ``rss``: cells in error;
        - ``patterns``: how many, of which ``shared``, ``mostly`` and ``only`` ones are of the kinds that
          `CSalt.patterns` documents, and to ``added`` ones some classes add items;
        - ``by_chance``: patterns with little evidence: the probability that chance shows as much anywhere in the data
          may be above 0.01;
        - ``items``, ``rows``: mean size of the patterns;
        - ``seconds`` of the fit;
        - with ``truth``: ``f_measure``, ``alteration_recall``, and ``rank_error``, the mean over the classes of the
          difference between the numbers of patterns found and planted.

    Examples
    --------
    >>> from saltmine import compare
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(80, [60, 60], rank=3, noise=0.02, random_state=0)
    >>> found = compare(planted.X, planted.y, ["csalt", "asso"], truth=planted)
    >>> found.table["method"].tolist()
    ['csalt', 'asso']
    """
    chosen = check_methods(methods)
    check_count("n_restarts", n_restarts)
    if y is None:
        raise ValueError(
            "compare needs y, the labels of the rows: it is about what classes share and what they do not."
        )
    n_classes = len(class_numbers(y)[0])
    rank_parameters = {name: {} if ranks is None else ranks_for(name, ranks, n_classes) for name in chosen}
    given = {"random_state": random_state, "max_time": max_time, "binarize": binarize, "verbose": verbose}
    done = Comparison()
    for name in chosen:
        try:
            load_compiled(name)
            begin = time.perf_counter()
            model = make(name, n_restarts=n_restarts, **given, **rank_parameters[name])
            model.fit(X, y, item_names=item_names, row_names=row_names)
            seconds = time.perf_counter() - begin
        except (ImportError, ValueError, MemoryError) as error:
            done.failed[name] = str(error) or "there is not enough memory"
        else:
            done.models[name] = model
            done.rows.append({"method": name, **figures(model, truth), "seconds": seconds})
        if on_result is not None:
            on_result(done)
    if not done.rows:
        # No method could be fitted, so the data is at fault and the first reason says why.
        raise ValueError(next(iter(done.failed.values())))
    return done


def figures(model: FittedModel, truth: Any = None) -> dict[str, Any]:
    """Return the row of the table for a fitted model, without its seconds.

    Examples
    --------
    >>> from saltmine import Primp
    >>> figures(Primp().fit([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))["patterns"]
    0
    """
    # The typical row is no pattern that was found.
    found_ones = ~model.typical_
    kinds, used = class_kinds(model)[:, found_ones], model.usage_counts_[:, found_ones]
    sizes = (model.components_ | model.alterations_).sum(axis=2)[:, found_ones]
    n_using = (used > 0).sum(axis=0)
    found: dict[str, Any] = {
        "description_length": float(model.description_length_),
        "of_null": float(model.description_length_ / max(model.null_description_length_, 1e-300)),
        "rss": int(model.noise_counts_.sum()),
        "patterns": int(found_ones.sum()),
        "shared": int((kinds == "").all(axis=0).sum()),
        "mostly": int((kinds == MOSTLY).any(axis=0).sum()),
        "only": int((kinds == ONLY).any(axis=0).sum()),
        "added": int(model.alterations_[:, found_ones].any(axis=(0, 2)).sum()),
        "by_chance": int((model.pattern_evidence_[found_ones] < -np.log(ALPHA)).sum()),
        # Where classes carry different items, the mean over those that use the pattern.
        "items": _mean((sizes * (used > 0)).sum(axis=0) / np.maximum(n_using, 1)),
        "rows": _mean(used.sum(axis=0)),
    }
    if truth is not None:
        found |= {
            "f_measure": f_measure(truth, model),
            "alteration_recall": alteration_recall(truth, model),
            "rank_error": float(np.abs(class_rank(model) - class_rank(truth)).mean()),
        }
    return found


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


@cache
def load_compiled(name: str) -> None:
    """Fit a method to small data, so that its compiled code is loaded before time is measured."""
    small = make_planted(30, [20, 20], rank=2, noise=0.02, random_state=0)
    make(name, random_state=0).fit(small.X, small.y)


# ---------------------------------------------------------------------- figure


def draw(table: pd.DataFrame) -> Figure:
    """Return a figure with a panel per column and a bar per method, in the order of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"method": ["csalt", "asso"], "of_null": [0.5, 0.7], "rss": [10, 20], "seconds": [1.0, 0.1]}
    >>> len(draw(pd.DataFrame(rows)).axes)
    3
    """
    with needing("report", "The figure"):
        from matplotlib.figure import Figure

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
    values = table[column].to_numpy(dtype=np.float64)
    longest = max(values[np.isfinite(values)].max(initial=0), 1e-9)
    if column == "patterns" and {"shared", "mostly", "only"} <= set(table.columns):
        # A method that finds thousands must not hide the others: its bar is cut, and its number stands beside it.
        longest = max(min(longest, 4 * float(np.median(values))), 1)
        bars = _stacked_bars(ax, table, longest)
    else:
        bars = ax.barh(np.arange(len(table)), np.nan_to_num(values), color=colours, height=0.72)
    if column == "seconds":
        ax.set_xscale("log")
        ax.set_xlim(left=max(values.min() / 2, 1e-3))
    else:
        # Room for the numbers beside the bars.
        ax.set_xlim(0, longest * 1.32)
    ax.bar_label(bars, [_number(value) if np.isfinite(value) else "" for value in values], padding=3, fontsize=8)
    ax.set_title(PANELS[column], fontsize=9)
    ax.tick_params(labelsize=8, length=0)
    ax.set_xticks([])
    ax.minorticks_off()
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _stacked_bars(ax: Axes, table: pd.DataFrame, longest: float) -> BarContainer:
    """Draw bars of shared patterns and of those mostly in a class, hatched; return those of the last kind, only in one.

    They are scaled so that no bar is longer than ``longest``.
    """
    places = np.arange(len(table))
    scale = np.minimum(1, longest / np.maximum(table["patterns"].to_numpy(dtype=np.float64), 1))
    shared, mostly, only = (table[column].to_numpy() * scale for column in ("shared", MOSTLY, ONLY))
    own: dict[str, Any] = {"height": 0.72, "color": class_colours(1)[0]}
    ax.barh(places, shared, height=0.72, color=SHARED, label="shared")
    ax.barh(places, mostly, left=shared, label=MOSTLY, hatch="////", edgecolor="white", linewidth=0, **own)
    bars = ax.barh(places, only, left=shared + mostly, label=ONLY, **own)
    ax.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, handlelength=1)
    return bars


def _number(value: float) -> str:
    if value == round(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"
