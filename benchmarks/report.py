"""How large the page of a model with 300 patterns is, and how soon one can use it.

    python -m benchmarks.report                       # a page in a temporary folder, 5 visits
    python -m benchmarks.report -o out/report.html    # keep it

Time to interactive: from the start of the navigation until the page says that it is ready, in headless Chromium, median
of the visits. Without Chromium or playwright (pip install playwright) only size and writing time are printed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine import CSalt
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.report import write_report
from saltmine.solver.scoring import collect, description_length
from saltmine.solver.solution import Solution

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def planted_model(
    rank: int, class_sizes: Sequence[int], n_items: int, size: int, names: Sequence[str] | None = None, seed: int = 5000
) -> CSalt:
    """Return a model as a fit would leave it, with patterns of about ``size`` items that nobody had to search for.

    One pattern in three is used by a single class, and of the rest every other one is altered by some classes.
    """
    rng = np.random.default_rng(seed)
    c, numbers = len(class_sizes), np.repeat(np.arange(len(class_sizes)), class_sizes)
    X = np.zeros((n_items, rank), dtype=bool)
    V = np.zeros((c, n_items, rank), dtype=bool)
    Y = np.zeros((len(numbers), rank), dtype=bool)
    for s in range(rank):
        items = rng.permutation(n_items)[: size + size // 2]
        X[items[:size], s] = True
        users = np.arange(c) if s % 3 or c == 1 else rng.integers(c, size=1)
        if s % 2 and len(users) > 1:
            for a in users[: max(1, c // 2)]:
                V[a, rng.choice(items[size:], max(1, size // 4), replace=False), s] = True
        Y[:, s] = np.isin(numbers, users) & (rng.random(len(numbers)) < rng.uniform(0.02, 0.1))
        for a in users:
            Y[np.flatnonzero(numbers == a)[:2], s] = True
    return _as_fitted(BinaryModel(X, V, Y), numbers, names, rng)


def _as_fitted(
    model: BinaryModel, numbers: NDArray[np.intp], names: Sequence[str] | None, rng: np.random.Generator
) -> CSalt:
    """Make noisy data of a binary model and an estimator that describes them by it."""
    n_items = len(model.X)
    covers = [(model.Y.astype(np.float32) @ (model.X | V).T.astype(np.float32)) > 0 for V in model.V]
    rows = np.choose(numbers[:, None], covers) if len(covers) > 1 else covers[0]
    rows = (rows & (rng.random(rows.shape) < 0.9)) | (rng.random(rows.shape) < 0.01)
    rows[0] = True
    columns = names if names is not None else [f"item {k}" for k in range(n_items)]
    estimator = CSalt()
    estimator._binary_rows(pd.DataFrame(rows, columns=list(columns)), reset=True)
    classes = np.array([f"class {a:02}" for a in range(len(covers))])
    labels = Labels(numbers, len(covers))
    data = StackedMatrix.from_rows(rows, numbers, labels.n_classes)
    bits = BitMatrix(data.matrix, data.blocks)
    length = description_length(bits, model)
    solution = Solution(model, length, length)
    estimator._store(collect(solution, data, bits, rows, labels, fold=False), classes, labels)
    estimator._count_having(rows, numbers)
    return estimator


def visit(page: Path, visits: int) -> list[float] | None:
    """Return the milliseconds until the page was ready, of every visit, or None where there is no browser."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_OPTIONS)
        for _ in range(visits):
            tab = browser.new_page()
            tab.goto(page.resolve().as_uri())
            tab.wait_for_function("window.saltmineReady")
            taken.append(float(tab.evaluate("window.saltmineReady")))
            tab.close()
        browser.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Size and start of a large report.")
    parser.add_argument("-o", "--output", type=Path, help="keep the page here")
    parser.add_argument("--patterns", type=int, default=300)
    parser.add_argument("--visits", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = args.output or Path(folder) / "report.html"
        model = planted_model(args.patterns, [700, 700, 600], n_items=3000, size=40)
        begin = time.perf_counter()
        write_report(model, page, title=f"A model with {args.patterns} patterns")
        seconds = time.perf_counter() - begin
        print(f"{args.patterns} patterns: {page.stat().st_size / 1e6:.2f} MB, written in {seconds:.2f} s")
        taken = visit(page, args.visits)
        if taken is None:
            print("No browser: it takes Chromium and playwright (pip install playwright) to time the page.")
        else:
            print(f"ready after {statistics.median(taken):.0f} ms, median of {len(taken)} visits")


if __name__ == "__main__":
    main()
