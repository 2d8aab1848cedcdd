"""What is wrong with a sparse matrix: compiled code, of scipy as well, would read foreign memory by its indices."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray


def find_flaw(matrix: Any) -> str | None:
    """Return what makes a sparse matrix of two dimensions invalid, as the end of a sentence; None if it is valid.

    The order of indices, duplicates and the flags that tell of them do not make it invalid.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> matrix = sp.csr_array([[0, 1], [1, 0]])
    >>> matrix.indices[0] = 7
    >>> find_flaw(matrix)
    'indices holds 7, but there are 2 columns'
    """
    match matrix.format:
        case "csr":
            return _flaw_of_pointers(matrix, matrix.shape, "columns", 1)
        case "csc":
            return _flaw_of_pointers(matrix, matrix.shape[::-1], "rows", 1)
        case "bsr":
            height, width = matrix.blocksize
            blocks = matrix.shape[0] // height, matrix.shape[1] // width
            return _flaw_of_pointers(matrix, blocks, "columns of blocks", 3)
        case "coo":
            return _flaw_of_coordinates(matrix)
        case "lil":
            return _flaw_of_lists(matrix)
        case "dia":
            if matrix.offsets.dtype.kind not in "iu":
                return f"offsets ({matrix.offsets.dtype}) does not hold whole numbers"
            is_valid = matrix.offsets.ndim == 1 and matrix.data.shape[:1] == matrix.offsets.shape
            return None if is_valid and matrix.data.ndim == 2 else "offsets and data have different lengths"
    return None


def _flaw_of_pointers(matrix: Any, lengths: tuple[int, int], what: str, n_dimensions: int) -> str | None:
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if indices.ndim != 1 or indptr.ndim != 1 or data.ndim != n_dimensions:
        return "indices, indptr or data has the wrong number of dimensions"
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        return f"indices ({indices.dtype}) or indptr ({indptr.dtype}) does not hold whole numbers"
    if len(indptr) != lengths[0] + 1:
        return f"indptr has {len(indptr)} entries, but {lengths[0] + 1} are needed"
    if indptr[0] != 0:
        return f"indptr begins with {indptr[0]}, not with 0"
    # Not by differences, which unsigned numbers cannot hold.
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        place = int(falls.argmax())
        return f"indptr falls from {indptr[place]} to {indptr[place + 1]} at place {place + 1}"
    if len(data) != len(indices):
        return f"data has {len(data)} entries, but indices has {len(indices)}"
    if indptr[-1] > len(indices):
        return f"indptr ends with {indptr[-1]}, but {len(indices)} entries are stored"
    return _flaw_of_numbers("indices", indices[: int(indptr[-1])], lengths[1], what)


def _flaw_of_coordinates(matrix: Any) -> str | None:
    for axis, (numbers, what) in enumerate(zip(matrix.coords, ("rows", "columns"), strict=True)):
        name = f"coords[{axis}]"
        if numbers.ndim != 1 or matrix.data.ndim != 1 or numbers.dtype.kind not in "iu":
            return f"{name} or data is not a list of numbers"
        if len(numbers) != len(matrix.data):
            return f"data has {len(matrix.data)} entries, but {name} has {len(numbers)}"
        flaw = _flaw_of_numbers(name, numbers, matrix.shape[axis], what)
        if flaw is not None:
            return flaw
    return None


def _flaw_of_lists(matrix: Any) -> str | None:
    n_rows, n_columns = matrix.shape
    if len(matrix.rows) != n_rows or list(map(len, matrix.rows)) != list(map(len, matrix.data)):
        return "rows and data have lists of different lengths"
    if not all(isinstance(number, int | np.integer) for number in chain.from_iterable(matrix.rows)):
        return "rows holds something else than whole numbers"
    return _flaw_of_numbers("rows", np.fromiter(chain.from_iterable(matrix.rows), dtype=object), n_columns, "columns")


def _flaw_of_numbers(name: str, numbers: NDArray[Any], length: int, what: str) -> str | None:
    """Return which number is none of so many rows or columns, if any."""
    if not len(numbers):
        return None
    for number in (numbers.min(), numbers.max()):
        if not 0 <= number < length:
            return f"{name} holds {number}, but there are {length} {what}"
    return None
