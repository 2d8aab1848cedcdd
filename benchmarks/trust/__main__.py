"""What must not happen, and how often it was tried.

    python -m benchmarks.trust                        # all parts; hours on two cores
    python -m benchmarks.trust --quick                # a little of each in some minutes
    python -m benchmarks.trust files --tables csv,bcf
    python -m benchmarks.trust --show --markdown -o benchmarks/results/trust

Parts:

- files: small valid files of every format, changed at random and read (python -m fuzz).
- bombs: small files that claim to be, or unpack to, something very large.
- models: model files that were made to be harmful, loaded and used.
- kills: fits from the command line, killed at every step and at random moments.
- order: fits of the same data with rows, columns and classes in another order.
- checkpoints: fits that were killed and went on from their checkpoint.
- time: how much longer than max_time a fit takes, and what it finds in half of its usual time.
- memory: fits from the command line that may have 0.4 to 2 GB.
- estimate: the memory of fits, estimated and measured, without and with a limit.
- child: what reading in a process of its own costs.

Every run is a line of runs.jsonl in a folder per part. Seeds start at 5000. After the tables of the parts comes one
that sums them up.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.claims import FIRST_SEED
from benchmarks.parts import Column, Part, Runs, fits, make_parser, mean, median, print_lines, ratio, run, some, total
from benchmarks.trust import budgets, checkpoints, files, memory, memory_need, order, reading
from experiments.experiment import Row
from fuzz.bombs import BOMBS
from fuzz.formats import FORMATS
from fuzz.trial import FINDINGS, READ, REFUSED


def _largest(name: str, digits: int = 1) -> Column:
    return lambda runs: f"{runs[name].max():.{digits}f}"


def _over(name: str) -> Column:
    """Return a column with the largest share by which a limit was exceeded."""
    return lambda runs: f"{runs[name].max():+.0%}" if name in runs and runs[name].notna().any() else "-"


_TRIED = {"tried": total("tried")}

PARTS = {
    "files": Part(
        "Changed files",
        files.changed_files,
        dict.fromkeys(FORMATS, 5),
        dict.fromkeys(list(FORMATS)[::5], 1),
        {kind: total(kind) for kind in ("tried", READ, REFUSED, *FINDINGS)},
        has_total=True,
    ),
    "bombs": Part(
        "Small files that are made to fill the memory or to take for ever",
        files.bombs,
        {bomb.name: 1 for bomb in BOMBS},
        {bomb.name: 1 for bomb in BOMBS[::6]},
        {"seconds": _largest("seconds"), "MB": _largest("megabytes", 0), "too much": some("exceeds")},
        has_total=True,
    ),
    "models": Part(
        "Model files made to be harmful",
        files.model_files,
        {"all": 5},
        {"all": 1},
        {
            **_TRIED,
            "loaded": total("loaded"),
            REFUSED: total(REFUSED),
            "forbidden": total("forbidden"),
            "wrong": total("wrong"),
            "most seconds": _largest("seconds"),
        },
    ),
    "kills": Part(
        "Killed fits",
        files.kills,
        {"fit": 4},
        {"fit": 1},
        {
            **_TRIED,
            "old results": total("old"),
            "new results": total("new"),
            "mixed or lost": total("mixed"),
            "left for ever": total("left"),
        },
    ),
    "order": Part(
        "The same data in another order",
        order.order,
        order.CASES,
        dict.fromkeys(order.QUICK, 1),
        {"fits": fits, "models that differ": some("differs"), "patterns": mean("patterns", 0)},
        has_total=True,
    ),
    "checkpoints": Part(
        "Fits that were killed and went on from their checkpoint",
        checkpoints.checkpoints,
        dict.fromkeys(checkpoints.CASES, 4),
        dict.fromkeys(checkpoints.QUICK, 1),
        {"fits": fits, "kills": total("kills"), "identical models": some("identical")},
        has_total=True,
    ),
    "time": Part(
        "Fits with little time: how far beyond max_time, and the share of the savings that half of the time finds",
        budgets.max_time,
        dict.fromkeys(budgets.CASES, 3),
        dict.fromkeys(budgets.QUICK, 1),
        {
            "seconds": median("seconds", 1),
            **{f"{limit} s": _over(f"over_{limit}") for limit in budgets.LIMITS},
            "half": median("half_ratio"),
        },
    ),
    "memory": Part(
        "Fits with little memory",
        memory.fit_with_little_memory,
        dict.fromkeys(memory.CASES, 2),
        dict.fromkeys(memory.CASES[: len(memory.LIMITS)], 1),
        {},
        make_table=memory.memory_table,
    ),
    "estimate": Part(
        "Memory of fits in MB, estimated and measured; and with a limit of 0.6 times the estimate",
        memory_need.memory_need,
        dict.fromkeys(memory_need.CASES, 1),
        dict.fromkeys(memory_need.QUICK, 1),
        {
            "estimate": mean("estimate", 0),
            "peak": mean("peak", 0),
            "limit": mean("limit", 0),
            "peak with it": lambda runs: "refused" if runs["refused"].all() else f"{runs['peak_below'].mean():.0f}",
        },
    ),
    "child": Part(
        "Files that are parsed in a process of their own",
        reading.child_cost,
        dict.fromkeys(reading.CASES, 1),
        dict.fromkeys(reading.QUICK, 1),
        {
            "MB": mean("megabytes"),
            "seconds": mean("apart", 2),
            "in one process": mean("here", 2),
            "more": lambda runs: f"{(runs['apart'] - runs['here']).mean():.2f} s",
            "ratio": ratio("apart", "here"),
        },
    ),
}


def summary(found: dict[str, list[Row]]) -> tuple[list[str], list[list[str]]]:
    """Return a line per question, with how often it was tried and how often the answer was bad."""
    lines = []
    for part, (what, tried, bad) in _QUESTIONS.items():
        if found.get(part):
            runs = pd.DataFrame(found[part])
            lines.append([what, tried(runs), bad(runs)])
    return ["", "tried", "must not happen"], lines


def _sum(*names: str) -> Column:
    return lambda runs: f"{int(runs[list(names)].to_numpy().sum()):,}"


def _count(runs: Runs) -> str:
    return f"{len(runs):,}"


def _differing(runs: Runs) -> str:
    return f"{int((runs['identical'] == 0).sum()):,}"


_QUESTIONS: dict[str, tuple[str, Column, Column]] = {
    "files": ("changed files: crashes, hangs, memory, foreign errors", _sum("tried"), _sum(*FINDINGS)),
    "models": (
        "crafted models: wrong errors, files, connections, code",
        _sum("tried"),
        _sum("forbidden", "wrong"),
    ),
    "bombs": ("harmful files: over 2 GB or 20 s, or no clear end", _count, _sum("unclear")),
    "kills": ("killed fits: results mixed or lost, files left", _sum("tried"), _sum("mixed", "left")),
    "order": ("data in another order: models that differ", _count, _sum("differs")),
    "checkpoints": ("killed fits with a checkpoint: another model", _count, _differing),
    "memory": ("little memory: no clear end", _count, lambda runs: str(int((runs["ending"] == memory.OTHER).sum()))),
}


def main() -> None:
    parser = make_parser(__doc__, PARTS, Path("out/trust"))
    args = parser.parse_args()
    found = run(parser, PARTS, args, FIRST_SEED)
    columns, lines = summary(found)
    if lines:
        print_lines("All together", columns, lines, args.markdown)


if __name__ == "__main__":
    main()
