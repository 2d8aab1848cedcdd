import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from saltmine import CSalt
from saltmine.cli import demo
from saltmine.fitted.kinds import class_kinds


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, demo.DIGITS)
    return CSalt(binarize=7, random_state=0, max_iter=600, max_rank=10).fit(X[chosen], y[chosen])


def test_pictures_show_shared_and_altered_pixels(digits):
    for s in range(digits.n_components_):
        picture = demo.roles(digits, s).ravel()
        np.testing.assert_array_equal(picture > 0, (digits.components_ | digits.alterations_.any(axis=0))[s])
        for a in range(2):
            assert (picture[digits.alterations_[a, s]] == 2 + a).all()


def test_text_has_a_line_per_row_of_pixels(digits):
    lines = demo.as_text(digits, range(2)).splitlines()
    assert len(lines) == 2 + demo.SIDE
    assert lines[0].split("   ")[0] == "0: typical row"
    assert lines[0].endswith("   pattern 1")


def test_the_terminal_says_what_the_summary_says(digits, capsys):
    summary = digits.summary()
    demo.print_patterns(summary)
    printed = " ".join(capsys.readouterr().out.split())
    assert digits.typical_.tolist() == [True] + [False] * (digits.n_components_ - 1)
    assert f" {digits.n_components_ - 1} patterns: " in f" {summary.headline}"
    assert summary.headline in printed
    assert f"{digits.n_components_} patterns" not in printed
    assert "The typical row and the patterns, and how many digits use each" in printed
    assert "0: typical row pattern 1 " in printed


def test_ink_of_a_pattern_that_one_digit_uses_is_not_called_shared(digits, capsys):
    """It is not shown to be of that digit, but the other does not use it."""
    of_one = (digits.usage_counts_ == 0).any(axis=0) & (class_kinds(digits) == "").all(axis=0)
    assert of_one.any()
    assert all((demo.roles(digits, s) < 2).all() for s in np.flatnonzero(of_one))
    demo.print_patterns(digits.summary())
    assert "(#: not shown to belong to one digit; 3 and 8: mostly or only" in capsys.readouterr().out


@pytest.mark.slow
def test_the_picture_is_written(digits, tmp_path):
    path = tmp_path / "digits.png"
    demo.draw(digits, path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_demo_runs_from_the_command_line(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "saltmine", "demo", "--output", str(tmp_path / "new")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0: typical row" in run.stdout
    report = (tmp_path / "new" / "report.html").read_text()
    assert run.stdout.partition("patterns:")[0].split()[-1] == report.partition(" patterns: ")[0].split(">")[-1]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"digits.png", "report.html"}
    # None of these files is there.
    assert "all are in differences.csv" not in report
    assert "differences.csv, which “saltmine fit” writes, and model.differences() have all." in report
    assert "pixel_0_3" in report
