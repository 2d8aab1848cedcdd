"""From files to what estimators take: read, prepare, and bring new data into the columns of a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.options import READING, names_of
from saltmine.cli.output import Notes
from saltmine.io import ReadError, Table, read
from saltmine.io.registry import format_of, has_known_suffix
from saltmine.io.table import no_such_column
from saltmine.preprocessing import Prepare

# Beyond it, classes of fewer than five rows on the mean are no classes.
MOST_CLASSES = 20
# What a reader was told that holds for new data of the same kind too.
_LASTING = ("format", "row_names", "group", "separator", "encoding", "text", "language", "unit")


@dataclass(frozen=True)
class Items:
    """A matrix ready for an estimator, with its names, and how it came to be."""

    X: Any
    table: Table
    item_names: NDArray[Any] | None
    preparation: Prepare | None


def prepare_items(source: Path, table: Table, ignore: tuple[str, ...], prepare: Prepare) -> Items:
    """Make items of the columns of a table; a matrix is taken as it is."""
    frame = table.frame
    if frame is None:
        if prepare.thresholds or prepare.missing != "error" or prepare.bins != Prepare().bins:
            raise WrongUse(
                "--threshold, --bins and --missing are for tables, but this file holds a matrix; leave them out."
            )
        if ignore:
            raise WrongUse(
                f"--ignore {ignore[0]} names a column of a table, but this file holds a matrix; leave it out."
            )
        return Items(table.X, table, table.item_names, None)
    for column in ignore:
        if column not in frame.columns:
            raise WrongUse(str(no_such_column(source, column, frame.columns, "--ignore")))
    for column in prepare.thresholds or {}:
        if column not in frame.columns:
            raise WrongUse(str(no_such_column(source, column, frame.columns, "--threshold")))
    frame = frame.drop(columns=list(ignore))
    if not frame.shape[1]:
        raise WrongUse("No columns are left beside the classes and those that are ignored; at least one is needed.")
    with user_mistakes():
        X = prepare.items_of(frame, fit=True)
    return Items(X, table, prepare.item_names_, prepare)


def read_items(path: Path, given: dict[str, Any], notes: Notes, otherwise: str | None = None) -> Items:
    """Read a file and make items of its columns, as the options say.

    ``otherwise`` says what else could be done without classes, where they are needed.
    """
    reading = {name: given[name] for name in names_of(READING)}
    notes.say(f"Reading {path} ...")
    with user_mistakes():
        table = read(path, **reading)
    if table.y is None and otherwise is not None:
        raise WrongUse(_without_classes(path, table, otherwise))
    if table.y is not None and table.y.dtype.kind == "f" and (table.y % 1 != 0).any():
        raise WrongUse(
            f"{path}: the classes of --target {given['target']} are numbers such as {table.y[0]}; cut them first."
        )
    n_classes = 0 if table.y is None else len(set(table.y.tolist()))
    if n_classes > max(MOST_CLASSES, table.shape[0] // 5) and otherwise is not None:
        raise WrongUse(
            f"{path}: there are {n_classes:,} classes for {table.shape[0]:,} rows, too many to compare; does "
            f"{'--labels' if given['labels'] else '--target'} name what is meant?"
        )
    prepare = Prepare(bins=given["bins"], thresholds=given["thresholds"] or None, missing=given["missing"])
    items = prepare_items(path, table, given["ignore"], prepare)
    if given["binarize"] is not None and items.preparation is not None:
        raise WrongUse("--binarize is for matrices of numbers; columns of a table are cut with --threshold or --bins.")
    classes = f", {n_classes} classes" if n_classes else ""
    notes.say(f"{items.X.shape[0]:,} rows, {items.X.shape[1]:,} items{classes}.")
    if items.preparation is not None and items.preparation.left_out_:
        notes.say(f"Left out, as every row has the same value: {', '.join(items.preparation.left_out_[:10])}.")
    return items


def _without_classes(path: Path, table: Table, otherwise: str) -> str:
    if table.frame is not None:
        # A column of classes has few different texts; where there is none, any may be meant.
        texts = table.frame.select_dtypes(exclude=["number", "bool"])
        likely = [column for column in texts if texts[column].nunique() <= 20] or list(table.frame)
        columns = ", ".join(str(column) for column in likely[:8])
        more = ", ..." if len(likely) > 8 else ""
        return f"Which column of {path} holds the classes, {columns}{more}? Name it with --target{otherwise}."
    return f"{path} says nothing about classes; name a file that does with --labels{otherwise}."


def about(path: Path, items: Items, given: dict[str, Any]) -> dict[str, Any]:
    """Say what the data is, for the report and for new data."""
    return {"source": path.name, "kind": items.table.kind, "reading": reading_options(given)}


def reading_options(given: dict[str, Any]) -> dict[str, Any]:
    """Keep what was said about the file and will hold for new data, in plain values."""
    return {name: str(value) for name, value in given.items() if name in _LASTING and value is not None}


def read_for_model(path: Path, model: Any, given: dict[str, Any], notes: Notes) -> tuple[Any, Table]:
    """Read new data and bring it into the columns of the model."""
    with user_mistakes():
        table = _read_alike(path, model.about_, {name: value for name, value in given.items() if value is not None})
        if model.preparation_ is None:
            return _aligned(table, model, path, notes), table
        if table.frame is None:
            raise WrongUse(
                f"{path} is a matrix, but the model was made from a table; give it one with the same columns."
            )
        return model.preparation_.items_of(table.frame), table


def _read_alike(path: Path, about: dict[str, Any], given: dict[str, Any]) -> Table:
    """Read a file as the data of the fit was read, as far as that can be said of it."""
    before = about.get("reading", {})
    if path.exists():
        if path.is_dir() or has_known_suffix(path):
            # What kind of file it is, it says itself; documents in a folder are in no column.
            before = {name: value for name, value in before.items() if name != ("text" if path.is_dir() else "format")}
        name = (before | given).get("format")
        accepted = format_of(path, name, "text" in (given | before)).options | {"format"}
        before = {name: value for name, value in before.items() if name in accepted}
        if about.get("kind") == "words" and "min_docs" in accepted:
            # The model knows which words count; a single new document has them once.
            before["min_docs"] = 1
    try:
        return read(path, **(before | given))
    except ReadError:
        # New rows need no names and no groups.
        needed = {name: value for name, value in before.items() if name not in ("row_names", "group")}
        if needed == before:
            raise
        return read(path, **(needed | given))


def _aligned(table: Table, model: Any, path: Path, notes: Notes) -> Any:
    """Bring the columns into the order of the model by their names: unknown ones go, absent ones are zero.

    In a list of what there is, as words or alterations, what is absent is not there; a table that lacks columns is
    another table.
    """
    known, names = model._item_names, table.item_names
    cells = table.X if table.frame is None else table.frame.to_numpy()
    if known is None or names is None:
        if table.shape[1] != model.n_features_in_:
            raise WrongUse(
                f"{path} has {table.shape[1]} columns, but the model has {model.n_features_in_}; give it the same ones."
            )
        return cells
    position = {str(name): k for k, name in enumerate(names)}
    wanted = np.array([position.get(str(name), -1) for name in known])
    there = np.flatnonzero(wanted >= 0)
    absent = len(known) - len(there)
    if not len(there) or (absent and table.frame is not None):
        first = known[np.flatnonzero(wanted < 0)[0]]
        more = f" (and {absent - 1:,} others)" if absent > 1 else ""
        raise WrongUse(
            f"{path} lacks the item {first!r}{more} of the model; check the names, or save the model with what "
            "prepares its columns (model.preparation_)."
        )
    if absent:
        notes.say(f"{absent:,} of the model's {len(known):,} items do not occur.")
    if len(there) < len(names):
        notes.say(f"{len(names) - len(there):,} items that the model does not know are left out.")
    picker = sp.csr_array((np.ones(len(there), dtype=np.int8), (wanted[there], there)), shape=(len(names), len(known)))
    aligned = cells @ picker
    return aligned if isinstance(cells, np.ndarray) else sp.csr_array(aligned)


def row_names_of(table: Table) -> list[str]:
    """Return the names of the rows, or their numbers from 0."""
    if table.row_names is not None:
        return [str(name) for name in table.row_names]
    return [str(row) for row in range(table.shape[0])]
