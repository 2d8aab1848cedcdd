"""Files that were changed at random or made to be harmful, and runs that were killed: how each of them ended."""

from __future__ import annotations

import tempfile
from pathlib import Path

from experiments.experiment import Row

FILES_PER_RUN = 1000
MODELS_PER_RUN = 1000
KILLS_PER_RUN = 50


def changed_files(name: str, seed: int, data: Path) -> Row:
    """Read changed files of a format, and count how it ended."""
    from fuzz.running import run
    from fuzz.trial import FINDINGS, READ, REFUSED

    found = run([name], seed=seed, files=FILES_PER_RUN)[name]
    return {"tried": found.tried, **{kind: found.kinds[kind] for kind in (READ, REFUSED, *FINDINGS)}}


def bombs(name: str, seed: int, data: Path) -> Row:
    """Read a small file that claims to be, or unpacks to, something very large."""
    from fuzz.bombs import BOMBS, MAX_BYTES, MAX_SECONDS, read_bomb

    [bomb] = [bomb for bomb in BOMBS if bomb.name == name]
    with tempfile.TemporaryDirectory() as folder:
        what, outcome = read_bomb(bomb, Path(folder))
    return {
        "what": what,
        "seconds": round(outcome.seconds, 2),
        "megabytes": outcome.n_bytes >> 20,
        "said": outcome.said[:300],
        "exceeds": outcome.n_bytes > MAX_BYTES or outcome.seconds > MAX_SECONDS,
        "unclear": not outcome.is_bounded,
    }


def model_files(name: str, seed: int, data: Path) -> Row:
    """Load and use model files that were made to be harmful, and count how it ended."""
    from tests.helpers.crafted_models import run

    report = run(MODELS_PER_RUN, seed)
    return {
        "tried": sum(report.results.values()),
        **{result: report.results[result] for result in ("loaded", "refused", "forbidden")},
        "wrong": len(report.wrong) - report.results["forbidden"],
        "seconds": round(report.slowest[0], 1),
        "megabytes": report.largest[0] >> 20,
    }


def kills(name: str, seed: int, data: Path) -> Row:
    """Kill fits from the command line, and look at the results that are there afterwards."""
    from fuzz.kills import Place, try_kills

    with tempfile.TemporaryDirectory() as folder:
        found = try_kills(Place(Path(folder)), KILLS_PER_RUN, seed, lambda said: None)
    return {
        "tried": found["kills"],
        "old": found["old results"],
        "new": found["new results"],
        "mixed": found["mixed or lost"],
        "left": found["not mended by the next run"],
    }
