"""The command that runs experiments, and what it makes of stored runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import saltmine
from experiments import EXPERIMENTS, command, find, genome_page, planted_page, results_page, text_clouds
from experiments.experiment import Experiment
from experiments.planted import CURVES, SERIES
from experiments.results_page import DOCS, PAGE, write_page
from experiments.store import Store
from tests.experiments.stored_runs import double, fill

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return CliRunner().invoke(command.cli, [str(argument) for argument in arguments])


def _end_the_process(task, data):
    os._exit(3)


@pytest.mark.parametrize("name", list(SERIES))
def test_figure_table_and_page_come_from_the_runs_alone(name, tmp_path):
    fill(tmp_path, name, quick=False)
    result = run(name, "-o", tmp_path, "--plot-only")
    assert result.exit_code == 0, result.output
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / f"{name}.csv")
    series = SERIES[name]
    assert len(table) == len(series.classes) * len(series.points) * len(series.methods)
    page = (tmp_path / f"{name}.md").read_text()
    assert page in result.output
    assert f"![{series.title}" in page
    assert all(CURVES[method][0] in page for method in series.methods)
    assert "0.900 / 0.800" in page
    assert "0.700 / 15.0" in page
    assert saltmine.__version__ in page


def test_the_command_goes_on_where_it_stopped(tmp_path):
    """Two runs are missing: they are made, in other processes, and the others are left as they are."""
    fill(tmp_path, "noise", but=lambda task: task["method"] == "csalt" and task["noise"] == 0.0 and task["seed"] > 5001)
    before = (tmp_path / "runs.jsonl").read_text()
    result = run("noise", "--quick", "--jobs", 2, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "58 of 60 runs are there already." in result.output
    after = (tmp_path / "runs.jsonl").read_text()
    assert after.startswith(before)
    made = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert sorted(row["seed"] for row in made) == [5002, 5003]
    assert all(row["F"] > 0.95 for row in made)
    assert "Results in" in result.output


def test_an_interrupted_command_keeps_what_is_done(tmp_path):
    """The runs that are missing take half a minute each; Ctrl-C ends them at once."""
    left = fill(tmp_path, "noise", but=lambda task: task["method"] == "paper")
    arguments = [sys.executable, "-m", "experiments", "noise", "--quick", "--jobs", "2", "-o", str(tmp_path)]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
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


def test_a_process_that_dies_costs_one_line(tmp_path, monkeypatch):
    tasks = [{"method": "a", "x": 1}]
    dying = Experiment("noise", "Noise", lambda quick: tasks, _end_the_process, lambda rows, folder: "")
    monkeypatch.setattr(command, "find", lambda name: dying)
    result = run("noise", "--jobs", 2, "-o", tmp_path, "-q")
    assert result.exit_code == 1
    assert "There was not enough memory, or a process was ended; what is done is saved in" in result.output


def test_the_commands_are_the_experiments_in_the_order_of_the_paper():
    assert list(command.cli.commands) == list(command.SUMMARIES) == [*EXPERIMENTS, "all"]
    listed = run("--help").output
    assert all(f"  {name} " in listed for name in EXPERIMENTS)


def test_an_error_of_the_program_costs_one_line_that_says_how_to_see_more(tmp_path, monkeypatch):
    def lost(task, data):
        raise RuntimeError("the task lost its way")

    tasks = [{"method": "a", "x": 1}]
    experiment = Experiment("noise", "Noise", lambda quick: tasks, lost, lambda rows, folder: "")
    monkeypatch.setattr(command, "find", lambda name: experiment)
    result = run("noise", "--jobs", 1, "-o", tmp_path, "-q")
    assert result.exit_code == 1
    assert "(RuntimeError: the task lost its way); 'python -m experiments --debug ...' shows where." in result.output
    assert "Traceback" not in result.output
    assert "Traceback" in run("--debug", "noise", "--jobs", 1, "-o", tmp_path, "-q").output


def test_mistakes_get_one_line(tmp_path):
    assert run("nonsense").exit_code == 2
    empty = run("noise", "--plot-only", "-o", tmp_path / "none")
    assert empty.exit_code == 2
    assert "holds no runs of 'noise'; run it without --plot-only first." in empty.output
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    assert "is a file; name a folder" in run("noise", "-o", tmp_path / "file").output
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "noise.csv").write_text("my,own\n")
    refused = run("noise", "-o", tmp_path / "mine")
    assert refused.exit_code == 2
    assert "noise.csv is not of an earlier run; choose another folder, or --force replaces it." in refused.output
    assert (tmp_path / "mine" / "noise.csv").read_text() == "my,own\n"
    fill(tmp_path / "rank", "rank")
    other = run("noise", "-o", tmp_path / "rank")
    assert other.exit_code == 2
    assert "holds runs of 'rank'; choose another folder (-o)." in other.output


def test_all_goes_by_what_is_there(tmp_path):
    fill(tmp_path / "noise", "noise")
    fill(tmp_path / "rank", "rank")
    result = run("all", "--plot-only", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "noise" / "noise.png").exists()
    assert (tmp_path / "rank" / "rank.md").exists()
    assert not (tmp_path / "text").exists()
    nothing = run("all", "--plot-only", "-o", tmp_path / "none")
    assert nothing.exit_code == 2
    assert "holds no runs of 'noise'" in nothing.output


def test_data_that_is_not_there_is_missed_before_anything_is_run(tmp_path):
    result = run("all", "--data", tmp_path / "typo", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert f"{tmp_path / 'typo'} is not there; name the folder that has text/" in result.output
    assert not (tmp_path / "out").exists()


def test_two_commands_do_not_work_in_the_same_folder(tmp_path):
    fill(tmp_path, "noise", but=lambda task: task["method"] == "csalt")
    with Store(tmp_path, "noise").lock():
        refused = run("noise", "--quick", "-o", tmp_path)
    assert refused.exit_code == 2
    assert "Another command is at work in" in refused.output


def test_a_page_of_unfinished_runs_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(planted_page, "draw", lambda *given: given[-1].touch())
    fill(tmp_path, "noise", but=lambda task: task["noise"] > 0.1)
    result = run("noise", "--plot-only", "-o", tmp_path)
    assert "**Unfinished**: 40 of 240 runs (60 with --quick) are there." in result.output
    fill(tmp_path / "all", "noise")
    assert "Unfinished" not in run("noise", "--plot-only", "-o", tmp_path / "all").output


def test_a_missing_simulator_is_missed_at_once(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "msprime", None)
    result = run("genome", "--quick", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "Simulated genomes need msprime; pip install 'saltmine[experiments]'." in result.output
    assert not (tmp_path / "out").exists()


def test_force_begins_anew_and_keeps_the_old_runs(tmp_path, monkeypatch):
    tasks = [{"method": "a", "x": 1}]
    experiment = Experiment("noise", "Noise", lambda quick: tasks, double, lambda rows, folder: f"{len(rows)} runs")
    monkeypatch.setattr(command, "find", lambda name: experiment)
    for _ in range(2):
        result = run("noise", "--jobs", 1, "-o", tmp_path, "--force")
        assert result.exit_code == 0, result.output
        assert "1 runs" in result.output
    assert len(Store(tmp_path, "noise").rows) == 1
    assert len((tmp_path / "runs.jsonl.old").read_text().splitlines()) == 1


def test_the_page_of_all_experiments_is_made_from_stored_runs(tmp_path, monkeypatch, capsys):
    fill(tmp_path / "runs" / "noise", "noise", quality=0.875)
    arguments = ["results_page", tmp_path / "runs", "--docs", tmp_path / "docs"]
    monkeypatch.setattr(sys, "argv", [str(argument) for argument in arguments])
    results_page.main()
    assert "imbalance: no runs" in capsys.readouterr().out
    page = (tmp_path / "docs" / PAGE).read_text()
    assert "level at 3" in page
    assert "](results/noise.png)" in page
    assert "## Noise" in page
    assert "0.875 / 0.775" in page
    assert (tmp_path / "docs" / "results" / "noise.png").exists()


@pytest.mark.slow
def test_the_page_in_the_docs_is_made_from_the_stored_runs(tmp_path, monkeypatch):
    # The tests of every experiment draw; here it is the text that counts.
    for module in (planted_page, text_clouds, genome_page):
        monkeypatch.setattr(module, "draw", lambda *given: given[-1].touch())
    # A copy: tables are written beside the runs.
    shutil.copytree(ROOT / "experiments" / "results", tmp_path / "runs")
    write_page(tmp_path / "runs", tmp_path / "docs")
    assert (tmp_path / "docs" / PAGE).read_text() == (DOCS / PAGE).read_text()


@pytest.mark.parametrize("package", ["matplotlib", "wordcloud"])
def test_what_draws_the_figure_is_missed_before_anything_is_run(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    result = run("noise", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert f"The figures need {package}; install it with: pip install 'saltmine[report]'." in result.output
    assert not (tmp_path / "out").exists()


def test_all_experiments_can_be_found():
    assert list(EXPERIMENTS) == ["noise", "imbalance", "rank", "classes", "text", "genome"]
    for name in EXPERIMENTS:
        assert find(name).name == name
