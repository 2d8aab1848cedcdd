"""Read changed files of all formats, and count how it ends.

    python -m fuzz --seconds 600              # all formats, for ten minutes
    python -m fuzz csv parquet --files 5000   # so many files of each
    python -m fuzz --case parquet:1234        # one file again, in this process
    python -m fuzz --case parquet:1234 --regression bad_index --was KeyError   # and keep it in tests/io/regressions

Reading a file has to return a table or to refuse the file with one sentence. What must not happen is a finding: the
process dies (crash), reading takes longer than 20 s (hang) or more than 2 GB (memory), an error that is not documented
(exception), or a message or a table that is not as documented (unclear). Findings are kept in fuzz/findings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fuzz.formats import FORMATS
from fuzz.regressions import FOLDER as REGRESSIONS
from fuzz.regressions import save
from fuzz.running import Counts, run
from fuzz.trial import FINDINGS, READ, REFUSED, attempt

FOLDER = Path(__file__).parent / "findings"
COLUMNS = ["format", "files", READ, REFUSED, *FINDINGS]


def table_of(counts: dict[str, Counts]) -> list[list[str]]:
    """Return a line per format, and one for all."""
    total = Counts()
    for of in counts.values():
        total.kinds += of.kinds
    named = {**counts, "all": total}
    return [
        [name, f"{of.tried:,}", *(f"{of.kinds[kind]:,}" for kind in (READ, REFUSED, *FINDINGS))]
        for name, of in named.items()
    ]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="format", help=f"{', '.join(FORMATS)}; all by default")
    parser.add_argument("--seconds", type=float, help="try files for so long; 60 by default")
    parser.add_argument("--files", type=int, help="try so many files of every format")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same files")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--case", help="try one file again and show what happens: FORMAT:NUMBER")
    parser.add_argument("--regression", metavar="NAME", help="keep the file of --case among the tests of readers")
    parser.add_argument("--was", default="", help="what went wrong with it")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="folder for findings")
    args = parser.parse_args()
    for name in [*args.formats, *([args.case.partition(":")[0]] if args.case else [])]:
        if name not in FORMATS:
            parser.error(f"there is no format {name!r}; choose from {', '.join(FORMATS)}")
    if args.case:
        _try_again(args.case, args.seed, args.regression, args.was)
        return
    seconds = args.seconds or (None if args.files else 60.0)
    counts = run(
        args.formats or FORMATS, seed=args.seed, seconds=seconds, files=args.files, jobs=args.jobs, keep=args.output
    )
    _show(counts, args.seed)
    sys.exit(any(of.n_findings for of in counts.values()))


def _show(counts: dict[str, Counts], seed: int) -> None:
    table = Table(*COLUMNS, title=f"Changed files, seed {seed}")
    for line in table_of(counts):
        table.add_row(*line)
    console = Console(width=120, highlight=False)
    console.print(table)
    for name, of in counts.items():
        for where, count in of.findings.most_common():
            console.print(f"{name}: {count} x {where}", markup=False, soft_wrap=True)


def _try_again(case: str, seed: int, regression: str | None, was: str) -> None:
    name, _, number = case.partition(":")
    form = FORMATS[name]
    made = form.case(seed, int(number))
    print(f"read {made.path!r} with {made.options}")
    # Written before: reading it may end this process.
    if regression is not None:
        save(made, form, was, REGRESSIONS / regression)
    with tempfile.TemporaryDirectory() as folder:
        outcome = attempt(made, Path(folder) / "case", form.is_model, True)
    print(f"{outcome.kind}: {outcome.said}".encode(errors="backslashreplace").decode())


if __name__ == "__main__":
    main()
