"""The page of all experiments, docs/results.md, from the runs of `saltmine reproduce`.

    saltmine reproduce all --data FOLDER -o benchmarks/results/reproduce    # hours on two cores
    python benchmarks/results.py

Nothing is measured here: figures, tables and sentences come from the stored runs, the files runs.jsonl.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from saltmine.experiments import EXPERIMENTS, find
from saltmine.experiments.experiment import made_with
from saltmine.experiments.planted import CURVES, SERIES
from saltmine.experiments.planted_page import of_both, standing_in_words
from saltmine.experiments.store import Store
from saltmine.experiments.text_page import verdict
from saltmine.markdown import markdown_table

ROOT = Path(__file__).parents[1]
RUNS, DOCS, PICTURES = ROOT / "benchmarks/results/reproduce", ROOT / "docs", "results"


def planted_lines(rows: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Return how C-Salt stands beside every rival in the experiments on planted data."""
    lines = []
    for name, series in SERIES.items():
        runs = pd.DataFrame(rows[name])
        for rival in series.methods[1:] if rows[name] else ():
            if (runs["method"] == rival).any():
                cells = [standing_in_words(series, runs, rival, measure) for measure in ("F", "rec_V")]
                precision = of_both(series, runs, rival, "pre_V").mean()
                told_apart = f"{precision['ours']:.2f} against {precision['theirs']:.2f}"
                lines.append([series.title, CURVES[rival][0], *cells, told_apart])
    return lines


def section(name: str, page: str) -> str:
    """Return the page of an experiment as a part of a larger one."""
    demoted = "\n".join(f"#{line}" if line.startswith("#") else line for line in page.splitlines())
    return demoted.replace(f"]({name}.png)", f"]({PICTURES}/{name}.png)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/results.md from stored runs.")
    parser.add_argument("runs", type=Path, nargs="?", default=RUNS, help="folder with a folder per experiment")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the page and its pictures")
    args = parser.parse_args()
    pictures: Path = args.docs / PICTURES
    rows = {name: Store(args.runs / name, name).rows for name in EXPERIMENTS}
    pictures.mkdir(parents=True, exist_ok=True)
    sections = []
    for name in EXPERIMENTS:
        if rows[name]:
            sections.append(section(name, find(name).write(rows[name], args.runs / name)))
            shutil.copy(args.runs / name / f"{name}.png", pictures)
        else:
            print(f"{name}: no runs in {args.runs / name}; it is left out.")
    everything = [row for of_one in rows.values() for row in of_one]
    (args.docs / "results.md").write_text(
        "\n\n".join(
            [
                "# The paper's experiments",
                "Written by `benchmarks/results.py` from stored runs of `saltmine reproduce`; do not edit. The runs "
                f"({len(everything):,} fits) were made with {made_with(everything)}.",
                "## Where C-Salt stands",
                "Means over the matrices of a point, compared to three digits. The paper shows its curves as pictures "
                'only, so its algorithm stands here as `algorithm="paper"`, run on the same matrices.',
                markdown_table(["experiment", "C-Salt beside", "F", "rec_V", "pre_V, mean"], planted_lines(rows)),
                *(verdict(row["corpus"], row) for row in rows["text"] if row["method"] == "csalt"),
                "The genomes are simulated; what is alike and what is not is said below.",
                *sections,
            ]
        ),
        encoding="utf-8",
    )
    print(f"{args.docs / 'results.md'} and the pictures in {pictures} are written.")


if __name__ == "__main__":
    main()
