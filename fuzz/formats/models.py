"""Model files of all methods, with changed headers and arrays."""

from __future__ import annotations

import json
import tempfile
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from fuzz.archives import Members, changed_archive, members_of, zipped
from fuzz.cases import Case, Format
from fuzz.text import as_json, changed_json, deep_json

_HEADER = "header.npy"


@lru_cache(maxsize=1)
def _models() -> list[bytes]:
    """Return small models: of several methods, with and without groups, preparation, stability and patterns."""
    from saltmine import CSalt, Prepare, Primp
    from saltmine.datasets import make_planted
    from saltmine.methods import make

    planted = make_planted(12, [15, 15], rank=2, noise=0.02, random_state=0)
    names = np.array(["normal", "tümour"])[planted.y]
    frame = pd.DataFrame(planted.X.astype(int), columns=[f"gène {k}" for k in range(12)])
    groups = [f"p{k // 2}" for k in range(30)]
    prepare = Prepare()
    items = prepare.fit_transform(frame.assign(age=np.arange(30) % 7 * 10, colour=["red", "blue", "weiß"] * 10))
    with_preparation: Any = CSalt(random_state=0).fit(items, names)
    with_preparation.preparation_ = prepare
    with_stability = CSalt(random_state=0).fit(planted.X, names)
    with_stability.assess_stability(planted.X, names, refits=2, random_state=0)
    fitted = [
        CSalt(random_state=0).fit(frame, names),
        CSalt(random_state=0).fit(planted.X, planted.y, groups=groups),
        with_stability,
        with_preparation,
        Primp(random_state=0).fit(planted.X),
        CSalt(random_state=0).fit(np.eye(8), [1.0, 2.0] * 4),
        make("asso", random_state=0, rank=2).fit(planted.X, names),
        make("dbssl", random_state=0, ranks=1).fit(planted.X, names),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.salt"
        files = []
        for model in fitted:
            model.save(path)
            files.append(path.read_bytes())
    return files


def _make(random: Random) -> Case:
    data = random.choice(_models())
    return Case({"model.salt": zipped(members_of(data))}, "model.salt")


def _change(random: Random, data: bytes) -> bytes:
    return changed_archive(random, data, _change_header)


def _change_header(random: Random, members: Members) -> None:
    """Change values of the header, which is JSON in an array of bytes."""
    for k, (name, contents) in enumerate(members):
        if name != _HEADER:
            continue
        size = int.from_bytes(contents[8:10], "little")
        try:
            header: Any = json.loads(contents[10 + size :])
        except (ValueError, RecursionError):  # another change was here
            return
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            header = changed_json(random, header)
        text = deep_json(random) if random.random() < 0.01 else as_json(random, header)
        members[k] = (name, array_of(text))


def array_of(data: bytes) -> bytes:
    """Return bytes as an array of numpy."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(data)},), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + data


FORMATS = [Format("model", _make, _change, is_model=True)]
