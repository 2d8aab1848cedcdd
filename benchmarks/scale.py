"""How time and memory of a fit grow with columns and with rows, and what a genome of full size takes.

    python -m benchmarks.scale                       # growth, written to out/scaling.csv and out/scaling.png
    python -m benchmarks.scale --quick               # without the largest sizes
    python -m benchmarks.scale --genome FOLDER       # a simulated genome: matrix.npz, samples.tsv, truth.*

Every size runs in a process of its own, so that its peak memory can be told; the compiled code is loaded before the
clock starts. Columns are genome-like: 56 samples of 18 patients in three classes, variants shared by relatives, and
planted programs that belong to a class. Rows are baskets: 200 items, ten planted patterns.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.genome import recovered
from experiments.measuring import timed
from experiments.planted import FIRST_SEED
from experiments.simulated_genomes import Program
from saltmine import CSalt
from saltmine.datasets import make_planted

COLUMNS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_700_000, 8_000_000)
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLASSES = np.array(["normal", "tumour", "relapse"])
PATIENTS = 18


def genome_like(n: int, seed: int) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return 56 samples of 18 patients with ``n`` variants: frequent among relatives, lost in 1 % of the calls."""
    rng = np.random.default_rng(seed)
    patient = np.concatenate([np.arange(PATIENTS), np.arange(PATIENTS), np.arange(PATIENTS), [7, 7]])
    tissue = np.repeat([0, 1, 2], [PATIENTS, PATIENTS, PATIENTS + 2])
    programs = [
        (tissue == rng.integers(3)) & np.isin(patient, rng.choice(PATIENTS, 7, replace=False)) for _ in range(8)
    ]
    parts = []
    for begin in range(0, n, 1 << 18):
        size = min(1 << 18, n - begin)
        # The number of carriers follows 1/k, and carriers are neighbours: relatives have more in common.
        carriers = np.minimum(np.exp(rng.uniform(0, np.log(PATIENTS), size)).astype(int), PATIENTS)
        first = rng.integers(PATIENTS, size=size)
        apart = (patient[:, None] - first) % PATIENTS
        part = (apart < carriers) ^ ((rng.random((56, size)) < 0.3) & (apart < carriers) & (apart > 0))[patient]
        owner = rng.integers(1000, size=size)
        for k, rows in enumerate(programs):
            part[:, owner == k] = rows[:, None]
        parts.append(sp.csc_array(part & (rng.random(part.shape) > 0.01)))
    return sp.csr_array(sp.hstack(parts)), CLASSES[tissue]


def baskets(m: int, seed: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return ``m`` rows of ten planted patterns on 200 items in two classes, each with its own noise."""
    rng = np.random.default_rng(seed)
    planted = make_planted(200, [500, 500], rank=10, noise=0.0, random_state=seed)
    drawn = rng.integers(len(planted.X), size=m)
    X = planted.X[drawn]
    for begin in range(0, m, 1 << 16):
        part = X[begin : begin + (1 << 16)]
        part ^= rng.random(part.shape) < 0.05
    return X, planted.y[drawn]


def measure(kind: str, size: int, seed: int = FIRST_SEED) -> dict[str, float]:
    """Fit once and say what it took; to be called in a process of its own."""
    make = genome_like if kind == "columns" else baskets
    CSalt(random_state=0).fit(*make(300 if kind == "columns" else 1_000, 1))
    X, y = make(size, seed)
    matrix = sp.csr_array(X)
    ones = int(matrix.nnz)
    stored = matrix.data.nbytes // matrix.data.itemsize + matrix.indices.nbytes + matrix.indptr.nbytes
    before = peak_mb()
    model, seconds = timed(lambda: CSalt(random_state=0).fit(matrix, y))
    return {
        "size": size,
        "ones": ones,
        "seconds": seconds,
        "input_mb": stored / 2**20,
        "before_mb": before,
        "peak_mb": peak_mb(),
        "patterns": model.n_components_,
    }


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(kind: str, size: int) -> dict[str, float]:
    """Measure in a process of its own."""
    run = [sys.executable, "-m", "benchmarks.scale", "--measure", kind, str(size)]
    answer = subprocess.run(run, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def growth(points: list[dict[str, float]]) -> float:
    """Return by how much the time per stored one grows at most, from any size to any larger one."""
    per_one = [point["seconds"] / point["ones"] for point in points]
    return max(later / earlier for k, earlier in enumerate(per_one) for later in per_one[k:])


def draw(found: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw time and memory against the number of columns and rows."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for kind, points in found.items():
        sizes = [point["size"] for point in points]
        label = "56 rows, more columns" if kind == "columns" else "200 columns, more rows"
        axes[0].loglog(sizes, [point["seconds"] for point in points], "o-", label=label)
        axes[1].loglog(sizes, [point["peak_mb"] for point in points], "o-", label=f"{label}: peak")
        axes[1].loglog(sizes, [point["input_mb"] for point in points], ".:", label=f"{label}: sparse input")
    for axis, title in zip(axes, ("seconds of a fit", "MB"), strict=True):
        axis.set(xlabel="columns, or rows", title=title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=130)


def report_growth(quick: bool, folder: Path) -> None:
    """Measure all sizes, print them, and write table and picture."""
    found: dict[str, list[dict[str, float]]] = {}
    print(f"{'':8}{'size':>10}{'ones':>12}{'seconds':>9}{'input MB':>10}{'peak MB':>9}{'patterns':>10}")
    for kind, sizes in (("columns", COLUMNS), ("rows", ROWS)):
        found[kind] = []
        for size in sizes[: -3 if quick else None]:
            point = apart(kind, size)
            found[kind].append(point)
            print(
                f"{kind:8}{size:>10}{point['ones']:>12}{point['seconds']:>9.1f}{point['input_mb']:>10.0f}"
                f"{point['peak_mb']:>9.0f}{point['patterns']:>10}",
                flush=True,
            )
        print(f"{kind}: time per stored one grows by {growth(found[kind]):.2f} at most")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "scaling.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, ["kind", *found["rows"][0]])
        table.writeheader()
        table.writerows({"kind": kind, **point} for kind, points in found.items() for point in points)
    draw(found, folder / "scaling.png")


def read_genome(folder: Path) -> tuple[sp.csr_array, NDArray[Any], list[Program]]:
    """Return the matrix of a simulated genome, the classes of its rows, and the planted programs."""
    samples = [line.split("\t") for line in (folder / "samples.tsv").read_text().splitlines()]
    columns = np.load(folder / "truth.npz")
    programs = json.loads((folder / "truth.json").read_text())
    nobody = np.array([], dtype=np.intp)
    truth = [Program(tuple(one["cls"]), columns[f"{one['id']}_{one['cls']}"], nobody) for one in programs]
    return sp.csr_array(sp.load_npz(folder / "matrix.npz")), np.array([row[2] for row in samples]), truth


def report_genome(folder: Path, seeds: int) -> None:
    """Fit a simulated genome, and compare with reading it and with what was planted."""
    CSalt(random_state=0).fit(*genome_like(300, 1))
    (X, y, truth), reading = timed(lambda: read_genome(folder))
    stored = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    print(
        f"{X.shape[0]} x {X.shape[1]}, {X.nnz} ones: read in {reading:.1f} s, {stored:.0f} MB, peak {peak_mb():.0f} MB"
    )
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        model, seconds = timed(partial(CSalt(random_state=seed).fit, X, y))
        planted, hits, claimed = np.sum(recovered(model, truth), axis=0)
        print(
            f"seed {seed}: {seconds:.0f} s = {seconds / reading:.0f} x reading; {model.n_components_} patterns; peak "
            f"{peak_mb():.0f} MB = {peak_mb() / stored:.1f} x the input; recall {hits / planted:.3f}, "
            f"precision {hits / max(claimed, 1):.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the three largest sizes")
    parser.add_argument("--genome", type=Path, help="folder of a simulated genome")
    parser.add_argument("--seeds", type=int, default=3, help="fits of the genome")
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), help="folder for table and picture")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], int(arguments.measure[1]))))
    elif arguments.genome:
        report_genome(arguments.genome, arguments.seeds)
    else:
        report_growth(arguments.quick, arguments.output)


if __name__ == "__main__":
    main()
