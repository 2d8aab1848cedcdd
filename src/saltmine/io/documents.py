"""Where documents come from: folders of files, lines of JSON, columns of tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import likely_separator, lines_of, read_text, records, suffix_of
from saltmine.io.naming import no_such_column
from saltmine.io.table import ReadError, as_names, demand_distinct

_JSON_SUFFIXES = (".jsonl", ".ndjson")
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
_TEXT_FIELD = "text"
_NAME_FIELD = "id"
_CLASS_FIELDS = ("label", "class", "target", "y")
_KINDS = {str: "text", bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Documents:
    """Texts, and what is known about each of them."""

    texts: list[str]
    y: NDArray[Any] | None = None
    row_names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None


class Fields(NamedTuple):
    """Which column, or field of a JSON object, holds what; None where that is to be found out."""

    text: str | None = None
    target: str | None = None
    row_names: str | None = None
    group: str | None = None


class _Record(NamedTuple):
    line: int
    fields: dict[str, Any]


def folder_documents(path: Path, encoding: str) -> Documents:
    """Read a folder whose sub-folders are classes; every file below them is a document, named by its path.

    A folder with nothing but files in it has documents without classes.
    """
    entries = _visible(path, "*")
    classes = [entry for entry in entries if entry.is_dir()]
    if not entries:
        raise ReadError(
            f"{path} is empty; it should have a sub-folder for each class, with the documents as files in it."
        )
    if not classes:
        names = as_names([entry.name for entry in entries])
        return Documents([read_text(entry, encoding) for entry in entries], row_names=names)
    for entry in entries:
        if entry not in classes:
            raise ReadError(
                f"{path}: the file {entry.name!r} is in no class; move it into one of the sub-folders, or away."
            )
    documents = {folder: [file for file in _visible(folder, "**/*") if file.is_file()] for folder in classes}
    for folder, files in documents.items():
        if not files:
            raise ReadError(f"{folder} has no documents in it; put files there or remove the folder.")
    files = [file for folder in classes for file in documents[folder]]
    labels = [folder.name for folder in classes for _ in documents[folder]]
    names = as_names([file.relative_to(path).as_posix() for file in files])
    return Documents([read_text(file, encoding) for file in files], np.array(labels, dtype=str), names)


def _visible(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    return [entry for entry in found if not any(part.startswith(".") for part in entry.relative_to(folder).parts)]


def file_documents(
    path: Path, encoding: str, separator: str | None, fields: Fields, has_classes: bool = True
) -> Documents:
    """Read documents that stand in one file, one per JSON object or row of a table."""
    suffix = suffix_of(path)
    if suffix in _JSON_SUFFIXES:
        if separator is not None:
            raise ReadError(
                f"{path} holds one JSON object per line and takes no separator ({separator!r}); leave it out."
            )
        found = list(_json_records(read_text(path, encoding), path))
    elif suffix in _TABLE_SUFFIXES:
        content = read_text(path, encoding)
        found = _table_records(content, path, _separator(content, suffix, separator))
    else:
        known = " ".join((*_JSON_SUFFIXES, *_TABLE_SUFFIXES))
        raise ReadError(f"{path}: documents come in folders or in files with the suffix {known}, not {suffix!r}.")
    if not found:
        raise ReadError(f"{path} has no documents in it; check the file.")
    return _documents(found, path, fields, has_classes)


def _json_records(content: str, path: Path) -> Iterator[_Record]:
    for number, line in enumerate(lines_of(content), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            said = str(error).partition(": line")[0]
            raise ReadError(
                f"{path}, line {number}: this is no JSON ({said}); every line should be one object."
            ) from None
        if not isinstance(fields, dict):
            raise ReadError(
                f'{path}, line {number}: this is {_kind(fields)}, not a JSON object such as {{"text": ...}}.'
            )
        yield _Record(number, fields)


def _table_records(content: str, path: Path, separator: str) -> list[_Record]:
    # Documents may be longer than what csv takes for a sensible field.
    usual_limit = csv.field_size_limit(max(len(content), 1 << 17))
    try:
        rows = [row for row in records(io.StringIO(content, newline=""), path, separator, strict=True) if any(row[1])]
    finally:
        csv.field_size_limit(usual_limit)
    header = [name.strip() for name in rows[0][1]] if rows else []
    demand_distinct(as_names(header), "columns", str(path))
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            raise ReadError(
                f"{path}, line {line}: {len(fields)} fields where the header has {len(header)}; mend the line, or name "
                "the separator if it is another one."
            )
    return [_Record(line, dict(zip(header, fields, strict=True))) for line, fields in rows[1:]]


def _separator(content: str, suffix: str, given: str | None) -> str:
    if given is None:
        return likely_separator(content.partition("\n")[0], ",;\t" if suffix == ".csv" else "\t")
    separator = "\t" if given == "\\t" else given
    if len(separator) != 1 or separator in '"\r\n':
        raise ReadError(f"The separator {given!r} is not one character; give one, as ',' ';' '|' or '\\t'.")
    return separator


def _documents(documents: list[_Record], path: Path, fields: Fields, has_classes: bool) -> Documents:
    known = list(dict.fromkeys(name for document in documents for name in document.fields))
    for what, name in fields._asdict().items():
        if name is not None and name not in known:
            raise no_such_column(path, name, known, what)
    target = fields.target or next((name for name in _CLASS_FIELDS if name in known), None)
    text = fields.text or _text_field(documents, path, known, {target, fields.row_names, fields.group, _NAME_FIELD})
    return Documents(
        texts=_values(documents, path, text, (str,)),
        y=_labels(documents, path, target) if has_classes and target is not None else None,
        row_names=_row_names(documents, path, fields.row_names),
        groups=None if fields.group is None else as_names(_values(documents, path, fields.group, (str, int))),
    )


def _text_field(documents: list[_Record], path: Path, known: list[str], taken: set[str | None]) -> str:
    if _TEXT_FIELD in known:
        return _TEXT_FIELD
    textual = [name for name in known if name not in taken and isinstance(documents[0].fields.get(name), str)]
    if len(textual) != 1:
        raise no_such_column(path, _TEXT_FIELD, known, "the documents, so name it as text (--text)")
    return textual[0]


def _values(documents: list[_Record], path: Path, name: str, kinds: tuple[type, ...]) -> list[Any]:
    """Return a field of all records; each must have it."""
    values = []
    for document in documents:
        value = document.fields.get(name)
        if value is None:
            raise ReadError(f"{path}, line {document.line}: there is no {name!r}; every document needs one.")
        if type(value) not in kinds:
            raise ReadError(f"{path}, line {document.line}: {name!r} is {_kind(value)}, not {_KINDS[kinds[0]]}.")
        values.append(value)
    return values


def _labels(documents: list[_Record], path: Path, name: str) -> NDArray[Any]:
    labels = _values(documents, path, name, (str, bool, int, float))
    for document, label in zip(documents, labels, strict=True):
        if label == "" or label != label:
            raise ReadError(f"{path}, line {document.line}: {name!r} is empty; give the document a class or remove it.")
        if type(label) is not type(labels[0]):
            raise ReadError(
                f"{path}, line {document.line}: {name!r} is {label!r}, of another kind than {labels[0]!r} in line "
                f"{documents[0].line}; use one kind of label."
            )
    return np.array(labels)


def _row_names(documents: list[_Record], path: Path, name: str | None) -> NDArray[Any] | None:
    if name is not None:
        names = as_names(_values(documents, path, name, (str, int)))
        demand_distinct(names, "documents", str(path))
        return names
    found = [document.fields.get(_NAME_FIELD) for document in documents]
    usable = all(type(value) in (str, int) for value in found) and len(set(map(str, found))) == len(found)
    return as_names(found) if usable else None


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "nothing")
