"""A share of the crafted model files; ``python -m tests.helpers.crafted_models`` tries as many as one likes."""

import contextlib
import subprocess
import sys
from itertools import islice

import pytest

from fuzz.model_files import KINDS, crafted_files
from fuzz.real_models import bases
from saltmine import load
from saltmine.fitted.model_file import ModelFileError
from tests.helpers.paths import ROOT


@pytest.mark.slow
def test_crafted_files_are_loaded_or_refused(tmp_path):
    path = tmp_path / "model.salt"
    kinds, loaded = set(), 0
    for description, content in islice(crafted_files(seed=5000), 150):
        path.write_bytes(content)
        kinds.add(description.partition(",")[0])
        with contextlib.suppress(ModelFileError):
            load(path)
            loaded += 1
    assert len(kinds) >= len(KINDS) - 1
    assert 15 < loaded < 75


@pytest.mark.slow
def test_crafted_files_open_nothing_and_run_nothing():
    command = [sys.executable, "-m", "tests.helpers.crafted_models", "--count", "12", "--seed", "5001"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("12 files: ")


@pytest.mark.slow
def test_the_guard_sees_what_it_has_to_see():
    script = """
import os, pickle, shutil, socket, tempfile
from pathlib import Path
from tests.helpers import crafted_models as run

outside = Path(tempfile.mkdtemp())
os.chdir(outside)
for name in ("results", "assets", "lost"):
    Path(name).mkdir()
folder, font = outside / "results", outside / "assets" / "font"
font.write_text("x")
guard, run.MAX_BYTES = run.Guard(), 600 << 20
guard.allowed, guard.readable = (str(folder),), (str(outside / "assets"),)

def write_results():
    (folder / "new").mkdir()
    (folder / "new" / "file").write_text("x")
    os.replace(folder / "new" / "file", folder / "file")
    shutil.rmtree(folder / "new")

for act in (
    lambda: open("/etc/hostname"),
    lambda: font.open("a"),
    lambda: os.mkdir("executed"),
    lambda: os.mkdir(f"{folder}-other"),
    lambda: os.mkdir(folder / ".." / "beside"),
    lambda: os.replace(folder / "model.salt", outside / "model.salt"),
    lambda: os.symlink("model.salt", outside / "link"),
    lambda: shutil.rmtree(outside / "lost"),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: pickle.loads(b"cposix\\nsystem\\n."),
    lambda: eval("1 + 1"),
    lambda: bytearray(800 << 20),
    lambda: 1 / 0,
    lambda: run.os.abort(),
    font.read_text,
    write_results,
):
    run.use = lambda path, folder: act()
    print(run.try_file(b"", folder, guard).result)
shutil.rmtree(outside)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600)
    expected = [*["forbidden"] * 11, "too large", "ZeroDivisionError", "crashed", "loaded", "loaded"]
    assert done.stdout.splitlines() == expected, done.stderr


def test_the_same_seed_gives_the_same_files():
    one, two = (list(islice(crafted_files(seed), 30)) for seed in (7, 7))
    assert one == two
    assert len({base.header["estimator"] for base in bases()}) == 7
