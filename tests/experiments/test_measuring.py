import pandas as pd

from experiments.measuring import alternating_times, run_to_csv


def _square(x, name):
    return {"name": name, "square": x * x}


def test_rows_are_written_and_shown_as_they_come(tmp_path, capsys):
    path = tmp_path / "new" / "squares.csv"
    rows = run_to_csv(_square, [(2, "two"), (3, "three")], 1, path, lambda row: f"{row['name']} done")
    assert rows == [{"name": "two", "square": 4}, {"name": "three", "square": 9}]
    assert pd.read_csv(path).to_dict("records") == rows
    assert capsys.readouterr().err.splitlines() == ["1/2  two done", "2/2  three done"]


def test_works_take_turns():
    calls = []
    times = alternating_times([lambda: calls.append("a"), lambda: calls.append("b")], rounds=2)
    assert calls == ["a", "b", "a", "b"]
    assert all(seconds >= 0 for of_one in times for seconds in of_one)
