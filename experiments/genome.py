"""The paper's experiment on genomes: whose background the patterns are, and which alterations belong to a class.

The paper's data are not public, so simulated genomes of the same shape stand in. They have one advantage: which
alterations belong to which class is known, and it can be said how many of them come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.experiment import Experiment, Row, Task
from experiments.genome_page import WHOLE, write
from experiments.measuring import timed
from experiments.simulated_genomes import Genomes, Program, simulate_genomes
from experiments.simulated_genomes.germline import import_msprime
from saltmine import CSalt
from saltmine.comparison import load_compiled

QUICK = 1e8
SEEDS = (5001, 5002, 5003)


def tasks(quick: bool) -> list[Task]:
    """Return three cohorts with whole genomes, or one with a part of them."""
    sizes = [(QUICK, SEEDS[0])] if quick else [(WHOLE, seed) for seed in SEEDS]
    return [{"method": "csalt", "total_bp": total_bp, "seed": seed} for total_bp, seed in sizes]


def measure(task: Task, data: Path | None) -> Row:
    """Simulate a cohort, fit it, and describe the model and what it found of the planted programs."""
    genomes, simulating = timed(lambda: simulate_genomes(task["total_bp"], random_state=task["seed"], n_jobs=-1))
    load_compiled("csalt")
    model, fitting = timed(lambda: CSalt(random_state=task["seed"]).fit(genomes.X, genomes.y))
    return {**describe(model, genomes), "simulating": round(simulating, 2), "seconds": round(fitting, 2)}


def describe(model: CSalt, genomes: Genomes) -> Row:
    """Return what the page, the table and the figure need of a model, as plain values."""
    usage, used = np.asarray(model.usage_), model.usage_counts_ > 0
    sizes = {str(label): _sizes(part) for label, part in zip(model.classes_, model.sparse_alterations_, strict=True)}
    found = zip(genomes.programs, recovered(model, genomes.programs), strict=True)
    return {
        "columns": int(genomes.X.shape[1]),
        "ones": int(genomes.X.nnz),
        "distinct_columns": count_distinct(genomes.X),
        "patterns": int(model.n_components_),
        "one_patient": int((_patients_using(usage, genomes.patients).sum(axis=0) == 1).sum()),
        "one_class": int((used.sum(axis=0) == 1).sum()),
        "all_classes": int(used.all(axis=0).sum()),
        "agreement": agreement(usage[:, used.all(axis=0)], genomes.patients),
        "agreement_all": agreement(usage, genomes.patients),
        "shared_sizes": _sizes(model.sparse_components_),
        "altered_sizes": sizes,
        "labels": "".join(genomes.y),
        "patients": genomes.patients.tolist(),
        "usage": ["".join("01"[used] for used in pattern) for pattern in usage.T.astype(int)],
        "programs": [
            {"classes": "".join(program.classes), "patients": len(program.patients), **match._asdict()}
            for program, match in found
        ],
    }


def _sizes(patterns: sp.csr_array) -> list[int]:
    """Count the columns of every pattern."""
    return [int(size) for size in np.diff(patterns.indptr)]


def count_distinct(X: sp.csr_array) -> int:
    """Count the distinct columns of a matrix of at most 64 rows.

    Examples
    --------
    >>> count_distinct(sp.csr_array([[1, 1, 0], [0, 0, 1]]))
    2
    """
    columns = np.zeros(X.shape[1], dtype=np.uint64)
    for row in range(X.shape[0]):
        columns[X.indices[X.indptr[row] : X.indptr[row + 1]]] |= np.uint64(1 << row)
    return len(np.unique(columns))


def _patients_using(usage: NDArray[np.bool_], patients: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Say which patient uses which pattern in some sample."""
    return np.array([usage[patients == patient].any(axis=0) for patient in np.unique(patients)])


def agreement(usage: NDArray[np.bool_], patients: NDArray[np.intp]) -> float | None:
    """Return how often all samples of a patient use a pattern, where at least one of them does; None without usage.

    Examples
    --------
    >>> usage = np.array([[True, True, False], [True, False, False]])
    >>> agreement(usage, np.array([0, 0]))
    0.5
    """
    some, not_all = _patients_using(usage, patients), _patients_using(~usage, patients)
    return round(1 - float(not_all[some].mean()), 4) if some.any() else None


class Match(NamedTuple):
    """Loci of a planted program, how many of them came back, and how many were reported along with them in all."""

    loci: int
    back: int
    reported: int

    def f_measure(self) -> float:
        """Return the harmonic mean of recall and precision."""
        return 2 * self.back / max(self.loci + self.reported, 1)


def recovered(model: CSalt, programs: Sequence[Program]) -> list[Match]:
    """Return what came back of planted programs, each by its best match.

    Reported is what a pattern carries in exactly the classes of the program, of those that use the pattern; the pattern
    with the highest F-measure counts. Nothing is reported of a program that has nothing in common with any pattern.
    """
    best = [Match(len(program.items), 0, 0) for program in programs]
    wanted = [_as_bits(np.isin(model.classes_, program.classes)) for program in programs]
    for carrying in _carrying_classes(model):
        sizes = np.bincount(carrying, minlength=1 << len(model.classes_))
        for k, program in enumerate(programs):
            back = int((carrying[program.items] == wanted[k]).sum())
            match = Match(len(program.items), back, int(sizes[wanted[k]]))
            best[k] = max(best[k], match, key=Match.f_measure)
    return best


def _carrying_classes(model: CSalt) -> Iterator[NDArray[np.uint8]]:
    """Yield for every pattern and column the classes that use the pattern and carry the column, a bit per class."""
    parts = [model.sparse_components_, *model.sparse_alterations_]
    for s, used in enumerate(model.usage_counts_.T > 0):
        carrying = np.zeros(parts[0].shape[1], dtype=np.uint8)
        for part, classes in zip(parts, [used, *np.diag(used)], strict=True):
            carrying[part.indices[part.indptr[s] : part.indptr[s + 1]]] |= np.uint8(_as_bits(classes))
        yield carrying


def _as_bits(classes: NDArray[np.bool_]) -> int:
    return sum(1 << int(a) for a in np.flatnonzero(classes))


GENOME = Experiment("genome", "Genomes", tasks, measure, write, lambda data: import_msprime(), parallel=False)
