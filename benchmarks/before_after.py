"""Time of a fit before and after a change, in one process.

    python -m benchmarks.before_after REVISION                      # planted matrices and tables
    python -m benchmarks.before_after REVISION --cases vote,zoo --repeats 9

The package of the older revision is unpacked under another name, so both are loaded side by side and every pair of fits
runs within seconds on the same machine. CPU seconds, the smallest of the repeats; one fit of each comes before, to
compile. Tables are read from the folder ``shared`` beside the repository, or from ``--data``.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.claims import DATA, LARGE, PLANTED, SMALL, load
from experiments import planted as planted_experiment
from experiments.experiment import SkipTask
from saltmine.cli.output import markdown_table

ROOT = Path(__file__).parents[1]
OLDER = "saltmine_before"


def unpack(revision: str, folder: Path) -> None:
    """Write the package as it was at `revision` into `folder`, as `saltmine_before`."""
    packed = subprocess.run(
        ["git", "archive", revision, "src/saltmine"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    package = (folder / "src" / "saltmine").rename(folder / OLDER)
    texts = {file: file.read_text("utf-8") for file in package.rglob("*.py")}
    # Numba tells tuples apart by the name of their class alone; those of the same name would take its slow path.
    tuples = {name for text in texts.values() for name in re.findall(r"^class (\w+)\(NamedTuple\)", text, re.MULTILINE)}
    for file, text in texts.items():
        text = re.sub(r"\bsaltmine\b(?=[.\s,)\"'])", OLDER, text)
        file.write_text(re.sub(rf"\b({'|'.join(tuples)})\b", r"\1Before", text), "utf-8")


def read_case(name: str, seed: int, data: Path) -> tuple[Any, Any]:
    """Return rows and labels of a table or of a planted matrix."""
    if name in PLANTED:
        usual = {**planted_experiment.USUAL, "columns": 800, "rows": 1000}
        made = planted_experiment.plant({**usual, **PLANTED[name], "seed": seed})
        return made.X, made.y
    X, y, _ = load(name, data)
    return X, y


def seconds(fit: Callable[[], Any]) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def compare(fits: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least CPU seconds of every fit; they take turns."""
    times = [[seconds(fit) for fit in fits] for _ in range(repeats + 1)]
    return [min(column) for column in zip(*times[1:], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="the revision before the change, e.g. HEAD~3")
    parser.add_argument("--cases", default=",".join((*PLANTED, *SMALL, *LARGE)), help="separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        unpack(options.revision, Path(folder))
        sys.path.insert(0, folder)
        estimators = [importlib.import_module(package).CSalt for package in (OLDER, "saltmine")]
        for name in options.cases.split(","):
            try:
                X, y = read_case(name, options.seed, options.data)
            except SkipTask as reason:
                print(f"{name}: {reason}", file=sys.stderr)
                continue
            fits = [partial(make(random_state=options.seed).fit, X, y) for make in estimators]
            before, after = compare(fits, options.repeats)
            lines.append([name, f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}"])
            print(*lines[-1], flush=True)
    print(markdown_table(["", "before, s", "after, s", "ratio"], lines))


if __name__ == "__main__":
    main()
