"""Parquet tables: columns of many types, footers, the notes of pandas."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np

from fuzz.cases import Case, Format
from fuzz.damage import damaged
from fuzz.text import as_json, changed_json

_MAGIC = b"PAR1"
_PANDAS = b"pandas"


def _columns(random: Random, n_rows: int) -> dict[str, Any]:
    import pyarrow as pa

    kinds: dict[str, tuple[list[Any], Any]] = {
        "flag": ([True, False, None], pa.bool_()),
        "whole": ([0, 1, 2**31, -5], pa.int64()),
        "small": ([0, 1, 255], pa.uint8()),
        "real": ([0.5, float("nan"), 1e308, None], pa.float64()),
        "half": ([np.float16(0.5), np.float16(2.0)], pa.float16()),
        "text": (["red", "weiß", "", None], pa.string()),
        "large": (["red", "blue"], pa.large_string()),
        "decimal": ([Decimal("1.5"), Decimal("-2.25"), None], pa.decimal128(9, 2)),
        "date": ([date(2020, 1, 1), date(1800, 1, 1)], pa.date32()),
        "time": ([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "long": ([0, 2**62], pa.duration("us")),
        "nothing": ([None], pa.null()),
        "list": ([[1], []], pa.list_(pa.int64())),
        "bytes": ([b"a", b"\xff"], pa.binary()),
    }
    # Columns that cannot be read are refused, and then the rest is not looked at.
    usual = list(kinds)[:11]
    names = random.sample(usual, random.choice((1, 2, 4)))
    names += [random.choice(list(kinds)[11:])] if random.random() < 0.1 else []
    columns = {}
    for name in names:
        values, kind = kinds[name]
        columns[name] = pa.array([random.choice(values) for _ in range(n_rows)], kind)
        if name == "text" and random.random() < 0.4:
            columns[name] = columns[name].dictionary_encode()
    return columns


def _make(random: Random) -> Case:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = random.choice((1, 3, 10, 40))
    columns = _columns(random, n_rows)
    columns["shop"] = pa.array([random.choice(("Mainz", "Trier")) for _ in range(n_rows)])
    columns["id"] = pa.array([f"r{k}" for k in range(n_rows)])
    table = pa.table(columns)
    if random.random() < 0.5:
        notes = {"index_columns": random.choice(([], ["id"], [{"kind": "range", "start": 0}])), "columns": []}
        table = table.replace_schema_metadata({_PANDAS: json.dumps({**notes, "pandas_version": "2.2"})})
    stream = io.BytesIO()
    compression = random.choice(("none", "none", "snappy", "gzip", "zstd"))
    options = {"use_dictionary": random.random() < 0.5, "data_page_version": random.choice(("1.0", "2.0"))}
    pq.write_table(table, stream, compression=compression, store_schema=random.random() < 0.5, **options)
    wishes: dict[str, object] = {"target": "shop"} if random.random() < 0.8 else {}
    if random.random() < 0.4:
        wishes["row_names"] = "id"
    if random.random() < 0.3:
        wishes["drop_unlabelled"] = True
    return Case({"table.parquet": stream.getvalue()}, "table.parquet", wishes)


def _change(random: Random, data: bytes) -> bytes:
    """Change the footer or the pages and keep the other; or what pandas noted, or the columns themselves."""
    size = int.from_bytes(data[-8:-4], "little")
    pages, footer = data[: -8 - size], data[-8 - size : -8]
    how = random.random()
    if how < 0.3:
        footer = _damaged_in_place(random, footer)
    elif how < 0.5:
        footer = damaged(random, footer)
    elif how < 0.75:
        pages = _damaged_in_place(random, pages)
    elif how < 0.85:
        pages = damaged(random, pages)
    else:
        return _rewritten(random, data)
    return pages + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _damaged_in_place(random: Random, data: bytes) -> bytes:
    """Change bytes and keep the length, so that offsets still hold."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(changed))
        value = (0, 1, 2, 127, 128, 255, changed[place] ^ (1 << random.randrange(8)), random.randrange(256))
        changed[place] = random.choice(value)
    return bytes(changed)


def _rewritten(random: Random, data: bytes) -> bytes:
    """Rename columns, or change the notes of pandas, and write a valid file again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    if random.random() < 0.4:
        names = list(table.schema.names)
        names[random.randrange(len(names))] = random.choice(
            ("", "shop", "id", "a\nb", "\x1b[31m", "x" * 300, "NA", "é")
        )
        table = pa.table(table.columns, names=names)
    notes: Any = {"index_columns": ["id", "shop"], "columns": [{"name": "id"}], "column_indexes": []}
    for _ in range(random.choice((1, 2, 3))):
        notes = changed_json(random, notes)
    text = as_json(random, notes) if random.random() < 0.8 else damaged(random, as_json(random, notes))
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({_PANDAS: text}), stream, store_schema=False)
    return stream.getvalue()


FORMATS = [Format("parquet", _make, _change)]
