"""Parquet tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.extras import needing
from saltmine.io.files import ReadError, parsing, read_bytes
from saltmine.io.labels import table_of_frame
from saltmine.io.table import ColumnArg, PathArg, Table
from saltmine.names import as_text, check_distinct


def read_parquet(
    path: Path,
    *,
    target: ColumnArg = None,
    row_names: str | None = None,
    group: ColumnArg = None,
    labels: PathArg = None,
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
    """
    frame, index = _frame(path)
    if len(frame) == 0:
        raise ReadError("there are no rows, so there is no data in the file.")
    used = [str(name) for name in (target, row_names, group)]
    names = _take_index(frame, [name for name in index if name not in used])
    return table_of_frame(
        frame, lambda row: f"row {row + 1}", names, target=target, row_names=row_names, group=group, labels=labels
    )


def _frame(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return all columns, and the names of those that are an index of pandas."""
    with needing("parquet", "Reading a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    data = read_bytes(path)
    with parsing("Parquet file"):
        file = pq.ParquetFile(pa.BufferReader(data))
        check_distinct(file.schema_arrow.names, "columns", ReadError)
        stored = file.read()
        for position, field in enumerate(stored.schema):
            if not _is_plain(pa.types, field.type):
                raise ReadError(
                    f"the column {field.name!r} holds {field.type}, not numbers or text; split it or leave it out."
                )
            if pa.types.is_decimal(field.type):
                stored = stored.set_column(position, field.name, stored.column(position).cast(pa.float64()))
        metadata = stored.schema.pandas_metadata or {}
        # An index that only counts may be stored as begin and end, not as the name of a column.
        index = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        # The metadata of pandas would turn some names into numbers and hide other columns in the index.
        return stored.to_pandas(ignore_metadata=True), index


def _is_plain(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return not (types.is_nested(kind) or is_binary)


def _take_index(frame: pd.DataFrame, index: list[str]) -> NDArray[Any] | None:
    """Remove the index from the frame, and return it as names of the rows if it is distinct and not just a count."""
    parts = [frame.pop(name) for name in index]
    if not parts or (len(parts) == 1 and np.array_equal(parts[0], np.arange(len(frame)))):
        return None
    names = as_text(" ".join(map(str, row)) for row in zip(*parts, strict=True))
    return names if len(set(names)) == len(names) else None
