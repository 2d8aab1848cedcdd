"""Run the tests of the source archive with the installed wheel, in an environment of its own.

The sources of the package are removed from the unpacked archive, so only the wheel can be imported. Environment and
archive stay in ``build/``, so that a test that fails can be run again there.

python -m benchmarks.installed_tests [--oldest] [--python python3.12] [options of pytest]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.packages import ROOT, build, install, make_environment, oldest_versions, unpack

#: The doctests of the package are those of the wheel.
TESTS = ("tests", "experiments", "fuzz", "--pyargs", "saltmine")
WHERE = "import pathlib, saltmine; print(pathlib.Path(saltmine.__file__).parent)"


def prepare(folder: Path, python: str, oldest: bool) -> tuple[Path, Path]:
    """Return the interpreter of the new environment, and the unpacked archive without the package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A wheel of Python 3.11 is for that version alone, so the environment builds its own.
    environment = make_environment(folder / "environment", python)
    install(environment, "build")
    archive, wheel = build(ROOT, folder, str(environment))
    tree = unpack(archive, folder / "archive")
    shutil.rmtree(tree / "src")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(oldest_versions() if oldest else []))
    install(environment, f"{wheel}[test,docs]", "-c", str(constraints))
    return environment, tree


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("--oldest", action="store_true", help="install the oldest dependencies that are allowed")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environment")
    options, rest = parser.parse_known_args()
    folder = ROOT / "build" / ("test-oldest" if options.oldest else "test-wheel")
    python, tree = prepare(folder, options.python, options.oldest)
    subprocess.run([python, "--version"], check=True)
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "freeze"], check=True)
    place = subprocess.run([python, "-c", WHERE], cwd=tree, stdout=subprocess.PIPE, text=True, check=True).stdout
    if not Path(place.strip()).is_relative_to(python.parents[1]):
        sys.exit(f"the tests would not run with the wheel but with {place}")
    sys.exit(subprocess.run([python, "-m", "pytest", *rest, *TESTS], cwd=tree).returncode)


if __name__ == "__main__":
    main()
