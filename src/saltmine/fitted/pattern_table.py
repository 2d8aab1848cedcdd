"""The patterns of a fitted model as a tidy table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.arrays import Floats
from saltmine.fitted.kinds import TableRows, class_kinds, role_names, row_kinds, table_rows
from saltmine.fitted.model import FittedModel


def pattern_table(model: FittedModel) -> pd.DataFrame:
    """Return one row per pattern, item and role; see `CSalt.patterns` for the columns."""
    kinds = class_kinds(model)
    rows = table_rows(model.components_, model.alterations_, kinds != "")
    pattern, item = rows.pattern, rows.item
    hits = model._items.hits_of(pattern, item, rows.owner)
    columns = {
        "pattern": pattern,
        "item": item if model._item_names is None else model._item_names[item],
        "role": role_names(model.classes_)[rows.role],
        "kind": row_kinds(rows, kinds, model.typical_, model.of_few_groups_).astype(object),
        "evidence": _added_or_whole(rows, model.alteration_evidence_, model.pattern_evidence_),
        "gain": _added_or_whole(rows, model.alteration_gain_, model.pattern_gain_),
        "p_value": _added_or_use(rows, model.alteration_p_values_, model.use_p_values_),
        "q_value": _added_or_use(rows, model.alteration_q_values_, model.use_q_values_),
    }
    if model.stability_ is not None:
        columns["stability"] = model.stability_.entries
    for a, label in enumerate(model.classes_):
        used = model.usage_counts_[a, pattern]
        support = _share(hits[a], used)
        share = _share(model.item_counts_[a, item], np.full(len(item), model.class_counts_[a]))
        columns[f"usage_{label}"] = used
        if model.all_counts_ is not None and model.most_counts_ is not None:
            columns[f"all_{label}"] = model.all_counts_[a, pattern]
            columns[f"most_{label}"] = model.most_counts_[a, pattern]
        columns |= {f"support_{label}": support, f"share_{label}": share}
        columns[f"lift_{label}"] = _share(support, share)
    return pd.DataFrame(columns)


def _added_or_whole(rows: TableRows, added: Floats, whole: Floats) -> Floats:
    """Return the value of the alteration, (c, r), for added items, and that of the whole pattern, (r,), for others."""
    return np.where(rows.adds, added[rows.role, rows.pattern], whole[rows.pattern])


def _added_or_use(rows: TableRows, added: Floats, use: Floats) -> Floats:
    """Return the value of what a row claims of its class, (c, r); NaN where it claims nothing."""
    of_class = np.where(rows.adds, added[rows.role, rows.pattern], use[rows.role, rows.pattern])
    return np.where(rows.role >= 0, of_class, np.nan)


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    share: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return share
