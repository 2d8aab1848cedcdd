"""Matrix, names and columns of AnnData files, by HDF5.

Sizes are sent before anything of that size is read, so that the other side can refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from saltmine.parsers.messages import Allow, Facts, Message, Numbers, ParseError, Texts

# Formats of a sparse matrix, now and before anndata 0.7.
_SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc", "csr": "csr", "csc": "csc"}
# Group of obs with the categories of all columns, before anndata 0.8.
_CATEGORIES = "__categories"
# Columns that are named where the wanted one is missing.
_MAX_LISTED = 200
# Bytes and texts that are read at a time, and bytes that every library decompresses in a second.
_PIECE, _TEXTS, _BYTES_PER_SECOND = 1 << 24, 1 << 16, 100e6


def parse(request: dict[str, Any]) -> Iterator[Message]:
    """Yield the names of cells and genes, the wanted columns of obs, and the matrix X."""
    path = request["path"]
    if not h5py.is_hdf5(path):
        raise ParseError("this is not an AnnData file: it is not HDF5; check the file, and decompress it if needed.")
    with h5py.File(path, "r") as file:
        obs, var = _frame(file, "obs"), _frame(file, "var")
        yield from _column("cells", obs, _index(obs))
        yield from _column("genes", var, _index(var))
        columns = [name for name in obs if name not in (_index(obs), _CATEGORIES)]
        wanted = {what: name for what, name in request["columns"].items() if name in columns}
        listed = [name[:100] for name in columns[:_MAX_LISTED]]
        yield Facts("columns", {"found": list(wanted), "listed": listed, "count": len(columns)})
        for what, name in wanted.items():
            yield from _column(what, obs, name)
        yield from _matrix(_member(file, "X"))


def _is_group(node: Any) -> bool:
    return hasattr(node, "keys")


def _member(group: Any, name: str) -> Any:
    """Return a member of a group, None if there is none; nothing is read from other files."""
    if group is None or not _is_group(group) or name not in group:
        return None
    node = group[name]
    is_elsewhere = node.file.filename != group.file.filename
    if is_elsewhere or (not _is_group(node) and (node.is_virtual or node.external)):
        raise ParseError(f"{name} is in another file, which is not read; copy the data into this one.")
    return node


def _frame(file: Any, name: str) -> Any:
    table = _member(file, name)
    if table is None or not _is_group(table):
        problem = f"{name} is not stored as by anndata since 0.7"
        raise ParseError(f"{problem}; read the file with anndata and write it again.")
    if _index(table) not in table:
        raise ParseError(f"{name} has no index {_index(table)!r}; write the file again with anndata.")
    return table


def _index(table: Any) -> str:
    return str(table.attrs.get("_index", "_index"))


def _column(what: str, table: Any, name: str) -> Iterator[Message]:
    """Yield a column in any of the ways anndata stores it: categories, values with a mask, text or numbers."""
    node = _member(table, name)
    codes = values = mask = None
    if not _is_group(node):
        categories = _member(_member(table, _CATEGORIES), name)
        codes, values = (None, node) if categories is None else (node, categories)
    elif "codes" in node:
        codes, values = _member(node, "codes"), _member(node, "categories")
    elif "mask" in node:
        mask, values = _member(node, "mask"), _member(node, "values")
    else:
        raise ParseError(f"{node.name} is stored as {node.attrs.get('encoding-type')!r}, which cannot be read.")
    yield Facts("column", {"name": name, "is_coded": codes is not None, "is_masked": mask is not None})
    yield from _values(f"{what} values", values)
    if codes is not None:
        yield from _values(f"{what} codes", codes)
    if mask is not None:
        yield from _values(f"{what} mask", mask)


def _values(name: str, node: Any) -> Iterator[Message]:
    """Yield a dataset of one dimension: texts or numbers."""
    if node is None or _is_group(node) or node.ndim != 1:
        raise ParseError(f"the {name} are not stored as a list; write the file again with anndata.")
    if h5py.check_string_dtype(node.dtype):
        yield Allow(_seconds_of_chunk(node))
        yield Texts(name, node.shape[0], _text_pieces(node))
    else:
        yield from _numbers(name, node)


def _text_pieces(node: Any) -> Iterator[Sequence[str]]:
    decoded = node.asstr()
    for begin in range(0, node.shape[0], _TEXTS):
        yield decoded[begin : begin + _TEXTS].tolist()


def _numbers(name: str, node: Any) -> Iterator[Message]:
    """Yield an array of numbers in pieces of whole chunks, so that no chunk is decompressed twice."""
    dtype = node.dtype if node.dtype.itemsize <= 8 else np.dtype(np.float64)
    if dtype.kind not in "biuf":
        raise ParseError(f"the {name} hold {dtype}, not numbers or text; change the type.")
    yield Allow(_seconds_of_chunk(node))
    yield Numbers(name, dtype, node.shape, _number_pieces(node, dtype), _offset(node))


def _offset(node: Any) -> int | None:
    """Return where the file has an array as one piece, as it is in memory; None if it is stored otherwise."""
    if node.chunks is not None or not node.size or node.file.userblock_size or node.dtype.str[0] == ">":
        return None
    # HDF5 knows numbers of other widths than numpy, which have to be converted.
    if node.dtype.itemsize > 8 or node.id.get_type() != h5py.h5t.py_create(node.dtype, logical=True):
        return None
    offset: int | None = node.id.get_offset()
    return offset


def _number_pieces(node: Any, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    step = node.chunks[0] if node.chunks else 1
    row_bytes = max(1, prod(node.shape[1:]) * node.dtype.itemsize)
    step *= max(1, _PIECE // (row_bytes * step))
    for begin in range(0, node.shape[0], step):
        yield node[begin : begin + step].astype(dtype, copy=False)


def _seconds_of_chunk(node: Any) -> float:
    return float(prod(node.chunks or ()) * node.dtype.itemsize / _BYTES_PER_SECOND)


def _matrix(node: Any) -> Iterator[Message]:
    if node is None or getattr(node, "shape", ()) is None:
        raise ParseError("there is no matrix X, and nothing else is read; copy the layer that you want to X.")
    if not _is_group(node):
        _check_numbers(node, 2)
        yield Facts("matrix", {"form": "dense", "shape": list(node.shape), **_sizes(node)})
        yield from _numbers("X", node)
        return
    form = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format"))
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    parts = {name: _member(node, name) for name in ("data", "indices", "indptr")}
    for name, part in parts.items():
        if part is None:
            raise ParseError(f"X has no {name}; write the file again with anndata.")
        _check_numbers(part, 1)
    if form not in _SPARSE or shape is None or len(shape) != 2:
        raise ParseError(f"X is stored as {form!r}; only dense, CSR and CSC matrices can be read.")
    lengths = [int(length) for length in shape]
    yield Facts("matrix", {"form": _SPARSE[form], "shape": lengths, **_sizes(*parts.values())})
    for name, part in parts.items():
        yield from _numbers(name, part)


def _sizes(*nodes: Any) -> dict[str, int]:
    """Return the bytes of datasets in memory and in the file."""
    stored = sum(node.id.get_storage_size() for node in nodes)
    return {"n_bytes": sum(int(node.nbytes) for node in nodes), "n_stored": stored}


def _check_numbers(node: Any, n_dimensions: int) -> None:
    if _is_group(node) or node.dtype.kind not in "biuf" or node.ndim != n_dimensions:
        found = "a group" if _is_group(node) else f"{node.dtype} of shape {node.shape}"
        raise ParseError(f"X is not a matrix of numbers, but {found}; check it.")
