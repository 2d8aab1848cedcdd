"""How much of the structure of real tables a model has, and how well it predicts.

    python -m benchmarks.structure                  # what there is to learn: mixtures and trees; stored for `quality`
    python -m benchmarks.structure --tables vote,zoo

    from benchmarks import structure
    structure.held_out(fit, ["vote", "zoo"])        # fit(X, y, seed) returns a model; CSalt by default
    structure.predictions(fit, ["vote", "stroke"])

Three stratified folds, shuffled by the seed; classes of at least six rows. Figures:

- nats: of held-out rows given their class, by ``score_samples`` (where a model has none, by ``code_lengths``), divided
  by those of independent items with the frequencies of the class and a pseudo-count of one half. Below 1, something
  besides single frequencies was learnt. "Mixtures" and "tree" are the same for mixtures of independent items, their
  number chosen by validation, and for Chow-Liu trees, both by class: what there is to learn.
- accuracy, log loss: of ``predict`` and ``predict_proba``, beside naive Bayes (`BernoulliNB`) and logistic regression
  on the items.
- transform: accuracy of logistic regression on ``transform``.

Tables are those of ``shared`` beside the repository, or of ``--data``, and digits (ink or none); tables of other data
(``messy``) become items by `Prepare`. It sees the columns of all rows, without labels: a fold may lack a value of a
column, which `Prepare` refuses in new rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB

from benchmarks.figures import Figures, Fit, Part, default_fit, mean, of_cases, pattern_numbers, run_all
from benchmarks.parts import DATA, require
from benchmarks.real import FOLDS, large_classes, read
from benchmarks.to_learn import DENSITIES
from experiments.experiment import Row, SkipTask
from saltmine import Prepare
from saltmine.arrays import Bools

TABLES = ("kr_vs_kp", "vote", "soybean", "digits", "tictactoe", "zoo", "audiology", "lymph", "mushroom", "adult")
OTHERS = ("stroke", "opt", "hepatitis", "flags", "churn", "credit-g")
QUICK = ("kr_vs_kp", "vote", "soybean", "zoo", "lymph")
#: Files, column of the class, and what separates columns.
FILES = {
    "stroke": ("stroke.csv", "stroke", ","),
    "opt": ("opt.csv.gz", "Group", ","),
    **{name: (f"{name}.csv.gz", "class", "\t") for name in ("hepatitis", "flags", "churn", "credit-g")},
}
MISSING = [".", " "]
MEASURES = ("accuracy", "log loss")
STORED = Path(__file__).parent / "results" / "quality" / "to_learn.json"
STORED_SEED = 5000


class Fold(NamedTuple):
    """Rows of a fit and held-out rows, as items."""

    X: Bools
    y: NDArray[np.str_]
    new: Bools
    labels: NDArray[np.str_]


# ---------------------------------------------------------------------- tables


@lru_cache(maxsize=1)
def items_of_other(name: str, data: Path) -> tuple[Bools, NDArray[np.str_]]:
    """Read a table whose columns are no items yet; return its items and its labels."""
    file, label, separator = FILES[name]
    require(data / "data" / "messy")
    table = pd.read_csv(data / "data" / "messy" / file, sep=separator, na_values=MISSING, low_memory=False)
    items = Prepare(missing="item").fit_transform(table.drop(columns=label))
    return items.to_numpy(dtype=bool), table[label].to_numpy().astype(str)


def folds(name: str, seed: int, data: Path) -> Iterator[Fold]:
    """Yield the folds of a table."""
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split
    if name not in FILES:
        X, y = large_classes(*read(name, data))
        for train, test in split(X, y):
            yield Fold(X[train].toarray(), y[train], X[test].toarray(), y[test])
        return
    items, y = items_of_other(name, data)
    for train, test in split(items, y):
        yield Fold(items[train], y[train], items[test], y[test])


# ---------------------------------------------------------------------- held-out nats


def nats_of_model(model: Any, X: Bools, y: NDArray[np.str_]) -> float:
    """Return the nats of rows, given their class."""
    if hasattr(model, "score_samples"):
        return -float(np.sum(model.score_samples(X, y)))
    if not hasattr(model, "code_lengths"):
        raise SkipTask("the model has no score_samples")
    own = np.searchsorted(model.classes_, y)
    return float(model.code_lengths(X)[np.arange(len(own)), own].sum())


def nats_by_class(kind: str, fold: Fold, rng: np.random.Generator) -> float:
    """Return the nats of held-out rows by one of the models of `benchmarks.to_learn`, given their class."""
    nats = 0.0
    for label in np.unique(fold.labels):
        density = DENSITIES[kind](fold.X[fold.y == label], rng)
        nats -= float(density(fold.new[fold.labels == label]).sum())
    return nats


def measure_nats(fit: Fit, case: str, seed: int, data: Path) -> Row:
    rng, nats, null, patterns = np.random.default_rng(seed), 0.0, 0.0, []
    for fold in folds(case, seed, data):
        model = fit(fold.X, fold.y, seed)
        patterns.append(len(pattern_numbers(model)))
        nats += nats_of_model(model, fold.new, fold.labels)
        null += nats_by_class("independent", fold, rng)
    return {"nats": nats / null, "patterns": float(np.mean(patterns))}


def figures_of_nats(runs: Sequence[Row]) -> Figures:
    """Return the nats of every table, and of how far it is on the way from independent items to mixtures."""
    found = {case: mean(of, "nats") for case, of in of_cases(runs).items()}
    known = json.loads(STORED.read_text()) if STORED.exists() else {}
    ways = {
        f"{case}: way to mixtures": (1 - nats) / (1 - known[case]["mixtures"])
        for case, nats in found.items()
        if known.get(case, {}).get("mixtures", 1) < 1
    }
    return found | ways


def held_out(
    fit: Fit = default_fit, tables: Iterable[str] = TABLES, seeds: Iterable[int] = (0,), data: Path = DATA
) -> Figures:
    """Return the held-out nats of every table against independent items."""
    return figures_of_nats(run_all(measure_nats, fit, tables, seeds, data))


def to_learn(name: str, seed: int = STORED_SEED, data: Path = DATA) -> Figures:
    """Return the held-out nats of mixtures and of trees against independent items."""
    rng = np.random.default_rng(seed)
    nats = dict.fromkeys(DENSITIES, 0.0)
    for fold in folds(name, seed, data):
        for kind in nats:
            nats[kind] += nats_by_class(kind, fold, rng)
    return {kind: nats[kind] / nats["independent"] for kind in ("mixtures", "tree")}


# ---------------------------------------------------------------------- predictions


def measure_predictions(fit: Fit, case: str, seed: int, data: Path) -> Row:
    found = []
    for fold in folds(case, seed, data):
        model = fit(fold.X, fold.y, seed)
        if not all(hasattr(model, name) for name in ("predict", "predict_proba", "transform")):
            raise SkipTask("the model has no predict, predict_proba or transform")
        on_items = LogisticRegression(max_iter=2000).fit(fold.X, fold.y)
        others = {"": model, " of NB": BernoulliNB().fit(fold.X, fold.y), " of LR": on_items}
        row = {"transform": _on_features(model, fold)}
        for of, other in others.items():
            row |= {f"accuracy{of}": _accuracy(other, fold), f"log loss{of}": _log_loss(other, fold)}
        found.append(row)
    return {str(name): float(value) for name, value in pd.DataFrame(found).mean().items()}


def _accuracy(model: Any, fold: Fold) -> float:
    return float(np.mean(model.predict(fold.new) == fold.labels))


def _log_loss(model: Any, fold: Fold) -> float:
    return float(log_loss(fold.labels, model.predict_proba(fold.new), labels=np.unique(fold.y)))


def _on_features(model: Any, fold: Fold) -> float:
    """Return the accuracy of logistic regression on the features; of the most frequent class where there are none."""
    before, after = (np.asarray(model.transform(rows), dtype=np.float64) for rows in (fold.X, fold.new))
    if not before.shape[1]:
        before, after = (np.zeros((len(rows), 1)) for rows in (before, after))
    on_top = LogisticRegression(max_iter=2000).fit(before, fold.y)
    return float(on_top.score(after, fold.labels))


def figures_of_predictions(runs: Sequence[Row]) -> Figures:
    """Return the figures of every table: of the model, of naive Bayes and of logistic regression."""
    names = (*MEASURES, "transform", *(f"{name}{of}" for name in MEASURES for of in (" of NB", " of LR")))
    return {f"{case}: {name}": mean(of, name) for case, of in of_cases(runs).items() for name in names}


def predictions(
    fit: Fit = default_fit,
    tables: Iterable[str] = (*TABLES, *OTHERS),
    seeds: Iterable[int] = (0,),
    data: Path = DATA,
) -> Figures:
    """Return accuracy and log loss of every table, of the model and of others."""
    return figures_of_predictions(run_all(measure_predictions, fit, tables, seeds, data))


# ---------------------------------------------------------------------- the parts and the command

PARTS: dict[str, Part] = {
    "structure": Part(
        "Held-out nats against independent items",
        measure_nats,
        figures_of_nats,
        dict.fromkeys(TABLES, 1),
        dict.fromkeys(QUICK, 1),
    ),
    "predict": Part(
        "Predictions",
        measure_predictions,
        figures_of_predictions,
        dict.fromkeys((*TABLES, *OTHERS), 1),
        dict.fromkeys((*QUICK, "hepatitis", "flags"), 1),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=lambda names: names.split(","), default=TABLES, help="only these tables")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds data/tables and data/messy")
    parser.add_argument("-o", "--output", type=Path, default=STORED, help="file of the results")
    args = parser.parse_args()
    found = json.loads(args.output.read_text()) if args.output.exists() else {}
    for name in args.tables:
        try:
            found[name] = {kind: round(value, 4) for kind, value in to_learn(name, data=args.data).items()}
        except SkipTask as reason:
            print(f"{name} is skipped: {reason}.")
            continue
        print(name, found[name], flush=True)
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
