"""The tables and figures of the pages in docs/benchmarks and docs/guide, from stored runs.

    python -m benchmarks.pages              # write all tables, and the figures that are missing
    python -m benchmarks.pages --figures    # draw all figures anew
    python -m benchmarks.pages --check      # write nothing; exit with code 1 if a table is out of date

Nothing is measured here. A page says where a table belongs, and what is between the two marks is replaced::

    <!-- table: claims/shuffled -->
    <!-- end -->

Runs are those of benchmarks/results. A table without runs says that it is not measured yet.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import claims, methods, parts, planted, real, scale
from benchmarks.mutants import __main__ as mutants_command
from benchmarks.speed import __main__ as speed
from benchmarks.speed import growth
from benchmarks.trust import __main__ as trust
from experiments.experiment import Row, code_versions
from experiments.store import Store
from saltmine.cli.output import markdown_table
from saltmine.comparison import draw as draw_methods
from saltmine.methods import METHODS

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
PAGES = ("benchmarks", "guide", "method")
FIGURES = DOCS / "benchmarks"
NOT_MEASURED = "*Not measured yet.*"
MARKED = re.compile(r"(<!-- table: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Lines = parts.Lines
PARTS: dict[str, parts.Parts] = {"claims": claims.PARTS, "speed": speed.PARTS, "trust": trust.PARTS}
# Names of cases as a page writes them.
NAMES = {
    "kr_vs_kp": "kr-vs-kp",
    "tictactoe": "tic-tac-toe",
    "breast_cancer": "breast cancer",
    "digits": "digits, all ten",
    "adult": "adult (census)",
    "space_rel": "Space-Rel",
    "politics": "Politics",
    "movie": "Movie",
    "small": "a tenth of a small genome",
    "whole": "whole genome",
    **{
        f"{name}, {how}": f"{name}, labels shuffled {how} groups"
        for name in claims.SMALL
        for how in ("among", "within")
    },
}
# Columns that a page shows of the parts that have more than six, or some that say nothing there.
CHOSEN: dict[str, tuple[str, ...]] = {
    "claims/shuffled": ("fits with a claim", "with q <= 0.05", "claims", "patterns"),
    "claims/swapped": ("fits with a pattern", "all patterns"),
    "claims/wrong_labels": ("soft F1", "precision", "recall", "claims", "CPU seconds"),
    "claims/planted": ("fits", "F", "rec_V", "patterns"),
    "claims/genome": ("recall", "precision", "patterns"),
    "claims/text": ("errors per one", "of fewer than five rows", "patterns"),
    "claims/lines": ("crosses", "noughts", "other claims"),
    "speed/older": ("before", "after", "times faster", "by CPU seconds"),
    "speed/genome": ("columns", "reading, s", "fit, s", "fit / reading", "peak / input"),
    "trust/models": ("tried", "loaded", "refused", "forbidden", "wrong"),
}


# ---------------------------------------------------------------------- parts of benchmarks


def of_part(folder: str, name: str) -> str:
    """Return the table of a part, and of which code its runs are."""
    rows = stored(folder, name)
    if not rows:
        return NOT_MEASURED
    columns, lines = parts.table_of(PARTS[folder][name], rows)
    if chosen := CHOSEN.get(f"{folder}/{name}"):
        places = [0, *(columns.index(column) for column in chosen)]
        columns, lines = [columns[k] for k in places], [[line[k] for k in places] for line in lines]
    return with_code((columns, lines), rows)


def stored(folder: str, name: str) -> list[Row]:
    return Store(RESULTS / folder / name, name).rows


def with_code(table: Lines, rows: Sequence[Row]) -> str:
    """Return a table with the number of its runs and their code below."""
    columns, lines = table
    named = [[NAMES.get(line[0], line[0]), *line[1:]] for line in lines]
    runs = f"{len(rows):,} runs" if len(rows) > 1 else "One run"
    return f"{markdown_table(columns, named)}\n\n{runs} with {code_versions(rows)}."


def claims_summary() -> str:
    """Return what was reported where nothing is there, and what other rows confirmed: a line per question."""
    runs = {name: pd.DataFrame(stored("claims", name)) for name in claims.PARTS}
    noise = runs["planted"][runs["planted"]["case"] == claims.PURE_NOISE]
    grouped, halves, findings = runs["grouped"], runs["halves"], runs["findings"]
    lines = [
        ["labels shuffled", "fits with a claim about a class", parts.some("claims")(runs["shuffled"])],
        ["row and column sums kept, the rest shuffled", "fits with a pattern", parts.some("patterns")(runs["swapped"])],
        ["pure noise", "fits with a pattern", parts.some("patterns")(noise)],
        [
            "copied rows as groups, labels shuffled",
            "fits with a claim",
            parts.some("claims by groups")(grouped),
        ],
        ["the same without groups", "fits in which single items differ", parts.some("items by rows")(grouped)],
        ["claims of half of the rows", "share that the other half confirms", parts.share("confirmed")(halves)],
        [
            "findings of half of the rows",
            "share that the other half confirms",
            parts.share("confirmed findings", "findings")(findings),
        ],
    ]
    return markdown_table(["data", "counted", "result"], lines)


def trust_summary() -> str:
    found = {name: stored("trust", name) for name in trust.PARTS}
    rows = [row for of_part in found.values() for row in of_part]
    if not rows:
        return NOT_MEASURED
    return f"{markdown_table(*trust.summary(found))}\n\n{len(rows):,} runs; the tables below say with which code."


def trust_files() -> str:
    """Return how changed files of every format ended; all that must not happen is one column."""
    rows = stored("trust", "files")
    if not rows:
        return NOT_MEASURED
    columns, lines = parts.table_of(trust.PARTS["files"], rows)
    good = columns.index("refused") + 1
    shown = [[*line[:good], str(sum(int(found) for found in line[good:]))] for line in lines]
    return with_code(([*columns[:good], "must not happen"], shown), rows)


def trust_bombs() -> str:
    """Return the most that files of every format took, which were made to take much."""
    rows = stored("trust", "bombs")
    if not rows:
        return NOT_MEASURED
    runs = pd.DataFrame(rows)
    # Names begin with the format.
    runs["format"] = runs["case"].str.extract(r"^(sparse npz|sample sheet|[^ ,]+)", expand=False)
    lines = []
    for name, of in runs.groupby("format", sort=False):
        most = [f"{of['seconds'].max():.1f}", f"{of['megabytes'].max():.0f}"]
        lines.append([str(name), str(len(of)), *most, str(int(of["exceeds"].sum()))])
    return with_code((["", "files", "most seconds", "most MB", "too much"], lines), rows)


def mutant_table() -> str:
    rows = mutants_command.load(RESULTS / "mutants")
    return with_code(mutants_command.table_of(rows), rows) if rows else NOT_MEASURED


# ---------------------------------------------------------------------- real tables

REAL = {"csalt": "CSalt", "paper": '`"paper"`', "primp": "Primp", "diffnorm": "DiffNorm", "bernoulli_nb": "BernoulliNB"}


def real_figures(figure: str, digits: int = 3, best: Callable[[Any], Any] | None = np.nanmin) -> str:
    """Return a figure of every table and method; the best of a line is bold."""
    rows = stored("real", "methods")
    runs = pd.DataFrame(rows).pivot_table(index="case", columns="method", values=figure, sort=False)
    shown = [method for method in REAL if method in runs and runs[method].notna().any()]
    cases = [case for case in real.TABLES if case in runs.index]
    lines = []
    for case in cases:
        values = [round(float(runs[method][case]), digits) for method in shown]
        first = None if best is None else float(best(values))
        lines.append([case, *(_marked(value, first, digits) for value in values)])
    return with_code((["table", *(REAL[method] for method in shown)], lines), rows)


def _marked(value: float, best: float | None, digits: int) -> str:
    if np.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return f"**{text}**" if value == best else text


def of_real(name: str) -> str:
    """Return one of the tables that benchmarks.real prints."""
    rows = stored("real", name)
    return with_code(real.PARTS[name](rows), rows)


# ---------------------------------------------------------------------- other methods


def methods_table(columns: Mapping[str, tuple[str, str]]) -> str:
    """Return columns of all methods, each at its best setting."""
    best = methods.best_settings(pd.read_csv(RESULTS / "methods.csv"))
    records: list[dict[str, Any]] = best.to_dict("records")  # type: ignore[assignment]  # the keys are names of columns
    lines = [
        [_title(row["method"]), *(text.format(row[column]) for column, (_, text) in columns.items())] for row in records
    ]
    return markdown_table(["method", *(heading for heading, _ in columns.values())], lines)


def _title(method: str) -> str:
    title = METHODS[method].title if method in METHODS else "NMF (scikit-learn)"
    return f"**{title}**" if method == "csalt" else title


QUALITY = {
    "f_measure": ("F", "{:.4f}"),
    "alteration_recall": ("rec_V", "{:.3f}"),
    "rank_error": ("rank error", "{:.1f}"),
    "f/f*": ("f/f*", "{:.4f}"),
    "shortest": ("shortest f/f*", "{:.4f}"),
}
FOUND = {
    "patterns": ("patterns", "{:.1f}"),
    "common": ("common", "{:.1f}"),
    "specific": ("of one class", "{:.1f}"),
    "altered": ("altered", "{:.1f}"),
    "by_chance": ("by chance", "{:.1f}"),
}
COST = {
    "setting": ("setting", "{}"),
    "items": ("items", "{:.0f}"),
    "rows": ("rows", "{:.0f}"),
    "rss": ("RSS", "{:,.0f}"),
    "seconds": ("seconds", "{:.1f}"),
}

# ---------------------------------------------------------------------- planted data and growth

SOLVERS = {"saltmine": "CSalt", "planted start": "started from the truth", "paper": "as published", "nmf": "NMF"}


def planted_runs() -> pd.DataFrame:
    """Return the runs of all methods; of CSalt the newer ones."""
    ours, others = (pd.read_csv(RESULTS / name) for name in ("solver.csv", "planted.csv"))
    return pd.concat([ours, others[~others["method"].isin(ours["method"])]])


def planted_quality() -> str:
    runs = planted_runs()
    lines = []
    for case in planted.cases():
        of_case = runs[runs["case"] == case.name]
        means = [of_case.loc[of_case["method"] == method, ["F", "rec_V"]].mean() for method in SOLVERS]
        lines.append([_case(case.name), *("-" if np.isnan(F) else f"{F:.3f} / {rec:.3f}" for F, rec in means)])
    return markdown_table(["planted data", *SOLVERS.values()], lines)


def planted_ranks() -> str:
    runs = planted_runs()
    runs = runs[runs["method"] == "saltmine"]
    lines = []
    for case in planted.cases():
        of_case = runs[runs["case"] == case.name]
        found, truth, length = of_case[["rank", "planted", "f/f*"]].mean()
        figures = [f"{found:.1f}", f"{truth:.1f}", f"{length:.3f}", f"{of_case['f/f*'].max():.3f}"]
        lines.append([_case(case.name), *figures])
    return markdown_table(["planted data", "patterns found", "planted", "f/f*, mean", "f/f*, worst"], lines)


def _case(name: str) -> str:
    return re.sub(r"(\d)%", r"\1 %", name)


def scaling() -> str:
    runs = pd.read_csv(RESULTS / "scaling.csv")
    columns = ["what grows", "size", "ones", "seconds", "input, MB", "peak, MB"]
    lines = [
        [str(kind), f"{size:,.0f}", f"{ones:,.0f}", f"{seconds:.1f}", f"{given:.0f}", f"{peak:.0f}"]
        for kind, size, ones, seconds, given, peak in runs[
            ["kind", "size", "ones", "seconds", "input_mb", "peak_mb"]
        ].itertuples(index=False)
    ]
    return markdown_table(columns, lines)


def growth_with_figure() -> str:
    if not stored("speed", "growth"):
        return NOT_MEASURED
    return f"{of_part('speed', 'growth')}\n\n![CPU seconds of a fit against what grows](growth.png)"


# ---------------------------------------------------------------------- all tables and figures

TABLES: dict[str, Callable[[], str]] = {
    **{f"{folder}/{name}": partial(of_part, folder, name) for folder, of in PARTS.items() for name in of},
    "claims/summary": claims_summary,
    "speed/growth": growth_with_figure,
    "trust/summary": trust_summary,
    "trust/files": trust_files,
    "trust/bombs": trust_bombs,
    "mutants": mutant_table,
    "real/train": partial(real_figures, "train"),
    "real/test": partial(real_figures, "test"),
    "real/predict": partial(real_figures, "predict", best=np.nanmax),
    "real/patterns": partial(real_figures, "patterns", 0, None),
    "real/seeds": partial(of_real, "seeds"),
    "real/pipelines": partial(of_real, "pipelines"),
    "methods/quality": partial(methods_table, QUALITY),
    "methods/found": partial(methods_table, FOUND),
    "methods/cost": partial(methods_table, COST),
    "planted/quality": planted_quality,
    "planted/ranks": planted_ranks,
    "scaling": scaling,
}


def draw_figures(folder: Path, anew: bool) -> list[Path]:
    """Draw the figures whose runs are stored, where they are missing or ``anew``; return what was drawn."""
    drawn = []
    for name, draw in FIGURE_OF.items():
        path = folder / name
        if (anew or not path.exists()) and draw(path):
            drawn.append(path)
    return drawn


def _draw_real(path: Path) -> bool:
    real.draw(stored("real", "methods"), path)
    return True


def _draw_methods(path: Path) -> bool:
    draw_methods(methods.best_settings(pd.read_csv(RESULTS / "methods.csv"))).savefig(path, dpi=150)
    return True


def _draw_scaling(path: Path) -> bool:
    runs = pd.read_csv(RESULTS / "scaling.csv")
    found = {kind: runs[runs["kind"] == kind].to_dict("records") for kind in ("columns", "rows")}
    scale.draw(found, path)  # type: ignore[arg-type]  # the keys are names of columns
    return True


def _draw_growth(path: Path) -> bool:
    rows = stored("speed", "growth")
    if rows:
        growth.draw(pd.DataFrame(rows), path)
    return bool(rows)


FIGURE_OF: dict[str, Callable[[Path], bool]] = {
    "real_tables.png": _draw_real,
    "methods.png": _draw_methods,
    "scaling.png": _draw_scaling,
    "growth.png": _draw_growth,
}

# ---------------------------------------------------------------------- the command


def filled(text: str) -> str:
    """Return the text of a page with the tables of the stored runs."""

    def fill(found: re.Match[str]) -> str:
        name = found[2]
        if name not in TABLES:
            raise SystemExit(f"There is no table {name!r}; choose from {', '.join(TABLES)}.")
        return f"{found[1]}\n{TABLES[name]()}\n\n{found[4]}"

    return MARKED.sub(fill, text)


def pages() -> list[Path]:
    """Return the pages that have tables."""
    found = [path for folder in PAGES for path in sorted((DOCS / folder).glob("*.md"))]
    return [path for path in found if MARKED.search(path.read_text("utf-8"))]


def out_of_date() -> list[Path]:
    """Return the pages whose tables differ from those of the stored runs."""
    return [path for path in pages() if filled(path.read_text("utf-8")) != path.read_text("utf-8")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with code 1 if a page is out of date")
    parser.add_argument("--figures", action="store_true", help="draw all figures anew")
    args = parser.parse_args()
    changed = out_of_date()
    if args.check:
        for path in changed:
            print(f"{path.relative_to(ROOT)} is out of date: python -m benchmarks.pages writes it.")
        sys.exit(bool(changed))
    for path in changed:
        path.write_text(filled(path.read_text("utf-8")), "utf-8")
    for path in [*changed, *draw_figures(FIGURES, args.figures)]:
        print(f"{path.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
