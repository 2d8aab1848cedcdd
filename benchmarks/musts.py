"""What the figures of `benchmarks.quality` must be, and what they were in release 0.1."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figures

#: Figures of release 0.1 on the same folds: accuracy and log loss must not fall behind them.
RELEASE = Path(__file__).parent / "results" / "quality" / "release-0.1.json"
WITHIN = 0.01
ROUNDING = 5e-4


@dataclass(frozen=True)
class Must:
    """A limit of a figure, from below or from above."""

    value: float
    from_above: bool = False

    def holds(self, figure: float) -> bool:
        """Say whether the figure keeps it, as far as three digits show."""
        if self.from_above:
            return figure <= self.value + ROUNDING
        return figure >= self.value - ROUNDING

    def __str__(self) -> str:
        return f"{'<=' if self.from_above else '>='} {self.value:.3f}"


def _at_most(**figures: float) -> dict[str, Must]:
    return {name: Must(value, from_above=True) for name, value in figures.items()}


def _planted(case: str, F: float, rec_V: float) -> dict[str, Must]:
    return {f"{case}: F": Must(F), f"{case}: rec_V": Must(rec_V)}


MUSTS: dict[str, dict[str, Must]] = {
    "structure": {
        **_at_most(kr_vs_kp=0.76, vote=0.86, soybean=0.89, digits=0.93),
        **_at_most(tictactoe=1.0, zoo=1.0, audiology=1.0, lymph=1.0),
        **{f"{name}: way to mixtures": Must(1 / 3) for name in ("mushroom", "adult")},
    },
    "narrow": {f"{n} columns": Must(1.0) for n in (10, 15, 20)},
    "clinical": {
        "patterns": Must(0.7),
        "differences": Must(0.6),
        "alterations": Must(0.5),
        **_at_most(unrelated=0.02),
    },
    "groceries": {"all baskets": Must(10), "one half": Must(6), "confirmed": Must(0.95)},
    "nulls": {name: Must(0.01, from_above=True) for name in ("swaps", "pure noise", "independent items")},
    "planted": {
        **_planted("10 %", 0.998, 0.995),
        **_planted("20 %", 0.989, 0.965),
        **_planted("25 %", 0.970, 0.905),
        **_planted("30 %", 0.86, 0.66),
        **_planted("4 classes, 10 %", 0.996, 0.950),
        **_planted("4 classes, 20 %", 0.982, 0.778),
        **_planted("100:900", 0.980, 0.90),
        **_planted("50:950", 0.92, 0.79),
    },
    "wrong_labels": {f"{c} classes": Must(0.96) for c in (2, 5, 10, 20, 50)},
    "lines": {"crosses": Must(8), "noughts": Must(8), **_at_most(others=2)},
    "seeds": {name: Must(0.75) for name in ("kr_vs_kp", "soybean", "zoo", "vote")},
    "predict": {
        f"{name}: transform": Must(value)
        for name, value in (("vote", 0.94), ("zoo", 0.95), ("soybean", 0.89), ("digits", 0.90))
    },
}


def musts_of(part: str, figures: Figures) -> dict[str, Must]:
    """Return the limits of a part; those of predictions depend on naive Bayes and on release 0.1."""
    if part != "predict":
        return MUSTS.get(part, {})
    release: Figures = json.loads(RELEASE.read_text())["predict"] if RELEASE.exists() else {}
    found = dict(MUSTS[part])
    for name, of_bayes in figures.items():
        own = name.removesuffix(" of NB")
        if own == name:
            continue
        known = [of_bayes, release.get(own, of_bayes)]
        is_loss = own.endswith("log loss")
        found[own] = Must(min(known), from_above=True) if is_loss else Must(max(known) - WITHIN)
    return found
