"""A genome of full size: the time of a fit against that of reading, and its peak memory against the input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.scale import genome_like, peak_mb
from benchmarks.speed.older import ROOT
from benchmarks.speed.timing import cpu_timed
from experiments.experiment import Row
from experiments.genome_page import WHOLE
from experiments.measuring import timed
from experiments.simulated_genomes import simulate_genomes
from saltmine import CSalt

BASES = {"whole": WHOLE, "a tenth": WHOLE / 10, "a thousandth": WHOLE / 1000}
FOLDER = ROOT / "out" / "genomes"


def whole_genome(name: str, seed: int, data: Path) -> Row:
    """Measure a simulated genome in a process of its own, so that its peak memory can be told."""
    path = FOLDER / f"{name.replace(' ', '-')}-{seed}.npz"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        genomes = simulate_genomes(BASES[name], random_state=seed, n_jobs=-1)
        np.save(path.with_suffix(".npy"), genomes.y)
        sp.save_npz(path, genomes.X)
    command = [sys.executable, "-m", "benchmarks.speed.whole_genome", str(path), str(seed)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(path: Path, seed: int) -> dict[str, Any]:
    """Read a matrix and fit it."""
    CSalt(random_state=0).fit(*genome_like(300, 1))
    X, reading = timed(lambda: sp.csr_array(sp.load_npz(path)))
    y = np.load(path.with_suffix(".npy"))
    stored = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    (model, cpu), seconds = timed(lambda: cpu_timed(lambda: CSalt(random_state=seed).fit(X, y)))
    return {
        "columns": X.shape[1],
        "ones": int(X.nnz),
        "reading": round(reading, 3),
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "input_mb": round(stored, 1),
        "peak_mb": round(peak_mb(), 1),
        "patterns": int(model.n_components_),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
