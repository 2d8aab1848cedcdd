"""VCF and BCF files: rows are samples, items are alterations at a locus.

htslib takes a truncated file for a shorter one, says little about a damaged one, and may end the process. So the whole
file is checked before htslib reads it.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.extras import needing
from saltmine.io.files import ReadError, opened
from saltmine.io.labels import with_labels
from saltmine.io.table import LOCI, ColumnArg, PathArg, Table, drop_rare, kept_rows, locus_name, matrix_of_ones, rows_of
from saltmine.names import as_text, check_distinct

_COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
# Placeholders for an allele that is described elsewhere, or for any allele.
_NO_ALTERATION = frozenset({"*", ".", "<*>", "<NON_REF>"})
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
    with needing("bio", "Reading a VCF or BCF file"):
        from cyvcf2 import cyvcf2
    samples = _checked_samples(path)
    # The labels first: reading the records may take minutes.
    rows = Table(sp.csr_array((len(samples), 0)), row_names=samples)
    rows = with_labels(rows, labels, target, group, drop_unlabelled=drop_unlabelled)
    # Keep htslib from writing to the terminal: problems are raised as errors.
    cyvcf2.set_htslib_log_level(0)
    try:
        X, names = _alterations(cyvcf2, path, samples)
    finally:
        cyvcf2.set_htslib_log_level(3)
    X = rows_of(X, kept_rows(samples, rows))
    table = replace(rows, X=X, item_names=names, kind=LOCI)
    # An alteration that no sample has is an item all the same.
    return table if min_samples == 1 else drop_rare(table, min_samples)


def _alterations(cyvcf2: Any, path: Path, samples: NDArray[Any]) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return samples by alterations, and the names of the alterations in the order of the file."""
    columns: dict[str, int] = {}
    # One number per allele of a record, and one per carrier of it, in compact arrays: there may be a hundred million.
    allele_columns, n_carriers, carriers = array("i"), array("i"), array("i")
    for variant, genotypes in _records(cyvcf2, path, samples):
        for allele, alternative in enumerate(variant.ALT, start=1):
            if alternative in _NO_ALTERATION:
                continue
            name = locus_name(variant.CHROM, variant.POS, variant.REF, alternative)
            allele_columns.append(columns.setdefault(name, len(columns)))
            rows = (genotypes == allele).nonzero()[0]
            n_carriers.append(len(rows))
            carriers.frombytes(rows.astype(np.intc).tobytes())
    if not columns:
        raise ReadError("there are no records with an alternative allele; check that the file holds variants.")
    row, column = np.asarray(carriers), np.repeat(allele_columns, n_carriers)
    # A sample has an allele once, even with the allele on both chromosomes or in two records.
    return matrix_of_ones(row, column, (len(samples), len(columns))), as_text(columns)


def _records(cyvcf2: Any, path: Path, samples: NDArray[Any]) -> Iterator[tuple[Any, NDArray[np.int16]]]:
    """Yield every record of cyvcf2 with its genotypes."""
    # cyvcf2 raises plain exceptions whose messages do not help to fix the file.
    try:
        variants = cyvcf2.VCF(str(path.absolute()))
    except Exception:
        raise ReadError("the header cannot be read as that of a VCF or BCF file; fix it.") from None
    number = 1
    try:
        for variant in variants:
            yield variant, _genotypes(variant, samples)
            number += 1
    except ReadError:
        raise
    except Exception:
        problem = f"record {number} below the header cannot be read; check its position and its genotypes."
        raise ReadError(problem) from None


def _genotypes(variant: Any, samples: NDArray[Any]) -> NDArray[np.int16]:
    """Return the numbers of the alleles, one row per sample; gaps are negative."""
    # The standard puts GT first; htslib ends the process if GT comes later and all samples omit it.
    place = f"{variant.CHROM}:{variant.POS}"
    if variant.FORMAT[:1] != ["GT"]:
        raise ReadError(f"{place} has no genotypes: its FORMAT does not begin with GT; genotypes are needed.")
    # The last column tells whether the genotype is phased.
    genotypes: NDArray[np.int16] = variant.genotype.array()[:, :-1]
    largest, n_alternatives = int(genotypes.max()), len(variant.ALT)
    if largest > n_alternatives:
        problem = f"sample {samples[genotypes.max(axis=1).argmax()]!r} has allele {largest} at {place}"
        alternatives = f"{n_alternatives} alternative{'s' if n_alternatives != 1 else ''}"
        raise ReadError(f"{problem}, but the record has only {alternatives}; fix the record.")
    return genotypes


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
        samples = _check_bcf(inner) if start.startswith(_BCF) else _check_vcf(inner)
    _check_blocks(path)
    if not len(samples):
        raise ReadError("there are no samples, only sites; a file with genotypes is needed.")
    check_distinct(samples, "samples", ReadError)
    return samples


def _start(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    start = stream.read(len(_VCF))
    stream.seek(0)
    return start


def _check_vcf(stream: IO[bytes] | gzip.GzipFile) -> NDArray[Any]:
    samples, n_tabs = None, 0
    for number, line in enumerate(stream, start=1):
        if samples is None:
            if not line.startswith(b"##"):
                samples, n_tabs = _samples(line, number), line.count(b"\t")
        elif line.count(b"\t") != n_tabs or line.startswith(b"#"):
            n_columns = line.count(b"\t") + 1
            problem = f"{n_columns} columns where the header has {n_tabs + 1}"
            if line.startswith(b"#"):
                problem = "there is a header line among the records"
            if not line.strip():
                problem = "the line is empty"
            raise ReadError(f"{problem}; fix or remove the line.", number)
    if samples is None:
        raise ReadError("the file ends within its header, before the line #CHROM; get the file again.")
    return samples


def _check_bcf(stream: IO[bytes] | gzip.GzipFile) -> NDArray[Any]:
    stream.seek(5)
    size = int.from_bytes(stream.read(4), "little")
    header = stream.read(size)
    if len(header) < size:
        raise ReadError("the file ends within its header; get the file again.")
    while stream.read(1 << 20):
        pass
    for line in header.rstrip(b"\0").split(b"\n"):
        if line.startswith(b"#") and not line.startswith(b"##"):
            return _samples(line)
    raise ReadError("there is no line #CHROM in the header; write the file again, for example with bcftools.")


def _samples(line: bytes, place: str | int = "") -> NDArray[Any]:
    """Return the names of the samples in the line that names the columns."""
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
