"""The patterns of a fitted model as a tidy table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saltmine.data.item_counts import ItemCounts, entries
from saltmine.mdl.class_tests import correct, highest_of_all

if TYPE_CHECKING:
    import pandas as pd

    from saltmine.fitted.stability import Stability

COMMON = "common"
SHARED, ADDED, ONLY = "shared", "added", "only"


class Fitted(Protocol):
    """What the table is made of: attributes of a fitted estimator; `CSalt` says what they are."""

    components_: NDArray[np.bool_]
    alterations_: NDArray[np.bool_]
    classes_: NDArray[Any]
    class_counts_: NDArray[np.int64]
    usage_counts_: NDArray[np.int64]
    item_counts_: NDArray[np.int64]
    carrier_counts_: NDArray[np.int64] | None
    pattern_evidence_: NDArray[np.float64]
    alteration_evidence_: NDArray[np.float64]
    pattern_gain_: NDArray[np.float64]
    alteration_gain_: NDArray[np.float64]
    stability_: Stability | None
    _items: ItemCounts
    _item_names: NDArray[Any] | None


def pattern_table(model: Fitted) -> pd.DataFrame:
    """Return one row per pattern, item and role; see `CSalt.patterns` for the columns."""
    import pandas as pd

    pattern, item, owner = entries(model.components_, model.alterations_)
    hits, carrier_hits = model._items.hits_of(pattern, item, owner)
    own = of_one_class(model)[pattern]
    # A pattern that one class alone uses belongs to that class, shared part and all.
    belongs_to = np.where(own & (owner < 0), model.usage_counts_.argmax(axis=0)[pattern], owner)
    # And no part of it alters another.
    altering = np.where(own, -1, owner)
    p_value, q_value = _tests(model, pattern, item, owner, carrier_hits)
    columns = {
        "pattern": pattern,
        "item": item if model._item_names is None else model._item_names[item],
        "role": role_names(model.classes_)[belongs_to].astype(object),
        "kind": _kinds(model, pattern, item, owner).astype(object),
        "evidence": _of_class_or_pattern(pattern, altering, model.pattern_evidence_, model.alteration_evidence_),
        "gain": _of_class_or_pattern(pattern, altering, model.pattern_gain_, model.alteration_gain_),
        "p_value": p_value,
        "q_value": q_value,
    }
    if model.stability_ is not None:
        columns["stability"] = model.stability_.entries
    for a, label in enumerate(model.classes_):
        used = model.usage_counts_[a, pattern]
        support = _share(hits[a], used)
        share = _share(model.item_counts_[a, item], np.full(len(item), model.class_counts_[a]))
        columns[f"usage_{label}"] = used
        columns[f"support_{label}"] = support
        columns[f"share_{label}"] = share
        columns[f"lift_{label}"] = _share(support, share)
    return pd.DataFrame(columns)


def of_one_class(model: Fitted) -> NDArray[np.bool_]:
    """Return which patterns a single class uses, where there are several."""
    several = len(model.classes_) > 1
    alone: NDArray[np.bool_] = ((model.usage_counts_ > 0).sum(axis=0) == 1) & several
    return alone


def role_names(classes: NDArray[Any]) -> NDArray[Any]:
    """Name the classes, and last, for the owner -1, what they have in common."""
    return np.array([f"class {label}" if str(label) == COMMON else str(label) for label in classes] + [COMMON])


def _kinds(model: Fitted, pattern: NDArray[np.intp], item: NDArray[np.intp], owner: NDArray[np.intp]) -> NDArray[Any]:
    # An alteration larger than what it alters is a pattern of its own (the paper's Table 1 counts so).
    sizes = np.concatenate([model.components_.sum(axis=1)[None], model.alterations_.sum(axis=2)])
    of_one = model.alterations_.sum(axis=0)[pattern, item] == 1
    outgrown = (owner >= 0) & of_one & (sizes[owner + 1, pattern] > sizes[0, pattern])
    return np.select([of_one_class(model)[pattern] | outgrown, owner >= 0], [ONLY, ADDED], SHARED)


def _tests(
    model: Fitted,
    pattern: NDArray[np.intp],
    item: NDArray[np.intp],
    owner: NDArray[np.intp],
    carrier_hits: NDArray[np.int64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Test what belongs to a class: p- and q-values of every entry, NaN for what is shared.

    Both tests look at rows that *carry* a pattern, have more than half of its items: which rows of a class use it was
    chosen with what the class adds in view, so that among these rows the added items are frequent by choice.
    """
    p_value, per_pattern = np.full(len(pattern), np.nan), np.full(len(model.components_), np.nan)
    if model.carrier_counts_ is None or carrier_hits is None:
        return p_value, p_value
    added = np.flatnonzero((owner >= 0) & ~of_one_class(model)[pattern])
    p_value[added] = _test_added(model, pattern[added], item[added], owner[added], carrier_hits[:, added])
    own = np.flatnonzero(of_one_class(model))
    carriers, rows = model.carrier_counts_[:, own], np.repeat(model.class_counts_[:, None], len(own), axis=1)
    users = model.usage_counts_[:, own].argmax(axis=0)
    per_pattern[own] = highest_of_all(users, carriers, rows, np.ones(carriers.shape, dtype=bool))
    # One test per pattern of a class, however many items it has.
    corrected = correct(np.concatenate([p_value, per_pattern]))
    of_pattern = np.isnan(p_value)
    q_value = np.where(of_pattern, corrected[len(p_value) :][pattern], corrected[: len(p_value)])
    return np.where(of_pattern, per_pattern[pattern], p_value), q_value


def _test_added(
    model: Fitted,
    pattern: NDArray[np.intp],
    item: NDArray[np.intp],
    owner: NDArray[np.intp],
    carrier_hits: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Test whether more carriers of the class have an added item than of every class that does not add it.

    Where fewer than two items are shared nobody can carry them without what is added, and all rows are compared.
    """
    conditional = model.components_.sum(axis=1)[pattern] >= 2
    carriers = np.asarray(model.carrier_counts_)[:, pattern]
    rows = np.where(conditional, carriers, model.class_counts_[:, None])
    hits = np.where(conditional, carrier_hits, model.item_counts_[:, item])
    lacks = ~model.alterations_[:, pattern, item]
    return highest_of_all(owner, hits, rows, lacks)


def _of_class_or_pattern(
    pattern: NDArray[np.intp], owner: NDArray[np.intp], patterns: NDArray[np.float64], added: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for every entry the figure of what the class adds, or where there is none, that of the pattern."""
    of_class = np.where(owner >= 0, added[owner, pattern], np.nan)
    figure: NDArray[np.float64] = np.where(np.isnan(of_class), patterns[pattern], of_class)
    return figure


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return share
