"""``saltmine transform``, ``predict`` and ``report``: apply a model to new data, and write its report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.atomic import atomic_write
from saltmine.cli import options, streams
from saltmine.cli.data import read_for_model, row_names_of
from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.output import Notes
from saltmine.io import Table
from saltmine.io.class_files import ClassFiles
from saltmine.mdl.row_model import MORE_LIKELY
from saltmine.methods import load
from saltmine.names import printable_lines, quoted, shorten, shorten_message
from saltmine.preprocessing.columns import number_text
from saltmine.report import write_report

OUTPUT = options.output_option(None, "File for the table; standard output if not given.")


@click.command()
@options.MODEL
@options.DATA
@options.add_options(*options.READING, OUTPUT, options.JSON, options.QUIET)
def transform(
    model: Path, data: Path | ClassFiles, output: Path | None, as_json: bool, quiet: bool, **reading: Any
) -> None:
    """Print which patterns of MODEL the rows of DATA use.

    DATA is prepared as the data of the fit was. Prints a csv table with a line per row and a 0/1 column per pattern.
    The classes of the rows, where they are given (--target, --labels), decide which alterations count; else they are
    predicted.

    \b
    Examples:
      saltmine transform out/model.salt new.csv > usage.csv
      saltmine transform out/model.salt new.csv --target shop -o usage.csv
    """
    fitted = load_model(model)
    X, table = read_for_model(data, fitted, reading, Notes(quiet))
    with user_mistakes():
        y = None if table.y is None or not fitted._knows_classes else as_classes(fitted, table.y, data)
        columns = np.asarray(fitted.transform(X) if y is None else fitted.transform(X, y))
        # Use, or its probability, comes first whatever the features are.
        usage = columns[:, : fitted.n_components_] > MORE_LIKELY
    _write_table(usage_table(usage, table, table.y), output, as_json)


@click.command()
@options.MODEL
@options.DATA
@click.option("--lengths", is_flag=True, help="Add the code length of the row for each class, in nats.")
@options.add_options(*options.READING, OUTPUT, options.JSON, options.QUIET)
def predict(
    model: Path, data: Path | ClassFiles, lengths: bool, output: Path | None, as_json: bool, quiet: bool, **reading: Any
) -> None:
    """Predict the class of the rows of DATA with MODEL.

    The predicted class is the one whose patterns describe the row in the fewest nats. Prints a csv table with a line
    per row; where the classes are known (--target, --labels), the accuracy goes to standard error.

    \b
    Examples:
      saltmine predict out/model.salt new.csv > classes.csv
      saltmine predict out/model.salt test.csv --target shop --lengths
    """
    fitted = load_model(model)
    if not hasattr(fitted, "predict"):
        raise WrongUse(f"{model} was fitted without classes, so it cannot tell them apart; use transform.")
    notes = Notes(quiet)
    X, table = read_for_model(data, fitted, reading, notes)
    with user_mistakes():
        nats = fitted.code_lengths(X)
        classes = fitted.predict(X)
    result = pd.DataFrame({"row": row_names_of(table), "class": classes})
    if lengths:
        for label, column in zip(fitted.classes_, nats.T, strict=True):
            result[f"nats_{label}"] = column.round(3)
    _write_table(result, output, as_json)
    if table.y is not None:
        right = np.mean(classes == as_classes(fitted, table.y, data))
        notes.say(f"{right:.1%} of the rows are given their own class.")


@click.command()
@options.MODEL
@options.output_option("report.html", "The page.")
@click.option("--title", help="Title of the report.")
@click.option(
    "--max-patterns", "--max-report-patterns", type=options.COUNT, help="Maximum number of patterns; all by default."
)
def report(model: Path, output: Path, title: str | None, max_patterns: int | None) -> None:
    """Write the report of MODEL as one HTML page.

    \b
    Examples:
      saltmine report out/model.salt
      saltmine report out/model.salt -o talk.html --title "Baskets of two shops"
    """
    with user_mistakes():
        write_report(load(model), output, title, max_patterns)
    streams.outcome.written_to(output)
    click.echo(shorten_message(str(output)))


def load_model(path: Path) -> Any:
    """Return the model of a file, or explain in one line why there is none."""
    with user_mistakes():
        return load(path)


def as_classes(model: Any, labels: Any, path: Path | ClassFiles) -> Any:
    """Return labels with the type of the model's classes: whether a file gives 1, 1.0 or text depends on its rest."""
    known = {_key(label): label for label in model.classes_.tolist()}
    given = [_key(label) for label in np.asarray(labels).tolist()]
    unknown = [label for label in dict.fromkeys(given) if label not in known]
    if unknown:
        classes = shorten(", ".join(map(shorten, model.classes_)), 400)
        raise WrongUse(f"{path} has the class {quoted(unknown[0])}, which is not one of the model's: {classes}.")
    return np.array([known[label] for label in given], dtype=model.classes_.dtype)


def _key(label: Any) -> str:
    try:
        return number_text(float(label))
    except (TypeError, ValueError):
        return str(label)


def usage_table(usage: NDArray[np.bool_], table: Table, labels: Any = None) -> pd.DataFrame:
    """Return a row per row of the data with its name, class and group where known, and a 0/1 column per pattern."""
    columns = {"row": row_names_of(table), "class": labels, "group": table.groups}
    patterns = {f"pattern_{s}": usage[:, s].astype(np.int8) for s in range(usage.shape[1])}
    return pd.DataFrame({name: values for name, values in columns.items() if values is not None} | patterns)


def _write_table(table: pd.DataFrame, output: Path | None, as_json: bool) -> None:
    text = json.dumps(json.loads(table.to_json(orient="records"))) + "\n" if as_json else table.to_csv(index=False)
    if output is None:
        # A terminal would obey control characters in names; for others, click must not take any out (color).
        shown = printable_lines(text) if sys.stdout.isatty() else text
        click.echo(shown, nl=False, color=True)
        return
    with user_mistakes(), atomic_write(output) as aside:
        aside.write_text(text, encoding="utf-8")
