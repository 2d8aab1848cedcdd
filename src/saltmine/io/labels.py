"""Classes, groups and names of the rows, from columns of the data or from a label file; names of the items."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import ReadError, choose_separator, load_lines, load_text, reading, records, suffix_of
from saltmine.io.table import ColumnArg, PathArg, Table, no_such_column
from saltmine.names import as_text, check_distinct

if TYPE_CHECKING:
    import pandas as pd

_CLASS_COLUMNS = ("class", "label", "target", "y")
_GROUP_COLUMNS = ("patient", "group", "subject", "donor")


class RowLabels(NamedTuple):
    """Classes, groups and names of the rows; None if the file does not have them."""

    y: NDArray[Any]
    groups: NDArray[Any] | None
    row_names: NDArray[Any] | None


class _Line(NamedTuple):
    number: int
    fields: list[str]


def read_names(path: str | PathLike[str], n_items: int | None = None) -> NDArray[Any]:
    """Return the names of the items, one per line and distinct; if ``n_items`` is given, there must be as many."""
    with reading(path):
        names = load_lines(path)
        while names and not names[-1]:
            names.pop()
        if n_items is not None and len(names) != n_items:
            raise ReadError(f"there are {len(names)} names, but the data has {n_items} columns; give each one name.")
        if "" in names:
            raise ReadError("the name is empty; give the item a name.", names.index("") + 1)
        check_distinct(names, "items", ReadError)
        return as_text(names)


def with_labels(table: Table, labels: PathArg, target: ColumnArg = None, group: ColumnArg = None) -> Table:
    """Return a table with the classes of a label file, if one is given; its own file has no columns for them."""
    if labels is None:
        for what, name in (("target", target), ("group", group)):
            if name is not None:
                problem = f"there are only items, no column {str(name)!r} for {what}"
                raise ReadError(f"{problem}; give a file with it (labels, --labels).")
        return table
    found = read_labels(labels, table.shape[0], table.row_names, target, group)
    groups = found.groups if table.groups is None else table.groups
    return replace(table, y=found.y, groups=groups, row_names=found.row_names)


def table_of_frame(
    frame: pd.DataFrame,
    place: Callable[[int], str],
    names: NDArray[Any] | None,
    *,
    target: ColumnArg,
    row_names: str | None,
    group: ColumnArg,
    labels: PathArg,
) -> Table:
    """Return a table whose classes, groups and row names are taken out of the columns of a frame.

    Parameters
    ----------
    frame : DataFrame
        All columns of the file, with text as names.
    place : callable
        Returns the place in the file of a row, counted from 0: "line 7".
    names : (m,) array or None
        Names of the rows that are not a column of the frame.
    target, row_names, group : str, optional
        Columns; with ``labels``, target and perhaps group are columns of the label file.
    labels : path, optional
        Label file.
    """
    columns: dict[str, ColumnArg] = {"row_names": row_names, "target": target if labels is None else None}
    if labels is None or str(group) in frame.columns:
        columns["group"], group = group, None
    taken = _take_columns(frame, {what: str(name) for what, name in columns.items() if name is not None}, place)
    if frame.shape[1] == 0:
        raise ReadError("there are no columns besides the classes, names and groups of the rows; add items.")
    names = as_text(taken["row_names"]) if "row_names" in taken else names
    if names is not None:
        check_distinct(names, "rows", ReadError)
    groups = as_text(taken["group"]) if "group" in taken else None
    table = Table(frame, taken.get("target"), names, as_text(frame.columns), groups)
    return table if labels is None else with_labels(table, labels, target, group)


def _take_columns(frame: pd.DataFrame, columns: dict[str, str], place: Callable[[int], str]) -> dict[str, NDArray[Any]]:
    """Remove columns from the frame; return each, by its purpose, as an array of numbers or text without gaps."""
    used: dict[str, str] = {}
    for what, name in columns.items():
        if name not in frame.columns:
            raise no_such_column(None, name, frame.columns, what)
        if used.setdefault(name, what) != what:
            raise ReadError(f"the column {name!r} cannot be both {used[name]} and {what}; name another one.")
    titles = {"target": "label", "row_names": "name of the row", "group": "group"}
    taken = {}
    for what, name in columns.items():
        column = frame.pop(name)
        missing = column.isna().to_numpy()
        if missing.any():
            problem = f"the {titles[what]} in column {name!r} is missing (empty, NA or ?); add it or remove the row."
            raise ReadError(problem, place(int(missing.argmax())))
        values = np.asarray(column)
        taken[what] = values if values.dtype.kind in "biuf" else as_text(values).astype(str)
    return taken


def read_labels(
    path: str | PathLike[str],
    n_rows: int,
    row_names: NDArray[Any] | None = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
) -> RowLabels:
    """Return the classes of the rows from a label file.

    A file with one column has one label per row, in order. A file with more columns is a table, separated by commas or
    semicolons if its suffix is .csv and else by tabs, with or without a header. If the rows of the data have names, the
    first column that is not the class names the row, in any order. Otherwise the lines are in the order of the rows.
    """
    path = Path(path)
    with reading(path):
        lines = _lines(path)
        first = lines[0].fields
        header = first if _is_header(lines, row_names, target, n_rows) else None
        body = lines[1:] if header else lines
        if not body:
            raise ReadError("there are no rows below the header; give every row of the data a label.")
        width = len(first)
        class_column, group_column = _class_and_group_columns(header, width, target, group)
        name_column = 1 if class_column == 0 else 0
        names: NDArray[Any] | None = row_names
        if row_names is not None and width > 1:
            body = _in_order(body, row_names, name_column)
        elif len(body) != n_rows:
            raise ReadError(f"there are {len(body)} labels, but the data has {n_rows} rows; give every row one label.")
        elif row_names is None and width > 1:
            names = as_text(line.fields[name_column] for line in body)
            names = names if len(set(names)) == len(names) else None
        y = np.array(_column(body, class_column, "label"), dtype=str)
        groups = None if group_column is None else as_text(_column(body, group_column, "group"))
        return RowLabels(y, groups, names)


def _lines(path: Path) -> list[_Line]:
    text = load_text(path)
    separator = choose_separator(None, text.partition("\n")[0], ",;" if suffix_of(path) == ".csv" else "\t")
    found = records(io.StringIO(text, newline=""), separator, strict=True)
    lines = [_Line(number, [field.strip() for field in fields] or [""]) for number, fields in found]
    while lines and not any(lines[-1].fields):
        lines.pop()
    if not lines:
        raise ReadError("the file is empty; it should hold the label of every row.")
    if any(len(line.fields) > 1 for line in lines):
        # Blank lines are ignored in a table; in a list of labels each is a row without label.
        lines = [line for line in lines if any(line.fields)]
    width = len(lines[0].fields)
    for line in lines:
        if len(line.fields) != width:
            raise ReadError(f"{len(line.fields)} fields where the first line has {width}.", line.number)
    return lines


def _is_header(lines: list[_Line], row_names: NDArray[Any] | None, target: ColumnArg, n_rows: int) -> bool:
    """Return whether the first line names the columns and is not a row itself."""
    first = lines[0].fields
    if target is not None and str(target) in first and not str(target).isdigit():
        return True
    if row_names is not None and len(first) > 1:
        # A line about a row that the data does not have shares values with other lines; a header does not.
        recurs = any(first[k] == fields[k] for _, fields in lines[1:] for k in range(len(first)))
        return set(first).isdisjoint(row_names) and not recurs
    has_known_name = any(field.lower() in (*_CLASS_COLUMNS, *_GROUP_COLUMNS) for field in first)
    return has_known_name and len(lines) == n_rows + 1


def _class_and_group_columns(
    header: list[str] | None, width: int, target: ColumnArg, group: ColumnArg
) -> tuple[int, int | None]:
    lower = [field.lower() for field in header or []]
    if target is not None:
        class_column = _position(header, width, target, "target")
    else:
        class_column = next((lower.index(name) for name in _CLASS_COLUMNS if name in lower), width - 1)
    if group is not None:
        return class_column, _position(header, width, group, "group")
    if header is None:
        return class_column, 1 if width == 3 and class_column == 2 else None
    found = (k for k, field in enumerate(lower) if field in _GROUP_COLUMNS and k != class_column)
    return class_column, next(found, None)


def _position(header: list[str] | None, width: int, name: str | int, what: str) -> int:
    if header and str(name) in header:
        return header.index(str(name))
    if str(name).isdigit() and 1 <= int(name) <= width:
        return int(name) - 1
    if header:
        raise no_such_column(None, name, header, what)
    problem = f"there is no column {str(name)!r} for {what}"
    raise ReadError(f"{problem}: without a header, columns are numbered 1 to {width}.")


def _in_order(body: list[_Line], row_names: NDArray[Any], column: int) -> list[_Line]:
    """Return the lines in the order of the rows, without lines about other rows."""
    by_name: dict[str, _Line] = {}
    for line in body:
        if by_name.setdefault(name := line.fields[column], line) is not line:
            raise ReadError(f"the row {name!r} has a label already; remove one of the lines.", line.number)
    for name in row_names:
        if name not in by_name:
            raise ReadError(f"there is no label for the row {name!r} of the data; add a line for it.")
    return [by_name[name] for name in row_names]


def _column(body: list[_Line], column: int, what: str) -> list[str]:
    for line in body:
        if not line.fields[column]:
            raise ReadError(f"the {what} is empty; give the row one or remove it.", line.number)
    return [line.fields[column] for line in body]
