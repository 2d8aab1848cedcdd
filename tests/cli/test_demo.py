import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from saltmine import CSalt
from saltmine.cli import demo


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
    assert lines[0].startswith("pattern 0")


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
    assert "pattern 0" in run.stdout
    assert "patterns belong to 8" in run.stdout
    assert (tmp_path / "new" / "digits.png").exists()
    assert "pixel_0_3" in (tmp_path / "new" / "report.html").read_text()
