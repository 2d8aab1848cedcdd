"""Benchmarks of several parts: every run is stored as a line of runs.jsonl, and tables are made of stored runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from experiments.experiment import Row, SkipTask, Task
from experiments.store import Store, back_up
from saltmine.cli.output import markdown_table

DATA = Path(__file__).parents[2] / "shared"

Runs = pd.DataFrame
Column = Callable[[Runs], str]
Lines = tuple[list[str], list[list[str]]]


def require(folder: Path) -> None:
    """Skip the run where a folder of the data is missing."""
    if not folder.exists():
        raise SkipTask(f"{'/'.join(folder.parts[-3:])} is not here; name the folder that has it with --data")


# ---------------------------------------------------------------------- columns of tables


def mean(name: str, digits: int = 1) -> Column:
    return lambda runs: f"{runs[name].mean():.{digits}f}" if name in runs and runs[name].notna().any() else "-"


def median(name: str, digits: int = 2) -> Column:
    return lambda runs: f"{runs[name].median():.{digits}f}" if name in runs and runs[name].notna().any() else "-"


def ratio(of: str, to: str, digits: int = 2) -> Column:
    return lambda runs: f"{runs[of].median() / runs[to].median():.{digits}f}"


def some(name: str) -> Column:
    return lambda runs: f"{(runs[name] > 0).sum()} of {len(runs)}"


def total(name: str) -> Column:
    return lambda runs: f"{runs[name].sum():.0f}"


def share(name: str, of: str = "claims") -> Column:
    return lambda runs: f"{runs[name].sum() / max(runs[of].sum(), 1):.3f}"


def fits(runs: Runs) -> str:
    return str(len(runs))


# ---------------------------------------------------------------------- parts


@dataclass(frozen=True)
class Part:
    """One of the measurements.

    Attributes
    ----------
    title : str
    measure : callable
        ``measure(case, seed, data)`` returns the figures of one run.
    repeats : dict
        Runs of every case: a table, a corpus or a kind of planted data.
    quick : dict
        The same for ``--quick``.
    columns : dict
        Columns of the printed table: each is a text made of all runs of a case.
    has_total : bool
        Whether the table has a line for all cases together.
    make_table : callable, optional
        ``make_table(runs)`` returns the columns and the lines of the table, instead of a line per case.
    """

    title: str
    measure: Callable[[str, int, Path], Row]
    repeats: dict[str, int]
    quick: dict[str, int]
    columns: dict[str, Column]
    has_total: bool = False
    make_table: Callable[[Runs], Lines] | None = None


Parts = Mapping[str, Part]


def table_of(part: Part, rows: Iterable[Row]) -> Lines:
    """Return the columns and the lines of the printed table: one per case, in the order of the part."""
    runs = pd.DataFrame(list(rows))
    if part.make_table is not None:
        return part.make_table(runs)
    cases = [case for case in {**part.repeats, **part.quick} if (runs["case"] == case).any()]
    of_cases = {case: runs[runs["case"] == case] for case in cases}
    if part.has_total and len(cases) > 1:
        of_cases["all"] = runs
    lines = [[case, *(make(of) for make in part.columns.values())] for case, of in of_cases.items()]
    return ["", *part.columns], lines


def show(name: str, part: Part, rows: list[Row], markdown: bool) -> None:
    """Print the table of a part."""
    if not rows:
        print(f"{name}: no runs.")
        return
    print_lines(part.title, *table_of(part, rows), markdown)


def print_lines(title: str, columns: list[str], lines: list[list[str]], markdown: bool) -> None:
    """Print a table."""
    if markdown:
        print(f"{title}:\n\n{markdown_table(columns, lines)}\n")
        return
    shown = Table(*columns, title=title)
    for line in lines:
        shown.add_row(*line)
    Console(width=110).print(shown)


def tasks_of(part: Part, quick: bool, cases: list[str] | None, repeats: int | None, first_seed: int) -> list[Task]:
    """Return the runs that are wished for."""
    usual = part.quick if quick and not cases else part.repeats
    return [
        {"case": case, "seed": first_seed + k}
        for case, usual_count in usual.items()
        if not cases or case in cases
        for k in range(repeats or min(usual_count, part.quick.get(case, 1) if quick else usual_count))
    ]


# ---------------------------------------------------------------------- the command


def measured(part: Part, tasks: list[Task], data: Path, jobs: int) -> Iterator[tuple[Task, Row | None, str]]:
    """Yield every task with its figures, or with the reason why it has none."""
    side_by_side = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from side_by_side(delayed(_measure)(part.measure, task, data) for task in tasks)


def _measure(measure: Callable[[str, int, Path], Row], task: Task, data: Path) -> tuple[Task, Row | None, str]:
    try:
        return task, measure(task["case"], task["seed"], data), ""
    except (ImportError, SkipTask) as reason:
        return task, None, str(reason)


def run_part(name: str, part: Part, tasks: list[Task], args: argparse.Namespace, jobs: int) -> list[Row]:
    """Measure what is wished for of a part, store every run, and return all stored ones."""
    folder = args.output / name
    folder.mkdir(parents=True, exist_ok=True)
    if not args.resume:
        back_up(folder)
    store, skipped = Store(folder, name), set()
    log = Console(stderr=True, highlight=False)
    with store.lock():
        todo = store.missing(tasks)
        for done, (task, found, reason) in enumerate(measured(part, todo, args.data, jobs), 1):
            if found is not None:
                store.add(task, found)
                log.print(f"{name} {done}/{len(todo)}: {task['case']}, seed {task['seed']}")
            elif reason not in skipped:
                skipped.add(reason)
                log.print(f"{name}: {task['case']} is skipped: {reason}.", soft_wrap=True)
    return store.rows


def make_parser(description: str | None, parts: Parts, output: Path) -> argparse.ArgumentParser:
    """Return the options that all such benchmarks have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(parts)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few tables and repeats")
    parser.add_argument("--tables", type=lambda names: names.split(","), help="only these tables or cases: vote,zoo")
    parser.add_argument("--repeats", type=int, help="runs of every table or case")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds data/tables and data/text")
    parser.add_argument("--resume", action="store_true", help="keep the stored runs and add what is missing")
    parser.add_argument("--show", action="store_true", help="measure nothing; print the tables of stored runs")
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    parser.add_argument("-o", "--output", type=Path, default=output, help="folder for the runs")
    return parser


def run(
    parser: argparse.ArgumentParser, parts: Parts, args: argparse.Namespace, first_seed: int, jobs: int = 1
) -> dict[str, list[Row]]:
    """Measure and show the parts that are wished for; return their runs."""
    unknown = [name for name in args.parts if name not in parts]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; choose from {', '.join(parts)}")
    found = {}
    for name in args.parts or parts:
        if args.show:
            found[name] = Store(args.output / name, name).rows
        elif tasks := tasks_of(parts[name], args.quick, args.tables, args.repeats, first_seed):
            found[name] = run_part(name, parts[name], tasks, args, jobs)
        else:
            continue
        show(name, parts[name], found[name], args.markdown)
    return found
