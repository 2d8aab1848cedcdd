"""What the page shows, as plain data: lists, texts and numbers that JSON can hold."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saltmine.colours import SHARED as SHARED_COLOUR
from saltmine.colours import class_colours
from saltmine.estimators.base import PatternModel
from saltmine.fitted import summary
from saltmine.report.coverage import share_of_ones_covered
from saltmine.report.layout import kind_of_items, layout_of
from saltmine.report.parts import Parts, number
from saltmine.report.usage import usage_lines

# Characters that the places of all parts may take.
PICTURE_BUDGET = 1_200_000
LONGEST_NAME = 500
HEADING_ITEMS, ENOUGH_ITEMS = 5, 3
DIFFERENCES = 12


def payload(model: Any, title: str | None = None) -> dict[str, Any]:
    """Return all that the page of a fitted model shows.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> data = payload(CSalt(random_state=0).fit(planted.X, planted.y), title="Planted")
    >>> data["title"], data["shape"], len(data["patterns"])
    ('Planted', [200, 120], 3)
    """
    if not isinstance(model, PatternModel):
        raise TypeError(f"A report shows a fitted estimator of saltmine such as CSalt, not {type(model).__name__!r}.")
    check_is_fitted(model)
    import saltmine

    about: dict[str, Any] = model.about_
    numbers = np.searchsorted(model.classes_, model.row_labels_)
    data: dict[str, Any] = {
        "title": _title(title, about),
        "source": str(about.get("source") or ""),
        "method": _method(model),
        "method_source": model._source,
        "tested": model._is_tested,
        "exact": model._covers_exactly,
        "version": saltmine.__version__,
        "date": date.today().isoformat(),
        "kind": kind_of_items(model._item_names, about),
        "shape": [len(numbers), int(model.n_features_in_)],
        "density": float(model.item_counts_.sum() / (len(numbers) * model.n_features_in_)),
        "description": {"with": float(model.description_length_), "without": float(model.null_description_length_)},
        "covered": share_of_ones_covered(model, numbers),
        "colour": SHARED_COLOUR,
        "classes": _classes(model, numbers),
        "refits": None if model.stability_ is None else int(model.stability_.refits),
    }
    data |= _patterns(model, data["kind"], about)
    found = model.n_components_ > 0
    data["usage"] = usage_lines(model.usage_, numbers, model.usage_counts_, model.row_names_) if found else None
    data["differences"] = [] if found else _differences(model)
    data["answer"] = summary.answer(data["classes"], data["patterns"], data["tested"], model._can_alter)
    data["facts"] = summary.facts(data)
    return data


def _title(title: str | None, about: dict[str, Any]) -> str:
    named = title or about.get("title")
    if named:
        return str(named)
    return f"Patterns in {about['source']}" if about.get("source") else "Patterns"


def _method(model: Any) -> str:
    """Return the call that made the model, with the parameters that differ from the defaults."""
    defaults = type(model)().get_params()
    given = [
        (name, value) for name, value in model.get_params().items() if name not in ("callback", "verbose", "n_jobs")
    ]
    told = [f"{name}={value!r}" for name, value in given if repr(value) != repr(defaults[name])]
    return f"{type(model).__name__}({', '.join(told)})"


def _classes(model: Any, numbers: NDArray[np.intp]) -> list[dict[str, Any]]:
    reached = np.bincount(numbers[model.usage_.any(axis=1)], minlength=len(model.classes_))
    labels = [str(label) for label in model.classes_.tolist()]
    # Data without labels have one class, whose number means nothing to a reader.
    names = labels if len(labels) > 1 else ["all rows"]
    return [
        {"name": _short(name), "label": label, "rows": int(size), "reached": int(using), "colour": colour}
        for name, label, size, using, colour in zip(
            names, labels, model.class_counts_, reached, class_colours(len(labels)), strict=True
        )
    ]


# ---------------------------------------------------------------------- patterns


def _patterns(model: Any, kind: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return the patterns, the items in them, and how many of these a pattern and role has at most."""
    parts = Parts(model)
    n_parts = len(parts.begins) - 1
    # A place takes a bit in every part, and a character holds six of them.
    most_places = 6 * PICTURE_BUDGET // max(1, n_parts)
    layout = layout_of(kind, model._item_names, int(model.n_features_in_), about, most_places)
    names = _item_texts(model)
    limit, shown = parts.choose_limit(names)
    position = np.full(int(model.n_features_in_), -1)
    position[shown] = np.arange(len(shown))
    patterns = [_pattern(model, s) for s in range(model.n_components_)]
    for k in range(n_parts):
        patterns[int(parts.pattern[parts.begins[k]])]["parts"].append(parts.part(k, limit, position, layout))
    for pattern in patterns:
        pattern["heading"] = _heading(pattern["parts"])
    counts = model.item_counts_[:, shown]
    return {
        "patterns": patterns,
        "items": {"names": [names[k] for k in shown.tolist()], "counts": counts.tolist()},
        "limit": limit,
        "layout": layout.shape if layout is not None else None,
    }


def _pattern(model: Any, s: int) -> dict[str, Any]:
    usage = model.usage_counts_[:, s]
    altered = bool(model.alterations_[:, s].any())
    of_one = len(usage) > 1 and (usage > 0).sum() == 1
    carriers, stability = model.carrier_counts_, model.stability_
    return {
        "number": s,
        "kind": "only" if of_one else "altered" if altered else "shared",
        "size": int((model.components_[s] | model.alterations_[:, s].any(axis=0)).sum()),
        "usage": usage.tolist(),
        "carriers": None if carriers is None else carriers[:, s].tolist(),
        "evidence": number(model.pattern_evidence_[s]),
        "gain": number(model.pattern_gain_[s]),
        "stability": None if stability is None else number(stability.patterns[s]),
        "parts": [],
    }


def _heading(parts: list[dict[str, Any]]) -> list[list[int]]:
    """Name a pattern by its strongest items, with their roles: of the first part; if few, of the others in turn."""
    heading: dict[int, int] = dict.fromkeys(parts[0]["items"][:HEADING_ITEMS], parts[0]["role"])
    others = parts[1:] if len(heading) < ENOUGH_ITEMS else []
    for rank in range(HEADING_ITEMS):
        for part in others:
            if rank < len(part["items"]):
                heading.setdefault(part["items"][rank], part["role"])
    return [[item, role] for item, role in heading.items()][:HEADING_ITEMS]


def _differences(model: Any) -> list[dict[str, Any]]:
    """Return the items whose shares differ most between the classes; of one class, the most frequent items."""
    shares = model.item_counts_ / model.class_counts_[:, None]
    spread = shares.max(axis=0) - (shares.min(axis=0) if len(shares) > 1 else 0)
    names = _item_texts(model)
    chosen = np.argsort(-spread, kind="stable")[:DIFFERENCES]
    return [{"name": names[k], "counts": model.item_counts_[:, k].tolist()} for k in chosen.tolist() if spread[k] > 0]


# ---------------------------------------------------------------------- plain values


def _item_texts(model: Any) -> list[str | int]:
    names = model._item_names
    if names is None:
        return list(range(int(model.n_features_in_)))
    return [name if isinstance(name, int) else _short(str(name)) for name in names.tolist()]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
