"""Model files (``.salt``): a zip of plain arrays and a JSON header. Nothing in them is ever executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.atomic import whole_file
from saltmine.fitted.stability import Stability
from saltmine.preprocessing import Prepare
from saltmine.solver.items import ItemFigures

FORMAT = "saltmine model"
VERSION = 4
# Boolean arrays are packed eight to a byte.
_PACKED = ("components_", "alterations_", "usage_")
_SCORES = ("pattern_evidence_", "alteration_evidence_", "pattern_gain_", "alteration_gain_")
_STABILITY = ("patterns", "alterations", "entries")
_NUMBERS = ("n_components_", "n_features_in_", "n_iter_", "description_length_", "null_description_length_")
# Parameters that another machine may not have.
_RUN_PARAMETERS = ("device", "client")
# Text gets its width from the labels themselves.
_LABEL_TYPES = {"O": "object", "U": "str"}


class ModelFileError(ValueError):
    """Raised for a file that is not a model of this version."""


def save_model(estimator: Any, kind: str, path: str | PathLike[str]) -> None:
    """Write a fitted estimator and the name of its kind; an existing file is replaced as a whole."""
    labels = np.asarray(estimator.classes_)
    if labels.dtype.kind not in "OUbiuf" or not all(isinstance(v, (str, int, float)) for v in labels.tolist()):
        raise TypeError(f"Labels such as {labels.tolist()[0]!r} cannot be stored in a file; use text or numbers.")
    items, stability = estimator._items, estimator.stability_
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": kind,
        "parameters": _plain_parameters(estimator),
        "classes": {"labels": labels.tolist(), "dtype": _LABEL_TYPES.get(labels.dtype.kind, labels.dtype.str)},
        "item_names": _plain_names(estimator._item_names),
        "feature_names": _plain_names(getattr(estimator, "feature_names_in_", None)),
        "row_names": _plain_names(estimator.row_names_),
        "about": estimator.about_,
        "preparation": None if estimator.preparation_ is None else estimator.preparation_.to_dict(),
        "refits": 0 if stability is None else stability.refits,
        "shape": [*np.shape(estimator.usage_), len(labels), estimator.n_components_, estimator.n_features_in_],
        "items": items.components.shape[1],
        **{name: np.asarray(getattr(estimator, name)).item() for name in _NUMBERS},
    }
    bits = {"components_": items.components, "alterations_": items.alterations, "usage_": estimator.usage_}
    arrays: dict[str, NDArray[Any]] = {name: np.packbits(bits[name]) for name in _PACKED}
    plain = ("usage_counts_", "history_", *_SCORES)
    arrays |= {name: getattr(estimator, name) for name in plain}
    arrays |= {"item_of": items.item_of, "item_counts_": items.item_counts, "noise_counts_": items.noise_counts}
    arrays |= {"_hits": items.hits, "carrier_counts_": estimator.carrier_counts_, "_carrier_hits": items.carrier_hits}
    if stability is not None:
        arrays |= {f"stability_{name}": getattr(stability, name) for name in _STABILITY}
    arrays["row_classes"] = np.searchsorted(labels, estimator.row_labels_)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with whole_file(path) as aside, aside.open("xb") as stream:
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
            raise ModelFileError(
                f"{str(path)!r} is damaged or not a saltmine model; load takes a complete file that model.save wrote."
            ) from None
    header = _checked_header(arrays, str(path))
    try:
        estimator = kinds[header["estimator"]](**header["parameters"])
        estimator._check_parameters()
        _restore_arrays(estimator, header, arrays)
        _restore_names(estimator, header, arrays)
        _restore_extras(estimator, header, arrays)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{str(path)!r} is damaged: its parts do not fit together ({error}); save the model again."
        ) from None
    return estimator


def _checked_header(arrays: dict[str, NDArray[Any]], path: str) -> dict[str, Any]:
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
        raise ModelFileError(
            f"{path!r} has format version {version}, but this saltmine reads version {VERSION}; {remedy}."
        )
    return header


def _restore_arrays(estimator: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    m, rank, c, _, n = header["shape"]
    for name in _NUMBERS:
        _demand(isinstance(header[name], (int, float)), f"{name} is not a number")
        setattr(estimator, name, header[name])
    _demand((estimator.n_components_, estimator.n_features_in_) == (rank, n), "rank or number of columns differ")
    n_items = int(header["items"])
    shapes = {"components_": (rank, n_items), "alterations_": (c, rank, n_items), "usage_": (m, rank)}
    bits = {name: _unpack(arrays[name], shapes[name], name) for name in _PACKED}
    estimator.usage_ = bits["usage_"]
    n_entries = int(bits["components_"].sum() + bits["alterations_"].sum())
    shapes = {"usage_counts_": (c, rank), "noise_counts_": (c, n_items), "item_counts_": (c, n_items)}
    shapes |= {"_hits": (c, n_entries), "carrier_counts_": (c, rank), "_carrier_hits": (c, n_entries)}
    counts = {name: _counts(arrays[name], shape, name) for name, shape in shapes.items()}
    estimator.usage_counts_ = counts["usage_counts_"].astype(np.int64)
    estimator.carrier_counts_ = counts["carrier_counts_"]
    item_of = arrays["item_of"]
    _demand(item_of.shape == (n,) and item_of.dtype.kind == "i", "the items of the columns differ")
    _demand(not n or (item_of.min() >= -1 and item_of.max() < n_items), "the items of the columns differ")
    estimator._items = ItemFigures(
        item_of,
        bits["components_"],
        bits["alterations_"],
        counts["item_counts_"],
        counts["noise_counts_"],
        counts["_hits"],
        counts["_carrier_hits"],
    )
    for name in _SCORES:
        setattr(estimator, name, _floats(arrays[name], (rank,) if name.startswith("pattern") else (c, rank), name))
    estimator.history_ = arrays["history_"]
    _demand(estimator.history_.dtype.kind == "f" and estimator.history_.ndim == 1, "history_ is not a list of numbers")


def _unpack(packed: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    count = int(np.prod(shape))
    _demand(packed.shape == (-(-count // 8),), f"{name} has the wrong length")
    return np.unpackbits(packed, count=count).astype(bool).reshape(shape)


def _counts(counts: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    _demand(counts.dtype.kind == "i" and not (counts < 0).any(), f"{name} does not hold counts")
    _demand(counts.shape == shape, f"{name} has shape {counts.shape}, expected {shape}")
    return counts


def _restore_names(estimator: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    m, _, c, _, n = header["shape"]
    labels, dtype = header["classes"]["labels"], header["classes"]["dtype"]
    _demand(len(labels) == len(set(labels)) == c, "number of classes differs")
    _demand(dtype in _LABEL_TYPES.values() or np.dtype(dtype).kind in "biuf", "labels are of an unknown type")
    estimator.classes_ = np.array(labels, dtype=dtype)
    numbers = arrays["row_classes"]
    _demand(numbers.shape == (m,), "number of rows differs")
    _demand(numbers.dtype.kind == "i" and not (numbers < 0).any(), "classes of the rows are not numbers")
    estimator.row_labels_ = estimator.classes_[numbers]
    estimator.class_counts_ = np.bincount(numbers, minlength=c)
    names = header["item_names"]
    estimator._item_names = None
    if names is not None:
        _demand(len(names) == n and all(isinstance(name, (str, int)) for name in names), "column names differ")
        estimator._item_names = np.array(names, dtype=object)
    features = header["feature_names"]
    if features is not None:
        _demand(len(features) == n and all(isinstance(name, str) for name in features), "names of features differ")
        estimator.feature_names_in_ = np.array(features, dtype=object)


def _plain_names(names: NDArray[Any] | None) -> list[Any] | None:
    return None if names is None else names.tolist()


def _restore_extras(estimator: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    estimator.row_names_, estimator.preparation_, estimator.stability_ = None, None, None
    m, rank, c, _, n = header["shape"]
    names = header["row_names"]
    if names is not None:
        _demand(len(names) == m and all(isinstance(name, str) for name in names), "row names differ")
        estimator.row_names_ = np.array(names, dtype=object)
    _demand(isinstance(header["about"], dict), "the facts about the data are not a dictionary")
    estimator.about_ = header["about"]
    if header["preparation"] is not None:
        estimator.preparation_ = Prepare.from_dict(header["preparation"])
        _demand(len(estimator.preparation_.item_names_) == n, "the preparation makes other columns")
    if header["refits"]:
        n_entries = int(estimator.components_.sum() + estimator.alterations_.sum())
        shapes = {"patterns": (rank,), "alterations": (c, rank), "entries": (n_entries,)}
        parts = {name: _floats(arrays[f"stability_{name}"], shape, name) for name, shape in shapes.items()}
        estimator.stability_ = Stability(int(header["refits"]), **parts)


def _floats(floats: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    _demand(floats.dtype.kind == "f" and floats.shape == shape, f"{name} is not an array of numbers")
    return floats


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that are plain values; a callback, a generator, a device or a cluster belong to the run."""
    parameters = estimator.get_params(deep=False).items()
    values = {name: _plain(value) for name, value in parameters if name not in _RUN_PARAMETERS}
    # None is a value; NotImplemented marks parameters without a plain one.
    return {name: value for name, value in values.items() if value is not NotImplemented}


def _plain(value: Any) -> Any:
    """Return a number, a text or a list of them as JSON can hold it, else NotImplemented."""
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        entries = [_plain(entry) for entry in value]
        return NotImplemented if any(entry is NotImplemented for entry in entries) else entries
    return NotImplemented
