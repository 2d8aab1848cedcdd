"""Several files, one per class: their rows are stacked, and their items are matched by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError, check_exists, reading
from saltmine.io.labels import with_labels
from saltmine.io.limits import LINE_BYTES, keep_memory
from saltmine.io.registry import Format, format_of
from saltmine.io.table import Table, drop_rare
from saltmine.names import as_text

if TYPE_CHECKING:
    import pandas as pd

# Formats that list what a row has: an item that no row of a file has is not in the file.
_LISTS = ("maf", "vcf", "dat", "text")
# Options that hold for all rows together rather than for a file.
_OF_ALL = ("labels", "target", "drop_unlabelled", "min_samples", "min_docs")
_MIN_DOCS = 20


class ClassFiles(dict[str, Path]):
    """Files by the class of their rows; as text, their paths.

    Examples
    --------
    >>> files = ClassFiles({"primary": "apl/a.maf", "relapse": "apl/b.maf"})
    >>> str(files), files.name
    ('apl/a.maf and apl/b.maf', 'a.maf and b.maf')
    """

    def __init__(self, files: Mapping[str, str | PathLike[str]]) -> None:
        super().__init__({str(label): Path(path) for label, path in files.items()})
        if not files or len(self) < len(files):
            example = "{'primary': 'a.maf', 'relapse': 'b.maf'}"
            raise ReadError(f"Every file needs a class with a name of its own, as in {example}.")

    def __str__(self) -> str:
        return " and ".join(str(path) for path in self.values())

    @property
    def name(self) -> str:
        """Names of the files without their folders."""
        return " and ".join(path.name for path in self.values())


def read_class_files(files: ClassFiles, format_name: str | None, options: dict[str, Any]) -> Table:
    """Return the stacked rows of files that each hold one class."""
    labels, target, group = (options.get(name) for name in ("labels", "target", "group"))
    if target is not None and labels is None:
        raise ReadError(f"The classes are given with the files; leave target ({str(target)!r}, --target) out.")
    format_ = _common_format(files, format_name, options)
    for_file = {name: value for name, value in options.items() if name not in _OF_ALL}
    if labels is not None:
        for_file.pop("group", None)
    if format_.name == "text":
        for_file["min_docs"] = 1
    tables = {label: _read_one(format_, label, path, for_file) for label, path in files.items()}
    table = _stacked(files, tables, format_.name in _LISTS)
    if labels is not None:
        drop = bool(options.get("drop_unlabelled"))
        table = with_labels(table, labels, target, group, drop_unlabelled=drop, add_rows=format_.name == "maf")
    with reading(str(files)):
        if format_.name == "text":
            return drop_rare(table, options.get("min_docs", _MIN_DOCS), "min_docs")
        if format_.name == "maf" or "min_samples" in options:
            return drop_rare(table, options.get("min_samples", 1))
    return table


def _common_format(files: ClassFiles, name: str | None, options: dict[str, Any]) -> Format:
    found: dict[str, tuple[Path, Format]] = {}
    for path in files.values():
        check_exists(path)
        format_ = format_of(path, name, "text" in options)
        format_.check(path, options)
        found.setdefault(format_.name, (path, format_))
    (path, format_), *others = found.values()
    if others:
        titles = f"{path} is read as {format_.title}, but {others[0][0]} as {others[0][1].title}"
        raise ReadError(f"{titles}; give files of the same format, or name it (--format).")
    return format_


def _read_one(format_: Format, label: str, path: Path, options: dict[str, Any]) -> Table:
    table = format_.read(path, options)
    if table.y is not None:
        raise ReadError(f"the file has classes of its own; give it alone, without the class {label!r}.", path=path)
    keep_memory(_bytes_of(table))
    notes = tuple(f"{path.name}: {note[0].lower()}{note[1:]}" for note in table.notes)
    return replace(table, notes=notes)


def _bytes_of(table: Table) -> int:
    """Return the memory of a table that has been read."""
    X: Any = table.X
    lines = LINE_BYTES * sum(table.shape)
    if table.frame is not None:
        return lines + int(table.frame.memory_usage(deep=True).sum())
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return lines + int(sum(part.nbytes for part in parts))


def _stacked(files: ClassFiles, tables: dict[str, Table], is_list: bool) -> Table:
    parts = list(tables.values())
    X, item_names = _stacked_cells(files, parts, is_list)
    groups = [table.groups for table in parts if table.groups is not None]
    return Table(
        X,
        np.repeat(list(tables), [table.shape[0] for table in parts]),
        _row_names(files, parts),
        item_names,
        np.concatenate(groups) if len(groups) == len(parts) else None,
        parts[0].kind,
        parts[0].group_name,
        tuple(note for table in parts for note in table.notes),
    )


def _row_names(files: ClassFiles, tables: list[Table]) -> NDArray[Any] | None:
    """Return the names of all rows, which must differ; None if rows have no names, or are only counted."""
    names = [table.row_names for table in tables if table.row_names is not None]
    if len(names) < len(tables) or all(_is_count(part) for part in names):
        return None
    first: dict[str, Path] = {}
    if len({path.resolve() for path in files.values()}) < len(files):
        raise ReadError(f"Two classes have the same file, {next(iter(files.values()))}; give each class its own.")
    for path, part in zip(files.values(), names, strict=True):
        for name in part:
            if name in first:
                raise ReadError(f"The row {name!r} is in {first[name]} and in {path}; remove it from one of them.")
        first |= dict.fromkeys(part, path)
    return as_text(first)


def _is_count(names: NDArray[Any]) -> bool:
    numbers = [str(number) for number in range(len(names) + 1)]
    return names.tolist() in (numbers[:-1], numbers[1:])


def _stacked_cells(files: ClassFiles, tables: list[Table], is_list: bool) -> tuple[Any, NDArray[Any]]:
    paths = list(files.values())
    items = [_item_names(path, table) for path, table in zip(paths, tables, strict=True)]
    names = as_text(dict.fromkeys(name for part in items for name in part))
    if not is_list:
        for path, part in zip(paths[1:], items[1:], strict=True):
            _check_same_columns(paths[0], items[0], path, part)
    frames = [table.frame for table in tables if table.frame is not None]
    if len(frames) == len(tables):
        return _stacked_frames(paths, frames), names
    position = {name: column for column, name in enumerate(names)}
    parts = []
    for table, part in zip(tables, items, strict=True):
        own = sp.coo_array(table.X)
        columns = np.array([position[name] for name in part], dtype=np.intp)[own.col]
        parts.append(sp.csr_array((own.data, (own.row, columns)), shape=(table.shape[0], len(names))))
    return sp.csr_array(sp.vstack(parts)), names


def _item_names(path: Path, table: Table) -> list[str]:
    if table.item_names is None:
        raise ReadError("the items have no names by which files are matched; name them (items, --items).", path=path)
    names: list[str] = table.item_names.tolist()
    return names


def _check_same_columns(path: Path, names: list[str], other_path: Path, other: list[str]) -> None:
    for one, has, two, lacks in ((path, names, other_path, other), (other_path, other, path, names)):
        known = set(lacks)
        missing = [name for name in has if name not in known]
        if missing:
            more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
            problem = f"{two} lacks the column {missing[0]!r}{more} of {one}"
            raise ReadError(f"{problem}; all files need the same columns, so add or remove it.")


def _stacked_frames(paths: list[Path], frames: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd  # slow to import

    frames = [frame.copy() for frame in frames]
    for name in frames[0].columns:
        kinds: dict[bool, Path] = {}
        for path, frame in zip(paths, frames, strict=True):
            if frame[name].notna().any():
                kinds.setdefault(pd.api.types.is_numeric_dtype(frame[name].dtype), path)
        if len(kinds) > 1:
            problem = f"The column {name!r} holds numbers in {kinds[True]} and text in {kinds[False]}"
            raise ReadError(f"{problem}; give it one kind of values.")
        if {frame[name].dtype == bool for frame in frames} == {True, False} and True in kinds:
            for frame in frames:
                frame[name] = frame[name].astype(float)
    return pd.concat([frame[frames[0].columns] for frame in frames], ignore_index=True)
