"""Finished runs on disk: one line each, written at once, so that an interrupted experiment can continue."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import saltmine
from experiments.experiment import Row, Task

FILE = "runs.jsonl"


class StoreError(ValueError):
    """The folder holds something other than runs of this experiment, or is in use."""


class Store:
    """The runs of one experiment in one folder.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()), "noise")
    >>> store.add({"method": "csalt", "seed": 1}, {"F": 0.9})
    >>> store.missing([{"method": "csalt", "seed": 1}, {"method": "csalt", "seed": 2}])
    [{'method': 'csalt', 'seed': 2}]
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.path = folder, name, folder / FILE
        self._code = {"version": saltmine.__version__, "commit": commit()}
        self.rows = self._read()

    def _read(self) -> list[Row]:
        """Read the stored runs; cut off a last line that was not finished."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            os.truncate(self.path, sum(map(len, lines[:-1])))
            lines.pop()
        return [self._row(line, number) for number, line in enumerate(lines, 1)]

    def _row(self, line: bytes, number: int) -> Row:
        try:
            row: Row = json.loads(line)
            name = row["experiment"]
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"Line {number} of {self.path} is no run; mend or remove it, or choose another folder (-o)."
            ) from None
        if name != self.name:
            raise StoreError(f"{self.folder} holds runs of '{name}'; choose another folder (-o).")
        return row

    def check_version(self) -> None:
        """Refuse to add to runs of another version; figures can still be made of them."""
        for row in self.rows:
            if row.get("version") != saltmine.__version__:
                raise StoreError(
                    f"{self.folder} holds runs of saltmine {row.get('version')}, and this is {saltmine.__version__}; "
                    "choose another folder (-o), or --force begins anew."
                )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other commands from adding runs to the folder at the same time."""
        try:
            import fcntl
        except ImportError:
            # Windows has no such locks; two commands in one folder are then not noticed.
            yield
            return
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(
                    f"Another command is at work in {self.folder}; wait for its end, or choose another folder (-o)."
                ) from None
            # Another command may have added some until just now.
            self.rows = self._read()
            yield

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that have no run yet."""
        return [task for task in tasks if not any(_is_of(row, task) for row in self.rows)]

    def add(self, task: Task, found: Row) -> None:
        """Write a run; when this returns, it is on the disk."""
        row = {"experiment": self.name, **task, **found, **self._code}
        line = json.dumps(row, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.rows.append(json.loads(line))


def back_up(folder: Path) -> None:
    """Keep the runs of a folder under another name, so that an experiment starts again and nothing is lost."""
    if (folder / FILE).exists():
        names = (folder / f"{FILE}.old{count or ''}" for count in itertools.count())
        os.replace(folder / FILE, next(name for name in names if not name.exists()))


def _is_of(row: Row, task: Task) -> bool:
    return all(row.get(key) == value for key, value in task.items())


def commit() -> str:
    """Return the commit of the code that runs, with a plus if it was changed since; "" outside of a repository."""
    package = Path(saltmine.__file__).parent

    def git(*arguments: str) -> str:
        call = ["git", "-C", str(package), *arguments]
        return subprocess.run(call, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        root = Path(git("rev-parse", "--show-toplevel"))
        # Of this folder only the code: stored runs are kept here too. It may be of another checkout than the package.
        code = [path for path in (package, Path(__file__).parent / "*.py") if path.is_relative_to(root)]
        changed = git("status", "--porcelain", "--", *map(str, code))
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""
