"""The tables, the figure and the page of the experiment on texts, made of the stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments import text_clouds
from experiments.experiment import Row, code_versions
from experiments.text_corpora import CORPORA
from saltmine.cli.output import markdown_table

TITLES = {
    "csalt": "C-Salt",
    "paper": "C-Salt as published",
    "primp": "Primp",
    "dbssl1": "Dbssl1",
    "dbssl2": "Dbssl2",
}
#: Methods in the topic figure.
DRAWN = ("csalt", "paper", "primp", "dbssl1")


class Line(NamedTuple):
    """A line of Table 1: common patterns and those of each class (r0, r1, r2), and the cells in error."""

    owners: tuple[int, ...]
    rss: int

    @property
    def r(self) -> int:
        """Number of all patterns."""
        return sum(self.owners)


#: The paper's Table 1, of which RSS is known in thousands: the whole factorization, and the truncated one.
PAPER: dict[str, dict[str, tuple[Line, Line]]] = {
    "space": {
        "csalt": (Line((4, 9, 16), 76_000), Line((3, 9, 16), 77_000)),
        "primp": (Line((8, 8, 14), 76_000), Line((8, 8, 14), 76_000)),
        "dbssl1": (Line((19, 13, 8), 73_000), Line((1, 4, 2), 79_000)),
        "dbssl2": (Line((7, 8, 3), 76_000), Line((1, 4, 1), 79_000)),
    },
    "politics": {
        "csalt": (Line((10, 19, 12), 119_000), Line((10, 18, 12), 119_000)),
        "primp": (Line((8, 15, 7), 122_000), Line((8, 15, 7), 122_000)),
        "dbssl1": (Line((16, 27, 14), 110_000), Line((2, 14, 4), 122_000)),
        "dbssl2": (Line((5, 18, 19), 116_000), Line((0, 11, 4), 123_000)),
    },
    "movie": {
        "csalt": (Line((25, 1, 0), 320_000), Line((25, 0, 0), 320_000)),
        "primp": (Line((29, 1, 0), 319_000), Line((27, 0, 0), 319_000)),
        "dbssl1": (Line((21, 3, 3), 315_000), Line((1, 1, 2), 318_000)),
        "dbssl2": (Line((6, 3, 3), 316_000), Line((0, 1, 3), 318_000)),
    },
}
# What the paper's RSS, and its density in percent, may be off by for being rounded.
RSS_ROUNDED, DENSITY_ROUNDED = 500, 0.005

HOW_COUNTED = """\
- r0 patterns are common, and r1 and r2 patterns belong to the first and the second class.
- Figures in parentheses are those of the truncated model.
- A pattern belongs to a class if no document of the other class uses it; otherwise it is common.
- As in the paper, a pattern to which a class adds more words than the classes share counts as a pattern of this class.
  We count the rest of it as a pattern of the other class, so r can exceed the number of patterns.
- Words that a class adds to a common pattern count among the words of the pattern.
- Primp has no classes: its patterns are also counted by the documents that use them.
  The paper does not say how it counts them.
- RSS is the number of wrong cells, and "RSS per one" are the errors per one."""
HOW_LISTED = """\
The tables list everything that belongs to one class: its own patterns, and the words that it adds to a common pattern.

- The words are the most frequent ones.
- "Used by" counts the documents that use the pattern.
- "In these" is the share of these documents that have one of the words, as the mean over the words.
- "In all" is the same share of all documents.
- "Over half" counts the documents that have more than half of the words, whether or not they use the pattern.
- Every figure is that of the first class + that of the second.
- A dagger (†) marks what the truncated model does not have.

`text_patterns.csv` has the same for all methods."""


def write(rows: Sequence[Row], folder: Path) -> str:
    """Write the tables and the figure; return the page."""
    by_corpus = {name: {row["method"]: row for row in rows if row["corpus"] == name} for name in CORPORA}
    measured = {name: found for name, found in by_corpus.items() if found}
    for name, found in measured.items():
        if len({(*row["rows"], row["columns"], row["ones"]) for row in found.values()}) > 1:
            raise ValueError(
                f"the runs of {CORPORA[name].title} are of different documents; begin anew (--force) or take another "
                "folder (-o)."
            )
    pd.DataFrame(_tidy_lines(measured)).to_csv(folder / "text.csv", index=False)
    _tidy_claims(rows).to_csv(folder / "text_patterns.csv", index=False)
    text_clouds.draw(rows, {method: TITLES[method] for method in DRAWN}, folder / "text.png")
    return "\n\n".join(
        [
            "# Texts",
            _what_was_measured(rows),
            _sizes(measured),
            *(
                f"{verdict(name, found['csalt'])}\n{baselines(found)}"
                for name, found in measured.items()
                if "csalt" in found
            ),
            "## Patterns and errors",
            HOW_COUNTED,
            *(f"**{CORPORA[name].title}**\n\n{_table(name, found)}" for name, found in measured.items()),
            "## The largest patterns",
            "Words are larger the more often they occur in the documents that use the pattern.\n"
            "Words that are too small to read are left out.\n"
            "Pink words are shared by the classes that use the pattern.\n"
            "Blue words belong to the first class, and green words to the second.",
            "![Word clouds of the four largest patterns of every method](text.png)",
            "## What C-Salt finds for single classes",
            HOW_LISTED,
            *(_claims(name, found["csalt"]) for name, found in measured.items() if "csalt" in found),
            "",
        ]
    )


def _what_was_measured(runs: Sequence[Row]) -> str:
    corpora = ", ".join(CORPORA[name].title for name in CORPORA if any(row["corpus"] == name for row in runs))
    methods = ", ".join(TITLES[name] for name in TITLES if any(row["method"] == name for row in runs))
    return (
        f"{len(runs)} fits with {code_versions(runs)}: {methods} on {corpora}.\n\n"
        "- C-Salt and Primp may find at most 30 patterns.\n"
        "- Dbssl1 may find 30 common patterns and 30 of each class, and Dbssl2 15 of each kind.\n"
        "- Rows are documents, and items are the words in them.\n"
        "- Words have three or more letters and are in their base form; stop words are left out.\n"
        "- News posts consist of subject and body.\n"
        "- Empty rows and rows that equal an earlier one are left out.\n"
        "- *Errors per one* are the wrong cells, divided by the number of ones in the data.\n"
        "- The *truncated* model leaves out patterns of fewer than four words or documents, as in the paper."
    )


def _sizes(measured: Mapping[str, Mapping[str, Row]]) -> str:
    lines = []
    for name, found in measured.items():
        corpus, row = CORPORA[name], next(iter(found.values()))
        lines.append(
            [
                corpus.title,
                " and ".join(corpus.classes),
                f"{_pair(row['rows'])} ({_pair(corpus.paper_rows)})",
                f"{row['columns']} ({corpus.paper_columns})",
                f"{_density(row):.2f} % ({corpus.paper_density:.2f} %)",
                f"{corpus.min_docs} (20)",
            ]
        )
    headings = ["corpus", "classes", "documents", "words", "ones", "min. documents"]
    return f"The figures of the paper are in parentheses:\n\n{markdown_table(headings, lines)}"


def verdict(name: str, row: Row) -> str:
    """Say whether C-Salt has fewer errors per one than the paper's, and what it finds of single classes."""
    corpus, parts = CORPORA[name], []
    for which, line in zip(("whole", "truncated"), PAPER[name]["csalt"], strict=True):
        ours, theirs = row[which]["rss"] / row["ones"], line.rss / corpus.paper_ones
        off = 1 + DENSITY_ROUNDED / corpus.paper_density
        least, most = theirs / off - RSS_ROUNDED / corpus.paper_ones, theirs * off + RSS_ROUNDED / corpus.paper_ones
        side = "below" if ours < least else "above" if ours > most else "level with, to the paper's rounding,"
        parts.append(f"- C-Salt has {ours:.3f} errors per one{_if_truncated(which)}, {side} the paper's {theirs:.3f}.")
    specific, altered = (sum(claim["alteration"] is kind for claim in row["claims"]) for kind in (False, True))
    left, paper = sum(row["truncated"]["owners"][1:]), [sum(line.owners[1:]) for line in PAPER[name]["csalt"]]
    enough = "at least as many as" if specific + altered >= paper[0] else "fewer than"
    return "\n".join(
        [
            f"**{corpus.title}**:",
            "",
            *parts,
            f"- C-Salt finds {specific} ({left} when truncated) patterns of single classes and {altered} "
            "alterations of common ones.",
            f"  Together these are {enough} the {paper[0]} ({paper[1]}) patterns of single classes in the paper.",
        ]
    )


def baselines(found: Mapping[str, Row]) -> str:
    """Say which other methods have fewer errors than C-Salt here, and with how many patterns."""
    sentences = []
    for which in ("whole", "truncated"):
        lines = {method: _line(row[which]) for method, row in found.items()}
        texts = {method: f"{line.rss / found[method]['ones']:.3f} with {line.r}" for method, line in lines.items()}
        ahead = [method for method in TITLES if method in lines and lines[method].rss < lines["csalt"].rss]
        names = " and ".join(f"{TITLES[method]} ({texts[method]})" for method in ahead)
        ours = f"C-Salt ({texts['csalt']} patterns{_if_truncated(which)})"
        sentences.append(
            f"- {names} {'have' if len(ahead) > 1 else 'has'} fewer errors than {ours}."
            if ahead
            else f"- No other method that was run has fewer errors than {ours}."
        )
    return "\n".join(sentences)


def _if_truncated(which: str) -> str:
    return " when truncated" if which == "truncated" else ""


def _table(name: str, found: Mapping[str, Row]) -> str:
    patterns, errors = [], []
    for method, title in TITLES.items():
        if method in found:
            row = found[method]
            ours = _line(row["whole"]), _line(row["truncated"])
            patterns.append([title, *_counts(*ours)])
            errors.append([title, *_errors(*ours, row["ones"], 1), f"{row['seconds']:.0f}"])
        if method in PAPER[name]:
            lines = PAPER[name][method]
            patterns.append([f"{title} in the paper", *_counts(*lines)])
            errors.append([f"{title} in the paper", *_errors(*lines, CORPORA[name].paper_ones, 0), ""])
    of_patterns = markdown_table(["method", "r", "r0", "r1", "r2"], patterns)
    return f"{of_patterns}\n\n{markdown_table(['method', 'RSS, thousands', 'RSS per one', 'seconds'], errors)}"


def _line(figures: Mapping[str, Any]) -> Line:
    return Line(tuple(figures["owners"]), figures["rss"])


def _counts(whole: Line, truncated: Line) -> list[str]:
    counts = zip((whole.r, *whole.owners), (truncated.r, *truncated.owners), strict=True)
    return [f"{of_whole} ({of_truncated})" for of_whole, of_truncated in counts]


def _errors(whole: Line, truncated: Line, ones: float, digits: int) -> list[str]:
    return [
        f"{whole.rss / 1000:.{digits}f} ({truncated.rss / 1000:.{digits}f})",
        f"{whole.rss / ones:.3f} ({truncated.rss / ones:.3f})",
    ]


def _claims(name: str, row: Row) -> str:
    corpus = CORPORA[name]
    if not row["claims"]:
        return f"**{corpus.title}**: nothing."
    headings = ["what", "words", "used by", "in these", "in all", "over half"]
    claims = sorted(row["claims"], key=lambda claim: claim["alteration"])
    sizes = " + ".join(f"{size} of {label}" for size, label in zip(row["rows"], corpus.classes, strict=True))
    parts = [f"**{corpus.title}**, {sizes}."]
    for owner, label in enumerate(corpus.classes):
        lines = [_claim(claim) for claim in claims if claim["owner"] == owner]
        parts += [f"What belongs to {label}:", markdown_table(headings, lines)] if lines else []
    return "\n\n".join(parts)


def _claim(claim: Mapping[str, Any]) -> list[str]:
    more = claim["n_words"] - len(claim["words"])
    what = f"added to pattern {claim['pattern']}" if claim["alteration"] else f"pattern {claim['pattern']}"
    return [
        what + (" †" if claim["truncated"] else ""),
        ", ".join(claim["words"]) + (f" and {more} more" if more else ""),
        _pair(claim["used"]),
        _pair("-" if share is None else f"{100 * share:.0f} %" for share in claim["in_users"]),
        _pair(f"{100 * share:.0f} %" for share in claim["in_all"]),
        _pair(claim["carriers"]),
    ]


def _pair(values: Iterable[Any]) -> str:
    return " + ".join(str(value) for value in values)


def _density(row: Row) -> float:
    return float(100 * row["ones"] / (sum(row["rows"]) * row["columns"]))


def _tidy_lines(measured: Mapping[str, Mapping[str, Row]]) -> list[Row]:
    """Return our lines of Table 1 and the paper's, whole and truncated."""
    lines = []
    for name, found in measured.items():
        ours = {method: (_line(row["whole"]), _line(row["truncated"])) for method, row in found.items()}
        ones = next(iter(found.values()))["ones"]
        for source, table, ones_of_source in (("here", ours, ones), ("paper", PAPER[name], CORPORA[name].paper_ones)):
            for method, pair in table.items():
                for truncated, line in zip((False, True), pair, strict=True):
                    owners = {f"r{k}": count for k, count in enumerate(line.owners)}
                    task = {"corpus": name, "method": method, "source": source, "truncated": truncated}
                    lines.append(
                        {**task, "r": line.r, **owners, "rss": line.rss, "rss_per_one": line.rss / ones_of_source}
                    )
    return lines


def _tidy_claims(runs: Sequence[Row]) -> pd.DataFrame:
    """Return what belongs to single classes, a line each, with a column per class."""
    per_class = ("used", "in_users", "in_all", "carriers")
    plain = ("pattern", "alteration", "truncated", "n_words")
    columns = ["corpus", "method", "class", *plain, "words", *(f"{key}_{a}" for key in per_class for a in (1, 2))]
    lines = [
        [
            run["corpus"],
            run["method"],
            CORPORA[run["corpus"]].classes[claim["owner"]],
            *(claim[key] for key in plain),
            " ".join(claim["words"]),
            *(value for key in per_class for value in claim[key]),
        ]
        for run in runs
        for claim in run["claims"]
    ]
    return pd.DataFrame(lines, columns=columns)
