"""Mutants of Python code: mutmut makes them and runs the tests that come by the changed function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.mutants.groups import COPIED, FAST, GROUPS, KILLED, SURVIVED, copy_project

# Tests of what a fresh process imports see the imports of mutmut.
_LEFT_OUT = ["tests/data/test_lazy.py::test_is_lazy_is_cheap_and_knows_what_is_not"]
# Exit codes of mutmut: tests pass, or none comes by. All others are failures, crashes, and runs without end.
_UNNOTICED = {0: SURVIVED, 33: SURVIVED}
# Time was over. It is measured by the clock too, so these are tried again: the machine may have had other things to do.
_TOO_LONG = {-24, 24, 36, 152, 255}


def try_python(name: str, sample: int, seed: int) -> Iterator[dict[str, Any]]:
    """Try a sample of the mutants of a group; yield what became of each."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy_project(folder)
        _configure(folder, name)
        # Before all mutants are made there are no names; so a few that nobody has are asked for.
        _mutmut(folder, "run", "--max-children", "1", "saltmine.none*")
        everything = sorted(_exit_codes(folder))
        chosen = Random(f"{seed} {name}").sample(everything, min(sample, len(everything)))
        print(f"{name}: {len(everything):,} mutants of Python", file=sys.stderr, flush=True)
        _mutmut(folder, "run", "--max-children", "1", *chosen)
        codes = _exit_codes(folder)
        if slow := [mutant for mutant in chosen if codes[mutant] in _TOO_LONG]:
            _mutmut(folder, "run", "--max-children", "1", *slow)
            codes = _exit_codes(folder)
        for mutant in chosen:
            code = codes[mutant]
            end = _UNNOTICED.get(code, KILLED) if code is not None else "not tried"
            shown = _mutmut(folder, "show", mutant) if end == SURVIVED else ""
            yield {"end": end, "code": code, "mutant": mutant, "change": shown, "of": len(everything)}


def _configure(folder: Path, name: str) -> None:
    deselected = [option for test in _LEFT_OUT for option in ("--deselect", test)]
    settings = {
        "source_paths": list(GROUPS[name].python),
        "also_copy": list(COPIED),
        "pytest_add_cli_args_test_selection": list(GROUPS[name].tests),
        "pytest_add_cli_args": [*FAST, *deselected],
        # Tests leave threads behind, which a copy of their process would wait for.
        "process_isolation": "forkserver",
        # A mutant may take five times as long as all of its tests and 20 seconds.
        "timeout_multiplier": 5.0,
        "timeout_constant": 20.0,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as stream:
        stream.write("\n[tool.mutmut]\n" + "\n".join(lines) + "\n")


def _mutmut(folder: Path, *arguments: str) -> str:
    # The changed code is found before the installed one; a path with the code as it is would come before both.
    environment = {**os.environ, "PYTHONPATH": str(folder / "start")}
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    if "failed to collect stats" in done.stdout or "No module named mutmut" in done.stderr:
        sys.exit(f"mutmut cannot run the tests: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def _exit_codes(folder: Path) -> dict[str, int | None]:
    """Return all mutants and what became of each; None for those that were not tried."""
    codes: dict[str, int | None] = {}
    for file in (folder / "mutants").rglob("*.meta"):
        codes |= json.loads(file.read_text("utf-8"))["exit_code_by_key"]
    return codes
