"""The summary of a fitted model, from which terminal, notebook, report and JSON are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from saltmine.arrays import Floats, Indices, Ints
from saltmine.fitted.differences import difference_table
from saltmine.fitted.kinds import ADDED, MOSTLY, ONLY, SHARED, TYPICAL, TableRows, class_kinds, role_names, table_rows
from saltmine.fitted.model import FittedModel
from saltmine.fitted.pattern_table import pattern_table

_NUMBERS = ("evidence", "gain", "p_value", "q_value", "stability")
# Evidence in nats of what chance shows with a probability that may be above 0.01.
LITTLE_EVIDENCE = 4.6
# Characters of an item or class name, and of a class name in a sentence.
MAX_NAME, MAX_NAME_IN_SENTENCE = 500, 40
# Largest p-value of single items that differ between classes, and largest q-value of those that are shown to.
MAX_P, MAX_Q = 0.05, 0.05
# Items in the title of a pattern; with fewer than ENOUGH_ITEMS in the first part, items of the other parts follow.
TITLE_ITEMS, ENOUGH_ITEMS = 5, 3
# Classes named in the answer and among the facts.
MAX_CLASSES_IN_ANSWER, MAX_CLASSES_IN_FACTS = 4, 8


@dataclass(frozen=True)
class ClassSummary:
    """A class: its name for readers, its label as text, its rows, and how many of them use a pattern."""

    name: str
    label: str
    rows: int
    reached: int


@dataclass(frozen=True)
class Part:
    """The items that one role has in a pattern, strongest first.

    Attributes
    ----------
    role : int
        The class that the items belong to, -1 for shared items.
    kind : {"typical", "shared", "mostly", "only", "added"}
    items, entries : (k,) int
        Columns of the items, and their rows in the pattern table.
    strength : (k,) float
        How much every item sets the pattern apart; never negative.
    evidence, gain : float or None
        Of the alteration, or of the whole pattern.
    p_value, q_value : float or None
        Of what is said about the class.
    stability : float or None
        Of the alteration.
    """

    role: int
    kind: str
    items: Indices
    entries: Indices
    strength: Floats
    evidence: float | None
    gain: float | None
    p_value: float | None
    q_value: float | None
    stability: float | None


@dataclass(frozen=True)
class PatternSummary:
    """A pattern and its parts.

    Attributes
    ----------
    number : int
    typical : bool
        Whether it is the typical row.
    owners : list of (int, str)
        The classes that it belongs to, each with "mostly" or "only"; empty if it is shared.
    altered_by : list of int
        The classes that add items to it.
    size : int
        Number of items.
    usage : list of int
        Rows of every class that use it.
    evidence, gain, stability : float or None
    parts : list of Part
    """

    number: int
    typical: bool
    owners: list[tuple[int, str]]
    altered_by: list[int]
    size: int
    usage: list[int]
    evidence: float | None
    gain: float | None
    stability: float | None
    parts: list[Part]

    @property
    def kind(self) -> str:
        """What the pattern is to its classes: "typical", "shared", "mostly" or "only"."""
        if self.typical:
            return TYPICAL
        return self.owners[0][1] if self.owners else SHARED

    @cached_property
    def title(self) -> list[tuple[int, int]]:
        """Column and role of the items that name the pattern: the strongest of each part."""
        first, *others = self.parts
        title = dict.fromkeys(first.items[:TITLE_ITEMS].tolist(), first.role)
        if len(title) < ENOUGH_ITEMS:
            for rank in range(TITLE_ITEMS):
                for part in others:
                    if rank < len(part.items):
                        title.setdefault(int(part.items[rank]), part.role)
        return list(title.items())[:TITLE_ITEMS]


class Summary:
    """Classes, patterns and their parts, the pattern table, and what they say in words.

    Attributes
    ----------
    model : fitted estimator
    table : DataFrame
        The result of `CSalt.patterns`.
    columns : dict of (entries,) float
        Evidence, gain, p-value, q-value and stability (where assessed) of the table.
    source : str
        Where the data came from, if that is known.
    density : float
        Share of ones in the data.
    classes : list of ClassSummary
    patterns : list of PatternSummary
    roles : list of str
        The roles of the table: one per class, and "common" last.
    row_classes : (m,) int
        The class number of every row.
    hits : (c, entries) int
        Rows of every class that use the pattern and have the item, for every row of the table.
    answer : str
        One or two sentences that say what the model found.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200, 200], rank=3, noise=0.02, random_state=0)
    >>> summary = Summary(CSalt(random_state=0).fit(planted.X, planted.y))
    >>> len(summary.patterns), summary.answer[:11]
    (3, '3 patterns:')
    """

    def __init__(self, model: FittedModel) -> None:
        check_is_fitted(model)
        if not isinstance(model, FittedModel):
            given = type(model).__name__
            raise TypeError(f"A report shows a fitted estimator of saltmine such as CSalt, not {given!r}.")
        self.model = model
        self.source = str(model.about_.get("source") or "")
        self.table = pattern_table(model)
        names = [name for name in _NUMBERS if name in self.table.columns]
        self.columns: dict[str, Floats] = {name: self.table[name].to_numpy(np.float64) for name in names}
        self.row_classes = np.searchsorted(model.classes_, model.row_labels_)
        self.density = float(model.item_counts_.sum() / (len(self.row_classes) * model.n_features_in_))
        self.classes = _classes(model, self.row_classes)
        self.roles: list[str] = role_names(model.classes_).tolist()
        kinds = class_kinds(model)
        rows = table_rows(model.components_, model.alterations_, kinds != "")
        self.hits = model._items.hits_of(rows.pattern, rows.item, rows.owner)
        self.patterns = [_pattern(model, kinds[:, s].tolist(), s) for s in range(model.n_components_)]
        self._fill_parts(rows)
        self.answer = answer(self.classes, self.patterns, model._is_tested, model._can_alter)

    def _fill_parts(self, rows: TableRows) -> None:
        """Give every pattern its parts: rows of the same role and kind, strongest items first."""
        strength = _strength(self.model, self.hits, rows)
        order = np.lexsort((rows.item, -strength, rows.role, rows.adds, rows.pattern))
        keys = np.stack([rows.pattern, rows.adds, rows.role])[:, order]
        begins = np.flatnonzero((np.diff(keys, prepend=-2) != 0).any(axis=0))
        kinds, stability = self.table["kind"].to_numpy(dtype=object), self.model.stability_
        for chosen in np.split(order, begins[1:]) if len(order) else []:
            first = chosen[0]
            s, a, adds = int(rows.pattern[first]), int(rows.role[first]), bool(rows.adds[first])
            evidence, gain = (significant(self.columns[name][first]) for name in ("evidence", "gain"))
            p_value, q_value = (significant(self.columns[name][first], digits=3) for name in ("p_value", "q_value"))
            back = significant(stability.alterations[a, s]) if stability is not None and adds else None
            figures = evidence, gain, p_value, q_value, back
            items = rows.item[chosen], chosen, np.maximum(strength[chosen], 0.0)
            self.patterns[s].parts.append(Part(a, str(kinds[first]), *items, *figures))

    @cached_property
    def item_names(self) -> list[str | int]:
        """Name of every column, or its number where the data had no names."""
        names = self.model._item_names
        if names is None:
            return list(range(int(self.model.n_features_in_)))
        return [name if isinstance(name, int) else shorten(str(name), MAX_NAME) for name in names.tolist()]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The single items that classes differ in (`CSalt.differences`)."""
        return difference_table(self.model, MAX_P)

    @property
    def confirmed_differences(self) -> pd.DataFrame:
        """Those that are shown to differ."""
        return self.differences[self.differences["q_value"] <= MAX_Q]

    @cached_property
    def facts(self) -> list[str]:
        """Source, rows, columns and share of ones of the data, as short texts."""
        named = self.classes[:MAX_CLASSES_IN_FACTS]
        sizes = ", ".join(f"{entry.rows:,} {class_in_sentence(entry.name)}" for entry in named)
        rest = len(self.classes) - len(named)
        split = f" ({sizes}{f' and {rest} more classes' if rest else ''})" if len(self.classes) > 1 else ""
        shape = [f"{_count(len(self.row_classes), 'row')}{split}", _count(int(self.model.n_features_in_), "column")]
        facts = [self.source, *shape, f"{percent(self.density)} of the cells are ones"]
        return [fact for fact in facts if fact]

    def title(self, pattern: PatternSummary) -> str:
        """Return the strongest items of a pattern as its title."""
        return ", ".join(" ".join(str(self.item_names[item]).split()) for item, _ in pattern.title)

    def describe(self, pattern: PatternSummary, max_items: int, brief: bool = False) -> list[tuple[int, str]]:
        """Return the parts of a pattern as texts: the class that a part belongs to, and its strongest items.

        Each text comes with its role. The items of a pattern of several classes are named once, with role -1. The
        brief form is for tables: it names classes and items without further words.
        """
        own = [part for part in pattern.parts if part.kind in (MOSTLY, ONLY)]
        others = [[part] for part in pattern.parts if part.kind not in (MOSTLY, ONLY)]
        return [
            (
                parts[0].role if len(parts) == 1 else -1,
                f"{self._lead(parts, brief)}{self._items_text(parts[0], max_items, brief)}",
            )
            for parts in ([own, *others] if own else others)
        ]

    def _lead(self, parts: Sequence[Part], brief: bool) -> str:
        """Return what parts with the same items are to their classes."""
        if parts[0].role < 0:
            return "typical row: " if parts[0].kind == TYPICAL else ""
        roles = [part.role for part in parts]
        names = [self.roles[role] if brief else class_in_sentence(self.classes[role].name) for role in roles]
        owners = ", ".join(names)
        return f"{owners} adds: " if parts[0].kind == ADDED else f"{parts[0].kind} {owners}: "

    def _items_text(self, part: Part, max_items: int, brief: bool) -> str:
        names = [self.item_names[item] for item in part.items[:max_items].tolist()]
        items = ", ".join(f"item {name}" if isinstance(name, int) and not brief else str(name) for name in names)
        rest = len(part.items) - len(names)
        return f"{items} and {rest:,} more" if rest else items


# ---------------------------------------------------------------------- parts of the summary


def _classes(model: FittedModel, row_classes: Indices) -> list[ClassSummary]:
    reached = np.bincount(row_classes[model.usage_[:, ~model.typical_].any(axis=1)], minlength=len(model.classes_))
    labels = [str(label) for label in model.classes_.tolist()]
    # Data without labels have one class, whose number means nothing to a reader.
    names = labels if len(labels) > 1 else ["all rows"]
    return [
        ClassSummary(shorten(name, MAX_NAME), label, int(rows), int(using))
        for name, label, rows, using in zip(names, labels, model.class_counts_, reached, strict=True)
    ]


def _pattern(model: FittedModel, kinds: list[str], s: int) -> PatternSummary:
    """Return a pattern without its parts; ``kinds`` says what it is to every class."""
    owners = [(a, kind) for a, kind in enumerate(kinds) if kind]
    altered_by = np.flatnonzero(model.alterations_[:, s].any(axis=1)).tolist()
    size = int((model.components_[s] | model.alterations_[:, s].any(axis=0)).sum())
    usage = model.usage_counts_[:, s].tolist()
    evidence, gain = significant(model.pattern_evidence_[s]), significant(model.pattern_gain_[s])
    stability = None if model.stability_ is None else significant(model.stability_.patterns[s])
    return PatternSummary(s, bool(model.typical_[s]), owners, altered_by, size, usage, evidence, gain, stability, [])


def _strength(model: FittedModel, hits: Ints, rows: TableRows) -> Floats:
    """Return how much each item sets its pattern apart: hits times the logarithm of how much more frequent it is there.

    Items of a class are compared with the rows of all other classes, which have at least half a row with it; shared
    items with all rows.
    """
    strength = np.zeros(len(rows.pattern))
    counts, sizes = model.item_counts_[:, rows.item], model.class_counts_
    for a in range(len(sizes)):
        own = np.flatnonzero((rows.role == a) & (hits[a] > 0))
        elsewhere = (counts[:, own].sum(axis=0) - counts[a, own] + 0.5) / (sizes.sum() - sizes[a] + 1)
        strength[own] = hits[a, own] * np.log(hits[a, own] / model.usage_counts_[a, rows.pattern[own]] / elsewhere)
    shared = np.flatnonzero((rows.role < 0) & (hits.sum(axis=0) > 0))
    used, had = model.usage_counts_.sum(axis=0)[rows.pattern[shared]], hits[:, shared].sum(axis=0)
    strength[shared] = had * np.log(had / used * sizes.sum() / counts[:, shared].sum(axis=0))
    # Rounded, so that equal items stay in their order whatever the last digit.
    return np.round(strength, 6)


# ---------------------------------------------------------------------- the answer


def answer(
    classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary], tested: bool = True, can_alter: bool = True
) -> str:
    """Return in one or two sentences what a model found.

    Parameters
    ----------
    classes, patterns : lists of ClassSummary and PatternSummary
    tested : bool
        Whether the method drops patterns that chance explains.
    can_alter : bool
        Whether the method looks for alterations.

    Examples
    --------
    >>> shops = [ClassSummary("Mainz", "Mainz", 90, 50), ClassSummary("Trier", "Trier", 80, 70)]
    >>> breakfast = PatternSummary(0, False, [], [1], 4, [50, 40], 30.0, 100.0, None, [])
    >>> dinner = PatternSummary(1, False, [(1, "mostly")], [], 3, [2, 30], 20.0, 60.0, None, [])
    >>> answer(shops, [breakfast, dinner])
    '2 patterns: 1 is shared by both classes, 1 is mostly in Trier; Trier adds items to 1 of them.'
    """
    typical, others = ([pattern for pattern in patterns if pattern.typical == kind] for kind in (True, False))
    if not typical:
        return _found(classes, others, tested, can_alter)
    beside = f"No pattern was found beside the typical {'row' if len(typical) == 1 else 'rows'}."
    found = _found(classes, others, tested, can_alter) if others else beside
    return f"{found} {_typical_row(classes, typical)}"


def _typical_row(classes: Sequence[ClassSummary], typical: Sequence[PatternSummary]) -> str:
    """Return a sentence about what most rows have, and who adds to it."""
    sizes = [_count(pattern.size, "item") if pattern is typical[0] else str(pattern.size) for pattern in typical]
    rows = sum(entry.rows for entry in classes)
    shares = [percent(sum(pattern.usage) / rows) for pattern in typical]
    what = "The typical row has" if len(typical) == 1 else f"{len(typical)} typical rows have"
    adding = len({a for pattern in typical for a in pattern.altered_by})
    whom = "it" if len(typical) == 1 else "them"
    more = f"; {adding} {'class adds' if adding == 1 else 'classes add'} items to {whom}" if adding else ""
    having = " and ".join(f"{size} ({share} of the rows)" for size, share in zip(sizes, shares, strict=True))
    return f"{what} {having}{more}."


def _found(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary], tested: bool, can_alter: bool) -> str:
    """Return what patterns there are beside the typical row."""
    if not patterns:
        return f"No pattern was found{_not_shown(len(classes)) if tested else ''}."
    total = _count(len(patterns), "pattern")
    weak = "" if tested else _weak_patterns(patterns)
    if len(classes) == 1:
        using = percent(classes[0].reached / classes[0].rows)
        beyond = " of items that occur together more often than chance explains" if tested else ""
        return f"{total}{beyond}; {using} of the rows use some.{weak}"
    parts = ", ".join(_shared_patterns(classes, patterns) + _patterns_of_classes(classes, patterns))
    return f"{total}: {parts}{_additions(classes, patterns) if can_alter else ''}.{weak}"


def _not_shown(n_classes: int) -> str:
    """Return as text what a search that found nothing looked for."""
    together = "that items occur together more often than the sizes of rows and the frequencies of items explain"
    if n_classes == 1:
        return f": nothing shows {together}"
    return f": nothing shows {together}, nor that classes differ in the use of any items"


def _weak_patterns(patterns: Sequence[PatternSummary]) -> str:
    """Return a sentence with the number of patterns that may be due to chance; empty if there are none."""
    weak = sum(pattern.evidence is not None and pattern.evidence < LITTLE_EVIDENCE for pattern in patterns)
    if not weak:
        return ""
    which = f"{weak} of these patterns" if len(patterns) > 1 else "this pattern"
    return f" Chance may explain {which} (evidence below {LITTLE_EVIDENCE} nats)."


def _shared_patterns(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> list[str]:
    """Return the number of shared patterns as text; the classes are named where all of them use all these patterns."""
    shared = [pattern for pattern in patterns if not pattern.owners]
    if not shared:
        return []
    everybody = "both classes" if len(classes) == 2 else f"all {len(classes)} classes"
    by = f" by {everybody}" if all(min(pattern.usage) > 0 for pattern in shared) else ""
    return [f"{len(shared)} {_is(len(shared))} shared{by}"]


def _patterns_of_classes(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> list[str]:
    """Return the numbers of patterns that belong to classes as text; only the most frequent by name."""
    single = Counter(pattern.owners[0] for pattern in patterns if len(pattern.owners) == 1)
    several = sum(len(pattern.owners) > 1 for pattern in patterns)
    ranked = sorted(single, key=lambda owner: (-single[owner], owner))
    named, rest = ranked[:MAX_CLASSES_IN_ANSWER], ranked[MAX_CLASSES_IN_ANSWER:]
    counts = [(single[owner], f"{owner[1]} in {class_in_sentence(classes[owner[0]].name)}") for owner in named]
    if rest:
        kinds = " or ".join(kind for kind in (MOSTLY, ONLY) if any(kind == owner[1] for owner in rest))
        counts.append((sum(single[owner] for owner in rest), f"{kinds} in another class"))
    if several:
        counts.append((several, f"{MOSTLY} in some of the {len(classes)} classes"))
    return [f"{count} {_is(count)} {what}" for count, what in counts]


def _additions(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> str:
    """Return as text to how many patterns classes add items, and which classes."""
    by_class = Counter(a for pattern in patterns for a in pattern.altered_by)
    if not by_class:
        return "; no class adds items to them" if len(patterns) > 1 else "; no class adds items to it"
    if len(by_class) > MAX_CLASSES_IN_ANSWER:
        altered = sum(bool(pattern.altered_by) for pattern in patterns)
        return f"; {len(by_class)} classes add items to {altered} of them"
    counts = [(class_in_sentence(classes[a].name), by_class[a]) for a in sorted(by_class)]
    if len(patterns) == 1:
        names = [name for name, _ in counts]
        return f"; {' and '.join(names)} {'adds' if len(names) == 1 else 'add'} items to it"
    (first, count), *others = counts
    return "".join([f"; {first} adds items to {count} of them", *(f", {name} to {n}" for name, n in others)])


# ---------------------------------------------------------------------- numbers and names as text


def class_in_sentence(name: str) -> str:
    """Return a class name as part of a sentence: numbers and single letters get the word "class" before them.

    Examples
    --------
    >>> class_in_sentence("Mainz"), class_in_sentence("3")
    ('Mainz', 'class 3')
    """
    short = shorten(name, MAX_NAME_IN_SENTENCE)
    return f"class {short}" if name[:1].isdigit() or len(name) == 1 else short


def percent(share: float) -> str:
    """Return a share in percent, with two significant digits.

    Examples
    --------
    >>> percent(0.3141), percent(0.03141), percent(0.0003), percent(0), percent(1)
    ('31 %', '3.1 %', '0.03 %', '0 %', '100 %')
    """
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def significant(value: float, digits: int = 4) -> float | None:
    """Return a number rounded to significant digits; None, which JSON can hold, if it is not finite.

    Examples
    --------
    >>> significant(1234.567), significant(float("nan"))
    (1235.0, None)
    """
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def shorten(text: str, max_length: int) -> str:
    """Return text that is at most so long; an ellipsis marks what was cut.

    Examples
    --------
    >>> shorten("wholemeal", 6)
    'whole…'
    """
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _count(count: int, noun: str) -> str:
    plural = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{plural}"
