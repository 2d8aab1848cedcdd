"""What patients have inherited, simulated by msprime, and what their tumours have lost of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.simulated_genomes.cohort import CLASSES, PATIENTS, SAMPLES, Carriers, Columns, joined, packed

# Per base pair and generation.
MUTATION_RATE, RECOMBINATION_RATE = 1.25e-8, 1.1e-8
# Whose losses the classes have: relapses keep those of the primary tumour.
LOST_IN = {"N": (), "T": ("T",), "R": ("T", "R")}
MOST_LOSSES = {"T": 4, "R": 3}


class Segment(NamedTuple):
    """A part of a chromosome that is simulated on its own."""

    chromosome: int
    begin: int
    end: int


class Loss(NamedTuple):
    """A part of a chromosome of which a patient's tumours lack one of the two copies, from this class on."""

    patient: int
    chromosome: int
    begin: float
    end: float
    copy: int
    since: str


def segments(lengths: NDArray[np.int64], segment_bp: int) -> Iterator[Segment]:
    """Cut chromosomes: trees of whole ones take long, and linkage does not reach beyond ten million base pairs.

    Examples
    --------
    >>> import numpy as np
    >>> [tuple(segment) for segment in segments(np.array([25, 10]), 20)]
    [(0, 0, 20), (0, 20, 25), (1, 0, 10)]
    """
    for chromosome, length in enumerate(lengths.tolist()):
        for begin in range(0, length, segment_bp):
            yield Segment(chromosome, begin, min(begin + segment_bp, length))


def draw_losses(lengths: NDArray[np.int64], rng: np.random.Generator) -> list[Loss]:
    """Draw what tumours lose: between 0.2 and 0.9 of a chromosome at a time."""
    losses = []
    for patient in range(PATIENTS):
        for since, most in MOST_LOSSES.items():
            for _ in range(rng.integers(0, most + 1)):
                chromosome = int(rng.integers(len(lengths)))
                length = int(lengths[chromosome])
                extent = length * rng.uniform(0.2, 0.9)
                begin = rng.uniform(0, length - extent)
                losses.append(Loss(patient, chromosome, begin, begin + extent, int(rng.integers(2)), since))
    return losses


def simulate_segment(segment: Segment, losses: Sequence[Loss], seed: int) -> Columns:
    """Simulate a segment of all patients and of the reference; a column is an allele that the reference lacks."""
    alleles, position = _coalescent(segment.end - segment.begin, seed)
    position += segment.begin
    reference, alleles = alleles[:, -1], alleles[:, : 2 * PATIENTS]
    lost_here = [loss for loss in losses if loss.chromosome == segment.chromosome]
    parts = []
    for allele in range(4):
        carried = (alleles == allele) & (reference != allele)[:, None]
        sites = np.flatnonzero(carried.any(axis=1))
        copies = carried[sites].reshape(len(sites), PATIENTS, 2)
        chromosome = np.full(len(sites), segment.chromosome, dtype=np.uint8)
        step = (allele - reference[sites]) % 4
        carriers = _carriers(copies, position[sites], lost_here)
        parts.append(Columns(carriers, chromosome, position[sites], step.astype(np.uint8)))
    return joined(parts)


def import_msprime() -> Any:
    """Return msprime, which simulates ancestry; it is optional, so it is imported when it is needed."""
    try:
        import msprime
    except ImportError:
        raise ImportError("Simulated genomes need msprime; pip install 'saltmine[experiments]'.") from None
    return msprime


def _coalescent(length: int, seed: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return alleles, (sites, 2 * patients + 2), two haplotypes of each patient and of the reference; and the sites."""
    msprime = import_msprime()
    history = msprime.Demography()
    # Backwards in generations: growth today, the founding of Europe, the way out of Africa, the African expansion.
    history.add_population(name="Europe", initial_size=1032 * np.exp(0.0038 * 920), growth_rate=0.0038)
    history.add_population_parameters_change(time=920, initial_size=1861, growth_rate=0)
    history.add_population_parameters_change(time=2040, initial_size=14474)
    history.add_population_parameters_change(time=5920, initial_size=7310)
    trees = msprime.sim_ancestry(
        PATIENTS + 1,
        demography=history,
        sequence_length=length,
        recombination_rate=RECOMBINATION_RATE,
        random_seed=seed,
    )
    trees = msprime.sim_mutations(trees, rate=MUTATION_RATE, random_seed=seed)
    return trees.genotype_matrix().astype(np.int8), trees.tables.sites.position.astype(np.int64)


def _carriers(copies: NDArray[np.bool_], position: NDArray[np.int64], losses: Sequence[Loss]) -> Carriers:
    """Say which samples have alleles that patients have inherited, (sites, patients, copies)."""
    present = {}
    for label in CLASSES:
        left = copies.copy()
        for loss in losses:
            if loss.since in LOST_IN[label]:
                left[(position >= loss.begin) & (position < loss.end), loss.patient, loss.copy] = False
        present[label] = left[:, :, 0] | left[:, :, 1]
    rows = ((row, present[sample.label][:, sample.patient]) for row, sample in enumerate(SAMPLES))
    return packed(rows, len(position))
