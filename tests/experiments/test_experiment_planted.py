"""The experiments on planted data: tasks, measures, tables and sentences."""

import json

import numpy as np
import pandas as pd
import pytest

import saltmine
from experiments import find
from experiments.planted import SERIES, measure, plant, ranks_told, tasks_of
from experiments.planted_page import standing, summarise, verdict
from experiments.store import Store
from saltmine.datasets import C3, C4
from saltmine.metrics import class_rank
from tests.experiments.stored_runs import invented


@pytest.mark.parametrize("name", list(SERIES))
def test_every_point_has_two_matrices_of_each_shape_and_all_methods(name):
    series = SERIES[name]
    runs = pd.DataFrame(tasks_of(series, quick=False))
    assert not runs.duplicated().any()
    sizes = runs.groupby(["classes", series.varied, "method"]).size()
    assert (sizes == 8).all()
    shapes = runs.groupby(["classes", series.varied, "method", "columns", "rows"]).size()
    assert (shapes == 2).all()
    assert len(sizes) == len(series.classes) * len(series.points) * len(series.methods)
    assert runs["seed"].min() >= 5000


@pytest.mark.parametrize("name", list(SERIES))
def test_quick_runs_are_some_of_the_full_ones(name):
    full, quick = (find(name).tasks(short) for short in (False, True))
    assert 0 < len(quick) < len(full) / 2
    assert all(task in full for task in quick)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("rank", [24, 45])
def test_dbssl_is_told_what_was_planted(classes, rank):
    """Patterns of all classes, and for each class its other patterns and the alterations of those it shares."""
    membership = {2: saltmine.datasets.C2, 3: C3, 4: C4}[classes]
    uses = np.tile(membership, -(-rank // membership.shape[1]))[:, :rank]
    r0, *own = ranks_told("dbssl-shared", rank, classes)["ranks"]
    assert r0 == sum(all(column) for column in uses.T)
    for a, count in enumerate(own):
        patterns = [s for s in range(rank) if uses[a, s] and not uses[:, s].all()]
        alterations = [s for s in range(rank) if uses[a, s] and uses[:, s].sum() > 1]
        assert count == len(patterns) + len(alterations)
    assert ranks_told("dbssl-own", rank, classes)["ranks"] == (0, *[rank] * classes)


def test_mdl_dbssl_is_told_the_constellations_of_the_paper():
    found = ranks_told("mdldbssl", 24, 2)["constellations"]
    assert sorted(found) == sorted((8 + step, 8 * k, 8 * k) for step in (-5, 0, 5) for k in (1, 2, 4))
    assert min(ranks_told("mdldbssl", 6, 2)["constellations"])[0] == 0


@pytest.mark.parametrize(("share", "sizes"), [(0.05, [40, 760]), (0.5, [400, 400])])
def test_the_first_class_has_its_share_of_the_rows(share, sizes):
    task = {"classes": 2, "share": share, "rank": 6, "noise": 0.1, "columns": 1000, "rows": 800, "seed": 1}
    assert np.bincount(plant(task).y).tolist() == sizes


@pytest.mark.parametrize("method", ["csalt", "primp", "dbssl-own", "mdldbssl"])
def test_a_run_says_how_near_the_method_came(method):
    task = {
        "method": method,
        "classes": 2,
        "share": 0.5,
        "rank": 3,
        "noise": 0.0,
        "columns": 200,
        "rows": 240,
        "seed": 4,
    }
    found = measure(task)
    assert set(found) == set(invented(task))
    assert 0.5 < found["F"] <= 1
    assert found["planted r"] == class_rank(plant(task)).mean()
    json.dumps(found, allow_nan=False)


def rows_of(series, value):
    """Runs whose figures a function of the task gives."""
    code = {"version": "1", "commit": "abc"}
    return [{**task, **invented(task), **value(task), **code} for task in tasks_of(series, quick=False)]


def test_the_verdict_says_where_the_baseline_is_better():
    series = SERIES["imbalance"]

    def value(task):
        ours = task["method"] == "csalt"
        return {"F": 0.9 if ours else 0.8, "rec_V": 0.9 if ours or task["share"] > 0.05 else 0.95}

    runs = pd.DataFrame(rows_of(series, value))
    text = verdict(series, runs, "dbssl-own")
    assert text == (
        "C-Salt against **Dbssl, classes only**:\n\n"
        "- F: C-Salt is above at 6 of 6 points.\n"
        "- rec_V: C-Salt is above at 0 of 6 points, level at 5, below at 1:\n"
        "  - 5 %: 0.900 against 0.950\n"
        "- pre_V: 0.70 against 0.70."
    )


def test_methods_are_compared_on_the_matrices_that_both_were_run_on():
    series = SERIES["noise"]
    rows = rows_of(series, lambda task: {"F": 0.1 * (task["seed"] - 5000)})
    kept = [row for row in rows if row["method"] == "csalt" or row["seed"] < 5004]
    found = standing(series, pd.DataFrame(kept), "paper", "F")
    assert (found.above, found.level, len(found.below)) == (0, len(series.points), 0)


def test_a_page_of_what_there_is_so_far(tmp_path):
    """Without a run of C-Salt nothing is compared; shapes and numbers are those of the runs."""
    store = Store(tmp_path, "noise")
    for task in find("noise").tasks(True)[1:3]:
        store.add(task, invented(task) | {"rec_V": None, "pre_V": None})
    page = find("noise").write(store.rows, tmp_path)
    assert "2 fits" in page
    assert "of 500 x 1600 columns x rows" in page
    assert "C-Salt against" not in page
    assert "nan" not in page


def test_the_table_has_means_and_deviations_over_the_matrices():
    series = SERIES["noise"]
    rows = rows_of(series, lambda task: {"F": 0.5 + 0.1 * (task["seed"] % 2), "rec_V": float("nan")})
    table = summarise(series, pd.DataFrame(rows))
    assert np.allclose(table["F"], 0.55)
    assert np.allclose(table["F sd"], 0.05)
    assert table["rec_V"].isna().all()
    assert (table["matrices"] == 8).all()
