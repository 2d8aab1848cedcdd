"""The command line, run as a user runs it: real files, exit codes, what goes to which stream."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt, Prepare, load
from saltmine.cli.main import COMMANDS
from saltmine.datasets import make_planted
from saltmine.fitted.pattern_table import pattern_table
from saltmine.report.payload import payload
from tests.helpers.command_line import refused, run

FILES = {"model.salt", "patterns.csv", "differences.csv", "usage.csv", "summary.json", "report.html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table of people in two towns, and what is needed beside it."""
    folder = tmp_path_factory.mktemp("data")
    planted = make_planted(60, [80, 80], rank=3, noise=0.01, largest=True, random_state=4)
    frame = pd.DataFrame(planted.X.astype(int), columns=[f"item {i}" for i in range(60)])
    frame["colour"] = np.where(planted.X[:, 0], "red", "blue")
    frame["age"] = np.random.default_rng(0).integers(18, 90, 160)
    frame["town"] = np.array(["Mainz", "Trier"])[planted.y]
    frame["height"] = np.where(planted.X[:, 1], 1.5, 1.75)
    frame["name"] = [f"person {k}" for k in range(160)]
    frame.to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    out = folder / "out"
    result = run("fit", folder / "people.csv", "--target", "town", "--row-names", "name", "-o", out)
    assert result.exit_code == 0, result.output
    return out, result


def test_fit_writes_everything_and_prints_the_answer(fitted):
    out, result = fitted
    assert {path.name for path in out.iterdir()} == FILES
    assert "patterns" in result.stdout
    assert str(out / "report.html") in result.stdout.replace("\n", "")
    summary = json.loads((out / "summary.json").read_text())
    model = load(out / "model.salt")
    assert len(summary["patterns"]) == model.n_components_
    # The typical row is listed, and is no pattern.
    assert summary["n_patterns"] == np.count_nonzero(~model.typical_) > 0
    assert np.count_nonzero(model.typical_) == 1
    assert summary["classes"] == {"Mainz": 80, "Trier": 80}
    usage = pd.read_csv(out / "usage.csv")
    assert usage["row"].tolist() == [f"person {k}" for k in range(160)]
    np.testing.assert_array_equal(usage.filter(like="pattern_"), model.usage_)
    patterns = pd.read_csv(out / "patterns.csv")
    assert len(patterns) == len(model.patterns())
    assert set(patterns["item"]) <= set(model.preparation_.item_names_)
    assert "Mainz" in (out / "report.html").read_text()
    differences = pd.read_csv(out / "differences.csv")
    assert differences["item"].tolist() == model.differences()["item"].tolist()
    assert summary["differences"][0]["item"] == differences["item"][0]
    confirmed = int((differences["q_value"] <= 0.05).sum())
    assert confirmed > 1
    assert f"Single items that differ between the classes: {confirmed}." in " ".join(result.stdout.split())
    assert [finding["text"] for finding in summary["findings"]] == [f.text for f in model.summary().findings]
    assert summary["headline"] in " ".join(result.stdout.split())
    for finding in summary["findings"]:
        assert finding["text"] in " ".join(result.stdout.split())


@pytest.mark.slow
def test_fit_builds_table_and_page_data_once(folder, tmp_path):
    calls = Counter()

    def count(frame, event, _):
        if event == "call" and frame.f_code in (pattern_table.__code__, payload.__code__):
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        result = run("fit", folder / "people.csv", "--target", "town", "--ignore", "name", "-o", tmp_path / "out")
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    assert calls == {"pattern_table": 1, "payload": 1}


def test_help_lists_every_command_without_importing_what_they_need():
    heavy = {"numpy", "pandas", "scipy", "sklearn", "numba", "rich"}
    code = (
        "import sys; sys.argv = ['saltmine', '--help']; import atexit; "
        f"atexit.register(lambda: print(sorted({heavy} & set(sys.modules)))); "
        "import saltmine.cli; saltmine.cli.main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout


def test_the_model_is_the_one_python_finds(fitted, folder):
    model = load(fitted[0] / "model.salt")
    frame = pd.read_csv(folder / "people.csv")
    items = model.preparation_.transform(frame)
    again = CSalt(random_state=0).fit(items, frame["town"])
    np.testing.assert_array_equal(model.usage_, again.usage_)
    np.testing.assert_array_equal(model.components_, again.components_)


@pytest.mark.slow
def test_standard_output_has_the_result_alone(folder, tmp_path):
    result = run("fit", folder / "people.csv", "--target", "town", "--ignore", "name", "-o", tmp_path / "out", "--json")
    assert json.loads(result.stdout)["rows"] == 160
    assert "Reading" in result.stderr
    quiet = run(
        "fit", folder / "people.csv", "--target", "town", "--ignore", "name", "-o", tmp_path / "out", "--json", "-q"
    )
    assert quiet.stderr == ""
    assert json.loads(quiet.stdout)["n_patterns"] == json.loads(result.stdout)["n_patterns"]


def test_transform_and_predict_prepare_new_data_alike(fitted, folder, tmp_path):
    model = load(fitted[0] / "model.salt")
    new = pd.read_csv(folder / "people.csv").drop(columns="town").iloc[::-1]
    new.to_csv(tmp_path / "new.csv", index=False)
    classes = run("predict", fitted[0] / "model.salt", tmp_path / "new.csv", "--lengths")
    table = pd.read_csv(pd.io.common.StringIO(classes.stdout))
    items = model.preparation_.transform(new)
    assert table["class"].tolist() == model.predict(items.to_numpy()).tolist()
    assert table["row"].tolist() == new["name"].tolist()
    np.testing.assert_allclose(table[["nats_Mainz", "nats_Trier"]], model.code_lengths(items.to_numpy()), atol=1e-3)
    usage = run("transform", fitted[0] / "model.salt", tmp_path / "new.csv", "-o", tmp_path / "usage.csv")
    assert usage.exit_code == 0
    assert usage.stdout == ""
    np.testing.assert_array_equal(
        pd.read_csv(tmp_path / "usage.csv").filter(like="pattern_"), model.transform(items.to_numpy())
    )


@pytest.mark.slow
def test_classes_are_matched_whatever_type_a_file_gives_them(tmp_path):
    planted = make_planted(60, [40, 40], rank=2, noise=0.01, largest=True, random_state=1)
    for kind, (first, second) in {"float": (1.0, 2.0), "text": ("01", "02")}.items():
        frame = pd.DataFrame(planted.X.astype(int), columns=[f"i{k}" for k in range(60)])
        frame["class"] = np.where(planted.y == 0, first, second)
        frame.to_csv(tmp_path / f"{kind}.csv", index=False)
        run("fit", tmp_path / f"{kind}.csv", "--target", "class", "-o", tmp_path / kind)
        frame["class"] = planted.y + 1
        frame.to_csv(tmp_path / "whole.csv", index=False)
        result = run("predict", tmp_path / kind / "model.salt", tmp_path / "whole.csv", "--target", "class")
        assert result.exit_code == 0, result.stderr
        assert float(result.stderr.split("%")[0].split()[-1]) > 60


def test_scores_are_of_the_data_of_the_fit_only(fitted, folder, tmp_path):
    frame = pd.read_csv(folder / "people.csv")
    frame.iloc[::-1].to_csv(tmp_path / "turned.csv", index=False)
    assert "in another order" in refused("score", fitted[0] / "model.salt", tmp_path / "turned.csv", "--target", "town")
    assert "is not the data" in refused("score", fitted[0] / "model.salt", tmp_path / "turned.csv")


@pytest.mark.slow
def test_models_saved_in_python_work_with_their_preparation(folder, tmp_path):
    frame = pd.read_csv(folder / "people.csv")
    prepare = Prepare()
    items = prepare.fit_transform(frame.drop(columns=["town", "name"]))
    model = CSalt(random_state=0).fit(items, frame["town"])
    model.save(tmp_path / "bare.salt")
    line = refused("predict", tmp_path / "bare.salt", folder / "people.csv", "--target", "town")
    assert "lacks the item 'colour=blue'" in line
    model.preparation_ = prepare
    model.save(tmp_path / "model.salt")
    result = run("predict", tmp_path / "model.salt", folder / "people.csv", "--target", "town")
    assert result.exit_code == 0
    assert pd.read_csv(pd.io.common.StringIO(result.stdout))["class"].tolist() == model.predict(items).tolist()
    assert "feature names" not in result.stderr


def test_pipes_and_links_are_written_to_not_replaced(fitted, folder, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    run("transform", fitted[0] / "model.salt", folder / "people.csv", "-o", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("row,")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True)
    run("transform", fitted[0] / "model.salt", folder / "people.csv", "-o", tmp_path / "pipe")
    assert reader.communicate(timeout=60)[0].startswith("row,")


def test_new_rows_need_no_names(fitted, folder, tmp_path):
    new = pd.read_csv(folder / "people.csv").drop(columns=["town", "name"]).head(3)
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", fitted[0] / "model.salt", tmp_path / "new.csv")
    assert pd.read_csv(pd.io.common.StringIO(result.stdout))["row"].tolist() == [0, 1, 2]


def test_known_classes_decide_which_alterations_count(fitted, folder):
    model = load(fitted[0] / "model.salt")
    result = run("transform", fitted[0] / "model.salt", folder / "people.csv", "--target", "town", "--json")
    rows = pd.DataFrame(json.loads(result.stdout))
    frame = pd.read_csv(folder / "people.csv")
    items = model.preparation_.transform(frame).to_numpy()
    np.testing.assert_array_equal(rows.filter(like="pattern_"), model.transform(items, frame["town"]))
    accuracy = run("predict", fitted[0] / "model.salt", folder / "people.csv", "--target", "town")
    assert "of the rows are given their own class" in accuracy.stderr


def test_thresholds_are_for_tables(tmp_path):
    run("generate", tmp_path / "m.npz", "--rows", "30,30", "--columns", "40", "--patterns", "1")
    line = refused("fit", tmp_path / "m.npz", "--threshold", "age=1", "-o", tmp_path / "out")
    assert "--threshold, --bins, --cuts and --missing are for tables" in line


@pytest.mark.slow
def test_generate_fit_and_score_planted_data(tmp_path):
    made = run(
        "generate",
        tmp_path / "planted.csv",
        "--rows",
        "240,200",
        "--columns",
        "100",
        "--patterns",
        "3",
        "--noise",
        "0.01",
    )
    assert made.exit_code == 0, made.output
    for data, reading in (
        ("planted.truth.npz", []),
        ("planted.csv", ["--target", "class", "--truth", tmp_path / "planted.truth.npz"]),
    ):
        out = tmp_path / f"out-{data}"
        assert run("fit", tmp_path / data, *reading[:2], "-o", out).exit_code == 0
        result = run("score", out / "model.salt", tmp_path / data, *reading, "--json")
        figures = json.loads(result.stdout)
        assert figures["f_measure"] > 0.9
        assert figures["planted_class_rank"] == figures["class_rank"]
        assert figures["description_length"] < figures["null_description_length"]
    plain = run("score", out / "model.salt", tmp_path / "planted.csv", "--target", "class")
    assert "cells in error" in plain.stdout
    assert "f measure" not in plain.stdout


@pytest.mark.slow
def test_stability_is_in_the_table(folder, tmp_path):
    run(
        "fit",
        folder / "people.csv",
        "--target",
        "town",
        "--ignore",
        "name",
        "--stability",
        "2",
        "-o",
        tmp_path,
        "--force",
    )
    assert pd.read_csv(tmp_path / "patterns.csv")["stability"].between(0, 1).all()


@pytest.mark.slow
def test_thresholds_and_bins_reach_the_items(folder, tmp_path):
    people = folder / "people.csv"
    run("fit", people, "--target", "town", "--ignore", "name", "--threshold", "age=30,60", "-o", tmp_path)
    assert {"age<30", "30<=age<60", "age>=60"} <= set(load(tmp_path / "model.salt").preparation_.item_names_)
    run("fit", people, "--target", "town", "--ignore", "name", "--bins", "2", "-o", tmp_path)
    assert sum("age" in name for name in load(tmp_path / "model.salt").preparation_.item_names_) == 2


@pytest.mark.slow
def test_without_classes_primp_looks_for_patterns(folder, tmp_path):
    result = run(
        "fit", folder / "people.csv", "--method", "primp", "--ignore", "name", "--ignore", "town", "-o", tmp_path
    )
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "model.salt").n_components_ > 0
    assert "was fitted without classes, so it cannot" in refused(
        "predict", tmp_path / "model.salt", folder / "people.csv"
    )
    assert run("transform", tmp_path / "model.salt", folder / "people.csv").exit_code == 0


@pytest.mark.slow
def test_new_matrices_are_aligned_by_name(tmp_path):
    rng = np.random.default_rng(0)
    lines = [" ".join(f"i{k}" for k in np.flatnonzero(row)) for row in rng.random((120, 20)) < 0.3]
    lines[:40] = ["i0 i1 i2 i3 i4"] * 40
    (tmp_path / "old.dat").write_text("\n".join(lines) + "\n")
    (tmp_path / "labels.txt").write_text("a\nb\n" * 60)
    out = tmp_path / "out"
    assert run("fit", tmp_path / "old.dat", "--labels", tmp_path / "labels.txt", "-o", out).exit_code == 0
    (tmp_path / "new.dat").write_text("new i4 i3 i2 i1 i0\ni19\n")
    result = run("transform", out / "model.salt", tmp_path / "new.dat")
    assert "1 items that the model does not know are left out" in result.stderr
    usage = pd.read_csv(pd.io.common.StringIO(result.stdout)).filter(like="pattern_")
    assert usage.iloc[0].any()
    assert not usage.iloc[1].any()
    (tmp_path / "other.dat").write_text("x y\n")
    assert "lacks the item 'i0' (and 19 others) of the model" in refused(
        "transform", out / "model.salt", tmp_path / "other.dat"
    )


def test_report_writes_a_page_from_a_model(fitted, tmp_path):
    result = run("report", fitted[0] / "model.salt", "-o", tmp_path / "page.html", "--title", "Two <towns>")
    assert result.stdout.strip() == str(tmp_path / "page.html")
    assert "Two &lt;towns&gt;" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "command", ["fit", "transform", "predict", "report", "compare", "score", "generate", "demo", "completion"]
)
def test_every_command_has_help_with_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"  saltmine {command}" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell):
    assert "_SALTMINE_COMPLETE" in run("completion", shell).stdout


@pytest.mark.slow
def test_completion_knows_commands_and_options():
    environment = os.environ | {
        "_SALTMINE_COMPLETE": "bash_complete",
        "COMP_WORDS": "saltmine fit --tar",
        "COMP_CWORD": "2",
    }
    result = subprocess.run([sys.executable, "-m", "saltmine"], env=environment, capture_output=True, text=True)
    assert "--target" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv"], "There is no file"),
        (["people.csv"], "holds the classes, colour, town? Name it with --target"),
        (["people.csv", "--target", "twon"], "town"),
        (["people.csv", "--target", "town"], "'name' holds 160 different texts in 160 rows"),
        (["people.csv", "--target", "town", "--ignore", "nam"], "for --ignore (did you mean 'name'?)"),
        (["people.csv", "--target", "town", "--ignore", "name", "--threshold", "colour=1"], "'colour' has thresholds"),
        (["people.csv", "--target", "town", "--ignore", "name", "--binarize", "0"], "--binarize is for matrices"),
        (["people.csv", "--target", "town", "--ignore", "name", "--image", "3x3"], "--image 3x3 has 9 pixels"),
        (["people.csv", "--target", "town", "--min-docs", "3"], "takes no min_docs"),
        (["people.csv", "--target", "name"], "there are 160 classes for 160 rows, too many to compare"),
        (["people.csv", "--target", "town", "--ignore", "name", "--threshold", "agee=3"], "(did you mean 'age'?)"),
        (["people.csv", "--target", "height"], "are numbers such as 1.75; cut them first"),
        (["people.csv", "--target", "town", "--ignore", "name", "--jobs", "0"], "n_jobs must be"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_leave_nothing_behind(folder, tmp_path, arguments, message):
    line = refused("fit", folder / arguments[0], *arguments[1:], "-o", tmp_path / "new" / "out")
    assert message in line
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "Missing argument 'DATA..."),
        (["fit", "x.csv", "--threshold", "age"], "'age' is not COLUMN=NUMBERS"),
        (["fit", "x.csv", "--image", "28"], "'28' is not HEIGHTxWIDTH"),
        (["generate", "x.npz", "--rows", "5,x"], "'5,x' is not a list of class sizes"),
        (["generate", "x.xlsx"], "is written as .npz, .csv or .tsv"),
        (["generate", "absent/x.npz"], "There is no folder 'absent'"),
        (["generate", "x.npz", "--columns", "5"], "patterns with 1 entries of their own each do not fit"),
        (["predict", "absent.salt", "x.csv"], "There is no model file 'absent.salt'"),
        (["explode"], "No such command 'explode'"),
    ],
)
def test_wrong_use_is_explained(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("age,town\n1,a\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


BROKEN = {
    "ragged.csv": b"a,b,town\n1,0,Mainz\n1,0\n",
    "twice.tsv": b"a\ta\ttown\n1\t0\tMainz\n",
    "latin.csv": "a,town\n1,Köln\n".encode("latin-1"),
    "empty.csv": b"",
    "garbage.csv.gz": b"no gzip at all",
    "garbage.parquet": b"PAR1 and nothing else",
    "garbage.npz": b"PK\x03\x04 cut off",
    "garbage.mtx": b"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n9 9\n",
    "garbage.dat.xz": b"\xfd7zXZ\x00 cut off",
    "garbage.h5ad": b"\x89HDF\r\n\x1a\n cut off",
    "garbage.vcf": b"##fileformat=VCFv4.2\nchr1\t1\n",
    "garbage.vcf.gz": b"\x1f\x8b\x08\x04 cut off",
    "garbage.maf": b"Hugo_Symbol\tChromosome\nTP53\t17\n",
    "garbage.jsonl": b'{"label": "a", "text": "one"}\n{"label"\n',
    "strange.xyz": b"1 2 3",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_of_every_format_are_one_line_and_exit_code_2(tmp_path, name):
    (tmp_path / name).write_bytes(BROKEN[name])
    line = refused("fit", tmp_path / name, *(["--target", "town"] if "csv" in name else []), "-o", tmp_path / "out")
    assert name in line
    assert not (tmp_path / "out").exists()


def test_files_of_others_are_not_replaced(folder, tmp_path):
    (tmp_path / "patterns.csv").write_text("mine")
    line = refused("fit", folder / "people.csv", "--target", "town", "--ignore", "name", "-o", tmp_path)
    assert "patterns.csv is not of an earlier run" in line
    assert (tmp_path / "patterns.csv").read_text() == "mine"
    assert "is a file; name a folder" in refused("fit", folder / "people.csv", "-o", tmp_path / "patterns.csv")


def test_a_failing_run_keeps_the_results_of_the_one_before(fitted, folder):
    before = {path.name: path.read_bytes() for path in fitted[0].iterdir()}
    refused("fit", folder / "people.csv", "--target", "age", "-o", fitted[0])
    assert {path.name: path.read_bytes() for path in fitted[0].iterdir()} == before


def test_data_that_does_not_belong_to_the_model_is_refused(fitted, folder, tmp_path):
    model = fitted[0] / "model.salt"
    (tmp_path / "few.csv").write_text("age,colour\n1,red\n")
    assert "(and 52 more) are missing" in refused("predict", model, tmp_path / "few.csv", "--row-names", "colour")
    np.savez(tmp_path / "m.npz", X=np.eye(3))
    assert "the model was made from a table" in refused("predict", model, tmp_path / "m.npz")
    pd.read_csv(folder / "people.csv").head(5).to_csv(tmp_path / "head.csv", index=False)
    assert "has 5 rows, but the model was fitted on 160" in refused("score", model, tmp_path / "head.csv")
    strange = pd.read_csv(folder / "people.csv").assign(town="Worms")
    strange.to_csv(tmp_path / "strange.csv", index=False)
    assert "has the class 'Worms', which is not one of the model's: Mainz, Trier" in refused(
        "transform", model, tmp_path / "strange.csv", "--target", "town"
    )
    damaged = tmp_path / "damaged.salt"
    damaged.write_bytes(model.read_bytes()[:500])
    assert "is damaged or not a saltmine model" in refused("report", damaged)
    np.savez(tmp_path / "no-truth.npz", X=np.eye(3))
    assert "holds no planted truth" in refused(
        "score", model, folder / "people.csv", "--truth", tmp_path / "no-truth.npz"
    )


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
@pytest.mark.parametrize(("stop", "wait"), [(signal.SIGINT, 0.8), (signal.SIGTERM, 0.3)])
def test_an_interrupted_fit_leaves_no_files(tmp_path, stop, wait):
    """Ctrl-C in the middle of a long fit: one line, exit code 1, an empty place."""
    size = ["--rows", "600,600", "--columns", "500", "--patterns", "20"]
    assert run("generate", tmp_path / "data.npz", *size).exit_code == 0
    command = [sys.executable, "-m", "saltmine", "fit", str(tmp_path / "data.npz"), "--restarts", "1000"]
    command += ["-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(wait)
    process.send_signal(stop)
    try:
        stdout, stderr = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        # Python drops an interrupt that meets it in a destructor; whoever waits presses again.
        process.send_signal(stop)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1, stderr
    assert stdout == ""
    assert "Interrupted; nothing was written." in stderr
    assert "Traceback" not in stderr
    assert not (tmp_path / "out").exists()


def test_a_failure_of_ours_is_one_line_with_exit_code_1(tmp_path, monkeypatch, folder):
    def broken(*_, **__):
        raise RuntimeError("the solver lost its way")

    monkeypatch.setattr(CSalt, "fit", broken)
    arguments = ["fit", folder / "people.csv", "--target", "town", "--ignore", "name", "-o", tmp_path / "out"]
    result = run(*arguments)
    assert result.exit_code == 1
    assert "Error: saltmine failed (RuntimeError: the solver lost its way); 'saltmine --debug ...'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()
    assert "Traceback" in run("--debug", *arguments).stderr


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(fitted, folder):
    command = (
        f"{sys.executable} -m saltmine transform {fitted[0] / 'model.salt'} {folder / 'people.csv'} --json | head -c 5"
    )
    result = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert result.stdout == '[{"ro'
    assert result.stderr == ""
