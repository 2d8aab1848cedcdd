"""Simulated genomes of patients: normal tissue, primary tumour and relapse, with planted class-specific alterations.

The paper's genome data are not public. What is simulated has their shape, and what is known of their structure:

- germline: 18 people and a genome that serves as the reference descend from common ancestors, with the history of the
  European population (Gravel et al. 2011); a column is a base at a locus where the reference has another;
- losses: tumours lack one of the two copies of parts of chromosomes, relapses of more parts;
- private alterations of a patient: in all tumours, in the primary tumour or in relapses only;
- programs: alterations that several patients have in some classes only, which a search should find;
- artefacts of sequencing, in one sample or in some of any class, and calls that are missed or made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from experiments.simulated_genomes.cohort import PATIENTS, SAMPLES, Carriers, Columns, joined, packed, rows_of, unpacked
from experiments.simulated_genomes.germline import draw_losses, import_msprime, segments, simulate_segment
from saltmine.estimators.runs import Restarts
from saltmine.parameters import check_starts, is_real

# Human autosomes; only the proportions matter.
CHROMOSOMES = np.array(
    [249, 242, 198, 190, 182, 171, 159, 145, 138, 134, 135, 133, 114, 107, 102, 90, 83, 80, 59, 64, 47, 51]
)
BASES = np.array(["A", "C", "G", "T"])
# The numbers of alterations below are for a genome of this length; shorter ones have fewer in proportion.
WHOLE_GENOME = 2.88e9
# Means of a patient's alterations: in all tumours, in the primary tumour only, in relapses only.
TRUNK, PRIMARY, RELAPSE = 1500, 500, 2000
# Of the alterations of several relapses, so many are in all of them.
SHARED_BY_RELAPSES = 0.6
# Classes of the planted programs, how many there are, and their loci.
PROGRAMS = ((("N",), 2, 3180), (("T",), 3, 5450), (("R",), 4, 5760), (("T", "R"), 2, 4550))
PENETRANCE = 0.9
# Artefacts of every sample, and those that many samples have.
PRIVATE_ARTEFACTS, RECURRENT_ARTEFACTS = 4000, 20000
# Tumour samples contain normal cells too, so more is missed there, by this factor.
MISSED_IN_TUMOURS = 1.5
# The share of columns that are named as insertions or deletions, and the most bases of one.
INDELS, LONGEST_INDEL = 0.08, 4
# Columns at a time that get errors: the random numbers of all together would fill the memory.
CHUNK = 1 << 19

# Classes and patients of a program, and the carriers of its columns.
_Draft = tuple[tuple[str, ...], NDArray[np.intp], Carriers]


@dataclass(frozen=True, eq=False)
class Program:
    """Planted alterations: the classes that have them, their columns, and the patients whose samples carry them."""

    classes: tuple[str, ...]
    items: NDArray[np.intp]
    patients: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Genomes:
    """Simulated genomes: 56 samples of 18 patients, and a column per alteration, in the order of the genome.

    Attributes
    ----------
    X : (56, n) sparse bool
    y : (56,) str
        "N" normal tissue, "T" primary tumour, "R" relapse.
    patients : (56,) int
        From 0 to 17.
    row_names : (56,) str
    chromosome, position : (n,) int
        Both count from 1.
    reference, alternative : (n,) str
        Bases, as "T" and "G"; several letters where bases are inserted or deleted.
    programs : list of Program
        The planted truth.
    """

    X: sp.csr_array
    y: NDArray[np.str_]
    patients: NDArray[np.intp]
    row_names: NDArray[np.str_]
    chromosome: NDArray[np.uint8]
    position: NDArray[np.int64]
    reference: NDArray[np.str_]
    alternative: NDArray[np.str_]
    programs: list[Program]

    def item_name(self, column: int) -> str:
        """Return the name of a column, as "chr7:55191822 T>G"."""
        change = f"{self.reference[column]}>{self.alternative[column]}"
        return f"chr{self.chromosome[column]}:{self.position[column]} {change}"

    @cached_property
    def item_names(self) -> NDArray[np.str_]:
        """Names of all columns, made when they are first asked for: those of 3.7 million take 400 MB."""
        return np.array([self.item_name(column) for column in range(self.X.shape[1])])


def simulate_genomes(
    total_bp: float = 2.79e9,
    *,
    segment_bp: float = 1e7,
    false_negatives: float = 0.01,
    false_positives: float = 1e-4,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Genomes:
    """Simulate normal tissue, primary tumours and relapses of 18 patients; needs msprime.

    Parameters
    ----------
    total_bp : float
        Base pairs of the 22 chromosomes together: 2.79e9 gives 3.7 million columns, 1e8 gives 131,000.
    segment_bp : float
        Segments of this length are simulated independently of each other.
    false_negatives : float
        Probability that an alteration of normal tissue is missed; in tumours it is half as much again.
    false_positives : float
        Probability that a sample gets an alteration that only others have.
    random_state : int, RandomState or None
    n_jobs : int or None
        Segments simulated at the same time; the result does not depend on it.

    Examples
    --------
    >>> genomes = simulate_genomes(2e6, random_state=0)
    >>> genomes.X.shape[0], str(genomes.row_names[-1]), genomes.programs[-1].classes
    (56, 'P18_R1', ('T', 'R'))
    """
    _check_parameters(total_bp, segment_bp, false_negatives, false_positives)
    import_msprime()
    check_starts(1, n_jobs, random_state)
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    lengths = np.round(CHROMOSOMES / CHROMOSOMES.sum() * total_bp).astype(np.int64)
    losses = draw_losses(lengths, rng)
    parts = list(segments(lengths, int(segment_bp)))
    seeds = rng.integers(1, 2**31, len(parts)).tolist()
    germline = Restarts(n_jobs).run(lambda number, seed: simulate_segment(parts[number], losses, seed), seeds)
    scale = total_bp / WHOLE_GENOME
    programs = list(_programs(scale, rng))
    added = [carriers for *_, carriers in programs] + [*_private(scale, rng), *_artefacts(scale, rng)]
    columns = joined([_placed(np.concatenate(added), lengths, rng), *germline])
    columns = columns._replace(carriers=_with_errors(columns.carriers, false_negatives, false_positives, rng))
    order = _order(columns)
    return _named(columns.take(order), _truth(programs, order, len(columns.carriers)), rng)


def _check_parameters(total_bp: Any, segment_bp: Any, false_negatives: Any, false_positives: Any) -> None:
    for name, value, least, most in (("total_bp", total_bp, 1e6, 1e10), ("segment_bp", segment_bp, 1e4, 1e9)):
        if not is_real(value) or not least <= value <= most:
            raise ValueError(f"{name} must be a number of base pairs from {least:g} to {most:g}, not {value!r}.")
    for name, value in (("false_negatives", false_negatives), ("false_positives", false_positives)):
        if not is_real(value) or not 0 <= value <= 0.5:
            raise ValueError(f"{name} must be a probability from 0 to 0.5, not {value!r}.")


def _programs(scale: float, rng: np.random.Generator) -> Iterator[_Draft]:
    """Draw classes, patients and carriers of every program; few samples carry all of its loci."""
    for classes, count, loci in PROGRAMS:
        n = max(5, int(loci * scale))
        for _ in range(count):
            patients = np.sort(rng.choice(PATIENTS, rng.integers(5, 10), replace=False))
            rows = rows_of(patients.tolist(), classes)
            yield classes, patients, packed(((row, rng.random(n) < PENETRANCE) for row in rows), n)


def _private(scale: float, rng: np.random.Generator) -> Iterator[Carriers]:
    """Draw the alterations that only one patient has."""

    def alterations(mean: float) -> int:
        # A log-normal number: tumours differ widely.
        return int(rng.lognormal(np.log(mean * scale) - 0.32, 0.8))

    for patient in range(PATIENTS):
        primary, relapses = rows_of([patient], "T"), rows_of([patient], "R")
        yield _repeated([*primary, *relapses], alterations(TRUNK))
        yield _repeated(primary, alterations(PRIMARY))
        n = alterations(RELAPSE)
        if relapses:
            shared = n if len(relapses) == 1 else int(n * SHARED_BY_RELAPSES)
            yield _repeated(relapses, shared)
            for row in relapses:
                yield _repeated([row], n - shared)


def _artefacts(scale: float, rng: np.random.Generator) -> Iterator[Carriers]:
    """Draw what is no alteration at all, but is found in samples, in one or in any number of them."""
    for row in range(len(SAMPLES)):
        yield _repeated([row], rng.poisson(PRIVATE_ARTEFACTS * scale))
    n = int(RECURRENT_ARTEFACTS * scale)
    frequency = rng.beta(1, 5, n)
    yield packed(((row, rng.random(n) < frequency) for row in range(len(SAMPLES))), n)


def _repeated(rows: list[int], n: int) -> Carriers:
    return np.full(n, sum(1 << row for row in rows), dtype=np.uint64)


def _placed(carriers: Carriers, lengths: NDArray[np.int64], rng: np.random.Generator) -> Columns:
    """Give alterations a place and a base at random."""
    n = len(carriers)
    chromosome = rng.choice(len(lengths), n, p=lengths / lengths.sum()).astype(np.uint8)
    position = (rng.random(n) * lengths[chromosome]).astype(np.int64)
    return Columns(carriers, chromosome, position, rng.integers(1, 4, n, dtype=np.uint8))


def _with_errors(carriers: Carriers, missed: float, made_up: float, rng: np.random.Generator) -> Carriers:
    found = np.empty_like(carriers)
    missed_in = [missed * (1 if sample.label == "N" else MISSED_IN_TUMOURS) for sample in SAMPLES]
    for begin in range(0, len(carriers), CHUNK):
        part = carriers[begin : begin + CHUNK]
        drawn = ((row, rng.random(len(part), dtype=np.float32)) for row in range(len(SAMPLES)))
        called = ((row, np.where(unpacked(part, row), u >= missed_in[row], u < made_up)) for row, u in drawn)
        found[begin : begin + CHUNK] = packed(called, len(part))
    return found


def _order(columns: Columns) -> NDArray[np.intp]:
    """Sort columns by their place and base, without those that nobody has, or that are there already."""
    key = (columns.chromosome.astype(np.int64) << 40) | (columns.position << 2) | columns.step
    first: NDArray[np.intp] = np.unique(key, return_index=True)[1]
    return first[columns.carriers[first] > 0]


def _truth(programs: list[_Draft], order: NDArray[np.intp], n: int) -> list[Program]:
    """Find the columns of the programs after sorting; before it they were the first of ``n``."""
    place = np.full(n, -1)
    place[order] = np.arange(len(order))
    ends = np.cumsum([len(carriers) for *_, carriers in programs])
    drafts = zip(programs, np.split(place, ends)[:-1], strict=True)
    return [Program(classes, np.sort(items[items >= 0]), patients) for (classes, patients, _), items in drafts]


def _named(columns: Columns, programs: list[Program], rng: np.random.Generator) -> Genomes:
    """Name rows and columns, and make a matrix of the sets of samples."""
    # A scrambled position stands for the sequence of the reference: the columns of a locus have to agree on its base.
    base = ((columns.position * 2654435761 + columns.chromosome) >> 7) % 4
    reference, alternative = BASES[base].astype("<U5"), BASES[(base + columns.step) % 4].astype("<U5")
    indels = np.flatnonzero(rng.random(len(base)) < INDELS)
    longer = np.char.add(reference[indels], _random_bases(len(indels), rng))
    inserted = rng.random(len(indels)) < 0.5
    alternative[indels] = np.where(inserted, longer, reference[indels])
    reference[indels] = np.where(inserted, reference[indels], longer)
    return Genomes(
        _matrix(columns.carriers),
        np.array([sample.label for sample in SAMPLES]),
        np.array([sample.patient for sample in SAMPLES]),
        np.array([sample.name for sample in SAMPLES]),
        columns.chromosome + np.uint8(1),
        columns.position + 1,
        reference,
        alternative,
        programs,
    )


def _random_bases(n: int, rng: np.random.Generator) -> NDArray[np.str_]:
    letters = BASES[rng.integers(0, 4, (n, LONGEST_INDEL))]
    letters[np.arange(LONGEST_INDEL) >= rng.integers(1, LONGEST_INDEL + 1, (n, 1))] = ""
    return letters.view(f"<U{LONGEST_INDEL}")[:, 0]


def _matrix(carriers: Carriers) -> sp.csr_array:
    rows = [np.flatnonzero(unpacked(carriers, row)).astype(np.int32) for row in range(len(SAMPLES))]
    edges = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    # Both of one type, or scipy widens them.
    index = np.int32 if edges[-1] < 2**31 else np.int64
    stored = np.ones(edges[-1], dtype=bool), np.concatenate(rows).astype(index, copy=False), edges.astype(index)
    return sp.csr_array(stored, shape=(len(SAMPLES), len(carriers)))
