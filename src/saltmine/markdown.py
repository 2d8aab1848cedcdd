"""Tables for pages of markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a table whose columns also stand one below the other where markdown is read as it is.

    Examples
    --------
    >>> print(markdown_table(["method", "F"], [["C-Salt", "0.999"], ["Primp", "0.9"]]))
    | method | F     |
    |--------|-------|
    | C-Salt | 0.999 |
    | Primp  | 0.9   |
    """
    cells = [list(headings), *(list(line) for line in lines)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(headings))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    return "\n".join([rows[0], rule, *rows[1:]])
