"""What a model found, in a few sentences that count confirmed claims only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from saltmine.fitted.kinds import GROUP, MOSTLY, ONLY, TYPICAL
from saltmine.fitted.parts import ClassSummary, PatternSummary
from saltmine.fitted.wording import be, class_in_sentence, percent
from saltmine.nouns import counted, plural

# Evidence in nats of what chance shows with a probability that may be above 0.01.
LITTLE_EVIDENCE = 4.6
# Classes named in a sentence.
MAX_CLASSES_IN_ANSWER = 4


def headline(
    classes: Sequence[ClassSummary],
    patterns: Sequence[PatternSummary],
    *,
    alpha: float | None = None,
    can_alter: bool = True,
    group: str = "group",
) -> str:
    """Return in one to three sentences what a model found.

    Parameters
    ----------
    classes, patterns : lists of ClassSummary and PatternSummary
    alpha : float or None
        The level of the tests that patterns had to pass, if the method tests any.
    can_alter : bool
        Whether the method looks for alterations.
    group : str
        What a group of rows is called.

    Examples
    --------
    >>> shops = [ClassSummary("Mainz", "Mainz", 90, 50), ClassSummary("Trier", "Trier", 80, 70)]
    >>> breakfast = PatternSummary(0, False, [], [1], 4, [50, 40], 30.0, 100.0, None, [])
    >>> dinner = PatternSummary(1, False, [(1, "mostly")], [], 3, [2, 30], 20.0, 60.0, None, [])
    >>> headline(shops, [breakfast, dinner], alpha=0.01)
    '2 patterns: 1 is shared by both classes, 1 is mostly in Trier; Trier adds items to 1 of them.'
    """
    typical = [pattern for pattern in patterns if pattern.typical]
    of_groups = [pattern for pattern in patterns if pattern.kind == GROUP]
    others = [pattern for pattern in patterns if pattern.kind not in (TYPICAL, GROUP)]
    if others or not typical:
        found = _found(classes, others, alpha, can_alter, group if of_groups else None)
    else:
        of_all = f" of several {plural(2, group)}" if of_groups else ""
        found = f"No pattern{of_all} was found beside the typical {plural(len(typical), 'row')}."
    sentences = [found, _patterns_of_groups(of_groups, group), _typical_row(classes, typical)]
    return " ".join(sentence for sentence in sentences if sentence)


def _patterns_of_groups(patterns: Sequence[PatternSummary], noun: str) -> str:
    """Return a sentence about patterns of one group, or not significant when groups are counted, if there are any."""
    if not patterns:
        return ""
    many, verb, is_one = counted(len(patterns), "pattern"), be(len(patterns)), len(patterns) == 1
    most = max(len(pattern.groups) for pattern in patterns)
    if most == 1:
        return f"{many} {verb} of one {noun}{'' if is_one else ' each'}, which says nothing about others."
    whose = f"of {counted(most, noun)}" if is_one else f"each of at most {counted(most, noun)}"
    return f"{many}, {whose}, {verb} not significant when {plural(2, noun)} are counted."


def _typical_row(classes: Sequence[ClassSummary], typical: Sequence[PatternSummary]) -> str:
    """Return a sentence about what most rows have, and who adds to it; empty if there is no typical row."""
    if not typical:
        return ""
    sizes = [counted(pattern.size, "item") if pattern is typical[0] else str(pattern.size) for pattern in typical]
    rows = sum(entry.rows for entry in classes)
    shares = [percent(sum(pattern.usage) / rows) for pattern in typical]
    what = "The typical row has" if len(typical) == 1 else f"{len(typical)} typical rows have"
    adding = len({a for pattern in typical for a in pattern.altered_by if a not in pattern.unconfirmed})
    whom = "it" if len(typical) == 1 else "them"
    more = f"; {counted(adding, 'class')} {'adds' if adding == 1 else 'add'} items to {whom}" if adding else ""
    having = " and ".join(f"{size} ({share} of the rows)" for size, share in zip(sizes, shares, strict=True))
    return f"{what} {having}{more}."


def _found(
    classes: Sequence[ClassSummary],
    patterns: Sequence[PatternSummary],
    alpha: float | None,
    can_alter: bool,
    beside_groups: str | None,
) -> str:
    """Return what patterns there are beside the typical row and those of single groups."""
    if not patterns:
        of_all = f"of several {plural(2, beside_groups)} " if beside_groups else ""
        return "No pattern was found." if alpha is None else f"No pattern {of_all}passed the test at alpha = {alpha:g}."
    total, tested = counted(len(patterns), "pattern"), alpha is not None
    weak = "" if tested else _weak_patterns(patterns)
    if len(classes) == 1:
        using = percent(classes[0].reached / classes[0].rows)
        beyond = " of items that occur together more often than chance explains" if tested else ""
        return f"{total}{beyond}; {using} of the rows use some.{weak}"
    parts = ", ".join(_shared_patterns(classes, patterns) + _patterns_of_classes(classes, patterns))
    return f"{total}: {parts}{_additions(classes, patterns) if can_alter else ''}.{weak}"


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
    return [f"{len(shared)} {be(len(shared))} shared{by}"]


def _patterns_of_classes(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> list[str]:
    """Return the numbers of patterns that belong to classes as text; the classes by name if they are few."""
    single = Counter(pattern.owners[0] for pattern in patterns if len(pattern.owners) == 1)
    several = sum(len(pattern.owners) > 1 for pattern in patterns)
    ranked = sorted(single, key=lambda owner: (-single[owner], owner))
    counts = [(single[owner], f"{owner[1]} in {class_in_sentence(classes[owner[0]].name)}") for owner in ranked]
    if len(ranked) > MAX_CLASSES_IN_ANSWER:
        kinds = " or ".join(kind for kind in (MOSTLY, ONLY) if any(kind == owner[1] for owner in ranked))
        counts = [(sum(single.values()), f"{kinds} in one class each")]
    if several:
        counts.append((several, f"{MOSTLY} in some of the {len(classes)} classes"))
    return [f"{count} {be(count)} {what}" for count, what in counts]


def _additions(classes: Sequence[ClassSummary], patterns: Sequence[PatternSummary]) -> str:
    """Return as text to how many patterns classes add items, and which classes."""
    by_class = Counter(a for pattern in patterns for a in pattern.altered_by if a not in pattern.unconfirmed)
    if not by_class:
        return "; no class adds items to them" if len(patterns) > 1 else "; no class adds items to it"
    if len(by_class) > MAX_CLASSES_IN_ANSWER:
        altered = sum(bool(set(pattern.altered_by) - set(pattern.unconfirmed)) for pattern in patterns)
        return f"; {len(by_class)} classes add items to {altered} of them"
    counts = [(class_in_sentence(classes[a].name), by_class[a]) for a in sorted(by_class)]
    if len(patterns) == 1:
        names = [name for name, _ in counts]
        return f"; {' and '.join(names)} {'adds' if len(names) == 1 else 'add'} items to it"
    (first, count), *others = counts
    return "".join([f"; {first} adds items to {count} of them", *(f", {name} to {n}" for name, n in others)])
