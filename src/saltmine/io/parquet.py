"""Parquet tables.

Arrow parses them in a process of its own: its memory cannot be told from the file, because a page may repeat a long
text as often as it likes, and a file made for it could end this process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.io.files import ReadError, account_of, is_compressed, opened, parsing
from saltmine.io.labels import table_of_frame
from saltmine.io.limits import TextCost, check_memory, check_shape, file_size
from saltmine.io.parser_process import check_library, parse_apart
from saltmine.io.table import ColumnArg, PathArg, Table
from saltmine.names import as_text

_WHAT = "Parquet file"
# Memory for a byte of the columns, as Arrow and as pandas have them, and for a column of pandas.
_COPIES, _COLUMN_BYTES = 2.5, 2000


def read_parquet(
    path: Path,
    *,
    target: ColumnArg = None,
    row_names: str | None = None,
    group: ColumnArg = None,
    labels: PathArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read a Parquet table.

    A stored index of pandas names the rows if it is distinct and not just a count; it is not data.

    Parameters
    ----------
    path : Path
    target : str, optional
        Column with the classes; with ``labels``, column of the label file.
    row_names : str, optional
        Column with the names of the rows.
    group : str, optional
        Column that tells which rows belong together.
    labels : path, optional
        File with the classes of the rows.
    drop_unlabelled : bool
        Leave out rows without a class.
    """
    check_library("pyarrow", "parquet", _WHAT)
    frame, index, notes = _frame(path)
    if len(frame) == 0:
        raise ReadError("there are no rows, so there is no data in the file.")
    used = [str(name) for name in (target, row_names, group)]
    names = _take_index(frame, [name for name in index if name not in used])
    columns: dict[str, Any] = {"target": target, "row_names": row_names, "group": group}
    table = table_of_frame(
        frame, lambda row: f"row {row + 1}", names, **columns, labels=labels, drop_unlabelled=drop_unlabelled
    )
    return replace(table, notes=table.notes + notes)


def _frame(path: Path) -> tuple[pd.DataFrame, list[str], tuple[str, ...]]:
    """Return all columns, the names of those that are an index of pandas, and notes."""
    import pyarrow as pa  # an optional extra, which `read_parquet` has found

    size = file_size(path)
    with _plain_file(path) as plain, parse_apart("parquet", _WHAT, plain, {}) as parsed, parsing(_WHAT):
        table = parsed.facts("table")
        n_bytes = _COPIES * table["n_bytes"] + _COLUMN_BYTES * table["columns"]
        check_shape(table["rows"], table["columns"], n_bytes, size)
        batches, received = [], 0
        for _, values in parsed:
            batch = pa.ipc.open_stream(pa.py_buffer(values)).read_all()
            # Arrow trusts what it reads; a batch of a damaged file may point beyond its data.
            batch.validate(full=True)
            batches.append(batch)
            received += len(values)
            check_memory(_COPIES * received, "the table", size)
        stored = pa.concat_tables(batches)
        for position, field in enumerate(stored.schema):
            if pa.types.is_decimal(field.type):
                stored = stored.set_column(position, field.name, stored.column(position).cast(pa.float64()))
        metadata = stored.schema.pandas_metadata or {}
        # An index that only counts may be stored as begin and end, not as the name of a column.
        index = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        # The metadata of pandas would turn some names into numbers and hide other columns in the index.
        return stored.to_pandas(ignore_metadata=True), index, parsed.notes


@contextmanager
def _plain_file(path: Path) -> Iterator[Path]:
    """Yield a file in which a parser can go back and forth: a copy of one that is compressed, or of a pipe."""
    if path.is_file() and not is_compressed(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "table.parquet")
        with opened(path, account_of(path, TextCost(byte=_COPIES))) as stream, copy.open("wb") as target:
            while chunk := stream.read(1 << 20):
                target.write(chunk)
        yield copy


def _take_index(frame: pd.DataFrame, index: list[str]) -> NDArray[Any] | None:
    """Remove the index from the frame, and return it as names of the rows if it is distinct and not just a count."""
    parts = [frame.pop(name) for name in index]
    if not parts or (len(parts) == 1 and np.array_equal(parts[0], np.arange(len(frame)))):
        return None
    names = as_text(" ".join(map(str, row)) for row in zip(*parts, strict=True))
    return names if len(set(names)) == len(names) else None
