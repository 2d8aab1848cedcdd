"""The samples of simulated genomes, and alterations as sets of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PATIENTS = 18
#: Normal tissue, primary tumour, relapse.
CLASSES = ("N", "T", "R")
#: Bit i is set where sample i has the alteration.
Carriers = NDArray[np.uint64]


class Sample(NamedTuple):
    """A tissue sample of a patient; relapses of the same patient are numbered."""

    patient: int
    label: str
    number: int

    @property
    def name(self) -> str:
        """Patient and class, and the number of a relapse."""
        return f"P{self.patient + 1:02d}_{self.label}{self.number + 1 if self.label == 'R' else ''}"


def _sample_count(patient: int, label: str) -> int:
    """Return 1, but one patient has no relapse and one has four of them, as in the paper's data."""
    return {3: 0, 7: 4}.get(patient, 1) if label == "R" else 1


#: The rows, class by class: 18 of normal tissue, 18 primary tumours, 20 relapses.
SAMPLES = tuple(
    Sample(patient, label, number)
    for label in CLASSES
    for patient in range(PATIENTS)
    for number in range(_sample_count(patient, label))
)


def rows_of(patients: Iterable[int], labels: Iterable[str]) -> list[int]:
    """Return the rows of these patients and classes.

    Examples
    --------
    >>> rows_of([3], "NTR"), rows_of([7], "R")
    ([3, 21], [42, 43, 44, 45])
    """
    patients, labels = set(patients), set(labels)
    return [row for row, sample in enumerate(SAMPLES) if sample.patient in patients and sample.label in labels]


class Columns(NamedTuple):
    """Alterations: the samples that have them, where they are, and which base they are.

    Attributes
    ----------
    carriers : (n,) uint64
    chromosome, position : (n,) int
        Both from 0.
    step : (n,) int
        1 to 3: so many bases after that of the reference, in the order A, C, G, T and round.
    """

    carriers: Carriers
    chromosome: NDArray[np.uint8]
    position: NDArray[np.int64]
    step: NDArray[np.uint8]

    def take(self, order: NDArray[np.intp]) -> Columns:
        """Return these columns, in this order."""
        return Columns(self.carriers[order], self.chromosome[order], self.position[order], self.step[order])


def joined(parts: Sequence[Columns]) -> Columns:
    """Put columns one after the other."""
    return Columns(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def packed(rows: Iterable[tuple[int, NDArray[np.bool_]]], n: int) -> Carriers:
    """Make sets of samples of rows, each with its number; of ``n`` columns.

    Examples
    --------
    >>> import numpy as np
    >>> packed([(0, np.array([True, True])), (3, np.array([False, True]))], 2).tolist()
    [1, 9]
    """
    carriers = np.zeros(n, dtype=np.uint64)
    for row, has in rows:
        carriers |= has.astype(np.uint64) << np.uint64(row)
    return carriers


def unpacked(carriers: Carriers, row: int) -> NDArray[np.bool_]:
    """Return which columns a sample has."""
    has: NDArray[np.bool_] = (carriers >> np.uint64(row)) & np.uint64(1) == 1
    return has
