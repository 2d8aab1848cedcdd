"""``saltmine fit``: from a file to patterns, tables and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.options import (
    BINARIZE,
    FORCE,
    JSON,
    MAX_TIME,
    PREPARING,
    QUIET,
    RANKS,
    READING,
    SEED,
    options,
    parse_image,
)
from saltmine.cli.output import FILES, SIGN, Notes, whole_folder
from saltmine.methods import METHODS, make, parameters_of, ranks_for, usual_starts

if TYPE_CHECKING:
    from saltmine.cli.data import Items

# Options of the search, and the parameters of estimators that they are.
PARAMETERS = {
    "algorithm": "algorithm",
    "alpha": "alpha",
    "max_rank": "max_rank",
    "restarts": "n_restarts",
    "jobs": "n_jobs",
    "seed": "random_state",
    "device": "device",
    "cluster": "client",
    "tau": "tau",
    "candidates": "candidates",
    "max_time": "max_time",
}
# A method without random starts takes any seed.
IDLE = ("seed", "jobs")

SEARCHING = (
    click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        default="csalt",
        show_default=True,
        help="csalt compares classes, primp and asso need none; the others are there to compare with.",
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
        help="Random starts, of which the best model is kept; if not given, 5 of csalt and primp, and 1 of the others "
        "and for more than a million cells.",
    ),
    click.option("--jobs", type=int, help="Restarts that run at the same time."),
    SEED,
    BINARIZE,
    click.option(
        "--algorithm",
        type=click.Choice(["saltmine", "paper"]),
        default="saltmine",
        show_default=True,
        help="How to search.",
    ),
    RANKS,
    click.option(
        "--tau",
        type=click.FloatRange(0, 1, True),
        help="Confidence of the associations of asso, dbssl and mdldbssl; by description length if not given.",
    ),
    click.option(
        "--candidates",
        type=click.Choice(["both", "associations", "itemsets"]),
        default="both",
        show_default=True,
        help="Where patterns of dbssl and mdldbssl come from; item sets need mlxtend.",
    ),
    MAX_TIME,
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
    FORCE,
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
    from saltmine.cli.data import read_items
    from saltmine.cli.results import as_json, print_summary, summary_of, write_results

    notes = Notes(given["quiet"])
    with whole_folder(given["output"], FILES, SIGN, force=given["force"]) as folder:
        otherwise = ", or look for patterns without classes with --method primp"
        items = read_items(data, given, notes, otherwise if METHODS[given["method"]].knows_classes else None)
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


def _fit(items: Items, given: dict[str, Any]) -> Any:
    import numpy as np

    method = given["method"]
    known = options_of(method)
    searched = "paper" if given["algorithm"] == "paper" else method
    _refuse_foreign(method)
    with user_mistakes():
        n_classes = 1 if items.table.y is None else len(set(items.table.y.tolist()))
        told = {} if given["ranks"] is None else ranks_for(method, given["ranks"], n_classes)
        model = make(
            method,
            **{PARAMETERS[option]: given[option] for option in known - {"restarts", "ranks"}},
            **told,
            n_restarts=given["restarts"] or usual_starts(searched, int(np.prod(items.X.shape))),
            binarize=given["binarize"],
            verbose=0 if given["quiet"] else 1,
        )
        return model.fit(items.X, items.table.y, item_names=items.item_names, row_names=items.table.row_names)


def options_of(method: str) -> set[str]:
    """Return the options of the search that a method has."""
    parameters = parameters_of(method)
    known = {option for option, parameter in PARAMETERS.items() if parameter in parameters}
    if METHODS[method].estimator == "JointNMF":
        # It has an alpha of its own, a weight.
        known -= {"alpha"}
    return known | ({"ranks"} if ranks_for(method, 1, 1) else set())


def _refuse_foreign(method: str) -> None:
    """Refuse options that were given and that the method does not have."""
    context = click.get_current_context()
    for option in (*PARAMETERS, "ranks"):
        given = context.get_parameter_source(option) is not ParameterSource.DEFAULT
        if given and option not in IDLE and option not in options_of(method):
            having = [name for name in METHODS if option in options_of(name)]
            raise WrongUse(
                f"--{option.replace('_', '-')} is not for {method} but for {', '.join(having)}; leave it out."
            )


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
    from saltmine.cli.data import about as about_data

    about = about_data(path, items, given)
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
