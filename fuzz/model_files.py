"""Crafted model files: every one is a real model with something wrong in it.

What is wrong is a field of the header, an array, the archive, some bytes, or the size of it all. Others are models of
random figures that fit together. ``crafted_files(seed)`` yields them; ``python -m tests.helpers.crafted_models`` loads
and uses them under guard.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.random_models import large_model, random_model, whole_model
from fuzz.real_models import Base, Crafted, Evil, Header, bases, npy, pack
from saltmine.parameters import RUN_PARAMETERS

# ---------------------------------------------------------------------- headers

_NESTED: list[Any] = []
for _ in range(200):
    _NESTED = [_NESTED]
HOSTILE: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 10**6, 10**12, 2**31, 2**63, -(2**63), 10**19, 0.5, -0.5, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf"), 1e-320),
    *("", "x", "0", "saltmine", "../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "tcp://127.0.0.1:9"),
    *("\ud800", "\x00", "\x1b]0;title\x07", "a\nb", "<script>alert(1)</script>", "{{css}}", "\u202e", "x" * 10_001),
    *("x" * 1_000_001, "<U500000000", "5" * 5000, "O", "__class__", "numpy.random", "${HOME}", "chr1:" + "9" * 5000),
    *([], {}, [[]], [{}], [None], ["x"], [1, 2], [-1], [1e308], ["\ud800"], {"x": 1}, {"": ""}, _NESTED),
    *([0] * 100, ["x"] * 1000, {"kind": "flag"}, {"labels": "/etc/passwd"}, [[1, 2], [3]], [True, False], [1, 1]),
]
# Fields that files must not have, or that a careless reader would use.
EXTRA: dict[str, list[Any]] = {
    "parameters": [*sorted(RUN_PARAMETERS), "depth", "__class__"],
    "about.reading": ["labels", "items", "stop_words", "target", "path", "min_docs"],
    "about": ["labels", "file", "client"],
    "": ["__reduce__", "code", "client", "shape"],
    "classes": ["kind"],
    "preparation": ["thresholds", "sparse_output"],
}


def _fields(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields; of lists the first and the last value."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield (*path, name)
            yield from _fields(value, (*path, name))
    elif isinstance(values, list):
        for position in sorted({0, len(values) - 1} & set(range(len(values)))):
            yield (*path, position)
            yield from _fields(values[position], (*path, position))


def _changed(header: Header, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Header:
    header = copy.deepcopy(header)
    inner = header
    for step in path[:-1]:
        inner = inner[step]
    change(inner, path[-1])
    return header


def header_field(base: Base, rng: np.random.Generator) -> Crafted:
    """Change, remove or double one field of the header."""
    paths = list(_fields(base.header))
    path = paths[rng.integers(len(paths))]
    where = ".".join(map(str, path))
    way = rng.integers(12)
    if way == 0:
        return f"{where} removed", pack(_changed(base.header, path, lambda inner, at: inner.pop(at)), base.arrays)
    if way == 1:
        text = json.dumps(base.header)
        return f"{path[0]} twice", pack(f'{text[:-1]}, "{path[0]}": 1}}'.encode(), base.arrays)
    value = HOSTILE[rng.integers(len(HOSTILE))]
    if way == 2:
        value = [copy.deepcopy(value) for _ in range(int(rng.integers(1, 70)))]
    header = _changed(base.header, path, lambda inner, at: inner.__setitem__(at, value))
    return f"{where} is {str(value)[:30]!a}", pack(header, base.arrays)


def header_extra(base: Base, rng: np.random.Generator) -> Crafted:
    """Add a field that model files do not have."""
    where = list(EXTRA)[rng.integers(len(EXTRA))]
    name = EXTRA[where][rng.integers(len(EXTRA[where]))]
    values = ["tcp://127.0.0.1:9", "/etc/passwd", 1, None, "cuda", *HOSTILE]
    value = values[rng.integers(len(values))]
    header = copy.deepcopy(base.header)
    inner: Any = header
    for step in filter(None, where.split(".")):
        inner[step] = inner.get(step) or {}
        inner = inner[step]
    inner[name] = value
    return f"{where}.{name} is {str(value)[:30]!a}", pack(header, base.arrays)


def header_text(base: Base, rng: np.random.Generator) -> Crafted:
    """Change the text of the header: cut it, repeat a piece, exchange characters, or put in odd ones."""
    text = bytearray(json.dumps(base.header).encode())
    begin, length = int(rng.integers(len(text))), int(rng.integers(1, 40))
    pieces = [b"[" * 5000, b"{" * 2000, b"9" * 5000, b"NaN", b"-Infinity", b"1e999", b"\\ud800", b"\xff\xfe", b"\x00"]
    way = int(rng.integers(4))
    if way == 0:
        del text[begin : begin + length]
    elif way == 1:
        text[begin:begin] = text[begin : begin + length]
    elif way == 2:
        text[begin : begin + length] = bytes(rng.permutation(list(text[begin : begin + length])).tolist())
    else:
        text[begin:begin] = pieces[rng.integers(len(pieces))]
    return f"text of the header, way {way} at {begin}", pack(bytes(text), base.arrays)


# ---------------------------------------------------------------------- arrays

_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", ">i8", ">f8")
_TYPES = (*_NUMBERS, "c16", "S3", "U3", "M8[s]")


def array_type(base: Base, rng: np.random.Generator) -> Crafted:
    """Give an array another type: numbers of another kind, text, records, objects."""
    name = list(base.arrays)[rng.integers(len(base.arrays))]
    array, kind = base.arrays[name], int(rng.integers(len(_TYPES) + 3))
    if kind < len(_TYPES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed = np.zeros(array.shape, dtype=_TYPES[kind])
            if changed.dtype.kind in "biuf" and rng.random() < 0.8:
                changed = np.nan_to_num(array).astype(_TYPES[kind])
    elif kind == len(_TYPES):
        changed = np.zeros(array.shape, dtype=[("a", "i4"), ("b", "O")])
    else:
        changed = np.full(array.shape, Evil() if kind > len(_TYPES) + 1 else None, dtype=object)
    return f"{name} of type {changed.dtype}", pack(base.header, base.arrays | {name: changed})


def array_shape(base: Base, rng: np.random.Generator) -> Crafted:
    """Give an array another shape, or say so in its header alone."""
    name = list(base.arrays)[rng.integers(len(base.arrays))]
    array = base.arrays[name]
    longer = np.concatenate([array, array[..., :1]], axis=-1) if array.size else np.zeros(3, dtype=array.dtype)
    shapes = [array[..., :-1], longer, array[None], array.T, array.ravel(), array[:0], np.asfortranarray(array)]
    way = int(rng.integers(len(shapes) + 4))
    if way < len(shapes):
        return f"{name}, shape way {way}", pack(base.header, base.arrays | {name: shapes[way]})
    lies = [b"(10000000000,)", b"(0,)", b"()", b"(3, 4, 5, 6)", b"(-1,)", b"(" + b"9" * 60 + b",)", b"([],)", b"(1e3,)"]
    lie = lies[rng.integers(len(lies))]
    return f"{name} says {lie!r}", pack(base.header, base.arrays | {name: _with_shape(array, lie)})


def _with_shape(array: NDArray[Any], shape: bytes) -> bytes:
    """Return the file of an array whose header has another shape."""
    descr = np.dtype(array.dtype).str.encode()
    text = b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


def array_bytes(base: Base, rng: np.random.Generator) -> Crafted:
    """Cut an array short, add to it, or change bytes of it or of its header; the checksum is right."""
    name = list(base.arrays)[rng.integers(len(base.arrays))]
    content = bytearray(npy(base.arrays[name]))
    way = int(rng.integers(5))
    at = int(rng.integers(len(content)))
    if way == 0:
        del content[at:]
    elif way == 1:
        content += bytes(int(rng.integers(1, 100)))
    elif way == 2:
        content[at] = int(rng.integers(256))
    elif way == 3:
        content[int(rng.integers(min(128, len(content))))] = int(rng.integers(256))
    else:
        content = bytearray(pickle.dumps(Evil()))
    return f"bytes of {name}, way {way} at {at}", pack(base.header, base.arrays | {name: bytes(content)})


def array_values(base: Base, rng: np.random.Generator) -> Crafted:
    """Change values of one array or several; types and shapes stay."""
    arrays = dict(base.arrays)
    names = [name for name in arrays if arrays[name].size]
    chosen = [names[k] for k in rng.choice(len(names), int(rng.integers(1, 4)), replace=False)]
    for name in chosen:
        array = arrays[name].copy()
        if array.dtype.kind == "f":
            odd = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, 0.5])
        else:
            limits = np.iinfo(array.dtype)
            odd = np.array([limits.min, limits.max, 0, 1, 2, 7, limits.max // 2], dtype=array.dtype)
        where = rng.random(array.shape) < rng.choice([0.02, 0.3, 1.0])
        array[where] = rng.choice(odd, int(where.sum()))
        arrays[name] = array
    return f"values of {', '.join(chosen)}", pack(base.header, arrays)


def array_swapped(base: Base, rng: np.random.Generator) -> Crafted:
    """Take arrays of another model, leave one out, or exchange two."""
    names = list(base.arrays)
    one, two = (names[k] for k in rng.choice(len(names), 2, replace=False))
    way = int(rng.integers(3))
    arrays = dict(base.arrays)
    if way == 0:
        del arrays[one]
    elif way == 1:
        arrays[one], arrays[two] = arrays[two], arrays[one]
    else:
        other = bases()[rng.integers(len(bases()))]
        arrays |= {name: other.arrays[name] for name in (one, two) if name in other.arrays}
    return f"{one} and {two}, way {way}", pack(base.header, arrays)


# ---------------------------------------------------------------------- archives


def archive_parts(base: Base, rng: np.random.Generator) -> Crafted:
    """Add parts that are unknown, doubled, encrypted, or compressed in another way; also an odd archive as a whole."""
    way = int(rng.integers(10))
    stream = io.BytesIO(base.content)
    if way < 4:
        names = ["evil.npy", "../../evil.npy", "/tmp/evil.npy", "usage_.npy", "header.npy", "header", "a" * 60_000]
        name = names[rng.integers(len(names))]
        with warnings.catch_warnings(), zipfile.ZipFile(stream, "a") as archive:
            warnings.simplefilter("ignore")
            archive.writestr(zipfile.ZipInfo(name), b"\x93NUMPY" if rng.random() < 0.5 else npy(np.zeros(3)))
        return f"one more part {name[:30]}", stream.getvalue()
    if way == 4:
        method = (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[rng.integers(2)]
        return f"compressed by method {method}", pack(base.header, base.arrays, method)
    if way == 5:
        with zipfile.ZipFile(stream, "a") as archive:
            archive.comment = b"PK\x05\x06" * int(rng.integers(1, 1000))
        return "a comment", stream.getvalue()
    if way == 6:
        before = rng.bytes(int(rng.integers(1, 3000)))
        return "bytes before the archive", before + base.content
    if way == 7:
        return "bytes after the archive", base.content + rng.bytes(int(rng.integers(1, 3000)))
    if way == 8:
        n_parts = int(rng.choice([100, 5000, 70_000]))
        with zipfile.ZipFile(stream, "a") as archive:
            for number in range(n_parts):
                archive.writestr(zipfile.ZipInfo(f"{number}.npy"), b"")
        return f"{n_parts} more parts", stream.getvalue()
    return "stored, not compressed", pack(base.header, base.arrays, zipfile.ZIP_STORED)


def archive_directory(base: Base, rng: np.random.Generator) -> Crafted:
    """Change a field of the directory or of a local header: sizes, checksums, flags, methods, positions."""
    content = bytearray(base.content)
    mark = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")[rng.integers(3)]
    places = [at for at in range(len(content) - 4) if content[at : at + 4] == mark]
    at = places[rng.integers(len(places))] + int(rng.integers(4, 46))
    width = int(rng.choice([1, 2, 4]))
    values = [0, 1, 0x7F, 0xFF, 8, 9, 12, 14, 99, int(rng.integers(256))]
    fill = bytes([values[rng.integers(len(values))]]) * width
    content[at : at + width] = fill
    return f"directory {mark!r} at {at} is {fill!r}", bytes(content[: len(base.content)])


def flipped_bytes(base: Base, rng: np.random.Generator) -> Crafted:
    """Change random bytes, cut the file, or exchange pieces of it."""
    plain = base.content if rng.random() < 0.5 else pack(base.header, base.arrays, zipfile.ZIP_STORED)
    content = bytearray(plain)
    way = int(rng.integers(4))
    if way == 0:
        del content[int(rng.integers(len(content))) :]
    elif way == 1:
        one, two = sorted(rng.integers(len(content), size=2).tolist())
        content[one:two] = content[one:two][::-1]
    else:
        for at in rng.integers(len(content), size=int(rng.integers(1, 20))).tolist():
            content[at] ^= 1 << int(rng.integers(8)) if way == 2 else int(rng.integers(1, 256))
    return f"bytes of the file, way {way}", bytes(content)


# ---------------------------------------------------------------------- all of them

# How often each kind of file comes.
KINDS: dict[Callable[[Base, np.random.Generator], Crafted], int] = {
    header_field: 24,
    header_extra: 8,
    header_text: 6,
    array_type: 8,
    array_shape: 8,
    array_bytes: 8,
    array_values: 16,
    array_swapped: 4,
    archive_parts: 4,
    archive_directory: 8,
    flipped_bytes: 6,
    large_model: 3,
    random_model: 12,
    whole_model: 1,
}


def crafted_files(seed: int) -> Iterator[Crafted]:
    """Yield descriptions and contents of crafted model files without end; the same seed gives the same files."""
    kinds = [kind for kind, weight in KINDS.items() for _ in range(weight)]
    number = 0
    while True:
        rng = np.random.default_rng([seed, number])
        base = bases()[rng.integers(len(bases()))]
        kind = kinds[rng.integers(len(kinds))]
        description, content = kind(base, rng)
        yield f"{kind.__name__}, {base.name}: {description}", content
        number += 1
