"""The patterns of a fitted model as a tidy table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import entries
from saltmine.fitted.model import FittedModel, specific_class
from saltmine.mdl.class_tests import correct, highest_of_all

COMMON = "common"
SHARED, ADDED, ONLY = "shared", "added", "only"


def pattern_table(model: FittedModel) -> pd.DataFrame:
    """Return one row per pattern, item and role; see `CSalt.patterns` for the columns."""
    pattern, item, owner = entries(model.components_, model.alterations_)
    hits, carrier_hits = model._items.hits_of(pattern, item, owner)
    specific = specific_class(model.usage_counts_)[pattern]
    # A pattern that one class alone uses belongs to that class as a whole, and no part of it alters another.
    role = np.where(owner < 0, specific, owner)
    altering = np.where(specific >= 0, -1, owner)
    p_value, q_value = _class_tests(model, pattern, item, owner, carrier_hits)
    columns = {
        "pattern": pattern,
        "item": item if model._item_names is None else model._item_names[item],
        "role": role_names(model.classes_)[role].astype(object),
        "kind": _kinds(model, pattern, item, owner, specific >= 0).astype(object),
        "evidence": _alteration_or_pattern(pattern, altering, model.pattern_evidence_, model.alteration_evidence_),
        "gain": _alteration_or_pattern(pattern, altering, model.pattern_gain_, model.alteration_gain_),
        "p_value": p_value,
        "q_value": q_value,
    }
    if model.stability_ is not None:
        columns["stability"] = model.stability_.entries
    for a, label in enumerate(model.classes_):
        used = model.usage_counts_[a, pattern]
        support = _share(hits[a], used)
        share = _share(model.item_counts_[a, item], np.full(len(item), model.class_counts_[a]))
        columns |= {f"usage_{label}": used, f"support_{label}": support, f"share_{label}": share}
        columns[f"lift_{label}"] = _share(support, share)
    return pd.DataFrame(columns)


def role_names(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the roles as text: one per class, and "common" last, which is role -1."""
    return np.array([f"class {label}" if str(label) == COMMON else str(label) for label in classes] + [COMMON])


def _kinds(model: FittedModel, pattern: Indices, item: Indices, owner: Indices, is_specific: Bools) -> NDArray[Any]:
    # An alteration larger than what it alters is a pattern of its own (the paper's Table 1 counts so).
    sizes = np.concatenate([model.components_.sum(axis=1)[None], model.alterations_.sum(axis=2)])
    has_one_owner = model.alterations_.sum(axis=0)[pattern, item] == 1
    is_larger = (owner >= 0) & has_one_owner & (sizes[owner + 1, pattern] > sizes[0, pattern])
    return np.select([is_specific | is_larger, owner >= 0], [ONLY, ADDED], SHARED)


def _class_tests(
    model: FittedModel, pattern: Indices, item: Indices, owner: Indices, carrier_hits: Ints
) -> tuple[Floats, Floats]:
    """Return p- and q-values of all entries that belong to one class, NaN for shared entries.

    Both tests look at rows that *carry* a pattern, have more than half of its items. The rows that use a pattern were
    chosen with the alterations of their class in view, so among them the added items are frequent by construction.
    """
    p_value, per_pattern = np.full(len(pattern), np.nan), np.full(len(model.components_), np.nan)
    specific = specific_class(model.usage_counts_)
    added = np.flatnonzero((owner >= 0) & (specific[pattern] < 0))
    p_value[added] = _test_added(model, pattern[added], item[added], owner[added], carrier_hits[:, added])
    own = np.flatnonzero(specific >= 0)
    carriers, rows = model.carrier_counts_[:, own], np.repeat(model.class_counts_[:, None], len(own), axis=1)
    per_pattern[own] = highest_of_all(specific[own], carriers, rows, np.ones(carriers.shape, dtype=bool))
    # One test per pattern of a class, however many items it has.
    corrected = correct(np.concatenate([p_value, per_pattern]))
    is_whole = np.isnan(p_value)
    q_value = np.where(is_whole, corrected[len(p_value) :][pattern], corrected[: len(p_value)])
    return np.where(is_whole, per_pattern[pattern], p_value), q_value


def _test_added(model: FittedModel, pattern: Indices, item: Indices, owner: Indices, carrier_hits: Ints) -> Floats:
    """Test whether more carriers of the class have an added item than of every class that does not add it.

    Where fewer than two items are shared no row can carry them without the added ones, and all rows are compared.
    """
    conditional = model.components_.sum(axis=1)[pattern] >= 2
    rows = np.where(conditional, model.carrier_counts_[:, pattern], model.class_counts_[:, None])
    hits = np.where(conditional, carrier_hits, model.item_counts_[:, item])
    return highest_of_all(owner, hits, rows, ~model.alterations_[:, pattern, item])


def _alteration_or_pattern(pattern: Indices, owner: Indices, patterns: Floats, alterations: Floats) -> Floats:
    """Return for every entry the value of its alteration, or of its pattern where it belongs to no alteration."""
    values = np.where(owner >= 0, alterations[owner, pattern], np.nan)
    return np.where(np.isnan(values), patterns[pattern], values)


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    share: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return share
