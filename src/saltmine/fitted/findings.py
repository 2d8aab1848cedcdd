"""The most important confirmed claims of a model as sentences, the surest and largest differences first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import poisson

from saltmine.arrays import Indices
from saltmine.fitted.differences import HALF_WIDTH, MAX_Q
from saltmine.fitted.kinds import ADDED, GROUP, MOSTLY, ONLY, SHARED, TYPICAL, carriers_by_noise
from saltmine.fitted.parts import Part, PatternSummary
from saltmine.fitted.wording import class_in_sentence, listed, percent, q_text
from saltmine.nouns import counted

if TYPE_CHECKING:
    # The module imports this one.
    from saltmine.fitted.summary import Summary

MAX_FINDINGS = 10
# Places for shared patterns and for patterns of classes; the rest is left to single items, as far as there are any.
PLACES_FOR_SHARED, PLACES_FOR_PATTERNS = 2, 5
# Items named in a sentence.
NAMED_ITEMS = 5
# Added to the counts of an interval of a difference (Agresti, Caffo).
ADDED_COUNT = 1.0
# Probabilities are told down to ten to minus this.
MAX_POWER = 300
# The kind of a finding about a single item.
ITEM = "item"


@dataclass(frozen=True)
class Finding:
    """A confirmed claim.

    Attributes
    ----------
    kind : {"item", "mostly", "only", "added", "shared"}
    text : str
        The claim as a sentence.
    pattern : int or None
        The pattern that it is about.
    role : int
        Number of the class that it is about, a position in ``classes_``; -1 for shared patterns.
    items : (k,) int
        Numbers of the columns of the items, strongest first.
    difference : float
        Least difference between the share in the class and elsewhere that the data allows (95 %); of shared patterns 0.
    q_value : float or None
        Of the claim about the class.
    class_name : str or None
        The class that it is about as text; None for shared patterns.
    item_names : tuple of str, or of int if the data had no names
        Names of the items, in the order of ``items``.
    """

    kind: str
    text: str
    pattern: int | None
    role: int
    items: Indices
    difference: float
    q_value: float | None
    class_name: str | None = None
    item_names: tuple[str | int, ...] = ()


def find(summary: Summary) -> list[Finding]:
    """Return at most ten confirmed claims, the surest and largest differences first, then what classes share."""
    of_patterns = [finding for pattern in summary.patterns for finding in _of_pattern(summary, pattern)]
    shared = [_shared(summary, pattern) for pattern in _by_evidence(summary)]
    places = MAX_FINDINGS - min(len(shared), PLACES_FOR_SHARED)
    patterns = _choose(_by_size(of_patterns), [])
    items = _choose(_by_size(_single_items(summary)), patterns[:PLACES_FOR_PATTERNS])
    n_patterns = max(PLACES_FOR_PATTERNS, places - len(items))
    chosen = patterns[:n_patterns]
    chosen += items[: places - len(chosen)]
    found = _by_size(chosen) + shared[: MAX_FINDINGS - len(chosen)]
    return [_with_names(summary, finding) for finding in found]


def _with_names(summary: Summary, finding: Finding) -> Finding:
    """Return a finding with the names of its class and its items."""
    label = None if finding.role < 0 else summary.classes[finding.role].label
    names = tuple(summary.item_names[item] for item in finding.items.tolist())
    return replace(finding, class_name=label, item_names=names)


def _choose(candidates: list[Finding], before: list[Finding]) -> list[Finding]:
    """Return the findings that say something new about their class, after those before them.

    A single item is new unless a finding before it names it, a pattern if at least half of the items that it names are.
    """
    named: dict[int, set[int]] = {}
    for finding in before:
        named.setdefault(finding.role, set()).update(finding.items[:NAMED_ITEMS].tolist())
    chosen = []
    for finding in candidates:
        items, told = set(finding.items[:NAMED_ITEMS].tolist()), named.setdefault(finding.role, set())
        if finding.difference > 0 and 2 * len(items & told) <= len(items):
            chosen.append(finding)
            told |= items
    return chosen


def _by_size(findings: list[Finding]) -> list[Finding]:
    # Equal ones stay in their order.
    return sorted(findings, key=lambda finding: -finding.difference)


def least_difference(hits: float, rows: float, elsewhere: float, others: float) -> float:
    """Return the end of the 95 % interval of a difference of shares that is nearer to 0; never below 0.

    Examples
    --------
    >>> round(least_difference(11, 58, 1, 124), 3), least_difference(1, 10, 1, 10)
    (0.081, 0.0)
    """
    n, k = rows + 2 * ADDED_COUNT, others + 2 * ADDED_COUNT
    p, q = (hits + ADDED_COUNT) / n, (elsewhere + ADDED_COUNT) / k
    width = HALF_WIDTH * np.sqrt(p * (1 - p) / n + q * (1 - q) / k)
    return float(max(abs(p - q) - width, 0.0))


# ---------------------------------------------------------------------- single items


def _single_items(summary: Summary) -> list[Finding]:
    """Return the single items that differ, each for the class where the difference is largest."""
    confirmed = summary.told_differences[summary.told_differences["q_value"] <= MAX_Q]
    found: dict[int, Finding] = {}
    for row in confirmed.to_dict("records"):
        finding = _single_item(summary, row, int(np.searchsorted(summary.model.classes_, row["class"])))
        best = found.setdefault(int(finding.items[0]), finding)
        if finding.difference > best.difference:
            found[int(finding.items[0])] = finding
    return list(found.values())


def _single_item(summary: Summary, row: dict[Any, Any], a: int) -> Finding:
    rows, others = _rows(summary, a)
    name = class_in_sentence(summary.classes[a].name)
    rare = row["share"] < row["share_elsewhere"]
    item = f"item {row['item']}" if isinstance(row["item"], int) else row["item"]
    which = f"{item} is {'rarer' if rare else 'more frequent'} in {name}"
    other = _elsewhere(summary, a)
    text = f"{which}: {_share(row['rows'], rows)} against {_share(row['rows_elsewhere'], others)} {other}"
    difference = least_difference(row["rows"], rows, row["rows_elsewhere"], others)
    column = np.array([summary.column_of(row["item"])])
    q_value = float(row["q_value"])
    return Finding(ITEM, f"{text} ({q_text(q_value)}).", None, a, column, difference, q_value)


def _rows(summary: Summary, a: int) -> tuple[int, int]:
    """Count the rows of a class, and all others."""
    rows = summary.classes[a].rows
    return rows, sum(entry.rows for entry in summary.classes) - rows


def _elsewhere(summary: Summary, a: int) -> str:
    """Return where the rows are that are not of a class."""
    if len(summary.classes) > 2:
        return "elsewhere"
    return f"in {class_in_sentence(summary.classes[1 - a].name)}"


def _share(hits: int, rows: int) -> str:
    return f"{hits:,} of {rows:,} rows ({percent(hits / max(rows, 1))})"


# ---------------------------------------------------------------------- patterns


def _of_pattern(summary: Summary, pattern: PatternSummary) -> Iterator[Finding]:
    """Yield what is shown of classes in a pattern."""
    if pattern.kind == GROUP:
        return
    if _is_of_one_column(summary, pattern):
        return
    for part in pattern.parts:
        if part.q_value is None or part.q_value > summary.model._level:
            continue
        if part.kind in (MOSTLY, ONLY):
            yield _of_class(summary, pattern, part)
        elif part.kind == ADDED:
            yield _added(summary, pattern, part)


def _of_class(summary: Summary, pattern: PatternSummary, part: Part) -> Finding:
    """Return that a pattern is mostly, or only, of a class."""
    model, a, s = summary.model, part.role, pattern.number
    rows, others = _rows(summary, a)
    own, elsewhere = pattern.usage[a], sum(pattern.usage) - pattern.usage[a]
    where = _elsewhere(summary, a)
    what = f"{part.kind.capitalize()} in {class_in_sentence(summary.classes[a].name)}: {_items(summary, part)}"
    text = f"{what}; {_share(own, rows)} use it, {_share(elsewhere, others)} {where}"
    if model.most_counts_ is not None:
        most = int(model.most_counts_[a, s]), int(model.most_counts_[:, s].sum() - model.most_counts_[a, s])
        shares = percent(most[0] / max(rows, 1)), percent(most[1] / max(others, 1))
        text += f"; {shares[0]} and {shares[1]} have most of the items"
    text = f"{text} ({q_text(part.q_value)})."
    return Finding(part.kind, text, s, a, part.items, least_difference(own, rows, elsewhere, others), part.q_value)


def _added(summary: Summary, pattern: PatternSummary, part: Part) -> Finding:
    """Return that a class adds items to a pattern; shares are means over these items."""
    a, (own, rows, elsewhere, others) = part.role, _added_figures(summary, pattern, part)
    name = class_in_sentence(summary.classes[a].name)
    whole = "the typical row" if pattern.kind == TYPICAL else f"pattern {_title(summary, pattern)}"
    added = "item has a frequency" if len(part.items) == 1 else "items have a mean frequency"
    # Where classes share too little to be a pattern, all rows were looked at.
    among = "in rows with most of it" if summary.model.components_[pattern.number].sum() >= 2 else "in all rows"
    text = f"{name} adds {_items(summary, part)} to {whole}: {among}, the added {added} of {percent(own)} in {name}"
    text += f" ({counted(rows, 'row')})"
    if others:
        where = "in other classes" if len(summary.classes) > 2 else _elsewhere(summary, a)
        text += f" and of {percent(elsewhere)} {where} ({counted(others, 'row')})"
    difference = least_difference(own * rows, rows, elsewhere * others, others)
    text = f"{text}; {q_text(part.q_value)}."
    return Finding(ADDED, text, pattern.number, a, part.items, difference, part.q_value)


def _added_figures(summary: Summary, pattern: PatternSummary, part: Part) -> tuple[float, int, float, int]:
    """Return how frequent added items are in the rows with the pattern, and in how many: in the class, and elsewhere.

    These are the rows with most of what classes share; where that was not counted, those that use the pattern.
    """
    model, a, s = summary.model, part.role, pattern.number
    if model._added_shares is not None and model._added_rows is not None:
        (own, elsewhere), (rows, others) = model._added_shares[:, a, s], model._added_rows[:, a, s]
        return float(np.nan_to_num(own)), int(rows), float(np.nan_to_num(elsewhere)), int(others)
    hits, used = summary.hits[:, part.entries], np.array(pattern.usage)
    without = [b for b in range(len(used)) if b not in pattern.altered_by]
    rows, others = int(used[a]), int(used[without].sum())
    return float(hits[a].mean()) / max(rows, 1), rows, float(hits[without].sum(axis=0).mean()) / max(others, 1), others


def _by_evidence(summary: Summary) -> list[PatternSummary]:
    """Return the shared patterns that are shown to go together, the largest evidence first."""
    least = -np.log(summary.model._level)
    shared = [pattern for pattern in summary.patterns if pattern.kind == SHARED and pattern.parts[0].role < 0]
    shared = [pattern for pattern in shared if not _is_of_one_column(summary, pattern)]
    shown = [pattern for pattern in shared if pattern.evidence is not None and pattern.evidence >= least]
    shown = [pattern for pattern in shown if _is_seen(summary, pattern)]
    return sorted(shown, key=lambda pattern: -(pattern.evidence or 0))


def _is_seen(summary: Summary, pattern: PatternSummary) -> bool:
    """Say whether more rows have most of the items than if they were independent in every class.

    The evidence of a pattern is given all others; what is told of it alone has to be there without them.
    """
    model, s = summary.model, pattern.number
    if model.most_counts_ is None:
        return True
    items = np.flatnonzero(model.components_[s])
    expected = carriers_by_noise(model.item_counts_[:, items], model.class_counts_, len(items) // 2 + 1)
    return bool(poisson.sf(int(model.most_counts_[:, s].sum()) - 1, expected) < model._level)


def _shared(summary: Summary, pattern: PatternSummary) -> Finding:
    """Return that items go together; of how many rows is told of the classes that use the pattern."""
    part, used = pattern.parts[0], sum(pattern.usage)
    rows = sum(entry.rows for entry, n in zip(summary.classes, pattern.usage, strict=True) if n)
    classes = f" of {_users(summary, pattern)}" if len(summary.classes) > 1 else ""
    text = f"{_items(summary, part)} go together in {_share(used, rows)}{classes}"
    power = min(int((pattern.evidence or 0.0) / np.log(10)), MAX_POWER)
    text += f"; chance shows as much with a probability below 1e-{power}."
    return Finding(SHARED, text, pattern.number, -1, part.items, 0.0, None)


def _users(summary: Summary, pattern: PatternSummary) -> str:
    """Return the classes that use a pattern as text."""
    names = [entry.name for entry, used in zip(summary.classes, pattern.usage, strict=True) if used]
    if len(names) == len(summary.classes):
        return "both classes" if len(names) == 2 else f"all {len(names)} classes"
    if len(names) > 3:
        return f"{len(names)} of {len(summary.classes)} classes"
    return listed([class_in_sentence(name) for name in names])


def _is_of_one_column(summary: Summary, pattern: PatternSummary) -> bool:
    """Say whether all items come from one column of a table: age>=18 and age>=65 go together by themselves."""
    if summary.model.preparation_ is None:
        return False
    names = [str(summary.item_names[item]) for part in pattern.parts for item in part.items.tolist()]
    return len({re.split("[=<>[]", name)[0] for name in names}) == 1


def _items(summary: Summary, part: Part) -> str:
    """Return the strongest items by name, and how many more the part has, as in the table of patterns.

    Items that are no more frequent with the pattern than elsewhere are counted, but not named.
    """
    telling = int(np.count_nonzero(part.strength > 0))
    return summary.items_text(part, min(telling, NAMED_ITEMS) or NAMED_ITEMS)


def _title(summary: Summary, pattern: PatternSummary) -> str:
    """Return number and items of the pattern that a class adds items to."""
    base = next((part for part in pattern.parts if part.kind != ADDED), None)
    return str(pattern.number) if base is None else f"{pattern.number} ({_items(summary, base)})"
