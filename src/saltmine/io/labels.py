"""Classes, groups and names of the rows, from columns of the data or from a label file; names of the items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import ReadError, load_lines, reading
from saltmine.io.label_file import read_labels
from saltmine.io.table import DROP_UNLABELLED, ColumnArg, PathArg, Table, no_such_column, rows_of, without_class
from saltmine.names import as_text, check_distinct

if TYPE_CHECKING:
    import pandas as pd


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


def with_labels(
    table: Table,
    labels: PathArg,
    target: ColumnArg = None,
    group: ColumnArg = None,
    *,
    drop_unlabelled: bool = False,
    add_rows: bool = False,
) -> Table:
    """Return a table with the classes of a label file, if one is given; its own file has no columns for them.

    Classes that the table has already must agree. With ``drop_unlabelled``, rows without a class are left out. With
    ``add_rows``, rows that only the label file has become rows without items.
    """
    if labels is None:
        for what, name in (("target", target), ("group", group)):
            if name is not None:
                problem = f"there are only items, no column {str(name)!r} for {what}"
                raise ReadError(f"{problem}; give a file with it (labels, --labels).")
        return table
    settings: dict[str, Any] = {"classes": table.y, "drop_unlabelled": drop_unlabelled, "add_rows": add_rows}
    found = read_labels(labels, table.shape[0], table.row_names, target, group, **settings)
    groups, group_name = found.groups, found.group_name
    if table.groups is not None:
        groups, group_name = table.groups[found.rows], table.group_name
    return replace(
        table,
        X=rows_of(table.X, found.rows),
        y=found.y,
        groups=groups,
        group_name=group_name,
        row_names=found.row_names,
        notes=table.notes + found.notes,
    )


def table_of_frame(
    frame: pd.DataFrame,
    place: Callable[[int], str],
    names: NDArray[Any] | None,
    *,
    target: ColumnArg,
    row_names: str | None,
    group: ColumnArg,
    labels: PathArg,
    drop_unlabelled: bool = False,
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
    drop_unlabelled : bool
        Leave out rows without a class.
    """
    columns: dict[str, ColumnArg] = {"row_names": row_names, "target": target if labels is None else None}
    if labels is None or str(group) in frame.columns:
        columns["group"], group = group, None
    purposes = {what: str(name) for what, name in columns.items() if name is not None}
    n_rows = len(frame)
    if drop_unlabelled and purposes.get("target") in frame.columns:
        kept = np.flatnonzero(frame[purposes["target"]].notna())
        frame, names = frame.iloc[kept].reset_index(drop=True), None if names is None else names[kept]
        in_file, place = place, lambda row: in_file(int(kept[row]))
        if not len(kept):
            raise ReadError(f"no row has a class in column {purposes['target']!r}; name another column (--target).")
    notes = without_class(n_rows - len(frame))
    taken = _take_columns(frame, purposes, place)
    if notes and taken["target"].dtype.kind == "f" and (taken["target"] % 1 == 0).all():
        # Whole numbers with gaps are read as numbers with a decimal point; the gaps are left out now.
        taken["target"] = taken["target"].astype(np.int64)
    if frame.shape[1] == 0:
        raise ReadError("there are no columns besides the classes, names and groups of the rows; add items.")
    names = as_text(taken["row_names"]) if "row_names" in taken else names
    if names is not None:
        check_distinct(names, "rows", ReadError)
    groups = as_text(taken["group"]) if "group" in taken else None
    table = Table(frame, taken.get("target"), names, as_text(frame.columns), groups, notes=notes)
    table = replace(table, group_name=purposes.get("group"))
    return table if labels is None else with_labels(table, labels, target, group, drop_unlabelled=drop_unlabelled)


def _take_columns(frame: pd.DataFrame, columns: dict[str, str], place: Callable[[int], str]) -> dict[str, NDArray[Any]]:
    """Remove columns from the frame; return each, by its purpose, as an array of numbers or text without gaps."""
    used: dict[str, str] = {}
    for what, name in columns.items():
        if name not in frame.columns:
            raise no_such_column(None, name, frame.columns, what)
        if used.setdefault(name, what) != what:
            raise ReadError(f"the column {name!r} cannot be both {used[name]} and {what}; name another one.")
    titles = {"target": "label", "row_names": "name of the row", "group": "group"}
    remedies = {"target": f"give the row a class, {DROP_UNLABELLED}"}
    taken = {}
    for what, name in columns.items():
        column = frame.pop(name)
        missing = column.isna().to_numpy()
        if missing.any():
            problem = f"the {titles[what]} in column {name!r} is missing (empty, NA or ?)"
            raise ReadError(
                f"{problem}; {remedies.get(what, 'add it or remove the row')}.", place(int(missing.argmax()))
            )
        values = np.asarray(column)
        taken[what] = values if values.dtype.kind in "biuf" else as_text(values).astype(str)
    return taken
