"""What ``saltmine fit`` leaves: the files of a folder, and the summary in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid
from rich.text import Text

from saltmine.cli.apply import usage_table
from saltmine.cli.output import as_json, print_rich, simple_grid, terminal_width
from saltmine.fitted.differences import MAX_Q
from saltmine.fitted.kinds import GROUP, TYPICAL
from saltmine.fitted.parts import PatternSummary
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import percent, probability
from saltmine.io import Table
from saltmine.names import shorten, shorten_message
from saltmine.nouns import plural
from saltmine.report import write_report
from saltmine.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MODEL, PATTERNS, DIFFERENCES, USAGE = "model.salt", "patterns.csv", "differences.csv", "usage.csv"
SUMMARY, REPORT = "summary.json", "report.html"
FILES = (MODEL, PATTERNS, DIFFERENCES, USAGE, SUMMARY, REPORT)
# Items of a part in the summary; patterns in the terminal, and items of a part there.
SUMMARY_ITEMS, SHOWN_PATTERNS, SHOWN_ITEMS = 10, 12, 5
# Single items that differ between classes: in the summary, and in the terminal.
SUMMARY_DIFFERENCES, SHOWN_DIFFERENCES = 50, 5
# With more classes than this, or names that take more of the width, one column names the classes that use a pattern.
MAX_COLUMNS, MAX_SHARE_OF_WIDTH, NAMED_CLASSES = 4, 0.4, 2


def plain_values(summary: Summary, seconds: float) -> dict[str, Any]:
    """Return the content of summary.json."""
    model = summary.model
    findings = [
        {
            "text": finding.text,
            "kind": finding.kind,
            "pattern": finding.pattern,
            "class": finding.class_name,
            "q_value": finding.q_value,
        }
        for finding in summary.findings
    ]
    return {
        "source": summary.source,
        "headline": summary.headline,
        "findings": findings,
        "method": type(model).__name__,
        "version": __version__,
        "rows": summary.n_rows,
        "columns": int(model.n_features_in_),
        "classes": {entry.label: entry.rows for entry in summary.classes},
        "groups": {model.group_name_: summary.n_groups} if summary.n_groups else None,
        "n_patterns": sum(pattern.kind not in (TYPICAL, GROUP) for pattern in summary.patterns),
        "description_length": float(model.description_length_),
        "null_description_length": float(model.null_description_length_),
        "seconds": round(seconds, 2),
        "finished": bool(model.finished_),
        "parameters": {name: value for name, value in model.get_params().items() if name != "callback"},
        "files": list(FILES),
        "patterns": [_plain_pattern(summary, pattern) for pattern in summary.patterns],
        "differences": summary.differences.head(SUMMARY_DIFFERENCES).to_dict("records"),
    }


def _plain_pattern(summary: Summary, pattern: PatternSummary) -> dict[str, Any]:
    model, labels = summary.model, [entry.label for entry in summary.classes]
    counts = {"all_items": model.all_counts_, "most_items": model.most_counts_}
    return {
        "pattern": pattern.number,
        "kind": pattern.kind,
        "groups": pattern.groups,
        "classes": {labels[a]: kind for a, kind in pattern.owners},
        "altered_by": [labels[a] for a in pattern.altered_by],
        "items": pattern.size,
        "usage": dict(zip(labels, pattern.usage, strict=True)),
        **{
            name: None if rows is None else dict(zip(labels, rows[:, pattern.number].tolist(), strict=True))
            for name, rows in counts.items()
        },
        **{name: getattr(pattern, name) for name in ("gain", "evidence", "stability")},
        "parts": [
            {
                "role": summary.roles[part.role],
                "kind": part.kind,
                "items": len(part.items),
                "p_value": part.p_value,
                "q_value": part.q_value,
                "strongest": [str(summary.item_names[item]) for item in part.items[:SUMMARY_ITEMS].tolist()],
            }
            for part in pattern.parts
        ],
    }


def write_results(
    summary: Summary, table: Table, values: dict[str, Any], folder: Path, max_patterns: int | None
) -> None:
    """Write model, tables, summary and report; ``table`` is what the model was fitted on."""
    model: Any = summary.model
    model.save(folder / MODEL)
    summary.entries.to_csv(folder / PATTERNS, index=False)
    summary.differences.to_csv(folder / DIFFERENCES, index=False)
    labels = model.row_labels_ if table.y is not None else None
    usage_table(model.usage_, table, labels).to_csv(folder / USAGE, index=False)
    (folder / SUMMARY).write_text(as_json(values), encoding="utf-8")
    write_report(summary, folder / REPORT, max_patterns=max_patterns)


# ---------------------------------------------------------------------- the terminal


def print_summary(summary: Summary, folder: Path) -> None:
    """Print headline, findings, the first patterns, single items that differ, and where the results are."""
    width = terminal_width(otherwise=120)
    parts: list[Any] = [Text(shorten_message(summary.headline))]
    if summary.findings:
        parts += [Text(), _finding_grid(summary)]
    if summary.patterns:
        length, without = summary.model.description_length_, summary.model.null_description_length_
        saved = f"{percent(1 - length / without)} less than without patterns (a nat is 1.44 bits)"
        parts += [Text(f"\nDescribed in {length:,.0f} nats, {saved}. Rows that use each pattern:\n")]
        parts.append(_pattern_grid(summary, width))
        more = len(summary.patterns) - SHOWN_PATTERNS
        if more > 0:
            parts.append(Text(f"... and {more} more {plural(more, 'pattern')}."))
    parts += _single_items(summary)
    parts.append(Text(shorten_message(f"Results in {folder}: open {folder / REPORT}")))
    print_rich(*parts, width=width)


def _finding_grid(summary: Summary) -> Any:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(ratio=1)
    for number, finding in enumerate(summary.findings, start=1):
        grid.add_row(f"{number}.", Text(shorten_message(finding.text)))
    return grid


def _pattern_grid(summary: Summary, width: int) -> Any:
    grid = simple_grid()
    grid.add_column("#", justify="right")
    grid.add_column("items", ratio=3)
    labels = [shorten(entry.label) for entry in summary.classes] if len(summary.classes) > 1 else ["rows"]
    apart = len(labels) <= MAX_COLUMNS and sum(len(label) + 2 for label in labels) <= MAX_SHARE_OF_WIDTH * width
    for label in labels if apart else ():
        grid.add_column(Text(label), justify="right")
    if not apart:
        grid.add_column("used by", ratio=2)
    assessed = summary.model.stability_ is not None
    if assessed:
        grid.add_column("came back", justify="right")
    for pattern in summary.patterns[:SHOWN_PATTERNS]:
        text = "; ".join(text for _, text in summary.describe(pattern, SHOWN_ITEMS, brief=True))
        used = [f"{count:,}" for count in pattern.usage] if apart else [Text(_users(summary, pattern))]
        share = [f"{pattern.stability:.0%}"] if assessed else []
        grid.add_row(str(pattern.number), Text(shorten_message(text)), *used, *share)
    return grid


def _users(summary: Summary, pattern: PatternSummary) -> str:
    """Return the classes that use a pattern most, with their rows."""
    using = [(count, entry.label) for count, entry in zip(pattern.usage, summary.classes, strict=True) if count]
    using.sort(key=lambda user: -user[0])
    named = [f"{shorten(label)} {count:,}" for count, label in using[:NAMED_CLASSES]]
    more = len(using) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _single_items(summary: Summary) -> list[Any]:
    """Return the surest single items that differ; where few are shown to, the next ones too, with their q-values."""
    if len(summary.classes) < 2 or not len(summary.differences):
        return []
    told = summary.told_differences
    count, first = int((told["q_value"] <= MAX_Q).sum()), told.head(SHOWN_DIFFERENCES)
    lead = "Single items, the surest differences between classes"
    if count > len(first):
        lead = f"Single items, the surest {len(first)} of {summary.confirmed_text} (q at most {MAX_Q})"
    elif count < len(first):
        lead += f"; with q above {MAX_Q} they are not confirmed"
    return [Text(f"\n{lead}:\n"), _difference_grid(first)]


def _difference_grid(differences: pd.DataFrame) -> Any:
    grid = simple_grid()
    for name in ("item", "class"):
        grid.add_column(name)
    for name in ("share there", "elsewhere", "odds ratio", "q"):
        grid.add_column(name, justify="right")
    for row in differences.to_dict("records"):
        figures = percent(row["share"]), percent(row["share_elsewhere"]), f"{row['odds_ratio']:.3g}"
        names = Text(shorten(row["item"])), Text(shorten(row["class"]))
        grid.add_row(*names, *figures, probability(row["q_value"]))
    return grid
