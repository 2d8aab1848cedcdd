"""What comes before the second fit: building the core, loading it, and whatever is compiled at the first fit."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.scale import genome_like
from benchmarks.speed.older import NAME, ROOT, older_folder
from experiments.experiment import Row, SkipTask
from experiments.measuring import timed

LARGE_COLUMNS = 400_000
FIRST_FIT = Path(__file__).with_name("first_fit.py")


def first_fit(name: str, seed: int, data: Path) -> Row:
    """Measure the first fits of a fresh installation, and of the next process.

    A fresh installation is a process whose folder for compiled code is empty. The case is "older" or "newer";
    "newer, small" leaves out the large fit.
    """
    which, _, small = name.partition(", ")
    path, package = (str(older_folder()), NAME) if which == "older" else ("", "saltmine")
    with tempfile.TemporaryDirectory() as scratch:
        large = [] if small else _write_large(Path(scratch), seed)
        fresh, warm = (_run(path, Path(scratch), [package, *files]) for files in (large, []))
    return {
        "first": round(fresh["first"][0], 3),
        "large": round(fresh["large"][0], 3) if large else None,
        "second": round(fresh["second"][0], 3),
        "loading": round(warm["first"][0] - warm["second"][0], 3),
        "first_clock": round(fresh["first"][1], 3),
        "loading_clock": round(warm["first"][1] - warm["second"][1], 3),
    }


def _write_large(folder: Path, seed: int) -> list[str]:
    X, y = genome_like(LARGE_COLUMNS, seed)
    sp.save_npz(folder / "large.npz", X, compressed=False)
    np.save(folder / "labels.npy", y)
    return [str(folder / "large.npz"), str(folder / "labels.npy")]


def _run(path: str, scratch: Path, arguments: list[str]) -> dict[str, Any]:
    cache = scratch / "compiled"
    cache.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, str(FIRST_FIT), *arguments]
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise SkipTask(f"{arguments[0]} cannot be fitted: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def building(name: str, seed: int, data: Path) -> Row:
    """Measure how long a wheel takes, as an installation builds it, when all that the build needs is installed."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT)]
    with tempfile.TemporaryDirectory() as scratch:
        build += ["--wheel-dir", scratch, f"-Cbuild-dir={scratch}/build"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done, seconds = timed(lambda: subprocess.run(build, capture_output=True, text=True))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SkipTask(done.stderr.strip().splitlines()[-1])
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in (ROOT / "core").rglob("*.?pp"))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "lines": lines}
