"""MAF files: one line per mutation of a sample; items are mutated genes, or alterations at a locus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import opened
from saltmine.io.naming import locus_name, no_such_column
from saltmine.io.sheets import labelled
from saltmine.io.table import ITEMS, LOCI, ReadError, Table, as_names

_SAMPLE = "Tumor_Sample_Barcode"
_GENE = "Hugo_Symbol"
_LOCUS = ("Chromosome", "Start_Position", "Reference_Allele", "Tumor_Seq_Allele2")
# What stands for the gene where a mutation lies in none.
_NO_GENE = frozenset({"", ".", "-", "Unknown"})


def read_maf(
    path: Path,
    *,
    unit: str = "gene",
    labels: str | PathLike[str] | None = None,
    target: str | int | None = None,
    group: str | int | None = None,
) -> Table:
    """Read which samples have mutations in which genes, or which alterations.

    All mutations count, silent ones too: filter the file where that is not wanted. Mutations in no gene ("Unknown")
    are left out where items are genes. Samples without any mutation are not in a MAF file, so they are no rows either.

    Parameters
    ----------
    path : Path
    unit : {"gene", "alteration"}
        Items are genes, or alterations called for example ``chr1:173939653 C>T``, as in VCF files.
    labels : path, optional
        Table with the name of the sample in its first column, and its class.
    target, group : str or int, optional
        Columns of ``labels``; without it, columns of the MAF file that have one value per sample.
    """
    if unit not in ("gene", "alteration"):
        raise ReadError(f"unit is {unit!r}, but the items of a MAF file are of the unit 'gene' or 'alteration'.")
    described = {} if labels is not None else {"target": target, "group": group}
    wanted = {"samples": _SAMPLE} | ({"genes": _GENE} if unit == "gene" else {name: name for name in _LOCUS})
    wanted |= {what: str(name) for what, name in described.items() if name is not None}
    mutations = _read(path, wanted)
    samples, rows = _numbered(mutations.columns["samples"])
    items = _genes(mutations) if unit == "gene" else _loci(mutations)
    X, item_names = _matrix(rows, items, len(samples), path)
    kind = ITEMS if unit == "gene" else LOCI
    if labels is not None:
        return labelled(Table(X, None, samples, item_names, None, kind), path, labels, target, group)
    y = _per_sample(mutations, "target", rows, samples)
    groups = _per_sample(mutations, "group", rows, samples)
    return Table(X, y, samples, item_names, None if groups is None else as_names(groups), kind)


@dataclass(frozen=True)
class _Mutations:
    """Some columns of a MAF file, by what they are for, and the line that every mutation stands in."""

    path: Path
    lines: list[int]
    columns: dict[str, list[str]]


def _read(path: Path, wanted: dict[str, str]) -> _Mutations:
    with opened(path) as stream:
        return _parse(stream, path, wanted)


def _parse(stream: IO[bytes], path: Path, wanted: dict[str, str]) -> _Mutations:
    header: list[str] = []
    mutations = _Mutations(path, [], {what: [] for what in wanted})
    filled: list[tuple[int, list[str]]] = []
    for number, line in enumerate(stream, start=1):
        if line.startswith(b"#") or not line.strip():
            continue
        fields = line.rstrip(b"\r\n").split(b"\t")
        if not header:
            header = _decoded(fields, path, number)
            header[0] = header[0].removeprefix("\ufeff")
            filled = [(_position(path, header, name, what), mutations.columns[what]) for what, name in wanted.items()]
            continue
        if len(fields) != len(header):
            raise ReadError(f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}.")
        values = _decoded([fields[position] for position, _ in filled], path, number)
        for (_, column), value in zip(filled, values, strict=True):
            column.append(value)
        _check_sample(values[0], path, number)
        mutations.lines.append(number)
    if not mutations.lines:
        raise ReadError(f"{path} has no mutations{' below its header' if header else ''}; check the file.")
    return mutations


def _decoded(fields: Sequence[bytes], path: Path, number: int) -> list[str]:
    try:
        return [field.decode().strip() for field in fields]
    except UnicodeDecodeError:
        raise ReadError(f"{path}, line {number}: this is not UTF-8 text; save the file as UTF-8.") from None


def _position(path: Path, header: list[str], name: str, what: str) -> int:
    # Files differ in capitals: Start_position and Start_Position.
    lower = [column.lower() for column in header]
    if lower.count(name.lower()) > 1:
        raise ReadError(f"{path}: two columns are called {name!r}; rename one of them.")
    if name.lower() not in lower:
        raise no_such_column(path, name, header, what)
    return lower.index(name.lower())


def _check_sample(sample: str, path: Path, number: int) -> None:
    if not sample:
        raise ReadError(f"{path}, line {number}: {_SAMPLE} is empty; name the sample or remove the line.")
    if sample.lower() == _SAMPLE.lower():
        raise ReadError(f"{path}, line {number}: there is the header again; remove the line.")


def _numbered(names: Iterable[str]) -> tuple[NDArray[Any], list[int]]:
    """Return the distinct names in the order of their first appearance, and for each name its number."""
    known: dict[str, int] = {}
    numbers = [known.setdefault(name, len(known)) for name in names]
    return as_names(known), numbers


def _genes(mutations: _Mutations) -> list[str | None]:
    return [None if gene in _NO_GENE else gene for gene in mutations.columns["genes"]]


def _loci(mutations: _Mutations) -> list[str | None]:
    names: list[str | None] = []
    places = zip(*(mutations.columns[name] for name in _LOCUS), strict=True)
    for number, place in zip(mutations.lines, places, strict=True):
        for column, value in zip(_LOCUS, place, strict=True):
            if not value or (column == "Start_Position" and not value.isdecimal()):
                raise ReadError(f"{mutations.path}, line {number}: {column} is {value!r}; mend or remove the line.")
        chromosome, position, reference, alternative = place
        names.append(locus_name(chromosome, int(position), reference, alternative))
    return names


def _matrix(rows: list[int], items: list[str | None], n_rows: int, path: Path) -> tuple[sp.csr_array, NDArray[Any]]:
    cells = [(row, item) for row, item in zip(rows, items, strict=True) if item is not None]
    if not cells:
        raise ReadError(f"{path}: no mutation lies in a gene; check {_GENE}, or take unit='alteration' (--unit).")
    names, columns = _numbered(item for _, item in cells)
    ones = np.ones(len(cells), dtype=np.int8)
    X = sp.coo_array((ones, ([row for row, _ in cells], columns)), shape=(n_rows, len(names))).tocsr()
    # Two mutations of the same gene count once.
    X.data[:] = 1
    return X, names


def _per_sample(mutations: _Mutations, what: str, rows: list[int], samples: NDArray[Any]) -> NDArray[Any] | None:
    """Return the one value that every sample has in a column, or None if there is no such column."""
    if what not in mutations.columns:
        return None
    values: dict[int, str] = {}
    for number, row, value in zip(mutations.lines, rows, mutations.columns[what], strict=True):
        if not value:
            raise ReadError(f"{mutations.path}, line {number}: the {what} is empty; fill it in or remove the line.")
        if values.setdefault(row, value) != value:
            raise ReadError(
                f"{mutations.path}, line {number}: sample {samples[row]!r} has the {what} {value!r} here and "
                f"{values[row]!r} before; give every sample one."
            )
    return np.array(list(values.values()), dtype=str)
