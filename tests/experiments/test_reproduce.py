"""The experiments: what is run, what is kept, what is made of it, and the command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import saltmine
from saltmine.datasets import C3, C4
from saltmine.experiments import EXPERIMENTS, find
from saltmine.experiments.experiment import Experiment, LeftOut
from saltmine.experiments.planted import CURVES, SERIES, measure, plant, ranks_told, tasks_of
from saltmine.experiments.planted_page import standing, summarise, verdict
from saltmine.experiments.running import Forecast, run_all
from saltmine.experiments.store import Store, StoreError, commit, put_aside
from saltmine.metrics import class_rank
from tests.helpers.command_line import run
from tests.helpers.paths import ROOT


def invented(task, quality=0.9):
    """A run as `measure` returns it, with figures that nobody measured."""
    return {
        "F": quality,
        "rec_V": quality - 0.1,
        "pre_V": quality - 0.2,
        "r": 15.0,
        "planted r": 16.0,
        "patterns": 24,
        "f/f*": 1.0,
        "seconds": 0.1,
    }


def fill(folder, name, quick=True, but=lambda task: False, quality=0.9):
    """Store invented runs of all tasks but some; return those."""
    folder.mkdir(parents=True, exist_ok=True)
    store, left = Store(folder, name), []
    for task in find(name).tasks(quick):
        if but(task):
            left.append(task)
        else:
            store.add(task, invented(task, quality))
    return left


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
        "columns": 100,
        "rows": 120,
        "seed": 4,
    }
    found = measure(task)
    assert set(found) == set(invented(task))
    assert 0.5 < found["F"] <= 1
    assert found["planted r"] == class_rank(plant(task)).mean()
    json.dumps(found, allow_nan=False)


def test_runs_are_kept_line_by_line(tmp_path):
    store = Store(tmp_path, "noise")
    tasks = [{"method": "csalt", "seed": seed} for seed in range(3)]
    store.add(tasks[0], {"F": 0.5})
    store.add(tasks[2], {"F": 0.25})
    again = Store(tmp_path, "noise")
    assert [row["F"] for row in again.rows] == [0.5, 0.25]
    assert again.missing(tasks) == [tasks[1]]
    assert again.rows[0]["version"] == saltmine.__version__
    assert again.rows[0]["commit"] == commit()


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_line_that_was_not_finished_is_measured_again(tmp_path, cut):
    store = Store(tmp_path, "noise")
    store.add({"method": "csalt", "seed": 1}, {"F": 0.5})
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole[:cut])
    again = Store(tmp_path, "noise")
    assert len(again.rows) == 1
    again.add({"method": "csalt", "seed": 2}, {"F": 0.75})
    assert [row["F"] for row in Store(tmp_path, "noise").rows] == [0.5, 0.75]


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "runs.jsonl").write_text('{"F": 1}\n{"F": 2}\n')
    with pytest.raises(StoreError, match=r"Line 1 of .*runs.jsonl is no run; mend or remove it"):
        Store(tmp_path, "noise")
    put_aside(tmp_path)
    assert (tmp_path / "runs.jsonl.old").read_text().startswith('{"F": 1}')
    Store(tmp_path, "rank").add({"method": "csalt"}, {"F": 1.0})
    with pytest.raises(StoreError, match=r"holds runs of 'rank'; choose another folder \(-o\)"):
        Store(tmp_path, "noise")
    Store(tmp_path, "rank").demand_this_version()
    text = (tmp_path / "runs.jsonl").read_text().replace(saltmine.__version__, "0.0.7")
    (tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(StoreError, match=r"holds runs of saltmine 0.0.7, and this is .*--force begins anew"):
        Store(tmp_path, "rank").demand_this_version()
    put_aside(tmp_path)
    assert (tmp_path / "runs.jsonl.old").read_text().startswith('{"F": 1}')
    assert (tmp_path / "runs.jsonl.old1").read_text() == text


def test_the_commit_is_that_of_the_code():
    root = Path(saltmine.__file__).parent
    call = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    if call.returncode or not (root.parents[2] / ".git").exists():
        pytest.skip("saltmine does not run from its repository here")
    assert call.stdout.startswith(commit().rstrip("+"))
    assert len(commit().rstrip("+")) >= 10


def _double(task, data):
    if task["x"] == 6:
        raise LeftOut("Six is left out.")
    if "absent" in task["method"]:
        raise ImportError("It needs a package that is not there.")
    return {"double": 2 * task["x"], "process": os.getpid()}


def _end_the_process(task, data):
    os._exit(3)


def an_experiment(measure=_double, parallel=True):
    return Experiment("double", "Doubles", lambda quick: [], measure, lambda rows, folder: "", parallel=parallel)


@pytest.mark.parametrize("parallel", [False, True])
def test_all_tasks_are_run_and_missing_packages_leave_a_method_out(parallel):
    tasks = [{"method": ("twice", "absent", "also absent")[x % 3], "x": x} for x in range(12)]
    said = []
    done = list(run_all(an_experiment(parallel=parallel), tasks, 2, None, said.append))
    found = [(one.task["x"], one.found["double"]) for one in done if one.found is not None]
    assert sorted(found) == [(x, 2 * x) for x in range(0, 12, 3) if x != 6]
    reason = "is left out: It needs a package that is not there."
    assert sorted(said) == ["Six is left out.", f"absent {reason}", f"also absent {reason}"]
    processes = {one.found["process"] for one in done if one.found is not None}
    assert (os.getpid() in processes) is not parallel
    assert all(one.seconds >= 0 for one in done)


def test_the_forecast_goes_by_the_method():
    tasks = [{"method": "slow"}] * 3 + [{"method": "fast"}] * 3
    forecast = Forecast(tasks, jobs=2)
    forecast.ended(tasks[0], 10.0)
    forecast.ended(tasks[3], 2.0)
    assert forecast.seconds_left() == (2 * 10.0 + 2 * 2.0) / 2
    forecast.leave_out("slow")
    forecast.ended(tasks[0], None)
    assert forecast.seconds_left() == 2 * 2.0 / 2
    assert forecast.tasks_left() == 2


def rows_of(series, value):
    """Runs whose figures a function of the task gives."""
    code = {"version": "1", "commit": "abc"}
    return [{**task, **invented(task), **value(task), **code} for task in tasks_of(series, quick=False)]


def test_the_verdict_says_where_the_rival_is_better():
    series = SERIES["imbalance"]

    def value(task):
        ours = task["method"] == "csalt"
        return {"F": 0.9 if ours else 0.8, "rec_V": 0.9 if ours or task["share"] > 0.05 else 0.95}

    runs = pd.DataFrame(rows_of(series, value))
    text = verdict(series, runs, "dbssl-own")
    assert text.startswith(
        "**Dbssl[0, r*, r*]**: in F C-Salt is above at 6 of 6 points; in rec_V it is above at 0 of 6"
    )
    assert "level at 5, below at 5 % (0.900 against 0.950). pre_V is 0.70 against 0.70." in text


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
    assert "**Primp**" not in page
    assert "nan" not in page


def test_the_table_has_means_and_deviations_over_the_matrices():
    series = SERIES["noise"]
    rows = rows_of(series, lambda task: {"F": 0.5 + 0.1 * (task["seed"] % 2), "rec_V": float("nan")})
    table = summarise(series, pd.DataFrame(rows))
    assert np.allclose(table["F"], 0.55)
    assert np.allclose(table["F sd"], 0.05)
    assert table["rec_V"].isna().all()
    assert (table["matrices"] == 8).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SERIES))
def test_figure_table_and_page_come_from_the_runs_alone(name, tmp_path):
    fill(tmp_path, name, quick=False)
    result = run("reproduce", name, "-o", tmp_path, "--plot-only")
    assert result.exit_code == 0, result.output
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / f"{name}.csv")
    series = SERIES[name]
    assert len(table) == len(series.classes) * len(series.points) * len(series.methods)
    page = (tmp_path / f"{name}.md").read_text()
    assert page in result.output
    assert f"![{series.title}" in page
    assert all(CURVES[method][0] in page for method in series.methods)
    assert "0.900 / 0.800 / 0.700 / 15.0" in page
    assert saltmine.__version__ in page


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(tmp_path):
    """Two runs are missing: they are made, in other processes, and the others are left as they are."""
    fill(tmp_path, "noise", but=lambda task: task["method"] == "csalt" and task["noise"] == 0.0 and task["seed"] > 5001)
    before = (tmp_path / "runs.jsonl").read_text()
    result = run("reproduce", "noise", "--quick", "--jobs", 2, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "58 of 60 runs are there already." in result.output
    after = (tmp_path / "runs.jsonl").read_text()
    assert after.startswith(before)
    made = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert sorted(row["seed"] for row in made) == [5002, 5003]
    assert all(row["F"] > 0.95 for row in made)
    assert "Results in" in result.output


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
def test_an_interrupted_command_keeps_what_is_done(tmp_path):
    """The runs that are missing take half a minute each; Ctrl-C ends them at once."""
    left = fill(tmp_path, "noise", but=lambda task: task["method"] == "paper")
    command = [sys.executable, "-m", "saltmine", "reproduce", "noise", "--quick", "--jobs", "2", "-o", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = process.stderr.readline()
    assert "48 of 60 runs are there already." in seen
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1, stderr
    assert stdout == ""
    assert "of 60 runs are saved in" in " ".join(stderr.split())
    assert "and the same command goes on" in " ".join(stderr.split())
    assert "Traceback" not in stderr
    assert len(left) - 2 <= len(Store(tmp_path, "noise").missing(left)) <= len(left)
    assert not (tmp_path / "noise.png").exists()


@pytest.mark.slow
def test_a_process_that_dies_costs_one_line(tmp_path, monkeypatch):
    from saltmine.cli import reproduce

    tasks = [{"method": "a", "x": 1}]
    dying = Experiment("noise", "Noise", lambda quick: tasks, _end_the_process, lambda rows, folder: "")
    monkeypatch.setattr(reproduce, "find", lambda name: dying)
    result = run("reproduce", "noise", "--jobs", 2, "-o", tmp_path, "-q")
    assert result.exit_code == 1
    assert "There was not enough memory, or a process was ended; what is done is saved in" in result.output


def test_mistakes_get_one_line(tmp_path):
    assert run("reproduce", "nonsense").exit_code == 2
    empty = run("reproduce", "noise", "--plot-only", "-o", tmp_path / "none")
    assert empty.exit_code == 2
    assert "holds no runs of 'noise'; run it without --plot-only first." in empty.output
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    assert "is a file; name a folder" in run("reproduce", "noise", "-o", tmp_path / "file").output
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "noise.csv").write_text("my,own\n")
    refused = run("reproduce", "noise", "-o", tmp_path / "mine")
    assert refused.exit_code == 2
    assert "noise.csv is not of an earlier run; choose another folder, or --force replaces it." in refused.output
    assert (tmp_path / "mine" / "noise.csv").read_text() == "my,own\n"
    fill(tmp_path / "rank", "rank")
    other = run("reproduce", "noise", "-o", tmp_path / "rank")
    assert other.exit_code == 2
    assert "holds runs of 'rank'; choose another folder (-o)." in other.output


def test_all_goes_by_what_is_there(tmp_path):
    fill(tmp_path / "noise", "noise")
    fill(tmp_path / "rank", "rank")
    result = run("reproduce", "all", "--plot-only", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "noise" / "noise.png").exists()
    assert (tmp_path / "rank" / "rank.md").exists()
    assert not (tmp_path / "text").exists()
    nothing = run("reproduce", "all", "--plot-only", "-o", tmp_path / "none")
    assert nothing.exit_code == 2
    assert "holds no runs of 'noise'" in nothing.output


def test_data_that_is_not_there_is_missed_before_anything_is_run(tmp_path):
    result = run("reproduce", "all", "--data", tmp_path / "typo", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert f"{tmp_path / 'typo'} is not there; name the folder that has text/" in result.output
    assert not (tmp_path / "out").exists()


def test_two_commands_do_not_work_in_the_same_folder(tmp_path):
    fill(tmp_path, "noise", but=lambda task: task["method"] == "csalt")
    with Store(tmp_path, "noise").alone():
        refused = run("reproduce", "noise", "--quick", "-o", tmp_path)
    assert refused.exit_code == 2
    assert "Another command is at work in" in refused.output


def test_a_page_of_unfinished_runs_says_so(tmp_path):
    fill(tmp_path, "noise", but=lambda task: task["noise"] > 0.1)
    result = run("reproduce", "noise", "--plot-only", "-o", tmp_path)
    assert "**Unfinished**: 40 of 240 runs (60 with --quick) are there." in result.output
    fill(tmp_path / "all", "noise")
    assert "Unfinished" not in run("reproduce", "noise", "--plot-only", "-o", tmp_path / "all").output


def test_a_missing_simulator_is_missed_at_once(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "msprime", None)
    result = run("reproduce", "genome", "--quick", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "Simulated genomes need msprime; pip install 'saltmine[genome]'." in result.output
    assert not (tmp_path / "out").exists()


def test_force_begins_anew_and_keeps_the_old_runs(tmp_path, monkeypatch):
    from saltmine.cli import reproduce

    tasks = [{"method": "a", "x": 1}]
    double = Experiment("noise", "Noise", lambda quick: tasks, _double, lambda rows, folder: f"{len(rows)} runs")
    monkeypatch.setattr(reproduce, "find", lambda name: double)
    for _ in range(2):
        result = run("reproduce", "noise", "--jobs", 1, "-o", tmp_path, "--force")
        assert result.exit_code == 0, result.output
        assert "1 runs" in result.output
    assert len(Store(tmp_path, "noise").rows) == 1
    assert len((tmp_path / "runs.jsonl.old").read_text().splitlines()) == 1


@pytest.mark.slow
def test_the_page_of_all_experiments_is_made_from_stored_runs(tmp_path):
    script = ROOT / "benchmarks" / "results.py"
    fill(tmp_path / "runs" / "noise", "noise", quality=0.875)
    command = [sys.executable, script, tmp_path / "runs", "--docs", tmp_path / "docs"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "imbalance: no runs" in result.stdout
    page = (tmp_path / "docs" / "results.md").read_text()
    assert "level at 3" in page
    assert "](results/noise.png)" in page
    assert "## Noise" in page
    assert "0.875 / 0.775" in page
    assert (tmp_path / "docs" / "results" / "noise.png").exists()


@pytest.mark.parametrize("package", ["matplotlib", "wordcloud"])
def test_what_draws_the_figure_is_missed_before_anything_is_run(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    result = run("reproduce", "noise", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert f"The figures need {package}; install it with: pip install 'saltmine[report]'." in result.output
    assert not (tmp_path / "out").exists()


def test_all_experiments_can_be_found():
    assert list(EXPERIMENTS) == ["noise", "imbalance", "rank", "classes", "text", "genome"]
    for name in EXPERIMENTS:
        assert find(name).name == name
