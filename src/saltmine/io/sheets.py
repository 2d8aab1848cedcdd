"""Files beside the data: the classes of its rows, and the names of its items."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import likely_separator, lines_of, read_text, records, suffix_of
from saltmine.io.naming import no_such_column
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

_CLASS_COLUMNS = ("class", "label", "target", "y")
_GROUP_COLUMNS = ("patient", "group", "subject", "donor")


@dataclass(frozen=True)
class Sheet:
    """Classes of the rows, what rows belong together, and the names of the rows, where the file has them."""

    y: NDArray[Any]
    groups: NDArray[Any] | None = None
    row_names: NDArray[Any] | None = None


class _Line(NamedTuple):
    number: int
    fields: list[str]


def read_names(path: str | PathLike[str], n_items: int | None = None, what: str = "columns") -> NDArray[Any]:
    """Read one name per line, all different; there must be as many as the data has columns, where that is known."""
    names = [line.strip() for line in lines_of(read_text(Path(path)))]
    while names and not names[-1]:
        names.pop()
    if n_items is not None and len(names) != n_items:
        raise ReadError(
            f"{path} has {len(names)} names, but the data has {n_items} {what}; give each of them one name."
        )
    for number, name in enumerate(names, start=1):
        if not name:
            raise ReadError(f"{path}, line {number}: the name is empty; give the item a name.")
    distinct = as_names(names)
    demand_distinct(distinct, "items", str(path))
    return distinct


def labelled(
    table: Table,
    path: Path,
    labels: str | PathLike[str] | None,
    target: str | int | None = None,
    group: str | int | None = None,
) -> Table:
    """Return a table whose own file has no classes with those of a label file, if one is given."""
    if labels is None:
        for what, name in (("target", target), ("group", group)):
            if name is not None:
                raise ReadError(
                    f"{path} holds items only, so it has no column {str(name)!r} for {what}; give the file that has it "
                    "(labels=..., --labels)."
                )
        return table
    sheet = read_sheet(labels, table.shape[0], table.row_names, target, group)
    groups = sheet.groups if table.groups is None else table.groups
    return replace(table, y=sheet.y, groups=groups, row_names=sheet.row_names)


def read_sheet(
    path: str | PathLike[str],
    n_rows: int,
    row_names: NDArray[Any] | None = None,
    target: str | int | None = None,
    group: str | int | None = None,
) -> Sheet:
    """Read the classes of the rows.

    A file with one column has one label per row, in order. Otherwise it is a table, with commas or semicolons if its
    suffix is .csv and else with tabs, with or without a header: where the rows of the data have names its first column
    (that is not the class) says which row a line is about, in any order, and else its lines are the rows in order.
    """
    path = Path(path)
    lines = _lines(path)
    first = lines[0].fields
    header = first if _is_header(lines, row_names, target, n_rows) else None
    body = lines[1:] if header else lines
    if not body:
        raise ReadError(f"{path} has no rows below its header; give every row of the data a label.")
    width = len(first)
    class_column = _class_column(path, header, width, target)
    group_column = _group_column(path, header, width, group, class_column)
    name_column = 1 if class_column == 0 else 0
    names: NDArray[Any] | None = row_names
    if row_names is not None and width > 1:
        body = _in_order(path, body, row_names, name_column)
    elif len(body) != n_rows:
        raise ReadError(f"{path} has {len(body)} labels, but the data has {n_rows} rows; give every row one label.")
    elif row_names is None and width > 1:
        names = _distinct_or_none(body, name_column)
    y = np.array(_column(path, body, class_column, "label"), dtype=str)
    groups = None if group_column is None else as_names(_column(path, body, group_column, "group"))
    return Sheet(y, groups, names)


def _lines(path: Path) -> list[_Line]:
    text = read_text(path)
    candidates = ",;" if suffix_of(path) == ".csv" else "\t"
    separator = likely_separator(text.partition("\n")[0], candidates)
    found = records(io.StringIO(text, newline=""), path, separator, strict=True)
    lines = [_Line(number, [field.strip() for field in fields] or [""]) for number, fields in found]
    while lines and not any(lines[-1].fields):
        lines.pop()
    if not lines:
        raise ReadError(f"{path} is empty; it should hold the label of every row.")
    if any(len(fields) > 1 for _, fields in lines):
        # In a table a blank line says nothing; in a list of labels it is a row without one.
        lines = [line for line in lines if any(line.fields)]
    width = len(lines[0].fields)
    for number, fields in lines:
        if len(fields) != width:
            raise ReadError(f"{path}, line {number}: {len(fields)} fields where the first line has {width}.")
    return lines


def _is_header(lines: list[_Line], row_names: NDArray[Any] | None, target: str | int | None, n_rows: int) -> bool:
    """Tell whether the first line names the columns and is no row itself."""
    first = lines[0].fields
    if target is not None and str(target) in first and not str(target).isdigit():
        return True
    if row_names is not None and len(first) > 1:
        # A line about a row that the data does not have has values that other lines have too; a header has not.
        recurs = any(first[k] == fields[k] for _, fields in lines[1:] for k in range(len(first)))
        return set(first).isdisjoint(row_names) and not recurs
    looks_so = any(field.lower() in (*_CLASS_COLUMNS, *_GROUP_COLUMNS) for field in first)
    return looks_so and len(lines) == n_rows + 1


def _class_column(path: Path, header: list[str] | None, width: int, target: str | int | None) -> int:
    if target is not None:
        return _position(path, header, width, target, "target")
    for name in _CLASS_COLUMNS if header else ():
        found = [k for k, field in enumerate(header or []) if field.lower() == name]
        if found:
            return found[0]
    return width - 1


def _group_column(path: Path, header: list[str] | None, width: int, group: str | int | None, taken: int) -> int | None:
    if group is not None:
        return _position(path, header, width, group, "group")
    if header is None:
        return 1 if width == 3 and taken == 2 else None
    found = [k for k, field in enumerate(header) if field.lower() in _GROUP_COLUMNS and k != taken]
    return found[0] if found else None


def _position(path: Path, header: list[str] | None, width: int, name: str | int, what: str) -> int:
    if header and str(name) in header:
        return header.index(str(name))
    if str(name).isdigit() and 1 <= int(name) <= width:
        return int(name) - 1
    if header:
        raise no_such_column(path, name, header, what)
    raise ReadError(
        f"{path} has no column {str(name)!r} for {what}: it has no header, so its columns are counted, 1 to {width}."
    )


def _in_order(path: Path, body: list[_Line], row_names: NDArray[Any], column: int) -> list[_Line]:
    """Bring the lines into the order of the rows; lines about other rows are left out."""
    by_name: dict[str, _Line] = {}
    for line in body:
        name = line.fields[column]
        if name in by_name:
            raise ReadError(
                f"{path}, line {line.number}: the row {name!r} has a label already; remove one of the lines."
            )
        by_name[name] = line
    for name in row_names:
        if name not in by_name:
            raise ReadError(f"{path} has no label for the row {name!r} of the data; add a line for it.")
    return [by_name[name] for name in row_names]


def _distinct_or_none(body: list[_Line], column: int) -> NDArray[Any] | None:
    """Take a column for names of the rows where its values are all different."""
    names = as_names([line.fields[column] for line in body])
    return names if len(set(names)) == len(names) else None


def _column(path: Path, body: list[_Line], column: int, what: str) -> list[str]:
    for line in body:
        if not line.fields[column]:
            raise ReadError(f"{path}, line {line.number}: the {what} is empty; give the row one or remove it.")
    return [line.fields[column] for line in body]
