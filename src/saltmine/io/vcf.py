"""VCF and BCF files: rows are samples, items are alterations at a locus.

htslib takes a truncated file for a shorter one, and says little about a damaged one. So the whole file is checked
before htslib reads it, and it reads in a process of its own, because it may crash all the same.
"""

from __future__ import annotations

import gzip
from array import array
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError, counted_stream, opened, parsing
from saltmine.io.labels import with_labels
from saltmine.io.limits import Account, TextCost, check_memory, check_shape, file_size
from saltmine.io.parser_process import Parsed, check_library, parse_apart
from saltmine.io.table import LOCI, ColumnArg, PathArg, Table, drop_rare, kept_rows, matrix_of_ones, rows_of
from saltmine.names import as_text, check_distinct

_COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
_WHAT = "VCF or BCF file"
# Memory for an alteration and its name, for a carrier of it, and for a sample and its name here and in htslib.
_ALLELE_BYTES, _CARRIER_BYTES, _SAMPLE_BYTES = 250, 25, 500
# Lines are read one at a time. A byte of the header takes more: htslib keeps it in several forms.
_COST, _HEADER_BYTES, _HEADER_LINE = TextCost(longest=10), 20, 20
# Lines between two looks at the memory.
_OFTEN = 10_000
# Placeholders, as in `saltmine.parsers.vcf`.
_NO_ALTERATION = frozenset({b"*", b".", b"<*>", b"<NON_REF>"})
_GZIP = b"\x1f\x8b"
_BCF = b"BCF\2"
_VCF = b"##fileformat=VCF"
# Every bgzip file ends in a block without data.
_LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def read_vcf(
    path: Path,
    *,
    labels: PathArg = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
    drop_unlabelled: bool = False,
    min_samples: int = 1,
) -> Table:
    """Read the genotypes of a VCF or BCF file, compressed or not.

    There is one item per alternative allele of a record, for example ``chr1:12345 A>G``. A sample has the item if its
    genotype has the allele at least once; a missing genotype has none. Records of the same alteration count as one.
    Symbolic alleles such as ``<DEL>`` are items too; ``*``, ``<*>`` and ``<NON_REF>`` are not.

    Parameters
    ----------
    path : Path
    labels : path, optional
        Sample sheet: a table with the name of the sample in its first column, its class and perhaps its patient.
    target, group : str or int, optional
        Columns of the sample sheet.
    drop_unlabelled : bool
        Leave out samples without a class.
    min_samples : int
        Leave out alterations in fewer samples.
    """
    check_library("cyvcf2", "bio", _WHAT)
    samples = _checked_samples(path)
    # The labels first: reading the records may take minutes.
    rows = Table(sp.csr_array((len(samples), 0)), row_names=samples)
    rows = with_labels(rows, labels, target, group, drop_unlabelled=drop_unlabelled)
    with parse_apart("vcf", _WHAT, path, {"n_samples": len(samples)}) as parsed, parsing(_WHAT):
        X, names = _alterations(parsed, len(samples), file_size(path))
        notes = parsed.notes
    X = rows_of(X, kept_rows(samples, rows))
    table = replace(rows, X=X, item_names=names, kind=LOCI, notes=rows.notes + notes)
    # An alteration that no sample has is an item all the same.
    return table if min_samples == 1 else drop_rare(table, min_samples)


def _alterations(parsed: Parsed, n_samples: int, size: int | None) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return samples by alterations, and the names of the alterations in the order of the file."""
    columns: dict[str, int] = {}
    # One number per allele of a record, and one per carrier of it, in compact arrays: there may be a hundred million.
    allele_columns, n_carriers, carriers = array("i"), array("i"), array("i")
    parts = {"n_carriers": n_carriers, "carriers": carriers}
    for name, values in parsed:
        if name == "names":
            allele_columns.extend([columns.setdefault(text, len(columns)) for text in values])
        else:
            parts[name].frombytes(np.asarray(values, dtype=np.intc).tobytes())
        n_bytes = _ALLELE_BYTES * len(allele_columns) + _CARRIER_BYTES * len(carriers)
        check_shape(n_samples, len(columns), n_bytes, size)
    if not columns:
        raise ReadError("there are no records with an alternative allele; check that the file holds variants.")
    row, column = np.asarray(carriers), np.repeat(allele_columns, n_carriers)
    # A sample has an allele once, even with the allele on both chromosomes or in two records.
    return matrix_of_ones(row, column, (n_samples, len(columns))), as_text(columns)


def _checked_samples(path: Path) -> NDArray[Any]:
    """Return the names of the samples after reading the whole file, or say what is wrong with it and where."""
    if path.suffix.lower() in (".xz", ".bz2"):
        raise ReadError(f"a VCF file is compressed with bgzip or gzip, not {path.suffix[1:]}; compress it again.")
    with opened(path) as stream:
        # By its contents: a BCF file has no suffix of compression.
        inner = gzip.GzipFile(fileobj=stream) if _start(stream).startswith(_GZIP) else stream
        start = _start(inner)
        if not start.startswith((_BCF, _VCF)):
            raise ReadError("this is not a VCF or BCF file: it does not begin with '##fileformat=VCF'; check it.")
        size = file_size(path)
        is_bcf = start.startswith(_BCF)
        # BCF has no lines.
        account = Account(TextCost() if is_bcf else _COST, size)
        if isinstance(inner, gzip.GzipFile):
            packed: Any = inner.fileobj
            account.start(packed.tell)
        samples = (_check_bcf if is_bcf else _check_vcf)(counted_stream(inner, account), size)
    _check_blocks(path)
    if not len(samples):
        raise ReadError("there are no samples, only sites; a file with genotypes is needed.")
    check_distinct(samples, "samples", ReadError)
    return samples


def _start(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    start = stream.read(len(_VCF))
    stream.seek(0)
    return start


def _check_vcf(stream: IO[bytes], size: int | None) -> NDArray[Any]:
    samples, n_tabs, n_bytes, n_alleles = None, 0, 0, 0
    for number, line in enumerate(stream, start=1):
        if samples is None:
            n_bytes += len(line) + _HEADER_LINE
            check_memory(_HEADER_BYTES * n_bytes, "the header", size, in_part=True)
            if not line.startswith(b"##"):
                samples, n_tabs = _samples(line, size, number), line.count(b"\t")
        elif line.count(b"\t") != n_tabs or line.startswith(b"#"):
            n_columns = line.count(b"\t") + 1
            problem = f"{n_columns} columns where the header has {n_tabs + 1}"
            if line.startswith(b"#"):
                problem = "there is a header line among the records"
            if not line.strip():
                problem = "the line is empty"
            raise ReadError(f"{problem}; fix or remove the line.", number)
        else:
            # The memory that they will need is known now, long before htslib has read them.
            n_alleles += _n_alleles(line)
            if number % _OFTEN == 0:
                check_memory(_ALLELE_BYTES * n_alleles, "a file with so many records", size, in_part=True)
    if samples is None:
        raise ReadError("the file ends within its header, before the line #CHROM; get the file again.")
    return samples


def _n_alleles(line: bytes) -> int:
    """Return how many alterations a record has."""
    fields = line.split(b"\t", 5)
    if len(fields) < 5:
        return 0
    alleles = fields[4]
    if b"," not in alleles:
        return alleles not in _NO_ALTERATION
    return sum(allele not in _NO_ALTERATION for allele in alleles.split(b","))


def _check_bcf(stream: IO[bytes], size: int | None) -> NDArray[Any]:
    stream.read(5)
    n_bytes = int.from_bytes(stream.read(4), "little")
    check_memory(_HEADER_BYTES * n_bytes, "the header", size)
    header = stream.read(n_bytes)
    if len(header) < n_bytes:
        raise ReadError("the file ends within its header; get the file again.")
    while stream.read(1 << 20):
        pass
    for line in header.rstrip(b"\0").split(b"\n"):
        if line.startswith(b"#") and not line.startswith(b"##"):
            return _samples(line, size)
    raise ReadError("there is no line #CHROM in the header; write the file again, for example with bcftools.")


def _samples(line: bytes, size: int | None, place: str | int = "") -> NDArray[Any]:
    """Return the names of the samples in the line that names the columns."""
    check_memory(_SAMPLE_BYTES * line.count(b"\t"), "a header with so many samples", size)
    try:
        columns = line.decode().rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        raise ReadError("the names of the samples are not UTF-8 text; rename the samples.", place) from None
    if columns[:9] != _COLUMNS[: len(columns)] or len(columns) < 8:
        names = f"the line with the names of the columns ('{' '.join(_COLUMNS)}' and samples, separated by tabs)"
        raise ReadError(f"this is neither a header line ('## ...') nor {names}; fix the header.", place)
    if "" in columns:
        raise ReadError("a sample has no name; name it, or remove the tab at the end of the line.", place)
    return as_text(columns[9:])


def _check_blocks(path: Path) -> None:
    """Refuse a bgzip file that is truncated between two blocks, and BCF without bgzip, which has no checksums."""
    with path.open("rb") as stream:
        start = stream.read(18)
        stream.seek(max(0, path.stat().st_size - len(_LAST_BLOCK)))
        end = stream.read()
    if start.startswith(_BCF):
        # Damage would go unnoticed, and some kinds of damage end the whole process within htslib.
        raise ReadError("BCF without compression cannot be checked for damage; compress it with bgzip.")
    is_bgzip = start.startswith(_GZIP) and start[12:14] == b"BC"
    if is_bgzip and end != _LAST_BLOCK:
        raise ReadError("the bgzip data is truncated, its last block is missing; get the file again.")
