"""Label files and sample sheets: the class, the group and the name of every row."""

from __future__ import annotations

import io
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import ReadError, account_of, choose_separator, load_text, reading, records, suffix_of
from saltmine.io.limits import MAX_RATIO_OF_LISTS, TextCost
from saltmine.io.table import DROP_UNLABELLED, ColumnArg, is_missing, no_such_column, without_class
from saltmine.names import as_text
from saltmine.nouns import counted

_CLASS_COLUMNS = ("class", "label", "target", "y")
_GROUPS = ("patient", "group", "subject", "donor", "individual", "participant")
_GROUP_COLUMNS = tuple(f"{name}{end}" for end in ("", "_id", "id", " id") for name in _GROUPS)
_MAX_LISTED = 10
# Memory for a byte and a line: the text, and a list of fields for every line.
_COST = TextCost(byte=10, line=400, longest=20, ratio=MAX_RATIO_OF_LISTS)
# A class of so many samples, none of which is in the data, was forgotten rather than free of mutations.
MANY_SAMPLES = 5


class RowLabels(NamedTuple):
    """Classes, groups and names of rows; None if the file does not have them.

    ``rows`` has the number of each row in the data, -1 for rows that only the label file has, which come last.
    """

    y: NDArray[Any]
    groups: NDArray[Any] | None
    row_names: NDArray[Any] | None
    rows: NDArray[np.intp]
    group_name: str | None = None
    notes: tuple[str, ...] = ()


class _Line(NamedTuple):
    number: int
    fields: list[str]


class _Row(NamedTuple):
    """A row of the data, or -1, with its name, its class as far as the data tells it, and its line."""

    row: int
    name: str
    known_class: str | None
    line: _Line | None


def read_labels(
    path: str | PathLike[str],
    n_rows: int,
    row_names: NDArray[Any] | None = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
    *,
    classes: NDArray[Any] | None = None,
    drop_unlabelled: bool = False,
    add_rows: bool = False,
) -> RowLabels:
    """Return the classes of the rows from a label file.

    A file with one column has one label per row, in order. A file with more columns is a table, separated by commas or
    semicolons if its suffix is .csv and else by tabs, with or without a header. If the rows of the data have names, the
    first column that is not the class names the row, in any order. Otherwise the lines are in the order of the rows.

    The class is in the column ``target``; or in the one called class, label, target or y; or in the only column beside
    the names and the groups.

    Parameters
    ----------
    path : path
    n_rows : int
    row_names : (n_rows,) array of text, optional
    target, group : str or int, optional
        Columns, by name or counted from 1.
    classes : (n_rows,) array of text, optional
        Classes of the rows that are known already: those of the file must agree, and may be missing.
    drop_unlabelled : bool
        Leave out rows without a class or without a line; otherwise they are an error.
    add_rows : bool
        Lines about rows that the data does not have become rows; otherwise they are ignored.
    """
    path = Path(path)
    with reading(path):
        lines = _lines(path)
        header = lines[0].fields if _is_header(lines, row_names, target, n_rows) else None
        body = lines[1:] if header else lines
        if not body:
            raise ReadError("there are no rows below the header; give every row of the data a label.")
        sheet = _Sheet(path.name, header, body, target, group, classes)
        found = sheet.rows(n_rows, row_names, classes, add_rows)
        return sheet.labels(found, drop_unlabelled)


class _Sheet:
    """The lines of a label file, and which column holds what."""

    def __init__(
        self,
        name: str,
        header: list[str] | None,
        body: list[_Line],
        target: ColumnArg,
        group: ColumnArg,
        classes: NDArray[Any] | None,
    ) -> None:
        self.name, self.header, self.body = name, header, body
        self.width = len(body[0].fields)
        self.notes: list[str] = []
        self.has_names = True
        known = None if classes is None else set(classes.tolist())
        self.class_column, self.group_column = self._columns(target, group, known)
        self.name_column = 1 if self.class_column == 0 else 0
        self._note_unused()

    def _note_unused(self) -> None:
        """Note columns that say nothing here, where one may have been meant to say what belongs together."""
        used = {self.class_column, self.name_column if self.width > 1 else None}
        unused = [name for column, name in enumerate(self.header or []) if column not in used]
        if unused and self.group_column is None:
            listed = ", ".join(unused[:_MAX_LISTED]) + (", ..." if len(unused) > _MAX_LISTED else "")
            which = "--group (group) names the column that says what belongs together"
            self.notes.append(f"Not used of {self.name}: {listed}; {which}.")

    def _columns(self, target: ColumnArg, group: ColumnArg, known: set[str] | None) -> tuple[int | None, int | None]:
        """Return the columns of the class and the group; with ``known`` classes, none may have classes."""
        class_column = None if target is None else _position(self.header, self.width, target, "target")
        if group is not None:
            group_column: int | None = _position(self.header, self.width, group, "group")
        else:
            group_column = self._usual_group_column(class_column)
        if class_column is not None or self.width == 1:
            return class_column or 0, group_column
        named = self._called(_CLASS_COLUMNS, group_column)
        candidates = named or [column for column in range(1, self.width) if column != group_column]
        if known is not None and not named:
            # Other columns, as the age of the patient, are no classes that could disagree with the known ones.
            candidates = [column for column in candidates if known & {line.fields[column] for line in self.body}]
            return (candidates[0] if len(candidates) == 1 else None), group_column
        if not candidates and group is None:
            # A sheet with nothing else: the group, as in case and control, is the class.
            candidates, group_column = [self.width - 1], None
        if len(candidates) != 1:
            raise ReadError(self._which(candidates))
        return candidates[0], group_column

    def _usual_group_column(self, class_column: int | None) -> int | None:
        if self.header is None:
            return 1 if self.width == 3 and class_column in (None, 2) else None
        return next(iter(self._called(_GROUP_COLUMNS, class_column)), None)

    def _called(self, names: tuple[str, ...], other: int | None) -> list[int]:
        header = [field.lower() for field in self.header or []]
        return [column for column, field in enumerate(header) if field in names and column != other]

    def _which(self, candidates: list[int]) -> str:
        if not candidates:
            return "there is no column for the classes beside names and groups; add one."
        if self.header is None:
            columns = f"there are {self.width} columns and no header"
            return f"{columns}; say which holds the classes with --target (target), counted from 1."
        names = [self.header[column] for column in candidates]
        listed = ", ".join(names[:_MAX_LISTED]) + (", ..." if len(names) > _MAX_LISTED else "")
        return f"the classes may be in any of the columns {listed}; say which with --target (target)."

    def rows(
        self, n_rows: int, row_names: NDArray[Any] | None, classes: NDArray[Any] | None, add_rows: bool
    ) -> list[_Row]:
        """Return the rows of the data with their lines, and those to add."""
        known = [None] * n_rows if classes is None else [str(label) for label in classes]
        if row_names is None or self.width == 1:
            if len(self.body) != n_rows:
                found = f"there {'is' if len(self.body) == 1 else 'are'} {counted(len(self.body), 'label')}"
                raise ReadError(f"{found}, but the data has {counted(n_rows, 'row')}; give every row one label.")
            names = self._own_names() if row_names is None else row_names
            self.has_names = row_names is not None or (self.width > 1 and len(set(names)) == len(names))
            return [_Row(k, names[k], known[k], line) for k, line in enumerate(self.body)]
        by_name = self._lines_by_name()
        found_rows = [_Row(k, name, known[k], by_name.pop(name, None)) for k, name in enumerate(row_names)]
        if add_rows:
            return found_rows + self._further_rows(by_name, classes)
        if by_name:
            lines = f"{counted(len(by_name), 'line')} of {self.name}"
            self.notes.append(f"Ignored {lines} about rows that the data does not have.")
        return found_rows

    def _own_names(self) -> list[str]:
        if self.width == 1:
            return [str(number) for number in range(1, len(self.body) + 1)]
        return [line.fields[self.name_column] for line in self.body]

    def _lines_by_name(self) -> dict[str, _Line]:
        by_name: dict[str, _Line] = {}
        for line in self.body:
            if by_name.setdefault(name := line.fields[self.name_column], line) is not line:
                raise ReadError(f"the row {name!r} has a label already; remove one of the lines.", line.number)
        return by_name

    def _further_rows(self, by_name: dict[str, _Line], classes: NDArray[Any] | None) -> list[_Row]:
        """Return rows for lines about samples that the data does not have, if their class is one that is wanted."""
        rows = [_Row(-1, name, None, line) for name, line in by_name.items()]
        if classes is None:
            return rows
        wanted = sorted(set(classes.tolist()))
        has_classes = self.class_column is not None
        kept = [row for row in rows if has_classes and row.line and self._label(row.line) in {*wanted, None}]
        if len(kept) < len(rows):
            problem = f"whose class is not {' or '.join(wanted)}" if has_classes else "that no file has"
            self.notes.append(f"Left out {counted(len(rows) - len(kept), 'sample')} of {self.name} {problem}.")
        return kept

    def _label(self, line: _Line) -> str | None:
        value = None if self.class_column is None else line.fields[self.class_column]
        return None if is_missing(value) else value

    def labels(self, rows: list[_Row], drop_unlabelled: bool) -> RowLabels:
        """Return classes, groups and names, after checking that no row lacks them."""
        labels = [self._checked_label(row, drop_unlabelled) for row in rows]
        kept = [row for row, label in zip(rows, labels, strict=True) if label is not None]
        if not kept:
            raise ReadError("no row of the data has a class here; check the names of the rows and the column.")
        added = sum(row.row < 0 for row in kept)
        if added:
            samples = f"{counted(added, 'sample')} of {self.name} without any mutation in the data"
            self.notes.append(f"Kept {samples}, as {'rows' if added > 1 else 'a row'} without items.")
            self._check_empty_classes(rows, labels)
        groups = None if self.group_column is None else as_text(self._group(row) for row in kept)
        return RowLabels(
            y=np.array([label for label in labels if label is not None], dtype=str),
            groups=groups,
            row_names=as_text(row.name for row in kept) if self.has_names else None,
            rows=np.array([row.row for row in kept], dtype=np.intp),
            group_name=None if self.group_column is None or self.header is None else self.header[self.group_column],
            notes=(*self.notes, *without_class(len(rows) - len(kept))),
        )

    def _check_empty_classes(self, rows: list[_Row], labels: list[str | None]) -> None:
        """Refuse large classes of which the data has no row: their file was forgotten, or they belong to other data."""
        present = {label for row, label in zip(rows, labels, strict=True) if row.row >= 0}
        absent = Counter(label for label in labels if label is not None and label not in present)
        for label, count in absent.items():
            if count >= MANY_SAMPLES:
                way_out = f"give its file too, as {label}=FILE, or remove its lines from the sheet"
                problem = f"none of the {count} samples of the class {label!r} has a mutation in the data"
                raise ReadError(f"{problem}; {way_out}.")

    def _checked_label(self, row: _Row, drop_unlabelled: bool) -> str | None:
        """Return the class of a row; None to leave the row out."""
        if row.line is None:
            if drop_unlabelled:
                return None
            raise ReadError(f"there is no line for the row {row.name!r} of the data; add one, {DROP_UNLABELLED}.")
        label = self._label(row.line)
        if label is None and row.known_class is None and not drop_unlabelled:
            written = row.line.fields[self.class_column or 0]
            problem = f"the label of the row {row.name!r} is {repr(written) if written else 'empty'}"
            raise ReadError(f"{problem}; give it a class, {DROP_UNLABELLED}.", row.line.number)
        if None not in (label, row.known_class) and label != row.known_class:
            problem = f"the row {row.name!r} has the class {label!r} here, but is in the file of {row.known_class!r}"
            raise ReadError(f"{problem}; correct one of them.", row.line.number)
        return label if row.known_class is None else row.known_class

    def _group(self, row: _Row) -> str:
        assert row.line is not None  # rows without a line have been refused or left out
        value = row.line.fields[self.group_column or 0]
        if is_missing(value):
            problem = f"the group of the row {row.name!r} is {repr(value) if value else 'empty'}"
            raise ReadError(f"{problem}; give it one, such as the name of the row.", row.line.number)
        return value


def _lines(path: Path) -> list[_Line]:
    text = load_text(path, account_of(path, _COST))
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


def _position(header: list[str] | None, width: int, name: str | int, what: str) -> int:
    if header and str(name) in header:
        return header.index(str(name))
    if str(name).isdigit() and 1 <= int(name) <= width:
        return int(name) - 1
    if header:
        raise no_such_column(None, name, header, what)
    problem = f"there is no column {str(name)!r} for {what}"
    raise ReadError(f"{problem}: without a header, columns are numbered 1 to {width}.")
