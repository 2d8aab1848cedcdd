"""MAF files: one line per mutation of a sample; items are mutated genes, or alterations at a locus."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.io.files import ReadError, account_of, opened
from saltmine.io.labels import with_labels
from saltmine.io.limits import MAX_RATIO_OF_LISTS, TextCost
from saltmine.io.table import (
    DROP_UNLABELLED,
    ITEMS,
    LOCI,
    ColumnArg,
    PathArg,
    Table,
    drop_rare,
    drop_unlabelled_rows,
    is_missing,
    matrix_of_ones,
    no_such_column,
)
from saltmine.names import as_text
from saltmine.nouns import counted
from saltmine.parsers.loci import locus_name

_SAMPLE = "Tumor_Sample_Barcode"
_GENE = "Hugo_Symbol"
_EFFECT = "Variant_Classification"
_LOCUS = ["Chromosome", "Start_Position", "Reference_Allele", "Tumor_Seq_Allele2"]
# Memory for a line, of which a few fields are kept, and for a byte of the longest line.
_COST = TextCost(line=800, longest=30, ratio=MAX_RATIO_OF_LISTS)
# Values of the gene of a mutation outside of genes, and of a chromosome or an allele that is not known.
_NO_GENE = frozenset(["", ".", "-", "Unknown"])
_UNKNOWN = frozenset(["", ".", "?", "NA", "Unknown", "unknown"])
# pandas writes whole numbers as 7.0 if some are missing. Python refuses to parse very long numbers.
_POSITION = re.compile(r"0*([1-9]\d{0,17})(\.0+)?", re.ASCII)
# Variant_Classification of mutations that do not change a protein: letters and digits of the names of MAF files and of
# the Sequence Ontology.
_SILENT = """
    silent synonymous synonymousmutation synonymousvariant synonymoussnv codingsilent intron intronic intronvariant
    3utr 5utr utr3 utr5 3primeutr 5primeutr 3primeutrvariant 5primeutrvariant 3flank 5flank upstream downstream
    upstreamgenevariant downstreamgenevariant igr intergenic intergenicregion intergenicvariant rna lincrna ncrna
    """.split()  # noqa: SIM905


def read_maf(
    path: Path,
    *,
    unit: str = "gene",
    labels: PathArg = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
    drop_unlabelled: bool = False,
    nonsilent: bool | None = None,
    min_samples: int = 1,
) -> Table:
    """Read which samples have mutations in which genes, or which alterations.

    Mutations outside of genes ("Unknown") are left out if items are genes, and those without a known position if items
    are alterations; a sample all of whose mutations are left out is a row without items. Samples without any mutation
    are not in a MAF file: they become rows if the sample sheet has them. ``notes`` says how many there are of each.

    Parameters
    ----------
    path : Path
        Lines may end in any way, and the file may be compressed.
    unit : {"gene", "alteration"}
        Items are genes, or alterations with names such as ``chr1:173939653 C>T``, as in VCF files.
    labels : path, optional
        Sample sheet: a table with the name of the sample in its first column, and its class.
    target, group : str or int, optional
        Columns of ``labels``; without it, columns of the MAF file that have one value per sample.
    drop_unlabelled : bool
        Leave out samples without a class.
    nonsilent : bool, optional
        Leave out mutations that do not change a protein, as Variant_Classification says (Silent, Intron, 3'UTR, IGR,
        ...). By default they are left out if items are genes and the file has the column.
    min_samples : int
        Leave out items in fewer samples.
    """
    if unit not in ("gene", "alteration"):
        raise ReadError(f"unit is {unit!r}, but the items of a MAF file have the unit 'gene' or 'alteration'.")
    wanted = {"samples": _SAMPLE} | ({"genes": _GENE} if unit == "gene" else {name: name for name in _LOCUS})
    if labels is None:
        wanted |= {what: str(name) for what, name in (("target", target), ("group", group)) if name is not None}
    if nonsilent:
        wanted["effect"] = _EFFECT
    nonsilent = unit == "gene" if nonsilent is None else nonsilent
    mutations = _mutations(path, wanted, {"effect": _EFFECT} if nonsilent else {})
    rows, samples = pd.factorize(mutations["samples"].to_numpy())
    table = _matrix(mutations, rows, as_text(samples), unit, nonsilent)
    if labels is None:
        table = _with_columns(table, mutations, rows, group, drop_unlabelled)
    else:
        table = with_labels(table, labels, target, group, drop_unlabelled=drop_unlabelled, add_rows=True)
    return drop_rare(table, min_samples)


def _matrix(
    mutations: pd.DataFrame, rows: NDArray[np.intp], samples: NDArray[Any], unit: str, nonsilent: bool
) -> Table:
    """Return samples by items; mutations that are no items are counted in the notes."""
    if unit == "gene":
        names = [None if gene in _NO_GENE else gene for gene in mutations["genes"]]
        left_out = "outside of genes; --unit alteration (unit='alteration') keeps them"
    else:
        names = [_locus(*locus) for locus in mutations[_LOCUS].itertuples(index=False)]
        left_out = f"without a known position or allele ({', '.join(_LOCUS)})"
    notes = []
    is_silent: NDArray[np.bool_] = np.zeros(len(names), dtype=bool)
    if "effect" in mutations:
        is_silent = np.array([_is_silent(effect) for effect in mutations["effect"]])
        if is_silent.any():
            silent = counted(int(is_silent.sum()), "silent mutation")
            notes.append(f"Left out {silent}; --all-mutations (nonsilent=False) keeps them.")
    elif nonsilent:
        notes.append(f"There is no column {_EFFECT}, so all mutations count, also silent ones.")
    # A mutation without an item has the number -1; two mutations of the same gene count once.
    names = [None if silent else name for name, silent in zip(names, is_silent.tolist(), strict=True)]
    columns, items = pd.factorize(np.array(names, dtype=object))
    n_without = int(np.count_nonzero((columns < 0) & ~is_silent))
    if n_without:
        notes.append(f"Left out {counted(n_without, 'mutation')} {left_out}.")
    has_item = columns >= 0
    X = matrix_of_ones(rows[has_item], columns[has_item], (len(samples), len(items)))
    kind = ITEMS if unit == "gene" else LOCI
    return Table(X, None, samples, as_text(items), kind=kind, notes=tuple(notes))


def _is_silent(effect: str) -> bool:
    return re.sub(r"[^a-z0-9]", "", effect.lower()) in _SILENT


def _locus(chromosome: str, position: str, reference: str, alternative: str) -> str | None:
    """Return the name of an alteration; None if its place or an allele is not known. A "-" is an allele."""
    number = _POSITION.fullmatch(position)
    if number is None or chromosome in _UNKNOWN | {"-", "0"} or reference in _UNKNOWN or alternative in _UNKNOWN:
        return None
    return locus_name(chromosome, int(number[1]), reference, alternative)


def _mutations(path: Path, wanted: dict[str, str], optional: dict[str, str]) -> pd.DataFrame:
    """Return columns of a MAF file by their purpose; the index is the line of every mutation."""
    header: list[str] = []
    positions: dict[str, int] = {}
    values: dict[int, list[str]] = {}
    # As text of one byte per character, so that lines end in LF, CRLF or CR, and every line is decoded by itself.
    with opened(path, account_of(path, _COST)) as stream, io.TextIOWrapper(stream, encoding="latin-1") as lines:
        for number, line in enumerate(lines, start=1):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            if not header:
                header = _decoded(fields, number)
                header[0] = header[0].removeprefix("\ufeff")
                positions = _positions(header, wanted, optional)
                continue
            if len(fields) != len(header):
                raise ReadError(f"{len(fields)} fields where the header has {len(header)}.", number)
            values[number] = _decoded([fields[position] for position in positions.values()], number)
            sample = values[number][0]
            if not sample:
                raise ReadError(f"{_SAMPLE} is empty; name the sample or remove the line.", number)
            if sample.lower() == _SAMPLE.lower():
                raise ReadError("this is the header again; remove the line.", number)
    if not values:
        raise ReadError(f"there are no mutations{' below the header' if header else ''}; check the file.")
    return pd.DataFrame(list(values.values()), index=list(values), columns=list(positions), dtype=object)


def _decoded(fields: Sequence[str], number: int) -> list[str]:
    try:
        return [field.encode("latin-1").decode().strip() for field in fields]
    except UnicodeDecodeError:
        raise ReadError("this is not UTF-8 text; save the file as UTF-8.", number) from None


def _positions(header: list[str], wanted: dict[str, str], optional: dict[str, str]) -> dict[str, int]:
    """Return the positions of columns by their purpose; optional ones may be missing."""
    # Files differ in capitals: Start_position and Start_Position.
    lower = [column.lower() for column in header]
    present = {what: name for what, name in optional.items() if name.lower() in lower}
    for what, name in (wanted | present).items():
        if lower.count(name.lower()) > 1:
            raise ReadError(f"{name!r} is the name of two columns; rename one of them.")
        if name.lower() not in lower:
            if what == "effect":
                raise ReadError(f"there is no column {name!r} that tells silent mutations; keep all (--all-mutations).")
            raise no_such_column(None, name, header, what)
    return {what: lower.index(name.lower()) for what, name in (wanted | present).items()}


def _with_columns(
    table: Table, mutations: pd.DataFrame, rows: NDArray[np.intp], group: ColumnArg, drop_unlabelled: bool
) -> Table:
    """Return the table with the classes and groups of the samples in columns of the file."""
    if "target" in mutations:
        y = _per_sample(mutations, "target", rows, table, gaps=drop_unlabelled)
        table = replace(table, y=y)
    if "group" in mutations:
        groups = _per_sample(mutations, "group", rows, table)
        table = replace(table, groups=as_text(groups), group_name=str(group))
    return drop_unlabelled_rows(table) if drop_unlabelled and table.y is not None else table


def _per_sample(
    mutations: pd.DataFrame, what: str, rows: NDArray[np.intp], table: Table, gaps: bool = False
) -> NDArray[Any]:
    """Return the value of every sample in a column; with ``gaps``, values may be missing."""
    values: dict[int, str] = {}
    for row, number, value in zip(rows, mutations.index.tolist(), mutations[what], strict=True):
        if is_missing(value) and not gaps:
            remedy = DROP_UNLABELLED if what == "target" else "or remove the line"
            raise ReadError(f"the {what} is missing; fill it in, {remedy}.", number)
        if values.setdefault(row, value) != value:
            sample = "" if table.row_names is None else repr(table.row_names[row])
            problem = f"sample {sample} has the {what} {value!r} here and {values[row]!r} before; use one."
            raise ReadError(problem, number)
    return np.array([values[row] for row in range(len(values))], dtype=str)
