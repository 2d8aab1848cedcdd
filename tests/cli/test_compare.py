"""Methods side by side: the table, the figure and the command."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt, Primp, compare, load
from saltmine.comparison import draw, figures
from saltmine.datasets import make_planted
from saltmine.metrics import f_measure, residual
from tests.helpers.command_line import run

QUICK = ["csalt", "primp", "asso"]


@pytest.fixture(scope="module")
def planted():
    return make_planted(60, [50, 50], rank=3, noise=0.02, random_state=2)


@pytest.fixture(scope="module")
def compared(planted):
    return compare(planted.X, planted.y, QUICK, truth=planted)


def test_the_table_has_a_row_per_method_with_the_figures_of_its_model(planted, compared):
    table = compared.table.set_index("method")
    assert table.index.tolist() == QUICK
    for name, model in compared.models.items():
        row = table.loc[name]
        assert row["description_length"] == model.description_length_
        assert row["rss"] == residual(model, planted.X, planted.y)
        assert row["shared"] + row["mostly"] + row["only"] == row["patterns"] == model.n_components_
        assert row["added"] <= row["patterns"]
        assert row["f_measure"] == f_measure(planted, model)
        assert row["seconds"] > 0
    assert table.loc["csalt", "of_null"] == pytest.approx(
        compared.models["csalt"].description_length_ / compared.models["csalt"].null_description_length_
    )


def test_sizes_and_kinds_are_counted_by_hand():
    X = np.zeros((8, 10), dtype=bool)
    X[:4, :3] = True  # both classes
    X[2:4, 3:5] = True  # the second class adds two items
    X[4:6, 5:9] = True  # the second class only
    y = [0, 0, 1, 1, 1, 1, 0, 0]
    X, y = np.repeat(X, 10, axis=0), np.repeat(y, 10)
    # All rows have as many items, so that sizes say nothing about classes.
    more, rng = np.zeros((80, 60), dtype=bool), np.random.default_rng(0)
    for row, size in zip(more, X.sum(axis=1), strict=True):
        row[rng.choice(60, 6 - size, replace=False)] = True
    model = CSalt(random_state=0).fit(np.concatenate([X, more], axis=1), y)
    found = figures(model)
    counts = [found[column] for column in ("patterns", "shared", "mostly", "only", "added")]
    assert counts == [2, 1, 0, 1, 1]
    # 3 items in one class and 5 in the other, and 4.
    assert found["items"] == pytest.approx((4 + 4) / 2)
    assert found["rows"] == pytest.approx((40 + 20) / 2)
    assert found["rss"] == more.sum()


def test_a_model_without_patterns_has_no_sizes():
    found = figures(Primp(random_state=0).fit(np.eye(6)))
    assert found["patterns"] == 0
    assert np.isnan(found["items"])
    assert found["of_null"] == 1


def test_results_are_told_one_by_one(planted):
    counts = []
    compare(planted.X, planted.y, ["asso", "primp"], on_result=lambda so_far: counts.append(len(so_far.rows)))
    assert counts == [1, 2]


def test_what_is_wrong_with_the_data_is_said_once(planted):
    with pytest.raises(ValueError, match="Column 0 holds 2"):
        compare(planted.X.astype(int) * 2, planted.y, ["asso", "primp"])


def test_bad_arguments_are_named(planted):
    with pytest.raises(ValueError, match="compare needs y, the labels of the rows"):
        compare(planted.X, None)
    with pytest.raises(ValueError, match="n_restarts must be a whole number of at least 1, not 0"):
        compare(planted.X, planted.y, ["asso"], n_restarts=0)
    with pytest.raises(ValueError, match="ranks must be the number of shared patterns"):
        compare(planted.X, planted.y, ["asso"], ranks=2.5)


@pytest.mark.slow
def test_ranks_are_told_to_those_who_need_them(planted):
    found = compare(planted.X, planted.y, ["asso", "jsmf", "primp"], ranks=(1, 1, 1))
    assert found.models["asso"].rank == 3
    assert found.models["jsmf"].ranks == (1, 1, 1)
    assert found.models["primp"].max_rank is None


@pytest.mark.slow
def test_a_method_that_cannot_leaves_the_others():
    wide = np.random.default_rng(0).random((20, 60_000)) < 0.2
    found = compare(wide, [0, 1] * 10, ["asso", "primp"])
    assert found.table["method"].tolist() == ["primp"]
    assert "Asso compares all pairs of items" in found.failed["asso"]


def test_the_figure_has_a_panel_per_figure_and_a_bar_per_method(compared):
    figure = compared.plot()
    titles = [ax.get_title().split("\n")[0] for ax in figure.axes]
    assert titles[:3] == ["description length", "cells in error", "patterns"]
    assert "F-measure" in titles
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["C-Salt", "Primp", "Asso"]
    without_truth = compared.table.drop(columns=["f_measure", "alteration_recall", "rank_error"])
    assert len(draw(without_truth).axes) == len(figure.axes) - 2


# ---------------------------------------------------------------- the command


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "planted.npz"
    assert run("generate", path, "--rows", "50,50", "--columns", 60, "--patterns", 3, "--noise", 0.02).exit_code == 0
    return path


@pytest.mark.slow
def test_the_command_writes_table_figure_and_models(data, tmp_path):
    out = tmp_path / "out"
    result = run("compare", data, "--methods", "csalt,asso", "-o", out)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out / "comparison.csv")
    assert table["method"].tolist() == ["csalt", "asso"]
    assert {"f_measure", "alteration_recall", "rank_error"} <= set(table.columns)
    lines = (out / "comparison.md").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| csalt ")
    assert (out / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert load(out / "asso.salt").n_components_ == table["patterns"][1]
    assert run("report", out / "asso.salt", "-o", tmp_path / "asso.html").exit_code == 0
    scored = run("score", out / "csalt.salt", data, "--json")
    assert json.loads(scored.stdout)["f_measure"] == pytest.approx(table["f_measure"][0])
    for word in ("method", "nats", "shared", "mostly", "only", "added", "seconds", "csalt", "asso"):
        assert word in result.stdout


@pytest.mark.slow
def test_tables_of_text_and_numbers_are_prepared_as_fit_does(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"class": ["a", "b"] * 40, "colour": rng.choice(["red", "blue"], 80), "age": rng.random(80)})
    frame = frame.assign(shade=frame["colour"], tint=frame["colour"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    result = run(
        "compare", tmp_path / "people.csv", "--target", "class", "--methods", "primp", "--json", "-o", tmp_path
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["methods"][0]["method"] == "primp"
    assert told["methods"][0]["patterns"] > 0
    assert told["failed"] == {}
    prepared = load(tmp_path / "primp.salt").preparation_
    assert "colour=red" in prepared.item_names_.tolist()


@pytest.mark.slow
def test_a_second_comparison_leaves_nothing_of_the_first(data, tmp_path):
    assert run("compare", data, "--methods", "asso,primp", "-o", tmp_path / "out", "-q").exit_code == 0
    assert run("compare", data, "--methods", "asso", "-o", tmp_path / "out", "-q").exit_code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"comparison.csv", "comparison.md", "comparison.png", "asso.salt"}


@pytest.mark.slow
def test_files_of_somebody_else_are_not_replaced(data, tmp_path):
    (tmp_path / "comparison.csv").write_text("x")
    result = run("compare", data, "--methods", "asso", "-o", tmp_path)
    assert result.exit_code == 2
    assert "is not of an earlier run; choose another folder, or --force replaces it." in " ".join(result.output.split())
    assert (tmp_path / "comparison.csv").read_text() == "x"
    assert run("compare", data, "--methods", "asso", "-o", tmp_path, "--force", "-q").exit_code == 0


def test_a_comparison_shows_itself_as_a_table(compared):
    assert "of_null" in repr(compared)
    assert "<table" in compared._repr_html_()


def test_without_matplotlib_there_is_no_figure_and_a_failed_method_is_told(data, tmp_path, monkeypatch):
    # As where the extras are not installed.
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "mlxtend.frequent_patterns.fpmax", None)
    result = run("compare", data, "--methods", "asso,dbssl", "-o", tmp_path / "out", "-q")
    assert result.exit_code == 0
    assert "dbssl is left out: Candidates from frequent item sets need mlxtend" in result.stderr
    assert "The figure needs the library matplotlib" in result.stderr
    assert "comparison.png" not in result.stdout
    assert not (tmp_path / "out" / "comparison.png").exists()
    told = run("compare", data, "--methods", "asso,dbssl", "-o", tmp_path / "out", "-q", "--json")
    assert list(json.loads(told.stdout)["failed"]) == ["dbssl"]


@pytest.mark.slow
def test_models_of_a_comparison_know_how_their_data_was_read(tmp_path):
    frame = pd.DataFrame({"name": [f"r{k}" for k in range(40)], "class": ["a", "b"] * 20})
    for item in "pqrs":
        frame[item] = np.random.default_rng(ord(item)).integers(0, 2, 40)
    frame.to_csv(tmp_path / "people.csv", index=False)
    reading = ["--target", "class", "--row-names", "name"]
    methods = ["--methods", "asso,diffnorm", "-o", tmp_path / "out", "-q"]
    assert run("compare", tmp_path / "people.csv", *reading, *methods).exit_code == 0
    for name in ("asso", "diffnorm"):
        result = run("transform", tmp_path / "out" / f"{name}.salt", tmp_path / "people.csv", "--target", "class")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[1].startswith("r0,a")
    assert run("predict", tmp_path / "out" / "diffnorm.salt", tmp_path / "people.csv").exit_code == 0
    result = run("predict", tmp_path / "out" / "asso.salt", tmp_path / "people.csv")
    assert result.exit_code == 2
    assert "was fitted without classes, so it cannot tell them apart; use transform." in result.output
    result = run("compare", tmp_path / "people.csv", "-o", tmp_path / "none")
    assert result.exit_code == 2
    assert "Name it with --target." in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "slim"], "There is no method 'slim'; choose among csalt"),
        (["--ranks", "²"], "'²' is not a list of numbers of patterns, as 8,4,4"),
        (["--ranks", "8,x"], "'8,x' is not a list of numbers of patterns, as 8,4,4"),
        (["--ranks", "1,2,3,4", "--methods", "dbssl"], "ranks has 4 entries, but 2 classes need 3"),
        (["--truth", "nothing.npz"], "nothing.npz cannot be read as planted data"),
        (["--target", "z"], "z"),
    ],
)
def test_mistakes_are_one_sentence(data, tmp_path, options, message):
    result = run("compare", data, *options, "-o", tmp_path / "out", "-q")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
def test_an_interrupted_comparison_keeps_what_is_done(tmp_path):
    data, out = tmp_path / "large.npz", tmp_path / "out"
    assert run("generate", data, "--rows", "1000,1000", "--columns", 800, "--patterns", 24).exit_code == 0
    command = [sys.executable, "-m", "saltmine", "compare", str(data), "--methods", "asso,paper", "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # A bar that is no terminal's is written when it is full; the published algorithm takes seconds more.
    deadline = time.monotonic() + 120
    seen = ""
    while "Asso" not in seen and time.monotonic() < deadline:
        seen += os.read(process.stderr.fileno(), 4096).decode()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Interrupted; 1 of 2 methods were done, and these were written." in " ".join((seen + rest).split())
    assert pd.read_csv(out / "comparison.csv")["method"].tolist() == ["asso"]


@pytest.mark.slow
def test_fit_takes_every_method_and_refuses_options_of_others(data, tmp_path):
    result = run("fit", data, "--method", "asso", "--tau", 0.5, "-o", tmp_path / "asso", "-q")
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "asso" / "model.salt").tau == 0.5
    result = run("fit", data, "--method", "inmf", "--ranks", 3, "-o", tmp_path / "inmf", "-q")
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "inmf" / "model.salt").ranks == 3
    result = run("fit", data, "--method", "asso", "--ranks", 2, "-o", tmp_path / "two", "-q")
    assert load(tmp_path / "two" / "model.salt").rank == 2
    result = run("fit", data, "--method", "asso", "--alpha", 0.1, "-o", tmp_path / "no")
    assert result.exit_code == 2
    assert "--alpha is not for asso but for csalt, paper, primp; leave it out." in " ".join(result.output.split())
    result = run("fit", data, "--tau", 0.5, "-o", tmp_path / "no")
    assert result.exit_code == 2
    assert "--tau is not for csalt but for asso, dbssl, mdldbssl; leave it out." in " ".join(result.output.split())


@pytest.mark.parametrize("method", ["csalt", "primp"])
def test_fit_takes_a_device_for_the_algorithm_of_the_paper_only(data, tmp_path, method):
    result = run("fit", data, "--method", method, "--device", "cuda", "-o", tmp_path / "no")
    assert result.exit_code == 2
    assert "--device is for --algorithm paper only" in " ".join(result.output.split())


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--algorithm", "paper"), ("--method", "paper")], ids=str)
def test_fit_opens_the_device_that_is_named(data, tmp_path, options):
    pytest.importorskip("torch", reason="torch is not installed (saltmine[gpu])")
    result = run("fit", data, *options, "--device", "gpu", "-o", tmp_path / "no")
    assert result.exit_code == 2
    assert "device must be one of torch" in result.output
    result = run("fit", data, *options, "--device", "cpu", "-o", tmp_path / "out", "-q")
    assert result.exit_code == 0, result.output
