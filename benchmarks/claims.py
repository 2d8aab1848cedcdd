"""What `CSalt` claims about classes, and whether it is true.

    python -m benchmarks.claims                          # all parts; many hours on two cores
    python -m benchmarks.claims --quick                  # few tables and repeats
    python -m benchmarks.claims shuffled --tables vote,zoo --repeats 5 --tune
    python -m benchmarks.claims --show -o FOLDER         # tables of stored runs

Parts:

- shuffled: labels shuffled; every claim "only", "mostly" or "added" is false.
- grouped: rows copied two to four times with some noise, each with its copies a group, and labels shuffled among
  groups, those of one class being larger, or within groups; every claim about classes, single items included, is false.
- swapped: random data with the row and column sums of real data (`saltmine.datasets.swap`); every pattern is false.
- lines: tic-tac-toe, whose whole truth is known: lines of three crosses win, lines of three noughts lose.
- wrong_labels: patterns of classes, one label in ten wrong (`saltmine.datasets.make_class_patterns`).
- halves: claims of a fit of half of the rows, tested on the other half. The rows that use a pattern there are found
  without their labels: those with more than half of its items, or those that `transform` says use it.
- findings: headline and findings of a fit of half of the rows, tested on the other half: every claim that the headline
  counts, and every finding; of shared patterns, that their items go together more than in swaps of the other half.
- text: the paper's texts with at most 30 patterns.
- planted: the paper's planted matrices, 800 columns x 1000 rows, 24 patterns; and matrices of pure noise.
- genome: simulated genomes with planted programs of classes.
- real: all tables as they are.

Tables, texts and a small genome are read from the folder ``shared`` beside the repository, or from ``--data``; what is
not there is skipped. Every run is a line of runs.jsonl in a folder per part. Seeds start at 5000; with ``--tune`` at 0,
for changes that are still being tried.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.claim_checks import (
    CLAIMS,
    LEVEL,
    Claim,
    claims_of,
    go_together,
    half_of,
    is_confirmed,
    is_confirmed_finding,
    lines_of_three,
    soft_scores,
)
from benchmarks.noise import make_noise
from benchmarks.parts import Column, Part, fits, make_parser, mean, require, run, share, some, total
from benchmarks.scale import read_genome
from experiments import genome as genome_experiment
from experiments import planted as planted_experiment
from experiments.experiment import Row, Task
from experiments.genome_page import WHOLE
from saltmine import CSalt
from saltmine.comparison import load_compiled
from saltmine.datasets import make_class_patterns, swap
from saltmine.datasets.class_patterns import ClassPatterns
from saltmine.mdl.row_model import MORE_LIKELY

SMALL = ("vote", "zoo", "lymph", "soybean", "audiology", "kr_vs_kp", "tictactoe")
LARGE = ("mushroom", "adult")
QUICK = ("vote", "zoo", "lymph", "audiology", "tictactoe")
TEXTS = ("space_rel", "politics", "movie")
MAX_RANK = 30
SMALL_PATTERN = 5
FIRST_SEED, FIRST_TUNING_SEED = planted_experiment.FIRST_SEED, 0

# ---------------------------------------------------------------------- data and fits


class Labelled(NamedTuple):
    """A table or a corpus."""

    X: sp.csr_array
    y: NDArray[np.str_]
    items: list[str]


@lru_cache(maxsize=1)
def load(name: str, data: Path) -> Labelled:
    """Read a table or a corpus."""
    if name in TEXTS:
        folder = data / "data" / "text"
        files = [folder / f"{name}_matched{end}" for end in (".npz", "_rows.tsv", "_vocab.txt")]
    else:
        folder = data / "data" / "tables" / name
        files = [folder / end for end in ("X.npz", "y.txt", "features.txt")]
    require(folder)
    labels = [line.split("\t")[0] for line in files[1].read_text(encoding="utf-8").splitlines()]
    return Labelled(
        sp.csr_array(sp.load_npz(files[0]) != 0), np.array(labels), files[2].read_text(encoding="utf-8").splitlines()
    )


def fit(name: str, X: Any, y: Any, seed: int) -> tuple[CSalt, Row]:
    """Fit the data of a case; return the model, and the number of its patterns and the time."""
    _load_compiled_code()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    model = CSalt(random_state=seed, max_rank=MAX_RANK if name in TEXTS else None).fit(X, y)
    times = time.perf_counter() - begin, time.process_time() - begin_cpu
    return model, {
        "patterns": int((~model.typical_).sum()),
        "typical": int(model.typical_.sum()),
        "seconds": round(times[0], 3),
        "cpu_seconds": round(times[1], 3),
    }


def count(claims: Sequence[Claim]) -> Row:
    """Count claims: all, of every kind, and those with a low q-value."""
    kinds = Counter(claim.kind for claim in claims)
    qs = [claim.q_value for claim in claims if not np.isnan(claim.q_value)]
    confident = sum(q <= LEVEL for q in qs)
    lowest = min(qs, default=None)
    return {"claims": len(claims), **{kind: kinds[kind] for kind in CLAIMS}, "confident": confident, "lowest_q": lowest}


def fit_and_count(name: str, X: Any, y: Any, seed: int) -> Row:
    model, figures = fit(name, X, y, seed)
    return {**figures, **count(claims_of(model.patterns()))}


@lru_cache
def _load_compiled_code() -> None:
    load_compiled("csalt")


# ---------------------------------------------------------------------- what the parts measure


def shuffled(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    return fit_and_count(name, X, np.random.default_rng(seed).permutation(y), seed)


COPIES, FLIPPED, MAX_GROUPS = 4, 0.01, 100


def grouped(name: str, seed: int, data: Path) -> Row:
    table, _, how = name.partition(", ")
    X, y, _ = load(table, data)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(y))[:MAX_GROUPS]
    labels = rng.permutation(y[chosen])
    # Groups of the first class have more rows than the others.
    copies = np.full(len(chosen), COPIES)
    if how == "among":
        copies = np.where(labels == np.unique(labels)[0], COPIES - 1, COPIES - 2)
    groups, labels = np.repeat(chosen, copies), np.repeat(labels, copies)
    rows = X[groups].toarray() ^ (rng.random((len(groups), X.shape[1])) < FLIPPED)
    if how == "within":
        labels = np.resize(np.unique(y)[:2], len(groups))
        for group in range(0, len(labels), COPIES):
            rng.shuffle(labels[group : group + COPIES])
    found = {}
    for what, of_rows in (("by groups", groups), ("by rows", None)):
        model = CSalt(random_state=seed).fit(rows, labels, groups=of_rows)
        found[f"claims {what}"] = len(claims_of(model.patterns()))
        found[f"items {what}"] = int((model.differences()["q_value"] <= LEVEL).sum())
    return found


def swapped(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    return fit_and_count(name, swap(X, seed), y, seed)


def lines(name: str, seed: int, data: Path) -> Row:
    X, y, items = load(name, data)
    model, figures = fit(name, X, y, seed)
    claims = claims_of(model.patterns())
    return {**figures, **count(claims), **count_lines(claims, items)}


def count_lines(claims: Sequence[Claim], items: Sequence[str]) -> Row:
    """Count the lines of three among claims about tic-tac-toe, and the other claims."""
    wanted = {"positive": lines_of_three(items, "x"), "negative": lines_of_three(items, "o")}
    found: dict[str, set[frozenset[int]]] = {role: set() for role in wanted}
    others = 0
    for claim in claims:
        if claim.kind != "added" and claim.items in wanted[claim.role]:
            found[claim.role].add(claim.items)
        else:
            others += 1
    return {"crosses": len(found["positive"]), "noughts": len(found["negative"]), "others": others}


def wrong_labels(name: str, seed: int, data: Path) -> Row:
    made = make_class_patterns(int(name.split()[0]), random_state=seed)
    model, figures = fit(name, made.X, made.y, seed)
    claims = claims_of(model.patterns())
    return {**figures, **count(claims), **score_claims(claims, made)}


def score_claims(claims: Sequence[Claim], made: ClassPatterns) -> Row:
    """Compare what is claimed about classes with the patterns that were planted in them."""
    scores = []
    for a, patterns in enumerate(made.patterns):
        found = {claim.whole for claim in claims if claim.role == str(a)}
        scores.append(soft_scores(list(found), [frozenset(items.tolist()) for items in patterns]))
    precision, recall, F1 = np.mean(scores, axis=0).tolist()
    return {"soft precision": precision, "soft recall": recall, "soft F1": F1}


def halves(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    first = half_of(y, seed)
    model, figures = fit(name, X[first], y[first], seed)
    rows, labels = X[~first], y[~first]
    dense, uses = rows.toarray(), model.transform(rows)[:, : model.n_components_] > MORE_LIKELY
    claims = claims_of(model.patterns())
    return {
        **figures,
        **count(claims),
        "confirmed": sum(is_confirmed(claim, dense, labels) for claim in claims),
        "confirmed by use": sum(is_confirmed(claim, dense, labels, uses[:, claim.pattern]) for claim in claims),
        "not confirmed": [_in_words(claim) for claim in claims if not is_confirmed(claim, dense, labels)],
    }


def findings(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    first = half_of(y, seed)
    model, figures = fit(name, X[first], y[first], seed)
    rows, labels = X[~first].toarray(), y[~first]
    summary, claims = model.summary(), claims_of(model.patterns())
    headline = sum(is_confirmed(claim, rows, labels) for claim in claims)
    found = [is_confirmed_finding(finding, summary, claims, rows, labels) for finding in summary.findings]
    shared = [finding.items for finding in summary.findings if finding.kind == "shared"]
    together = go_together(X[~first], shared, seed) if shared else []
    confirmed = sum(bool(held) for held in found) + sum(together)
    false = [finding.text for finding, held in zip(summary.findings, found, strict=True) if held is False]
    return {
        **figures,
        "claims": len(claims),
        "confirmed": headline,
        "findings": len(found),
        "confirmed findings": confirmed,
        "not confirmed": false,
    }


def _in_words(claim: Claim) -> str:
    return f"{claim.kind} {claim.role}: {', '.join(map(str, sorted(claim.items)))}"


def text(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    model, figures = fit(name, X, y, seed)
    claims = claims_of(model.patterns())
    small = int((model.usage_counts_.sum(axis=0) < SMALL_PATTERN).sum())
    errors = float(model.noise_counts_.sum() / X.nnz)
    return {**figures, **count(claims), "small": small, "errors per one": errors}


PLANTED: dict[str, Task] = {
    "10 % noise": {"noise": 0.1},
    "20 % noise": {"noise": 0.2},
    "4 classes": {"classes": 4},
    "100 against 900": {"share": 0.1},
}
PURE_NOISE = "pure noise"


def planted(name: str, seed: int, data: Path) -> Row:
    if name == PURE_NOISE:
        X, y, _ = make_noise(seed)
        return fit_and_count(name, X, y, seed)
    usual = {"method": "csalt", **planted_experiment.USUAL, "columns": 800, "rows": 1000}
    return planted_experiment.measure({**usual, **PLANTED[name], "seed": seed})


def genome(name: str, seed: int, data: Path) -> Row:
    if name == "small":
        require(data / "genome" / name)
        X, y, programs = read_genome(data / "genome" / name)
        model, figures = fit(name, X, y, seed)
        loci, back, reported = np.sum(genome_experiment.recovered(model, programs), axis=0).tolist()
    else:
        found = genome_experiment.measure({"total_bp": WHOLE, "seed": seed}, None)
        loci, back, reported = (
            sum(program[figure] for program in found["programs"]) for figure in ("loci", "back", "reported")
        )
        figures = {figure: found[figure] for figure in ("patterns", "seconds")}
    return {**figures, "recall": back / max(loci, 1), "precision": back / max(reported, 1)}


def real(name: str, seed: int, data: Path) -> Row:
    X, y, _ = load(name, data)
    model, figures = fit(name, X, y, seed)
    length = float(model.description_length_ / model.null_description_length_)
    claims = claims_of(model.patterns())
    return {**figures, **count(claims), "length": length, "accuracy": float(model.score(X, y))}


# ---------------------------------------------------------------------- the parts and their tables

_TABLES = {**dict.fromkeys(SMALL, 20), **dict.fromkeys(LARGE, 5)}
_FIGURES: dict[str, Column] = {"patterns": mean("patterns"), "seconds": mean("seconds", 2)}

PARTS = {
    "shuffled": Part(
        "Shuffled labels: what is claimed about classes",
        shuffled,
        _TABLES,
        dict.fromkeys(QUICK, 5),
        {
            "fits with a claim": some("claims"),
            "with q <= 0.05": some("confident"),
            "claims": total("claims"),
            **_FIGURES,
        },
        has_total=True,
    ),
    "grouped": Part(
        "Groups of nearly equal rows, labels shuffled: what is claimed about classes",
        grouped,
        {f"{table}, {how}": 10 for table in ("vote", "zoo", "lymph") for how in ("among", "within")},
        {"vote, among": 2, "vote, within": 2},
        {
            "fits with a claim": some("claims by groups"),
            "with a single item": some("items by groups"),
            "without groups, a claim": some("claims by rows"),
            "a single item": some("items by rows"),
        },
        has_total=True,
    ),
    "swapped": Part(
        "Swaps that keep the sums of rows and columns: what is found",
        swapped,
        {**_TABLES, **dict.fromkeys(TEXTS, 5)},
        dict.fromkeys((*QUICK, TEXTS[0]), 2),
        {"fits with a pattern": some("patterns"), "all patterns": total("patterns"), "seconds": mean("seconds", 2)},
        has_total=True,
    ),
    "lines": Part(
        "Tic-tac-toe: lines of three among the claims",
        lines,
        {"tictactoe": 5},
        {"tictactoe": 1},
        {"crosses": mean("crosses"), "noughts": mean("noughts"), "other claims": mean("others"), **_FIGURES},
    ),
    "wrong_labels": Part(
        "One label in ten wrong: soft F1 of what is claimed",
        wrong_labels,
        {"2 classes": 3, "5 classes": 3, "10 classes": 3, "20 classes": 1, "50 classes": 1},
        {"2 classes": 1},
        {
            "soft F1": mean("soft F1", 3),
            "precision": mean("soft precision", 3),
            "recall": mean("soft recall", 3),
            "patterns": mean("patterns"),
            "claims": mean("claims"),
            "CPU seconds": mean("cpu_seconds", 0),
        },
    ),
    "halves": Part(
        "Claims of half of the rows: share that the other half confirms",
        halves,
        {"soybean": 10, "zoo": 10},
        {"soybean": 2, "zoo": 2},
        {
            "splits": fits,
            "claims": total("claims"),
            "confirmed": share("confirmed"),
            "by transform": share("confirmed by use"),
        },
    ),
    "findings": Part(
        "Headline and findings of half of the rows: share that the other half confirms",
        findings,
        {"adult": 2, "mushroom": 3, "kr_vs_kp": 5},
        {"kr_vs_kp": 1},
        {
            "splits": fits,
            "claims of the headline": total("claims"),
            "confirmed": share("confirmed"),
            "findings": total("findings"),
            "confirmed findings": share("confirmed findings", "findings"),
        },
    ),
    "text": Part(
        "Texts, at most 30 patterns",
        text,
        dict.fromkeys(TEXTS, 3),
        dict.fromkeys(TEXTS, 1),
        {"errors per one": mean("errors per one", 3), "of fewer than five rows": mean("small"), **_FIGURES},
    ),
    "planted": Part(
        "Planted patterns, and pure noise",
        planted,
        {**dict.fromkeys(PLANTED, 8), PURE_NOISE: 50},
        {**dict.fromkeys(PLANTED, 2), PURE_NOISE: 6},
        {"fits": fits, "F": mean("F", 3), "rec_V": mean("rec_V", 3), **_FIGURES},
    ),
    "genome": Part(
        "Simulated genomes: planted programs",
        genome,
        {"small": 3, "whole": 3},
        {"small": 1},
        {"recall": mean("recall", 3), "precision": mean("precision", 3), **_FIGURES},
    ),
    "real": Part(
        "Real tables",
        real,
        dict.fromkeys((*SMALL, *LARGE), 1),
        dict.fromkeys(SMALL, 1),
        {
            "length": mean("length", 3),
            "accuracy": mean("accuracy", 3),
            "only": mean("only"),
            "mostly": mean("mostly"),
            "added": mean("added"),
            **_FIGURES,
        },
    ),
}


def main() -> None:
    parser = make_parser(__doc__, PARTS, Path("out/claims"))
    parser.add_argument("--tune", action="store_true", help="seeds from 0 up, for what is still being changed")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time; times are then longer")
    args = parser.parse_args()
    run(parser, PARTS, args, FIRST_TUNING_SEED if args.tune else FIRST_SEED, args.jobs)


if __name__ == "__main__":
    main()
