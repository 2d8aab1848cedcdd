"""Documents and their labels from folders of files, lines of JSON and columns of tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltmine.io.files import (
    ReadError,
    account_of,
    choose_separator,
    lines_of,
    load_text,
    reading,
    records,
    suffix_of,
)
from saltmine.io.limits import MAX_RATIO_OF_LISTS, Account, TextCost, file_size
from saltmine.io.table import DROP_UNLABELLED, is_missing, no_such_column, without_class
from saltmine.names import as_text, check_distinct

_JSON_SUFFIXES = (".jsonl", ".ndjson")
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
# Memory for a byte and a line: the text, its fields and its words; a line of JSON may hold very many empty lists.
_COST = TextCost(byte=10, line=500, longest=30, ratio=MAX_RATIO_OF_LISTS)
_TEXT_FIELD = "text"
_NAME_FIELD = "id"
_CLASS_FIELDS = ("label", "class", "target", "y")
_KINDS = {str: "text", bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}


class Documents(NamedTuple):
    """Texts with their classes, names and groups."""

    texts: list[str]
    y: NDArray[Any] | None = None
    row_names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


class Fields(NamedTuple):
    """Names of the columns, or fields of a JSON object; None for those to be found."""

    text: str | None = None
    target: str | None = None
    row_names: str | None = None
    group: str | None = None


class _Record(NamedTuple):
    line: int
    fields: dict[str, Any]


def folder_documents(path: Path, encoding: str) -> Documents:
    """Return the documents of a folder: its sub-folders are classes, and every file in them is a document.

    Without sub-folders the documents have no classes.
    """
    entries = _visible(path, "*")
    classes = [entry for entry in entries if entry.is_dir()]
    if not entries:
        raise ReadError("the folder is empty; it should have a sub-folder for each class, with documents.")
    for entry in entries:
        if classes and entry not in classes:
            raise ReadError(f"the file {entry.name!r} is in no class; move it into a sub-folder, or elsewhere.")
    files = [] if classes else entries
    for folder in classes:
        found = [file for file in _visible(folder, "**/*") if file.is_file()]
        if not found:
            raise ReadError("there are no documents in the folder; put files there or remove it.", path=folder)
        files += found
    names = as_text(file.relative_to(path).as_posix() for file in files)
    labels = np.array([file.relative_to(path).parts[0] for file in files], dtype=str) if classes else None
    # One account for all files.
    account = Account(_COST, 0)
    texts = []
    for file in files:
        if not file.is_file():
            raise ReadError("this is not a file; remove it from the folder.", path=file)
        account.size = (account.size or 0) + (file_size(file) or 0)
        texts.append(load_text(file, account, encoding))
    return Documents(texts, labels, names)


def _visible(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    return [entry for entry in found if not any(part.startswith(".") for part in entry.relative_to(folder).parts)]


def file_documents(
    path: Path,
    encoding: str,
    separator: str | None,
    fields: Fields,
    has_classes: bool = True,
    drop_unlabelled: bool = False,
) -> Documents:
    """Return the documents of one file, one per JSON object or row of a table."""
    suffix = suffix_of(path)
    with reading(path):
        if suffix in _JSON_SUFFIXES:
            if separator is not None:
                raise ReadError(f"a file of JSON lines takes no separator ({separator!r}); leave it out.")
            found = list(_json_records(load_text(path, account_of(path, _COST), encoding)))
        elif suffix in _TABLE_SUFFIXES:
            content = load_text(path, account_of(path, _COST), encoding)
            header = content.partition("\n")[0]
            found = _table_records(content, choose_separator(separator, header, ",;\t" if suffix == ".csv" else "\t"))
        else:
            known = " ".join((*_JSON_SUFFIXES, *_TABLE_SUFFIXES))
            raise ReadError(f"documents are in folders or in files with the suffix {known}, not {suffix!r}.")
        if not found:
            raise ReadError("there are no documents in the file; check it.")
        return _documents(found, fields, has_classes, drop_unlabelled)


def _json_records(content: str) -> Iterator[_Record]:
    for number, line in enumerate(lines_of(content), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = str(error).partition(": line")[0]
            raise ReadError(f"this is not JSON ({reason}); every line should be one object.", number) from None
        if not isinstance(fields, dict):
            raise ReadError(f'this is {_kind(fields)}, not a JSON object such as {{"text": ...}}.', number)
        # Lists and objects are no documents and no labels: that they are there is enough for an error message.
        yield _Record(number, {name: _without_contents(value) for name, value in fields.items()})


def _without_contents(value: Any) -> Any:
    return type(value)() if isinstance(value, list | dict) else value


def _table_records(content: str, separator: str) -> list[_Record]:
    # Documents may be longer than the default limit of csv.
    default_limit = csv.field_size_limit(max(len(content), 1 << 17))
    try:
        rows = [row for row in records(io.StringIO(content, newline=""), separator, strict=True) if any(row[1])]
    finally:
        csv.field_size_limit(default_limit)
    header = [name.strip() for name in rows[0][1]] if rows else []
    check_distinct(header, "columns", ReadError)
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            problem = f"{len(fields)} fields where the header has {len(header)}"
            raise ReadError(f"{problem}; fix the line, or name the separator.", line)
    return [_Record(line, dict(zip(header, fields, strict=True))) for line, fields in rows[1:]]


def _documents(documents: list[_Record], fields: Fields, has_classes: bool, drop_unlabelled: bool) -> Documents:
    known = list(dict.fromkeys(name for document in documents for name in document.fields))
    for what, name in fields._asdict().items():
        if name is not None and name not in known:
            raise no_such_column(None, name, known, what)
    target = fields.target or next((name for name in _CLASS_FIELDS if name in known), None)
    text = fields.text or _text_field(documents, known, {target, fields.row_names, fields.group, _NAME_FIELD})
    n_documents = len(documents)
    if has_classes and target is not None and drop_unlabelled:
        documents = [document for document in documents if not is_missing(document.fields.get(target))]
        if not documents:
            raise ReadError(f"no document has a class in {target!r}; name another field (target, --target).")
    return Documents(
        texts=_values(documents, text, (str,)),
        y=_labels(documents, target) if has_classes and target is not None else None,
        row_names=_row_names(documents, fields.row_names),
        groups=None if fields.group is None else as_text(_values(documents, fields.group, (str, int))),
        notes=without_class(n_documents - len(documents)),
    )


def _text_field(documents: list[_Record], known: list[str], taken: set[str | None]) -> str:
    if _TEXT_FIELD in known:
        return _TEXT_FIELD
    textual = [name for name in known if name not in taken and isinstance(documents[0].fields.get(name), str)]
    if len(textual) != 1:
        raise no_such_column(None, _TEXT_FIELD, known, "the documents, so name it as text (--text)")
    return textual[0]


def _values(documents: list[_Record], name: str, kinds: tuple[type, ...]) -> list[Any]:
    """Return a field that every record must have."""
    values = []
    for document in documents:
        value = document.fields.get(name)
        if value is None:
            raise ReadError(f"there is no {name!r}; every document needs one.", document.line)
        if type(value) not in kinds:
            raise ReadError(f"{name!r} is {_kind(value)}, not {_KINDS[kinds[0]]}.", document.line)
        values.append(value)
    return values


def _labels(documents: list[_Record], name: str) -> NDArray[Any]:
    for document in documents:
        if is_missing(document.fields.get(name)):
            problem = f"{name!r} is missing or empty; give the document a class, {DROP_UNLABELLED}."
            raise ReadError(problem, document.line)
    labels = _values(documents, name, (str, bool, int, float))
    for document, label in zip(documents, labels, strict=True):
        if type(label) is not type(labels[0]):
            first = f"{labels[0]!r} in line {documents[0].line}"
            raise ReadError(f"{name!r} is {label!r}, of another kind than {first}; use one kind.", document.line)
    return np.array(labels)


def _row_names(documents: list[_Record], name: str | None) -> NDArray[Any] | None:
    if name is not None:
        names = as_text(_values(documents, name, (str, int)))
        check_distinct(names, "documents", ReadError)
        return names
    found = [document.fields.get(_NAME_FIELD) for document in documents]
    usable = all(type(value) in (str, int) for value in found) and len(set(map(str, found))) == len(found)
    return as_text(found) if usable else None


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "nothing")
