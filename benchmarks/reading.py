"""How long saltmine takes to read and prepare a large csv file, against pandas.read_csv alone, in one process.

    python -m benchmarks.reading
    python -m benchmarks.reading --rows 10000 --columns 100

Two tables: 0/1 only, and a third each of 0/1, text of five values and floats. Best of three, alternating.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import saltmine
from experiments.measuring import Work, alternating_times

SEED = 5000
ROUNDS = 3


def binary_table(n_rows: int, n_columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(SEED)
    cells = (rng.random((n_rows, n_columns)) < 0.1).astype(np.int8)
    return pd.DataFrame(cells, columns=[f"item{k}" for k in range(n_columns)])


def mixed_table(n_rows: int, n_columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(SEED)
    colours = np.array(["red", "green", "blue", "black", "white"])
    makers: list[Callable[[], object]] = [
        lambda: (rng.random(n_rows) < 0.1).astype(np.int8),
        lambda: rng.choice(colours, n_rows),
        lambda: rng.normal(size=n_rows).round(4),
    ]
    return pd.DataFrame({f"column{k}": makers[k % 3]() for k in range(n_columns)})


def read_and_prepare(path: Path) -> None:
    saltmine.Prepare().fit_transform(saltmine.read(path, target="class").X)


def measure(name: str, table: pd.DataFrame, folder: Path) -> None:
    path = folder / f"{name}.csv"
    table.assign(**{"class": np.arange(len(table)) % 2}).to_csv(path, index=False)
    works: dict[str, Work] = {
        "pandas.read_csv": partial(pd.read_csv, path),
        "saltmine.read": partial(saltmine.read, path, target="class"),
        "read and prepare": partial(read_and_prepare, path),
    }
    times = alternating_times(list(works.values()), ROUNDS)
    taken = {what: min(seconds) for what, seconds in zip(works, times, strict=True)}
    print(f"{name}, {table.shape[0]} x {table.shape[1]}, {path.stat().st_size / 1e6:.0f} MB")
    for what, best in taken.items():
        print(f"  {what:16} {best:6.2f} s  {best / taken['pandas.read_csv']:5.2f} x")
    path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description="Reading of csv files against pandas.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("0-1", binary_table), ("mixed", mixed_table)):
            measure(name, make(given.rows, given.columns), Path(folder))


if __name__ == "__main__":
    main()
