"""Parquet tables."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.io.columns import Columns
from saltmine.io.files import parsing, read_bytes
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(
    path: Path,
    *,
    target: str | int | None = None,
    row_names: str | None = None,
    group: str | int | None = None,
    labels: str | PathLike[str] | None = None,
) -> Table:
    """Read a Parquet table.

    An index that pandas stored in it names the rows if it is distinct and does more than count; it is no data.

    Parameters
    ----------
    path : Path
    target : str, optional
        Column with the classes, or, with ``labels``, column of the label file.
    row_names : str, optional
        Column with the names of the rows.
    group : str, optional
        Column that says which rows belong together.
    labels : path, optional
        File with the classes of the rows.
    """
    frame, index = _frame(path)
    if len(frame) == 0:
        raise ReadError(f"{path} has no rows; there is no data in it.")
    asked = [str(name) for name in (target, row_names, group)]
    names = _take_index(frame, [name for name in index if name not in asked])
    columns = Columns(path, frame, lambda row: f"{path}, row {row + 1}", names)
    return columns.split(target=target, row_names=row_names, group=group, labels=labels)


def _frame(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read all columns, also say which of them were an index."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReadError("Parquet files need the library pyarrow; pip install 'saltmine[parquet]'.") from None
    data = read_bytes(path)
    with parsing(path, "Parquet file"):
        file = pq.ParquetFile(pa.BufferReader(data))
        demand_distinct(as_names(file.schema_arrow.names), "columns", str(path))
        stored = file.read()
        for position, field in enumerate(stored.schema):
            if not _is_plain(pa.types, field.type):
                raise ReadError(
                    f"{path}: the column {field.name!r} holds {field.type}, not numbers or text; leave it out or make "
                    "several columns of it."
                )
            if pa.types.is_decimal(field.type):
                stored = stored.set_column(position, field.name, stored.column(position).cast(pa.float64()))
        metadata = stored.schema.pandas_metadata or {}
        # An index that only counts may be stored as begin and end, which is no text.
        index = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        # Not as pandas remembers it: that would call some columns by numbers and hide others in the index.
        return stored.to_pandas(ignore_metadata=True), index


def _is_plain(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return not (types.is_nested(kind) or is_binary)


def _take_index(frame: pd.DataFrame, index: list[str]) -> NDArray[Any] | None:
    """Take what was an index out of the frame, and return it as names of the rows if it is fit for that."""
    parts = [frame.pop(name) for name in index]
    if not parts:
        return None
    if len(parts) == 1 and np.array_equal(parts[0], np.arange(len(frame))):
        return None
    names = as_names([" ".join(map(str, row)) for row in zip(*parts, strict=True)])
    return names if len(set(names)) == len(names) else None
