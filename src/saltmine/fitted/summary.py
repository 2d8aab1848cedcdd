"""The summary of a fitted model, from which terminal, notebook, report and JSON are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from saltmine.arrays import Floats, Indices, Ints
from saltmine.fitted.differences import MAX_P, MAX_Q, difference_table
from saltmine.fitted.findings import Finding, find
from saltmine.fitted.headline import headline
from saltmine.fitted.kinds import (
    ADDED,
    GROUP,
    MOSTLY,
    ONLY,
    TYPICAL,
    TableRows,
    class_kinds,
    main_user,
    role_names,
    table_rows,
)
from saltmine.fitted.model import FittedModel
from saltmine.fitted.parts import ClassSummary, Part, PatternSummary
from saltmine.fitted.pattern_table import pattern_table
from saltmine.fitted.wording import (
    MAX_NAME_IN_SENTENCE,
    class_in_sentence,
    listed,
    percent,
    shorten,
    significant,
)
from saltmine.nouns import counted, plural

_NUMBERS = ("evidence", "gain", "p_value", "q_value", "stability")
# Characters of an item or class name.
MAX_NAME = 500
# Classes named among the facts, groups named with a pattern, and classes named that add an item of its title.
MAX_CLASSES_IN_FACTS, MAX_GROUPS_NAMED, MAX_CLASSES_ADDING = 8, 3, 3
# Items of every class that adds some, in the title of a pattern.
MAX_ADDED_IN_TITLE = 2


class Summary:
    """What a model found: a headline, the most important findings, and a table with one row per pattern.

    Attributes
    ----------
    headline : str
        What the model found, in one to three sentences.
    findings : list of Finding
        At most ten confirmed claims, the surest and largest differences first. ``text`` is the sentence,
        ``class_name`` and ``item_names`` say what it is about.
    table : DataFrame
        One row per pattern.
    differences : DataFrame
        The result of `CSalt.differences`.
    model : fitted estimator
    entries : DataFrame
        The result of `CSalt.patterns`, one row per pattern, item and role.
    columns : dict of (entries,) float
        Evidence, gain, p-value, q-value and stability (where assessed) of these rows.
    source : str
        Where the data came from, if that is known.
    density : float
        Share of ones in the data.
    classes : list of ClassSummary
    patterns : list of PatternSummary
    roles : list of str
        The roles of the table: one per class, and "common" last.
    n_rows : int
        Rows of the fit, each as often as it occurs.
    row_classes : (m,) int
        The class number of every row.
    hits : (c, entries) int
        Rows of every class that use the pattern and have the item, for every one of the entries.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [200, 200], rank=3, noise=0.02, random_state=0)
    >>> summary = CSalt(random_state=0).fit(planted.X, planted.y).summary()
    >>> len(summary.patterns), summary.headline[:11]
    (3, '3 patterns:')
    """

    def __init__(self, model: FittedModel) -> None:
        check_is_fitted(model)
        if not isinstance(model, FittedModel):
            given = type(model).__name__
            raise TypeError(f"A report shows a fitted estimator of saltmine such as CSalt, not {given!r}.")
        self.model = model
        self.source = str(model.about_.get("source") or "")
        self.entries = pattern_table(model)
        names = [name for name in _NUMBERS if name in self.entries.columns]
        self.columns: dict[str, Floats] = {name: self.entries[name].to_numpy(np.float64) for name in names}
        self.row_classes = np.searchsorted(model.classes_, model.row_labels_)
        self.n_rows = int(model.class_counts_.sum())
        self.density = float(model.item_counts_.sum() / (self.n_rows * model.n_features_in_))
        self.classes = _classes(model, self.row_classes)
        self.roles: list[str] = role_names(model.classes_).tolist()
        kinds = class_kinds(model)
        rows = table_rows(model.components_, model.alterations_, kinds != "")
        self.hits = model._items.hits_of(rows.pattern, rows.item, rows.owner)
        few_groups, typical = model.of_few_groups_, model.typical_
        self.patterns = [
            _pattern(model, kinds[:, s].tolist(), s, bool(typical[s]), bool(few_groups[s]))
            for s in range(model.n_components_)
        ]
        self._fill_parts(rows)
        alpha = model._level if model._is_tested else None
        words = headline(self.classes, self.patterns, alpha=alpha, can_alter=model._can_alter, group=model.group_name_)
        if not self.patterns and not model.finished_:
            words = "No pattern was found in the time that the search had."
        parts = words, self._near_miss(), self._items_that_differ(), self._counted_groups(), self._cut_short()
        self.headline = " ".join(text for text in parts if text)

    def _fill_parts(self, rows: TableRows) -> None:
        """Give every pattern its parts: rows of the same role and kind, strongest items first."""
        strength = _strength(self.model, self.hits, rows)
        order = np.lexsort((rows.item, -strength, rows.role, rows.adds, rows.pattern))
        keys = np.stack([rows.pattern, rows.adds, rows.role])[:, order]
        begins = np.flatnonzero((np.diff(keys, prepend=-2) != 0).any(axis=0))
        kinds, stability = self.entries["kind"].to_numpy(dtype=object), self.model.stability_
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

    def _near_miss(self) -> str:
        """Return a sentence about the strongest candidate that did not pass, where no pattern did."""
        near = self.model.near_miss_
        if near is None:
            return ""
        named = [self.item_names[item] for item in near.items]
        names = [f"item {name}" if isinstance(name, int) else name for name in named]
        what = f"The strongest candidate, {listed(names)} in {counted(near.rows, 'row')}"
        return f"{what}, may be due to chance (probability up to {near.chance:.2g})."

    def _items_that_differ(self) -> str:
        """Return a sentence with the number of single items that differ between classes."""
        if len(self.classes) < 2:
            return ""
        count = self.confirmed_differences["item"].nunique()
        if not count:
            return "No single item is shown to differ between the classes."
        several = f" ({self.confirmed_text})" if len(self.classes) > 2 else ""
        return f"Single items that differ between the classes: {count:,}{several}."

    def _counted_groups(self) -> str:
        """Return a sentence that tests count groups, where the rows have any."""
        if self.model.groups_ is None:
            return ""
        return f"Tests count {counted(self.n_groups, self.model.group_name_)}, not rows."

    def _cut_short(self) -> str:
        """Return a sentence that the search did not come to its end, where that is so."""
        if self.model.finished_:
            return ""
        return "The time limit made the search shorter: with a longer one there may be more, or other, patterns."

    @property
    def n_groups(self) -> int:
        """Groups of the rows that occur; 0 where there are none."""
        groups, weights = self.model.groups_, self.model.row_weights_
        return 0 if groups is None else len(np.unique(groups if weights is None else groups[weights > 0]))

    @cached_property
    def findings(self) -> list[Finding]:
        """At most ten confirmed claims."""
        return find(self)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per pattern: what it is, its strongest items, and who uses it."""
        columns: dict[str, list[object]] = {
            "pattern": [pattern.number for pattern in self.patterns],
            "kind": [pattern.kind for pattern in self.patterns],
            "classes": [", ".join(self.roles[a] for a, _ in pattern.owners) for pattern in self.patterns],
            "altered_by": [", ".join(self.roles[a] for a in pattern.altered_by) for pattern in self.patterns],
            "items": [pattern.size for pattern in self.patterns],
            "strongest": [self.title(pattern) for pattern in self.patterns],
            "evidence": [pattern.evidence for pattern in self.patterns],
        }
        for a, label in enumerate(self.model.classes_):
            columns[f"usage_{label}"] = [pattern.usage[a] for pattern in self.patterns]
        for a, label in enumerate(self.model.classes_):
            columns[f"share_{label}"] = [pattern.usage[a] / self.model.class_counts_[a] for pattern in self.patterns]
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        """Return headline and findings as lines of text."""
        lines = [f"{number}. {finding.text}" for number, finding in enumerate(self.findings, start=1)]
        return "\n".join([self.headline, *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return headline and findings for a notebook; names come from data, so they are escaped."""
        lines = "".join(f"<li>{escape(finding.text)}</li>" for finding in self.findings)
        return f"<div><p>{escape(self.headline)}</p><ol>{lines}</ol></div>"

    @cached_property
    def told_differences(self) -> pd.DataFrame:
        """Those worth a line: of two items that say the same, as milk=true and milk=false, the more frequent one."""
        table, sizes = self.differences, dict(zip(self.model.classes_.tolist(), self.model.class_counts_, strict=True))
        keys = list(zip(table["class"], table["rows"], table["rows_elsewhere"], strict=True))
        there, told = set(keys), []
        for label, rows, elsewhere in keys:
            size, others = int(sizes[label]), self.n_rows - int(sizes[label])
            is_rarer = rows * others < elsewhere * size
            told.append(not (is_rarer and (label, size - rows, others - elsewhere) in there))
        return table[np.array(told, dtype=bool)]

    @property
    def confirmed_differences(self) -> pd.DataFrame:
        """Those that are shown to differ."""
        return self.differences[self.differences["q_value"] <= MAX_Q]

    @property
    def confirmed_text(self) -> str:
        """How many differences are shown; of three classes or more, an item may have one for every class."""
        count = counted(len(self.confirmed_differences), "difference")
        return f"{count} of one class from all others" if len(self.classes) > 2 else f"{count} between the classes"

    @cached_property
    def _column_numbers(self) -> dict[object, int]:
        names = self.model._item_names
        return {} if names is None else {name: column for column, name in enumerate(names.tolist())}

    def column_of(self, item: object) -> int:
        """Return the column of an item as tables name it."""
        return self._column_numbers.get(item, item)  # type: ignore[arg-type]

    @cached_property
    def facts(self) -> list[str]:
        """Source, rows, columns and share of ones of the data, as short texts."""
        named = self.classes[:MAX_CLASSES_IN_FACTS]
        sizes = ", ".join(f"{entry.rows:,} {class_in_sentence(entry.name)}" for entry in named)
        rest = len(self.classes) - len(named)
        more = f" and {rest} more {plural(rest, 'class')}" if rest else ""
        split = f" ({sizes}{more})" if len(self.classes) > 1 else ""
        shape = [f"{counted(self.n_rows, 'row')}{split}", counted(int(self.model.n_features_in_), "column")]
        of_groups = f"{counted(self.n_groups, self.model.group_name_)}, which tests count" if self.n_groups else ""
        facts = [self.source, *shape, of_groups, f"{percent(self.density)} of the cells are ones"]
        return [fact for fact in facts if fact]

    def title(self, pattern: PatternSummary) -> str:
        """Return the strongest items of a pattern as its title.

        What classes add follows, as "Trier adds: sugar"; an ellipsis stands for further items and classes.
        """
        added = [part for part in pattern.parts if part.kind == ADDED]
        of_classes = [int(item) for part in added for item in part.items[:MAX_ADDED_IN_TITLE]]
        items = dict.fromkeys([*(item for item, _ in pattern.title), *of_classes])
        named: dict[tuple[int, ...], list[str]] = {(): []}
        for item in items:
            roles = tuple(part.role for part in added if item in part.items)
            named.setdefault(roles, []).append(" ".join(str(self.item_names[item]).split()))
        texts = [f"{self._adding(roles)}{', '.join(names)}" for roles, names in named.items() if names]
        is_cut = pattern.size > len(items) or len(texts) > MAX_CLASSES_ADDING + 1
        return "; ".join(texts[: MAX_CLASSES_ADDING + 1]) + (" …" if is_cut else "")

    def _adding(self, roles: Sequence[int]) -> str:
        """Return which classes add the items that follow; nothing if none does."""
        if len(roles) > MAX_CLASSES_ADDING:
            return f"{len(roles)} classes add: "
        names = ", ".join(shorten(self.roles[role], MAX_NAME_IN_SENTENCE) for role in roles)
        return f"{names} {'adds' if len(roles) == 1 else 'add'}: " if roles else ""

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
                f"{self._lead(pattern, parts, brief)}{self.items_text(parts[0], max_items, brief)}",
            )
            for parts in ([own, *others] if own else others)
        ]

    def group_text(self, pattern: PatternSummary) -> str:
        """Return whose a pattern of single groups is, as "one patient: DS12"."""
        noun, named = self.model.group_name_, [shorten(name, MAX_NAME_IN_SENTENCE) for name in pattern.groups]
        many = f"one {noun}" if len(named) == 1 else counted(len(named), noun)
        more = [f"{len(named) - MAX_GROUPS_NAMED} more"] if len(named) > MAX_GROUPS_NAMED else []
        return f"{many}, {listed(named[:MAX_GROUPS_NAMED] + more)}"

    def _lead(self, pattern: PatternSummary, parts: Sequence[Part], brief: bool) -> str:
        """Return what parts with the same items are to their classes."""
        if parts[0].kind == GROUP:
            return f"{self.group_text(pattern)}: "
        if parts[0].role < 0:
            return "typical row: " if parts[0].kind == TYPICAL else ""
        roles = [part.role for part in parts]
        names = [self.roles[role] if brief else class_in_sentence(self.classes[role].name) for role in roles]
        owners = ", ".join(names)
        return f"{owners} adds: " if parts[0].kind == ADDED else f"{parts[0].kind} {owners}: "

    def items_text(self, part: Part, max_items: int, brief: bool = False) -> str:
        """Return the strongest items of a part as text."""
        names = [self.item_names[item] for item in part.items[:max_items].tolist()]
        items = ", ".join(f"item {name}" if isinstance(name, int) and not brief else str(name) for name in names)
        rest = len(part.items) - len(names)
        return f"{items} and {rest:,} more" if rest else items


# ---------------------------------------------------------------------- parts of the summary


def _classes(model: FittedModel, row_classes: Indices) -> list[ClassSummary]:
    weights = np.ones(len(row_classes)) if model.row_weights_ is None else model.row_weights_
    using = model.usage_[:, ~model.typical_].any(axis=1)
    reached = np.bincount(row_classes[using], weights[using], minlength=len(model.classes_))
    labels = [str(label) for label in model.classes_.tolist()]
    # Data without labels have one class, whose number means nothing to a reader.
    names = labels if len(labels) > 1 else ["all rows"]
    return [
        ClassSummary(shorten(name, MAX_NAME), label, int(rows), int(users))
        for name, label, rows, users in zip(names, labels, model.class_counts_, reached, strict=True)
    ]


def _pattern(model: FittedModel, kinds: list[str], s: int, typical: bool, of_few_groups: bool) -> PatternSummary:
    """Return a pattern without its parts; ``kinds`` says what it is to every class."""
    owners = [(a, kind) for a, kind in enumerate(kinds) if kind]
    altered_by = np.flatnonzero(model.alterations_[:, s].any(axis=1)).tolist()
    size = int((model.components_[s] | model.alterations_[:, s].any(axis=0)).sum())
    usage = model.usage_counts_[:, s].tolist()
    evidence, gain = significant(model.pattern_evidence_[s]), significant(model.pattern_gain_[s])
    stability = None if model.stability_ is None else significant(model.stability_.patterns[s])
    groups = list[str]()
    if of_few_groups and not typical and model.groups_ is not None:
        occurs = True if model.row_weights_ is None else model.row_weights_ > 0
        groups = np.unique(model.groups_[model.usage_[:, s] & occurs]).tolist()
    unconfirmed = [a for a in altered_by if not model.alteration_q_values_[a, s] <= model._level]
    figures = altered_by, size, usage, evidence, gain, stability
    user = None if owners or typical or groups else main_user(model, s)
    return PatternSummary(s, typical, owners, *figures, [], groups, unconfirmed, user)


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
