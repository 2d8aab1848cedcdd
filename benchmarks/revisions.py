"""Time of a fit before and after a change, both in one process.

    python -m benchmarks.revisions --before 64bc50f~1                  # planted data and tables, three fits of each
    python -m benchmarks.revisions --before 64bc50f~1 --cases zoo,vote --repeats 5

The sources of the revision are taken out of git into a temporary folder, and both versions of the package are imported.
Their fits alternate, so that what else the machine does meets both; the first fit of each only loads compiled code.
Printed are the medians of CPU seconds, and their ratio. Tables are read from the folder ``shared`` beside the
repository, or from ``--data``; what is not there is skipped.
"""

from __future__ import annotations

import argparse
import importlib
import io
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from benchmarks.claims import DATA, LARGE, SMALL, load
from experiments.experiment import SkipTask
from saltmine.datasets import make_planted

PLANTED: dict[str, dict[str, Any]] = {
    "10 % noise": {"class_sizes": [400, 400], "noise": 0.1},
    "20 % noise": {"class_sizes": [400, 400], "noise": 0.2},
    "4 classes": {"class_sizes": [200] * 4, "noise": 0.1},
    "100 against 900": {"class_sizes": [100, 900], "noise": 0.1},
}
REPOSITORY = Path(__file__).parents[1]


Modules = dict[str, ModuleType]


def import_revision(revision: str, folder: Path) -> Modules:
    """Return the modules of the package as it was at a revision; the present ones stay imported."""
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=REPOSITORY, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
        sources.extractall(folder, filter="data")
    data = make(next(iter(PLANTED)), 0, Path())
    sys.path.insert(0, str(folder / "src"))
    try:
        with imported({}) as before:
            # What is imported at the first fit must come from there as well.
            fit(*data, 0)
    finally:
        sys.path.remove(str(folder / "src"))
    return before


@contextmanager
def imported(modules: Modules) -> Iterator[Modules]:
    """Let ``import saltmine`` give these modules, and keep what is imported meanwhile in them."""
    present = _take_out()
    sys.modules.update(modules)
    try:
        yield modules
    finally:
        modules.update(_take_out())
        sys.modules.update(present)


def _take_out() -> Modules:
    """Remove the package from the imported modules, and return what was removed."""
    names = [name for name in sys.modules if name.partition(".")[0] == "saltmine"]
    return {name: sys.modules.pop(name) for name in names}


def make(case: str, seed: int, data: Path) -> tuple[Any, Any]:
    """Return the rows and labels of a case."""
    if case in PLANTED:
        planted = make_planted(1000, rank=24, random_state=seed, **PLANTED[case])
        return planted.X, planted.y
    table = load(case, data)
    return sp.csr_matrix(table.X), table.y


def fit(X: Any, y: Any, seed: int) -> float:
    """Return the CPU seconds of a fit by the package that is imported."""
    estimator = importlib.import_module("saltmine").CSalt(random_state=seed)
    begin = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - begin


def measure(before: Modules, case: str, repeats: int, seed: int, data: Path) -> tuple[float, float]:
    """Return the medians of CPU seconds before and now."""
    seconds = np.empty((repeats + 1, 2))
    for k in range(repeats + 1):
        X, y = make(case, seed + k, data)
        with imported(before):
            seconds[k, 0] = fit(X, y, seed + k)
        seconds[k, 1] = fit(X, y, seed + k)
    of_before, of_now = np.median(seconds[1:], axis=0)
    return float(of_before), float(of_now)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the cases, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="revision to compare with, as git names it")
    parser.add_argument("--cases", default=",".join([*PLANTED, *SMALL, *LARGE]))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--data", type=Path, default=DATA)
    args = parser.parse_args(argv)
    table = Table("case", "before", "now", "ratio", title=f"CPU seconds of a fit: {args.before}, and now")
    ratios = []
    with TemporaryDirectory() as folder:
        before = import_revision(args.before, Path(folder))
        for case in args.cases.split(","):
            try:
                old, new = measure(before, case, args.repeats, args.seed, args.data)
            except SkipTask as missing:
                print(f"{case}: {missing}", file=sys.stderr)
                continue
            ratios.append(new / old)
            table.add_row(case, f"{old:.2f}", f"{new:.2f}", f"{new / old:.2f}")
            print(f"{case}: {old:.2f} s, {new:.2f} s", file=sys.stderr)
    if ratios:
        table.add_row("geometric mean", "", "", f"{np.exp(np.mean(np.log(ratios))):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
