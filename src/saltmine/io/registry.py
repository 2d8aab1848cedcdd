"""Readers by format and suffix; the options of a format are the keyword arguments of its reader."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from saltmine.io.files import ReadError, reading, suffix_of
from saltmine.io.limits import file_size, out_of_memory
from saltmine.io.table import Table

# Format: module, title, suffixes. The reader is the function read_<format> of the module. A module is imported when a
# file of its format is read, because several need pandas, which takes long to import.
_FORMATS = {
    "csv": ("delimited", "comma- or tab-separated table", ".csv .tsv .tab .txt"),
    "parquet": ("parquet", "Parquet table", ".parquet .pq"),
    "npz": ("arrays", "numpy or scipy archive", ".npz"),
    "mtx": ("matrixmarket", "MatrixMarket matrix", ".mtx"),
    "dat": ("transactions", "FIMI transactions", ".dat .fimi"),
    "h5ad": ("h5ad", "AnnData file", ".h5ad"),
    "vcf": ("vcf", "VCF or BCF file", ".vcf .bcf"),
    "maf": ("maf", "MAF file", ".maf"),
    "text": ("text", "text documents", ".jsonl .ndjson"),
}
_BY_SUFFIX = {suffix: name for name, (_, _, suffixes) in _FORMATS.items() for suffix in suffixes.split()}


@dataclass(frozen=True)
class Format:
    """A file format: its name, its title, its reader and the options of the reader."""

    name: str
    title: str
    reader: Callable[..., Table]
    options: frozenset[str]

    def check(self, path: Path, options: dict[str, Any]) -> None:
        """Refuse options that the format does not have, rather than ignore them."""
        for name, value in options.items():
            if name not in self.options:
                given = str(value) if isinstance(value, PathLike) else repr(value)
                raise ReadError(f"{path} is read as {self.title}, which takes no {name} ({given}); leave it out.")

    def read(self, path: Path, options: dict[str, Any]) -> Table:
        """Read a file with options that the format has."""
        self.check(path, options)
        with reading(path):
            try:
                return self.reader(path, **options)
            except MemoryError:
                raise out_of_memory(file_size(path)) from None


def formats() -> dict[str, str]:
    """Return the title of every format."""
    return {name: title for name, (_, title, _) in _FORMATS.items()}


def format_of(path: Path, name: str | None, text: bool) -> Format:
    """Return the format with a name, or else the format of a file; ``text`` says that a text column is given."""
    # A folder holds documents, one folder per class, and so does a table with a text column.
    name = name or ("text" if path.is_dir() or text else _BY_SUFFIX.get(suffix_of(path)))
    if name is None:
        problem = f"the suffix {suffix_of(path)!r} does not tell the format; known are {' '.join(_BY_SUFFIX)}"
        raise ReadError(f"{path}: {problem}. Rename the file or name the format (--format).")
    if name not in _FORMATS:
        raise ReadError(f"There is no format {name!r}; the formats are {', '.join(_FORMATS)}.")
    module, title, _ = _FORMATS[name]
    reader = getattr(import_module(f"saltmine.io.{module}"), f"read_{name}")
    return Format(name, title, reader, frozenset(list(inspect.signature(reader).parameters)[1:]))


def has_known_suffix(path: Path) -> bool:
    """Return whether the suffix tells the format."""
    return suffix_of(path) in _BY_SUFFIX
