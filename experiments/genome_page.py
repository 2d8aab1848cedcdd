"""The tables, the figure and the page of the experiment on genomes, made of the stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.experiment import Row, code_versions
from experiments.genome_figure import CLASS_NAMES, draw
from saltmine.cli.output import markdown_table

#: What the paper reports of its data: patterns, and the mean and standard deviation of their sizes, as printed.
PAPER = {"columns": 3.7e6, "patterns": 28, "one_patient": 16, "one_class": 0}
PAPER_SIZES = {"shared": (10_700, 96_000), "N": (2_100, 2_500), "T": (3_600, 4_800), "R": (3_800, 6_600)}
WHOLE = 2.79e9
# From this share on the samples of a patient use nearly the same patterns.
NEARLY_THE_SAME = 0.9


def write(rows: Sequence[Row], folder: Path) -> str:
    """Write tables and figure; return the page. Where cohorts differ in size, the largest are shown."""
    largest = max(row["total_bp"] for row in rows)
    rows = sorted((row for row in rows if row["total_bp"] == largest), key=lambda row: row["seed"])
    pd.DataFrame([_figures(row) for row in rows]).to_csv(folder / "genome.csv", index=False)
    programs = [{"seed": row["seed"], **program} for row in rows for program in row["programs"]]
    pd.DataFrame(programs).to_csv(folder / "genome_programs.csv", index=False)
    draw(rows, folder / "genome.png")
    return "\n\n".join(
        [
            "# Genomes",
            _what_was_measured(rows),
            _patterns_sentence(rows),
            _usage_sentence(rows),
            _classes_sentence(rows),
            _sizes_sentence(rows),
            _comparison_table(rows),
            "![Usage of the patterns by the samples, and what came back of the planted programs](genome.png)",
            "## Planted programs",
            _programs_sentence(rows),
            _programs_table(rows),
            "",
        ]
    )


def _figures(row: Row) -> dict[str, Any]:
    """Return the figures of a cohort, as a line of the table."""
    plain = ("seed", "total_bp", "columns", "ones", "distinct_columns", "simulating", "seconds", "patterns")
    counted = ("one_patient", "one_class", "all_classes", "agreement", "agreement_all")
    figures = {name: row[name] for name in (*plain, *counted)}
    for part in PAPER_SIZES:
        mean, spread = _size(row, part)
        figures |= {f"{part} mean": round(mean, 1), f"{part} sd": round(spread, 1)}
    recall, precision = _rates(row["programs"])
    relapse = _rates(_of_classes([row], "R"))
    return {**figures, "recall": recall, "precision": precision, "recall R": relapse[0], "precision R": relapse[1]}


def _is_whole(row: Row) -> bool:
    return bool(row["total_bp"] >= WHOLE)


def _size(row: Row, part: str) -> tuple[float, float]:
    """Return mean and standard deviation over the patterns of |X|, or of a class's |V|."""
    sizes = row["shared_sizes"] if part == "shared" else row["altered_sizes"][part]
    return (float(np.mean(sizes)), float(np.std(sizes))) if sizes else (0.0, 0.0)


def _of_classes(rows: Iterable[Row], classes: str) -> list[Row]:
    return [program for row in rows for program in row["programs"] if program["classes"] == classes]


def _rates(programs: Sequence[Row]) -> tuple[float, float]:
    """Return recall and precision, loci added up over the programs."""
    loci, back, reported = (sum(program[name] for program in programs) for name in ("loci", "back", "reported"))
    return round(back / max(loci, 1), 4), round(back / max(reported, 1), 4)


def _what_was_measured(rows: Sequence[Row]) -> str:
    part = rows[0]["total_bp"] / WHOLE
    genomes = "whole genomes" if _is_whole(rows[0]) else f"{100 * part:.2g} % of a genome"
    cohorts = "one cohort, seed" if len(rows) == 1 else f"{len(rows)} cohorts, seeds"
    counts = ", ".join(f"{rows[0]['labels'].count(label)} of {name}" for label, name in CLASS_NAMES.items())
    return (
        "The data of the paper, genomes of 18 patients with neuroblastoma, are not public.\n"
        "Simulated genomes of the same shape replace them:\n\n"
        f"- {cohorts} {_listed(row['seed'] for row in rows)}\n"
        f"- {len(rows[0]['labels'])} samples of 18 patients ({counts})\n"
        f"- {genomes}, {_listed((row['columns'] for row in rows), ',')} columns\n\n"
        "The figures of the paper therefore show whether the results are similar, not which search is better.\n"
        "Fits by `CSalt()` of "
        f"{code_versions(rows)} took {_listed((row['seconds'] for row in rows), '.0f')} s."
    )


def _patterns_sentence(rows: Sequence[Row]) -> str:
    return (
        f"**Rank.**\nC-Salt finds {_listed(row['patterns'] for row in rows)} patterns, of which "
        f"{_listed(row['one_patient'] for row in rows)} are used by samples of one patient only.\nThe paper reports "
        f"{PAPER['patterns']} and {PAPER['one_patient']}."
    )


def _usage_sentence(rows: Sequence[Row]) -> str:
    """Say how alike the samples of a patient are; a pattern of one patient in all classes says nothing about that."""
    shares = [share for row in rows if (share := _agreement(row)) is not None]
    over_all = _listed((100 * row["agreement_all"] for row in rows if row["agreement_all"] is not None), ".0f")
    rest = f"Over all patterns, including those of the planted programs, this share is {over_all} %."
    if not shares:
        return (
            "**Usage.**\nNo pattern of several patients is used in all three classes.\n"
            f"In the paper, usage is almost identical for each class.\n{rest}"
        )
    verdict = "Usage is nearly the same in each class, as in the paper."
    if min(shares) < NEARLY_THE_SAME:
        verdict = "Usage is not nearly the same in each class, unlike in the paper."
    return (
        "**Usage.**\nThis counts the patterns that several patients and all three classes use.\n"
        "If one sample of a patient has such a pattern, all samples of the patient have it in "
        f"{_listed((100 * share for share in shares), '.1f')} % of the cases.\n{verdict}\n{rest}"
    )


def _agreement(row: Row) -> float | None:
    """Return how often all samples of a patient use a pattern if one does, of patterns of several patients."""
    labels, patients = np.array(list(row["labels"])), np.array(row["patients"])
    agree = []
    for text in row["usage"]:
        used = np.array(list(text)) == "1"
        users = np.unique(patients[used])
        if len(users) > 1 and len(set(labels[used])) == len(CLASS_NAMES):
            agree += [bool(used[patients == patient].all()) for patient in users]
    return float(np.mean(agree)) if agree else None


def _classes_sentence(rows: Sequence[Row]) -> str:
    if not any(row["one_class"] for row in rows):
        return "**Classes.**\nAs in the paper, no pattern is used in one class only."
    return (
        f"**Classes.**\n{_listed(row['one_class'] for row in rows)} patterns are used in one class only.\n"
        "The paper has none: all of its patterns are common to the classes, which differ by alterations alone.\n"
        "The simulation plants programs that only some patients have, and only in some classes.\n"
        "A pattern with its own rows can express this, but an alteration of the pattern of a patient cannot."
    )


def _sizes_sentence(rows: Sequence[Row]) -> str:
    shared = np.array([_size(row, "shared")[0] for row in rows])
    compared = f"This is {_listed(shared / PAPER_SIZES['shared'][0], '.2g')} times as many as in the paper."
    if not _is_whole(rows[0]):
        compared = "These are columns of a part of the genome, so sizes cannot be compared with those of the paper."
    return (
        f"**Sizes.**\nThe shared part of a pattern has {_listed(shared, ',.0f')} columns on average.\n{compared}\n"
        f"A simulated sample has {_listed((row['ones'] / len(row['labels']) for row in rows), ',.0f')} ones.\n"
        f"{_alterations_sentence(rows)}"
    )


def _alterations_sentence(rows: Sequence[Row]) -> str:
    """Say which class has the largest alterations."""
    if not any(_size(row, label)[0] for row in rows for label in CLASS_NAMES):
        return "There are no alterations."
    largest: dict[str, list[float]] = {}
    for row in rows:
        size, label = max((_size(row, label)[0], label) for label in CLASS_NAMES)
        largest.setdefault(label, []).append(size)
    names = _listed(f"{CLASS_NAMES[label]} ({_listed(sizes, ',.0f')})" for label, sizes in largest.items())
    verdict = "as in the paper." if set(largest) == {"R"} else f"in the paper, in relapse ({PAPER_SIZES['R'][0]:,})."
    if "N" in largest:
        verdict += (
            "\nSimulated tumours lose copies of parts of chromosomes.\n"
            "What only they lack is an alteration of normal tissue."
        )
    return f"On average, alterations are the largest in {names}; {verdict}"


def _comparison_table(rows: Sequence[Row]) -> str:
    counts = {
        "columns": "columns",
        "patterns": "patterns",
        "one_patient": "used by one patient only",
        "one_class": "used in one class only",
    }
    lines = [[text, f"{PAPER[name]:,.0f}", *(f"{row[name]:,}" for row in rows)] for name, text in counts.items()]
    for part, (mean, spread) in PAPER_SIZES.items():
        text = "columns shared, \\|X\\|" if part == "shared" else f"altered in {CLASS_NAMES[part]}, \\|V_{part}\\|"
        lines.append([text, _mean_and_spread(mean, spread), *(_mean_and_spread(*_size(row, part)) for row in rows)])
    lines.append(["seconds of the fit", "", *(f"{row['seconds']:.0f}" for row in rows)])
    return markdown_table(["", "paper, as printed", *(f"cohort {row['seed']}" for row in rows)], lines)


def _mean_and_spread(mean: float, spread: float) -> str:
    return f"{mean / 1000:.1f}k ± {spread / 1000:.1f}k"


def _programs_sentence(rows: Sequence[Row]) -> str:
    relapse = _of_classes(rows, "R")
    recall, precision = _rates(relapse)
    loci, back = (sum(program[name] for program in relapse) for name in ("loci", "back"))
    mostly = sum(program["back"] > program["loci"] / 2 for program in relapse)
    all_recall, all_precision = _rates([program for row in rows for program in row["programs"]])
    return (
        "A planted locus came back if the pattern that best matches its program reports it for exactly the classes of "
        f"the program.\nOf {loci:,} loci planted in relapses only, {back:,} came back (recall {recall:.3f}).\n"
        f"Of the loci reported for these programs, {100 * precision:.2f} % had been planted there.\n"
        f"{mostly} of the {len(relapse)} relapse programs came back by more than half.\n"
        f"Over the programs of all classes, recall is {all_recall:.3f} and precision {all_precision:.3f}."
    )


def _programs_table(rows: Sequence[Row]) -> str:
    lines = []
    for classes in dict.fromkeys(program["classes"] for row in rows for program in row["programs"]):
        programs = _of_classes(rows, classes)
        recall, precision = _rates(programs)
        loci = sum(program["loci"] for program in programs)
        shares = [program["back"] / max(program["loci"], 1) for program in programs]
        names = " and ".join(CLASS_NAMES[label] for label in classes)
        worst = f"{min(shares):.3f}"
        lines.append([names, str(len(programs)), f"{loci:,}", f"{recall:.3f}", f"{precision:.3f}", worst])
    return markdown_table(["planted in", "programs", "loci", "recall", "precision", "recall of the worst"], lines)


def _listed(values: Iterable[Any], form: str = "") -> str:
    """Join values as in a sentence, "1, 2 and 3", or name the one that all of them are."""
    texts = [format(value, form) for value in values]
    return texts[0] if len(set(texts)) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
