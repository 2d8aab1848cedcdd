"""Model files with something changed."""

from __future__ import annotations

import json

import numpy as np

from fuzz.real_models import pack


def taken_apart(path):
    """Return the header and the arrays of a model file."""
    with np.load(path) as archive:
        arrays = dict(archive)
    return json.loads(arrays.pop("header").tobytes()), arrays


def rewrite(path, header=None, **arrays):
    """Write a model file again with some fields of the header and some arrays changed; None removes an array."""
    fields, parts = taken_apart(path)
    for field, value in (header or {}).items():
        *outer, name = field.split(".")
        inner = fields
        for step in outer:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        inner[int(name) if isinstance(inner, list) else name] = value
    parts = {name: array for name, array in (parts | arrays).items() if array is not None}
    path.write_bytes(pack(fields, parts))
