"""``saltmine fit``: from a file to patterns, tables and a report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from saltmine.baselines import JointNMF
from saltmine.checkpoint import remove_checkpoint
from saltmine.cli import options, streams
from saltmine.cli.data import Items, about, read_items
from saltmine.cli.errors import Interrupted, WrongUse, user_mistakes
from saltmine.cli.output import Notes, as_json, atomic_folder
from saltmine.cli.results import FILES, MODEL, plain_values, print_summary, write_results
from saltmine.fitted.summary import Summary
from saltmine.io.class_files import ClassFiles
from saltmine.methods import METHODS, make, parameters_of, ranks_for

# Options that set a parameter of the estimator, all but --ranks.
SAME_NAME = ("algorithm", "alpha", "max_rank", "device", "tau", "candidates", "max_time", "max_memory", "checkpoint")
OTHER_NAME = {"restarts": "n_restarts", "jobs": "n_jobs", "seed": "random_state", "cluster": "client"}
PARAMETERS = {name: name for name in SAME_NAME} | OTHER_NAME
# Options that a method without random starts, or without a limit of memory, accepts: reading has a limit in any case.
IGNORED = ("seed", "jobs", "max_memory")

TAU = "Confidence of the associations of asso, dbssl and mdldbssl; by default chosen by description length."
CANDIDATES = "Where patterns of dbssl and mdldbssl come from; item sets need mlxtend."
METHOD = "csalt compares classes, primp and asso need none; the others are baselines."
CHECKPOINT = """File from which the same command continues after it was killed, or after --max-time; removed when the
results are written."""
REPORT_PATTERNS = "Maximum number of patterns in the report, the first of patterns.csv; all by default."
IMAGE = "Height and width of the image, if columns are pixels."
SEARCHING = (
    options.choice("--method", METHODS, "csalt", METHOD),
    click.option("--max-rank", type=options.COUNT, help="Maximum number of patterns; automatic by default."),
    click.option("--alpha", type=click.FloatRange(0, 1, True, True), default=0.01, help="Level of significance."),
    options.RESTARTS,
    click.option("--jobs", type=int, help="Number of restarts that run in parallel."),
    options.SEED,
    options.BINARIZE,
    options.choice(
        "--algorithm",
        ("saltmine", "likelihood", "paper"),
        "saltmine",
        "Search of this library, its successor by likelihood, or that of the paper.",
    ),
    options.RANKS,
    click.option("--tau", type=click.FloatRange(0, 1, True), help=TAU),
    options.choice("--candidates", ("both", "associations", "itemsets"), "both", CANDIDATES),
    options.MAX_TIME,
    click.option("--checkpoint", metavar="FILE", help=CHECKPOINT),
    click.option("--device", metavar="NAME", help="Device of torch, or cupy, for the algorithm of the paper, as cuda."),
    click.option("--cluster", metavar="ADDRESS", help="Address of a Dask cluster, such as tcp://host:8786."),
    click.option("--stability", type=options.COUNT, metavar="REFITS", help="Number of bootstrap refits for stability."),
)
WRITING = (
    options.output_option("out", "Folder for the results."),
    click.option("--title", help="Title of the report."),
    click.option("--max-report-patterns", type=options.COUNT, help=REPORT_PATTERNS),
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
      saltmine fit baskets.csv --target shop --row-names receipt -o out/
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
        with _going_on(given["checkpoint"], notes):
            model = _fit(items, given)
        if given["stability"]:
            _assess_stability(model, items, given)
        seconds = time.perf_counter() - begin
        model.about_, model.preparation_ = facts, items.preparation
        summary = Summary(model)
        values = plain_values(summary, seconds)
        notes.say("Writing the results ...")
        write_results(summary, items.table, values, folder, given["max_report_patterns"])
    streams.outcome.written_to(given["output"], is_printed=given["as_json"])
    if model.finished_:
        remove_checkpoint(given["checkpoint"])
    elif given["checkpoint"] is not None:
        notes.say(f"The same command goes on with the search, from the checkpoint {given['checkpoint']}.")
    if given["as_json"]:
        click.echo(as_json(values))
    else:
        print_summary(summary, given["output"])


@contextmanager
def _going_on(checkpoint: str | None, notes: Notes) -> Iterator[None]:
    """Say if a fit goes on from a checkpoint, and where the next one does if it is interrupted."""
    if checkpoint is not None and Path(checkpoint).exists():
        notes.say(f"Going on from the checkpoint {checkpoint} ...")
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not Path(checkpoint).exists():
            raise
        kept = f"the same command goes on from the checkpoint {checkpoint}"
        raise Interrupted(f"Interrupted; {kept}, and nothing else was written.") from None


def _fit(items: Items, given: dict[str, Any]) -> Any:
    method = given["method"]
    _refuse_other_options(method)
    settings = {PARAMETERS[option]: given[option] for option in options_of(method) - {"ranks"}}
    settings |= {"binarize": given["binarize"], "verbose": int(not given["quiet"])}
    settings["n_restarts"] = given["restarts"]
    with user_mistakes():
        if given["ranks"] is not None:
            settings |= ranks_for(method, given["ranks"], max(1, items.n_classes))
        model, table = make(method, **settings), items.table
        # Until the results are written it is all there is of them.
        model._removes_checkpoint = False
        names = {"item_names": items.item_names, "row_names": table.row_names}
        groups = None if table.groups is None else pd.Series(table.groups, name=table.group_name or "group")
        return model.fit(items.X, table.y, **names, groups=groups)


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
    values = click.get_current_context().params
    if values["device"] is not None and "algorithm" in options_of(method) and values["algorithm"] != "paper":
        raise WrongUse(
            "--device is for --algorithm paper only, as the default search runs on the processor; leave it out."
        )


def _assess_stability(model: Any, items: Items, given: dict[str, Any]) -> None:
    bar_columns = (BarColumn(bar_width=10), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    console = Console(stderr=True)
    with Progress(TextColumn("Refits"), *bar_columns, console=console, disable=given["quiet"]) as bar, user_mistakes():
        line, table = bar.add_task("", total=given["stability"]), items.table
        settings = {"refits": given["stability"], "random_state": given["seed"]}
        model.assess_stability(items.X, table.y, **settings, on_refit=lambda done: bar.update(line, completed=done))
