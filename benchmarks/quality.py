"""All figures of quality in one table: now, as last stored, and what they must be.

    python -m benchmarks.quality                             # at most 40 minutes on two cores
    python -m benchmarks.quality --quick                     # few tables and repeats, at most five minutes
    python -m benchmarks.quality --part clinical,narrow --tune
    python -m benchmarks.quality --fit my_module:fit         # anything like CSalt: fit(X, y, seed) returns a model
    python -m benchmarks.quality --show                      # the table of stored figures

Parts are those of `benchmarks.power` and `benchmarks.structure`, and rivals (`benchmarks.rivals`), which run only if
named. Seeds start at 5000; with ``--tune`` at 0, for changes that are still being tried. Every part is stored as a JSON
file with its figures, its runs and the version: in benchmarks/results/quality, or in out/quality for ``--quick``,
``--tune`` and ``--fit``. A part without its data is skipped.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

import saltmine
from benchmarks import power, rivals, structure
from benchmarks.claims import FIRST_SEED, FIRST_TUNING_SEED
from benchmarks.figures import Figures, Fit, Part, default_fit
from benchmarks.musts import Must, musts_of
from benchmarks.parts import DATA
from experiments.experiment import Row, SkipTask, Task
from experiments.store import commit

PARTS: dict[str, Part] = {**structure.PARTS, **power.PARTS, "rivals": rivals.PART}
USUAL = tuple(name for name in PARTS if name != "rivals")
STORED, TRIED = Path(__file__).parent / "results" / "quality", Path("out/quality")
# What takes longest begins first.
LONG = ("50 classes", "20 classes", "adult", "mushroom", "10 classes", "churn", "stroke")
# Figures of other methods are stored; the table shows them in the limits.
HIDDEN = (" of NB", " of LR")

# ---------------------------------------------------------------------- runs


def measure(fit: Fit, part: str, task: Task, data: Path) -> tuple[str, Row | None, str]:
    """Return the part, the run with its time, or None and the reason why there is none."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = PARTS[part].measure(fit, task["case"], task["seed"], data)
    except (ImportError, SkipTask) as reason:
        return part, None, str(reason)
    return part, {**task, **found, "seconds": round(time.perf_counter() - begin, 2)}, ""


def run(names: Sequence[str], fit: Fit, args: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    """Measure parts, and yield the name and the runs of each as soon as it is finished."""
    first = FIRST_TUNING_SEED if args.tune else FIRST_SEED
    tasks = [(name, task) for name in names for task in PARTS[name].tasks(first, args.quick)]
    tasks.sort(key=lambda pair: LONG.index(pair[1]["case"]) if pair[1]["case"] in LONG else len(LONG))
    left = {name: sum(of == name for of, _ in tasks) for name in names}
    runs: dict[str, list[Row]] = {name: [] for name in names}
    log, skipped, begin = Console(stderr=True, highlight=False), set(), time.perf_counter()
    side_by_side = Parallel(n_jobs=args.jobs, return_as="generator_unordered")
    for name, found, reason in side_by_side(delayed(measure)(fit, name, task, args.data) for name, task in tasks):
        left[name] -= 1
        if found is not None:
            runs[name].append(found)
        elif (name, reason) not in skipped:
            skipped.add((name, reason))
            log.print(f"{name}: some or all of it is skipped: {reason}.", soft_wrap=True)
        if not left[name]:
            log.print(f"{name} is finished after {time.perf_counter() - begin:.0f} s.")
            yield name, in_order(runs[name], PARTS[name].tasks(first, args.quick))


def in_order(runs: Sequence[Row], tasks: Sequence[Task]) -> list[Row]:
    """Return the runs in the order of the tasks."""
    numbers = {(task["case"], task["seed"]): k for k, task in enumerate(tasks)}
    return sorted(runs, key=lambda found: numbers[found["case"], found["seed"]])


# ---------------------------------------------------------------------- stored figures


def stored_in(folder: Path, name: str, args: argparse.Namespace) -> Path:
    """Return the file of a part; runs that differ in what is measured have different files."""
    kinds = [kind for kind, chosen in (("quick", args.quick), ("tune", args.tune)) if chosen]
    if args.fit:
        kinds.append(args.fit.replace(":", "."))
    return folder / f"{'-'.join([name, *kinds])}.json"


def read_figures(path: Path) -> Figures:
    """Return the stored figures of a part; none if there is no file."""
    found: Figures = json.loads(path.read_text())["figures"] if path.exists() else {}
    return {name: math.nan if value is None else value for name, value in found.items()}


def write(path: Path, figures: Figures, runs: Sequence[Row], code: str) -> None:
    """Store a part that was measured with the code of a commit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {name: None if math.isnan(value) else round(value, 5) for name, value in figures.items()}
    seconds = round(sum(run["seconds"] for run in runs), 1)
    about = {"version": saltmine.__version__, "commit": code, "seconds": seconds}
    lines = ",\n  ".join(json.dumps(run) for run in runs)
    head = json.dumps({**about, "figures": known}, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "runs": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


# ---------------------------------------------------------------------- the table


def lines_of(now: Figures, before: Figures, musts: Mapping[str, Must]) -> list[tuple[str, str, str, str, str]]:
    """Return a line per figure: its name, now, as last stored, what it must be, and whether it is."""
    lines = []
    for name, value in now.items():
        if name.endswith(HIDDEN):
            continue
        must = musts.get(name)
        held = "" if must is None or math.isnan(value) else "yes" if must.holds(value) else "NO"
        lines.append((name, _number(value), _number(before.get(name, math.nan)), str(must or ""), held))
    return lines


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def show(now: Mapping[str, Figures], before: Mapping[str, Figures]) -> None:
    """Print the table of all parts."""
    table = Table("", "now", "as last stored", "must", "holds", title="Quality")
    count = held = 0
    for name, figures in now.items():
        table.add_section()
        table.add_row(f"[bold]{PARTS[name].title}", "", "", "", "")
        for line in lines_of(figures, before.get(name, {}), musts_of(name, figures)):
            table.add_row(*line)
            count, held = count + (line[-1] != ""), held + (line[-1] == "yes")
    # A fixed width, so that a table sent to a file keeps its columns.
    console = Console(width=100)
    console.print(table)
    console.print(f"{held} of {count} hold.")


# ---------------------------------------------------------------------- the command


def load_fit(name: str | None) -> Fit:
    """Return the fit of a name as module:function; `CSalt` without one."""
    if not name:
        return default_fit
    module, _, function = name.partition(":")
    found: Any = getattr(importlib.import_module(module), function or "fit")
    return found  # type: ignore[no-any-return]  # whatever the user names


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=lambda names: names.split(","), default=USUAL, help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="few tables and repeats")
    parser.add_argument("--tune", action="store_true", help="seeds from 0 up, for what is still being changed")
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    parser.add_argument("--fit", help="what to measure instead of CSalt, as module:function")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds data/tables, data/baskets, ...")
    parser.add_argument("--show", action="store_true", help="measure nothing; print the stored figures")
    parser.add_argument("-o", "--output", type=Path, help="folder for the results")
    return parser


def main() -> None:
    parser = make_parser()
    args = parser.parse_args()
    unknown = [name for name in args.part if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    folder = args.output or (TRIED if args.quick or args.tune or args.fit else STORED)
    files = {name: stored_in(folder, name, args) for name in args.part}
    before = {name: read_figures(file) for name, file in files.items()}
    # The code that is loaded now, whatever becomes of the checkout meanwhile.
    now, code = dict(before), commit()
    if not args.show:
        for name, runs in run(args.part, load_fit(args.fit), args):
            now[name] = PARTS[name].summarise(runs) if runs else {}
            if runs:
                write(files[name], now[name], runs, code)
    show({name: figures for name, figures in now.items() if figures}, before)


if __name__ == "__main__":
    main()
