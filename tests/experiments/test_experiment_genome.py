import json
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from experiments import genome_page
from experiments.genome import GENOME, agreement, count_distinct, recovered
from experiments.genome_figure import shared_patterns
from experiments.simulated_genomes import Program
from saltmine import CSalt
from saltmine.datasets import make_planted

TASK = {"method": "csalt", "total_bp": 2e6, "seed": 11}


@pytest.fixture(scope="module")
def row():
    """A small cohort, measured, stored and read again."""
    found = {**TASK, **GENOME.measure(TASK, None), "version": "1.0", "commit": "abc"}
    return json.loads(json.dumps(found, allow_nan=False))


def used_by(row, pattern):
    return [i for i, used in enumerate(row["usage"][pattern]) if used == "1"]


def test_whole_genomes_of_three_cohorts_or_a_part_of_one():
    full, quick = GENOME.tasks(False), GENOME.tasks(True)
    assert [(task["total_bp"], task["seed"]) for task in full] == [(2.79e9, seed) for seed in (5001, 5002, 5003)]
    assert [(task["total_bp"], task["seed"]) for task in quick] == [(1e8, 5001)]
    assert not GENOME.parallel


def test_the_row_agrees_with_its_usage_matrix(row):
    patterns = range(row["patterns"])
    assert row["patterns"] == len(row["usage"]) == len(row["shared_sizes"]) > 0
    assert {len(usage) for usage in row["usage"]} == {56}
    patients = [{row["patients"][i] for i in used_by(row, s)} for s in patterns]
    classes = [{row["labels"][i] for i in used_by(row, s)} for s in patterns]
    assert row["one_patient"] == sum(len(some) == 1 for some in patients)
    assert row["one_class"] == sum(len(some) == 1 for some in classes)
    assert row["all_classes"] == sum(len(some) == 3 for some in classes)
    assert sorted(row["altered_sizes"]) == ["N", "R", "T"]
    assert max(row["shared_sizes"]) < row["columns"]
    assert 0 < row["distinct_columns"] < row["columns"] < row["ones"]


def test_patterns_of_a_patient_are_the_same_in_each_class(row):
    # What the paper reports: the background of the patients outweighs the classes.
    assert row["agreement"] > 0.9


def test_programs_come_with_what_was_found_of_them(row):
    assert [program["classes"] for program in row["programs"]] == ["N"] * 2 + ["T"] * 3 + ["R"] * 4 + ["TR"] * 2
    for program in row["programs"]:
        assert 0 <= program["back"] <= min(program["loci"], program["reported"])


@pytest.fixture
def altered():
    """A model of two classes with a common pattern that each of them alters, without noise."""
    X = np.zeros((40, 60), dtype=bool)
    y = np.repeat(["a", "b"], 20)
    X[:, :20] = np.tile([[True], [False]], (20, 1))
    X[:20:2, 20:35] = True
    X[20::2, 35:45] = True
    return CSalt(random_state=0).fit(X, y)


def test_recovery_counts_what_is_reported_for_exactly_these_classes(altered):
    loci = np.r_[22:35, 50:52]
    programs = [
        Program(("a",), loci, np.arange(2)),
        Program(("b",), loci, np.arange(2)),
        Program(("a", "b"), np.arange(20), np.arange(2)),
    ]
    in_a, in_b, in_both = recovered(altered, programs)
    # Columns 20 to 34 are those of class a: 13 of the 15 loci, and two that were not planted.
    assert in_a == (15, 13, 15)
    assert in_b == (15, 0, 0)
    assert in_both == (20, 20, 20)
    assert in_a.f_measure() == pytest.approx(13 / 15)
    assert in_b.f_measure() == 0


def test_recovery_agrees_with_a_search_by_sets():
    planted = make_planted(120, [60, 60], rank=4, noise=0.05, random_state=4)
    model = CSalt(random_state=0).fit(planted.X, planted.y.astype(str))
    rng = np.random.default_rng(0)
    programs = [
        Program(classes, np.sort(rng.choice(120, 12, replace=False)), np.arange(1))
        for classes in (("0",), ("1",), ("0", "1"))
        for _ in range(4)
    ]
    for program, match in zip(programs, recovered(model, programs), strict=True):
        scores = [0.0]
        for s in range(model.n_components_):
            using = {
                str(label) for label, count in zip(model.classes_, model.usage_counts_[:, s], strict=True) if count
            }
            carried = {
                j: {
                    label
                    for a, label in enumerate(model.classes_)
                    if label in using and (model.components_[s, j] or model.alterations_[a, s, j])
                }
                for j in range(120)
            }
            reported = {j for j, classes in carried.items() if classes == set(program.classes)}
            scores.append(2 * len(reported & set(program.items)) / (len(reported) + 12))
        assert match.f_measure() == pytest.approx(max(scores))


def test_agreement_is_that_of_patients_who_use_a_pattern():
    patients = np.array([0, 1, 0, 1])
    usage = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    # Of three pairs of a patient and a pattern only the first is one of all samples.
    assert agreement(usage, patients) == pytest.approx(1 / 3, abs=1e-4)
    assert agreement(np.zeros((4, 2), dtype=bool), patients) is None
    assert agreement(np.ones((4, 2), dtype=bool), patients) == 1


def test_distinct_columns_are_those_of_the_dense_matrix():
    X = np.random.default_rng(0).random((5, 200)) < 0.3
    assert count_distinct(sp.csr_array(X)) == len(np.unique(X, axis=1).T)


def test_the_page_has_the_figures_of_the_row(row, tmp_path):
    page = GENOME.write([row], tmp_path)
    assert (tmp_path / "genome.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / "genome.csv")
    assert table["columns"].tolist() == [row["columns"]]
    assert table["shared mean"].iloc[0] == pytest.approx(np.mean(row["shared_sizes"]), abs=0.1)
    assert table["R sd"].iloc[0] == pytest.approx(np.std(row["altered_sizes"]["R"]), abs=0.1)
    programs = pd.read_csv(tmp_path / "genome_programs.csv")
    assert programs["back"].tolist() == [program["back"] for program in row["programs"]]
    relapse = programs[programs["classes"] == "R"]
    recall, precision = (relapse["back"].sum() / relapse[of].sum() for of in ("loci", "reported"))
    assert table["recall R"].iloc[0] == pytest.approx(recall, abs=1e-4)
    assert table["precision R"].iloc[0] == pytest.approx(precision, abs=1e-4)
    assert page.startswith("# Genomes\n")
    for text in (
        "are not public",
        f"{row['columns']:,} columns",
        "0.072 % of a genome",
        f"finds {row['patterns']} patterns, of which {row['one_patient']} are used",
        f"{relapse['back'].sum():,} came back (recall {recall:.3f})",
        f"{100 * precision:.2f} % had been planted",
        "10.7k ± 96.0k",
        f"has {np.mean(row['shared_sizes']):,.0f} columns on average.\nThese are columns of a part of the genome",
        f"{np.mean(row['shared_sizes']) / 1000:.1f}k ± {np.std(row['shared_sizes']) / 1000:.1f}k",
        "saltmine 1.0 (commit abc)",
        "](genome.png)",
    ):
        assert text in page


def test_the_page_has_a_column_per_cohort_of_the_largest_genomes(row, tmp_path):
    cohorts = [{**row, "total_bp": 2.79e9, "seed": seed} for seed in (5003, 5001)]
    page = GENOME.write([row, *cohorts], tmp_path)
    assert pd.read_csv(tmp_path / "genome.csv")["seed"].tolist() == [5001, 5003]
    assert "2 cohorts, seeds 5001 and 5003" in page
    assert "whole genomes" in page
    assert f"{np.mean(row['shared_sizes']) / 10_700:.2g} times as many as in the paper" in page
    assert "cohort 11 " not in page


def a_usage(*samples):
    return "".join("1" if sample in samples else "0" for sample in range(56))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"usage": ["1" * 56]}, "in 100.0 % of the cases.\nUsage is nearly the same in each class, as in the paper"),
        # The first patient has it in all samples, the second in normal tissue only.
        (
            {"usage": [a_usage(0, 1, 18, 36)]},
            "in 50.0 % of the cases.\nUsage is not nearly the same in each class, unlike in the paper",
        ),
        ({"usage": [a_usage(0, 18, 36)]}, "No pattern of several patients is used in all three classes"),
        ({"one_class": 0}, "As in the paper, no pattern is used in one class only."),
        ({"one_class": 4}, "4 patterns are used in one class only.\nThe paper has none"),
        ({"altered_sizes": {"N": [1], "T": [2], "R": [30]}}, "the largest in relapse (30); as in the paper."),
        ({"altered_sizes": {"N": [0], "T": [0], "R": [0]}}, "There are no alterations."),
        ({"altered_sizes": {"N": [1], "T": [2], "R": [0]}}, "in primary tumour (2); in the paper, in relapse (3,800)."),
    ],
)
def test_sentences_follow_the_figures(row, tmp_path, monkeypatch, changed, sentence):
    monkeypatch.setattr(genome_page, "draw", lambda rows, path: None)
    one = {name: row[name] for name in row} | {"usage": ["1" * 56], "shared_sizes": [10]}
    one["altered_sizes"] = {"N": [5], "T": [0], "R": [0]}
    assert sentence in GENOME.write([{**one, **changed}], tmp_path)


def test_a_model_without_patterns_can_be_shown(row, tmp_path):
    nothing = {"patterns": 0, "usage": [], "shared_sizes": [], "altered_sizes": {"N": [], "T": [], "R": []}}
    none = [{**program, "back": 0, "reported": 0} for program in row["programs"]]
    page = GENOME.write([{**row, **nothing, "agreement": None, "one_class": 0, "programs": none}], tmp_path)
    assert "0 came back (recall 0.000)" in page
    assert (tmp_path / "genome.png").exists()


def test_patterns_of_one_patient_are_left_out_and_the_rest_is_sorted_by_classes(row):
    normal, everywhere, own = "1" * 18 + "0" * 38, "1" * 56, "1" + "0" * 17 + "1" + "0" * 37
    assert shared_patterns({**row, "usage": [normal, own, everywhere]}) == [2, 0]


def test_a_missing_library_for_figures_is_named(row, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        ImportError, match=r"The figure needs matplotlib; install it with: pip install 'saltmine\[report\]'"
    ):
        GENOME.write([row], tmp_path)
