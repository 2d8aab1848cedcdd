"""Fits from the command line with little memory: success, one clear sentence, or anything else."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import saltmine
from experiments.experiment import Row
from saltmine.datasets import make_planted

LIMITS = (0.4, 0.5, 0.7, 1.0, 1.2, 1.5, 2.0)
SIZES = {"200 x 50": (200, 50), "20,000 x 300": (20_000, 300)}
CASES = [f"{size}, {limit} GB" for size in SIZES for limit in LIMITS]
SUCCESS, SENTENCE, OTHER = "success", "a sentence", "anything else"

_RESULTS = ("model.salt", "report.html", "patterns.csv")
_MAX_SECONDS = 900


def fit_with_little_memory(name: str, seed: int, data: Path) -> Row:
    """Run ``saltmine fit`` on a table of some size while its process may have so much memory, and say how it ended."""
    size, _, limit = name.removesuffix(" GB").rpartition(", ")
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(Path(folder), *SIZES[size], seed)
        begin = time.perf_counter()
        done = run_limited(["fit", str(table), "--target", "class", "-o", f"{folder}/out"], float(limit))
        seconds = time.perf_counter() - begin
        complete = all((Path(folder) / "out" / result).exists() for result in _RESULTS)
    ending = classify(done, complete)
    return {"ending": ending, "status": done.returncode, "said": done.stderr[-500:], "seconds": round(seconds, 1)}


def write_table(folder: Path, n_rows: int, n_columns: int, seed: int) -> Path:
    """Write a table with planted patterns; return its path."""
    planted = make_planted(n_columns, [n_rows // 2, n_rows // 2], rank=5, noise=0.05, random_state=seed)
    frame = pd.DataFrame(planted.X.astype(np.int8), columns=[f"item{k}" for k in range(n_columns)])
    path = folder / "table.csv"
    frame.assign(**{"class": np.array(["one", "two"])[planted.y]}).to_csv(path, index=False)
    return path


def run_limited(arguments: list[str], gigabytes: float) -> subprocess.CompletedProcess[str]:
    """Run the command in a process whose addresses are limited."""
    n_bytes = int(gigabytes * 1e9)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    source = str(Path(saltmine.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "saltmine", *arguments],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_MAX_SECONDS,
        preexec_fn=limit,
    )


def classify(done: subprocess.CompletedProcess[str], complete: bool) -> str:
    """Return how a command ended: with all results, with one sentence on standard error, or in another way."""
    if done.returncode == 0:
        return SUCCESS if complete else OTHER
    lines = done.stderr.strip().splitlines()
    is_sentence = len(lines) == 1 and lines[0].endswith(".") and done.returncode in (1, 2) and not complete
    return SENTENCE if is_sentence else OTHER


def memory_table(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return a line per limit and the endings of every size."""
    parts = runs["case"].str.removesuffix(" GB").str.rpartition(", ")
    runs = runs.assign(size=parts[0], limit=parts[2].astype(float))
    sizes = [size for size in SIZES if (runs["size"] == size).any()]
    lines = []
    for limit in sorted(runs["limit"].unique()):
        of_limit = runs[runs["limit"] == limit]
        endings = [", ".join(sorted(set(of_limit["ending"][of_limit["size"] == size]))) or "-" for size in sizes]
        lines.append([f"{limit} GB", *endings])
    return ["memory", *sizes], lines
