"""Genotypes of VCF and BCF files, by htslib."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from cyvcf2 import cyvcf2
from numpy.typing import NDArray

from saltmine.parsers.loci import locus_name
from saltmine.parsers.messages import Message, ParseError, numbers, texts

# Placeholders for an allele that is described elsewhere, or for any allele.
_NO_ALTERATION = frozenset({"*", ".", "<*>", "<NON_REF>"})
# A part of the result is sent when it has so many carriers or alleles, or after so many seconds.
_MANY, _SECONDS = 100_000, 0.5


class _Part:
    """Alleles and their carriers: names, numbers of carriers, and the carriers of all alleles one after another."""

    def __init__(self) -> None:
        self.names: list[str] = []
        # Compact arrays: there may be a hundred million carriers.
        self.n_carriers, self.carriers = array("i"), array("i")
        self.begin = time.monotonic()

    def add(self, name: str, rows: NDArray[Any]) -> None:
        self.names.append(name)
        self.n_carriers.append(len(rows))
        self.carriers.frombytes(rows.astype(np.intc).tobytes())

    def is_large(self) -> bool:
        return max(len(self.names), len(self.carriers)) > _MANY or time.monotonic() - self.begin > _SECONDS

    def messages(self) -> Iterator[Message]:
        yield texts("names", self.names)
        yield numbers("n_carriers", np.asarray(self.n_carriers))
        yield numbers("carriers", np.asarray(self.carriers))


def parse(request: dict[str, Any]) -> Iterator[Message]:
    """Yield the alleles of all records in parts: names, numbers of carriers, and the rows that carry them."""
    # Keep htslib from writing to the terminal: problems are raised as errors.
    cyvcf2.set_htslib_log_level(0)
    part = _Part()
    for variant, genotypes in _records(request["path"], request["n_samples"]):
        for allele, alternative in enumerate(variant.ALT, start=1):
            if alternative not in _NO_ALTERATION:
                name = locus_name(variant.CHROM, variant.POS, variant.REF, alternative)
                part.add(name, (genotypes == allele).nonzero()[0])
        if part.is_large():
            yield from part.messages()
            part = _Part()
    yield from part.messages()


def _records(path: str, n_samples: int) -> Iterator[tuple[Any, NDArray[np.int16]]]:
    """Yield every record of cyvcf2 with its genotypes."""
    # cyvcf2 raises plain exceptions whose messages do not help to fix the file.
    try:
        variants = cyvcf2.VCF(path)
        samples = variants.samples
    except Exception:
        raise ParseError("the header cannot be read as that of a VCF or BCF file; fix it.") from None
    if len(samples) != n_samples:
        raise ParseError("the header names other samples than its line #CHROM; fix it.")
    number = 1
    try:
        for variant in variants:
            yield variant, _genotypes(variant, samples)
            number += 1
    except ParseError:
        raise
    except Exception:
        problem = f"record {number} below the header cannot be read; check its position and its genotypes."
        raise ParseError(problem) from None


def _genotypes(variant: Any, samples: list[str]) -> NDArray[np.int16]:
    """Return the numbers of the alleles, one row per sample; gaps are negative."""
    # The standard puts GT first; htslib ends the process if GT comes later and all samples omit it.
    place = f"{variant.CHROM}:{variant.POS}"
    if variant.FORMAT[:1] != ["GT"]:
        raise ParseError(f"{place} has no genotypes: its FORMAT does not begin with GT; genotypes are needed.")
    # The last column tells whether the genotype is phased.
    genotypes: NDArray[np.int16] = variant.genotype.array()[:, :-1]
    largest, n_alternatives = int(genotypes.max()), len(variant.ALT)
    if largest > n_alternatives:
        problem = f"sample {samples[int(genotypes.max(axis=1).argmax())]!r} has allele {largest} at {place}"
        alternatives = f"{n_alternatives} alternative{'s' if n_alternatives != 1 else ''}"
        raise ParseError(f"{problem}, but the record has only {alternatives}; fix the record.")
    return genotypes
