"""The data of the page: lists, texts and numbers that JSON can hold."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np

from saltmine.arrays import Bools, Indices, Ints
from saltmine.colours import SHARED as SHARED_COLOUR
from saltmine.colours import class_colours
from saltmine.fitted.model import FittedModel
from saltmine.fitted.parts import Part, PatternSummary
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import significant
from saltmine.nouns import plural
from saltmine.report.layout import Layout, kind_of_items, layout_of
from saltmine.report.rows import MAX_ROW_NAME, as_base64, named_rows, usage_lines
from saltmine.version import __version__

# Items shown of a part: the first of these limits with which all of them take less than the budget of characters.
LIMITS = (150, 75, 40, 20, 10, 5)
BUDGET = 2_500_000
# Characters that the places of all parts may take.
PICTURE_BUDGET = 1_200_000
# Items shown where there is no pattern.
FREQUENT_ITEMS = 12
# Rows multiplied at a time.
_CHUNK = 1000
# Parameters that tell a reader nothing of the model.
_OF_THE_RUN = ("callback", "verbose", "n_jobs", "checkpoint", "max_memory")


def payload(model: FittedModel | Summary, title: str | None = None, max_patterns: int | None = None) -> dict[str, Any]:
    """Return the data of the page of a fitted model or its summary, with at most ``max_patterns`` patterns.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200, 200], rank=3, noise=0.02, random_state=0)
    >>> data = payload(CSalt(random_state=0).fit(planted.X, planted.y), title="Planted")
    >>> data["title"], data["shape"], len(data["patterns"])
    ('Planted', [400, 120], 3)
    """
    summary = model if isinstance(model, Summary) else Summary(model)
    model, shown = summary.model, summary.patterns[:max_patterns]
    otherwise = f"Patterns in {summary.source}" if summary.source else "Patterns"
    kind = kind_of_items(model._item_names, model.about_)
    colours = class_colours(len(summary.classes))
    numbers = np.array([pattern.number for pattern in shown], dtype=np.intp)
    owners = np.array([_owner(pattern, model.class_counts_) for pattern in shown], dtype=np.intp)
    usage = (model.usage_, summary.row_classes, model.usage_counts_, model.row_names_, numbers, owners)
    return {
        "title": str(title or model.about_.get("title") or otherwise),
        "source": summary.source,
        "method": _method(model),
        "method_source": model._source,
        "tested": model._is_tested,
        "exact": model._covers_exactly,
        "version": __version__,
        "date": date.today().isoformat(),
        "kind": kind,
        "shape": [len(summary.row_classes), int(model.n_features_in_)],
        "density": summary.density,
        "description": {"with": float(model.description_length_), "without": float(model.null_description_length_)},
        "covered": share_of_ones_covered(model, summary.row_classes),
        "colour": SHARED_COLOUR,
        "classes": [asdict(entry) | {"colour": colour} for entry, colour in zip(summary.classes, colours, strict=True)],
        "refits": None if model.stability_ is None else int(model.stability_.refits),
        **_patterns(summary, shown, kind),
        "groups": None if model.groups_ is None else plural(2, model.group_name_),
        "left_out": len(summary.patterns) - len(shown),
        "usage": usage_lines(*usage) if shown else None,
        "frequent": [] if shown or len(summary.classes) > 1 else _frequent(summary),
        "answer": summary.headline,
        "findings": sorted({finding.pattern for finding in summary.findings if finding.pattern is not None}),
        "facts": summary.facts,
    }


def _method(model: FittedModel) -> str:
    """Return the call that made the model, with the parameters that differ from the defaults."""
    defaults = {name: repr(value) for name, value in type(model)().get_params().items()}
    shown = {name: repr(v) for name, v in model.get_params().items() if name not in _OF_THE_RUN}
    changed = [f"{name}={value}" for name, value in shown.items() if value != defaults[name]]
    return f"{type(model).__name__}({', '.join(changed)})"


def _owner(pattern: PatternSummary, class_counts: Ints) -> int:
    """Return the class that a pattern belongs to, of several the one that uses it most; -1 if it is shared."""
    return max((a for a, _ in pattern.owners), key=lambda a: pattern.usage[a] / class_counts[a], default=-1)


def _frequent(summary: Summary) -> list[dict[str, Any]]:
    """Return the most frequent items."""
    counts = summary.model.item_counts_.sum(axis=0)
    chosen = np.argsort(-counts, kind="stable")[:FREQUENT_ITEMS]
    return [{"name": summary.item_names[k], "count": int(counts[k])} for k in chosen.tolist() if counts[k] > 0]


# ---------------------------------------------------------------------- patterns


def _patterns(summary: Summary, shown_patterns: list[PatternSummary], kind: str) -> dict[str, Any]:
    """Return the patterns, the items and rows in them, and how many items a part shows at most."""
    model = summary.model
    using = named_rows(model.usage_, [pattern.number for pattern in shown_patterns])
    # A place takes a bit in every part, and a character holds six of them.
    max_places = 6 * PICTURE_BUDGET // max(1, sum(len(pattern.parts) for pattern in shown_patterns))
    layout = layout_of(kind, model._item_names, int(model.n_features_in_), model.about_, max_places)
    limit, shown = _choose_limit(summary, shown_patterns)
    position = np.full(int(model.n_features_in_), -1)
    position[shown] = np.arange(len(shown))
    rows = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *using]))
    patterns = [
        {
            **_fields(pattern, "number", "kind", "typical", "owners", "altered_by", "size", "usage"),
            "carriers": model.carrier_counts_[:, pattern.number].tolist(),
            **_fields(pattern, "evidence", "gain", "stability"),
            "parts": [_part(summary, part, limit, position, layout) for part in pattern.parts],
            "heading": [[int(position[item]), role] for item, role in pattern.title],
            "unconfirmed": pattern.unconfirmed,
            "main_user": pattern.main_user,
            "of_groups": summary.group_text(pattern) if pattern.groups else None,
            **_having(model, pattern.number),
            "rows": np.searchsorted(rows, named).tolist(),
        }
        for pattern, named in zip(shown_patterns, using, strict=True)
    ]
    names, counts = [summary.item_names[k] for k in shown.tolist()], model.item_counts_[:, shown].tolist()
    shape = layout.shape if layout is not None else None
    items = {"names": names, "counts": counts}
    return {"patterns": patterns, "items": items, "rows": _rows(summary, rows), "limit": limit, "layout": shape}


def _having(model: FittedModel, s: int) -> dict[str, list[int]]:
    """Return how many rows of every class have all, and most, items of a pattern, where they were counted."""
    if model.all_counts_ is None or model.most_counts_ is None:
        return {}
    return {"all": model.all_counts_[:, s].tolist(), "most": model.most_counts_[:, s].tolist()}


def _rows(summary: Summary, rows: Indices) -> dict[str, Any]:
    """Return names (or numbers) and classes of rows."""
    names = summary.model.row_names_
    named = rows.tolist() if names is None else [str(names[k])[:MAX_ROW_NAME] for k in rows]
    return {"names": named, "classes": summary.row_classes[rows].tolist(), "numbered": names is None}


def _choose_limit(summary: Summary, patterns: list[PatternSummary]) -> tuple[int, Indices]:
    """Return how many items of a part fit into the page, and which items are then in it."""
    parts = [part.items for pattern in patterns for part in pattern.parts]
    n_classes = len(summary.classes)
    n_columns = 3 + (summary.model.stability_ is not None)
    for limit in LIMITS:
        shown = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *(items[:limit] for items in parts)]))
        size = (6 + 5 * n_classes + 9 * n_columns) * sum(min(len(items), limit) for items in parts)
        size += sum(len(str(summary.item_names[k])) + 3 + 5 * n_classes for k in shown.tolist())
        if size <= BUDGET:
            break
    return limit, shown


def _part(summary: Summary, part: Part, limit: int, position: Indices, layout: Layout | None) -> dict[str, Any]:
    """Return a part with its strongest items; ``position`` says where the page has an item."""
    kept = part.entries[:limit]
    data = _fields(part, "role", "kind") | {"size": len(part.items)}
    data |= _fields(part, "evidence", "gain", "p_value", "q_value", "stability")
    data |= {"items": position[part.items[:limit]].tolist(), "hits": summary.hits[:, kept].tolist()}
    data["strength"] = [significant(strength, digits=3) for strength in part.strength[:limit]]
    if "stability" in summary.columns:
        data["item_stability"] = [significant(share, digits=3) for share in summary.columns["stability"][kept]]
    if layout is not None:
        # A bit for every place.
        data["places"] = as_base64(np.packbits(np.isin(np.arange(layout.n_places), layout.place[part.items])))
    return data


def _fields(entry: PatternSummary | Part, *names: str) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in names}


# ---------------------------------------------------------------------- ones that patterns cover


def share_of_ones_covered(model: FittedModel, row_classes: Indices) -> float:
    """Return the share of the ones that patterns cover.

    The data are not kept, but the counts are: ones + covered cells = 2 covered ones + cells in error.
    """
    ones = int(model.item_counts_.sum())
    if not ones or not model.n_components_:
        return 0.0
    usage = [model.usage_[row_classes == a] for a in range(len(model.classes_))]
    carried = (model.components_ | altered for altered in model.alterations_)
    covered = sum(map(_covered_cells, usage, carried))
    return (ones + covered - int(model.noise_counts_.sum())) / 2 / ones


def _covered_cells(usage: Bools, patterns: Bools) -> int:
    """Return the number of ones of the Boolean product; equal rows and equal items are multiplied once."""
    rows, row_counts = _distinct(usage)
    items, item_counts = _distinct(patterns.T)
    right = items.T.astype(np.float32)
    cells = 0
    for begin in range(0, len(rows), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        cells += int(row_counts[chunk] @ ((rows[chunk].astype(np.float32) @ right > 0) @ item_counts))
    return cells


def _distinct(rows: Bools) -> tuple[Bools, Indices]:
    packed, counts = np.unique(np.packbits(rows, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=rows.shape[1]).astype(bool), counts
