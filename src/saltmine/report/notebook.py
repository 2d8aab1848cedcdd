"""How models and tables show themselves in a notebook. Names come from data: all of them are escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from saltmine.io.table import Table

SHOWN = 10
_STYLE = "text-align:left;vertical-align:top"


def model_html(model: Any) -> str:
    """Return what a fitted model found: one sentence and its largest patterns."""
    from saltmine.report.payload import payload

    page = payload(model)
    names, classes = page["items"]["names"], page["classes"]
    head = ["#", "items", *(entry["name"] for entry in classes)]
    body = []
    for pattern in page["patterns"][:SHOWN]:
        parts = []
        for part in pattern["parts"]:
            colour = page["colour"] if part["role"] < 0 else classes[part["role"]]["colour"]
            lead = "" if part["role"] < 0 else f"{classes[part['role']]['name']}: "
            items = ", ".join(str(names[k]) for k in part["items"][:6]) + (" ..." if part["size"] > 6 else "")
            parts.append(f'<span style="border-left:4px solid {colour};padding-left:4px">{escape(lead + items)}</span>')
        cells = [str(pattern["number"]), "<br>".join(parts), *(f"{count:,}" for count in pattern["usage"])]
        body.append("".join(f'<td style="{_STYLE}">{cell}</td>' for cell in cells))
    more = len(page["patterns"]) - SHOWN
    rest = f"<p>{more} more patterns: model.patterns(), model.report('report.html').</p>" if more > 0 else ""
    lead = f"<b>{escape(type(model).__name__)}</b>: {escape(page['answer'])}"
    if not page["patterns"]:
        return f"<div><p>{lead}</p></div>"
    return f"<div><p>{lead}</p>{_grid(head, body)}{rest}</div>"


def table_html(table: Table) -> str:
    """Return what was read: size, classes and the first items."""
    rows, columns = table.shape
    facts = [f"{rows:,} rows", f"{columns:,} {escape(table.kind)}"]
    if table.y is not None:
        labels, counts = np.unique(table.y.astype(str), return_counts=True)
        facts.append(
            "classes "
            + ", ".join(f"{escape(str(label))} ({count:,})" for label, count in zip(labels, counts, strict=True))
        )
    if table.item_names is not None:
        shown = ", ".join(escape(str(name)) for name in table.item_names[:SHOWN])
        facts.append(shown + (", ..." if columns > SHOWN else ""))
    return f"<div><b>Table</b>: {'; '.join(facts)}</div>"


def _grid(head: list[str], body: list[str]) -> str:
    heads = "".join(f'<th style="{_STYLE}">{escape(str(cell))}</th>' for cell in head)
    lines = "".join(f"<tr>{line}</tr>" for line in body)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
