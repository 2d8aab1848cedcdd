"""What ``saltmine fit`` writes and prints."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import saltmine
from saltmine.cli.data import row_names_of
from saltmine.cli.output import FILES, MODEL, PATTERNS, REPORT, SUMMARY, USAGE
from saltmine.fitted.pattern_table import role_names
from saltmine.io import Table
from saltmine.report import write_report
from saltmine.report.payload import payload

# Patterns shown in the terminal, and items of each of their parts; in the summary there are more, in the tables all.
SHOWN, SAID, STRONGEST = 12, 5, 10
# Classes that have a column in the terminal.
COLUMNS = 6


def summary_of(model: Any, seconds: float) -> dict[str, Any]:
    """Return the facts of a fit in plain values, for people and scripts."""
    page = payload(model)
    names = page["items"]["names"]
    classes = [entry["label"] for entry in page["classes"]]
    roles = role_names(model.classes_).tolist()
    patterns = [
        {
            "pattern": pattern["number"],
            "kind": pattern["kind"],
            "items": pattern["size"],
            "usage": dict(zip(classes, pattern["usage"], strict=True)),
            "gain": pattern["gain"],
            "evidence": pattern["evidence"],
            "stability": pattern["stability"],
            "parts": [
                {
                    "role": roles[part["role"]],
                    "kind": part["kind"],
                    "items": part["size"],
                    "not_confirmed": part["doubted"],
                    "strongest": [str(names[k]) for k in part["items"][:STRONGEST]],
                }
                for part in pattern["parts"]
            ],
        }
        for pattern in page["patterns"]
    ]
    return {
        "source": page["source"],
        "answer": page["answer"],
        "method": type(model).__name__,
        "version": saltmine.__version__,
        "rows": page["shape"][0],
        "columns": page["shape"][1],
        "classes": {entry["label"]: entry["rows"] for entry in page["classes"]},
        "n_patterns": len(patterns),
        "description_length": page["description"]["with"],
        "null_description_length": page["description"]["without"],
        "seconds": round(seconds, 2),
        "parameters": {name: value for name, value in model.get_params().items() if name != "callback"},
        "files": list(FILES),
        "patterns": patterns,
    }


def write_results(model: Any, table: Table, summary: dict[str, Any], folder: Path) -> None:
    """Write all files of a fit."""
    model.save(folder / MODEL)
    model.patterns().to_csv(folder / PATTERNS, index=False)
    usage_table(model.usage_, table, model.row_labels_ if table.y is not None else None).to_csv(
        folder / USAGE, index=False
    )
    (folder / SUMMARY).write_text(as_json(summary), encoding="utf-8")
    write_report(model, folder / REPORT)


def as_json(facts: Any) -> str:
    """Write plain values as JSON; what is no number becomes null."""
    return json.dumps(_finite(facts), indent=1, allow_nan=False)


def _finite(facts: Any) -> Any:
    if isinstance(facts, dict):
        return {key: _finite(value) for key, value in facts.items()}
    if isinstance(facts, list):
        return [_finite(value) for value in facts]
    return None if isinstance(facts, float) and not math.isfinite(facts) else facts


def usage_table(usage: np.ndarray[Any, Any], table: Table, labels: Any = None) -> pd.DataFrame:
    """Return which row uses which pattern, with names and classes where they are known."""
    columns: dict[str, Any] = {"row": row_names_of(table)}
    if labels is not None:
        columns["class"] = labels
    if table.groups is not None:
        columns["group"] = table.groups
    patterns = {f"pattern_{s}": usage[:, s].astype(np.int8) for s in range(usage.shape[1])}
    return pd.DataFrame(columns | patterns)


def print_summary(model: Any, summary: dict[str, Any], folder: Path) -> None:
    """Print what was found: one sentence, the largest patterns, and where the rest is."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    # A terminal has its own width; the text goes through click, which knows about closed pipes.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 120
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False)
    console.print(Text(summary["answer"]))
    length, without = summary["description_length"], summary["null_description_length"]
    if summary["n_patterns"]:
        saved = 1 - length / without
        console.print(Text(f"Described in {length:,.0f} nats, {saved:.1%} less than without patterns.\n"))
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        grid.add_column("#", justify="right")
        grid.add_column("items", ratio=1)
        labels = list(summary["classes"])
        for label in labels[:COLUMNS]:
            grid.add_column(Text(str(label) if len(labels) > 1 else "rows"), justify="right")
        stability = model.stability_ is not None
        if stability:
            grid.add_column("came back", justify="right")
        for pattern in summary["patterns"][:SHOWN]:
            used = [f"{pattern['usage'][label]:,}" for label in labels[:COLUMNS]]
            back = [f"{pattern['stability']:.0%}"] if stability else []
            grid.add_row(str(pattern["pattern"]), _described(pattern), *used, *back)
        console.print(grid)
        left = [(summary["n_patterns"] - SHOWN, "more patterns"), (len(labels) - COLUMNS, "more classes")]
        more = [f"{count} {what}" for count, what in left if count > 0]
        if more:
            console.print(Text(f"... and {', '.join(more)}."))
    console.print(Text(f"Results in {folder}: open {folder / REPORT}"))
    click.echo(text.getvalue(), nl=False)


def _described(pattern: dict[str, Any]) -> Any:
    """Say in one line what a pattern consists of."""
    from rich.text import Text

    parts = []
    for part in pattern["parts"]:
        items = ", ".join(part["strongest"][:SAID])
        more = f" and {part['items'] - SAID} more" if part["items"] > SAID else ""
        doubt = " (not confirmed)" if part["not_confirmed"] == part["items"] else ""
        lead = {"shared": "", "added": f"{part['role']} adds{doubt}: ", "only": f"only {part['role']}{doubt}: "}
        parts.append(f"{lead[part['kind']]}{items}{more}")
    return Text("; ".join(parts))
