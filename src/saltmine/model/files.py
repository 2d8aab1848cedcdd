"""Model files: a zip of plain arrays and a JSON header (``.salt``). Nothing in them is ever executed."""

from __future__ import annotations

import json
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "saltmine model"
VERSION = 1
# Boolean arrays are packed eight to a byte, in this order of axes.
_PACKED = ("components_", "alterations_", "usage_")
_PLAIN = ("usage_counts_", "noise_counts_", "_hits", "history_")
_NUMBERS = ("n_components_", "n_features_in_", "n_iter_", "description_length_", "null_description_length_")


class ModelFileError(ValueError):
    """A file that is not a model this version can read."""


def save_model(estimator: Any, path: str | PathLike[str]) -> None:
    """Write a fitted estimator; the file appears whole or not at all."""
    labels = np.asarray(estimator.classes_)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(estimator).__name__,
        "parameters": _plain_parameters(estimator),
        "classes": {"labels": labels.tolist(), "dtype": "object" if labels.dtype == object else labels.dtype.str},
        "feature_names": _names(estimator),
        "shape": [*np.shape(estimator.usage_), *np.shape(estimator.alterations_)],
        **{name: np.asarray(getattr(estimator, name)).item() for name in _NUMBERS},
    }
    try:
        text = json.dumps(header, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The labels of this model cannot be stored in a file ({error}); use text or numbers."
        ) from None
    arrays: dict[str, NDArray[Any]] = {name: np.packbits(getattr(estimator, name)) for name in _PACKED}
    arrays |= {name: getattr(estimator, name) for name in _PLAIN}
    arrays["row_classes"] = np.searchsorted(labels, estimator.row_labels_)
    arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)
    _write_whole(Path(path), arrays)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that ``save`` wrote.

    Returns
    -------
    CSalt or Primp, fitted

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from saltmine import Primp, load
    >>> model = Primp(random_state=0).fit([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.salt"
    >>> model.save(path)
    >>> bool((load(path).usage_ == model.usage_).all())
    True
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no model file {str(path)!r}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{str(path)!r} is a folder, not a model file.") from None
    except Exception as error:  # a broken zip raises whatever its reader stumbles over
        raise ModelFileError(
            f"{str(path)!r} is damaged or not a saltmine model ({error}); save the model again."
        ) from None
    return _restore(arrays, str(path))


def _restore(arrays: dict[str, NDArray[Any]], path: str) -> Any:
    import saltmine

    try:
        header = json.loads(arrays["header"].tobytes())
        known = header["format"] == FORMAT
        version = int(header["version"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{path!r} is not a saltmine model: it has no readable header.") from None
    if not known:
        raise ModelFileError(f"{path!r} is not a saltmine model.")
    if version > VERSION:
        raise ModelFileError(
            f"{path!r} has format version {version}, and this saltmine reads up to {VERSION}; install a newer saltmine."
        )
    kinds = {"CSalt": saltmine.CSalt, "Primp": saltmine.Primp}
    try:
        estimator = kinds[header["estimator"]](**header["parameters"])
        _restore_attributes(estimator, header, arrays)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelFileError(
            f"{path!r} is damaged: its parts do not fit together ({error}); save the model again."
        ) from None
    return estimator


def _restore_attributes(estimator: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    m, rank, c, _, n = header["shape"]
    shapes = {"components_": (rank, n), "alterations_": (c, rank, n), "usage_": (m, rank)}
    for name in _PACKED:
        count = int(np.prod(shapes[name]))
        if len(arrays[name]) != -(-count // 8):
            raise ValueError(f"{name} has the wrong length")
        packed = np.unpackbits(arrays[name], count=count)
        setattr(estimator, name, packed.astype(bool).reshape(shapes[name]))
    for name in _PLAIN:
        setattr(estimator, name, arrays[name])
    entries = int(estimator.components_.sum() + estimator.alterations_.sum())
    expected = {"usage_counts_": (c, rank), "noise_counts_": (c, n), "_hits": (c, entries)}
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    for name in _NUMBERS:
        setattr(estimator, name, header[name])
    if (estimator.n_components_, estimator.n_features_in_) != (rank, n):
        raise ValueError("rank or number of columns differ")
    labels = header["classes"]
    estimator.classes_ = np.array(labels["labels"], dtype=labels["dtype"])
    if len(estimator.classes_) != c:
        raise ValueError("number of classes differs")
    estimator.row_labels_ = estimator.classes_[arrays["row_classes"]]
    if len(estimator.row_labels_) != m:
        raise ValueError("number of rows differs")
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if len(estimator.feature_names_in_) != n:
            raise ValueError("number of column names differs")


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """Keep the parameters that are plain values; a callback or a random generator belongs to the run."""
    plain = {}
    for name, value in estimator.get_params(deep=False).items():
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, (bool, int, float, str)):
            plain[name] = value
    return plain


def _names(estimator: Any) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _write_whole(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write beside the target, then rename: an interrupted save leaves the old file as it was."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save the model in; make it first.")
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
