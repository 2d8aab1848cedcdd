"""Model files of any size and of random figures that fit together: nothing in them is damaged."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from fuzz.real_models import Arrays, Base, Crafted, pack
from saltmine.data.item_counts import entries


def large_model(base: Base, rng: np.random.Generator) -> Crafted:
    """Return a model whose parts fit together and that claims to be large: a small file that takes much memory."""
    header, arrays = copy.deepcopy(base.header), dict(base.arrays)
    m, r, c = header["rows"], header["n_components_"], len(header["classes"]["labels"])
    d, n = header["items"], header["n_features_in_"]
    way = ("rows", "columns", "classes", "patterns", "label", "names", "items", "header")[rng.integers(8)]
    size = int(rng.choice([10_000, 300_000, 3_000_000, 30_000_000])) if way in ("rows", "columns") else 0
    if way == "rows":
        m = size
    elif way == "columns":
        n = size
    elif way == "classes":
        c = int(rng.choice([1000, 10_000, 30_000]))
        m = c
    elif way == "patterns":
        r = int(rng.choice([1000, 10_000, 50_000, 100_000]))
    elif way == "items":
        d = n = int(rng.choice([10_000, 300_000]))
        r = int(rng.choice([10, 100]))
    full = bool(rng.random() < 0.5)
    header |= {"rows": m, "n_components_": r, "items": d, "n_features_in_": n, "refits": 0, "near_miss": None}
    header |= {"item_names": None, "feature_names": None, "row_names": None, "preparation": None, "groups": None}
    labels = [f"c{a:05}" for a in range(c)] if way == "classes" else header["classes"]["labels"]
    if way == "label":
        labels = sorted([*map(str, labels[1:]), "x" * 9000])
        m = int(rng.choice([100, 5000, 1_000_000]))
        header["rows"] = m
    if way in ("label", "classes"):
        header["classes"] = {"labels": labels, "dtype": "str"}
    if way == "names":
        header["row_names"] = ["x" * int(rng.choice([1000, 1_000_000]))] * m
    arrays = sized_arrays(m, r, len(labels), d, n, full)
    if way == "header":
        header["about"]["title"] = "x" * 10_000
        text = json.dumps(header).encode()
        filler = (b'"a":[' + b"[]," * 3_000_000 + b"[]],", b" " * 50_000_000)[rng.integers(2)]
        return "a header of many megabytes", pack(b"{" + filler + text[1:], arrays)
    return f"large by {way}: m={m} r={r} c={len(labels)} d={d} n={n} full={full}", pack(header, arrays)


def sized_arrays(m: int, r: int, c: int, d: int, n: int, full: bool) -> Arrays:
    """Return arrays of a model of these sizes; patterns have all items, or one each."""
    components = np.ones((r, d), dtype=bool) if full else np.zeros((r, d), dtype=bool)
    components[:, :1] = True
    numbers = np.arange(m) % c
    counts = np.bincount(numbers, minlength=c)
    zeros, ones, none = np.zeros((c, r), dtype=np.int8), np.ones((c, r)), np.full((c, r), np.nan)
    return {
        "components_": np.packbits(components),
        "alterations_": np.zeros(-(-c * r * d // 8), dtype=np.uint8),
        "usage_": np.zeros(-(-m * r // 8), dtype=np.uint8),
        "row_classes": numbers,
        "item_of": (np.arange(n) % max(d, 1)).astype(np.int32),
        "item_counts_": np.tile(np.minimum(counts, 1)[:, None], (1, d)).astype(np.int8),
        "noise_counts_": np.zeros((c, d), dtype=np.int8),
        "_hits": np.zeros((c, int(components.sum())), dtype=np.int8),
        **{f"{name}_counts_": zeros for name in ("usage", "carrier", "all", "most")},
        **{f"pattern_{name}_": np.zeros(r) for name in ("evidence", "gain")},
        **{f"alteration_{name}_": none for name in ("evidence", "gain", "p_values", "q_values")},
        **{f"use_{name}_values_": 0 * ones if full else ones for name in ("p", "q")},
        "_added_shares": np.full((2, c, r), np.nan),
        "_added_rows": np.zeros((2, c, r), dtype=np.int8),
        "history_": np.zeros(3),
    }


ODD_NAMES = [
    *("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{css}}", "&lt;", "two\nlines", "\x00"),
    *("\x1b[31mred", "common", "chr1:" + "9" * 5000, "chr" + "9" * 5000 + ":1", "pixel 999999999999999999 3", "1"),
    *("pixel_3_4", "px 1x2", "X:17 A>G", "chrX:999999999999 A>T", "שלום", "\u202eevil", "x" * 9000, "=cmd()", "a\tb"),
    *(
        "nan",
        "inf",
        "1e999",
        "$\\frac{",
        "%s %d %n",
        "__proto__",
        "constructor",
        "age<30",
        "age>=30",
        "true",
        "-1",
        " ",
    ),
]
_ODD_FLOATS = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e308, 3.0, 50.0, 700.0])
_ODD_SHARES = np.array([np.nan, 0.0, 1.0, 1e-300, 1e-9, 0.009, 0.2, 0.9])


def random_model(base: Base, rng: np.random.Generator) -> Crafted:
    """Return a small model of random figures that contradict each other nowhere, with odd names and labels."""
    m, r, c, d = (int(rng.integers(least, most)) for least, most in ((6, 40), (0, 6), (1, 6), (1, 9)))
    n = d + int(rng.integers(4))
    arrays = _random_arrays(rng, m, r, c, d, n)
    header = copy.deepcopy(base.header) | {"rows": m, "n_components_": r, "items": d, "n_features_in_": n, "refits": 0}
    header |= {"near_miss": None, "preparation": None, "groups": None, "feature_names": None, "row_names": None}
    header |= {"item_names": None, "about": {}, "classes": _random_classes(rng, c)}
    if rng.random() < 0.7:
        header["item_names"] = rng.choice(np.array(ODD_NAMES, dtype=object), n, replace=False).tolist()
        header["row_names"] = rng.choice(np.array(ODD_NAMES, dtype=object), m).tolist()
    if rng.random() < 0.5:
        kind = ("items", "words", "loci", "pixels")[rng.integers(4)]
        source, title = (ODD_NAMES[k] for k in rng.integers(len(ODD_NAMES), size=2))
        header["about"] = {"kind": kind, "source": source, "title": title}
        if rng.random() < 0.5:
            header["about"]["image"] = [int(side) for side in rng.choice([1, 2, 5, 300, 10**6], 2)]
    if rng.random() < 0.3:
        header |= {"groups": sorted(ODD_NAMES[:5]), "group_name": ODD_NAMES[rng.integers(len(ODD_NAMES))]}
        arrays |= {"row_groups": rng.integers(5, size=m), "item_p_values": rng.choice(_ODD_SHARES[1:], (c, d))}
    if rng.random() < 0.3:
        arrays["row_weights"] = np.ones(m, dtype=np.int64)
    return f"m={m} r={r} c={c} d={d} n={n} labels {header['classes']['dtype']}", pack(header, arrays)


def _random_classes(rng: np.random.Generator, c: int) -> dict[str, Any]:
    whole: list[Any] = [-(2**63), -1, 0, 1, 7, 2**53 + 1, 2**63 - 1]
    real: list[Any] = [-1e300, -1.0, 0.0, 0.5, 1.0, 2.0**60, 1e300]
    kinds = {"str": ODD_NAMES, "object": ODD_NAMES, "int64": whole, "float64": real}
    dtype = list(kinds)[rng.integers(len(kinds))]
    chosen = [kinds[dtype][k] for k in rng.choice(len(kinds[dtype]), c, replace=False)]
    return {"labels": sorted(chosen), "dtype": dtype}


def _random_arrays(rng: np.random.Generator, m: int, r: int, c: int, d: int, n: int) -> Arrays:
    numbers = rng.permutation(np.arange(m) % c)
    rows, shape = np.bincount(numbers)[:, None], (c, r)
    components, alterations = rng.random((r, d)) < rng.random(), rng.random((c, r, d)) < 0.3 * rng.random()
    alterations &= ~(components | alterations.all(axis=0))
    components[~components.any(axis=1) & ~alterations.any(axis=(0, 2)), 0] = True
    pattern, item, _ = entries(components, alterations)
    had, used = rng.integers(rows + 1, size=(c, d)), rng.integers(rows + 1, size=shape)
    least = np.maximum(had[:, item] + used[:, pattern] - rows, 0)
    return sized_arrays(m, r, c, d, n, full=False) | {
        "components_": np.packbits(components),
        "alterations_": np.packbits(alterations),
        "usage_": np.packbits(rng.random((m, r)) < 0.4),
        "row_classes": numbers,
        "item_of": rng.permutation(np.r_[np.arange(d), rng.integers(-1, d, n - d)]).astype(np.int32),
        "item_counts_": had,
        "noise_counts_": rng.integers(rows + 1, size=(c, d)),
        "_hits": rng.integers(least, np.minimum(had[:, item], used[:, pattern]) + 1),
        "usage_counts_": used,
        **{f"{name}_counts_": rng.integers(rows + 1, size=shape) for name in ("carrier", "all", "most")},
        **{f"pattern_{name}_": rng.choice(_ODD_FLOATS, r) for name in ("evidence", "gain")},
        **{f"alteration_{name}_": rng.choice(_ODD_FLOATS, shape) for name in ("evidence", "gain")},
        **{f"alteration_{name}_values_": rng.choice(_ODD_SHARES, shape) for name in "pq"},
        **{f"use_{name}_values_": rng.choice(_ODD_SHARES if c > 1 else [np.nan], shape) for name in "pq"},
        "_added_shares": rng.choice(_ODD_SHARES, (2, *shape)),
        "_added_rows": rng.integers(m + 1, size=(2, *shape)),
    }


def whole_model(base: Base, rng: np.random.Generator) -> Crafted:
    """Return a model file as it is: it has to be loaded."""
    return "as it was saved", base.content
