"""Change the code in small ways, one at a time, and see whether the tests notice.

    python -m benchmarks.mutants                      # a hundred mutants of every group and language
    python -m benchmarks.mutants mdl --sample 300
    python -m benchmarks.mutants data --language c++ --seed 1
    python -m benchmarks.mutants --show -o benchmarks/results/mutants

A mutant is the code with one small change: another comparison, sign, constant, argument or name. Python is changed by
mutmut, which has to be installed; the C++ sources by `benchmarks.mutants.cpp`. There are thousands, so a sample is
drawn, and the share that the tests of the matching folder notice has a 95 % interval. Not all can be noticed: some
changes alter nothing but speed, or nothing at all. What is not noticed is printed.

Every mutant is a line of runs.jsonl in the folder of the output. A file read.json beside it, written by hand, says of
survivors that somebody has read what they alter: {"mutant": "nothing"}, or "speed", "text of an error", "a result".
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from benchmarks.mutants.cpp import try_cpp
from benchmarks.mutants.groups import GROUPS, KILLED, SURVIVED, interval
from benchmarks.mutants.python import try_python
from benchmarks.parts import print_lines
from experiments.experiment import Row
from experiments.store import commit
from saltmine import __version__

LANGUAGES = {"python": try_python, "c++": try_cpp}
FILE, READ = "runs.jsonl", "read.json"
#: What mutants alter that no test of results can notice.
NO_RESULT = ("nothing", "speed", "text of an error")


def load(folder: Path) -> list[Row]:
    """Return the stored mutants, each with what it alters where that is known."""
    stored, read = folder / FILE, folder / READ
    rows = [json.loads(line) for line in stored.read_text("utf-8").splitlines()] if stored.exists() else []
    alters = json.loads(read.read_text("utf-8")) if read.exists() else {}
    return [{**row, "alters": alters.get(row["mutant"]) if row["end"] == SURVIVED else None} for row in rows]


def table_of(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return a line per group and language: how many mutants were tried and noticed, and which of the others cannot."""
    runs = pd.DataFrame(rows)
    lines = []
    for (name, language), of in runs.groupby(["group", "language"], sort=False):
        tried, killed = int(of["end"].isin([KILLED, SURVIVED]).sum()), int((of["end"] == KILLED).sum())
        low, high = interval(killed, tried)
        share = f"{killed / max(tried, 1):.0%} ({low:.0%} to {high:.0%})"
        no_result = int(of["alters"].isin(NO_RESULT).sum())
        lines.append(
            [str(name), str(language), f"{of['of'].max():,}", str(tried), share, f"{no_result} of {tried - killed}"]
        )
    return ["code", "language", "mutants", "sample", "noticed (95 % interval)", "others: no result altered"], lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"{', '.join(GROUPS)}; all by default")
    parser.add_argument("--language", choices=LANGUAGES, help="only mutants of this language")
    parser.add_argument("--sample", type=int, default=100, help="mutants of every group and language")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="try nothing; print the table of stored mutants")
    parser.add_argument("--markdown", action="store_true", help="print the table as markdown")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/mutants"), help="folder for the mutants")
    args = parser.parse_args()
    for name in args.groups:
        if name not in GROUPS:
            parser.error(f"there is no group {name!r}; choose from {', '.join(GROUPS)}")
    args.output.mkdir(parents=True, exist_ok=True)
    if not args.show:
        for name in args.groups or GROUPS:
            for language in [args.language] if args.language else LANGUAGES:
                _try(name, language, args)
    if rows := load(args.output):
        print_lines("Mutants that the tests notice", *table_of(rows), args.markdown)


def _try(name: str, language: str, args: argparse.Namespace) -> None:
    about = {"group": name, "language": language, "seed": args.seed, "version": __version__, "commit": commit()}
    for number, found in enumerate(LANGUAGES[language](name, args.sample, args.seed), 1):
        with (args.output / FILE).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({**about, **found}) + "\n")
        what = found["change"] if found["end"] == SURVIVED else found["mutant"]
        print(f"{name}, {language}, {number}: {found['end']}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
