"""Tables of very many columns of numbers: pandas takes a tenth of a millisecond for every column, however short."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.io.files import ReadError

#: From so many columns on it pays.
WIDE = 20_000
# More columns of text than this are left to pandas, and so are longer numbers.
_MAX_TEXT_COLUMNS, _MAX_DIGITS = 200, 40


def wide_frame(data: bytes, separator: str, columns: list[str], markers: list[str], **options: Any) -> Any:
    """Return a table without quotes and blanks, with the types that pandas would find; None to leave it to pandas.

    Parameters
    ----------
    data : bytes
        Header and rows.
    separator : str
    columns : list of str
    markers : list of str
        What stands for a missing value.
    **options
        Of `pandas.read_csv`, for the columns of text.
    """
    rows = _rows(data, separator.encode(), len(columns))
    first = next(rows)
    missing = {marker.encode() for marker in markers}
    text = [k for k, cell in enumerate(first) if cell not in missing and not _is_number(cell)]
    if len(text) > _MAX_TEXT_COLUMNS:
        return None
    texts, cells = [], []
    for fields in (first, *rows):
        texts.append(separator.encode().join(fields[k] for k in text))
        for k in reversed(text):
            del fields[k]
        cells.append(np.array(fields, dtype="S"))
        if cells[-1].dtype.itemsize > _MAX_DIGITS:
            return None
    is_whole = np.logical_and.reduce([np.char.isdigit(np.char.lstrip(row, b"+-")) for row in cells])
    try:
        whole = np.array([row[is_whole].astype(np.int64) for row in cells])
        other = np.array([_floats(row[~is_whole], missing) for row in cells])
    except (ValueError, OverflowError):
        return None
    names = np.delete(np.array(columns, dtype=object), text)
    parts = [pd.DataFrame(whole, columns=names[is_whole]), pd.DataFrame(other, columns=names[~is_whole])]
    if text:
        lines = io.BytesIO(b"\n".join(texts))
        parts.append(pd.read_csv(lines, sep=separator, header=None, names=[columns[k] for k in text], **options))
    return pd.concat(parts, axis=1)[columns]


def _rows(data: bytes, separator: bytes, width: int) -> Iterator[list[bytes]]:
    lines = ((number, line.rstrip(b"\r\n")) for number, line in enumerate(io.BytesIO(data), start=1))
    body = ((number, line) for number, line in lines if line)
    next(body)  # the header
    for number, line in body:
        fields = line.split(separator)
        if len(fields) != width:
            raise ragged_line(number, len(fields), width)
        yield fields


def ragged_line(number: int, n_fields: int, width: int) -> ReadError:
    """Return the error for a line with too many or too few fields."""
    problem = f"{n_fields} fields where there are {width} columns; fix the line, or name the separator."
    return ReadError(problem, number)


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _floats(cells: NDArray[Any], missing: set[bytes]) -> NDArray[np.float64]:
    is_missing = np.isin(cells, list(missing))
    return np.where(is_missing, b"nan", cells).astype(np.float64)
