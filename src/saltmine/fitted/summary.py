"""The answer in words."""

from __future__ import annotations

from typing import Any

# Classes named in the answer; patterns, and items of each, in the outline.
_NAMED, _OUTLINED, _ITEMS = 4, 20, 8
# What chance shows with a probability that may be above 0.01.
LITTLE_EVIDENCE = 4.6
# Letters of a class name in a sentence.
_LONGEST_NAME = 40


def answer(
    classes: list[dict[str, Any]], patterns: list[dict[str, Any]], tested: bool = True, can_alter: bool = True
) -> str:
    """Say in one sentence what the model found.

    Parameters
    ----------
    classes, patterns : lists of dicts
        As `saltmine.report.payload.payload` makes them.
    tested : bool
        Whether the method keeps out what chance explains.
    can_alter : bool
        Whether it looks for alterations.

    Examples
    --------
    >>> shops = [{"name": "Mainz"}, {"name": "Trier"}]
    >>> breakfast = {"kind": "altered", "usage": [50, 40], "parts": [{"role": -1}, {"role": 1}]}
    >>> answer(shops, [breakfast, {"kind": "only", "usage": [0, 30]}])
    '2 patterns: 1 is shared by both classes, 1 belongs to Trier only; the shared one is altered (1 by Trier).'
    """
    if not patterns and not tested:
        return "No pattern was found."
    if not patterns:
        return "No pattern: nothing in these data occurs together more often than chance explains."
    total = _count(len(patterns), "pattern")
    if len(classes) == 1:
        using = percent(classes[0]["reached"] / classes[0]["rows"])
        beyond = " of items that occur together more often than chance explains" if tested else ""
        return f"{total}{beyond}; {using} of the rows use some.{'' if tested else _chance(patterns)}"
    n_using = [sum(count > 0 for count in pattern["usage"]) for pattern in patterns]
    by_all = sum(n == len(classes) for n in n_using)
    by_some = sum(1 < n < len(classes) for n in n_using)
    everybody = "both classes" if len(classes) == 2 else f"all {len(classes)} classes"
    parts = [f"{by_all} {_is(by_all)} shared by {everybody}"] if by_all else []
    if by_some:
        parts.append(f"{by_some} {_is(by_some)} shared by some of the {len(classes)} classes")
    parts += _owners(classes, patterns)
    altered = _alterations(classes, patterns, by_all + by_some) if can_alter else ""
    return f"{total}: {', '.join(parts)}{altered}.{_doubts(patterns)}{'' if tested else _chance(patterns)}"


def _chance(patterns: list[dict[str, Any]]) -> str:
    """Say how many patterns of a method that does not test them chance may explain."""
    weak = sum(pattern["evidence"] is not None and pattern["evidence"] < LITTLE_EVIDENCE for pattern in patterns)
    if not weak:
        return ""
    which = f"{weak} of these patterns" if len(patterns) > 1 else "this pattern"
    return f" Chance may explain {which} (evidence below {LITTLE_EVIDENCE} nats)."


def _doubts(patterns: list[dict[str, Any]]) -> str:
    """Say how many patterns of one class other classes have about as often."""
    own = [pattern for pattern in patterns if pattern["kind"] == "only"]
    doubted = sum(any(part.get("doubted") for part in pattern.get("parts", [])) for pattern in own)
    if not doubted:
        return ""
    which = f"{doubted} of the {len(own)} patterns of one class" if len(own) > 1 else "the pattern of one class"
    return f" Not confirmed by Fisher's test (q above 0.05): {which}."


def _owners(classes: list[dict[str, Any]], patterns: list[dict[str, Any]]) -> list[str]:
    own = [0] * len(classes)
    for pattern in patterns:
        if pattern["kind"] == "only":
            own[max(range(len(classes)), key=pattern["usage"].__getitem__)] += 1
    ranked = sorted((k for k in range(len(classes)) if own[k]), key=lambda k: -own[k])
    parts = [
        f"{own[k]} {'belongs' if own[k] == 1 else 'belong'} to {spoken(classes[k]['name'])} only"
        for k in ranked[:_NAMED]
    ]
    rest = ranked[_NAMED:]
    if rest:
        count = sum(own[k] for k in rest)
        parts.append(
            f"{count} {'belongs' if count == 1 else 'belong'} to one of {_count(len(rest), 'other class')} only"
        )
    return parts


def _alterations(classes: list[dict[str, Any]], patterns: list[dict[str, Any]], shared: int) -> str:
    altered = [pattern for pattern in patterns if pattern["kind"] == "altered"]
    if not shared:
        return ""
    if not altered:
        return "; no class alters what is shared"
    by_class = [
        sum(k in {part["role"] for part in pattern["parts"]} for pattern in altered) for k in range(len(classes))
    ]
    named = [f"{count} by {spoken(entry['name'])}" for count, entry in zip(by_class, classes, strict=True) if count]
    who = f" ({', '.join(named)})" if len(named) <= _NAMED else f" by {len(named)} classes"
    if len(altered) == shared:
        return f"; {'the shared one is' if shared == 1 else 'all shared ones are'} altered{who}"
    return f"; {len(altered)} of the shared ones {_is(len(altered))} altered{who}"


def outline(data: dict[str, Any]) -> list[str]:
    """Describe the first patterns in a line each, for readers without scripts."""
    classes, names = data["classes"], data["items"]["names"]
    lines = []
    for pattern in data["patterns"][:_OUTLINED]:
        users = zip(pattern["usage"], classes, strict=True)
        used = ", ".join(f"{count:,} of {entry['rows']:,} {spoken(entry['name'])}" for count, entry in users if count)
        parts = "; ".join(f"{_role(part, classes)}{_items(part, names)}" for part in pattern["parts"])
        lines.append(f"Pattern {pattern['number']} ({used}): {parts}")
    left = len(data["patterns"]) - len(lines)
    return [*lines, f"and {_count(left, 'more pattern')}"] if left else lines


def _role(part: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    if part["role"] < 0:
        return ""
    name = spoken(classes[part["role"]]["name"])
    return f"only in {name}: " if part["kind"] == "only" else f"{name} adds: "


def _items(part: dict[str, Any], names: list[Any]) -> str:
    shown = [f"item {names[k]}" if isinstance(names[k], int) else names[k] for k in part["items"][:_ITEMS]]
    left = part["size"] - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def facts(data: dict[str, Any]) -> list[str]:
    """Say what was analysed, in a few words each."""
    rows, columns = data["shape"]
    sizes = ", ".join(f"{entry['rows']:,} {spoken(entry['name'])}" for entry in data["classes"][:8])
    more = len(data["classes"]) - 8
    split = f" ({sizes}{f' and {more} more classes' if more > 0 else ''})" if len(data["classes"]) > 1 else ""
    source = [data["source"]] if data["source"] else []
    return [
        *source,
        f"{_count(rows, 'row')}{split}",
        _count(columns, "column"),
        f"{percent(data['density'])} of the cells are ones",
    ]


def spoken(name: str) -> str:
    """Return a class name as part of a sentence: numbers need the word "class" before them.

    Examples
    --------
    >>> spoken("Mainz"), spoken("3")
    ('Mainz', 'class 3')
    """
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return f"class {short}" if name[:1].isdigit() or len(name) == 1 else short


def percent(share: float) -> str:
    """Write a share with two digits that count.

    Examples
    --------
    >>> percent(0.3141), percent(0.03141), percent(0.0003), percent(0), percent(1)
    ('31 %', '3.1 %', '0.03 %', '0 %', '100 %')
    """
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _count(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}es" if noun.endswith("s") else f"{count:,} {noun}s"
