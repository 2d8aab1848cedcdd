"""How well the memory of a fit is estimated, and kept within a limit: estimates against the peaks of processes.

A process makes the data, sets its peak back, fits, and tells how much more it had than before. Linux only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.experiment import Row, SkipTask
from saltmine import CSalt
from saltmine.arrays import Bools, Indices
from saltmine.datasets import make_planted
from saltmine.estimators.memory_need import estimate
from saltmine.memory import MemoryLimitError
from saltmine.solver import wide

PATTERNS, NOISE, SHARE_OF_ROWS, ROWS_AT_A_TIME = 12, 0.03, 0.2, 5000


@dataclass(frozen=True)
class Shape:
    """Data to fit, as a matrix of this kind."""

    rows: int
    columns: int
    classes: int
    is_sparse: bool = False
    algorithm: str = "saltmine"


CASES = {
    "500 x 200, 2 classes": Shape(500, 200, 2),
    "4,000 x 4,000, 2 classes": Shape(4000, 4000, 2),
    "2,000 x 600, 40 classes": Shape(2000, 600, 40),
    "4,000 x 4,000, sparse": Shape(4000, 4000, 2, is_sparse=True),
    "1,000 x 500, published algorithm": Shape(1000, 500, 2, algorithm="paper"),
    "60,000 x 300 (tall)": Shape(60_000, 300, 2),
    "600,000 x 60 (tall)": Shape(600_000, 60, 2),
    "300,000 x 300, sparse (tall)": Shape(300_000, 300, 3, is_sparse=True),
    "60 x 600,000 (wide)": Shape(60, 600_000, 3),
    "60 x 600,000, sparse (wide)": Shape(60, 600_000, 3, is_sparse=True),
}
QUICK = list(CASES)[:1]


def memory_need(name: str, seed: int, data: Path) -> Row:
    """Compare the estimate with the peak of a fit, and with that of a fit which may have 0.6 times of it."""
    if not sys.platform.startswith("linux"):
        raise SkipTask("the peak of a process can be set back on Linux only")
    shape = CASES[name]
    free = _measured(shape, seed, None)
    limit = int(0.6 * free["estimate"])
    less = _measured(shape, seed, limit)
    return {
        "estimate": round(free["estimate"] / 1e6, 1),
        "peak": round(free["peak"] / 1e6, 1),
        "limit": round(limit / 1e6, 1),
        "refused": "peak" not in less,
        "peak_below": round(less["peak"] / 1e6, 1) if "peak" in less else None,
    }


def _measured(shape: Shape, seed: int, limit: int | None) -> dict[str, Any]:
    task = json.dumps({"shape": asdict(shape), "seed": seed, "limit": limit})
    command = [sys.executable, "-m", "benchmarks.trust.memory_need", task]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def make_data(shape: Shape, seed: int) -> tuple[Bools | sp.csr_array, Indices]:
    """Make noise with some patterns, without more memory than the cells take."""
    rng = np.random.default_rng(seed)
    X = np.empty((shape.rows, shape.columns), dtype=bool)
    for begin in range(0, shape.rows, ROWS_AT_A_TIME):
        part = X[begin : begin + ROWS_AT_A_TIME]
        part[:] = rng.random(part.shape, dtype=np.float32) < NOISE
    for _ in range(PATTERNS):
        users = np.flatnonzero(rng.random(shape.rows) < SHARE_OF_ROWS)
        X[np.ix_(users, rng.choice(shape.columns, max(5, min(shape.columns // 20, 200)), replace=False))] = True
    y = np.arange(shape.rows) * shape.classes // shape.rows
    return (sp.csr_array(X) if shape.is_sparse else X), y


def main() -> None:
    task = json.loads(sys.argv[1])
    shape = Shape(**task["shape"])
    X, y = make_data(shape, task["seed"])
    # All libraries are loaded before.
    small = make_planted(30, [30, 30], rank=2, random_state=0)
    CSalt(random_state=0).fit(small.X, small.y)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    found = {"estimate": estimate(X, shape.classes, wide.SAMPLE_CELLS, shape.algorithm == "saltmine")}
    try:
        CSalt(random_state=0, algorithm=shape.algorithm, max_iter=200, max_memory=task["limit"]).fit(X, y)
        found["peak"] = _status("VmHWM") - before
    except MemoryLimitError:
        pass
    print(json.dumps(found))


def _status(name: str) -> int:
    """Return a size of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10


if __name__ == "__main__":
    main()
