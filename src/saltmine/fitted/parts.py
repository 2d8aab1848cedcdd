"""What a summary consists of: classes, patterns, and the parts that classes have in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from saltmine.arrays import Floats, Indices
from saltmine.fitted.kinds import GROUP, MAIN_USER, SHARED, TYPICAL

# Items in the title of a pattern; with fewer than ENOUGH_ITEMS in the first part, items of the other parts follow.
TITLE_ITEMS, ENOUGH_ITEMS = 5, 3


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
    kind : {"typical", "shared", "mostly", "only", "added", "group"}
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

    @property
    def ranked(self) -> tuple[list[float], list[int]]:
        """Strength and column of every item, strongest first."""
        return self.strength.tolist(), self.items.tolist()


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
    groups : list of str
        Where rows belong to groups and the kind of the pattern is "group", those that use it; else empty.
    unconfirmed : list of int
        The classes of which it is not confirmed that they add items, where the method does not test it.
    main_user : int or None
        Of a shared pattern that all classes carry, the class that uses it if the others hardly do; else None.
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
    groups: list[str] = field(default_factory=list)
    unconfirmed: list[int] = field(default_factory=list)
    main_user: int | None = None

    @property
    def kind(self) -> str:
        """What the pattern is to its classes: "typical", "group", "shared", "mostly" or "only"."""
        if self.typical:
            return TYPICAL
        if self.groups:
            return GROUP
        return self.owners[0][1] if self.owners else SHARED

    @cached_property
    def title(self) -> list[tuple[int, int]]:
        """Column and role of the items that name the pattern: the strongest of each part."""
        first, *others = self.parts
        title = {int(item): first.role for item in first.items[:TITLE_ITEMS]}
        mostly = [part for part in others if self.usage[part.role] >= MAIN_USER * sum(self.usage)]
        if mostly and first.role < 0:
            # What the class that uses it most adds, names it as much as what all share.
            named = [(x, i, part.role) for part in (first, *mostly) for x, i in zip(*part.ranked, strict=True)]
            named.sort(key=lambda entry: -entry[0])
            title = {item: role for _, item, role in named[:TITLE_ITEMS]}
        if len(title) < ENOUGH_ITEMS:
            for rank in range(TITLE_ITEMS):
                for part in others:
                    if rank < len(part.items):
                        title.setdefault(int(part.items[rank]), part.role)
        return list(title.items())[:TITLE_ITEMS]
