"""Fits with a limit of time or memory: how far they go beyond it, and what half of the usual time costs.

    python -m benchmarks.trust.budgets adult 5000 ../shared

A limit of 2, 10 or 60 seconds is tried where the whole fit takes longer. What a model saves is the share of the
description length without patterns by which it is shorter.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.pairs import GENOME, read_case
from experiments.experiment import Row
from saltmine import CSalt
from saltmine.comparison import load_compiled
from saltmine.datasets import make_class_patterns, make_planted

LIMITS = (2, 10, 60)
# Rows x columns of planted data that is fitted in blocks, with its patterns.
BLOCKS = {
    "60 x 1,000,000": (60, 1_000_000, 12),
    "60 x 4,000,000": (60, 4_000_000, 12),
    "400,000 x 200": (400_000, 200, 12),
    "2,000,000 x 100": (2_000_000, 100, 12),
}
# Classes of 1000 rows x 5000 columns.
CLASSES = {"20 classes": 20, "50 classes": 50}
CASES = ("adult", "politics", "movie", GENOME, *BLOCKS, *CLASSES)
QUICK = ("adult",)


def read(name: str, seed: int, data: Path) -> tuple[Any, Any]:
    """Return rows and labels of a table, a corpus, or planted data."""
    if name in BLOCKS:
        m, n, rank = BLOCKS[name]
        made = make_planted(n, [m // 2, m - m // 2], rank=rank, noise=0.03, random_state=seed)
        return made.X, made.y
    if name in CLASSES:
        classes = make_class_patterns(CLASSES[name], 1000, 5000, random_state=seed)
        return classes.X, classes.y
    return read_case(name, seed, data)


def max_time(name: str, seed: int, data: Path) -> Row:
    """Compare fits of limited time with one that takes the time it needs."""
    load_compiled("csalt")
    X, y = read(name, seed, data)
    # A part of the same data comes first, as memory has to be found once.
    few = np.arange(0, X.shape[0], max(1, X.shape[0] // 300))
    CSalt(random_state=seed).fit(X[few], y[few])
    whole, seconds = _timed(X, y, seed)
    row: Row = {"seconds": round(seconds, 2), "patterns": int(whole.n_components_), "saved": _saved(whole)}
    half, took = _timed(X, y, seed, seconds / 2)
    row |= {"half_seconds": round(took, 2), "half_over": _over(took, seconds / 2), "half_saved": _saved(half)}
    row |= {"half_ratio": round(row["half_saved"] / max(row["saved"], 1e-9), 4), "half_finished": int(half.finished_)}
    row["half_length"] = round(half.description_length_ / whole.description_length_, 4)
    for limit in LIMITS:
        if limit < seconds:
            model, took = _timed(X, y, seed, limit)
            row |= {f"over_{limit}": _over(took, limit), f"saved_{limit}": _saved(model)}
    return row


def _timed(X: Any, y: Any, seed: int, limit: float | None = None) -> tuple[CSalt, float]:
    begin = time.perf_counter()
    model = CSalt(random_state=seed, max_time=limit).fit(X, y)
    return model, time.perf_counter() - begin


def _over(seconds: float, limit: float) -> float:
    """Return by what share of it a limit was exceeded; negative if it was not."""
    return round(seconds / limit - 1, 4)


def _saved(model: CSalt) -> float:
    return round(1 - model.description_length_ / model.null_description_length_, 5)


def main() -> None:
    name, seed, data = sys.argv[1:4]
    print(json.dumps(max_time(name, int(seed), Path(data))))


if __name__ == "__main__":
    main()
