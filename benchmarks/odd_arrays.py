"""Arrays that are not what they say: every case in a process of its own, and what checking the input costs.

    python -m benchmarks.odd_arrays                    # all cases, a minute or two; exit code 1 if any is bad
    python -m benchmarks.odd_arrays --only sparse      # cases by name
    python -m benchmarks.odd_arrays --cost             # only the cost of the checks

A case is good if it gives the model of the same data in a proper array ("same model"), or, where there is no such data,
one sentence of this library or of scikit-learn ("sentence"). A case may take 30 seconds and 4 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import linecache
import os
import resource
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr
from numpy.typing import NDArray

from experiments.measuring import alternating_times
from saltmine import Asso, CSalt, Dbssl, DiffNorm, JointNMF, MdlDbssl, Prepare, Primp
from saltmine.datasets import Planted, make_planted
from saltmine.metrics import class_rank, description_length, f_measure, residual

SECONDS, MEMORY = 30, 4 << 30
GOOD = ("same model", "sentence", "result")
# The checks may take this share of a fit.
MAX_SHARE = 0.02
# A case that may end with a result as well as with a sentence.
ANYTHING = object()

Work = Callable[[], Any]
Cells = NDArray[np.bool_]


@cache
def planted() -> Planted:
    return make_planted(100, [120, 90], rank=5, noise=0.01, random_state=2)


@cache
def folder() -> Path:
    return Path(_folder.name)


_folder = TemporaryDirectory()


# ------------------------------------------------------------------ what is compared


def facts(model: Any) -> list[Any]:
    """Return what is compared of a fitted model."""
    arrays = [model.components_, model.alterations_, model.usage_, model.usage_counts_, model.noise_counts_]
    is_proper = [int(a.view(np.uint8).max(initial=0)) <= 1 for a in arrays[:3]]
    return [*(array.tolist() for array in arrays), model.classes_.tolist(), model.description_length_, is_proper]


def fitted(X: Any, y: Any = None, make: Callable[..., Any] = CSalt, **given: Any) -> list[Any]:
    options = {"random_state": 0} if "random_state" in make().get_params() else {}
    return facts(make(**options).fit(X, planted().y if y is None else y, **given))


@cache
def model() -> Any:
    return CSalt(random_state=0).fit(planted().X, planted().y)


def listed(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


# ------------------------------------------------------------------ odd truth values


def odd(X: Any) -> Cells:
    """Return truth values whose bytes are not only 0 and 1."""
    cells = np.asarray(X, dtype=bool)
    bytes_ = np.random.default_rng(1).integers(2, 256, size=cells.shape).astype(np.uint8)
    return np.where(cells, bytes_, np.uint8(0)).view(bool)


def sparse_of_odd(X: Cells, format: str) -> Any:
    stored = sp.csr_array(X).asformat(format)
    stored.data = odd(stored.data)
    return stored


def in_zarr(X: Cells) -> Any:
    array = zarr.open_array(str(folder() / "odd.zarr"), mode="w", shape=X.shape, chunks=(32, 32), dtype=bool)
    array[:] = X
    return array


def in_npy(X: Cells) -> Any:
    np.save(folder() / "odd.npy", X)
    return np.load(folder() / "odd.npy", mmap_mode="r")


def in_npz_folder(X: Cells) -> Path:
    parts = folder() / "parts"
    parts.mkdir(exist_ok=True)
    np.savez(parts / "a.npz", X[:35])
    np.savez(parts / "b.npz", X[35:])
    return parts


def every_second(X: Cells) -> Cells:
    wide = np.zeros((X.shape[0] * 2, X.shape[1] * 3), dtype=bool)
    wide.view(np.uint8)[::2, ::3] = X.view(np.uint8)
    return wide[::2, ::3]


ODD_FORMS: dict[str, Callable[[Cells], Any]] = {
    "C order": lambda X: X,
    "Fortran order": np.asfortranarray,
    "strided": every_second,
    "reversed": lambda X: np.flip(np.flip(X).copy()),
    "read-only": lambda X: np.frombuffer(X.tobytes(), dtype=bool).reshape(X.shape),
    "memory-mapped": in_npy,
    "DataFrame": pd.DataFrame,
    "DataFrame by columns": lambda X: pd.DataFrame({f"item {k}": X[:, k] for k in range(X.shape[1])}),
    "DataFrame, boolean": lambda X: pd.DataFrame(X).astype("boolean"),
    "masked array": np.ma.masked_array,
    "list of arrays": list,
    "dask": lambda X: da.from_array(X, chunks=(20, 20)),
    "zarr": in_zarr,
    "folder of npz": in_npz_folder,
}


def odd_truth() -> Iterator[tuple[str, Work, Any]]:
    X, y = planted().X, planted().y
    for name, form in ODD_FORMS.items():
        yield f"odd bool, fit, {name}", partial(lambda form: fitted(form(odd(X))), form), partial(fitted, X)
    for format in ("csr", "csc", "coo", "bsr", "dia"):
        work = partial(lambda format: fitted(sparse_of_odd(X, format)), format)
        yield f"odd bool, fit, {format}", work, lambda: fitted(sp.csr_array(X))
    sparse_dask = lambda: fitted(da.from_array(odd(X), chunks=(20, 100)).map_blocks(sp.csr_array))  # noqa: E731
    yield "odd bool, fit, dask of csr", sparse_dask, lambda: fitted(sp.csr_array(X))
    yield (
        "odd bool, fit, binarize=0.5",
        lambda: facts(CSalt(random_state=0, binarize=0.5).fit(odd(X), y)),
        lambda: facts(CSalt(random_state=0, binarize=0.5).fit(X, y)),
    )
    for kind in (Primp, Asso, Dbssl, DiffNorm, JointNMF, MdlDbssl):
        yield f"odd bool, fit, {kind.__name__}", partial(fitted, odd(X), make=kind), partial(fitted, X, make=kind)
    for name in ("transform", "predict", "predict_proba", "decision_function", "code_lengths"):
        yield (
            f"odd bool, {name}",
            partial(lambda name: listed(getattr(model(), name)(odd(X))), name),
            partial(lambda name: listed(getattr(model(), name)(X)), name),
        )
    yield "odd bool, score", lambda: model().score(odd(X), y), lambda: model().score(X, y)
    yield (
        "odd bool, inverse_transform",
        lambda: model().inverse_transform(odd(model().usage_), y).view(np.uint8).tolist(),
        lambda: model().inverse_transform(model().usage_, y).view(np.uint8).tolist(),
    )
    yield (
        "odd bool, assess_stability",
        lambda: listed(model().assess_stability(odd(X), y, refits=2, random_state=0).patterns),
        lambda: listed(model().assess_stability(X, y, refits=2, random_state=0).patterns),
    )
    yield "odd bool, labels", partial(fitted, X, odd(y == 1)), partial(fitted, X, y == 1)
    yield (
        "odd bool, score with odd labels",
        lambda: CSalt(random_state=0).fit(X, y == 1).score(X, odd(y == 1)),
        lambda: CSalt(random_state=0).fit(X, y == 1).score(X, y == 1),
    )
    some = np.arange(len(y)) % 3 > 0
    yield (
        "odd bool, sample_weight",
        partial(fitted, X, sample_weight=odd(some)),
        partial(fitted, X, sample_weight=some),
    )
    yield "odd bool, groups", partial(fitted, X, groups=odd(some)), partial(fitted, X, groups=some)
    table = pd.DataFrame({"member": some, "new": ~some})
    odd_table = pd.DataFrame({"member": odd(some), "new": odd(~some)})
    yield (
        "odd bool, Prepare",
        lambda: Prepare().fit_transform(odd_table).to_numpy().view(np.uint8).tolist(),
        lambda: Prepare().fit_transform(table).to_numpy().view(np.uint8).tolist(),
    )
    yield (
        "odd bool, Prepare, transform",
        lambda: Prepare().fit(table).transform(odd_table).to_numpy().view(np.uint8).tolist(),
        lambda: Prepare().fit(table).transform(table).to_numpy().view(np.uint8).tolist(),
    )
    yield from odd_metrics()


class Factors:
    """A model that somebody else made."""

    def __init__(self, of: Planted, form: Callable[[Any], Any]) -> None:
        self.components, self.alterations, self.usage = form(of.components), form(of.alterations), form(of.usage)
        self.y = of.y


def odd_metrics() -> Iterator[tuple[str, Work, Any]]:
    p = planted()
    measures: dict[str, Callable[[Factors, Cells], Any]] = {
        "f_measure": lambda made, X: f_measure(made, model()),
        "class_rank": lambda made, X: class_rank(made).tolist(),
        "residual": lambda made, X: residual(made, X, p.y),
        "description_length": lambda made, X: description_length(X, p.y, made.components, made.alterations, made.usage),
    }
    for name, measure in measures.items():
        yield (
            f"odd bool, metrics.{name}",
            partial(lambda measure: measure(Factors(p, odd), odd(p.X)), measure),
            partial(lambda measure: measure(Factors(p, np.asarray), p.X), measure),
        )


# ------------------------------------------------------------------ weights


def weights() -> Iterator[tuple[str, Work, Any]]:
    X, m = planted().X, len(planted().X)
    twice = np.ones(m, dtype=np.int64)
    twice[::3] = 2
    same = {
        "uint64": twice.astype(np.uint64),
        "objects": twice.astype(object),
        "float32": twice.astype(np.float32),
        "float16": twice.astype(np.float16),
        "big-endian": twice.astype(">i8"),
        "reversed": twice[::-1].copy()[::-1],
        "list": twice.tolist(),
        "Int64": pd.Series(twice, dtype="Int64"),
    }
    for name, given in same.items():
        yield f"weights, {name}", partial(fitted, X, sample_weight=given), partial(fitted, X, sample_weight=twice)

    def first(value: Any, dtype: Any, count: int = 4) -> NDArray[Any]:
        changed = np.ones(m, dtype=dtype)
        changed[:count] = value
        return changed

    wrong: dict[str, Any] = {
        "int64, sum wraps to 0": first(2**62, np.int64),
        "int64, sum wraps to negative": first(2**62, np.int64, 2),
        "uint64, sum wraps": first(2**62, np.uint64),
        "uint64, largest": first(2**64 - 1, np.uint64, 1),
        "uint64, beyond int64": first(2**63 + 5, np.uint64, 2),
        "int64, smallest": first(-(2**63), np.int64, 2),
        "one huge": first(2**40, np.int64, 1),
        "more rows than memory": first(2**30, np.int64, 1),
        "float 1e300": first(1e300, np.float64),
        "float sum is infinite": first(1e308, np.float64),
        "float32, 1e38": first(1e38, np.float32),
        "longdouble, 1e4000": first(np.longdouble("1e4000"), np.longdouble),
        "inf": first(np.inf, np.float64, 1),
        "-inf": first(-np.inf, np.float64, 1),
        "nan": first(np.nan, np.float64, 1),
        "negative": first(-1, np.int64, 1),
        "half": first(0.5, np.float64, 1),
        "Python int beyond 64 bits": [10**30] + [1] * (m - 1),
        "Python ints that sum beyond": [2**62] * 4 + [1] * (m - 4),
        "objects, 10**30": first(10**30, object),
        "objects, None": first(None, object, 1),
        "objects, text": first("2", object, 1),
        "objects, lists": [[1, 2]] + [[1]] * (m - 1),
        "complex": first(1j, np.complex128, 1),
        "dates": np.full(m, np.datetime64("2020-01-01")),
        "time spans": np.full(m, np.timedelta64(1, "D")),
        "Int64 with NA": pd.Series([None] + [1] * (m - 1), dtype="Int64"),
        "structured": np.zeros(m, dtype=[("w", "i8")]),
        "a huge number for all": 10**30,
        "text": "many",
        "a dict": {"a": 1},
        "all zero": np.zeros(m),
        "empty": [],
    }
    for name, given in wrong.items():
        yield f"weights, {name}", partial(fitted, X, sample_weight=given), None
    weigh = lambda w: model().score(X, planted().y, sample_weight=w)  # noqa: E731
    for name in ("nan", "negative", "empty", "text"):
        yield f"weights of score, {name}", partial(weigh, wrong[name]), None
    wraps = wrong["int64, sum wraps to 0"]
    yield "weights of score, int64, sum wraps to 0", partial(weigh, wraps), partial(weigh, wraps.astype(float))


# ------------------------------------------------------------------ sparse


def spoilt(format: str, spoil: Callable[[Any], None], data_type: Any = np.int8) -> Any:
    stored = sp.csr_array(planted().X.astype(data_type)).asformat(format)
    stored = stored.copy()
    spoil(stored)
    return stored


def put(name: str, place: int, value: int) -> Callable[[Any], None]:
    def spoil(stored: Any) -> None:
        getattr(stored, name)[place] = value

    return spoil


def replaced(name: str, change: Callable[[NDArray[Any]], Any]) -> Callable[[Any], None]:
    return lambda stored: setattr(stored, name, change(getattr(stored, name)))


def in_coordinates(axis: int, place: int, value: int) -> Callable[[Any], None]:
    def spoil(stored: Any) -> None:
        stored.coords[axis][place] = value

    return spoil


def shortened_coordinates(stored: Any) -> None:
    stored.coords = (stored.coords[0][:-5], stored.coords[1])


def in_lists(row: int, values: list[int]) -> Callable[[Any], None]:
    def spoil(stored: Any) -> None:
        stored.rows[row] = values

    return spoil


def with_spare_room(stored: Any) -> None:
    stored.data = np.append(stored.data, np.full(9, 7, dtype=stored.data.dtype))
    stored.indices = np.append(stored.indices, np.full(9, -5, dtype=stored.indices.dtype))


BAD_POINTERS: dict[str, Callable[[Any], None]] = {
    "negative index": put("indices", 3, -1),
    "very negative index": put("indices", 3, -(2**31)),
    "index too large": put("indices", 3, 300),
    "index far too large": put("indices", 3, 2**31 - 1),
    "indptr falls": put("indptr", 5, 0),
    "indptr negative": put("indptr", 5, -7),
    "indptr rises too far inside": put("indptr", 5, 2**30),
    "indptr beyond the data": put("indptr", -1, 10**8),
    "indptr starts late": put("indptr", 0, 2),
    "indptr ends early": put("indptr", -1, 0),
    "indptr too short": replaced("indptr", lambda p: p[:-3]),
    "indptr too long": replaced("indptr", lambda p: np.append(p, p[-1])),
    "indptr empty": replaced("indptr", lambda p: p[:0]),
    "indptr of floats": replaced("indptr", lambda p: p.astype(float)),
    "indices of floats": replaced("indices", lambda i: i.astype(float)),
    "indices too short": replaced("indices", lambda i: i[:-9]),
    "data too short": replaced("data", lambda d: d[:-9]),
    "data of two dimensions": replaced("data", lambda d: d.reshape(1, -1)),
}


def sparse() -> Iterator[tuple[str, Work, Any]]:
    for format in ("csr", "csc"):
        for name, spoil in BAD_POINTERS.items():
            yield f"sparse, {format}, {name}", partial(lambda f, s: fitted(spoilt(f, s)), format, spoil), None
    yield (
        "sparse, csr, transform, index too large",
        lambda: model().transform(spoilt("csr", put("indices", 3, 300))),
        None,
    )
    yield "sparse, csr, predict, indptr falls", lambda: model().predict(spoilt("csr", put("indptr", 5, 0))), None
    of_metrics = lambda: residual(planted(), spoilt("csr", put("indices", 3, 2**31 - 1)), planted().y)  # noqa: E731
    yield "sparse, csr, residual, index too large", of_metrics, None
    for name, spoil in {
        "negative row": in_coordinates(0, 3, -1),
        "negative column": in_coordinates(1, 3, -1),
        "row too large": in_coordinates(0, 3, 2**30),
        "column too large": in_coordinates(1, 3, 2**30),
        "coordinates too short": shortened_coordinates,
        "data too short": replaced("data", lambda d: d[:-9]),
    }.items():
        yield f"sparse, coo, {name}", partial(lambda s: fitted(spoilt("coo", s)), spoil), None
    for name in ("negative index", "index too large", "indptr falls", "indptr beyond the data"):
        yield f"sparse, bsr, {name}", partial(lambda s: fitted(spoilt("bsr", s)), BAD_POINTERS[name]), None
    yield "sparse, lil, column too large", lambda: fitted(spoilt("lil", in_lists(2, [10**6]))), None
    yield "sparse, lil, negative column", lambda: fitted(spoilt("lil", in_lists(2, [-1]))), None
    yield "sparse, lil, lists of other lengths", lambda: fitted(spoilt("lil", in_lists(2, list(range(30))))), None
    yield "sparse, dask of csr, index too large", lambda: fitted(dask_of(spoilt("csr", put("indices", 3, 2**30)))), None
    yield (
        "sparse, dask of coo, row too large",
        lambda: fitted(dask_of(spoilt("coo", in_coordinates(0, 3, 2**30)))),
        None,
    )
    yield from sound_sparse()


def dask_of(stored: Any) -> Any:
    from dask import delayed

    return da.from_delayed(
        delayed(lambda: stored, pure=False)(), shape=stored.shape, dtype=np.int8, meta=sp.csr_array((0, 0))
    )


def shuffled(format: str, says: bool | None) -> Any:
    """Return a matrix whose indices are not sorted inside a row, and which may say that they are."""
    stored = sp.csr_array(planted().X.astype(np.int8)).asformat(format).copy()
    for begin, end in zip(stored.indptr[:-1], stored.indptr[1:], strict=True):
        stored.indices[begin:end] = stored.indices[begin:end][::-1].copy()
    return flagged(stored, says)


def flagged(stored: Any, says: bool | None) -> Any:
    if says is not None:
        stored.has_sorted_indices = says
        stored.has_canonical_format = says
    return stored


def with_duplicates(format: str, says: bool | None, value: Any = True) -> Any:
    """Return a matrix that stores every one twice; of truth values that is the same data."""
    rows, columns = planted().X.nonzero()
    ones = np.full(2 * len(rows), value)
    major, minor = (rows, columns) if format == "csr" else (columns, rows)
    order = np.lexsort((np.tile(minor, 2), np.tile(major, 2)))
    counts = np.bincount(major, minlength=planted().X.shape[0 if format == "csr" else 1])
    indptr = np.concatenate([[0], np.cumsum(2 * counts)])
    make = sp.csr_array if format == "csr" else sp.csc_array
    return flagged(make((ones, np.tile(minor, 2)[order], indptr), shape=planted().X.shape), says)


def coo_twice(says: bool) -> Any:
    rows, columns = planted().X.nonzero()
    both = np.tile(rows, 2), np.tile(columns, 2)
    stored = sp.coo_array((np.ones(2 * len(rows), dtype=bool), both), shape=planted().X.shape)
    stored.has_canonical_format = says
    return stored


def of_long_indices(format: str) -> Any:
    stored = sp.csr_array(planted().X.astype(np.int8)).asformat(format).copy()
    stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
    return stored


def changed_indices(change: Callable[[NDArray[Any]], Any]) -> Any:
    stored = sp.csr_array(planted().X.astype(np.int8)).copy()
    stored.indices, stored.indptr = change(stored.indices), change(stored.indptr)
    return stored


def sound_sparse() -> Iterator[tuple[str, Work, Any]]:
    proper = lambda: fitted(sp.csr_array(planted().X))  # noqa: E731
    for format in ("csr", "csc"):
        for says in (None, True):
            flag = ", flags lie" if says else ""
            yield (
                f"sparse, {format}, unsorted{flag}",
                partial(lambda f, s: fitted(shuffled(f, s)), format, says),
                proper,
            )
            yield (
                f"sparse, {format}, duplicates{flag}",
                partial(lambda f, s: fitted(with_duplicates(f, s)), format, says),
                proper,
            )
        yield f"sparse, {format}, 64-bit indices", partial(lambda f: fitted(of_long_indices(f)), format), proper
        wrong = partial(lambda f: fitted(with_duplicates(f, True, np.int8(1))), format)
        yield f"sparse, {format}, duplicate numbers, flags lie", wrong, None
    yield "sparse, coo, duplicates", lambda: fitted(coo_twice(False)), proper
    yield "sparse, coo, duplicates, flags lie", lambda: fitted(coo_twice(True)), proper
    changes: dict[str, Callable[[NDArray[Any]], Any]] = {
        "mixed indices": lambda i: i.astype(np.int64 if len(i) > 100 else np.int32),
        "16-bit indices": lambda i: i.astype(np.int16),
        "unsigned indices": lambda i: i.astype(np.uint32),
        "big-endian indices": lambda i: i.astype(">i4"),
        "strided indices": lambda i: np.repeat(i, 2)[::2],
        "read-only indices": lambda i: np.frombuffer(i.tobytes(), dtype=i.dtype),
    }
    for name, change in changes.items():
        yield f"sparse, csr, {name}", partial(lambda c: fitted(changed_indices(c)), change), proper
    yield "sparse, csr, room to spare", lambda: fitted(spoilt("csr", with_spare_room)), proper
    longer = replaced("data", lambda d: np.append(d, d[:9]))
    yield "sparse, csr, data too long", lambda: fitted(spoilt("csr", longer)), ANYTHING
    yield (
        "sparse, csr, data is objects",
        lambda: fitted(spoilt("csr", replaced("data", lambda d: d.astype(object)))),
        proper,
    )
    yield "sparse, csr, data is text", lambda: fitted(spoilt("csr", replaced("data", lambda d: d.astype(str)))), None
    yield "sparse, csr, data is complex", lambda: fitted(spoilt("csr", replaced("data", lambda d: d + 1j))), None
    for format in ("lil", "dok", "dia", "bsr"):
        yield f"sparse, {format}", partial(lambda f: fitted(sp.csr_array(planted().X).asformat(f)), format), proper
    yield "sparse, of one dimension", lambda: fitted(sp.coo_array(planted().X[0])), None
    yield "sparse, of three dimensions", lambda: fitted(sp.coo_array(np.ones((4, 4, 2)))), None
    yield "sparse, without rows", lambda: fitted(sp.csr_array((0, 5)), []), None
    yield "sparse, without columns", lambda: fitted(sp.csr_array((5, 0)), [0, 0, 1, 1, 1]), None
    yield "sparse, without ones", lambda: fitted(sp.csr_array((5, 7)), [0, 0, 1, 1, 1]), ANYTHING
    yield (
        "sparse, DataFrame",
        lambda: fitted(pd.DataFrame(planted().X).astype(pd.SparseDtype(bool, False))),
        partial(fitted, planted().X),
    )


# ------------------------------------------------------------------ sizes


def few_ones(n_rows: int, n_columns: int) -> Any:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(n_rows, size=4 * n_rows), rng.integers(n_columns, size=4 * n_rows)
    return sp.csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(n_rows, n_columns))


def sizes() -> Iterator[tuple[str, Work, Any]]:
    wide = {"2**31 + 10": 2**31 + 10, "2**31 - 1": 2**31 - 1, "2**40": 2**40, "2**62": 2**62}
    y = np.arange(20) % 2
    for name, n in wide.items():
        yield f"size, {name} columns", partial(lambda n: fitted(few_ones(20, n), y), n), ANYTHING
        yield f"size, {name} columns, Primp", partial(lambda n: fitted(few_ones(20, n), y, make=Primp), n), ANYTHING
    n = 2**31 + 10
    for kind in (Asso, DiffNorm, JointNMF):
        yield (
            f"size, 2**31 + 10 columns, {kind.__name__}",
            partial(lambda k: fitted(few_ones(20, n), y, make=k), kind),
            ANYTHING,
        )
    yield "size, 2**31 + 10 columns, paper", lambda: CSalt(algorithm="paper").fit(few_ones(20, n), y), ANYTHING
    yield "size, 2**31 + 10 columns, coo", lambda: fitted(sp.coo_array(few_ones(20, n)), y), ANYTHING
    yield "size, 2**31 + 10 columns, residual", lambda: residual(planted(), few_ones(210, n), planted().y), None
    yield "size, 2**31 + 10 columns, predict", lambda: model().predict(few_ones(20, n)), None
    long = sp.coo_array(([True], ([5], [3])), shape=(2**40, 5))
    yield "size, 2**40 rows, coo", lambda: Primp().fit(long), None
    rng = np.random.default_rng(0)
    for rows, classes, columns in ((200_000, 100_000, 12), (100_000, 100_000, 12), (200_000, 100_000, 300)):
        X, numbers = rng.random((rows, columns)) < 0.2, np.arange(rows) % classes
        for type_, labels in (("int", numbers), ("text", np.array([f"class {a}" for a in numbers]))):
            name = f"size, {classes:,} classes, {rows:,} x {columns}, {type_}"
            yield name, partial(lambda X, y: CSalt(random_state=0).fit(X, y).n_components_, X, labels), ANYTHING
    X, numbers = rng.random((100_000, 12)) < 0.2, np.arange(100_000)
    for maker in (Primp, Asso, Dbssl, DiffNorm, JointNMF):
        name = f"size, 100,000 classes, 100,000 x 12, {maker.__name__}"
        yield name, partial(lambda X, y, k: k().fit(X, y).n_components_, X, numbers, maker), ANYTHING
    yield (
        "size, 100,000 classes, groups",
        lambda: CSalt().fit(X, numbers % 2, groups=numbers // 2).n_components_,
        ANYTHING,
    )


# ------------------------------------------------------------------ other oddities


def others() -> Iterator[tuple[str, Work, Any]]:
    X, y = planted().X, planted().y
    m = len(y)
    proper = partial(fitted, X)
    good: dict[str, Callable[[], Any]] = {
        "int8": lambda: X.astype(np.int8),
        "big-endian int": lambda: X.astype(">i4"),
        "big-endian float": lambda: X.astype(">f8"),
        "float16": lambda: X.astype(np.float16),
        "longdouble": lambda: X.astype(np.longdouble),
        "uint64": lambda: X.astype(np.uint64),
        "objects": lambda: X.astype(object),
        "negative strides": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": lambda: np.frombuffer(X.tobytes(), dtype=bool).reshape(X.shape),
        "memory-mapped": lambda: in_npy(X),
        "unaligned": lambda: np.frombuffer(b"0" + X.astype(np.int64).tobytes(), dtype=np.int64, offset=1).reshape(
            X.shape
        ),
        "masked, nothing masked": lambda: np.ma.masked_array(X, mask=False),
        "negative zeros": lambda: np.where(X, 1.0, -0.0),
        "UInt8 of pandas": lambda: pd.DataFrame(X).astype("UInt8"),
        "boolean of pandas": lambda: pd.DataFrame(X).astype("boolean"),
        "Float64 of pandas": lambda: pd.DataFrame(X).astype("Float64"),
        "bool of pyarrow": lambda: pd.DataFrame(X).astype("bool[pyarrow]"),
        "objects of pandas": lambda: pd.DataFrame(X).astype(object),
        "mixed columns of pandas": lambda: pd.DataFrame(
            {k: X[:, k].astype("f4" if k % 2 else bool) for k in range(X.shape[1])}
        ),
        "lists": lambda: X.tolist(),
        "a memoryview": lambda: X.astype(np.uint8).data,
        "complex without imaginary part": lambda: X.astype(np.complex128),
    }
    for name, make in good.items():
        wanted = ANYTHING if name.startswith(("complex", "a memoryview")) else proper
        yield f"other, {name}", partial(lambda make: fitted(make()), make), wanted
    bad: dict[str, Callable[[], Any]] = {
        "np.matrix": lambda: np.matrix(X),
        "structured": lambda: np.zeros((m, 3), dtype=[("a", "i4"), ("b", "?")]),
        "structured, one dimension": lambda: np.zeros(m, dtype=[("a", "i4"), ("b", "?")]),
        "void": lambda: np.zeros((m, 3), dtype="V4"),
        "masked": lambda: np.ma.masked_array(X, mask=np.eye(*X.shape, dtype=np.bool_)),
        "masked objects": lambda: np.ma.masked_array(X.astype(object), mask=np.eye(*X.shape, dtype=np.bool_)),
        "complex": lambda: X + 1j,
        "dates": lambda: np.full(X.shape, np.datetime64("2020-01-01")),
        "time spans": lambda: np.full(X.shape, np.timedelta64(1, "D")),
        "bytes": lambda: X.astype("S1"),
        "text of variable length": lambda: X.astype(int).astype(str).astype(np.dtypes.StringDType()),
        "objects, lists": lambda: filled(X, [1, 2]),
        "objects, dicts": lambda: filled(X, {}),
        "objects, arrays": lambda: filled(X, np.zeros(3)),
        "objects, functions": lambda: filled(X, print),
        "objects, sets": lambda: filled(X, {1}),
        "objects, complex": lambda: filled(X, 1j),
        "objects, 10**400": lambda: filled(X, 10**400),
        "objects, 10**30": lambda: filled(X, 10**30),
        "objects, bytes": lambda: filled(X, b"1"),
        "objects, None": lambda: filled(X, None),
        "objects, ellipsis": lambda: filled(X, ...),
        "frame of lists": lambda: pd.DataFrame(filled(X, [1, 2])),
        "frame of dicts": lambda: pd.DataFrame(filled(X, {})),
        "frame of complex": lambda: pd.DataFrame(X + 1j),
        "frame with NA, boolean": lambda: with_gap("boolean"),
        "frame with NA, Int8": lambda: with_gap("Int8"),
        "frame with NA, Float32": lambda: with_gap("Float32"),
        "frame with NA, pyarrow": lambda: with_gap("bool[pyarrow]"),
        "frame without rows": lambda: pd.DataFrame(X)[:0],
        "no rows": lambda: X[:0],
        "no columns": lambda: X[:, :0],
        "nothing": lambda: X[:0, :0],
        "one dimension": lambda: X[0],
        "three dimensions": lambda: X[None],
        "a number": lambda: 7,
        "None": lambda: None,
        "an empty list": lambda: [],
        "a list of None": lambda: [None] * m,
        "a dict": lambda: {"a": [1]},
        "a generator": lambda: (row for row in X),
        "a Series": lambda: pd.Series(X[:, 0]),
        "int 255": lambda: X.astype(np.uint8) * 255,
        "huge floats": lambda: X * 1e308,
        "dask, objects with lists": lambda: da.from_array(filled(X, [1, 2]), chunks=(m, 100)),
        "dask, structured": lambda: da.from_array(np.zeros((m, 3), dtype=[("a", "i4")]), chunks=(m, 3)),
        "dask, complex": lambda: da.from_array(X + 1j, chunks=(m, 100)),
        "dask, nan": lambda: da.from_array(np.where(X, np.nan, 0), chunks=(m, 100)),
        "dask, chunks of other sizes": lambda: dask_that_lies(),
    }
    for name, make in bad.items():
        yield f"other, {name}", partial(lambda make: fitted(make()), make), None
    yield "other, no rows, transform", lambda: model().transform(X[:0]), ANYTHING
    yield "other, structured, predict", lambda: model().predict(bad["structured"]()), None
    yield "other, complex, transform", lambda: model().transform(X + 1j), None
    yield "other, lists, inverse_transform", lambda: model().inverse_transform([[1, 2], [3]]), None
    yield (
        "other, nan, inverse_transform",
        lambda: model().inverse_transform(np.full((2, model().n_components_), np.nan)),
        None,
    )
    yield (
        "other, text, inverse_transform",
        lambda: model().inverse_transform(np.full((2, model().n_components_), "no")),
        None,
    )
    yield from labels()


def filled(X: Cells, value: Any) -> NDArray[Any]:
    cells = X.astype(object)
    cells[3, 4] = value
    return cells


def with_gap(dtype: str) -> pd.DataFrame:
    frame = pd.DataFrame(planted().X).astype(pd.api.types.pandas_dtype(dtype))
    frame.iloc[3, 4] = pd.NA
    return frame


def dask_that_lies() -> Any:
    from dask import delayed

    return da.from_delayed(delayed(lambda: planted().X[:, :7])(), shape=planted().X.shape, dtype=bool)


def labels() -> Iterator[tuple[str, Work, Any]]:
    X, y = planted().X, planted().y
    m = len(y)
    text = np.array(["a", "b"])[y]
    good: dict[str, tuple[Any, Any]] = {
        "uint64": (y.astype(np.uint64) + np.uint64(2**63), None),
        "big-endian": (y.astype(">i8"), y),
        "big-endian text": (text.astype(">U1"), text),
        "read-only": (np.frombuffer(y.astype(np.int64).tobytes(), dtype=np.int64), y),
        "reversed": (y[::-1].copy()[::-1], y),
        "a column": (y[:, None], y),
        "float16": (y.astype(np.float16), y),
        "longdouble": (y.astype(np.longdouble), y),
        "category": (pd.Series(text, dtype="category"), text),
        "masked, nothing masked": (np.ma.masked_array(y, mask=False), y),
        "Python ints beyond 64 bits": ([10**30 + int(a) for a in y], None),
        "objects, ints beyond 64 bits": (np.array([10**30 * int(a) for a in y], dtype=object), None),
        "range index": (pd.Index(y), y),
    }
    for name, (given, proper) in good.items():
        wanted = ANYTHING if proper is None else partial(fitted, X, proper)
        with_warning = partial(fitted, X, given)
        yield f"labels, {name}", with_warning, wanted
    mixed = y.astype(object)
    mixed[3] = "x"
    nan = y.astype(float)
    nan[3] = np.nan
    lists = y.astype(object)
    lists[3] = [1, 2]
    arrays = y.astype(object)
    arrays[3] = np.zeros(2)
    same_type = np.empty(m, dtype=object)
    same_type[:] = [(int(a),) for a in y]
    bad: dict[str, Any] = {
        "nan": nan,
        "nan in objects": nan.astype(object),
        "infinite": np.where(y == 1, np.inf, 0.0),
        "mixed": mixed,
        "lists": lists,
        "arrays": arrays,
        "tuples": same_type,
        "dicts": [{"a": 1}] * m,
        "sets": [{1}] * m,
        "functions": [print] * m,
        "complex": y + 1j,
        "structured": np.zeros(m, dtype=[("a", "i4")]),
        "void": np.zeros(m, dtype="V4"),
        "bytes": text.astype("S1"),
        "dates": np.full(m, np.datetime64("2020-01-01")),
        "Int64 with NA": pd.Series([None, *y[1:].tolist()], dtype="Int64"),
        "category with NA": pd.Series([None, *text[1:].tolist()], dtype="category"),
        "pyarrow with NA": pd.Series([None, *text[1:].tolist()], dtype="string[pyarrow]"),
        "masked": np.ma.masked_array(y, mask=np.arange(m) == 3),
        "two columns": np.stack([y, y], axis=1),
        "ragged": [[0]] * (m - 1) + [[0, 1]],
        "sparse": sp.csr_array(y[:, None]),
        "empty": [],
        "a number": 7,
        "text": "ab",
        "a dict": {"a": 1},
        "a generator": (a for a in y),
        "None in a list": [None] * m,
    }
    for name, given in bad.items():
        yield f"labels, {name}", partial(lambda given: CSalt(random_state=0).fit(X, given), given), None
    for name in ("nan", "mixed", "empty", "structured", "tuples", "complex"):
        yield f"labels of transform, {name}", partial(lambda given: model().transform(X, given), bad[name]), None
        yield f"labels of score, {name}", partial(lambda given: model().score(X, given), bad[name]), None
    for name in ("nan", "lists", "structured", "empty", "a number", "ragged", "complex", "text", "a dict"):
        wanted = ANYTHING if name in ("complex", "lists", "structured", "ragged") else None
        yield f"groups, {name}", partial(lambda given: fitted(X, groups=given), bad[name]), wanted
    names: dict[str, Any] = {"nested": [[1]] * X.shape[1], "a number": 7, "too few": ["a"], "None": [None] * X.shape[1]}
    for name, given in names.items():
        yield f"item_names, {name}", partial(lambda given: fitted(X, item_names=given), given), ANYTHING


CASES: tuple[Callable[[], Iterator[tuple[str, Work, Any]]], ...] = (weights, odd_truth, sparse, sizes, others)


def all_cases(only: str = "") -> list[tuple[str, Work, Any]]:
    return [case for group in CASES for case in group() if only in case[0]]


# ------------------------------------------------------------------ one process


def judge(work: Work, wanted: Any) -> tuple[str, str]:
    """Return the outcome of a case, and what it said or returned in short."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = work()
    except BaseException as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        if not is_sentence(error):
            return "foreign exception", message
        return ("sentence" if wanted is None or wanted is ANYTHING else "refused"), message
    if wanted is None:
        return "wrong model", "accepted"
    if wanted is ANYTHING:
        return "result", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ("same model" if found == wanted() else "wrong model"), ""


def is_sentence(error: BaseException) -> bool:
    """Return whether an exception was raised on purpose, by this library or the input checks of scikit-learn."""
    if not isinstance(error, ValueError | TypeError) or not str(error).strip() or error.__traceback__ is None:
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    line = linecache.getline(file, trace.tb_lineno).strip()
    return line.startswith("raise") and ("saltmine" in file or "sklearn" in file) and "native.py" not in file


def run_apart(work: Work, wanted: Any) -> tuple[str, str, float, float]:
    """Run a case in a process of its own; return outcome, message, seconds and the peak of its memory in MB."""
    receiver, sender = os.pipe()
    begin = time.perf_counter()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        os.write(sender, json.dumps(judge(work, wanted))[:60_000].encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        told = stream.read()
    _, status, usage = os.wait4(child, 0)
    seconds, peak = time.perf_counter() - begin, usage.ru_maxrss / 1024
    if told:
        outcome, message = json.loads(told)
        return outcome, message, seconds, peak
    number = -os.waitstatus_to_exitcode(status)
    if number == signal.SIGALRM:
        return "too slow", f"more than {SECONDS} s", seconds, peak
    return "crash", signal.Signals(number).name if number > 0 else f"exit code {-number}", seconds, peak


# ------------------------------------------------------------------ cost


def data_of_cost() -> Iterator[tuple[str, Any, NDArray[Any]]]:
    p = make_planted(800, [500, 500], rank=10, noise=0.05, random_state=0)
    yield "planted 1,000 x 800", p.X, p.y
    p = make_planted(73, [1500, 1500], rank=5, noise=0.05, random_state=0)
    yield "table 3,000 x 73", pd.DataFrame(p.X, columns=[f"item {k}" for k in range(73)]), p.y
    p = make_planted(20_000, [1000, 1000], rank=5, noise=0.0, random_state=0)
    rng = np.random.default_rng(0)
    sparse = sp.csr_array(p.X & (rng.random(p.X.shape) < 0.05) | (rng.random(p.X.shape) < 0.001))
    yield "sparse 2,000 x 20,000", sparse.astype(np.int8), p.y


def costs(rounds: int = 3) -> bool:
    """Print which share of a fit the checks of its input take, and return whether none takes too much."""
    print(f"\n{'data':24}{'checks, ms':>12}{'fit, ms':>12}{'share':>9}")
    is_good = True
    for name, X, y in data_of_cost():
        model = CSalt(random_state=0)
        ones = np.ones(len(y), dtype=np.int64)

        def check(model: CSalt = model, X: Any = X, y: Any = y, ones: Any = ones) -> None:
            from saltmine.data.labels import row_counts

            model._validate(X, None, None)
            classes, numbers = model._classes(y, X.shape[0])
            row_counts(ones, numbers, classes)

        def fit(model: CSalt = model, X: Any = X, y: Any = y) -> None:
            model.fit(X, y)

        fit()
        checks, fits = (statistics.median(seconds) for seconds in alternating_times([check, fit], rounds))
        print(f"{name:24}{1e3 * checks:12.2f}{1e3 * fits:12.1f}{checks / fits:9.2%}")
        is_good &= checks < MAX_SHARE * fits
    return is_good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--bad", action="store_true", help="show only the cases that are bad")
    parser.add_argument("--cost", action="store_true", help="only the cost of the checks")
    arguments = parser.parse_args()
    is_good = True
    if not arguments.cost:
        print(f"{'case':56}{'outcome':20}{'seconds':>8}{'peak MB':>9}  message", flush=True)
        for name, work, wanted in all_cases(arguments.only):
            outcome, message, seconds, peak = run_apart(work, wanted)
            is_fine = outcome in GOOD and peak < MEMORY / 2**20
            is_good &= is_fine
            if not (arguments.bad and is_fine):
                print(f"{name:56}{outcome:20}{seconds:8.2f}{peak:9.0f}  {message[:150]}", flush=True)
    if not arguments.only:
        is_good &= costs()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
