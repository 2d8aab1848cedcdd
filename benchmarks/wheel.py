"""Build the source archive and the wheel twice, and try the wheel in an empty environment.

Both builds have to give the same bytes, though the second is made from the unpacked archive, in another folder, with
other times and other permissions. The wheel is installed, its import is timed against that of scikit-learn alone, and
some fast tests run with it.

python -m benchmarks.wheel
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.packages import ROOT, build, install, make_environment, unpack
from experiments.measuring import timed

MOST_SECONDS = 1.0
LONG_AGO = 1_000_000_000
#: Tests of every kind of compiled loop that need no extra.
TESTS = ("tests/test_metrics.py", "tests/mdl", "tests/datasets", "tests/fitted/test_encoding.py")
TIME_IMPORTS = """
import time
begin = time.perf_counter()
import sklearn
middle = time.perf_counter()
from saltmine import CSalt
print(middle - begin, time.perf_counter() - middle)
"""
FIT = """
from saltmine import CSalt
from saltmine.datasets import make_planted
planted = make_planted(200, [150, 150], rank=4, noise=0.01, random_state=0)
print(CSalt(random_state=0).fit(planted.X, planted.y).n_components_)
"""


def build_again(archive: Path, folder: Path) -> tuple[Path, Path]:
    """Build both from the unpacked archive, whose files are old and closed to others."""
    tree = unpack(archive, folder / "another place")
    for path in tree.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (LONG_AGO, LONG_AGO))
    again = folder / "again"
    again.mkdir()
    return build(tree, again, umask=0o077)


def run(python: Path, code: str) -> str:
    """Run code away from the checkout, so that only the installed package can be found; return what it prints."""
    done = subprocess.run([python, "-c", code], cwd=python.parent, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the installed wheel fails:\n{code}")
    return done.stdout


def check_import_and_fit(python: Path) -> None:
    """Print the times of an import and of a first fit; end the command where they are not as they should be."""
    # The first start reads cold files.
    runs = [run(python, TIME_IMPORTS) for _ in range(4)][1:]
    times = sorted(tuple(map(float, each.split())) for each in runs)
    sklearn, saltmine = times[len(times) // 2]
    found, first = timed(lambda: run(python, FIT))
    print(f"importing scikit-learn {sklearn:.2f} s, saltmine after it {saltmine:.2f} s more")
    print(f"start, import and the first fit: {first:.1f} s; it finds {found.strip()} of 4 planted patterns")
    if saltmine > MOST_SECONDS:
        sys.exit(f"importing saltmine must not take more than {MOST_SECONDS} s beyond scikit-learn")
    if found.strip() != "4":
        sys.exit("the first fit must find the four planted patterns")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (archive, wheel), seconds = timed(lambda: build(ROOT, folder))
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, both built in {seconds:.0f} s")
        for first, second in zip((archive, wheel), build_again(archive, folder), strict=True):
            if first.read_bytes() != second.read_bytes():
                sys.exit(f"two builds of {first.name} differ")
        print("a second build from the archive, in another folder, gives the same bytes")
        python = make_environment(folder / "empty")
        install(python, str(wheel))
        check_import_and_fit(python)
        install(python, "pytest", "hypothesis")
        (tree,) = (folder / "another place").iterdir()
        shutil.rmtree(tree / "src")
        fast = ("-q", "-m", "not slow and not cluster and not browser", *TESTS)
        sys.exit(subprocess.run([python, "-m", "pytest", *fast], cwd=tree).returncode)


if __name__ == "__main__":
    main()
