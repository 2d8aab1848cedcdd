"""Build the wheel, install it into an empty environment, fit there, and time its import against scikit-learn's alone.

python -m benchmarks.wheel
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from experiments.measuring import timed

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS = 1.0
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
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


def build_wheel(folder: Path) -> Path:
    """Build the wheel; end the command where it lacks the compiled library."""
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("saltmine-*.whl")
    libraries = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("saltmine/_native.")]
    if len(libraries) != 1 or "-py3-none-" not in wheel.name or wheel.stem.endswith("-any"):
        sys.exit(f"{wheel.name} must hold one compiled library and be for one platform; it holds {libraries}")
    return wheel


def run(python: Path, code: str) -> str:
    """Run code away from the checkout, so that only the installed package can be found; return what it prints."""
    done = subprocess.run([python, "-c", code], cwd=python.parent, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the installed wheel fails:\n{code}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel, building = timed(lambda: build_wheel(Path(folder)))
        venv.create(Path(folder) / "empty", with_pip=True)
        python = Path(folder) / "empty" / "bin" / "python"
        subprocess.run([python, *PIP, "install", str(wheel)], check=True)
        # The first start reads cold files.
        runs = [run(python, TIME_IMPORTS) for _ in range(4)][1:]
        times = sorted(tuple(map(float, each.split())) for each in runs)
        sklearn, saltmine = times[len(times) // 2]
        found, first = timed(lambda: run(python, FIT))
        size = wheel.stat().st_size / 1e6
        print(f"{wheel.name}: {size:.1f} MB, built in {building:.0f} s")
        print(f"importing scikit-learn {sklearn:.2f} s, saltmine after it {saltmine:.2f} s more")
        print(f"start, import and the first fit: {first:.1f} s; it finds {found.strip()} of 4 planted patterns")
        if saltmine > MOST_SECONDS:
            sys.exit(f"importing saltmine must not take more than {MOST_SECONDS} s beyond scikit-learn")
        if found.strip() != "4":
            sys.exit("the first fit must find the four planted patterns")


if __name__ == "__main__":
    main()
