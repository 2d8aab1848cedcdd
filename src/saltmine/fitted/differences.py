"""Single items that classes differ in, whether or not they belong to a pattern."""

from __future__ import annotations

import numpy as np
import pandas as pd

from saltmine.arrays import Floats, Ints
from saltmine.fitted.model import FittedModel
from saltmine.mdl.correction import correct

# Half of the confidence interval of a log-odds ratio, in standard errors: 95 %.
HALF_WIDTH = 1.959964
# Largest p-value of single items that are listed, and largest q-value of those that are shown to differ.
MAX_P, MAX_Q = 0.05, 0.05
# Added to every count of an odds ratio (Haldane, Anscombe), so that it exists where a class has all or nothing.
ADDED = 0.5


def difference_table(model: FittedModel, max_p: float) -> pd.DataFrame:
    """Return one row per item and class that differ from all other rows; see `CSalt.differences` for the columns."""
    counts, sizes = model.item_counts_, model.class_counts_
    items = np.flatnonzero(counts.sum(axis=0))
    hits, rows = counts[:, items], np.broadcast_to(sizes[:, None], (len(sizes), len(items)))
    elsewhere, others = hits.sum(axis=0) - hits, sizes.sum() - rows
    every_class = zip(hits, elsewhere, sizes.tolist(), (sizes.sum() - sizes).tolist(), strict=True)
    if model._item_p_values is None:
        p_values = np.array([exact_p_values(*of_class) for of_class in every_class])
    else:
        p_values = model._items.unfold(model._item_p_values)[:, items]
    tested = np.ones(hits.shape, dtype=bool)
    if len(sizes) == 2:
        # One test for both classes; it is told of the one that has the item more often.
        tested = hits * others > elsewhere * rows
        tested[0] |= ~tested[1]
    if len(sizes) < 2:
        tested[:] = False
    q_values = np.full(hits.shape, np.nan)
    with np.errstate(divide="ignore"):
        # The smallest p-values are too small for a number.
        q_values[tested] = np.exp(correct(np.log(p_values[tested])))
    of_class, column = np.nonzero(tested & (p_values <= max_p))
    chosen = of_class, column
    ratio, low, high = odds_ratios(hits[chosen], rows[chosen], elsewhere[chosen], others[chosen])
    names = items[column] if model._item_names is None else model._item_names[items[column]]
    found = pd.DataFrame(
        {
            "item": names,
            "class": model.classes_[of_class],
            "rows": hits[chosen],
            "share": hits[chosen] / rows[chosen],
            "rows_elsewhere": elsewhere[chosen],
            "share_elsewhere": elsewhere[chosen] / others[chosen],
            "odds_ratio": ratio,
            "odds_low": low,
            "odds_high": high,
            "p_value": p_values[chosen],
            "q_value": q_values[chosen],
        }
    )
    size = -np.abs(np.log(ratio))
    return found.iloc[np.lexsort([column, size, found["p_value"].to_numpy()])].reset_index(drop=True)


def exact_p_values(hits: Ints, elsewhere: Ints, size: int, others: int) -> Floats:
    """Return Fisher's exact p-values, two-sided: twice that of the smaller side, at most 1.

    ``hits`` of the ``size`` rows of a class have an item, and ``elsewhere`` of the ``others``.

    Examples
    --------
    >>> exact_p_values(np.array([3]), np.array([0]), 4, 4).round(4).tolist()  # 2 x 4 / 56
    [0.1429]
    """
    # A long import, for those who ask for it.
    from scipy.stats import hypergeom

    # Many items have the counts of another one.
    key, back = np.unique(hits.astype(np.int64) * (others + 1) + elsewhere, return_inverse=True)
    had, had_elsewhere = np.divmod(key, others + 1)
    urn = size + others, had + had_elsewhere, size
    p_values: Floats = np.minimum(1.0, 2 * np.minimum(hypergeom.cdf(had, *urn), hypergeom.sf(had - 1, *urn)))[back]
    return p_values


def odds_ratios(hits: Ints, rows: Ints, elsewhere: Ints, others: Ints) -> tuple[Floats, Floats, Floats]:
    """Return odds ratios and both ends of their 95 % intervals.

    Examples
    --------
    >>> one = lambda count: np.array([count])
    >>> [round(float(end[0]), 1) for end in odds_ratios(one(11), one(58), one(1), one(124))]
    [19.9, 3.5, 112.9]
    """
    cells = np.stack([hits, rows - hits, elsewhere, others - elsewhere]) + ADDED
    ratio = np.log(cells[0] * cells[3] / (cells[1] * cells[2]))
    width = HALF_WIDTH * np.sqrt((1 / cells).sum(axis=0))
    return np.exp(ratio), np.exp(ratio - width), np.exp(ratio + width)
