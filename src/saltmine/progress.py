"""Progress of a fit: facts for callbacks, and a progress bar made from the same facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saltmine.nouns import counted

if TYPE_CHECKING:
    from rich.progress import TaskID


@dataclass(frozen=True)
class Progress:
    """The state of a fit at one check.

    Attributes
    ----------
    restart : int
        Number of the restart, from 0.
    rank : int
        Number of patterns in the current search.
    iteration : int
        Iterations at this rank.
    max_iter : int
        Maximum number of iterations at this rank.
    objective : float
        Relaxed objective; in the refinement the description length (with saltmine's specificity term); for the
        baselines the objective that they minimise.
    phase : {"relaxed", "refinement", "search"}
        The current phase; "search" is that of the baselines. Only the relaxed solve counts iterations: otherwise
        ``iteration`` and ``max_iter`` are 0.
    done : float
        Estimated share of the restart's work that is done (for ``algorithm="paper"``: at this rank).

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> seen = []
    >>> _ = CSalt(random_state=0, callback=seen.append).fit(p.X, p.y)
    >>> seen[0].phase, seen[0].restart
    ('relaxed', 0)
    """

    restart: int
    rank: int
    iteration: int
    max_iter: int
    objective: float
    phase: str = "relaxed"
    done: float = 0.0


def time_left(elapsed: float, done: float) -> str:
    """Return the expected time left as text; empty while too little is done for an estimate.

    Examples
    --------
    >>> time_left(30.0, 0.25), time_left(0.5, 0.01)
    ('~1:30 left', '')
    """
    if done < 0.02 or elapsed < 1:
        return ""
    minutes, seconds = divmod(round(elapsed * (1 - done) / done), 60)
    return f"~{minutes}:{seconds:02d} left"


Listener = Callable[[Progress], object]
#: Called by a search with the number of patterns so far, its objective, and the share of the work that is done.
OnStep = Callable[[int, float, float], None]


class ProgressBar:
    """A progress bar per restart on standard error, shown while the context is open."""

    def __init__(self, title: str, n_restarts: int) -> None:
        # Imported here: only a fit that shows its progress needs the terminal library.
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._titles = [title] if n_restarts == 1 else [f"{title} {k}/{n_restarts}" for k in range(1, n_restarts + 1)]
        facts = ("rank", "step", "value", "left")
        rank, step, value, left = (TextColumn(f"{{task.fields[{fact}]}}") for fact in facts)
        bar = BarColumn(bar_width=10)  # all of it fits into 80 columns
        columns = (TextColumn("{task.description}"), rank, bar, step, value, TimeElapsedColumn(), left)
        self._bar = Bar(*columns, console=Console(stderr=True))
        self._lines: dict[int, TaskID] = {}

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, now: Progress) -> None:
        """Update the bar of the restart."""
        rank, step, value = counted(now.rank, "pattern"), "searching", f"objective {now.objective:,.4g}"
        if now.phase == "relaxed":
            rank, step = f"rank {now.rank}", f"iteration {now.iteration:,}/{now.max_iter:,}"
            value = f"objective {now.objective:,.1f}"
        elif now.phase == "refinement":
            step, value = "refining", f"{now.objective:,.0f} nats"
        self._update(now.restart, now.done, rank=rank, step=step, value=value)

    def finish(self, restart: int, result: str, length: float) -> None:
        """Fill the bar of a restart that has ended, and show its result and description length."""
        self._update(restart, 1.0, rank=result, step="done", value=f"described in {length:,.0f} nats")

    def _update(self, restart: int, done: float, **facts: Any) -> None:
        if restart not in self._lines:
            self._lines[restart] = self._bar.add_task(self._titles[restart], total=1.0, left="", **facts)
        line = self._lines[restart]
        elapsed = next(task.elapsed for task in self._bar.tasks if task.id == line)
        left = "" if facts["step"] == "done" else time_left(elapsed or 0, done)
        self._bar.update(line, completed=done, left=left, **facts)
