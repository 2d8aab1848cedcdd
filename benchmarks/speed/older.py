"""The package as it was at an older revision, loaded beside this one under another name."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from experiments.experiment import SkipTask

ROOT = Path(__file__).parents[2]
NAME = "saltmine_before"
# The last revision that was compiled at the first fit, by numba.
REVISION = "466b2fa"
FOLDER = ROOT / "out" / "older"

_chosen = REVISION


def choose(revision: str) -> None:
    """Compare with this revision from now on."""
    global _chosen
    _chosen = revision


def older_folder() -> Path:
    """Return the folder that has the older package; it is kept, and with it what the package compiles."""
    try:
        revision = _git("rev-parse", "--verify", "--quiet", f"{_chosen}^{{commit}}").decode().strip()
    except (OSError, subprocess.SubprocessError):
        raise SkipTask(f"there is no revision {_chosen} here to compare with; name one with --older") from None
    folder = FOLDER / revision[:10]
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as unfinished:
            unpack(revision, Path(unfinished))
            os.rename(unfinished, folder)
            Path(unfinished).mkdir()
    return folder


@lru_cache(maxsize=1)
def older_package() -> Any:
    """Return the older package."""
    sys.path.insert(0, str(older_folder()))
    try:
        package = importlib.import_module(NAME)
        package.CSalt  # noqa: B018 - loads it, and with it all that it needs
    except ImportError as problem:
        raise SkipTask(f"the older revision cannot be loaded: {problem}") from None
    return package


def unpack(revision: str, folder: Path) -> None:
    """Write the package as it was at `revision` into `folder`, as `saltmine_before`."""
    tree = folder / "tree"
    with tarfile.open(fileobj=BytesIO(_git("archive", revision))) as archive:
        archive.extractall(tree, filter="data")
    if (tree / "CMakeLists.txt").exists():
        # Modules of one domain would share the classes of those that were loaded first.
        environment = {**os.environ, "CXXFLAGS": f"{os.environ.get('CXXFLAGS', '')} -DNB_DOMAIN={NAME}"}
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(tree)]
        subprocess.run([sys.executable, *install], check=True, env=environment)
    else:
        # Older ones were built by a script, or compiled at the first fit.
        if (tree / "native").exists():
            subprocess.run([sys.executable, str(tree / "native" / "build.py")], check=True, stdout=subprocess.PIPE)
        (tree / "src" / "saltmine").rename(folder / "saltmine")
    shutil.rmtree(tree)
    package = (folder / "saltmine").rename(folder / NAME)
    texts = {file: file.read_text("utf-8") for file in package.rglob("*.py")}
    # Numba tells tuples apart by the name of their class alone; those of the same name would take its slow path.
    tuples = {name for text in texts.values() for name in re.findall(r"^class (\w+)\(NamedTuple\)", text, re.MULTILINE)}
    for file, text in texts.items():
        text = re.sub(r"\bsaltmine\b(?=[.\s,)\"'])", NAME, text)
        file.write_text(re.sub(rf"\b({'|'.join(tuples)})\b", r"\1Before", text), "utf-8")


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
