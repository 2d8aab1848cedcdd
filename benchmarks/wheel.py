"""Build the wheel, install it into an empty environment, and time its import against importing scikit-learn alone.

python -m benchmarks.wheel
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS = 1.0
TIME_IMPORTS = """
import time
begin = time.perf_counter()
import sklearn
middle = time.perf_counter()
from saltmine import CSalt
print(middle - begin, time.perf_counter() - middle)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "-w", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("saltmine-*.whl")
        venv.create(Path(folder) / "empty", with_pip=True)
        python = str(Path(folder) / "empty" / "bin" / "python")
        subprocess.run([python, *pip, "install", str(wheel)], check=True)
        # Away from the checkout, so that only the installed package can be found; the first start reads cold files.
        runs = [
            subprocess.run([python, "-c", TIME_IMPORTS], cwd=folder, check=True, capture_output=True, text=True)
            for _ in range(4)
        ][1:]
        times = sorted(tuple(map(float, run.stdout.split())) for run in runs)
        sklearn, saltmine = times[len(times) // 2]
        print(f"{wheel.name}: importing scikit-learn {sklearn:.2f} s, saltmine after it {saltmine:.2f} s more")
        if saltmine > MOST_SECONDS:
            sys.exit(f"importing saltmine must not take more than {MOST_SECONDS} s beyond scikit-learn")


if __name__ == "__main__":
    main()
