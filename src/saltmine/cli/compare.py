"""``saltmine compare``: several methods on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console
from rich.measure import Measurement

from saltmine import comparison
from saltmine.cli import options, streams
from saltmine.cli.data import Items, about, read_items
from saltmine.cli.errors import Interrupted, user_mistakes
from saltmine.cli.output import Notes, as_json, atomic_folder, markdown_table, print_rich, simple_grid, terminal_width
from saltmine.cli.planted import read_truth
from saltmine.comparison import Comparison
from saltmine.io.class_files import ClassFiles
from saltmine.methods import METHODS, check_methods
from saltmine.names import shorten_message

TABLE, PAGE, FIGURE = "comparison.csv", "comparison.md", "comparison.png"
NAMES = ", ".join(METHODS)
#: Headings of columns in the terminal and the page that differ from their names.
HEADINGS = {"description_length": "nats", "rss": "RSS", "f_measure": "F", "alteration_recall": "rec V"}
#: Number formats of columns that are not plain counts.
FORMATS = {"description_length": ",.0f", "rss": ","}
FORMATS |= dict.fromkeys(("of_null", "f_measure", "alteration_recall"), ".3f")
FORMATS |= dict.fromkeys(("items", "rows", "rank_error", "seconds"), ".1f")

#: Columns that a narrow terminal leaves out, first to last.
DISPENSABLE = ("rows", "items", "of_null", "by_chance", "shared", "added", "mostly", "only", "seconds")


def parse_methods(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    """Return the names of methods from text such as csalt,asso or all."""
    try:
        return check_methods(name.strip() for name in value.split(","))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@options.DATA
@options.add_options(*options.READING, *options.PREPARING)
@click.option("--methods", default="all", callback=parse_methods, help=f"Names separated by commas: {NAMES}.")
@options.add_options(options.RANKS, options.MAX_TIME, options.TRUTH, options.RESTARTS, options.SEED, options.BINARIZE)
@options.output_option("out/compare", "Folder for the results.")
@options.add_options(options.FORCE, options.JSON, options.QUIET)
def compare(data: Path | ClassFiles, methods: list[str], **given: Any) -> None:
    """Fit several methods to DATA, and put what they found side by side.

    The table has for every method: the description length in nats, computed alike for all, and its share of that
    without patterns; the cells in error (RSS); the number of patterns, of those that classes share, that are mostly or
    only in one class, and to which a class adds items, and of those that chance may explain; their mean numbers of
    items and rows; and the seconds. For planted data also F-measure, recall of the alterations (rec V), and the rank
    error of the classes.

    The folder gets the table as comparison.csv and comparison.md, a figure (comparison.png), and every model under the
    name of its method, for 'saltmine report' and 'saltmine score'.

    \b
    Examples:
      saltmine compare baskets.csv --target shop
      saltmine compare votes.csv --target party --methods csalt,dbssl,asso -o out/votes
      saltmine compare planted.npz --ranks 8,8,8 --max-time 60
    """
    notes = Notes(given["quiet"])
    files = (TABLE, PAGE, FIGURE, *(f"{name}.salt" for name in METHODS))
    with atomic_folder(given["output"], files, (TABLE, b"method,description_length,"), force=given["force"]) as folder:
        items = read_items(data, given, notes, otherwise="")
        found, interrupted = _run(data, items, methods, given)
        for name, reason in found.failed.items():
            # Shown even with --quiet: it is a result, not progress.
            click.echo(shorten_message(f"{name} is left out: {reason}"), err=True)
        drawn = _write(found, items, about(data, items, given), folder)
    streams.outcome.written_to(given["output"], is_printed=given["as_json"])
    if given["as_json"]:
        click.echo(as_json({"methods": found.rows, "failed": found.failed}))
    else:
        _print(found.table, given["output"], drawn)
    if interrupted:
        done = f"{len(found.rows)} of {len(methods)} methods were done"
        raise Interrupted(f"Interrupted; {done}, and these were written.")


def _run(data: Path | ClassFiles, items: Items, methods: list[str], given: dict[str, Any]) -> tuple[Comparison, bool]:
    """Run the methods; return what they found, and whether the user interrupted them."""
    results: list[Comparison] = []
    settings = {name: given[name] for name in ("ranks", "max_time", "binarize")}
    settings |= {"n_restarts": given["restarts"], "random_state": given["seed"], "verbose": int(not given["quiet"])}
    settings |= {"item_names": items.item_names, "row_names": items.table.row_names, "on_result": results.append}
    with user_mistakes():
        try:
            truth = read_truth(given["truth"], data)
            return comparison.compare(items.X, items.table.y, methods, truth=truth, **settings), False
        except KeyboardInterrupt:
            if not results or not results[-1].rows:
                raise
            return results[-1], True


def _write(found: Comparison, items: Items, facts: dict[str, Any], folder: Path) -> bool:
    """Write table, models and figure; return whether the figure could be drawn."""
    found.table.to_csv(folder / TABLE, index=False)
    (folder / PAGE).write_text(markdown_table(*_cells(found.table)), encoding="utf-8")
    for name, model in found.models.items():
        model.about_, model.preparation_ = facts, items.preparation
        model.save(folder / f"{name}.salt")
    try:
        figure = found.plot()
    except ImportError as error:
        click.echo(str(error), err=True)
        return False
    figure.savefig(folder / FIGURE, dpi=150)
    return True


def _print(table: pd.DataFrame, folder: Path, drawn: bool) -> None:
    width = terminal_width(otherwise=200)
    console = Console(width=1000)
    for dropped in range(len(DISPENSABLE) + 1):
        grid = _grid(table.drop(columns=list(DISPENSABLE[:dropped])))
        if Measurement.get(console, console.options, grid).maximum <= width:
            break
    print_rich(grid, width=width)
    if dropped:
        click.echo(shorten_message(f"The terminal is narrow; {folder / TABLE} has all columns."))
    look = f"open {folder / FIGURE}, or 'saltmine report" if drawn else "'saltmine report"
    click.echo(shorten_message(f"Results in {folder}: {look} {folder}/{table['method'][0]}.salt'"))


def _grid(table: pd.DataFrame) -> Any:
    columns, lines = _cells(table)
    grid = simple_grid(padding=(0, 1, 0, 0))
    for column in columns:
        grid.add_column(column, justify="left" if column == "method" else "right")
    for line in lines:
        grid.add_row(*line)
    return grid


def _cells(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the text of every cell.

    Examples
    --------
    >>> _cells(pd.DataFrame({"method": ["csalt"], "rss": [1200], "rank_error": [0.5]}))
    (['method', 'RSS', 'rank error'], [['csalt', '1,200', '0.5']])
    """
    columns = [str(column) for column in table]
    lines = [
        [format(row[column], FORMATS.get(column, "")) if row[column] == row[column] else "" for column in columns]
        for row in table.to_dict("records")
    ]
    return [HEADINGS.get(column, column.replace("_", " ")) for column in columns], lines
