"""Load and use crafted model files (`fuzz.model_files`) under guard.

    python -m tests.helpers.crafted_models --count 5000 --seed 0

A file may be refused (`ModelFileError`) or loaded. What was loaded is then used: tables, summary, report, new rows, a
copy of the file, and a fit with its parameters. Each file has a process of its own, in which no file but the model and
the results may be opened, nothing be imported, compiled or unpickled, and no connection be made.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from fuzz.model_files import crafted_files
from fuzz.real_models import bases, small_data
from saltmine import CSalt, Dbssl, load
from saltmine.fitted.model_file import ModelFileError

# Seconds of the processor; on the clock it may be more, as others may be using the machine.
MAX_SECONDS, MAX_ON_CLOCK, MAX_BYTES = 20.0, 300.0, 2 << 30
# Parameters that say how much work a fit is. They are up to whoever fits, so the run sets them to little.
LITTLE_WORK = {"n_restarts": 1, "max_iter": 50, "rank": 3, "ranks": 3, "constellations": [2], "max_candidates": 100}
# What must not happen: connections, programs, code, and whatever would come from a pickle or a foreign library.
PROGRAMS = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "ctypes.dlopen")
FORBIDDEN = (*PROGRAMS, "pickle.", "marshal.", "import", "exec", "compile", "code.__new__", "shutil.")
# What may happen where results are written: the events, and which of their arguments are a path and its folder.
WRITING: dict[str, list[tuple[int, int | None]]] = {
    "os.mkdir": [(0, 2)],
    "os.rmdir": [(0, 1)],
    "os.remove": [(0, 1)],
    "os.rename": [(0, 2), (1, 3)],
    "os.link": [(0, 2), (1, 3)],
    "os.symlink": [(1, 2)],
    "os.chmod": [(0, 2)],
    "os.chown": [(0, 3)],
    "os.utime": [(0, 3)],
    "os.truncate": [(0, None)],
    "shutil.rmtree": [(0, 1)],
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """Notes every event that a model file must not cause; once installed it stays.

    Files may be read and written in the folders ``allowed``, and read in ``readable``.
    """

    def __init__(self) -> None:
        self.is_active = False
        self.allowed: tuple[str, ...] = ()
        self.readable: tuple[str, ...] = ()
        self.seen: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_active:
            return
        if event == "open":
            is_allowed = self._may_open(arguments[0], arguments[2])
        elif event in WRITING:
            folders = [None if at is None else arguments[at] for _, at in WRITING[event]]
            paths = [arguments[path] for path, _ in WRITING[event]]
            is_allowed = all(_is_in(*where, self.allowed) for where in zip(paths, folders, strict=True))
        else:
            is_allowed = not event.startswith(FORBIDDEN)
        if not is_allowed:
            self.seen.append(f"{event} {str(arguments)[:80]}")

    def _may_open(self, path: Any, flags: int) -> bool:
        # A file that is open was seen when it was opened. What `shutil.rmtree` opens has a name relative to a folder
        # that the event does not tell, but it is in the tree that was seen.
        if isinstance(path, int) or sys._getframe(2).f_code.co_filename == shutil.__file__:
            return True
        return _is_in(path, None, self.allowed if flags & _WRITES else (*self.allowed, *self.readable))


def _is_in(path: Any, folder: int | None, allowed: tuple[str, ...]) -> bool:
    """Return whether a path, which may be relative to an open folder, is one of the allowed ones or in one of them."""
    base = os.getcwd() if folder in (None, -1) else os.readlink(f"/proc/self/fd/{folder}")
    whole = os.path.normpath(os.path.join(base, os.fsdecode(path)))
    return any(whole == place or whole.startswith(place + os.sep) for place in allowed)


def use(path: Path, folder: Path) -> None:
    """Load a model and do with it what one does with models; results go to the folder."""
    model = load(path)
    model.patterns()
    summary = model.summary()
    str(summary), summary.table, summary.told_differences
    model.report(folder / "report.html")
    model._repr_html_inner()
    model.get_feature_names_out()
    n = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    rows: Any = np.random.default_rng(0).random((max(1, min(7, 10**7 // n)), n)) < 0.5
    rows = rows if names is None else pd.DataFrame(rows, columns=names)
    model.inverse_transform(model.transform(rows))
    if hasattr(model, "predict"):
        model.predict(rows)
        model.predict_proba(rows)
    model.save(folder / "again.salt")
    load(folder / "again.salt")
    little = {name: value for name, value in LITTLE_WORK.items() if name in model.get_params()}
    again = clone(model).set_params(**little)
    if "subsets" in model.get_params():
        again.set_params(subsets=None)
    again.fit(*small_data(2))


class Outcome(NamedTuple):
    """What came of a file: "refused", "loaded", or what went wrong."""

    result: str
    detail: str
    seconds: float
    n_bytes: int


def try_file(content: bytes, folder: Path, guard: Guard) -> Outcome:
    """Load and use a file in a process of its own."""
    path = folder / "model.salt"
    path.write_bytes(content)
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        # Far above what is allowed, so that a file that takes more cannot take the machine.
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        os.write(writing, json.dumps(_guarded(path, folder, guard)).encode())
        os._exit(0)
    os.close(writing)
    in_time = bool(select.select([reading], [], [], MAX_ON_CLOCK)[0])
    if not in_time:
        os.kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process, 0)
    seconds = usage.ru_utime + usage.ru_stime
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read()
    n_bytes = usage.ru_maxrss * 1024
    if not in_time or seconds > MAX_SECONDS:
        return Outcome("too slow", f"{seconds:.0f} s of the processor", seconds, n_bytes)
    if not answer:
        return Outcome("crashed", f"status {status}", seconds, n_bytes)
    result, detail = json.loads(answer)
    if n_bytes > MAX_BYTES:
        result, detail = "too large", f"{n_bytes / 1e6:,.0f} MB; {result}: {detail}"
    return Outcome(result, detail, seconds, n_bytes)


def _guarded(path: Path, folder: Path, guard: Guard) -> tuple[str, str]:
    """Return what comes of a file in this process."""
    guard.is_active = True
    try:
        use(path, folder)
        result, detail = "loaded", ""
    except ModelFileError as error:
        result, detail = "refused", str(error)
        if len(detail.splitlines()) > 1 or len(detail) > 700:
            result = "no sentence"
    except BaseException as error:
        guard.is_active = False
        result, detail = type(error).__name__, traceback.format_exc()[-1500:]
    guard.is_active = False
    if guard.seen:
        result, detail = "forbidden", f"{guard.seen[:5]} ({result})"
    return result, detail


class Report(NamedTuple):
    """How often each result came, what went wrong, and the files that took the most seconds and bytes."""

    results: Counter[str]
    wrong: list[str]
    slowest: tuple[float, str]
    largest: tuple[int, str]


def run(count: int, seed: int, keep: Path | None = None) -> Report:
    """Try so many files; those that went wrong are kept in a folder where one is given."""
    warnings.simplefilter("ignore")
    results, wrong, slowest, largest = Counter[str](), list[str](), (0.0, ""), (0, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        guard = Guard()
        assets = str(Path(sys.modules["saltmine"].__file__ or "").parent / "report" / "assets")
        # The last is what a fit reads to count threads.
        guard.allowed, guard.readable = (str(folder),), (assets, "/proc/self/maps")
        # Everything that models and fits need is imported now.
        Dbssl(ranks=2).fit(*small_data())
        CSalt(algorithm="paper", max_iter=20).fit(*small_data())
        for base in bases():
            (folder / "model.salt").write_bytes(base.content)
            use(folder / "model.salt", folder)
        files = crafted_files(seed)
        for number in range(count):
            description, content = next(files)
            outcome = try_file(content, folder, guard)
            results[outcome.result] += 1
            slowest = max(slowest, (outcome.seconds, description))
            largest = max(largest, (outcome.n_bytes, description))
            must_load = description.startswith("whole_model")
            if outcome.result not in ("refused", "loaded") or (must_load and outcome.result != "loaded"):
                wrong.append(f"{number}: {description}: {outcome.result}: {outcome.detail}")
                if keep is not None:
                    (keep / f"{seed}-{number}.salt").write_bytes(content)
    return Report(results, wrong, slowest, largest)


def main() -> None:
    """Run from the command line; the exit code is 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files that went wrong")
    given = parser.parse_args()
    report = run(given.count, given.seed, given.keep)
    for line in report.wrong:
        print(line)
    print(f"{given.count:,} files: {', '.join(f'{n:,} {result}' for result, n in report.results.most_common())}")
    print(f"at most {report.slowest[0]:.1f} s ({report.slowest[1]})")
    print(f"at most {report.largest[0] / 1e6:,.0f} MB ({report.largest[1]})")
    sys.exit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
