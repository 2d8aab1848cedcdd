"""``saltmine fit``: from a file to patterns, tables and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.options import JSON, PREPARING, QUIET, READING, options, parse_image
from saltmine.cli.output import FILES, MODEL, Notes, whole_folder

if TYPE_CHECKING:
    from saltmine.cli.data import Items
    from saltmine.readers import Table

# Beyond it, classes of fewer than five rows on the mean are no classes.
MOST_CLASSES = 20
# Data of as many cells is searched from several starts by default: it takes seconds.
SMALL, STARTS_OF_SMALL = 1_000_000, 5

SEARCHING = (
    click.option(
        "--method",
        type=click.Choice(["csalt", "primp"]),
        default="csalt",
        show_default=True,
        help="csalt compares classes, primp needs none.",
    ),
    click.option(
        "--max-rank", type=click.IntRange(min=1), help="Most patterns to look for; found by itself if not given."
    ),
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, True, True),
        default=0.01,
        show_default=True,
        help="Level of the significance gate.",
    ),
    click.option(
        "--restarts",
        type=click.IntRange(min=1),
        help="Random starts, of which the best model is kept; 5 if not given, and 1 for more than a million cells.",
    ),
    click.option("--jobs", type=int, help="Restarts that run at the same time."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same model."
    ),
    click.option(
        "--binarize", type=float, metavar="NUMBER", help="Values of a matrix above it become ones, as 0 for counts."
    ),
    click.option(
        "--algorithm",
        type=click.Choice(["saltmine", "paper"]),
        default="saltmine",
        show_default=True,
        help="How to search.",
    ),
    click.option("--device", metavar="NAME", help="Run the relaxed solve on a device, as cuda."),
    click.option("--cluster", metavar="ADDRESS", help="Dask cluster to share the work, as tcp://host:8786."),
    click.option(
        "--stability",
        type=click.IntRange(min=1),
        metavar="REFITS",
        help="Fit again on so many bootstrap samples: how often does everything come back?",
    ),
)
WRITING = (
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default=Path("out"),
        show_default=True,
        help="Folder for the results.",
    ),
    click.option("--title", help="Title of the report."),
    click.option(
        "--image",
        metavar="HxW",
        callback=parse_image,
        help="The columns are pixels of an image of this size, as 28x28.",
    ),
    click.option("--force", is_flag=True, help="Replace files in the folder that are not of an earlier run."),
)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@options(*READING, *PREPARING, *SEARCHING, *WRITING, JSON, QUIET)
def fit(data: Path, **given: Any) -> None:
    """Find patterns and alterations in DATA; write model, tables and report.

    DATA is a file (csv, tsv, parquet, npz, mtx, dat, h5ad, vcf, bcf, maf, jsonl; text formats also as .gz, .xz, .bz2)
    or a folder with one sub-folder of documents per class. Columns that are not yes/no become items: one per value, or
    per interval of numbers.

    The folder gets model.salt, patterns.csv, usage.csv, summary.json and report.html; a summary goes to standard
    output.

    \b
    Examples:
      saltmine fit baskets.csv --target shop -o out/
      saltmine fit patients.csv --target diagnosis --threshold age=18,60 --missing item
      saltmine fit reviews.jsonl.xz --target label --text text --max-rank 30
      saltmine fit cells.h5ad --target condition --binarize 0
      saltmine fit cohort.vcf.gz --labels samples.tsv --stability 20
      saltmine fit baskets.dat --labels shops.txt --json
    """
    # Help and completion need none of this.
    from saltmine.cli.results import as_json, print_summary, summary_of, write_results

    notes = Notes(given["quiet"])
    with whole_folder(given["output"], FILES, sign=MODEL, force=given["force"]) as folder:
        items = _read(data, given, notes)
        about = _about(data, items, given)
        begin = time.perf_counter()
        model = _fit(items, given)
        if given["stability"]:
            _assess(model, items, given)
        seconds = time.perf_counter() - begin
        model.about_ = about
        model.preparation_ = items.preparation
        summary = summary_of(model, seconds)
        notes.say("Writing the results ...")
        write_results(model, items.table, summary, folder)
    if given["as_json"]:
        click.echo(as_json(summary))
    else:
        print_summary(model, summary, given["output"])


def _read(path: Path, given: dict[str, Any], notes: Notes) -> Items:
    from saltmine.cli.data import prepare_items
    from saltmine.preparation import Prepare
    from saltmine.readers import read

    reading = {option.name: given[option.name] for option in _parameters(READING)}
    notes.say(f"Reading {path} ...")
    with user_mistakes():
        table = read(path, **reading)
    if table.y is None and given["method"] == "csalt":
        raise WrongUse(_without_classes(path, table))
    if table.y is not None and table.y.dtype.kind == "f" and (table.y % 1 != 0).any():
        raise WrongUse(
            f"{path}: the classes of --target {given['target']} are numbers such as {table.y[0]}; cut them first."
        )
    n_classes = 0 if table.y is None else len(set(table.y.tolist()))
    if n_classes > max(MOST_CLASSES, table.shape[0] // 5) and given["method"] == "csalt":
        raise WrongUse(
            f"{path}: there are {n_classes:,} classes for {table.shape[0]:,} rows, too many to compare; does "
            f"{'--labels' if given['labels'] else '--target'} name what is meant?"
        )
    prepare = Prepare(bins=given["bins"], thresholds=given["thresholds"] or None, missing=given["missing"])
    items = prepare_items(path, table, given["ignore"], prepare)
    classes = f", {n_classes} classes" if n_classes else ""
    notes.say(f"{items.X.shape[0]:,} rows, {items.X.shape[1]:,} items{classes}.")
    if items.preparation is not None and items.preparation.left_out_:
        notes.say(f"Left out, as every row has the same value: {', '.join(items.preparation.left_out_[:10])}.")
    return items


def _without_classes(path: Path, table: Table) -> str:
    otherwise = "or look for patterns without classes with --method primp."
    if table.frame is not None:
        # A column of classes has few different texts; where there is none, any may be meant.
        texts = table.frame.select_dtypes(exclude=["number", "bool"])
        likely = [column for column in texts if texts[column].nunique() <= 20] or list(table.frame)
        columns = ", ".join(str(column) for column in likely[:8])
        more = ", ..." if len(likely) > 8 else ""
        return f"Which column of {path} holds the classes, {columns}{more}? Name it with --target, {otherwise}"
    return f"{path} says nothing about classes; name a file that does with --labels, {otherwise}"


def _fit(items: Items, given: dict[str, Any]) -> Any:
    import numpy as np

    from saltmine import CSalt, Primp

    kind = CSalt if given["method"] == "csalt" else Primp
    if given["binarize"] is not None and items.preparation is not None:
        raise WrongUse("--binarize is for matrices of numbers; columns of a table are cut with --threshold or --bins.")
    with user_mistakes():
        model = kind(
            algorithm=given["algorithm"],
            alpha=given["alpha"],
            binarize=given["binarize"],
            max_rank=given["max_rank"],
            n_restarts=given["restarts"] or (STARTS_OF_SMALL if np.prod(items.X.shape) <= SMALL else 1),
            device=given["device"],
            client=given["cluster"],
            n_jobs=given["jobs"],
            random_state=given["seed"],
            verbose=0 if given["quiet"] else 1,
        )
        return model.fit(items.X, items.table.y, item_names=items.item_names, row_names=items.table.row_names)


def _assess(model: Any, items: Items, given: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    refits = given["stability"]
    columns = (
        TextColumn("Refits"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=given["quiet"]) as bar:
        line = bar.add_task("", total=refits)
        with user_mistakes():
            model.assess_stability(
                items.X,
                items.table.y,
                refits,
                given["seed"],
                on_refit=lambda done: bar.update(line, completed=done),
                groups=items.table.groups,
            )


def _about(path: Path, items: Items, given: dict[str, Any]) -> dict[str, Any]:
    """Say what the data is, for the report and for new data."""
    from saltmine.cli.data import reading_options

    about: dict[str, Any] = {"source": path.name, "kind": items.table.kind, "reading": reading_options(given)}
    if given["image"]:
        height, width = given["image"]
        if height * width != items.X.shape[1]:
            raise WrongUse(
                f"--image {height}x{width} has {height * width} pixels, but the data has {items.X.shape[1]} items."
            )
        about |= {"kind": "pixels", "image": given["image"]}
    if given["title"]:
        about["title"] = given["title"]
    return about


def _parameters(decorators: tuple[Any, ...]) -> list[click.Parameter]:
    """Return what the options of a group are called."""

    @options(*decorators)
    def nothing() -> None: ...

    parameters: list[click.Parameter] = nothing.__click_params__  # type: ignore[attr-defined]  # click puts them there
    return parameters
