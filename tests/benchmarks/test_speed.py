import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks.parts import tasks_of
from benchmarks.speed import __main__ as speed
from benchmarks.speed import older
from benchmarks.speed.growth import draw, exponent, growth_table, make_data, more_patterns
from benchmarks.speed.threads import serial_share, speed_with
from benchmarks.speed.timing import least_cpu


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["speed", *map(str, arguments)])
    speed.main()


def make_runs():
    sizes = (20, 40, 80)
    runs = [("patterns", size, size / 10) for size in sizes] + [("rows", size, size**2 / 100) for size in sizes]
    return pd.DataFrame([{"what": what, "size": n, "cpu_seconds": s, "patterns": 3} for what, n, s in runs])


def test_growth_is_the_slope_of_logarithms():
    assert exponent([500, 1000, 2000], [1, 2, 4]) == pytest.approx(1)
    columns, lines = growth_table(make_runs())
    assert columns[0] == ""
    assert lines == [
        ["patterns", "20, 40, 80", "2, 4, 8", "1.00", "1.00"],
        ["rows", "20, 40, 80", "4, 16, 64", "2.00", "2.00"],
    ]


@pytest.mark.slow
def test_growth_is_drawn(tmp_path):
    draw(make_runs(), tmp_path / "new" / "growth.png")
    assert (tmp_path / "new" / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_more_patterns_leave_the_share_of_ones_and_the_cells_per_pattern_as_they_are():
    small, large = (more_patterns(rank, seed=0)[0] for rank in (20, 80))
    assert large.size == 4 * small.size
    assert large.mean() == pytest.approx(small.mean(), rel=0.1)
    assert small.mean() < 0.2


@pytest.mark.parametrize(("what", "shape"), [("rows", (1000, 500)), ("columns", (500, 1000))])
def test_sizes_are_those_of_the_case(what, shape):
    X, y = make_data(what, 1000, seed=0)
    assert X.shape == shape
    assert np.bincount(y).tolist() == [shape[0] // 2] * 2


def test_classes_have_as_many_rows_together():
    for size in (2, 16):
        X, y = make_data("classes", size, seed=0)
        assert X.shape == (4000, 400)
        assert set(np.bincount(y)) == {4000 // size}


def test_amdahls_law():
    half = pd.DataFrame({"one": [10.0], "two": [7.5]})
    assert serial_share(half) == pytest.approx(0.5)
    assert speed_with(2)(half) == "1.3"
    assert speed_with(1000)(half) == "2.0"
    assert serial_share(pd.DataFrame({"one": [10.0], "two": [4.0]})) == 0
    assert serial_share(pd.DataFrame({"one": [10.0], "two": [12.0]})) == 1


def test_works_take_turns():
    calls = []
    assert len(least_cpu([lambda: calls.append("a"), lambda: calls.append("b")], 2)) == 2
    assert calls == ["a", "b", "a", "b"]


@pytest.mark.slow
def test_an_older_revision_gets_another_name(tmp_path):
    if shutil.which("git") is None or not (older.ROOT / ".git").exists():
        pytest.skip("there is no repository to take an older revision from")
    try:
        older.unpack(older.REVISION, tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("the repository does not reach back to it")
    texts = [file.read_text("utf-8") for file in (tmp_path / older.NAME).rglob("*.py")]
    assert any("from saltmine_before." in text for text in texts)
    assert not any("from saltmine." in text or "import saltmine\n" in text for text in texts)


@pytest.mark.slow
def test_every_run_is_stored_and_shown(monkeypatch, tmp_path, capsys):
    options = ("growth", "-o", tmp_path, "--figure", tmp_path / "growth.png")
    run(monkeypatch, *options, "--tables", "20 patterns", "--repeats", 1)
    line = json.loads((tmp_path / "growth" / "runs.jsonl").read_text())
    assert (line["case"], line["seed"], line["what"], line["size"]) == ("20 patterns", 5000, "patterns", 20)
    first = capsys.readouterr().out
    assert "20" in first
    (tmp_path / "growth.png").unlink()
    run(monkeypatch, *options, "--show")
    assert capsys.readouterr().out == first
    assert (tmp_path / "growth.png").exists()


def test_what_is_not_there_is_skipped_with_a_sentence(monkeypatch, tmp_path, capsys):
    where = ("--data", tmp_path / "none", "-o", tmp_path)
    run(monkeypatch, "older", "threads", "--tables", "vote,kr_vs_kp", *where)
    said = capsys.readouterr().err
    assert "older: vote is skipped: data/tables/vote is not here; name the folder that has it with --data." in said
    assert "threads: kr_vs_kp is skipped" in said
    run(monkeypatch, "first-fit", "--tables", "older", "--older", "no-such-revision", *where)
    assert "there is no revision no-such-revision here to compare with" in capsys.readouterr().err


def test_quick_runs_need_no_older_revision():
    for name, part in speed.PARTS.items():
        cases = {task["case"] for task in tasks_of(part, True, None, None, 5000)}
        assert "older" not in cases
        assert cases or name in ("older", "published")
