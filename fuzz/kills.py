"""Kill ``saltmine fit`` at every step of its end and at random moments, and look at what is left of the results.

Every run has data of its own, whose items and rows carry the number of the run, so that every file of the results tells
which run it is of. After a kill the folder has to hold all results of the killed run or all of the one before; files of
the user have to be as they were; and the next complete run has to remove what the killed ones left.

    python -m fuzz.kills --kills 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from saltmine import load
from saltmine.cli import fit as _  # noqa: F401  # imported once, before the processes are forked
from saltmine.cli.main import cli
from saltmine.cli.results import FILES, MODEL, REPORT, SUMMARY

# Before each of these, Python tells its audit hooks. Opening is among them, since it may make a file.
STEPS = {"os.rename", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.remove", "open", "fcntl.flock"}
ROWS, ITEMS = 40, 12
_RUN = re.compile(r"run(\d+)x")


class Broken(AssertionError):
    """The folder holds what it must not hold."""


@dataclass
class Place:
    """A folder of results with files of the user, and the data that goes there."""

    root: Path
    runs: int = 0
    own: dict[str, tuple[int, int, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "mine").mkdir(parents=True)
        for name in ("notes.txt", ".hidden", "mine/table.csv"):
            (self.folder / name).write_text(f"{name} of the user")
        (self.folder / "link.txt").symlink_to("notes.txt")
        self.own = self._files_of_user()

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return self.root / "out"

    def next_data(self) -> Path:
        """Write the data of another run; its items and rows carry its number."""
        self.runs += 1
        rng, mark = np.random.default_rng(self.runs), f"run{self.runs}x"
        cells = rng.random((ROWS, ITEMS)) < 0.1
        cells[: ROWS // 2, :4] = cells[ROWS // 2 :, 4:8] = True
        path = self.root / f"{mark}.csv"
        lines = [",".join(["name", "class", *(f"{mark}i{k}" for k in range(ITEMS))])]
        for number, row in enumerate(cells):
            label = "a" if number < ROWS // 2 else "b"
            lines.append(",".join([f"{mark}r{number}", label, *map(str, row.astype(int))]))
        path.write_text("\n".join(lines) + "\n")
        return path

    def results_of(self) -> int | None:
        """Return the number of the run whose results are there, None if there are none; raise if they are broken."""
        there = [name for name in FILES if (self.folder / name).exists()]
        if self._files_of_user() != self.own:
            raise Broken("files of the user have changed")
        if not there:
            return None
        if len(there) < len(FILES):
            raise Broken(f"only {', '.join(there)} are there")
        marks = {name: set(map(int, _RUN.findall(self._text(name)))) for name in FILES}
        if len(set.union(*marks.values())) != 1 or not all(marks.values()):
            raise Broken(f"the results are of several runs: {marks}")
        return marks[MODEL].pop()

    def leftovers(self) -> list[str]:
        """Return what is in the folder beside plain files of results and the files of the user."""
        known = {"mine", *(name for name in self.own if "/" not in name)}
        plain = {name for name in FILES if not (self.folder / name).is_symlink()}
        return sorted({path.name for path in self.folder.iterdir()} - known - plain)

    def _text(self, name: str) -> str:
        """Return the contents of a complete file as text; raise if it is not complete."""
        path = self.folder / name
        if name == MODEL:
            model = load(path)
            return " ".join(map(str, [*model.patterns()["item"], model.about_["source"]]))
        text = path.read_text()
        if name == SUMMARY:
            json.loads(text)
        if not text.rstrip().endswith("</html>" if name == REPORT else ("}" if name == SUMMARY else "")):
            raise Broken(f"{name} is not complete")
        return text

    def _files_of_user(self) -> dict[str, tuple[int, int, bytes]]:
        paths = [self.folder / name for name in ("notes.txt", ".hidden", "mine/table.csv", "link.txt")]
        return {
            str(path.relative_to(self.folder)): (path.lstat().st_ino, path.lstat().st_mtime_ns, path.read_bytes())
            for path in paths
            if path.exists()
        }


def run_fit(place: Place, watch: Callable[[int], None] | None = None, delay: float | None = None) -> int:
    """Run ``saltmine fit`` in a process of its own, and return its status.

    ``watch`` is called there before every step that changes the folder, with the number of the step. After ``delay``
    seconds the process is killed.
    """
    data = place.next_data()
    child = os.fork()
    if child == 0:
        _fit(place, data, watch)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _fit(place: Place, data: Path, watch: Callable[[int], None] | None) -> None:
    """Run the command and end the process."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if watch is not None:
        inside, count = str(place.folder), 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            if event in STEPS and (event != "open" or str(arguments[0]).startswith(inside)):
                count += 1
                watch(count)

        sys.addaudithook(hook)
    options = ["--target", "class", "--row-names", "name", "--quiet", "--output", str(place.folder)]
    try:
        cli(["fit", str(data), *options], prog_name="saltmine")
    except SystemExit as end:
        os._exit(int(end.code or 0))


def count_steps(place: Place) -> int:
    """Return how many steps of a complete run change the folder."""
    counts = place.root / "steps"

    def write(number: int) -> None:
        counts.write_text(str(number))

    check_complete(place, run_fit(place, write))
    return int(counts.read_text())


def kill_at(step: int) -> Callable[[int], None]:
    """Return a function that kills its process before a step."""

    def watch(number: int) -> None:
        if number == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


def check_complete(place: Place, status: int) -> None:
    """Raise unless a run ended well, with its results in the folder and nothing else."""
    if status:
        raise Broken(f"a complete run ended with status {status}")
    if place.results_of() != place.runs:
        raise Broken("the results are not those of the last complete run")
    if left := place.leftovers():
        raise Broken(f"after a complete run there is still {', '.join(left)}")


def complete_run(place: Place) -> float:
    """Run to the end, check what is left, and return the seconds that it took."""
    begin = time.perf_counter()
    status = run_fit(place)
    seconds = time.perf_counter() - begin
    check_complete(place, status)
    return seconds


def try_kills(place: Place, kills: int, seed: int, say: Callable[[str], None]) -> Counter[str]:
    """Kill that many runs; return how many left the old results, how many the new ones, and what was broken.

    The first kills are at every step of a run, the others at random steps and moments. After one kill in four, further
    runs are killed before one runs to its end.
    """
    rng, found = random.Random(seed), Counter[str]()
    check_complete(place, run_fit(place))
    seconds, steps = complete_run(place), count_steps(place)
    say(f"A run takes {seconds:.2f} seconds and {steps} steps.")
    every = rng.sample(range(1, steps + 1), steps)
    while found["kills"] < kills:
        for _repeat in range(rng.randint(2, 3) if rng.random() < 0.25 else 1):
            before = place.results_of()
            if every:
                status = run_fit(place, kill_at(every.pop()))
            elif rng.random() < 0.5:
                status = run_fit(place, kill_at(rng.randint(steps // 2, steps)))
            else:
                status = run_fit(place, delay=rng.uniform(0, 1.1 * seconds))
            found["kills" if os.WIFSIGNALED(status) else "ended before the kill"] += 1
            try:
                after = place.results_of()
                if after not in (before, place.runs):
                    raise Broken(f"the results are of run {after}, not of {before} or {place.runs}")
                found["new results" if after == place.runs else "old results"] += 1
                found["kills that left something behind"] += bool(place.leftovers())
            except Broken as broken:
                found["mixed or lost"] += 1
                say(f"run {place.runs}: {broken}")
        try:
            seconds = min(seconds, complete_run(place))
        except Broken as broken:
            found["not mended by the next run"] += 1
            say(f"run {place.runs}: {broken}")
    return found


def main() -> None:
    """Run the command; exit with code 1 if anything was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        found = try_kills(Place(Path(root)), given.kills, given.seed, lambda text: print(text, flush=True))
    for what in ("mixed or lost", "not mended by the next run"):
        found[what] += 0
    for what, count in found.items():
        print(f"{what}: {count}")
    sys.exit(bool(found["mixed or lost"] or found["not mended by the next run"]))


if __name__ == "__main__":
    main()
