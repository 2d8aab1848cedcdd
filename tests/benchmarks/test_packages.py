"""What a release says about itself, and what its archive and its oldest environment hold."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib

import pytest
from packaging.requirements import Requirement

import saltmine
from benchmarks.packages import oldest_versions, unpack
from tests.helpers.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_oldest_versions_are_the_lower_bounds(tmp_path):
    (tmp_path / "pyproject.toml").write_text("""
[project]
dependencies = ["numpy>=2.0", "click"]
[project.optional-dependencies]
bio = ["h5py>=3.11,<4"]
dask = ["dask[array]>=2024.8"]
all = ["it[bio,dask]"]
""")
    assert oldest_versions(tmp_path / "pyproject.toml") == ["dask==2024.8", "h5py==3.11", "numpy==2.0"]


def test_everything_that_users_install_has_one_lower_bound():
    project = PROJECT["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    needed = {Requirement(line).name for line in (*project["dependencies"], *extras)} - {"saltmine"}
    bounded = [line.partition("==")[0] for line in oldest_versions()]
    assert len(bounded) == len(set(bounded))
    assert needed - set(bounded) == set()


@pytest.mark.slow
def test_the_archive_has_all_that_git_has_and_nothing_else(tmp_path):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no checkout")
    code = f"import build_backend; build_backend.build_sdist({str(tmp_path)!r})"
    path = {**os.environ, "PYTHONPATH": str(ROOT / "core")}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, env=path)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - {"PKG-INFO"} == set(listed.stdout.splitlines())


def test_an_archive_is_unpacked_to_the_folder_that_it_holds(tmp_path):
    (tmp_path / "read.me").write_text("text")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "read.me", "saltmine-1.0/read.me")
    assert (unpack(tmp_path / "a.tar.gz", tmp_path / "there") / "read.me").read_text() == "text"


def test_the_changelog_and_the_citation_are_of_this_version():
    changelog, citation = ((ROOT / name).read_text("utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    newest = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)[0]
    assert re.findall(r"^(?:version|date-released): (\S+)$", citation, re.MULTILINE) == list(newest)
    # Between releases they tell of the last one.
    assert newest[0] == saltmine.__version__ or ".dev" in saltmine.__version__
