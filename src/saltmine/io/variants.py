"""VCF and BCF files: rows are samples, items are alterations at a locus."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.naming import locus_name
from saltmine.io.sheets import labelled
from saltmine.io.table import LOCI, ReadError, Table, as_names
from saltmine.io.variant_files import check_variants

# What stands in for an allele that is described elsewhere, or for any allele at all.
_NO_ALTERATION = frozenset({"*", ".", "<*>", "<NON_REF>"})


def read_vcf(
    path: Path,
    *,
    labels: str | PathLike[str] | None = None,
    target: str | int | None = None,
    group: str | int | None = None,
) -> Table:
    """Read the genotypes of a VCF or BCF file, compressed or not.

    There is one item per alternative allele of a record, called for example ``chr1:12345 A>G``; a sample has it if its
    genotype has the allele at least once, and a missing genotype has none. Records of the same alteration count as
    one. Symbolic alleles such as ``<DEL>`` are items too; ``*``, ``<*>`` and ``<NON_REF>`` are not.

    Parameters
    ----------
    path : Path
    labels : path, optional
        Sample sheet: a table with the name of the sample in its first column and its class, perhaps its patient.
    target, group : str or int, optional
        Columns of the sample sheet.
    """
    cyvcf2 = _cyvcf2()
    samples = check_variants(path)
    # The labels first: to read the records may take minutes.
    rows = labelled(Table(sp.csr_array((len(samples), 0)), row_names=samples), path, labels, target, group)
    X, names = _alterations(cyvcf2, path, samples)
    return replace(rows, X=X, item_names=names, kind=LOCI)


def _cyvcf2() -> Any:
    try:
        from cyvcf2 import cyvcf2
    except ImportError:
        raise ReadError("VCF and BCF files need the library cyvcf2; pip install 'saltmine[bio]'.") from None
    return cyvcf2


def _alterations(cyvcf2: Any, path: Path, samples: NDArray[Any]) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return samples by alterations, and the names of the latter in the order of the file."""
    columns: dict[str, int] = {}
    # One number per allele of a record, and one per carrier of it: bare C numbers, as there may be a hundred million.
    allele_columns, n_carriers, carriers = array("i"), array("i"), array("i")
    for record in _records(cyvcf2, path):
        _demand_known_alleles(record, path, samples)
        for allele, alternative in enumerate(record.alternatives, start=1):
            if alternative in _NO_ALTERATION:
                continue
            name = locus_name(record.chromosome, record.position, record.reference, alternative)
            allele_columns.append(columns.setdefault(name, len(columns)))
            rows = (record.genotypes == allele).nonzero()[0]
            n_carriers.append(len(rows))
            carriers.frombytes(rows.astype(np.intc).tobytes())
    if not columns:
        raise ReadError(f"{path} has no records with an alternative allele; check that it holds variants.")
    row, column = np.asarray(carriers), np.repeat(allele_columns, n_carriers)
    shape = (len(samples), len(columns))
    X = sp.coo_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=shape).tocsr()
    # A sample with the allele on both chromosomes, or in two records, simply has it.
    X.data[:] = 1
    return X, as_names(columns)


class _Record(NamedTuple):
    chromosome: str
    position: int
    reference: str
    alternatives: list[str]
    #: Numbers of the alleles, one row per sample; gaps are negative.
    genotypes: NDArray[np.int16]


def _records(cyvcf2: Any, path: Path) -> Iterator[_Record]:
    # cyvcf2 raises plain exceptions, with nothing in them that would help to mend the file.
    with _quiet(cyvcf2):
        try:
            variants = cyvcf2.VCF(str(path.absolute()))
        except Exception:
            raise ReadError(f"{path}: the header cannot be read as that of a VCF or BCF file; mend it.") from None
        number = 1
        try:
            for variant in variants:
                yield _record(variant, path)
                number += 1
        except ReadError:
            raise
        except Exception:
            raise ReadError(
                f"{path}: record {number} below the header cannot be read; check its position and its genotypes."
            ) from None


def _record(variant: Any, path: Path) -> _Record:
    # The standard puts GT first; where it comes later and all samples leave it out, htslib would end the process.
    if variant.FORMAT[:1] != ["GT"]:
        raise ReadError(
            f"{path}: the record at {variant.CHROM}:{variant.POS} has no genotypes, as its FORMAT does not begin with "
            "GT; a file with genotypes is needed."
        )
    # The last column says whether the genotype is phased.
    genotypes = variant.genotype.array()[:, :-1]
    return _Record(variant.CHROM, variant.POS, variant.REF, variant.ALT, genotypes)


def _demand_known_alleles(record: _Record, path: Path, samples: NDArray[Any]) -> None:
    largest, known = int(record.genotypes.max()), len(record.alternatives)
    if largest > known:
        sample = samples[record.genotypes.max(axis=1).argmax()]
        raise ReadError(
            f"{path}: sample {sample!r} has allele {largest} at {record.chromosome}:{record.position}, but the record "
            f"names only {known} alternative{'s' if known != 1 else ''}; mend the record."
        )


@contextmanager
def _quiet(cyvcf2: Any) -> Iterator[None]:
    """Keep htslib from writing to the terminal: what matters comes as an error."""
    cyvcf2.set_htslib_log_level(0)
    try:
        yield
    finally:
        cyvcf2.set_htslib_log_level(3)
