"""What an experiment is: a list of tasks, a way to measure each, and what is made of the measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What to measure, as plain values that can be written to a file: ``{"method": "csalt", "noise": 0.1, "seed": 5000}``.
Task = dict[str, Any]
#: The task and what was measured, as plain values. Figures and tables are made of rows alone.
Row = dict[str, Any]


class SkipTask(Exception):
    """One task cannot be measured here; the message says why. The other tasks can."""


def code_versions(rows: Iterable[Row]) -> str:
    """Name the versions and commits of saltmine that made the runs.

    Examples
    --------
    >>> code_versions([{"version": "1.0", "commit": "ab12"}, {"version": "1.0", "commit": "ab12"}])
    'saltmine 1.0 (commit ab12)'
    """
    commits: dict[str, set[str]] = {}
    for row in rows:
        commits.setdefault(row["version"], set()).add(row["commit"])
    versions = []
    for version, found in sorted(commits.items()):
        known = ", ".join(sorted(found - {""}))
        versions.append(f"{version} (commit {known})" if known else version)
    return f"saltmine {' and '.join(versions)}"


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Attributes
    ----------
    name, title : str
    tasks : callable
        ``tasks(quick)`` returns what to measure, all of it or what is done in minutes.
    measure : callable
        ``measure(task, data)`` returns what was found, without the task itself; a function of a module, so that other
        processes can call it. ``data`` is the folder with the data, of the experiments that need one. It raises
        ImportError where a method needs a package that is missing, which leaves the method out, and `SkipTask` for a
        single task.
    write : callable
        ``write(rows, folder)`` writes figures and tables into the folder and returns the page, as markdown; from the
        rows alone. ``folder / f"{name}.png"`` is the figure.
    prepare : callable
        ``prepare(data)`` is called once before all tasks: it fetches what they need, or raises.
    parallel : bool
        Whether tasks may run side by side; what fills the memory or all cores by itself does not.
    """

    name: str
    title: str
    tasks: Callable[[bool], list[Task]]
    measure: Callable[[Task, Path | None], Row]
    write: Callable[[Sequence[Row], Path], str]
    prepare: Callable[[Path | None], None] = lambda data: None
    parallel: bool = True
