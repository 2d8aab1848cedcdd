"""How long everything takes: against an older revision, against other methods, and as the data grow.

    python -m benchmarks.speed                           # all parts; hours on two cores
    python -m benchmarks.speed --quick                   # a few small cases in two minutes, no older revision
    python -m benchmarks.speed first-fit nmf             # single parts
    python -m benchmarks.speed older --tables vote,zoo --older HEAD~3
    python -m benchmarks.speed --show --markdown -o benchmarks/results/speed --figure out/growth.png

Parts:

- build: building a wheel, as an installation does; almost all of it is compiling the core.
- first-fit: the first fits of a fresh installation, 120 x 100 and then 56 x 400,000, and loading in a later process.
- nmf: a fit of 800 x 1000 planted cells against NMF, which is told the rank.
- older: fits against an older revision. Both packages are loaded in one process, and the fits take turns.
- classes: classes of 1000 rows x 5000 columns, one label in ten wrong.
- transform: new rows of 41 classes against the fit of as many.
- threads: one thread against two, and what Amdahl's law makes of it for sixteen.
- growth: patterns, rows, columns and classes (see benchmarks/speed/growth.py for the data).
- genome: 56 simulated genomes with 3.7 million columns against reading them, and peak memory.
- iteration: an iteration of the relaxed solve against its two products.
- published: a fit against the paper's loop in plain numpy.

Seconds are CPU seconds of all threads where a table says so, and seconds on the clock otherwise. Tables and texts are
read from the folder ``shared`` beside the repository, or from ``--data``; what is not there is skipped. The older
revision needs what it depended on, as numba. Every run is a line of runs.jsonl in a folder per part. Seeds start at
5000.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.claims import FIRST_SEED, LARGE, PLANTED, SMALL, wrong_labels
from benchmarks.parts import Part, make_parser, mean, median, ratio, run
from benchmarks.speed import growth, older
from benchmarks.speed.pairs import GENOME, against_nmf, against_older, transforming
from benchmarks.speed.published import iteration, published
from benchmarks.speed.starting import building, first_fit
from benchmarks.speed.threads import serial_share, speed_with, threads
from benchmarks.speed.whole_genome import whole_genome

PARTS = {
    "build": Part(
        "Building a wheel",
        building,
        {"all sources": 3},
        {"all sources": 1},
        {"seconds": median("seconds", 1), "CPU seconds": median("cpu_seconds", 1), "lines of C++": mean("lines", 0)},
    ),
    "first-fit": Part(
        "First fits of a fresh installation, CPU seconds",
        first_fit,
        {"older": 3, "newer": 3},
        {"newer, small": 1},
        {
            "import and first fit, 120 x 100": median("first"),
            "first large fit, 56 x 400,000": median("large", 1),
            "loading in the next process": median("loading"),
            "a small fit": median("second", 3),
        },
    ),
    "nmf": Part(
        "A fit of 800 x 1000 against NMF with the true rank, seconds",
        against_nmf,
        {"800 x 1000": 8},
        {"800 x 1000": 1},
        {"fit": median("seconds", 3), "NMF": median("nmf", 3), "ratio": ratio("seconds", "nmf")},
    ),
    "older": Part(
        "Fits before and after, seconds on the clock with two cores",
        against_older,
        {
            **dict.fromkeys(PLANTED, 2),
            **dict.fromkeys(SMALL, 2),
            **dict.fromkeys(LARGE, 1),
            "movie": 1,
            GENOME: 2,
        },
        {},
        {
            "before": median("before"),
            "after": median("after"),
            "times faster": ratio("before", "after", 1),
            "by CPU seconds": ratio("cpu_before", "cpu_after", 1),
            "patterns before": median("patterns_before", 0),
            "patterns after": median("patterns", 0),
        },
    ),
    "classes": Part(
        "Classes of 1000 rows x 5000 columns",
        wrong_labels,
        {"2 classes": 1, "10 classes": 1, "20 classes": 1, "50 classes": 1},
        {"2 classes": 1},
        {
            "CPU seconds": median("cpu_seconds", 1),
            "seconds": median("seconds", 1),
            "patterns": mean("patterns", 0),
            "soft F1": mean("soft F1", 3),
        },
    ),
    "transform": Part(
        "New rows of 41 classes, CPU seconds",
        transforming,
        {"5,000 x 1,000": 2},
        {"820 x 200": 1},
        {
            "fit": median("fit"),
            "transform": median("transform"),
            "ratio": ratio("transform", "fit", 3),
            "patterns": median("patterns", 0),
        },
    ),
    "threads": Part(
        "One thread against two, seconds",
        threads,
        {"56 x 400,000": 2, "kr_vs_kp": 2},
        {"56 x 20,000": 1},
        {
            "one": median("one"),
            "two": median("two"),
            "times faster": ratio("one", "two"),
            "serial share": lambda runs: f"{serial_share(runs):.2f}",
            "sixteen threads, by Amdahl": speed_with(16),
        },
    ),
    "growth": Part(
        "How time grows",
        growth.growth,
        dict.fromkeys(growth.CASES, 2),
        dict.fromkeys(growth.QUICK_CASES, 1),
        {},
        make_table=growth.growth_table,
    ),
    "genome": Part(
        "Whole genomes: a fit against reading, and memory",
        whole_genome,
        {"whole": 2},
        {"a thousandth": 1},
        {
            "columns": mean("columns", 0),
            "reading, s": median("reading", 1),
            "fit, s": median("seconds", 1),
            "fit / reading": ratio("seconds", "reading", 1),
            "input, MB": mean("input_mb", 0),
            "peak, MB": mean("peak_mb", 0),
            "peak / input": ratio("peak_mb", "input_mb", 1),
            "patterns": mean("patterns", 0),
        },
    ),
    "iteration": Part(
        "An iteration against its two products, ms",
        iteration,
        {"rank 30": 1, "rank 45": 1},
        {"rank 30": 1},
        {"iteration": median("ms"), "products": median("products_ms"), "ratio": ratio("ms", "products_ms")},
    ),
    "published": Part(
        "A fit of 800 x 1000 against the paper's loop in plain numpy, seconds",
        published,
        {"800 x 1000": 1},
        {},
        {"fit": median("seconds"), "plain loop": median("plain", 0), "times faster": ratio("plain", "seconds", 0)},
    ),
}


def main() -> None:
    parser = make_parser(__doc__, PARTS, Path("out/speed"))
    parser.add_argument("--older", default=older.REVISION, metavar="REVISION", help="what to compare with; %(default)s")
    parser.add_argument("--figure", type=Path, help="draw the part growth into this file")
    args = parser.parse_args()
    older.choose(args.older)
    found = run(parser, PARTS, args, FIRST_SEED)
    if args.figure and found.get("growth"):
        growth.draw(pd.DataFrame(found["growth"]), args.figure)


if __name__ == "__main__":
    main()
