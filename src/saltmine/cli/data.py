"""Read files, prepare their columns for estimators, and align new data with the columns of a model."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.cli.errors import WrongUse, user_mistakes
from saltmine.cli.output import Notes
from saltmine.data.labels import only_class
from saltmine.fitted.model_schema import READING
from saltmine.io import ReadError, Table, read
from saltmine.io.class_files import ClassFiles
from saltmine.io.labels import with_labels
from saltmine.io.registry import format_of, has_known_suffix
from saltmine.io.table import no_such_column
from saltmine.names import quoted, shorten
from saltmine.nouns import counted
from saltmine.preprocessing import Prepare

# With more classes than this and fewer than five rows per class, the labels are probably not classes.
MAX_CLASSES = 20
# Classes whose rows are counted in the terminal.
_SHOWN_CLASSES = 10


@dataclass(frozen=True)
class Items:
    """A matrix ready for an estimator, the table it was made from, its item names, and how it was prepared."""

    X: Any
    table: Table
    item_names: NDArray[Any] | None
    preparation: Prepare | None
    n_classes: int


def _prepare_items(source: Path | ClassFiles, table: Table, given: dict[str, Any], n_classes: int) -> Items:
    """Return the items of a table's columns; a matrix is taken as it is."""
    prepare = Prepare(
        bins=given["bins"], thresholds=given["thresholds"] or None, cuts=given["cuts"], missing=given["missing"]
    )
    frame, ignore = table.frame, given["ignore"]
    if frame is None:
        matrix = "but this file holds a matrix; leave"
        if prepare.get_params() != Prepare().get_params():
            raise WrongUse(f"--threshold, --bins, --cuts and --missing are for tables, {matrix} them out.")
        if ignore:
            raise WrongUse(f"--ignore {ignore[0]} names a column of a table, {matrix} it out.")
        return Items(table.X, table, table.item_names, None, n_classes)
    for option, columns in (("--ignore", ignore), ("--threshold", prepare.thresholds or {})):
        for column in columns:
            if column not in frame.columns:
                raise WrongUse(str(no_such_column(str(source), column, frame.columns, option)))
    frame = frame.drop(columns=list(ignore))
    if not frame.shape[1]:
        raise WrongUse("No columns are left beside the classes and those that are ignored; at least one is needed.")
    with user_mistakes():
        X = prepare.items_of(frame, fit=True)
    if given["binarize"] is not None:
        raise WrongUse("--binarize is for matrices of numbers; columns of a table are cut with --threshold or --bins.")
    return Items(X, table, prepare.item_names_, prepare, n_classes)


def read_items(path: Path | ClassFiles, given: dict[str, Any], notes: Notes, otherwise: str | None = None) -> Items:
    """Return the items of a file, read and prepared as the options say.

    Where classes are needed, ``otherwise`` is the end of the message that asks for them.
    """
    reading = {name: given[name] for name in signature(read).parameters if name != "path"}
    notes.say(f"Reading {path} ...")
    with user_mistakes():
        table = read(path, **reading)
    if table.y is None and otherwise is not None:
        raise WrongUse(_without_classes(path, table, otherwise))
    if table.y is not None and table.y.dtype.kind == "f" and (table.y % 1 != 0).any():
        classes = f"the classes of --target {given['target']}"
        raise WrongUse(f"{path}: {classes} are numbers such as {table.y[0]}; cut them first.")
    n_classes = 0 if table.y is None else len(set(table.y.tolist()))
    if table.y is not None and n_classes == 1 and otherwise is not None:
        raise WrongUse(f"{path}: {only_class(str(table.y[0]))}{otherwise}.")
    if n_classes > max(MAX_CLASSES, table.shape[0] // 5) and otherwise is not None:
        many = f"there are {n_classes:,} classes for {table.shape[0]:,} rows, too many to compare"
        raise WrongUse(f"{path}: {many}; does {'--labels' if given['labels'] else '--target'} name what is meant?")
    items = _prepare_items(path, table, given, n_classes)
    _say_notes(table, notes)
    notes.say(_sizes(items))
    if items.preparation is not None and items.preparation.left_out_:
        notes.say(
            f"Left out, as every row has the same value: {', '.join(map(shorten, items.preparation.left_out_[:10]))}."
        )
    return items


def _say_notes(table: Table, notes: Notes) -> None:
    for note in table.notes:
        notes.say(note)


def _sizes(items: Items) -> str:
    """Return the numbers of rows, items and classes, and the rows of every class."""
    rows, groups = counted(items.X.shape[0], "row"), items.table.groups
    if groups is not None:
        rows += f" of {counted(len(set(groups.tolist())), items.table.group_name or 'group')}, which tests count"
    parts = [rows, counted(items.X.shape[1], "item")]
    if items.table.y is None:
        return f"{', '.join(parts)}."
    of_classes = Counter(str(label) for label in items.table.y.tolist())
    listed, largest = sorted(of_classes.items()), ""
    if len(listed) > _SHOWN_CLASSES:
        listed, largest = of_classes.most_common(_SHOWN_CLASSES), " (the largest)"
    sizes = ", ".join(f"{shorten(label)} {count:,}" for label, count in listed)
    return f"{', '.join(parts)}, {counted(len(of_classes), 'class')}{largest}: {sizes}."


def _without_classes(path: Path | ClassFiles, table: Table, otherwise: str) -> str:
    if table.frame is not None:
        # A column of classes has few different texts; without such a column, any may be meant.
        texts = table.frame.select_dtypes(exclude=["number", "bool"])
        likely = [column for column in texts if texts[column].nunique() <= 20] or list(table.frame)
        columns = ", ".join(shorten(column) for column in likely[:8])
        more = ", ..." if len(likely) > 8 else ""
        return f"Which column of {path} holds the classes, {columns}{more}? Name it with --target{otherwise}."
    files = "name a file that does with --labels, or give one file per class as CLASS=FILE"
    if otherwise:
        files = files.replace(", or", ",")
    return f"{path} holds no classes; {files}{otherwise}."


def about(path: Path | ClassFiles, items: Items, given: dict[str, Any]) -> dict[str, Any]:
    """Return facts about the data for the report, and the options with which to read new data."""
    lasting = {name: given[name] for name in READING if given.get(name) is not None}
    reading = {name: v if isinstance(v, bool) else _whole_characters(str(v)) for name, v in lasting.items()}
    facts: dict[str, Any] = {"source": _whole_characters(path.name), "kind": items.table.kind, "reading": reading}
    if given.get("image"):
        (height, width), n = given["image"], items.X.shape[1]
        if height * width != n:
            raise WrongUse(f"--image {height}x{width} has {height * width} pixels, but the data has {n} items.")
        facts |= {"kind": "pixels", "image": given["image"]}
    return facts | ({"title": _whole_characters(given["title"])} if given.get("title") else {})


def _whole_characters(text: str) -> str:
    r"""Return text that every file can hold: a file may have a name that is not text in the encoding of the system.

    Examples
    --------
    >>> _whole_characters("caf\udce9.csv")
    'caf?.csv'
    """
    return text.encode(errors="replace").decode()


def read_for_model(
    path: Path | ClassFiles, model: Any, given: dict[str, Any], notes: Notes, new_rows: bool = True
) -> tuple[Any, Table]:
    """Return data with the columns of the model, and the table that was read.

    A sample sheet may list more samples than new data has; those of the fit, without ``new_rows``, are rows.
    """
    given = {name: value for name, value in given.items() if value is not None}
    with user_mistakes():
        table = _read_like_fit(path, model.about_, given, _read_new if new_rows else read)
        _say_notes(table, notes)
        if model.preparation_ is None:
            return _aligned(table, model, path, notes), table
        if table.frame is None:
            raise WrongUse(
                f"{path} is a matrix, but the model was made from a table; give it one with the same columns."
            )
        return _items_like_fit(model.preparation_, table, notes), table


def _items_like_fit(preparation: Prepare, table: Table, notes: Notes) -> Any:
    """Return the items of new data; warnings about its values become notes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        X = preparation.items_of(table.frame)
    for warning in found:
        notes.say(str(warning.message))
    return X


def _read_like_fit(
    path: Path | ClassFiles, about: dict[str, Any], given: dict[str, Any], read_table: Callable[..., Table]
) -> Table:
    """Return the table of a file, read like the data of the fit as far as its format allows."""
    # No path is among these options: which files are opened is up to the command line alone.
    before = {name: value for name, value in about.get("reading", {}).items() if name in READING}
    first = _first(path)
    if first.exists():
        if first.is_dir() or has_known_suffix(first):
            # The suffix tells the format; documents in a folder are in no column.
            before = {name: value for name, value in before.items() if name != ("text" if first.is_dir() else "format")}
        name = (before | given).get("format")
        accepted = format_of(first, name, "text" in (given | before)).options | {"format"}
        before = {name: value for name, value in before.items() if name in accepted}
        if about.get("kind") == "words" and "min_docs" in accepted:
            # The model has chosen its words; a single new document may have each of them once.
            before["min_docs"] = 1
    try:
        return read_table(path, **(before | given))
    except ReadError:
        # New rows need no names and no groups.
        needed = {name: value for name, value in before.items() if name not in ("row_names", "group")}
        if needed == before:
            raise
        return read_table(path, **(needed | given))


def _read_new(path: Path | ClassFiles, **options: Any) -> Table:
    """Return the table of new data; samples that only the sample sheet has are left out, also of mutations."""
    labels, first = options.get("labels"), _first(path)
    if labels is None or not first.exists() or format_of(first, options.get("format"), "text" in options).name != "maf":
        return read(path, **options)
    of_sheet = {name: options.pop(name) for name in ("labels", "target", "group", "drop_unlabelled") if name in options}
    return with_labels(read(path, **options), **of_sheet)


def _first(path: Path | ClassFiles) -> Path:
    return next(iter(path.values())) if isinstance(path, ClassFiles) else path


def _aligned(table: Table, model: Any, path: Path | ClassFiles, notes: Notes) -> Any:
    """Return the columns in the order of the model, matched by name: unknown ones are dropped, absent ones are zero.

    Items that are absent from a list of words or alterations do not occur; a table that lacks columns is refused.
    """
    known, names = model._item_names, table.item_names
    cells = table.X if table.frame is None else table.frame.to_numpy()
    if known is None or names is None:
        n, expected = table.shape[1], model.n_features_in_
        if n != expected:
            raise WrongUse(f"{path} has {n} columns, but the model has {expected}; give it the same ones.")
        return cells
    position = {str(name): k for k, name in enumerate(names)}
    wanted = np.array([position.get(str(name), -1) for name in known])
    present = np.flatnonzero(wanted >= 0)
    absent = len(known) - len(present)
    if not len(present) or (absent and table.frame is not None):
        more = f" (and {absent - 1:,} others)" if absent > 1 else ""
        lacking = f"{path} lacks the item {quoted(known[wanted < 0][0])}{more} of the model"
        remedy = "check the names, or save the model with what prepares its columns (model.preparation_)"
        raise WrongUse(f"{lacking}; {remedy}.")
    if absent:
        notes.say(f"{absent:,} of the model's {len(known):,} items do not occur.")
    if len(present) < len(names):
        notes.say(f"{len(names) - len(present):,} items that the model does not know are left out.")
    ones = np.ones(len(present), dtype=np.int8)
    picker = sp.csr_array((ones, (wanted[present], present)), shape=(len(names), len(known)))
    return cells @ picker if isinstance(cells, np.ndarray) else sp.csr_array(cells @ picker)


def row_names_of(table: Table) -> list[str]:
    """Return the names of the rows, or their numbers from 0."""
    return [str(name) for name in (range(table.shape[0]) if table.row_names is None else table.row_names)]
