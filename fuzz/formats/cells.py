"""AnnData files in the ways that anndata stores matrices and columns; changes of nodes, types, shapes and links."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz.cases import Case, Format
from fuzz.damage import TEXTS, text_value, whole_number

_TISSUES = ["blood", "skin", "weiß"]


def _make(random: Random) -> Case:
    import h5py

    rng = np.random.default_rng(random.randrange(1 << 30))
    n_cells, n_genes = random.choice((2, 4, 15)), random.choice((1, 3, 8))
    stream = io.BytesIO()
    with h5py.File(stream, "w", libver=random.choice(("earliest", "latest", "v108"))) as file:
        X = (rng.random((n_cells, n_genes)) < 0.4).astype(
            random.choice(("float32", "float64", "int64", "bool", "uint8"))
        )
        _write_matrix(file, X, random)
        obs = {
            "tissue": _column(random, n_cells),
            "donor": np.array([f"d{k % 3}" for k in range(n_cells)], dtype=object),
        }
        _write_frame(file.create_group("obs"), [f"cell{k}" for k in range(n_cells)], obs, random)
        _write_frame(file.create_group("var"), [f"gene{k}" for k in range(n_genes)], {}, random)
        if random.random() < 0.3:
            file.create_group("uns").attrs["note"] = "made"
    options: dict[str, object] = {"target": "tissue"} if random.random() < 0.8 else {}
    if random.random() < 0.3:
        options["group"] = "donor"
    if random.random() < 0.3:
        options["drop_unlabelled"] = True
    return Case({"cells.h5ad": stream.getvalue()}, "cells.h5ad", options)


def _column(random: Random, n: int) -> Any:
    """Return values of a column; a tuple is (codes, categories) or (values, mask)."""
    how = random.randrange(6)
    if how == 0:
        return np.array([random.choice(_TISSUES) for _ in range(n)], dtype=object)
    if how == 1:
        return np.array([random.randrange(3) for _ in range(n)], dtype=random.choice(("int64", "uint8", "float64")))
    if how == 2:
        return np.array([random.random() < 0.5 for _ in range(n)])
    codes = np.array([random.randrange(-1 if random.random() < 0.1 else 0, 3) for _ in range(n)], dtype=np.int8)
    categories = np.array(_TISSUES, dtype=object) if how < 5 else np.array([7, 8, 9])
    return {"codes": codes, "categories": categories} if how != 3 else {"values": codes.astype(int), "mask": codes < 0}


def _layout(random: Random, shape: tuple[int, ...], is_text: bool = False) -> dict[str, Any]:
    """Return how a dataset is stored: in one piece, or in chunks with filters."""
    if 0 in shape or random.random() < 0.6:
        return {}
    filters: list[dict[str, Any]] = [
        *({}, {"compression": "gzip"}, {"compression": "lzf"}, {"compression": "gzip", "shuffle": True}),
        {"shuffle": True} if is_text else {"fletcher32": True},
    ]
    growing = {"maxshape": (None,) * len(shape)} if random.random() < 0.3 else {}
    return {"chunks": tuple(max(1, length // 2) for length in shape), **random.choice(filters), **growing}


def _write_matrix(file: Any, X: Any, random: Random) -> None:
    if random.random() < 0.4:
        file.create_dataset("X", data=X, **_layout(random, X.shape))
        return
    form = random.choice(("csr", "csc"))
    matrix = sp.csr_array(X).asformat(form)
    group = file.create_group("X")
    if random.random() < 0.2:
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = form, matrix.shape
    else:
        group.attrs["encoding-type"], group.attrs["shape"] = f"{form}_matrix", matrix.shape
    for part in ("data", "indices", "indptr"):
        values = getattr(matrix, part)
        group.create_dataset(part, data=values, **_layout(random, values.shape))


def _write_frame(group: Any, names: list[str], columns: dict[str, Any], random: Random) -> None:
    group.attrs["encoding-type"] = "dataframe"
    group.attrs["_index"] = "_index"
    _write_column(group, "_index", np.array(names, dtype=object), random)
    for name, values in columns.items():
        if isinstance(values, dict) and "codes" in values and random.random() < 0.2:
            # As before anndata 0.8.
            _write_column(group, name, values["codes"], random)
            _write_column(group.require_group("__categories"), name, values["categories"], random)
        elif isinstance(values, dict):
            inner = group.create_group(name)
            inner.attrs["encoding-type"] = "categorical" if "codes" in values else "nullable-integer"
            for part, array in values.items():
                _write_column(inner, part, array, random)
        else:
            _write_column(group, name, values, random)


def _write_column(group: Any, name: str, values: Any, random: Random) -> None:
    import h5py

    if values.dtype.kind != "O":
        group.create_dataset(name, data=values, **_layout(random, values.shape))
    elif random.random() < 0.7:
        group.create_dataset(name, data=values, dtype=h5py.string_dtype(), **_layout(random, values.shape, True))
    else:
        group[name] = np.array([value.encode() for value in values])


# ---------------------------------------------------------------------- changes


def _change(random: Random, data: bytes) -> bytes:
    """Change what is in the file with the library itself, so that the file stays valid HDF5."""
    import h5py

    stream = io.BytesIO(data)
    with h5py.File(stream, "r+") as file:
        for _ in range(random.choice((1, 1, 2, 3))):
            paths: list[str] = []
            file.visit(paths.append)
            # What an earlier change has left may not fit the next one.
            with suppress(TypeError, ValueError, KeyError, AttributeError, RuntimeError, OSError):
                random.choice(_CHANGES)(random, file, random.choice(paths or ["/"]))
    return stream.getvalue()


def _delete(random: Random, file: Any, path: str) -> None:
    del file[path]


def _rename(random: Random, file: Any, path: str) -> None:
    names = [text for text in TEXTS if 0 < len(text) < 100 and "\0" not in text and text not in "/."]
    folder = path.rpartition("/")[0]
    new = f"{folder}/{random.choice((*names, 'codes', 'categories', 'mask', 'values', '_index', 'X', 'data'))}"
    if new not in file:
        file.move(path, new)


def _replace(random: Random, file: Any, path: str) -> None:
    import h5py

    old = file[path].shape if isinstance(file[path], h5py.Dataset) else (3,)
    shape = random.choice((old, old, (), (0,), (1,), (*old, 2), (*old, 0), tuple(k + 1 for k in old), (3, 3)))
    kind = random.choice(
        ("bool", "int8", "uint64", "float16", "float64", "complex64", "S3", "text", "group", "pairs", "empty")
    )
    del file[path]
    if kind == "group":
        file.create_group(path)
    elif kind == "empty":
        file[path] = h5py.Empty(random.choice(("f", "S3", "i8")))
    elif kind == "text":
        text = text_value(random).replace("\0", "")
        encoding = "ascii" if text.isascii() and random.random() < 0.5 else "utf-8"
        file.create_dataset(path, data=np.full(shape, text, dtype=object), dtype=h5py.string_dtype(encoding))
    elif kind == "pairs":
        file.create_dataset(path, shape, dtype=[("a", "i4"), ("b", "f8")])
    else:
        value = (
            random.choice((0, 1, 2, 100, np.nan))
            if kind in ("float16", "float64", "complex64")
            else random.randrange(2)
        )
        file.create_dataset(path, data=np.full(shape, value).astype(kind))


def _set_value(random: Random, file: Any, path: str) -> None:
    import h5py

    node = file[path]
    if not isinstance(node, h5py.Dataset) or not node.size:
        return
    place = tuple(random.randrange(length) for length in node.shape)
    kind = node.dtype.kind
    if kind in "iu":
        limits = np.iinfo(node.dtype)
        node[place] = max(limits.min, min(limits.max, whole_number(random)))
    elif kind == "f":
        node[place] = random.choice((0, -1, np.nan, np.inf, np.finfo(node.dtype).max, 0.5))
    elif kind in "OS":
        node[place] = random.choice(TEXTS).replace("\0", "").encode() if kind == "S" else b"\xff\xfe"


def _set_attribute(random: Random, file: Any, path: str) -> None:
    import h5py

    attributes = file[path].attrs
    known = [*attributes, "encoding-type", "shape", "_index", "categories", "h5sparse_format"]
    name = random.choice(known)
    if name in attributes and random.random() < 0.3:
        del attributes[name]
        return
    sizes = [whole_number(random) % (1 << 63) for _ in range(random.choice((0, 1, 2, 2, 3)))]
    values: tuple[Any, ...] = (
        *("csr_matrix", "csc_matrix", "dataframe", "categorical", text_value(random).replace("\0", ""), b"\xff", b""),
        *(
            np.array(sizes, dtype=np.uint64),
            np.array([2.5, np.nan]),
            h5py.Empty("f"),
            file.ref,
            np.array(["a", "b"], "S1"),
            -1,
        ),
    )
    attributes[name] = random.choice(values)


def _link(random: Random, file: Any, path: str) -> None:
    """Put a link in the place of a node: to another one, to itself, or to a file that is not there."""
    import h5py

    others: list[str] = ["/"]
    file.visit(others.append)
    target = random.choice(others)
    link = random.choice((h5py.SoftLink(target), h5py.SoftLink(path), h5py.ExternalLink("none.h5", "/X"), None))
    node = file[target]
    del file[path]
    file[path] = node if link is None else link


def _new_matrix(random: Random, file: Any, path: str) -> None:
    """Exchange the dataset of X, or a part of it, by one of another length."""
    if "X" in file and hasattr(file["X"], "keys"):
        part = random.choice(("data", "indices", "indptr"))
        if part in file["X"]:
            values = file[f"X/{part}"][()]
            del file[f"X/{part}"]
            changed = (
                values[:-1],
                np.append(values, values[:1]),
                values[::-1],
                values.astype("float64"),
                values - 1 * (part != "data"),
            )
            file[f"X/{part}"] = random.choice(changed[: 4 if part == "data" else 5])


_CHANGES: list[Callable[[Random, Any, str], None]] = [
    *(_delete, _rename, _replace, _replace, _set_value, _set_value, _set_attribute, _set_attribute, _link, _new_matrix),
]

FORMATS = [Format("h5ad", _make, _change)]
