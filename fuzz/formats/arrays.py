"""Archives of numpy and scipy."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz.archives import changed_archive, members_of, zipped
from fuzz.cases import Case, Format


def saved(arrays: dict[str, Any]) -> bytes:
    """Return an archive of arrays, the same at any date."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return zipped(members_of(stream.getvalue()))


def _make_dense(random: Random) -> Case:
    rng = np.random.default_rng(random.randrange(1 << 30))
    n_rows, n_items = random.choice((2, 5, 20)), random.choice((1, 3, 8))
    X = (rng.random((n_rows, n_items)) < 0.4).astype(
        random.choice(("bool", "int8", "int64", "float32", ">f8", "uint16"))
    )
    arrays: dict[str, Any] = {random.choice(("X", "x", "data", "arr_0", "cells")): X}
    if random.random() < 0.3:
        arrays = {name: np.asfortranarray(X) for name in arrays}
    if random.random() < 0.8:
        arrays["y"] = rng.choice(random.choice((["a", "bé"], [1, 2], [0.5, 1.5], [True, False], [b"a", b"b"])), n_rows)
    if random.random() < 0.5:
        arrays["row_names"] = np.array([f"r{k}" for k in range(n_rows)])
    if random.random() < 0.5:
        arrays[random.choice(("item_names", "feature_names", "columns"))] = np.array([f"i{k}" for k in range(n_items)])
    options: dict[str, object] = {}
    if random.random() < 0.3:
        arrays["who"] = rng.integers(0, 3, n_rows)
        options["group"] = "who"
    if random.random() < 0.3:
        options["drop_unlabelled"] = True
    return Case({"data.npz": saved(arrays)}, "data.npz", options)


def _make_sparse(random: Random) -> Case:
    rng = np.random.default_rng(random.randrange(1 << 30))
    shape = random.choice((2, 5, 20)), random.choice((1, 3, 8))
    X = (rng.random(shape) < 0.4).astype(random.choice(("bool", "int8", "int64", "float32", "float64")))
    form = random.choice(("csr", "csr", "csc", "coo", "bsr", "dia"))
    kind = sp.coo_array if random.random() < 0.5 else sp.coo_matrix
    stream = io.BytesIO()
    sp.save_npz(stream, kind(X).asformat(form), compressed=False)
    return Case({"data.npz": zipped(members_of(stream.getvalue()))}, "data.npz")


FORMATS = [
    Format("npz", _make_dense, changed_archive),
    Format("sparse", _make_sparse, changed_archive),
]
