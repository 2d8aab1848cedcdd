"""What the patterns consist of: parts, each the items that one role has in one pattern."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.data.item_counts import entries
from saltmine.fitted.pattern_table import ONLY, of_one_class
from saltmine.report.layout import Layout

# Items shown of a part: the first number with which all of them take less than the budget of characters.
LIMITS = (150, 75, 40, 20, 10, 5)
BUDGET = 2_500_000
# Largest q-value with which a claim counts as confirmed.
CONFIRMED = 0.05
_FIGURES = ("evidence", "gain", "p_value", "q_value", "stability")


class Parts:
    """The entries of all patterns, by pattern and role, strongest first within a part.

    Attributes
    ----------
    pattern, item, role : (e,) int
        The role is the class that an item belongs to, -1 for what is common.
    hits : (c, e) int
        Rows of every class that use the pattern and have the item.
    figures : dict of (e,) float
        Columns of `CSalt.patterns`.
    begins : (parts + 1,) int
        Where the parts begin, and the end of the last one.
    """

    def __init__(self, model: Any) -> None:
        pattern, item, owner = entries(model.components_, model.alterations_)
        table = model.patterns()
        kind = table["kind"].to_numpy(dtype=object).astype(str)
        users = model.usage_counts_.argmax(axis=0)
        role = np.where((kind == ONLY) & (owner < 0), users[pattern], owner)
        strength = _strength(model, pattern, item, role)
        order = np.lexsort((item, -strength, kind, role, pattern))
        self.pattern, self.item, self.role, self._kind = pattern[order], item[order], role[order], kind[order]
        self.hits: NDArray[np.int64] = model._hits[:, order]
        self.figures = {
            name: table[name].to_numpy(dtype=np.float64)[order] for name in _FIGURES if name in table.columns
        }
        keys = np.stack([pattern, role, np.unique(kind, return_inverse=True)[1]])[:, order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (np.diff(keys) != 0).any(axis=0)
        self.begins = np.append(np.flatnonzero(is_first), len(order))
        self._of_one_class = of_one_class(model)
        self._came_back = None if model.stability_ is None else model.stability_.alterations

    def choose_limit(self, names: list[str | int]) -> tuple[int, NDArray[np.intp]]:
        """Return how many items of a part fit into the page, and which items are then in it."""
        rank = np.arange(len(self.item)) - np.repeat(self.begins[:-1], np.diff(self.begins))
        n_classes = len(self.hits)
        per_item = np.array([len(str(name)) + 3 + 5 * n_classes for name in names])
        per_entry = 6 + 5 * n_classes + 9 * len(self.figures)
        for limit in LIMITS:
            shown = np.unique(self.item[rank < limit])
            if per_entry * (rank < limit).sum() + per_item[shown].sum() <= BUDGET:
                break
        return limit, shown

    def part(self, k: int, limit: int, position: NDArray[np.intp], layout: Layout | None) -> dict[str, Any]:
        """Return part k with its strongest items; ``position`` says where the page has an item."""
        begin, end = int(self.begins[k]), int(self.begins[k + 1])
        kept = slice(begin, min(end, begin + limit))
        role, pattern = int(self.role[begin]), int(self.pattern[begin])
        part: dict[str, Any] = {
            "role": role,
            "kind": str(self._kind[begin]),
            "size": end - begin,
            "evidence": number(self.figures["evidence"][begin]),
            "gain": number(self.figures["gain"][begin]),
            "items": position[self.item[kept]].tolist(),
            "hits": self.hits[:, kept].tolist(),
        }
        if role >= 0 and self._came_back is not None:
            part["stability"] = number(self._came_back[role, pattern])
        q_values = self.figures["q_value"][begin:end]
        part["doubted"] = int((q_values > CONFIRMED).sum())
        if self._of_one_class[pattern]:
            # The pattern was tested as a whole.
            part |= {name: number(self.figures[name][begin], digits=3) for name in ("p_value", "q_value")}
        for name in ("stability",) if self._of_one_class[pattern] else ("p_value", "q_value", "stability"):
            values = self.figures.get(name)
            if values is not None and not np.isnan(values[kept]).all():
                part[f"item_{name}"] = [number(value, digits=3) for value in values[kept]]
        if layout is not None:
            part["places"] = _bit_set(layout.place[self.item[begin:end]], layout.n_places)
        return part


def _strength(
    model: Any, pattern: NDArray[np.intp], item: NDArray[np.intp], role: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Say how much an item says about its pattern: hits times the logarithm of how much more frequent it is there.

    An item that all rows have says nothing, however often it is hit; one class's items are judged in that class.
    """
    strength = np.zeros(len(pattern))
    for a, size in enumerate(model.class_counts_):
        used, hits, count = model.usage_counts_[a, pattern], model._hits[a], model.item_counts_[a, item]
        here = ((role < 0) | (role == a)) & (hits > 0)
        lift = hits[here] / used[here] * size / count[here]
        strength[here] += hits[here] * np.log(lift)
    # Rounded, so that equal items stay in their order whatever the last digit.
    return np.round(strength, 6)


def number(value: float, digits: int = 4) -> float | None:
    """Round to digits that count; what is no finite number becomes None, which JSON can hold.

    Examples
    --------
    >>> number(1234.567), number(float("nan"))
    (1235.0, None)
    """
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def _bit_set(places: NDArray[np.int64], n_places: int) -> str:
    bits = np.zeros(n_places, dtype=bool)
    bits[places[places >= 0]] = True
    return base64.b64encode(np.packbits(bits).tobytes()).decode()
