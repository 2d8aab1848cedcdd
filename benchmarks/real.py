"""How well real tables are described and predicted: `CSalt` beside other methods.

    python -m benchmarks.real                                  # all tables and methods; about an hour on two cores
    python -m benchmarks.real --tables zoo,vote --methods csalt,paper
    python -m benchmarks.real seeds --tables soybean,zoo       # how much the score depends on the seed
    python -m benchmarks.real --show -o FOLDER                 # tables of stored runs
    python -m benchmarks.real methods --show --plot FILE.png   # and a picture

Figures of a table and a method:

- train: description length of all rows, without the specificity term, divided by that of the model without patterns.
- test: nats of `code_lengths` for the true class of held-out rows (three folds; classes of at least six rows), divided
  by those of item codes of the class with a pseudo-count of one half.
- predict: accuracy on held-out rows.
- usage, alterations: accuracy of logistic regression on these features of `CSalt`; log loss: of `predict_proba`.
- transform: description with the usage that `transform` gives the rows of the fit, divided by that with `usage_`.

Tables are those of ``shared`` beside the repository, or of ``--data``; wine, breast cancer (both through `Prepare`) and
digits (ink or none) come with scikit-learn. Every run is a line of runs.jsonl in a folder per part. Seeds start at
5000; with ``--tune`` at 0.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB

from benchmarks.claims import FIRST_SEED, FIRST_TUNING_SEED, LARGE, SMALL, load
from benchmarks.parts import DATA
from experiments.experiment import Row, SkipTask, Task
from experiments.store import Store, back_up
from saltmine import CSalt, DiffNorm, Prepare, Primp
from saltmine.cli.output import markdown_table
from saltmine.comparison import load_compiled
from saltmine.mdl.row_model import MORE_LIKELY
from saltmine.metrics import description_length

FOLDS = 3
# Smaller classes take no part in the figures of held-out rows.
FEWEST_ROWS = 2 * FOLDS
SEEDS = 10
PSEUDO_COUNT = 0.5
INK = 7
METHODS: dict[str, Callable[[int], Any]] = {
    "csalt": lambda seed: CSalt(random_state=seed),
    "paper": lambda seed: CSalt(random_state=seed, algorithm="paper"),
    "primp": lambda seed: Primp(random_state=seed),
    "diffnorm": lambda seed: DiffNorm(),
    "bernoulli_nb": lambda seed: BernoulliNB(),
}

# Names, marks and colours of the methods in the picture, and what it shows of them.
MARKS = {
    "bernoulli_nb": ("BernoulliNB", "x", "#777777"),
    "diffnorm": ("DiffNorm", "^", "#b8860b"),
    "primp": ("Primp", "s", "#5b8db8"),
    "paper": ('CSalt(algorithm="paper")', "D", "#b05a7a"),
    "csalt": ("CSalt", "o", "#1b7a5a"),
}
DRAWN = {
    "train": "description, all rows\n(less is better)",
    "test": "description, held-out rows\n(less is better)",
    "predict": "accuracy, held-out rows\n(more is better)",
}

# ---------------------------------------------------------------------- tables


def _digits(classes: tuple[int, ...]) -> tuple[Any, Any]:
    data = load_digits()
    chosen = np.isin(data.target, classes)
    return sp.csr_array(data.data[chosen] > INK), data.target[chosen].astype(str)


def _prepared(loader: Callable[..., Any]) -> tuple[Any, Any]:
    data = loader(as_frame=True)
    return sp.csr_array(Prepare().fit_transform(data.data).to_numpy(dtype=bool)), data.target.to_numpy().astype(str)


OF_SCIKIT_LEARN: dict[str, Callable[[], tuple[Any, Any]]] = {
    "wine": partial(_prepared, load_wine),
    "breast_cancer": partial(_prepared, load_breast_cancer),
    "digits": partial(_digits, tuple(range(10))),
    "digits 3 and 8": partial(_digits, (3, 8)),
}
TABLES = (*SMALL, "wine", "breast_cancer", "digits", *LARGE)
OF_SEEDS = ("soybean", "zoo", "digits 3 and 8", "wine")
OF_PIPELINES = ("vote", "zoo", "soybean", "digits", "lymph", "audiology", "breast_cancer", "adult")


def read(name: str, data: Path) -> tuple[Any, Any]:
    """Return the items of a table, CSR, and its labels as text."""
    if name in OF_SCIKIT_LEARN:
        return OF_SCIKIT_LEARN[name]()
    table = load(name, data)
    return table.X, table.y


# ---------------------------------------------------------------------- figures


def length_without_specificity(X: Any, y: NDArray[Any], model: Any, usage: NDArray[np.bool_]) -> float:
    """Return f without the term S, of a model with any usage of its patterns."""
    length = description_length(X, y, model.components_, model.alterations_, usage)
    for s in np.flatnonzero(model.alterations_.any(axis=(0, 2))):
        rows = np.flatnonzero(usage[:, s])
        hits = np.stack([_count(X[rows[y[rows] == label]]) for label in model.classes_])
        used = np.array([np.count_nonzero(y[rows] == label) for label in model.classes_])
        for a, items in enumerate(model.alterations_[:, s]):
            length -= float((used[a] + hits.sum(axis=0) - 2 * hits[a])[items].sum())
    return length


def _count(rows: Any) -> NDArray[np.int64]:
    return np.asarray(rows.sum(axis=0), dtype=np.int64).ravel()


def null_lengths(X: Any, y: NDArray[Any], train: Any, test: Any) -> float:
    """Return the nats of the ones of held-out rows by the item codes of their classes."""
    nats = 0.0
    for label in np.unique(y[test]):
        counts = _count(X[train[y[train] == label]]) + PSEUDO_COUNT
        nats -= float(_count(X[test[y[test] == label]]) @ np.log(counts / counts.sum()))
    return nats


def compare(table: str, method: str, seed: int, data: Path) -> Row:
    """Measure one method on one table."""
    X, y = read(table, data)
    describes = method != "bernoulli_nb"
    found: Row = {}
    if describes:
        model = METHODS[method](seed)
        begin = time.process_time()
        model.fit(X, y)
        found = {"cpu_seconds": round(time.process_time() - begin, 2), "patterns": int((~model.typical_).sum())}
        length = length_without_specificity(X, y, model, model.usage_)
        usage = model.transform(X, y)[:, : model.n_components_] > MORE_LIKELY
        again = length_without_specificity(X, y, model, usage)
        found |= {"train": length / model.null_description_length_, "transform": again / length}
    if method != "primp":
        found |= _held_out(X, y, METHODS[method](seed), describes)
    return found


def large_classes(X: Any, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Return the rows of classes that have enough of them to hold some out."""
    labels, sizes = np.unique(y, return_counts=True)
    rows = np.flatnonzero(np.isin(y, labels[sizes >= FEWEST_ROWS]))
    return X[rows], y[rows]


def _held_out(X: Any, y: NDArray[Any], model: Any, describes: bool) -> Row:
    """Return the figures on held-out rows."""
    X, y = large_classes(X, y)
    right, nats, null = 0, 0.0, 0.0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        model.fit(X[train], y[train])
        right += int((model.predict(X[test]) == y[test]).sum())
        if describes:
            own = np.searchsorted(model.classes_, y[test])
            nats += float(model.code_lengths(X[test])[np.arange(len(own)), own].sum())
            null += null_lengths(X, y, train, test)
    return {"predict": right / len(y)} | ({"test": nats / null} if describes else {})


def score(table: str, seed: int, data: Path) -> Row:
    """Measure the score of one start."""
    X, y = read(table, data)
    begin = time.process_time()
    model = CSalt(random_state=seed).fit(X, y)
    length = length_without_specificity(X, y, model, model.usage_)
    return {"train": length / model.null_description_length_, "cpu_seconds": round(time.process_time() - begin, 2)}


def in_pipelines(table: str, seed: int, data: Path) -> Row:
    """Measure what others make of a model on held-out rows: logistic regression on its features, and probabilities."""
    X, y = large_classes(*read(table, data))
    figures = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        model = CSalt(random_state=seed, features="alterations").fit(X[train], y[train])
        before, after = model.transform(X[train]), model.transform(X[test])
        found = {}
        for name, columns in (("usage", slice(0, model.n_components_)), ("alterations", slice(None))):
            on_top = LogisticRegression(max_iter=2000).fit(before[:, columns], y[train])
            found[name] = on_top.score(after[:, columns], y[test])
        naive = BernoulliNB().fit(X[train], y[train])
        for name, other in (("log loss", model), ("log loss of NB", naive)):
            found[name] = log_loss(y[test], other.predict_proba(X[test]), labels=other.classes_)
        figures.append({**found, "predict": model.score(X[test], y[test]), "temperature": model.temperature_})
    return {str(name): float(value) for name, value in pd.DataFrame(figures).mean().items()}


# ---------------------------------------------------------------------- tables of the results


def table_of_methods(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return one line per table and method."""
    runs = pd.DataFrame(rows)
    columns = ["train", "test", "predict", "transform", "patterns", "cpu_seconds"]
    of_runs = runs.groupby(["case", "method"], sort=False)[[c for c in columns if c in runs]].mean()
    names = of_runs.index.tolist()
    lines = [[*name, *(_number(v) for v in line)] for name, line in zip(names, of_runs.to_numpy(), strict=True)]
    return ["table", "method", *of_runs.columns], lines


def table_of_seeds(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the least and the largest score of every table."""
    lines = []
    for case, runs in pd.DataFrame(rows).groupby("case", sort=False):
        least, most = runs["train"].min(), runs["train"].max()
        lines.append([str(case), str(len(runs)), _number(least), _number(most), _number((most - least) / least)])
    return ["table", "seeds", "least", "most", "spread"], lines


def table_of_pipelines(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return one line per table."""
    columns = ["usage", "alterations", "predict", "log loss", "log loss of NB"]
    runs = pd.DataFrame(rows).groupby("case", sort=False)[columns].mean()
    return ["table", *columns], [[str(case), *map(_number, line)] for case, line in runs.iterrows()]


def draw(rows: list[Row], path: Path) -> None:
    """Draw the figures of every table, a mark per method."""
    import matplotlib.pyplot as plt

    runs = pd.DataFrame(rows).groupby(["case", "method"], sort=False).mean(numeric_only=True)
    runs = runs.reindex(columns=list(DRAWN))
    tables = list(dict.fromkeys(runs.index.get_level_values("case")))[::-1]
    figure, axes = plt.subplots(
        1, len(DRAWN), figsize=(11, 0.6 + 0.36 * len(tables)), sharey=True, layout="constrained"
    )
    for axis, (name, title) in zip(axes, DRAWN.items(), strict=True):
        for method, (label, marker, colour) in MARKS.items():
            if method not in runs.index.unique("method"):
                continue
            of_method = runs[name].xs(method, level="method").reindex(tables)
            axis.plot(of_method, np.arange(len(tables)), marker, color=colour, label=label, markersize=7, alpha=0.9)
        axis.set(title=title, yticks=np.arange(len(tables)), yticklabels=tables)
        axis.grid(axis="y", color="0.9")
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=len(MARKS), frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}" if value < 10 else f"{value:.1f}"


PARTS = {"methods": table_of_methods, "seeds": table_of_seeds, "pipelines": table_of_pipelines}

# ---------------------------------------------------------------------- the command


def tasks_of(part: str, args: argparse.Namespace) -> list[Task]:
    """Return the runs that are wished for."""
    first = FIRST_TUNING_SEED if args.tune else FIRST_SEED
    if part == "seeds":
        return [
            {"case": case, "seed": first + k} for case in args.tables or OF_SEEDS for k in range(args.repeats or SEEDS)
        ]
    if part == "pipelines":
        tables = args.tables or OF_PIPELINES
        return [{"case": case, "seed": first + k} for case in tables for k in range(args.repeats or 1)]
    return [
        {"case": case, "method": method, "seed": first + k}
        for case in args.tables or TABLES
        for method in args.methods or METHODS
        for k in range(args.repeats or 1)
    ]


def measured(part: str, tasks: list[Task], data: Path) -> Iterator[tuple[Task, Row | None, str]]:
    """Yield every task with its figures, or with the reason why it has none."""
    load_compiled("csalt")
    for task in tasks:
        try:
            if part == "methods":
                yield task, compare(task["case"], task["method"], task["seed"], data), ""
            else:
                measure = score if part == "seeds" else in_pipelines
                yield task, measure(task["case"], task["seed"], data), ""
        except SkipTask as reason:
            yield task, None, str(reason)


def run(part: str, args: argparse.Namespace) -> list[Row]:
    """Measure what is wished for of a part, store every run, and return all stored ones."""
    folder = args.output / part
    folder.mkdir(parents=True, exist_ok=True)
    if not args.resume:
        back_up(folder)
    store, log = Store(folder, part), Console(stderr=True, highlight=False)
    with store.lock():
        todo = store.missing(tasks_of(part, args))
        for done, (task, found, reason) in enumerate(measured(part, todo, args.data), 1):
            what = ", ".join(str(value) for value in task.values())
            if found is not None:
                store.add(task, found)
            log.print(f"{part} {done}/{len(todo)}: {what}{f' is skipped: {reason}' if reason else ''}", soft_wrap=True)
    return store.rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="methods, seeds, pipelines; all by default")
    parser.add_argument("--tables", type=lambda names: names.split(","), help=f"of {', '.join(TABLES)}")
    parser.add_argument("--methods", type=lambda names: names.split(","), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--repeats", type=int, help="seeds of every table and method")
    parser.add_argument("--tune", action="store_true", help="seeds from 0 up, for what is still being changed")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds data/tables")
    parser.add_argument("--resume", action="store_true", help="keep the stored runs and add what is missing")
    parser.add_argument("--show", action="store_true", help="measure nothing; print the tables of stored runs")
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    parser.add_argument("--plot", type=Path, help="draw the part methods into this file")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/real"), help="folder for the runs")
    args = parser.parse_args()
    for part in args.parts or PARTS:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; choose from {', '.join(PARTS)}")
        rows = Store(args.output / part, part).rows if args.show else run(part, args)
        if not rows:
            print(f"{part}: no runs.")
            continue
        columns, lines = PARTS[part](rows)
        if args.markdown:
            print(markdown_table(columns, lines))
        else:
            shown = Table(*columns)
            for line in lines:
                shown.add_row(*line)
            Console(width=110).print(shown)
        if args.plot and part == "methods":
            draw(rows, args.plot)


if __name__ == "__main__":
    main()
