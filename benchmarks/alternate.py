"""How long fits take with several installations of saltmine, in processes that alternate.

    python -m benchmarks.alternate before=/path/to/other/python now=.venv/bin/python v3=.venv/bin/python,SALTMINE_CPU=v3

Every round starts one process for each installation and case. The least seconds of all rounds are compared, by the
clock and of the processors: what else the machine does can only add to them. The first installation is what others are
compared with. ``calls`` is not a fit but calls of small compiled functions, in microseconds each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "out" / "alternate"
TABLES = ROOT.parent / "shared" / "data" / "tables"
CASES = ("calls", "planted", "genome", "kr_vs_kp", "adult")


def store(case: str, seed: int) -> bool:
    """Write the data of a case to a file that every installation reads; return whether there is any."""
    path = FOLDER / f"{case}-{seed}.npz"
    X: Any
    y: Any
    FOLDER.mkdir(parents=True, exist_ok=True)
    if case == "calls" or path.exists():
        return True
    if case == "planted":
        from saltmine.datasets import make_planted

        planted = make_planted(800, [500, 500], 24, random_state=seed)
        X, y = sp.csr_array(planted.X), planted.y
    elif case == "genome":
        from experiments.simulated_genomes import simulate_genomes

        genomes = simulate_genomes(3e8, random_state=seed)
        X, y = genomes.X, genomes.y
    elif (TABLES / case).is_dir():
        X = sp.load_npz(TABLES / case / "X.npz")
        y = np.array((TABLES / case / "y.txt").read_text().splitlines())
    else:
        return False
    sp.save_npz(path, sp.csr_array(X))
    np.save(path.with_suffix(".npy"), np.asarray(y, dtype=str))
    return True


def measure(case: str, seed: int) -> dict[str, Any]:
    """Return seconds of one fit, or microseconds of calls, with the installation of this process."""
    if case == "calls":
        return _calls()
    from saltmine import CSalt

    X = sp.load_npz(FOLDER / f"{case}-{seed}.npz")
    y = np.load(FOLDER / f"{case}-{seed}.npy")
    cells = sp.csr_array(X) if case == "genome" else X.toarray().astype(bool)
    # What is loaded at the first fit is not measured.
    CSalt(random_state=0).fit(np.eye(20, dtype=bool), np.arange(20) % 2)
    begin, cpu = time.perf_counter(), time.process_time()
    model = CSalt(random_state=seed).fit(cells, y)
    return {
        "clock": time.perf_counter() - begin,
        "cpu": time.process_time() - cpu,
        "patterns": int(model.n_components_),
        "length": float(model.description_length_),
    }


def _calls() -> dict[str, Any]:
    try:
        from saltmine import _core as core
    except ImportError:  # before it was an extension module
        from saltmine import native as core  # type: ignore[attr-defined,no-redef]
    counts, sizes = np.array([3, 4, 5]), np.ones((3, 2), dtype=np.int64)
    works = [lambda: core.min_rows(5), lambda: core.join_strata(counts), lambda: core.log_p_values(sizes, sizes)]
    best = [min(timeit.repeat(work, number=2000, repeat=7)) / 2000 * 1e6 for work in works]
    return {"clock": sum(best), "cpu": sum(best), "calls": [round(each, 2) for each in best]}


def _start(installation: str, case: str, seed: int) -> dict[str, Any]:
    python, *settings = installation.split(",")
    environment = {**os.environ, **dict(setting.split("=", 1) for setting in settings)}
    # By its path, and from a folder without sources: the installation is the only saltmine that there is.
    command = [os.path.abspath(python), str(Path(__file__).resolve()), "--measure", case, "--seed", str(seed)]
    done = subprocess.run(command, env=environment, cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Compare installations, or measure one case in this process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("installations", nargs="*", help="name=python, or name=python,VARIABLE=value")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--measure", choices=CASES, help="measure this in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.seed)))
        return
    named = dict(each.split("=", 1) for each in options.installations)
    if not named:
        parser.error("name at least one installation")
    for case in options.cases:
        if not store(case, options.seed):
            print(f"{case}: left out, as there is no such table")
            continue
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in named}
        for _ in range(options.rounds):
            for name, installation in named.items():
                runs[name].append(_start(installation, case, options.seed))
        least = {
            name: {kind: min(run[kind] for run in found) for kind in ("clock", "cpu")} for name, found in runs.items()
        }
        first = next(iter(least.values()))
        for name, found in least.items():
            ratios = " ".join(f"{kind} {found[kind]:8.3f} ({found[kind] / first[kind]:.2f} x)" for kind in found)
            more = {kind: value for kind, value in runs[name][0].items() if kind not in found}
            print(f"{case:10} {name:10} {ratios}  {more}", flush=True)


if __name__ == "__main__":
    main()
