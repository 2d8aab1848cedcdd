"""The page of all experiments, docs/benchmarks/experiment_results.md, from stored runs.

    python -m experiments all --data FOLDER -o experiments/results    # hours on two cores
    python -m experiments.results_page

Nothing is measured here: figures, tables and sentences are made of the stored runs, the files runs.jsonl.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pandas as pd

from experiments import EXPERIMENTS, find
from experiments.experiment import Row, code_versions
from experiments.planted import CURVES, SERIES
from experiments.planted_page import HOW_TO_READ, of_both, standing_in_counts
from experiments.store import Store
from saltmine.cli.output import markdown_table

ROOT = Path(__file__).parents[1]
RUNS, DOCS = ROOT / "experiments" / "results", ROOT / "docs" / "benchmarks"
PAGE, PICTURES = "experiment_results.md", "results"


def write_page(runs: Path, docs: Path) -> None:
    """Write the page and its pictures into the folder of the documents."""
    rows = {name: Store(runs / name, name).rows for name in EXPERIMENTS}
    pictures = docs / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    sections = []
    for name in EXPERIMENTS:
        if rows[name]:
            sections.append(_section(name, find(name).write(rows[name], runs / name)))
            # Moved: beside the stored runs only what they consist of and their tables are kept.
            shutil.move(runs / name / f"{name}.png", pictures / f"{name}.png")
        else:
            print(f"{name}: no runs in {runs / name}; it is left out.")
    page = "\n\n".join([_introduction(rows), *sections])
    (docs / PAGE).write_text(page, encoding="utf-8")
    print(f"{docs / PAGE} and the pictures in {pictures} are written.")


def _introduction(rows: dict[str, list[Row]]) -> str:
    """Return the top of the page: where the runs come from, and how C-Salt compares in all experiments."""
    everything = [row for of_one in rows.values() for row in of_one]
    return "\n\n".join(
        [
            "# Results of the paper's experiments",
            "`python -m experiments.results_page` writes this page from stored runs.\n"
            "[The paper's experiments](experiments.md) describes the commands.\n"
            f"The {len(everything):,} fits were made with {code_versions(everything)}.",
            "## Methods and measures",
            "The first four experiments use planted data.\n"
            "The paper shows its curves only as figures, so its algorithm is run on the same matrices.",
            HOW_TO_READ,
            "## How C-Salt compares",
            "The table counts the points at which C-Salt is above / level with / below another method.\n"
            "pre_V is a mean over all points.\n"
            "The sections below list the points at which C-Salt is below.",
            markdown_table(["experiment", "C-Salt against", "F", "rec_V", "pre_V, mean"], _planted_lines(rows)),
        ]
    )


def _planted_lines(rows: dict[str, list[Row]]) -> list[list[str]]:
    """Return how C-Salt compares with every baseline in the experiments on planted data."""
    lines = []
    for name, series in SERIES.items():
        runs = pd.DataFrame(rows[name])
        for baseline in series.methods[1:] if rows[name] else ():
            if (runs["method"] == baseline).any():
                cells = [standing_in_counts(series, runs, baseline, measure) for measure in ("F", "rec_V")]
                precision = of_both(series, runs, baseline, "pre_V").mean()
                told_apart = f"{precision['ours']:.2f} against {precision['theirs']:.2f}"
                lines.append([series.title, CURVES[baseline][0], *cells, told_apart])
    return lines


def _section(name: str, page: str) -> str:
    """Return the page of an experiment as a section: headings one level lower, without what the top says."""
    without = page.replace(f"{HOW_TO_READ}\n\n", "")
    lower = "\n".join(f"#{line}" if line.startswith("#") else line for line in without.splitlines())
    return lower.replace(f"]({name}.png)", f"]({PICTURES}/{name}.png)")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Write docs/benchmarks/experiment_results.md from stored runs.")
    parser.add_argument("runs", type=Path, nargs="?", default=RUNS, help="folder with a folder per experiment")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the page and its pictures")
    args = parser.parse_args()
    write_page(args.runs, args.docs)


if __name__ == "__main__":
    main()
