"""Stored runs: what is kept, what is refused."""

import subprocess
from pathlib import Path

import pytest

import saltmine
from experiments.store import Store, StoreError, back_up, commit


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
    back_up(tmp_path)
    assert (tmp_path / "runs.jsonl.old").read_text().startswith('{"F": 1}')
    Store(tmp_path, "rank").add({"method": "csalt"}, {"F": 1.0})
    with pytest.raises(StoreError, match=r"holds runs of 'rank'; choose another folder \(-o\)"):
        Store(tmp_path, "noise")
    Store(tmp_path, "rank").check_version()
    text = (tmp_path / "runs.jsonl").read_text().replace(saltmine.__version__, "0.0.7")
    (tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(StoreError, match=r"holds runs of saltmine 0.0.7, and this is .*--force begins anew"):
        Store(tmp_path, "rank").check_version()
    back_up(tmp_path)
    assert (tmp_path / "runs.jsonl.old").read_text().startswith('{"F": 1}')
    assert (tmp_path / "runs.jsonl.old1").read_text() == text


def test_the_commit_is_that_of_the_code():
    root = Path(saltmine.__file__).parent
    call = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    if call.returncode or not (root.parents[1] / ".git").exists():
        pytest.skip("saltmine does not run from its repository here")
    assert call.stdout.startswith(commit().rstrip("+"))
    assert len(commit().rstrip("+")) >= 10
