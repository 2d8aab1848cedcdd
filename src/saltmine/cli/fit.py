"""``saltmine fit``: from a file to patterns, tables and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from saltmine.baselines import JointNMF
from saltmine.cli import options
from saltmine.cli.apply import usage_table
from saltmine.cli.data import Items, about, read_items
from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.output import Notes, as_json, atomic_folder, print_rich, simple_grid, terminal_width
from saltmine.fitted.summary import MAX_Q, Summary, percent
from saltmine.io.class_files import ClassFiles
from saltmine.methods import METHODS, make, parameters_of, ranks_for
from saltmine.report import write_report
from saltmine.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MODEL, PATTERNS, DIFFERENCES, USAGE = "model.salt", "patterns.csv", "differences.csv", "usage.csv"
SUMMARY, REPORT = "summary.json", "report.html"
FILES = (MODEL, PATTERNS, DIFFERENCES, USAGE, SUMMARY, REPORT)
# Items of a part in the summary; patterns and classes in the terminal, and items of a part there.
SUMMARY_ITEMS, SHOWN_PATTERNS, SHOWN_CLASSES, SHOWN_ITEMS = 10, 12, 6, 5
# Single items that differ between classes: in the summary, and in the terminal.
SUMMARY_DIFFERENCES, SHOWN_DIFFERENCES = 50, 5

# Options that set a parameter of the estimator, all but --ranks.
SAME_NAME = ("algorithm", "alpha", "max_rank", "device", "tau", "candidates", "max_time")
OTHER_NAME = {"restarts": "n_restarts", "jobs": "n_jobs", "seed": "random_state", "cluster": "client"}
PARAMETERS = {name: name for name in SAME_NAME} | OTHER_NAME
# Options that a method without random starts accepts and ignores.
IGNORED = ("seed", "jobs")

TAU = "Confidence of the associations of asso, dbssl and mdldbssl; chosen by description length if not given."
CANDIDATES = "Where patterns of dbssl and mdldbssl come from; item sets need mlxtend."
METHOD = "csalt compares classes, primp and asso need none; the others are baselines."
IMAGE = "Size of the image of which columns are pixels."
SEARCHING = (
    options.choice("--method", METHODS, "csalt", METHOD),
    click.option("--max-rank", type=options.COUNT, help="Maximum number of patterns; automatic if not given."),
    click.option("--alpha", type=click.FloatRange(0, 1, True, True), default=0.01, help="Level of significance."),
    options.RESTARTS,
    click.option("--jobs", type=int, help="Restarts that run at the same time."),
    options.SEED,
    options.BINARIZE,
    options.choice("--algorithm", ("saltmine", "paper"), "saltmine", "How to search."),
    options.RANKS,
    click.option("--tau", type=click.FloatRange(0, 1, True), help=TAU),
    options.choice("--candidates", ("both", "associations", "itemsets"), "both", CANDIDATES),
    options.MAX_TIME,
    click.option("--device", metavar="NAME", help="Run the relaxed solve on a device, as cuda."),
    click.option("--cluster", metavar="ADDRESS", help="Dask cluster to share the work, as tcp://host:8786."),
    click.option("--stability", type=options.COUNT, metavar="REFITS", help="Bootstrap refits that assess stability."),
)
WRITING = (
    options.output_option("out", "Folder for the results."),
    click.option("--title", help="Title of the report."),
    click.option("--image", metavar="HxW", callback=options.parse_image, help=IMAGE),
    options.FORCE,
)


@click.command()
@options.DATA
@options.add_options(*options.READING, *options.PREPARING, *SEARCHING, *WRITING, options.JSON, options.QUIET)
def fit(data: Path | ClassFiles, **given: Any) -> None:
    """Find patterns and alterations in DATA; write model, tables and report.

    DATA is a file (csv, tsv, parquet, npz, mtx, dat, h5ad, vcf, bcf, maf, jsonl; text formats also as .gz, .xz, .bz2)
    or a folder with one sub-folder of documents per class. Several files, one per class, are given as CLASS=DATA.
    Columns that are not yes/no become items: one per value, or per interval of numbers.

    The folder gets model.salt, patterns.csv, differences.csv, usage.csv, summary.json and report.html; a summary goes
    to standard output.

    \b
    Examples:
      saltmine fit baskets.csv --target shop -o out/
      saltmine fit patients.csv --target diagnosis --threshold age=18,60 --missing item
      saltmine fit reviews.jsonl.xz --target label --text text --max-rank 30
      saltmine fit cells.h5ad --target condition --binarize 0
      saltmine fit cohort.vcf.gz --labels samples.tsv --stability 20
      saltmine fit primary=a.maf relapse=b.maf --labels samples.tsv -o out/
      saltmine fit baskets.dat --labels shops.txt --json
    """
    notes = Notes(given["quiet"])
    # A model file is a zip archive.
    with atomic_folder(given["output"], FILES, (MODEL, b"PK"), force=given["force"]) as folder:
        needs_classes = METHODS[given["method"]].estimator._knows_classes
        otherwise = ", or look for patterns without classes with --method primp" if needs_classes else None
        items = read_items(data, given, notes, otherwise)
        facts = about(data, items, given)
        begin = time.perf_counter()
        model = _fit(items, given)
        if given["stability"]:
            _assess_stability(model, items, given)
        seconds = time.perf_counter() - begin
        model.about_, model.preparation_ = facts, items.preparation
        summary = Summary(model)
        values = _plain_values(summary, seconds)
        notes.say("Writing the results ...")
        _write_results(summary, items, values, folder)
    if given["as_json"]:
        click.echo(as_json(values))
    else:
        _print_summary(summary, given["output"])


def _fit(items: Items, given: dict[str, Any]) -> Any:
    method = given["method"]
    _refuse_other_options(method)
    settings = {PARAMETERS[option]: given[option] for option in options_of(method) - {"ranks"}}
    settings |= {"binarize": given["binarize"], "verbose": int(not given["quiet"])}
    settings["n_restarts"] = given["restarts"]
    with user_mistakes():
        if given["ranks"] is not None:
            settings |= ranks_for(method, given["ranks"], max(1, items.n_classes))
        model = make(method, **settings)
        return model.fit(items.X, items.table.y, item_names=items.item_names, row_names=items.table.row_names)


def options_of(method: str) -> set[str]:
    """Return the options of the search that a method has."""
    known = {option for option, parameter in PARAMETERS.items() if parameter in parameters_of(method)}
    # The alpha of JointNMF is a weight, not a level.
    other = {"alpha"} if METHODS[method].estimator is JointNMF else set()
    return (known | ({"ranks"} if ranks_for(method, 1, 1) else set())) - other


def _refuse_other_options(method: str) -> None:
    """Refuse options that were given and that the method does not have."""
    for option in (*PARAMETERS, "ranks"):
        given = click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT
        if given and option not in IGNORED and option not in options_of(method):
            others = ", ".join(name for name in METHODS if option in options_of(name))
            raise WrongUse(f"--{option.replace('_', '-')} is not for {method} but for {others}; leave it out.")


def _assess_stability(model: Any, items: Items, given: dict[str, Any]) -> None:
    bar_columns = (BarColumn(bar_width=10), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    console = Console(stderr=True)
    with Progress(TextColumn("Refits"), *bar_columns, console=console, disable=given["quiet"]) as bar, user_mistakes():
        line, table = bar.add_task("", total=given["stability"]), items.table
        settings = {"refits": given["stability"], "random_state": given["seed"], "groups": table.groups}
        model.assess_stability(items.X, table.y, **settings, on_refit=lambda done: bar.update(line, completed=done))


# ---------------------------------------------------------------------- results


def _plain_values(summary: Summary, seconds: float) -> dict[str, Any]:
    """Return the content of summary.json."""
    model = summary.model
    labels = [entry.label for entry in summary.classes]
    patterns = [
        {
            "pattern": pattern.number,
            "kind": pattern.kind,
            "classes": {labels[a]: kind for a, kind in pattern.owners},
            "altered_by": [labels[a] for a in pattern.altered_by],
            "items": pattern.size,
            "usage": dict(zip(labels, pattern.usage, strict=True)),
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
        for pattern in summary.patterns
    ]
    return {
        "source": summary.source,
        "answer": summary.answer,
        "method": type(model).__name__,
        "version": __version__,
        "rows": len(summary.row_classes),
        "columns": int(model.n_features_in_),
        "classes": {entry.label: entry.rows for entry in summary.classes},
        "n_patterns": sum(not pattern.typical for pattern in summary.patterns),
        "description_length": float(model.description_length_),
        "null_description_length": float(model.null_description_length_),
        "seconds": round(seconds, 2),
        "parameters": {name: value for name, value in model.get_params().items() if name != "callback"},
        "files": list(FILES),
        "patterns": patterns,
        "differences": summary.differences.head(SUMMARY_DIFFERENCES).to_dict("records"),
    }


def _write_results(summary: Summary, items: Items, values: dict[str, Any], folder: Path) -> None:
    model: Any = summary.model
    model.save(folder / MODEL)
    summary.table.to_csv(folder / PATTERNS, index=False)
    summary.differences.to_csv(folder / DIFFERENCES, index=False)
    labels = model.row_labels_ if items.table.y is not None else None
    usage_table(model.usage_, items.table, labels).to_csv(folder / USAGE, index=False)
    (folder / SUMMARY).write_text(as_json(values), encoding="utf-8")
    write_report(summary, folder / REPORT)


def _print_summary(summary: Summary, folder: Path) -> None:
    """Print the answer, the largest patterns, and where the results are."""
    parts: list[Any] = [Text(summary.answer)]
    if summary.patterns:
        length, without = summary.model.description_length_, summary.model.null_description_length_
        saved = f"{1 - length / without:.1%} less than without patterns"
        parts += [Text(f"Described in {length:,.0f} nats, {saved}.\n"), _pattern_grid(summary)]
        left = {"patterns": len(summary.patterns) - SHOWN_PATTERNS, "classes": len(summary.classes) - SHOWN_CLASSES}
        more = [f"{count} more {what}" for what, count in left.items() if count > 0]
        if more:
            parts.append(Text(f"... and {', '.join(more)}."))
    confirmed = summary.confirmed_differences
    if len(confirmed):
        differ = "single item differs" if len(confirmed) == 1 else "single items differ"
        surest = ", the surest" if len(confirmed) > SHOWN_DIFFERENCES else ""
        parts += [
            Text(f"\n{len(confirmed):,} {differ} between classes (q at most {MAX_Q}){surest}:\n"),
            _difference_grid(confirmed.head(SHOWN_DIFFERENCES)),
        ]
    parts.append(Text(f"Results in {folder}: open {folder / REPORT}"))
    print_rich(*parts, width=terminal_width(otherwise=120))


def _pattern_grid(summary: Summary) -> Any:
    grid = simple_grid()
    grid.add_column("#", justify="right")
    grid.add_column("items", ratio=1)
    for entry in summary.classes[:SHOWN_CLASSES]:
        grid.add_column(Text(entry.label if len(summary.classes) > 1 else "rows"), justify="right")
    assessed = summary.model.stability_ is not None
    if assessed:
        grid.add_column("came back", justify="right")
    for pattern in summary.patterns[:SHOWN_PATTERNS]:
        text = "; ".join(text for _, text in summary.describe(pattern, SHOWN_ITEMS, brief=True))
        used = [f"{count:,}" for count in pattern.usage[:SHOWN_CLASSES]]
        grid.add_row(str(pattern.number), Text(text), *used, *([f"{pattern.stability:.0%}"] if assessed else []))
    return grid


def _difference_grid(differences: pd.DataFrame) -> Any:
    grid = simple_grid()
    for name in ("item", "class"):
        grid.add_column(name)
    for name in ("share there", "elsewhere", "odds ratio", "q"):
        grid.add_column(name, justify="right")
    for row in differences.to_dict("records"):
        figures = percent(row["share"]), percent(row["share_elsewhere"]), f"{row['odds_ratio']:.3g}"
        grid.add_row(Text(str(row["item"])), Text(str(row["class"])), *figures, f"{row['q_value']:.1g}")
    return grid
