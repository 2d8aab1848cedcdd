"""Fit several methods to the same data and put what they found into one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from saltmine.data.labels import class_numbers
from saltmine.datasets import make_planted
from saltmine.fitted.pattern_table import of_one_class
from saltmine.methods import check_methods, make, ranks_for, usual_starts
from saltmine.metrics import alteration_recall, class_rank, f_measure
from saltmine.parameters import check_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


# Level at which a pattern counts as explained by chance, the default of CSalt's gate.
ALPHA = 0.01


@dataclass(repr=False)
class Comparison:
    """What several methods found in the same data.

    Attributes
    ----------
    table : DataFrame
        One row per method; `compare` says what the columns are. ``plot()`` draws it.
    rows : list of dict
        A row of the table per method.
    models : dict
        The fitted estimators by the names of the methods.
    failed : dict
        Why a method gave nothing, by its name.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """One row per method; `compare` says what the columns are."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        return self.table.to_string() if self.rows else "Comparison()"

    def _repr_html_(self) -> str:
        return str(self.table.to_html())

    def plot(self) -> Figure:
        """Draw the table: a panel per figure, a bar per method."""
        from saltmine.comparison.figure import draw

        return draw(self.table)


def compare(
    X: Any,
    y: Any,
    methods: Iterable[str] | None = None,
    *,
    ranks: Any = None,
    truth: Any = None,
    n_restarts: int | None = None,
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
        Of `saltmine.methods.METHODS`: csalt, paper, primp, asso, dbssl, mdldbssl, diffnorm, jsmf, rjsnmf,
        jnmf, inmf; all of them by default.
    ranks : int or tuple, optional
        How many shared patterns, and patterns of each class, to look for at most, as (8, 4, 4); for the methods that
        can be told (Asso and iNMF get the sum). By default they choose by description length.
    truth : result of `make_planted`, optional
        What was planted.
    n_restarts : int, optional
        Random starts of the methods that have them. By default as many as the command line takes: 5 of `CSalt` and
        `Primp` where there are no more than a million cells, else 1.
    random_state : int
    max_time : float, optional
        Most seconds for DiffNorm, which may take long.
    binarize, item_names, row_names, verbose
        As in `CSalt` and its ``fit``.
    on_result : callable, optional
        Called with the comparison so far after every method.

    Returns
    -------
    Comparison, whose ``table`` has the columns

        - ``method``;
        - ``description_length``: f in nats, the same for all methods; ``of_null``: its share of that without patterns;
        - ``rss``: cells that the patterns get wrong;
        - ``patterns``: how many, of which ``common`` are used by several classes, ``specific`` by one, and ``altered``
          ones are common with items that only some of the classes have;
        - ``by_chance``: patterns for which there is little evidence: chance shows as much anywhere in the data with a
          probability that may be above 0.01;
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
    check_count("n_restarts", n_restarts, or_none=True)
    if y is None:
        raise ValueError(
            "compare needs y, the labels of the rows: it is about what classes share and what they do not."
        )
    n_classes = len(class_numbers(y)[0])
    told = {name: {} if ranks is None else ranks_for(name, ranks, n_classes) for name in chosen}
    given = {"random_state": random_state, "max_time": max_time, "binarize": binarize, "verbose": verbose}
    done = Comparison()
    for name in chosen:
        try:
            load_compiled(name)
            begin = time.perf_counter()
            starts = n_restarts or usual_starts(name, int(np.prod(np.shape(X))))
            model = make(name, n_restarts=starts, **given, **told[name])
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
        # What is wrong with the data, every method says.
        raise ValueError(next(iter(done.failed.values())))
    return done


def figures(model: Any, truth: Any = None) -> dict[str, Any]:
    """Return what the table says of a fitted model, but for the time it took.

    Examples
    --------
    >>> from saltmine import Primp
    >>> figures(Primp().fit([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))["patterns"]
    0
    """
    alone, used = of_one_class(model), model.usage_counts_
    carried = np.asarray(model.components_ | model.alterations_)
    sizes, n_using = carried.sum(axis=2), (used > 0).sum(axis=0)
    found: dict[str, Any] = {
        "description_length": float(model.description_length_),
        "of_null": float(model.description_length_ / max(model.null_description_length_, 1e-300)),
        "rss": int(model.noise_counts_.sum()),
        "patterns": int(model.n_components_),
        "common": int((~alone).sum()),
        "specific": int(alone.sum()),
        "altered": int((model.alterations_.any(axis=(0, 2)) & ~alone).sum()),
        "by_chance": int((model.pattern_evidence_ < -np.log(ALPHA)).sum()),
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
    """Let compiled code be loaded before the clock runs."""
    small = make_planted(30, [20, 20], rank=2, noise=0.02, random_state=0)
    make(name, random_state=0).fit(small.X, small.y)
