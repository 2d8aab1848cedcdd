"""The summary of a fitted model, from which terminal, notebook, report and JSON are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils.validation import check_is_fitted

from saltmine.arrays import Floats, Indices, Ints
from saltmine.data.item_counts import entries
from saltmine.fitted.model import FittedModel, specific_class
from saltmine.fitted.pattern_table import ADDED, ONLY, SHARED, pattern_table, role_names

ALTERED = "altered"
_NUMBERS = ("evidence", "gain", "p_value", "q_value", "stability")
# Largest q-value with which a claim counts as confirmed.
CONFIRMED = 0.05
# Evidence in nats of what chance shows with a probability that may be above 0.01.
LITTLE_EVIDENCE = 4.6
# Characters of an item or class name, and of a class name in a sentence.
MAX_NAME, MAX_NAME_IN_SENTENCE = 500, 40
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
    kind : {"shared", "added", "only"}
    items, entries : (k,) int
        Columns of the items, and their rows in the pattern table.
    evidence, gain, stability : float or None
        Of the alteration, or of the whole pattern.
    unconfirmed : int
        Items whose q-value is too large.
    """

    role: int
    kind: str
    items: Indices
    entries: Indices
    evidence: float | None
    gain: float | None
    stability: float | None
    unconfirmed: int


@dataclass(frozen=True)
class PatternSummary:
    """A pattern: its kind ("shared", "altered" or "only"), the class that alone uses it or -1, and its parts."""

    number: int
    kind: str
    specific_class: int
    size: int
    usage: list[int]
    evidence: float | None
    gain: float | None
    stability: float | None
    parts: list[Part]

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
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
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
        pattern, item, owner = entries(model.components_, model.alterations_)
        self.hits = model._items.hits_of(pattern, item, owner)[0]
        self.patterns = [_pattern(model, s) for s in range(model.n_components_)]
        self._fill_parts(pattern, item, owner)
        self.answer = answer(self.classes, self.patterns, model._is_tested, model._can_alter)

    def _fill_parts(self, pattern: Indices, item: Indices, owner: Indices) -> None:
        """Give every pattern its parts: entries of the same role and kind, strongest first."""
        stability = self.model.stability_
        role = np.where(owner < 0, specific_class(self.model.usage_counts_)[pattern], owner)
        kind = self.table["kind"].to_numpy(dtype=object).astype(str)
        order = np.lexsort((item, -_strength(self.model, self.hits, pattern, item, role), kind, role, pattern))
        keys = np.stack([pattern, role, np.unique(kind, return_inverse=True)[1]])[:, order]
        begins = np.flatnonzero((np.diff(keys, prepend=-2) != 0).any(axis=0))
        for rows in np.split(order, begins[1:]) if len(order) else []:
            s, a = int(pattern[rows[0]]), int(role[rows[0]])
            evidence, gain = (significant(self.columns[name][rows[0]]) for name in ("evidence", "gain"))
            back = None if stability is None or a < 0 else significant(stability.alterations[a, s])
            unconfirmed = int((self.columns["q_value"][rows] > CONFIRMED).sum())
            part = Part(a, str(kind[rows[0]]), item[rows], rows, evidence, gain, back, unconfirmed)
            self.patterns[s].parts.append(part)

    @cached_property
    def item_names(self) -> list[str | int]:
        """Name of every column, or its number where the data had no names."""
        names = self.model._item_names
        if names is None:
            return list(range(int(self.model.n_features_in_)))
        return [name if isinstance(name, int) else shorten(str(name), MAX_NAME) for name in names.tolist()]

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

    def describe(self, part: Part, max_items: int, brief: bool = False) -> str:
        """Return a part of a pattern as text: the class that it belongs to, and its strongest items.

        The brief form is for tables: it names classes and items without further words, and marks claims about a class
        that no item confirms.
        """
        names = [self.item_names[item] for item in part.items[:max_items].tolist()]
        items = ", ".join(f"item {name}" if isinstance(name, int) and not brief else str(name) for name in names)
        rest = len(part.items) - len(names)
        text = f"{items} and {rest:,} more" if rest else items
        if part.role < 0:
            return text
        owner = self.roles[part.role] if brief else class_in_sentence(self.classes[part.role].name)
        lead = f"{owner} adds" if part.kind == ADDED else f"only {owner}" if brief else f"only in {owner}"
        mark = " (not confirmed)" if brief and part.unconfirmed == len(part.items) else ""
        return f"{lead}{mark}: {text}"


# ---------------------------------------------------------------------- parts of the summary


def _classes(model: FittedModel, row_classes: Indices) -> list[ClassSummary]:
    reached = np.bincount(row_classes[model.usage_.any(axis=1)], minlength=len(model.classes_))
    labels = [str(label) for label in model.classes_.tolist()]
    # Data without labels have one class, whose number means nothing to a reader.
    names = labels if len(labels) > 1 else ["all rows"]
    return [
        ClassSummary(shorten(name, MAX_NAME), label, int(rows), int(using))
        for name, label, rows, using in zip(names, labels, model.class_counts_, reached, strict=True)
    ]


def _pattern(model: FittedModel, s: int) -> PatternSummary:
    """Return a pattern without its parts."""
    specific = int(specific_class(model.usage_counts_[:, s : s + 1])[0])
    kind = ONLY if specific >= 0 else ALTERED if model.alterations_[:, s].any() else SHARED
    size = int((model.components_[s] | model.alterations_[:, s].any(axis=0)).sum())
    evidence, gain = significant(model.pattern_evidence_[s]), significant(model.pattern_gain_[s])
    stability = None if model.stability_ is None else significant(model.stability_.patterns[s])
    return PatternSummary(s, kind, specific, size, model.usage_counts_[:, s].tolist(), evidence, gain, stability, [])


def _strength(model: FittedModel, hits: Ints, pattern: Indices, item: Indices, role: Indices) -> Floats:
    """Return how typical each item is of its pattern: hits times the logarithm of the lift.

    An item that all rows have has strength 0. Items of one class are counted in that class only.
    """
    strength = np.zeros(len(pattern))
    for a, size in enumerate(model.class_counts_):
        used, count = model.usage_counts_[a, pattern], model.item_counts_[a, item]
        here = ((role < 0) | (role == a)) & (hits[a] > 0)
        strength[here] += hits[a, here] * np.log(hits[a, here] / used[here] * size / count[here])
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
    >>> breakfast = PatternSummary(0, "shared", -1, 4, [50, 40], 30.0, 100.0, None, [])
    >>> dinner = PatternSummary(1, "only", 1, 3, [0, 30], 20.0, 60.0, None, [])
    >>> answer(shops, [breakfast, dinner])
    '2 patterns: 1 is shared by both classes, 1 belongs to Trier only; no class alters what is shared.'
    """
    if not patterns:
        chance = ": nothing in these data occurs together more often than chance explains" if tested else " was found"
        return f"No pattern{chance}."
    total = _count(len(patterns), "pattern")
    weak = "" if tested else _weak_patterns(patterns)
    if len(classes) == 1:
        using = percent(classes[0].reached / classes[0].rows)
        beyond = " of items that occur together more often than chance explains" if tested else ""
        return f"{total}{beyond}; {using} of the rows use some.{weak}"
    n_using = [sum(count > 0 for count in pattern.usage) for pattern in patterns]
    by_all = sum(n == len(classes) for n in n_using)
    by_some = sum(1 < n < len(classes) for n in n_using)
    everybody = "both classes" if len(classes) == 2 else f"all {len(classes)} classes"
    parts = [f"{by_all} {_is(by_all)} shared by {everybody}"] if by_all else []
    if by_some:
        parts.append(f"{by_some} {_is(by_some)} shared by some of the {len(classes)} classes")
    parts += _specific_patterns(classes, patterns)
    altered = _altered_patterns(classes, patterns, by_all + by_some) if can_alter else ""
    return f"{total}: {', '.join(parts)}{altered}.{_unconfirmed_patterns(patterns)}{weak}"


def _weak_patterns(patterns: Sequence[PatternSummary]) -> str:
    """Return a sentence with the number of patterns that may be due to chance; empty if there are none."""
    weak = sum(pattern.evidence is not None and pattern.evidence < LITTLE_EVIDENCE for pattern in patterns)
    if not weak:
        return ""
    which = f"{weak} of these patterns" if len(patterns) > 1 else "this pattern"
    return f" Chance may explain {which} (evidence below {LITTLE_EVIDENCE} nats)."


def _unconfirmed_patterns(patterns: Sequence[PatternSummary]) -> str:
    """Return a sentence with the number of patterns of one class that are not confirmed; empty if there are none."""
    own = [pattern for pattern in patterns if pattern.kind == ONLY]
    unconfirmed = sum(any(part.unconfirmed for part in pattern.parts) for pattern in own)
    if not unconfirmed:
        return ""
    which = f"{unconfirmed} of the {len(own)} patterns of one class" if len(own) > 1 else "the pattern of one class"
    return f" Not confirmed by Fisher's test (q above {CONFIRMED}): {which}."


def _specific_patterns(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> list[str]:
    """Return the numbers of patterns of one class as text; only the classes with most of them by name."""
    own = [sum(pattern.specific_class == a for pattern in patterns) for a in range(len(classes))]
    ranked = sorted((a for a in range(len(classes)) if own[a]), key=lambda a: -own[a])
    named, rest = ranked[:MAX_CLASSES_IN_ANSWER], ranked[MAX_CLASSES_IN_ANSWER:]
    counts = [(own[a], class_in_sentence(classes[a].name)) for a in named]
    if rest:
        counts.append((sum(own[a] for a in rest), f"one of {_count(len(rest), 'other class')}"))
    return [f"{count} {'belongs' if count == 1 else 'belong'} to {owner} only" for count, owner in counts]


def _altered_patterns(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary], n_shared: int) -> str:
    """Return as text how many of the shared patterns are altered, and by which classes."""
    altered = [pattern for pattern in patterns if pattern.kind == ALTERED]
    if not n_shared:
        return ""
    if not altered:
        return "; no class alters what is shared"
    by_class = [sum(any(part.role == a for part in pattern.parts) for pattern in altered) for a in range(len(classes))]
    named = [f"{n} by {class_in_sentence(entry.name)}" for n, entry in zip(by_class, classes, strict=True) if n]
    who = f" ({', '.join(named)})" if len(named) <= MAX_CLASSES_IN_ANSWER else f" by {len(named)} classes"
    if len(altered) == n_shared:
        return f"; {'the shared one is' if n_shared == 1 else 'all shared ones are'} altered{who}"
    return f"; {len(altered)} of the shared ones {_is(len(altered))} altered{who}"


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
