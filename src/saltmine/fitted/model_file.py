"""Model files (``.salt``): a zip of plain arrays and a JSON header. Nothing in them is ever executed.

A file may come from anybody. It is either loaded, or refused with one sentence (`ModelFileError`); its header is
checked field by field (`model_schema`), its arrays are read within limits (`model_archive`) and have to fit together
(`model_parts`). A model that was loaded opens no other file and no connection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Ints
from saltmine.atomic import atomic_write
from saltmine.data.item_counts import ItemCounts, entries
from saltmine.fitted.kinds import class_kinds, table_rows
from saltmine.fitted.model import NearMiss
from saltmine.fitted.model_archive import (
    BYTES_PER_BYTE,
    HEADER_PART,
    TABLE_BYTES_PER_BYTE,
    Arrays,
    BadArchive,
    ModelArchive,
    TooLarge,
    check_growth,
    check_memory,
    write_archive,
)
from saltmine.fitted.model_parts import (
    ALWAYS,
    OF_LIKELIHOOD,
    OF_ROWS,
    Sizes,
    check_declared,
    check_parts,
    check_together,
    demand,
    n_overlaps,
    n_table_rows,
    read_parts,
)
from saltmine.fitted.model_schema import FORMAT, MAX_NUMBER, PARAMETERS, VERSION, check_header
from saltmine.fitted.schema import SchemaError, parse, structure_bytes
from saltmine.fitted.stability import Stability
from saltmine.mdl.row_model import RowModel
from saltmine.names import quoted
from saltmine.preprocessing import Prepare

_WHOLE_NUMBERS = ("n_components_", "n_features_in_", "n_iter_")
_NUMBERS = ("description_length_", "null_description_length_", "temperature_")
# All others are attributes of the estimator under the same name.
_OF_ITEMS = (
    "components_",
    "alterations_",
    "item_of",
    "item_counts_",
    "noise_counts_",
    "_hits",
    "usage_",
    "row_classes",
)
_ATTRIBUTES = tuple(name for name in ALWAYS if name not in _OF_ITEMS)
# Memory of a row of the pattern table, and of each class in it.
_ROW_BYTES, _ROW_AND_CLASS_BYTES = 400, 120
# Memory of two patterns that overlap, in the code table of a class.
_OVERLAP_BYTES = 32
# What a pattern and a class take in summaries: little memory, but as much time as so many bytes.
_PATTERN_BYTES, _CLASS_BYTES = 20_000, 50_000
_NO_MODEL = "is not a saltmine model; load takes a file that model.save wrote"
# Memory of a label beside its characters, and of an entry of a pattern while its counts are checked.
_LABEL_BYTES, _ENTRY_BYTES = 16, 64


class ModelFileError(ValueError):
    """Raised if a file is not a model file of this version of the format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from saltmine import load
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.salt"
    >>> _ = path.write_text("no model")
    >>> try:
    ...     load(path)
    ... except ValueError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


# ---------------------------------------------------------------------- writing


def save_model(estimator: Any, kind: str, path: str | PathLike[str]) -> None:
    """Write a fitted estimator and the name of its kind; an existing file is replaced as a whole."""
    labels = np.asarray(estimator.classes_)
    if labels.dtype.kind not in "OUbiuf" or not all(isinstance(v, (str, int, float)) for v in labels.tolist()):
        raise TypeError(f"Labels such as {quoted(labels.tolist()[0])} cannot be stored in a file; use text or numbers.")
    header = _header(estimator, kind, labels)
    try:
        text = json.dumps(header).encode()
        # What is written here has to pass when it is read.
        check_header(parse(text))
    except (TypeError, SchemaError) as error:
        raise ValueError(f"The model cannot be saved: {error}; change it in the model and save again.") from None
    arrays = _arrays(estimator, labels)
    loaded, tables = _loaded_bytes(text, header, arrays), _table_bytes(estimator, header)
    arrays[HEADER_PART] = np.frombuffer(text, dtype=np.uint8)
    with atomic_write(path) as aside, aside.open("wb") as stream:
        write_archive(stream, arrays, loaded, tables)


def _header(estimator: Any, kind: str, labels: NDArray[Any]) -> dict[str, Any]:
    stability, near = estimator.stability_, estimator.near_miss_
    names = {"feature_names": getattr(estimator, "feature_names_in_", None), "row_names": estimator.row_names_}
    return {
        "format": FORMAT,
        "version": VERSION,
        "estimator": kind,
        "parameters": _plain_parameters(estimator, kind),
        "classes": {"labels": labels.tolist(), "dtype": _label_type(labels)},
        "item_names": None if estimator._item_names is None else [*map(_plain_name, estimator._item_names.tolist())],
        **{name: None if values is None else values.tolist() for name, values in names.items()},
        "about": estimator.about_,
        "preparation": None if estimator.preparation_ is None else estimator.preparation_.to_dict(),
        "near_miss": None if near is None else near._asdict(),
        "finished": bool(estimator.finished_),
        "group_name": estimator.group_name_,
        "groups": None if estimator.groups_ is None else np.unique(estimator.groups_).tolist(),
        "refits": 0 if stability is None else stability.refits,
        "rows": len(estimator.usage_),
        "items": estimator._items.components.shape[1],
        **{name: np.asarray(getattr(estimator, name)).item() for name in (*_WHOLE_NUMBERS, *_NUMBERS)},
    }


def _plain_name(name: Any) -> str | int:
    """Return the name of a column, which may be its number; a truth value, or a number without end, is text."""
    return name if type(name) is int and abs(name) <= MAX_NUMBER else str(name)


def _label_type(labels: NDArray[Any]) -> str:
    return {"O": "object", "U": "str"}.get(labels.dtype.kind, labels.dtype.name)


def _plain_parameters(estimator: Any, kind: str) -> dict[str, Any]:
    """Return the parameters that model files hold; a generator of random numbers, as an example, is left out."""
    plain = {}
    for name, value in estimator.get_params(deep=False).items():
        schema = PARAMETERS[kind].get(name)
        # Numbers and arrays of numpy, and tuples, become plain ones.
        part = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
        part = json.loads(json.dumps(part, default=_no_value)) if isinstance(part, (list, tuple)) else part
        if schema is not None and schema.accepts(part):
            plain[name] = part
    return plain


def _no_value(part: Any) -> Any:
    return part.tolist() if isinstance(part, (np.generic, np.ndarray)) else None


def _arrays(estimator: Any, labels: NDArray[Any]) -> Arrays:
    items, stability = estimator._items, estimator.stability_
    bits = {"components_": items.components, "alterations_": items.alterations, "usage_": estimator.usage_}
    arrays: Arrays = {name: np.packbits(values) for name, values in bits.items()}
    arrays |= {"item_of": items.item_of, "item_counts_": items.item_counts, "noise_counts_": items.noise_counts}
    arrays |= {"_hits": items.hits, "row_classes": np.searchsorted(labels, estimator.row_labels_)}
    arrays |= {name: getattr(estimator, name) for name in _ATTRIBUTES}
    if estimator.all_counts_ is not None:
        arrays |= {name: getattr(estimator, name) for name in OF_ROWS}
    if estimator._row_model is not None:
        arrays |= {f"row_model_{name}": values for name, values in vars(estimator._row_model).items()}
        arrays["row_model_within"] = np.packbits(estimator._row_model.within)
    if stability is not None:
        arrays |= {f"stability_{name}": getattr(stability, name) for name in ("patterns", "alterations", "entries")}
    if estimator.groups_ is not None:
        arrays["row_groups"] = np.unique(estimator.groups_, return_inverse=True)[1]
        arrays["item_p_values"] = estimator._item_p_values
    if estimator.row_weights_ is not None:
        arrays["row_weights"] = estimator.row_weights_
    return arrays


# ---------------------------------------------------------------------- reading


def read_model(path: str | PathLike[str], kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the estimator in a file of `save_model`; ``kinds`` are the estimators it may hold, by name."""
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{str(path)!r} is a folder, not a model file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    if not path.is_file():
        raise ModelFileError(f"{str(path)!r} is a pipe or a device, not a model file.")
    with path.open("rb") as stream:
        try:
            return _read(stream, kinds)
        except TooLarge as error:
            reason = f"is refused: {error}"
        except BadArchive as error:
            reason = f"is damaged or not a saltmine model ({error}); load takes a complete file that model.save wrote"
        except SchemaError as error:
            reason = f"is refused: {error}; ask for a file that model.save wrote"
        except _OtherFile as error:
            reason = str(error)
        except ValueError as error:
            reason = f"is damaged: its parts do not fit together ({error}); ask for a file that model.save wrote"
    raise ModelFileError(f"{str(path)!r} {reason}.")


class _OtherFile(ValueError):
    """Raised for a file that is not a model of this version."""


def _read(stream: IO[bytes], kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the estimator in a file: first its header, then the sizes of its arrays, then the arrays."""
    archive = ModelArchive(stream)
    text = _header_text(archive)
    header = _parsed(text)
    sizes = Sizes.of(header)
    parts = check_parts(archive.names, header)
    declared = {name: archive.declared(name) for name in parts}
    for name, part in parts.items():
        check_declared(name, part, declared[name], sizes)
    loaded = _loaded_bytes(text, header, declared)
    check_growth(loaded, archive.file_bytes, BYTES_PER_BYTE)
    check_growth(sizes.unfolded_bytes, archive.file_bytes, TABLE_BYTES_PER_BYTE)
    check_memory(loaded + sizes.unfolded_bytes)
    arrays = read_parts(archive, parts, sizes)
    class_counts = check_together(arrays, sizes, len(header["groups"] or ()))
    estimator = kinds[header["estimator"]](**header["parameters"])
    estimator._check_parameters()
    _restore_arrays(estimator, header, arrays)
    check_growth(_table_bytes(estimator, header), archive.file_bytes, TABLE_BYTES_PER_BYTE)
    _restore_facts(estimator, header, arrays, class_counts)
    _restore_row_model(estimator, header, arrays)
    _restore_groups(estimator, header, arrays)
    _restore_stability(estimator, header, arrays)
    return estimator


def _header_text(archive: ModelArchive) -> bytes:
    if HEADER_PART not in archive.names:
        raise _OtherFile(_NO_MODEL)
    declared = archive.declared(HEADER_PART)
    if declared.dtype != np.uint8 or len(declared.shape) != 1:
        raise _OtherFile(_NO_MODEL)
    check_growth(4 * declared.n_bytes, archive.file_bytes, BYTES_PER_BYTE)
    text = archive.read(HEADER_PART).tobytes()
    check_growth(structure_bytes(text), archive.file_bytes, BYTES_PER_BYTE)
    return text


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the header after a check of its version and of all its fields."""
    header: Any = parse(text)
    if type(header) is not dict or header.get("format") != FORMAT or type(header.get("version")) is not int:
        raise _OtherFile(_NO_MODEL)
    version = header["version"]
    if version != VERSION:
        remedy = "install a newer saltmine" if version > VERSION else "fit and save the model again"
        raise _OtherFile(f"has format version {version}, but this saltmine reads version {VERSION}; {remedy}")
    check_header(header)
    return header


def _restore_arrays(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore patterns, usage, counts and scores."""
    for name in _WHOLE_NUMBERS:
        setattr(estimator, name, header[name])
    for name in _NUMBERS:
        setattr(estimator, name, float(header[name]))
    of_items = ("item_of", "components_", "alterations_", "item_counts_", "noise_counts_", "_hits")
    estimator._items = ItemCounts(*(arrays[name] for name in of_items))
    estimator.usage_ = arrays["usage_"]
    for name in (*_ATTRIBUTES, *OF_ROWS):
        # Some are not counted where data is read lazily.
        setattr(estimator, name, arrays.get(name))
    estimator.usage_counts_ = estimator.usage_counts_.astype(np.int64)


def _restore_facts(estimator: Any, header: dict[str, Any], arrays: Arrays, class_counts: Ints) -> None:
    """Restore classes, names, the preparation, and the facts about the data."""
    m, n = header["rows"], header["n_features_in_"]
    estimator.classes_ = _labels(header["classes"])
    estimator.row_labels_ = estimator.classes_[arrays["row_classes"]]
    estimator.row_weights_, estimator.class_counts_ = arrays.get("row_weights"), class_counts
    estimator._item_names = _names(header["item_names"], n, "column names differ")
    estimator.row_names_ = _names(header["row_names"], m, "row names differ")
    features = _names(header["feature_names"], n, "names of features differ")
    if features is not None:
        estimator.feature_names_in_ = features
    near = header["near_miss"]
    estimator.near_miss_ = None if near is None else NearMiss(**near)
    estimator.finished_ = header["finished"]
    demand(near is None or max(near["items"]) < n, "the strongest candidate is not of these columns")
    estimator.about_, estimator.preparation_ = header["about"], None
    if header["preparation"] is not None:
        estimator.preparation_ = Prepare.from_dict(header["preparation"])
        demand(len(estimator.preparation_.item_names_) == n, "the preparation makes other columns")


def _labels(classes: dict[str, Any]) -> NDArray[Any]:
    """Return the labels, which are of the type that the header says, sorted and distinct."""
    labels, dtype = classes["labels"], np.dtype(classes["dtype"])
    kinds = {"O": str, "U": str, "b": bool, "i": int, "u": int, "f": float}
    demand({type(label) for label in labels} == {kinds[dtype.kind]}, "labels are of another type than the header says")
    try:
        array = np.array(labels, dtype=dtype)
    except OverflowError:
        raise ValueError("labels are larger than their type allows") from None
    demand(array.tolist() == labels == sorted(set(labels)), "labels are not sorted and distinct")
    return array


def _names(names: list[Any] | None, count: int, otherwise: str) -> NDArray[Any] | None:
    if names is None:
        return None
    demand(len(names) == count, otherwise)
    array = np.empty(count, dtype=object)
    array[:] = names
    return array


def _restore_row_model(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore the likelihood of rows, whose probabilities are never quite 0 or 1."""
    estimator._row_model, estimator._within = None, None
    if not estimator._has_row_model:
        demand("row_model_base" not in arrays, "a method of this kind has no likelihood of rows")
        return
    demand("row_model_base" in arrays, "row_model_base is missing")
    fields = {name.removeprefix("row_model_"): arrays[name] for name in OF_LIKELIHOOD}
    for name in ("base", "base_of_all", "rates"):
        demand(bool(((fields[name] > 0) & (fields[name] < 1)).all()), f"row_model_{name} has values that are no rates")
    demand(bool((fields["strengths"] < 1).all()), "row_model_strengths has values that are no strengths")
    pattern = entries(estimator.components_, estimator.alterations_)[0]
    demand(fields["strengths"].shape[1] == len(pattern), "row_model_strengths has another number of items")
    estimator._row_model, estimator._within = RowModel(**fields), fields["within"]


def _restore_groups(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore the groups of the rows, and the tests of single items that count them."""
    names = header["groups"]
    estimator.group_name_, estimator.groups_, estimator._item_p_values = header["group_name"], None, None
    if names is not None:
        demand(len(set(names)) == len(names), "groups have the same name")
        estimator.groups_ = np.array(names, dtype=str)[arrays["row_groups"]]
        estimator._item_p_values = arrays["item_p_values"]
        demand(not bool(np.isnan(arrays["item_p_values"]).any()), "item_p_values are no probabilities")


def _restore_stability(estimator: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore the stability, which has a figure for every row of the pattern table."""
    estimator.stability_ = None
    if header["refits"]:
        rows = table_rows(estimator.components_, estimator.alterations_, class_kinds(estimator) != "")
        shares = {name: arrays[f"stability_{name}"] for name in ("patterns", "alterations", "entries")}
        demand(len(shares["entries"]) == len(rows.pattern), "stability_entries has another number of rows")
        estimator.stability_ = Stability(header["refits"], **shares)


# ---------------------------------------------------------------------- memory


def _loaded_bytes(text: bytes, header: dict[str, Any], arrays: Mapping[str, Any]) -> int:
    """Return the memory that a model takes when it is loaded; ``arrays`` are those of the file, or declared ones."""
    sizes = Sizes.of(header)
    stored: int = sum(prod(array.shape) * int(array.dtype.itemsize) for array in arrays.values())
    n_entries = int(arrays["_hits"].shape[1])
    # Labels are kept for every row.
    widths = [header["classes"]["labels"], header["groups"] or ()]
    labels = sum(4 * max((len(str(label)) for label in listed), default=0) + _LABEL_BYTES for listed in widths)
    names = structure_bytes(text) + sizes.rows * labels
    return stored + sizes.unpacked_bytes + names + _ENTRY_BYTES * n_entries


def _table_bytes(estimator: Any, header: dict[str, Any]) -> int:
    """Return the memory that a model takes when its tables, its summary and its codes are made."""
    rows = n_table_rows(estimator._items, estimator.use_q_values_, estimator._level)
    sizes = Sizes.of(header)
    table = rows * (_ROW_BYTES + _ROW_AND_CLASS_BYTES * sizes.classes)
    codes = _OVERLAP_BYTES * n_overlaps(estimator._items) * sizes.classes
    return sizes.unfolded_bytes + table + codes + _PATTERN_BYTES * sizes.patterns + _CLASS_BYTES * sizes.classes
