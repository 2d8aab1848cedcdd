import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from experiments.simulated_genomes import simulate_genomes
from experiments.simulated_genomes.cohort import rows_of
from experiments.simulated_genomes.germline import Loss, Segment, simulate_segment

ROOT = Path(__file__).parents[2]
FALSE_NEGATIVES, FALSE_POSITIVES = 0.02, 1e-3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def genomes():
    """A cohort with enough loci in every program to count them, and errors that can be told from each other."""
    return simulate_genomes(
        3e7, false_negatives=FALSE_NEGATIVES, false_positives=FALSE_POSITIVES, random_state=3, n_jobs=2
    )


def same(a, b):
    equal = (a.X != b.X).nnz == 0 and np.array_equal(a.item_names, b.item_names)
    return equal and all(np.array_equal(p.items, q.items) for p, q in zip(a.programs, b.programs, strict=True))


def test_the_same_seed_gives_the_same_genomes_whatever_runs_at_the_same_time():
    first, again, other = (
        simulate_genomes(2e6, segment_bp=5e4, random_state=seed, n_jobs=jobs)
        for seed, jobs in ((1, None), (1, 3), (2, None))
    )
    assert same(first, again)
    assert first.X.shape != other.X.shape or (first.X != other.X).nnz > 0


def test_the_rows_are_those_of_the_paper(genomes):
    assert genomes.X.shape == (56, len(genomes.position))
    assert genomes.X.dtype == bool
    assert {label: int((genomes.y == label).sum()) for label in "NTR"} == {"N": 18, "T": 18, "R": 20}
    samples = np.array([[(genomes.y[genomes.patients == p] == label).sum() for label in "NTR"] for p in range(18)])
    assert (samples[:, :2] == 1).all()
    assert samples[:, 2].tolist() == [0 if p == 3 else 4 if p == 7 else 1 for p in range(18)]
    assert len(set(genomes.row_names)) == 56
    assert genomes.row_names[0] == "P01_N"
    assert genomes.row_names[genomes.patients == 7].tolist() == ["P08_N", "P08_T"] + [f"P08_R{k}" for k in (1, 2, 3, 4)]


def test_columns_are_in_the_order_of_the_genome_and_somebody_has_each(genomes):
    place = np.lexsort((genomes.position, genomes.chromosome))
    assert np.array_equal(place, np.arange(len(place)))
    assert set(genomes.chromosome.tolist()) == set(range(1, 23))
    assert genomes.position.min() >= 1
    assert genomes.X.sum(axis=0).min() >= 1
    assert genomes.X.has_sorted_indices


def test_names_tell_place_and_change(genomes):
    j = len(genomes.position) // 2
    change = f"{genomes.reference[j]}>{genomes.alternative[j]}"
    assert genomes.item_name(j) == f"chr{genomes.chromosome[j]}:{genomes.position[j]} {change}"
    assert genomes.item_names[j] == genomes.item_name(j)
    assert (genomes.reference != genomes.alternative).all()
    # Columns of the same locus agree on the base that the reference has there.
    locus = genomes.chromosome.astype(np.int64) << 40 | genomes.position
    shared = [(a, b) for a, b in pairwise(range(len(locus))) if locus[a] == locus[b]]
    assert shared
    assert all(genomes.reference[a][0] == genomes.reference[b][0] for a, b in shared)


def test_some_columns_are_insertions_or_deletions(genomes):
    lengths = [np.char.str_len(bases) for bases in (genomes.reference, genomes.alternative)]
    for longer, shorter in (lengths, lengths[::-1]):
        assert np.mean(longer > 1) == pytest.approx(0.04, abs=0.005)
        assert (shorter[longer > 1] == 1).all()
        assert longer.max() == 5
    inserted = lengths[1] > 1
    pairs = zip(genomes.reference[inserted], genomes.alternative[inserted], strict=True)
    assert all(new.startswith(old) for old, new in pairs)


def test_programs_are_in_the_samples_of_their_patients_and_classes(genomes):
    kinds = [("N",)] * 2 + [("T",)] * 3 + [("R",)] * 4 + [("T", "R")] * 2
    assert [program.classes for program in genomes.programs] == kinds
    for program in genomes.programs:
        assert 5 <= len(set(program.patients.tolist())) <= 9
        assert (np.diff(program.items) > 0).all()
        rows = rows_of(program.patients.tolist(), program.classes)
        missed = FALSE_NEGATIVES * (1 if program.classes == ("N",) else 1.5)
        called = genomes.X[:, program.items].toarray()
        # Five standard deviations, of loci and samples that are drawn independently.
        share, cells = 0.9 * (1 - missed), called[rows].size
        assert called[rows].mean() == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / cells))
        others = np.delete(called, rows, axis=0)
        assert others.mean() == pytest.approx(FALSE_POSITIVES, abs=5 * np.sqrt(FALSE_POSITIVES / others.size))


def test_without_errors_samples_of_a_patient_differ_by_tumours_only():
    genomes = simulate_genomes(2e6, false_negatives=0.0, false_positives=0.0, random_state=5)
    shared = np.asarray(genomes.X.sum(axis=0)) > 1
    planted = np.zeros(shared.size, dtype=bool)
    planted[np.concatenate([program.items for program in genomes.programs])] = True
    cells = genomes.X[:, shared & ~planted].toarray()
    normal, tumour = cells[genomes.y == "N"], cells[genomes.y == "T"]
    # Samples of a patient have most in common, those of two patients much less.
    apart = np.array([[(a ^ b).mean() for b in tumour] for a in normal])
    assert (apart.argmin(axis=1) == np.arange(18)).all()
    assert np.diag(apart).max() < np.sort(apart, axis=1)[:, 1].min()


def test_tumours_lack_what_they_lost_and_relapses_what_the_primary_tumour_lost():
    segment, length = Segment(0, 0, 200_000), 200_000
    whole = simulate_segment(segment, [], seed=4)
    both = [Loss(6, 0, 0, length, copy, "T") for copy in (0, 1)]
    late = [Loss(7, 0, 0, length / 2, copy, "R") for copy in (0, 1)]
    elsewhere = [Loss(8, 1, 0, length, copy, "T") for copy in (0, 1)]
    left = simulate_segment(segment, both + late + elsewhere, seed=4)
    assert np.array_equal(left.position, whole.position)
    gone = whole.carriers ^ left.carriers
    everything_of_6 = sum(1 << row for row in rows_of([6], "TR"))
    relapses_of_7 = sum(1 << row for row in rows_of([7], "R"))
    expected = whole.carriers & np.uint64(everything_of_6)
    expected |= np.where(whole.position < length / 2, whole.carriers & np.uint64(relapses_of_7), np.uint64(0))
    assert np.array_equal(gone, expected)
    assert (expected & np.uint64(everything_of_6)).any()
    assert (expected & np.uint64(relapses_of_7)).any()


def test_more_base_pairs_give_more_columns_in_proportion(genomes):
    small = simulate_genomes(1e7, random_state=4)
    assert genomes.X.shape[1] / small.X.shape[1] == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"total_bp": 100}, "total_bp must be a number of base pairs from 1e+06 to 1e+10, not 100."),
        ({"total_bp": "3e9"}, "total_bp must be a number of base pairs from 1e+06 to 1e+10, not '3e9'."),
        ({"total_bp": float("nan")}, "total_bp must be a number of base pairs from 1e+06 to 1e+10, not nan."),
        ({"segment_bp": 10}, "segment_bp must be a number of base pairs from 10000 to 1e+09, not 10."),
        ({"false_negatives": 0.6}, "false_negatives must be a probability from 0 to 0.5, not 0.6."),
        ({"false_positives": -0.1}, "false_positives must be a probability from 0 to 0.5, not -0.1."),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, not 0."),
        (
            {"random_state": "one"},
            "random_state must be a whole number of at least 0, a numpy RandomState or None, not 'one'.",
        ),
    ],
)
def test_wrong_parameters_are_named(wrong, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        simulate_genomes(**{"total_bp": 2e6, **wrong})
    assert str(caught.value) == sentence


def test_a_missing_library_is_named_with_the_extra_that_has_it():
    code = (
        "import sys; sys.modules['msprime'] = None\n"
        "from experiments.simulated_genomes import simulate_genomes\n"
        "simulate_genomes(2e6, random_state=0, n_jobs=2)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.stderr.endswith("ImportError: Simulated genomes need msprime; pip install 'saltmine[experiments]'.\n")


def test_importing_the_experiment_does_not_import_the_simulator():
    code = "import sys, experiments.genome; sys.exit('msprime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
