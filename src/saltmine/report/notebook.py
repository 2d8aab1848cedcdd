"""Models in a notebook. Names come from data, so all of them are escaped."""

from __future__ import annotations

from html import escape

from saltmine.colours import SHARED, class_colours
from saltmine.fitted.model import FittedModel
from saltmine.fitted.summary import Summary

# Patterns, and items of each of their parts.
SHOWN, ITEMS = 10, 6


def model_html(model: FittedModel) -> str:
    """Return what a fitted model found as HTML: the answer and the largest patterns."""
    summary = Summary(model)
    # Role -1, what is shared, is last.
    colours = [*class_colours(len(summary.classes)), SHARED]
    lead = f"<p><b>{escape(type(model).__name__)}</b>: {escape(summary.answer)}</p>"
    if not summary.patterns:
        return f"<div>{lead}</div>"
    head = "".join(_cell("th", escape(name)) for name in ("#", "items", *(entry.name for entry in summary.classes)))
    body = ""
    for pattern in summary.patterns[:SHOWN]:
        parts = [
            f'<span style="border-left:4px solid {colours[part.role]};padding-left:4px">'
            f"{escape(summary.describe(part, ITEMS))}</span>"
            for part in pattern.parts
        ]
        cells = [str(pattern.number), "<br>".join(parts), *(f"{count:,}" for count in pattern.usage)]
        body += f"<tr>{''.join(_cell('td', cell) for cell in cells)}</tr>"
    more = len(summary.patterns) - SHOWN
    rest = f"<p>{more} more patterns: model.patterns(), model.report('report.html').</p>" if more > 0 else ""
    return f"<div>{lead}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cell(tag: str, html: str) -> str:
    return f'<{tag} style="text-align:left;vertical-align:top">{html}</{tag}>'
