"""The source archive and the wheel: build them, unpack them, and install the wheel into an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def build(source: Path, folder: Path, python: str = sys.executable, umask: int = -1) -> tuple[Path, Path]:
    """Build both from a tree; return the archive and the wheel, and end the command where it lacks the compiled core.

    The interpreter needs the package build. Nothing of other builds of the tree is used.
    """
    with tempfile.TemporaryDirectory() as scratch:
        command = [python, "-m", "build", "--sdist", "--wheel", f"-Cbuild-dir={scratch}"]
        command += ["--outdir", str(folder), str(source)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=umask)
    if done.returncode:
        sys.exit(f"{done.stdout}\nThe build failed.")
    (archive,), (wheel,) = folder.glob("saltmine-*.tar.gz"), folder.glob("saltmine-*.whl")
    modules = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    if [name.split(".")[0] for name in modules] != ["saltmine/_core"] or wheel.stem.endswith("-any"):
        sys.exit(f"{wheel.name} must hold one compiled module and be for one platform; it holds {modules}")
    return archive, wheel


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive; return the folder that it holds."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


def make_environment(folder: Path, python: str = sys.executable) -> Path:
    """Return the interpreter of a new environment."""
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    return folder / "bin" / "python"


def install(python: Path, *what: str) -> None:
    """Install packages into the environment of an interpreter."""
    subprocess.run([python, *PIP, "install", *what], check=True)


def oldest_versions(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """Return constraints for pip: the lower bound of every dependency, the extras' too, as the only version.

    Examples
    --------
    >>> [line for line in oldest_versions() if line.startswith("numpy==")]
    ['numpy==2.0']
    """
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    wanted = [Requirement(line) for line in lines]
    bounds = {(each.name, bound.version) for each in wanted for bound in each.specifier if bound.operator == ">="}
    return [f"{name}=={version}" for name, version in sorted(bounds)]
