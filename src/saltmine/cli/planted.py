"""``saltmine generate`` and ``saltmine score``: planted data, and how close a model comes to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from saltmine.atomic import atomic_files, atomic_write
from saltmine.cli import options, streams
from saltmine.cli.apply import as_classes, load_model
from saltmine.cli.data import read_for_model
from saltmine.cli.errors import WrongUse, user_mistakes, writing_to
from saltmine.cli.output import Notes
from saltmine.cli.output import as_json as to_json
from saltmine.datasets import Planted, make_planted
from saltmine.io.class_files import ClassFiles
from saltmine.metrics import alteration_recall, class_rank, description_length, f_measure, residual
from saltmine.names import printable_lines, quoted, shorten, shorten_message

ARRAYS = ("X", "y", "components", "alterations", "usage")


def _sizes(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    sizes = value.split(",")
    if not all(size.strip().isdigit() and int(size) > 0 for size in sizes):
        raise click.BadParameter(f"{quoted(value)} is not a list of class sizes, as 500,500.")
    return [int(size) for size in sizes]


@click.command()
@click.argument("output", type=options.PATH)
@click.option("--rows", default="500,500", callback=_sizes, help="Rows of every class.")
@click.option("--columns", type=options.COUNT, default=800, help="Number of columns.")
@click.option("--patterns", type=click.IntRange(min=0), default=24, help="Number of patterns.")
@click.option("--noise", type=click.FloatRange(0, 1), default=0.1, help="Probability of a flip.")
@options.SEED
def generate(output: Path, rows: list[int], columns: int, patterns: int, noise: float, seed: int) -> None:
    """Make data with planted patterns and alterations, to try things on.

    OUTPUT is an .npz file, which holds the data, the classes and the truth; or a .csv or .tsv file with the classes in
    the column "class", and the truth beside it in a file that ends in .truth.npz.

    \b
    Examples:
      saltmine generate planted.npz
      saltmine generate planted.csv --rows 300,200,100 --columns 400 --noise 0.05
    """
    suffix = output.suffix.lower()
    if suffix not in (".npz", ".csv", ".tsv"):
        raise WrongUse(f"{output}: data is written as .npz, .csv or .tsv; choose one of these suffixes.")
    with user_mistakes():
        planted = make_planted(columns, rows, patterns, noise=noise, random_state=seed)
    with user_mistakes():
        if suffix == ".npz":
            with atomic_write(output) as aside:
                np.savez_compressed(aside, **_arrays(planted))
        else:
            _write_table_and_truth(planted, output)
    truth = "" if suffix == ".npz" else f", and the truth in {_truth_of(output)}"
    files = f"{output}{truth}"
    streams.outcome.written_to(files)
    click.echo(shorten_message(f"{sum(rows):,} rows, {columns:,} columns, {patterns} patterns: {files}"))


def _truth_of(table: Path) -> Path:
    return table.with_suffix(".truth.npz")


def _write_table_and_truth(planted: Planted, path: Path) -> None:
    frame = pd.DataFrame(planted.X.astype(np.int8), columns=[f"item_{i}" for i in range(planted.X.shape[1])])
    frame["class"] = planted.y
    with writing_to(path.parent), atomic_files(path.parent, [path.name, _truth_of(path).name]) as aside:
        frame.to_csv(aside / path.name, index=False, sep="," if path.suffix.lower() == ".csv" else "\t")
        np.savez_compressed(aside / _truth_of(path).name, **_arrays(planted))


@click.command()
@options.MODEL
@options.DATA
@options.add_options(options.TRUTH, *options.READING, options.JSON, options.QUIET)
def score(model: Path, data: Path | ClassFiles, truth: Path | None, as_json: bool, quiet: bool, **reading: Any) -> None:
    """Print how well MODEL describes the DATA it was fitted on, and how close it comes to planted truth.

    Class rank counts the patterns with more than one item and row in a class; errors per one are the cells that the
    patterns get wrong for every one in the data; accuracy is that of predict on the rows of the fit; F-measure and
    alteration recall are 1 where all that was planted is found.

    \b
    Examples:
      saltmine score out/model.salt baskets.csv --target shop
      saltmine score out/model.salt planted.npz
      saltmine score out/model.salt planted.csv --target class --truth planted.truth.npz
    """
    fitted = load_model(model)
    X, table = read_for_model(data, fitted, reading, Notes(quiet), new_rows=False)
    labels, n, remedy = fitted.row_labels_, table.shape[0], "or in another order; give it the same"
    if n != len(labels):
        raise WrongUse(f"{data} has {n} rows, but the model was fitted on {len(labels)}; give it the same data.")
    if table.y is not None and (as_classes(fitted, table.y, data) != labels).any():
        raise WrongUse(f"{data} has other classes than the data of the fit, {remedy} data.")
    with user_mistakes():
        wrong = residual(fitted, X, labels)
        if wrong != fitted.noise_counts_.sum():
            raise WrongUse(f"{data} is not the data that the model was fitted on, {remedy}.")
        ones = int(fitted.item_counts_.sum())
        figures: dict[str, Any] = {
            "patterns": int(fitted.n_components_),
            "class_rank": _per_class(fitted.classes_, class_rank(fitted)),
            "description_length": float(fitted.description_length_),
            "null_description_length": float(fitted.null_description_length_),
            "ones": ones,
            "cells_in_error": wrong,
            "errors_per_one": wrong / ones if ones else None,
        }
        if hasattr(fitted, "predict"):
            figures["accuracy"] = float((fitted.predict(X) == labels).mean())
        planted = read_truth(truth, data)
        if planted is not None:
            figures |= {
                "f_measure": f_measure(planted, fitted),
                "alteration_recall": alteration_recall(planted, fitted),
                "planted_class_rank": _per_class(np.unique(planted.y), class_rank(planted)),
                "planted_description_length": description_length(**_arrays(planted)),
            }
    if as_json:
        click.echo(to_json(figures))
    else:
        for name, value in figures.items():
            click.echo(printable_lines(f"{name.replace('_', ' '):<28}{_as_text(value)}"))


def read_truth(truth: Path | None, data: Path | ClassFiles) -> Any:
    """Return the planted truth of an npz file; None if none was named and the data hold none."""
    path = data if truth is None else truth
    if isinstance(path, ClassFiles) or (truth is None and path.suffix.lower() != ".npz"):
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            parts = {name: archive[name] for name in ARRAYS if name in archive.files}
    except (OSError, ValueError, EOFError) as error:
        raise WrongUse(f"{path} cannot be read as planted data: {error}.") from error
    if len(parts) == len(ARRAYS):
        return Planted(**parts)
    if truth is not None:
        raise WrongUse(f"{path} holds no planted truth; 'saltmine generate' makes such files.")
    return None


def _arrays(planted: Planted) -> dict[str, Any]:
    return {name: getattr(planted, name) for name in ARRAYS}


def _per_class(classes: Any, counts: Any) -> dict[str, int]:
    return {str(label): int(count) for label, count in zip(classes, counts, strict=True)}


def _as_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{shorten(label)}: {entry}" for label, entry in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
