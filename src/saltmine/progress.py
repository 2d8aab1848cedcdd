"""What a running fit tells: facts for callbacks, and a progress bar made from the same facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The state of a fit at one check of the relaxed objective.

    Attributes
    ----------
    restart : int
        Number of the restart, from 0.
    rank : int
        Patterns being sought at the moment.
    iteration : int
        Iterations at this rank.
    max_iter : int
        Most iterations at this rank.
    objective : float
        Relaxed objective.
    """

    restart: int
    rank: int
    iteration: int
    max_iter: int
    objective: float


Listener = Callable[[Progress], object]


@contextmanager
def progress_bar(title: str) -> Iterator[Listener]:
    """Show a bar on standard error, one line per restart, while the context is open."""
    # Imported here: only a fit that shows its progress needs the terminal library.
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        TextColumn("rank {task.fields[rank]}"),
        BarColumn(bar_width=None),
        TextColumn("iteration {task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("objective {task.fields[objective]:,.1f}"),
        TimeElapsedColumn(),
    )
    lines: dict[int, TaskID] = {}
    with Bar(*columns, console=Console(stderr=True)) as bar:

        def show(now: Progress) -> None:
            if now.restart not in lines:
                name = title if now.restart == 0 else f"{title} (restart {now.restart})"
                lines[now.restart] = bar.add_task(name, rank=now.rank, objective=now.objective)
            bar.update(
                lines[now.restart],
                completed=now.iteration,
                total=now.max_iter,
                rank=now.rank,
                objective=now.objective,
            )

        yield show
