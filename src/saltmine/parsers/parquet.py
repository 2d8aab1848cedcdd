"""Parquet tables, by pyarrow; every batch of rows is sent as bytes of the Arrow format, which has no code in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from saltmine.names import check_distinct
from saltmine.parsers.messages import Facts, Message, ParseError, numbers

_CELLS_OF_BATCH, _MAX_THREADS = 1 << 20, 4


def parse(request: dict[str, Any]) -> Iterator[Message]:
    """Yield the number of rows and the batches of a table."""
    # Every thread has a stack, which counts as memory in use.
    pa.set_cpu_count(min(pa.cpu_count(), _MAX_THREADS))
    pa.set_io_thread_count(1)
    file = pq.ParquetFile(request["path"])
    schema, n_rows = file.schema_arrow, file.metadata.num_rows
    check_distinct(schema.names, "columns", ParseError)
    for field in schema:
        if not _is_plain(field.type):
            problem = f"the column {field.name!r} holds {field.type}, not numbers or text"
            raise ParseError(f"{problem}; split it or leave it out.")
    yield Facts("table", {"rows": n_rows, "columns": len(schema), "n_bytes": _declared_bytes(schema, n_rows)})
    batch_size = max(1000, _CELLS_OF_BATCH // max(1, len(schema)))
    yield numbers("schema", _stream(schema))
    for batch in file.iter_batches(batch_size):
        yield numbers("batch", _stream(schema, batch))


def _declared_bytes(schema: Any, n_rows: int) -> int:
    """Return the bytes of all columns of numbers, whose width is known before they are read."""
    widths = [field.type.bit_width for field in schema if pa.types.is_primitive(field.type)]
    return int(n_rows * sum(widths) // 8)


def _stream(schema: Any, batch: Any = None) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if batch is not None:
            writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _is_plain(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return not (pa.types.is_nested(kind) or is_binary)
