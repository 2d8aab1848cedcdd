"""Readers by format: each registers its suffixes, and the options it takes are its keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from saltmine.io.files import suffix_of
from saltmine.io.table import ReadError, Table

Reader = Callable[..., Table]

# Where each format lives: its module is imported when a file of the format is read.
_FORMATS = {
    "csv": ("delimited", "comma- or tab-separated table"),
    "parquet": ("parquet", "Parquet table"),
    "npz": ("arrays", "numpy or scipy archive"),
    "mtx": ("arrays", "MatrixMarket matrix"),
    "dat": ("transactions", "FIMI transactions"),
    "h5ad": ("annotated", "AnnData file"),
    "vcf": ("variants", "VCF or BCF file"),
    "maf": ("mutations", "MAF file"),
    "text": ("text", "text documents"),
}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".mtx": "mtx",
    ".dat": "dat",
    ".fimi": "dat",
    ".h5ad": "h5ad",
    ".vcf": "vcf",
    ".bcf": "vcf",
    ".maf": "maf",
    ".jsonl": "text",
    ".ndjson": "text",
}


@dataclass(frozen=True)
class Format:
    """A file format: its name, what it is in words, its reader and the options that this takes."""

    name: str
    title: str
    reader: Reader
    options: frozenset[str]


def formats() -> dict[str, str]:
    """Return all formats with what they are in words."""
    return {name: title for name, (_, title) in _FORMATS.items()}


def format_of(path: Path, name: str | None, text: bool) -> Format:
    """Find the format of a file: by name where one is given, else by what it looks like."""
    name = name or _guess(path, text)
    if name not in _FORMATS:
        raise ReadError(f"There is no format {name!r}; the formats are {', '.join(_FORMATS)}.")
    module, title = _FORMATS[name]
    reader: Reader = getattr(import_module(f"saltmine.io.{module}"), f"read_{name}")
    options = list(inspect.signature(reader).parameters)[1:]
    return Format(name, title, reader, frozenset(options))


def has_known_suffix(path: Path) -> bool:
    """Say whether the suffix tells the format."""
    return suffix_of(path) in _SUFFIXES


def demand_known(format: Format, options: dict[str, Any], path: Path) -> None:
    """Refuse options that the format has no use for, rather than ignore them."""
    for name, value in options.items():
        if name not in format.options:
            shown = str(value) if isinstance(value, PathLike) else repr(value)
            raise ReadError(f"{path} is read as {format.title}, which takes no {name} ({shown}); leave it out.")


def _guess(path: Path, text: bool) -> str:
    # A folder holds documents, one folder per class, and so does a table with a text column.
    if path.is_dir() or text:
        return "text"
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES:
        known = " ".join(_SUFFIXES)
        raise ReadError(
            f"{path}: the suffix {suffix!r} says nothing about the format; known are {known}. Rename the file or name "
            "the format (--format)."
        )
    return _SUFFIXES[suffix]
