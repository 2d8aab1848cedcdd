"""Model files (``.salt``): a zip of plain arrays and a JSON header. Nothing in them is ever executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.atomic import atomic_write
from saltmine.data.item_counts import ItemCounts
from saltmine.fitted.kinds import class_kinds, table_rows
from saltmine.fitted.model import NearMiss
from saltmine.fitted.stability import Stability
from saltmine.preprocessing import Prepare

FORMAT = "saltmine model"
VERSION = 7
_OF_PATTERNS = ("pattern_evidence_", "pattern_gain_")
_OF_CLASSES = (
    "alteration_evidence_",
    "alteration_gain_",
    "use_p_values_",
    "use_q_values_",
    "alteration_p_values_",
    "alteration_q_values_",
)
_OF_ROWS = ("all_counts_", "most_counts_")
_NUMBERS = (
    "n_components_",
    "n_features_in_",
    "n_iter_",
    "description_length_",
    "null_description_length_",
    "temperature_",
)
# Parameters that another machine may not have.
_RUN_PARAMETERS = ("device", "client")
# Text gets its width from the labels themselves.
_LABEL_TYPES = {"O": "object", "U": "str"}


Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """Raised for a file that is not a model of this version."""


def save_model(estimator: Any, kind: str, path: str | PathLike[str]) -> None:
    """Write a fitted estimator and the name of its kind; an existing file is replaced as a whole."""
    labels = np.asarray(estimator.classes_)
    if labels.dtype.kind not in "OUbiuf" or not all(isinstance(v, (str, int, float)) for v in labels.tolist()):
        raise TypeError(f"Labels such as {labels.tolist()[0]!r} cannot be stored in a file; use text or numbers.")
    items, stability = estimator._items, estimator.stability_
    features = getattr(estimator, "feature_names_in_", None)
    names = {"item_names": estimator._item_names, "feature_names": features, "row_names": estimator.row_names_}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": kind,
        "parameters": _plain_parameters(estimator),
        "classes": {"labels": labels.tolist(), "dtype": _LABEL_TYPES.get(labels.dtype.kind, labels.dtype.str)},
        **{name: None if values is None else values.tolist() for name, values in names.items()},
        "about": estimator.about_,
        "preparation": None if estimator.preparation_ is None else estimator.preparation_.to_dict(),
        "near_miss": estimator.near_miss_,
        "group_name": estimator.group_name_,
        "groups": None if estimator.groups_ is None else np.unique(estimator.groups_).tolist(),
        "refits": 0 if stability is None else stability.refits,
        "shape": [*np.shape(estimator.usage_), len(labels), estimator.n_components_, estimator.n_features_in_],
        "items": items.components.shape[1],
        **{name: np.asarray(getattr(estimator, name)).item() for name in _NUMBERS},
    }
    bits = {"components_": items.components, "alterations_": items.alterations, "usage_": estimator.usage_}
    # Boolean arrays are packed eight to a byte.
    arrays: Arrays = {name: np.packbits(values) for name, values in bits.items()}
    arrays |= {name: getattr(estimator, name) for name in ("usage_counts_", "history_", *_OF_PATTERNS, *_OF_CLASSES)}
    arrays |= {"item_of": items.item_of, "item_counts_": items.item_counts, "noise_counts_": items.noise_counts}
    arrays |= {"_hits": items.hits, "carrier_counts_": estimator.carrier_counts_}
    if estimator.all_counts_ is not None:
        arrays |= {name: getattr(estimator, name) for name in (*_OF_ROWS, "_added_shares", "_added_rows")}
    if stability is not None:
        arrays |= {f"stability_{name}": getattr(stability, name) for name in ("patterns", "alterations", "entries")}
    if estimator.groups_ is not None:
        arrays["row_groups"] = np.unique(estimator.groups_, return_inverse=True)[1]
        arrays["item_p_values"] = estimator._item_p_values
    if estimator.row_weights_ is not None:
        arrays["row_weights"] = estimator.row_weights_
    arrays["row_classes"] = np.searchsorted(labels, estimator.row_labels_)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path) as aside, aside.open("xb") as stream:
        # The stubs take the arrays for the allow_pickle flag.
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def read_model(path: str | PathLike[str], kinds: Mapping[str, type]) -> Any:
    """Return the estimator in a file of `save_model`; ``kinds`` are the estimators it may hold, by name."""
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{str(path)!r} is a folder, not a model file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    with path.open("rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: np.asanyarray(archive[name]) for name in archive.files}
        except Exception:  # a broken zip raises errors of many types
            remedy = "load takes a complete file that model.save wrote"
            raise ModelFileError(f"{str(path)!r} is damaged or not a saltmine model; {remedy}.") from None
    header = _checked_header(arrays, str(path))
    try:
        estimator = kinds[header["estimator"]](**header["parameters"])
        estimator._check_parameters()
        _restore_arrays(estimator, header, arrays)
        _restore_facts(estimator, header, arrays)
        _restore_groups(estimator, header, arrays)
        _restore_stability(estimator, header, arrays)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        reason = f"its parts do not fit together ({error})"
        raise ModelFileError(f"{str(path)!r} is damaged: {reason}; save the model again.") from None
    return estimator


def _checked_header(arrays: Arrays, path: str) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(arrays["header"].tobytes())
        known = header["format"] == FORMAT
        version = int(header["version"])
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(f"{path!r} is not a saltmine model; load takes a file that model.save wrote.")
    if version != VERSION:
        remedy = "install a newer saltmine" if version > VERSION else "fit and save the model again"
        reason = f"has format version {version}, but this saltmine reads version {VERSION}"
        raise ModelFileError(f"{path!r} {reason}; {remedy}.")
    return header


def _restore_arrays(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore patterns, usage, counts and scores."""
    m, rank, c, _, n = header["shape"]
    for name in _NUMBERS:
        _demand(isinstance(header[name], (int, float)), f"{name} is not a number")
        setattr(estimator, name, header[name])
    _demand(1 <= estimator.temperature_ < np.inf, "temperature_ is not a number of at least 1")
    _demand((estimator.n_components_, estimator.n_features_in_) == (rank, n), "rank or number of columns differ")
    n_items = int(header["items"])
    components = _bits(arrays, "components_", (rank, n_items))
    alterations = _bits(arrays, "alterations_", (c, rank, n_items))
    n_entries = int(components.sum() + alterations.sum())
    item_of = _array(arrays, "item_of", "i", (n,))
    _demand(not n or (item_of.min() >= -1 and item_of.max() < n_items), "the items of the columns differ")
    sizes = {"item_counts_": n_items, "noise_counts_": n_items, "_hits": n_entries}
    counts = [_counts(arrays, name, (c, size)) for name, size in sizes.items()]
    estimator._items = ItemCounts(item_of, components, alterations, *counts)
    estimator.usage_ = _bits(arrays, "usage_", (m, rank))
    estimator.usage_counts_ = _counts(arrays, "usage_counts_", (c, rank)).astype(np.int64)
    estimator.carrier_counts_ = _counts(arrays, "carrier_counts_", (c, rank))
    for name in _OF_ROWS:
        # Not counted where data is read lazily.
        setattr(estimator, name, _counts(arrays, name, (c, rank)) if name in arrays else None)
    known = "_added_shares" in arrays
    estimator._added_shares = _array(arrays, "_added_shares", "f", (2, c, rank)) if known else None
    estimator._added_rows = _counts(arrays, "_added_rows", (2, c, rank)) if known else None
    for name in _OF_PATTERNS:
        setattr(estimator, name, _array(arrays, name, "f", (rank,)))
    for name in _OF_CLASSES:
        setattr(estimator, name, _array(arrays, name, "f", (c, rank)))
    estimator.history_ = _array(arrays, "history_", "f", (arrays["history_"].size,))


def _restore_facts(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore classes, names, the preparation, and the facts about the data."""
    m, _, c, _, n = header["shape"]
    labels, dtype = header["classes"]["labels"], header["classes"]["dtype"]
    _demand(len(labels) == len(set(labels)) == c, "number of classes differs")
    _demand(dtype in _LABEL_TYPES.values() or np.dtype(dtype).kind in "biuf", "labels are of an unknown type")
    estimator.classes_ = np.array(labels, dtype=dtype)
    row_classes = _counts(arrays, "row_classes", (m,))
    estimator.row_labels_ = estimator.classes_[row_classes]
    estimator.row_weights_ = _counts(arrays, "row_weights", (m,)) if "row_weights" in arrays else None
    estimator.class_counts_ = np.bincount(row_classes, estimator.row_weights_, minlength=c).astype(np.int64)
    _demand(bool((estimator.class_counts_ > 0).all()), "a class has no rows")
    estimator._item_names = _names(header["item_names"], n, (str, int), "column names differ")
    estimator.row_names_ = _names(header["row_names"], m, (str,), "row names differ")
    features = _names(header["feature_names"], n, (str,), "names of features differ")
    if features is not None:
        estimator.feature_names_in_ = features
    estimator.near_miss_ = None if header["near_miss"] is None else NearMiss(*header["near_miss"])
    _demand(_is_near_miss(estimator.near_miss_, n), "the strongest candidate is not of these columns")
    _demand(isinstance(header["about"], dict), "the facts about the data are not a dictionary")
    estimator.about_, estimator.preparation_ = header["about"], None
    if header["preparation"] is not None:
        estimator.preparation_ = Prepare.from_dict(header["preparation"])
        _demand(len(estimator.preparation_.item_names_) == n, "the preparation makes other columns")


def _is_near_miss(near: NearMiss | None, n: int) -> bool:
    if near is None:
        return True
    items = isinstance(near.items, list) and all(isinstance(item, int) and 0 <= item < n for item in near.items)
    is_row_count = isinstance(near.rows, int) and near.rows >= 2
    return items and len(near.items) >= 2 and is_row_count and isinstance(near.chance, float) and 0 <= near.chance <= 1


def _restore_groups(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore the groups of the rows, and the tests of single items that count them."""
    m, _, c, _, _ = header["shape"]
    _demand(isinstance(header["group_name"], str) and bool(header["group_name"]), "the groups have no name")
    estimator.group_name_, estimator.groups_, estimator._item_p_values = header["group_name"], None, None
    if header["groups"] is not None:
        names = _names(header["groups"], len(header["groups"]), (str,), "the names of the groups are not text")
        assert names is not None
        _demand(len(set(names.tolist())) == len(names), "groups have the same name")
        estimator.groups_ = names.astype(str)[_counts(arrays, "row_groups", (m,))]
        p_values = _array(arrays, "item_p_values", "f", (c, int(header["items"])))
        _demand(bool(((p_values >= 0) & (p_values <= 1)).all()), "item_p_values are no probabilities")
        estimator._item_p_values = p_values


def _restore_stability(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore the stability, which has a figure for every row of the pattern table."""
    estimator.stability_ = None
    if not header["refits"]:
        return
    rows = table_rows(estimator.components_, estimator.alterations_, class_kinds(estimator) != "")
    c, rank = estimator.usage_counts_.shape
    shapes = {"patterns": (rank,), "alterations": (c, rank), "entries": (len(rows.pattern),)}
    parts = {name: _array(arrays, f"stability_{name}", "f", shape) for name, shape in shapes.items()}
    estimator.stability_ = Stability(int(header["refits"]), **parts)


def _array(arrays: Arrays, name: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    array = arrays[name]
    _demand(array.dtype.kind == kind, f"{name} has values of type {array.dtype}")
    _demand(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    return array


def _counts(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    counts = _array(arrays, name, "i", shape)
    _demand(not (counts < 0).any(), f"{name} has negative values")
    return counts


def _bits(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    count = int(np.prod(shape))
    packed = _array(arrays, name, "u", (-(-count // 8),))
    return np.unpackbits(packed, count=count).astype(bool).reshape(shape)


def _names(names: list[Any] | None, count: int, types: tuple[type, ...], otherwise: str) -> NDArray[Any] | None:
    if names is None:
        return None
    _demand(len(names) == count and all(isinstance(name, types) for name in names), otherwise)
    return np.array(names, dtype=object)


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that JSON can hold; a callback, a generator, a device or a cluster belong to the run."""
    plain = {}
    for name, value in estimator.get_params(deep=False).items():
        # Numbers and arrays of numpy become plain ones; what has no such form is left out.
        with suppress(AttributeError, TypeError):
            plain[name] = json.loads(json.dumps(value, default=lambda part: part.tolist()))
    return {name: value for name, value in plain.items() if name not in _RUN_PARAMETERS}
