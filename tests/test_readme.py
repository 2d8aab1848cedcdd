"""The README's code runs as it stands and prints what the README shows."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_code_runs_and_the_output_is_the_one_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("".join(blocks), "README.md", "exec"), {})
    assert printed.getvalue().split() == shown.split()
    assert (tmp_path / "model.salt").exists()


def test_every_file_it_points_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        assert (Path(__file__).parents[1] / link).exists(), link
