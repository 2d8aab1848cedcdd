"""Real models, taken apart into header and arrays, and put together again as a file."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine import Asso, CSalt, Dbssl, DiffNorm, JointNMF, MdlDbssl, Prepare, Primp

Arrays = dict[str, Any]
Header = dict[str, Any]
Crafted = tuple[str, bytes]


class Evil:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("executed",)


def small_data(seed: int = 1) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return 60 rows of 20 items in two classes, with three patterns, one of which a class alters."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((60, 20)) < 0.03, np.repeat(["one", "two"], 30)
    X[:45, :5] = True
    X[np.ix_(y == "two", range(5, 8))] |= X[y == "two", :1]
    X[20:50, 9:14] = True
    X[:25, 15:19] = True
    return X, y


def _real_models() -> Iterator[tuple[str, Any]]:
    X, y = small_data()
    rows = [f"row {k}" for k in range(60)]
    frame = pd.DataFrame(X, columns=[f"item {k}" for k in range(20)], index=rows)
    model = CSalt(random_state=0).fit(frame, y)
    model.assess_stability(frame, y, refits=2, random_state=0)
    model.about_ = {"source": "a.csv", "kind": "items", "title": "Titel", "image": [4, 5], "reading": {"text": "words"}}
    yield "CSalt", model
    table = frame.assign(age=np.arange(60), colour=["red", "blue", "red"] * 20, sure=["yes", "no"] * 30, same=1)
    prepare = Prepare(bins=3, cuts="cumulative").fit(table)
    groups = pd.Series([f"patient {k // 3}" for k in range(60)], name="patient")
    model = CSalt(random_state=0).fit(prepare.transform(table), y, groups=groups)
    prepared: Any = prepare
    model.preparation_, model.about_ = prepared, {"source": "t.csv", "reading": {"separator": ";", "encoding": "utf-8"}}
    yield "CSalt with groups and preparation", model
    weights = np.arange(60) % 4
    weighted = CSalt(random_state=0, features="alterations", fold=False)
    yield "CSalt with weights", weighted.fit(X, (y == "two").astype(np.int16), sample_weight=weights)
    noise = np.random.default_rng(0).random((60, 8)) < 0.3
    yield "CSalt of noise", CSalt(random_state=0).fit(noise, y == "two")
    yield "Primp", Primp(random_state=0, max_rank=5).fit(X)
    yield "Asso", Asso(rank=3).fit(X, y)
    yield "Dbssl", Dbssl(ranks=(2, 1, 1), candidates="associations").fit(X, y)
    yield "MdlDbssl", MdlDbssl(constellations=[(1, 1), 2], candidates="associations").fit(X, y)
    yield "DiffNorm", DiffNorm(subsets=[["one", "two"], ["two"]]).fit(X, y)
    yield "JointNMF", JointNMF(ranks=3, random_state=0).fit(X, y)


class Base(NamedTuple):
    """A model file as it was saved, taken apart."""

    name: str
    content: bytes
    header: Header
    arrays: Arrays


@cache
def bases() -> list[Base]:
    """Return small real models of all kinds."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in _real_models():
            path = Path(folder) / "model.salt"
            model.save(path)
            with np.load(path) as archive:
                arrays = dict(archive)
            header = json.loads(arrays.pop("header").tobytes())
            found.append(Base(name, path.read_bytes(), header, arrays))
    return found


def pack(header: Any, arrays: Arrays, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a model file; arrays may be given as bytes, which are then written as they are, and so may the header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, array in (arrays | {"header": np.frombuffer(text, dtype=np.uint8)}).items():
            content = array if isinstance(array, bytes) else npy(array)
            # Without the time of day, so that the same file is the same bytes.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, method)
    return stream.getvalue()


def npy(array: NDArray[Any]) -> bytes:
    """Return an array as the bytes of a .npy file; objects are pickled."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()
