"""Files that were changed at random or made to be harmful, and runs that were killed: how each of them ended."""

from __future__ import annotations

import tempfile
from pathlib import Path

from experiments.experiment import Row, SkipTask

FILES_PER_RUN = 5000
MODELS_PER_RUN = 1000
KILLS_PER_RUN = 100


def changed_files(name: str, seed: int, data: Path) -> Row:
    """Read changed files of a format, and count how it ended."""
    from fuzz.running import run
    from fuzz.trial import FINDINGS, READ, REFUSED

    found = run([name], seed=seed, files=FILES_PER_RUN)[name]
    return {"tried": found.tried, **{kind: found.kinds[kind] for kind in (READ, REFUSED, *FINDINGS)}}


def model_files(name: str, seed: int, data: Path) -> Row:
    """Load and use model files that were made to be harmful, and count how it ended."""
    try:
        from fuzz.model_files import run  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise SkipTask("fuzz/model_files.py is not here") from None
    report = run(MODELS_PER_RUN, seed)
    fine = {"refused", "loaded"}
    return {
        "tried": sum(report.results.values()),
        **{result: report.results[result] for result in sorted(fine)},
        "forbidden": report.results["forbidden"],
        "wrong": len(report.wrong) - report.results["forbidden"],
        "seconds": round(report.slowest[0], 1),
        "megabytes": round(report.largest[0] / 1e6),
    }


def kills(name: str, seed: int, data: Path) -> Row:
    """Kill fits from the command line, and look at the results that are there afterwards."""
    try:
        from fuzz.kills import Place, try_kills  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise SkipTask("fuzz/kills.py is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        found = try_kills(Place(Path(folder)), KILLS_PER_RUN, seed, lambda said: None)
    return {
        "tried": found["kills"],
        "old": found["old results"],
        "new": found["new results"],
        "mixed": found["mixed or lost"],
        "left": found["not mended by the next run"],
    }
