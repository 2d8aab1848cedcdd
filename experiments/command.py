"""The command ``python -m experiments``: a smaller command for every experiment, and one for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from experiments import EXPERIMENTS, find
from experiments.experiment import Experiment, Task
from experiments.running import Forecast, TaskResult, run_all
from experiments.store import FILE, Store, back_up
from saltmine.cli.errors import Failed, Interrupted, OneLineErrors, WrongUse, user_mistakes
from saltmine.cli.options import QUIET
from saltmine.cli.output import Notes
from saltmine.io import ReadError

#: What the experiments vary or measure, for the list of commands.
SUMMARIES = {
    "noise": "Noise from 0 to 25 %.",
    "imbalance": "Classes of different size: the first has 5 to 50 % of the rows.",
    "rank": "From 6 to 45 planted patterns.",
    "classes": "Three and four classes, noise from 0 to 25 %.",
    "text": "The paper's Table 1 and word clouds.",
    "genome": "Simulated genomes of normal tissue, tumours and relapses.",
    "all": "All experiments, one after the other.",
}


@dataclass(frozen=True)
class Options:
    """The options of the command, the same for all experiments."""

    quick: bool
    jobs: int | None
    data: Path | None
    output: Path | None
    plot_only: bool
    force: bool
    quiet: bool


class ExperimentCommands(OneLineErrors):
    """The group of experiments."""

    program = "python -m experiments"


@click.group(cls=ExperimentCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def cli(debug: bool) -> None:
    """Run an experiment of the paper, and make its figure, tables and page.

    Every run is saved as soon as it is done. After an interrupt, the same command continues with the missing runs.
    The figure (EXPERIMENT.png), the table (EXPERIMENT.csv) and the page (EXPERIMENT.md) are made of the saved runs.
    The page is also printed.

    \b
    Examples:
      python -m experiments noise --quick
      python -m experiments imbalance --jobs 8 -o results/imbalance
      python -m experiments text --data corpora/
      python -m experiments noise --plot-only
    """


def _command(name: str) -> click.Command:
    """Make the command of an experiment, or of all of them."""

    @click.option("--quick", is_flag=True, help="The same figure from fewer points, in minutes.")
    @click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; by default one per processor."
    )
    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Folder with the documents of 'text': text/news4.jsonl.xz and text/movie.jsonl.xz.",
    )
    @click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="Folder for runs, figure and tables; by default out/EXPERIMENT.",
    )
    @click.option("--plot-only", is_flag=True, help="Run nothing; make figure and tables of the runs in the folder.")
    @click.option("--force", is_flag=True, help="Start again; runs in the folder are kept as runs.jsonl.old.")
    @QUIET
    def reproduce(**given: Any) -> None:
        _reproduce_all(list(EXPERIMENTS) if name == "all" else [name], Options(**given))

    return click.command(name, help=SUMMARIES[name])(reproduce)


for command_name in (*EXPERIMENTS, "all"):
    cli.add_command(_command(command_name))


def _reproduce_all(names: list[str], options: Options) -> None:
    folders = {name: _folder_of(name, options.output, len(names) > 1) for name in names}
    if options.plot_only and len(names) > 1:
        names = [name for name in names if (folders[name] / FILE).exists()] or names
    try:
        _check_drawing()
        # What the last experiment lacks should be known before the others run for hours.
        if not options.plot_only:
            with user_mistakes():
                for name in names:
                    find(name).prepare(options.data)
        for name in names:
            _reproduce(find(name), folders[name], options)
    except KeyboardInterrupt:
        raise Interrupted("Interrupted; runs that were done are saved, and the same command goes on.") from None


def _folder_of(name: str, output: Path | None, is_one_of_many: bool) -> Path:
    if output is None:
        return Path("out") / name
    return output / name if is_one_of_many else output


def _check_drawing() -> None:
    """Refuse to start where the figure could not be drawn in the end."""
    for package in ("matplotlib", "wordcloud"):
        try:
            import_module(package)
        except ImportError:
            raise WrongUse(f"The figures need {package}; install it with: pip install 'saltmine[report]'.") from None


def _reproduce(experiment: Experiment, folder: Path, options: Options) -> None:
    store = _open(experiment, folder, options)
    if not options.plot_only:
        with user_mistakes(), store.lock():
            _run_missing(experiment, store, options)
    if not store.rows:
        raise Failed(f"No run of '{experiment.name}' could be made.")
    with user_mistakes(f"The results cannot be written to {folder}: "):
        page = _mark_unfinished(experiment.write(store.rows, folder), experiment, store)
        (folder / f"{experiment.name}.md").write_text(page, encoding="utf-8")
    click.echo(page)
    click.echo(f"Results in {folder}: open {folder / experiment.name}.png")


def _open(experiment: Experiment, folder: Path, options: Options) -> Store:
    """Return the runs of the folder, which is made unless only figures are wanted."""
    _check_folder(experiment, folder, options.force)
    if options.plot_only:
        with user_mistakes():
            store = Store(folder, experiment.name)
        if not store.rows:
            raise WrongUse(f"{folder} holds no runs of '{experiment.name}'; run it without --plot-only first.")
        return store
    with user_mistakes(f"The folder {folder} cannot be used: "):
        folder.mkdir(parents=True, exist_ok=True)
        if options.force:
            back_up(folder)
    with user_mistakes():
        store = Store(folder, experiment.name)
        store.check_version()
    return store


def _check_folder(experiment: Experiment, folder: Path, force: bool) -> None:
    """Refuse a folder with somebody's own files of the names of the results."""
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file; name a folder for the results.")
    if not (folder / FILE).exists() and not force:
        for suffix in ("png", "csv", "md"):
            there = folder / f"{experiment.name}.{suffix}"
            if there.exists():
                raise WrongUse(f"{there} is not of an earlier run; choose another folder, or --force replaces it.")


def _mark_unfinished(page: str, experiment: Experiment, store: Store) -> str:
    """Say below the title that runs are missing, unless all runs or all quick runs are there."""
    if any(not store.missing(experiment.tasks(quick)) for quick in (True, False)):
        return page
    title, _, rest = page.partition("\n\n")
    full, quick = (len(experiment.tasks(short)) for short in (False, True))
    return f"{title}\n\n**Unfinished**: {len(store.rows)} of {full} runs ({quick} with --quick) are there.\n\n{rest}"


def _run_missing(experiment: Experiment, store: Store, options: Options) -> None:
    """Run the tasks that have no run yet."""
    tasks = experiment.tasks(options.quick)
    missing = store.missing(tasks)
    if len(missing) < len(tasks):
        Notes(options.quiet).say(f"{len(tasks) - len(missing)} of {len(tasks)} runs are there already.")
    jobs = options.jobs or cpu_count()
    results = run_all(experiment, missing, jobs, options.data, lambda text: click.echo(text, err=True))
    try:
        with _progress(experiment, missing, len(tasks), jobs, options.quiet) as show, closing(results):
            for result in results:
                if result.found is not None:
                    store.add(result.task, result.found)
                show(result)
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
    """Give a function that moves the progress bar: tasks done, tasks in all, and the time left."""
    if quiet or not missing:
        yield lambda result: None
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

        def show(result: TaskResult) -> None:
            forecast.update(result)
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
