"""The command that runs the paper's experiments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from saltmine.cli.errors import Failed, Interrupted, WrongUse, user_mistakes
from saltmine.cli.options import QUIET
from saltmine.cli.output import Notes
from saltmine.experiments import EXPERIMENTS, find
from saltmine.experiments.store import FILE, Store, put_aside
from saltmine.io import ReadError

if TYPE_CHECKING:
    from saltmine.experiments.experiment import Experiment, Task
    from saltmine.experiments.running import Done


@click.command()
@click.argument("name", metavar="EXPERIMENT", type=click.Choice([*EXPERIMENTS, "all"]))
@click.option("--quick", is_flag=True, help="The same figures from fewer points, each in minutes.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; by default one per processor."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder with the text corpora (text/news4.jsonl.xz, text/movie.jsonl.xz), of 'text'.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for runs, figure and tables; by default out/EXPERIMENT.",
)
@click.option("--plot-only", is_flag=True, help="Make figure and tables from the runs in the folder; run nothing.")
@click.option("--force", is_flag=True, help="Begin anew; runs in the folder are put aside as runs.jsonl.old.")
@QUIET
def reproduce(name: str, **given: Any) -> None:
    """Run an experiment of the paper: noise, imbalance, rank, classes, text or genome, or all of them.

    Every run is saved as soon as it is done: interrupted, the same command goes on where it stopped. Then come the
    figure (EXPERIMENT.png), the table (EXPERIMENT.csv) and a page (EXPERIMENT.md), which is printed too.

    \b
    Examples:
      saltmine reproduce noise --quick
      saltmine reproduce imbalance --jobs 8 -o results/imbalance
      saltmine reproduce text --data corpora/
      saltmine reproduce noise --plot-only
    """
    names = list(EXPERIMENTS) if name == "all" else [name]
    folders = {chosen: _folder_of(chosen, given["output"], len(names) > 1) for chosen in names}
    if given["plot_only"] and len(names) > 1:
        names = [chosen for chosen in names if (folders[chosen] / FILE).exists()] or names
    try:
        _demand_drawing()
        # What is missing for the last experiment should not be found out after the hours that the others take.
        if not given["plot_only"]:
            with user_mistakes():
                for chosen in names:
                    find(chosen).prepare(given["data"])
        for chosen in names:
            _reproduce(find(chosen), folders[chosen], given, Notes(given["quiet"]))
    except KeyboardInterrupt:
        raise Interrupted("Interrupted; runs that were done are saved, and the same command goes on.") from None


def _folder_of(name: str, output: Path | None, is_one_of_many: bool) -> Path:
    if output is None:
        return Path("out") / name
    return output / name if is_one_of_many else output


def _reproduce(experiment: Experiment, folder: Path, given: dict[str, Any], notes: Notes) -> None:
    store = _open(experiment, folder, given)
    if not given["plot_only"]:
        with user_mistakes(), store.alone():
            _run(experiment, store, given, notes)
    if not store.rows:
        raise Failed(f"No run of '{experiment.name}' could be made.")
    with user_mistakes(f"The results cannot be written to {folder}: "):
        page = _marked(experiment.write(store.rows, folder), experiment, store)
        (folder / f"{experiment.name}.md").write_text(page, encoding="utf-8")
    click.echo(page)
    click.echo(f"Results in {folder}: open {folder / experiment.name}.png")


def _marked(page: str, experiment: Experiment, store: Store) -> str:
    """Say below the title where neither the quick runs nor all of them are done."""
    if any(not store.missing(experiment.tasks(quick)) for quick in (True, False)):
        return page
    title, _, rest = page.partition("\n\n")
    full, quick = (len(experiment.tasks(short)) for short in (False, True))
    return f"{title}\n\n**Unfinished**: {len(store.rows)} of {full} runs ({quick} with --quick) are there.\n\n{rest}"


def _demand_drawing() -> None:
    """Refuse to begin where the figure could not be drawn in the end."""
    for package in ("matplotlib", "wordcloud"):
        try:
            import_module(package)
        except ImportError:
            raise WrongUse(f"The figures need {package}; install it with: pip install 'saltmine[report]'.") from None


def _open(experiment: Experiment, folder: Path, given: dict[str, Any]) -> Store:
    """Return the runs of the folder, which is made unless it is only looked at."""
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file; name a folder for the results.")
    if not (folder / FILE).exists() and not given["force"]:
        for suffix in ("png", "csv", "md"):
            there = folder / f"{experiment.name}.{suffix}"
            if there.exists():
                raise WrongUse(f"{there} is not of an earlier run; choose another folder, or --force replaces it.")
    if given["plot_only"]:
        with user_mistakes():
            store = Store(folder, experiment.name)
        if not store.rows:
            raise WrongUse(f"{folder} holds no runs of '{experiment.name}'; run it without --plot-only first.")
        return store
    with user_mistakes(f"The folder {folder} cannot be used: "):
        folder.mkdir(parents=True, exist_ok=True)
        if given["force"]:
            put_aside(folder)
    with user_mistakes():
        store = Store(folder, experiment.name)
        store.demand_this_version()
    return store


def _run(experiment: Experiment, store: Store, given: dict[str, Any], notes: Notes) -> None:
    """Run what has no run yet."""
    from concurrent.futures.process import BrokenProcessPool

    from joblib import cpu_count

    from saltmine.experiments.running import run_all

    tasks = experiment.tasks(given["quick"])
    missing = store.missing(tasks)
    if len(missing) < len(tasks):
        notes.say(f"{len(tasks) - len(missing)} of {len(tasks)} runs are there already.")
    jobs = given["jobs"] or cpu_count()
    runs = run_all(experiment, missing, jobs, given["data"], lambda text: click.echo(text, err=True))
    try:
        with _progress(experiment, missing, len(tasks), jobs, given["quiet"]) as show, closing(runs):
            for done in runs:
                if done.found is not None:
                    store.add(done.task, done.found)
                show(done)
    except KeyboardInterrupt:
        there = len(tasks) - len(store.missing(tasks))
        raise Interrupted(
            f"Interrupted; {there} of {len(tasks)} runs are saved in {store.folder}, and the same command goes on."
        ) from None
    except ReadError as error:
        raise WrongUse(str(error)) from error
    except (BrokenProcessPool, MemoryError):
        raise Failed(
            f"There was not enough memory, or a process was ended; what is done is saved in {store.folder}, and the "
            "same command with --jobs 1 goes on."
        ) from None


@contextmanager
def _progress(experiment: Experiment, missing: list[Task], total: int, jobs: int, quiet: bool) -> Iterator[Any]:
    """Give a function that moves the bar on: what is done, what there is to do, and the time left."""
    from saltmine.experiments.running import Forecast

    if quiet or not missing:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    forecast = Forecast(missing, jobs if experiment.parallel else 1)

    class TimeLeft(ProgressColumn):
        def render(self, task: Any) -> Text:
            left = forecast.seconds_left()
            return Text("" if left is None else _in_words(max(0, left - (time.monotonic() - forecast.changed))))

    columns = TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TimeLeft(), console=Console(stderr=True)) as bar:
        line = bar.add_task(experiment.name, total=total, completed=total - len(missing))

        def show(done: Done) -> None:
            if done.method_is_left_out:
                forecast.leave_out(done.task["method"])
            else:
                forecast.ended(done.task, None if done.left_out else done.seconds)
            bar.update(line, completed=total - forecast.tasks_left())

        yield show


def _in_words(seconds: float) -> str:
    """Say how long something will take.

    Examples
    --------
    >>> _in_words(125.0), _in_words(4000.0)
    ('~2:05 left', '~1:06:40 left')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"~{hours}:{minutes:02d}:{rest:02d} left" if hours else f"~{minutes}:{rest:02d} left"
