"""MAF files: one line per mutation of a sample; items are mutated genes, or alterations at a locus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.io.files import ReadError, opened
from saltmine.io.labels import with_labels
from saltmine.io.table import ITEMS, LOCI, ColumnArg, PathArg, Table, locus_name, matrix_of_ones, no_such_column
from saltmine.names import as_text

_SAMPLE = "Tumor_Sample_Barcode"
_GENE = "Hugo_Symbol"
_LOCUS = ["Chromosome", "Start_Position", "Reference_Allele", "Tumor_Seq_Allele2"]
# Values of the gene of a mutation outside of genes.
_NO_GENE = ["", ".", "-", "Unknown"]


def read_maf(
    path: Path, *, unit: str = "gene", labels: PathArg = None, target: ColumnArg = None, group: ColumnArg = None
) -> Table:
    """Read which samples have mutations in which genes, or which alterations.

    All mutations count, also silent ones: filter the file if they should not. Mutations outside of genes ("Unknown")
    are left out if items are genes. Samples without any mutation are not in a MAF file, so they are not rows.

    Parameters
    ----------
    path : Path
    unit : {"gene", "alteration"}
        Items are genes, or alterations with names such as ``chr1:173939653 C>T``, as in VCF files.
    labels : path, optional
        Table with the name of the sample in its first column, and its class.
    target, group : str or int, optional
        Columns of ``labels``; without it, columns of the MAF file that have one value per sample.
    """
    if unit not in ("gene", "alteration"):
        raise ReadError(f"unit is {unit!r}, but the items of a MAF file have the unit 'gene' or 'alteration'.")
    wanted = {"samples": _SAMPLE} | ({"genes": _GENE} if unit == "gene" else {name: name for name in _LOCUS})
    if labels is None:
        wanted |= {what: str(name) for what, name in (("target", target), ("group", group)) if name is not None}
    mutations = _mutations(path, wanted)
    rows, samples = pd.factorize(mutations["samples"].to_numpy())
    genes = mutations["genes"].to_numpy() if unit == "gene" else _loci(mutations)
    # Mutations outside of genes have the number -1.
    columns, items = pd.factorize(np.array([None if gene in _NO_GENE else gene for gene in genes], dtype=object))
    inside = columns >= 0
    if not inside.any():
        raise ReadError(f"no mutation is in a gene; check {_GENE}, or choose unit='alteration' (--unit).")
    # Two mutations of the same gene count once.
    X = matrix_of_ones(rows[inside], columns[inside], (len(samples), len(items)))
    table = Table(X, None, as_text(samples), as_text(items), None, ITEMS if unit == "gene" else LOCI)
    if labels is not None:
        return with_labels(table, labels, target, group)
    y, groups = (_per_sample(mutations, what, rows, samples) for what in ("target", "group"))
    return replace(table, y=y, groups=None if groups is None else as_text(groups))


def _mutations(path: Path, wanted: dict[str, str]) -> pd.DataFrame:
    """Return columns of a MAF file by their purpose; the index is the line of every mutation."""
    header: list[str] = []
    positions: list[int] = []
    values: dict[int, list[str]] = {}
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if line.startswith(b"#") or not line.strip():
                continue
            fields = line.rstrip(b"\r\n").split(b"\t")
            if not header:
                header = _decoded(fields, number)
                header[0] = header[0].removeprefix("\ufeff")
                positions = [_position(header, name, what) for what, name in wanted.items()]
                continue
            if len(fields) != len(header):
                raise ReadError(f"{len(fields)} fields where the header has {len(header)}.", number)
            values[number] = _decoded([fields[position] for position in positions], number)
            sample = values[number][0]
            if not sample:
                raise ReadError(f"{_SAMPLE} is empty; name the sample or remove the line.", number)
            if sample.lower() == _SAMPLE.lower():
                raise ReadError("this is the header again; remove the line.", number)
    if not values:
        raise ReadError(f"there are no mutations{' below the header' if header else ''}; check the file.")
    return pd.DataFrame(list(values.values()), index=list(values), columns=list(wanted), dtype=object)


def _decoded(fields: Sequence[bytes], number: int) -> list[str]:
    try:
        return [field.decode().strip() for field in fields]
    except UnicodeDecodeError:
        raise ReadError("this is not UTF-8 text; save the file as UTF-8.", number) from None


def _position(header: list[str], name: str, what: str) -> int:
    # Files differ in capitals: Start_position and Start_Position.
    lower = [column.lower() for column in header]
    if lower.count(name.lower()) > 1:
        raise ReadError(f"{name!r} is the name of two columns; rename one of them.")
    if name.lower() not in lower:
        raise no_such_column(None, name, header, what)
    return lower.index(name.lower())


def _loci(mutations: pd.DataFrame) -> NDArray[Any]:
    names = []
    for number, *locus in mutations[_LOCUS].itertuples():
        for column, value in zip(_LOCUS, locus, strict=True):
            if not value or (column == "Start_Position" and not value.isdecimal()):
                raise ReadError(f"{column} is {value!r}; fix or remove the line.", number)
        chromosome, position, reference, alternative = locus
        names.append(locus_name(chromosome, int(position), reference, alternative))
    return as_text(names)


def _per_sample(
    mutations: pd.DataFrame, what: str, rows: NDArray[np.intp], samples: NDArray[Any]
) -> NDArray[Any] | None:
    """Return the value of every sample in a column, or None if there is no such column."""
    if what not in mutations:
        return None
    values: dict[int, str] = {}
    for row, number, value in zip(rows, mutations.index.tolist(), mutations[what], strict=True):
        if not value:
            raise ReadError(f"the {what} is empty; fill it in or remove the line.", number)
        if values.setdefault(row, value) != value:
            problem = f"sample {samples[row]!r} has the {what} {value!r} here and {values[row]!r} before; use one."
            raise ReadError(problem, number)
    return np.array(list(values.values()), dtype=str)
