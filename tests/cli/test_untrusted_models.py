"""What models of unknown origin can do on the command line: be used, or be refused in one line."""

import html.parser
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt
from saltmine.names import printable_lines
from tests.helpers.command_line import refused, run
from tests.helpers.model_files import rewrite, taken_apart
from tests.helpers.models import two_blocks

SCRIPT = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)>"


def write_table(folder):
    frame = pd.DataFrame(two_blocks().astype(int), columns=list("abcdefgh")).assign(shop=["Mainz", "Trier"] * 20)
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the file of a model."""
    folder = tmp_path_factory.mktemp("fit")
    assert run("fit", write_table(folder), "--target", "shop", "-o", folder / "out", "-q").exit_code == 0
    return folder / "out" / "model.salt"


@pytest.fixture
def model(tmp_path, written):
    """Return a copy of the file, which may be changed."""
    return Path(shutil.copy(written, tmp_path))


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("transform", "labels"),
        ("predict", "items"),
        ("report", "stop_words"),
        ("transform", "target"),
        ("report", "path"),
    ],
)
def test_a_model_cannot_name_files_to_open(model, table, command, option):
    rewrite(model, {f"about.reading.{option}": "/etc/passwd"})
    arguments = [model] if command == "report" else [model, table]
    message = refused(command, *arguments)
    assert f"about.reading.{option} is not a field that model files have" in message


def test_a_model_that_names_a_cluster_is_refused(model, table):
    rewrite(model, {"parameters.client": "tcp://127.0.0.1:9"})
    assert "it sets the parameter client, which belongs to a run and not to a model" in refused("predict", model, table)


def test_options_of_the_reader_that_are_no_paths_are_kept(tmp_path, table):
    text = table.read_text().replace(",", ";")
    table.write_text(text)
    arguments = ("--target", "shop", "--separator", ";", "--encoding", "latin-1", "-o", tmp_path / "out", "-q")
    assert run("fit", table, *arguments).exit_code == 0
    header, _ = taken_apart(tmp_path / "out" / "model.salt")
    assert header["about"]["reading"] == {"separator": ";", "encoding": "latin-1"}
    done = run("predict", tmp_path / "out" / "model.salt", table, "-q")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 41


class Scripts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.handlers = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def test_names_of_a_model_cannot_put_scripts_into_the_report(tmp_path):
    path = tmp_path / "model.salt"
    groups = pd.Series([f"{SCRIPT} {k}" for k in range(20)] * 2, name=SCRIPT)
    names = [f"{SCRIPT} {k}" for k in range(8)]
    labels = np.where(np.arange(40) < 20, SCRIPT, "b")
    row_names = [f"{SCRIPT}{k}" for k in range(40)]
    model = CSalt(random_state=0).fit(two_blocks(), labels, groups=groups, item_names=names, row_names=row_names)
    model.about_ = {"source": SCRIPT, "title": SCRIPT}
    assert model.n_components_ > 0
    model.save(path)
    assert run("report", path, "-o", tmp_path / "report.html").exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert "<script>window" not in page
    assert "<img" not in page
    found = Scripts()
    found.feed(page)
    # The data of the page, and its own script.
    assert found.tags.count("script") == 2
    assert found.handlers == []
    assert "default-src 'none'" in page


def test_names_command_no_terminal():
    assert printable_lines("a\x1b]0;evil\x07b\nd\x9b1m\u0130") == "a\\x1b]0;evil\\x07b\nd\\x9b1m\u0130"


@pytest.mark.slow
def test_a_terminal_gets_no_commands_from_a_model_and_a_file_gets_names_as_they_are(tmp_path, table, model):
    evil = "\x1b]0;evil\x07"
    rewrite(model, {"classes.labels": [evil, "z"]})
    command = [sys.executable, "-m", "saltmine", "predict", str(model), str(table), "-q"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert evil.encode() in piped.stdout
    outer, inner = pty.openpty()
    subprocess.run(command, stdout=inner, check=True)
    os.close(inner)
    shown = os.read(outer, 1 << 16).decode()
    assert "]0;evil" in shown
    assert "\x1b" not in shown
    assert "\x1b" not in refused("transform", model, table, "--target", "shop")


@pytest.mark.slow
def test_a_file_whose_name_is_no_text_can_be_fitted(tmp_path, table):
    odd = tmp_path / os.fsdecode(b"caf\xe9.csv")
    try:
        table.rename(odd)
    except OSError:
        pytest.skip("this file system takes no such names")
    assert run("fit", odd, "--target", "shop", "-o", tmp_path / "out", "-q").exit_code == 0
    assert taken_apart(tmp_path / "out" / "model.salt")[0]["about"]["source"] == "caf?.csv"
