"""Pure noise: how many patterns are found where there are none.

    python -m benchmarks.noise

Fifty matrices of the paper's shapes with 2 to 4 classes: a common density from 0.02 to 0.5, or item frequencies spread
from 0.01 to 0.9, evenly or evenly on a logarithmic scale. Seeds start at 5000 and were never tuned on.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from experiments.planted import FIRST_SEED, SHAPES
from saltmine import CSalt

DENSITIES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def make_noise(seed: int) -> tuple[NDArray[np.bool_], NDArray[np.int64], str]:
    """Return independent entries, labels, and a word on the frequencies."""
    rng = np.random.default_rng(seed)
    n, m = SHAPES[seed % len(SHAPES)]
    kind = seed % 3
    if kind == 0:
        density = DENSITIES[seed // 3 % len(DENSITIES)]
        frequencies, word = np.full(n, density), f"density {density}"
    elif kind == 1:
        frequencies, word = rng.uniform(0.01, 0.9, n), "frequencies 0.01 to 0.9"
    else:
        frequencies, word = np.exp(rng.uniform(np.log(0.01), np.log(0.9), n)), "frequencies 0.01 to 0.9, mostly rare"
    labels = rng.integers(0, 2 + seed % 5 % 3, m)
    return rng.random((m, n)) < frequencies, labels, word


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the patterns found in pure noise.")
    parser.add_argument("--matrices", type=int, default=50)
    args = parser.parse_args()
    found = 0
    for seed in range(FIRST_SEED, FIRST_SEED + args.matrices):
        X, y, word = make_noise(seed)
        rank = CSalt(random_state=seed).fit(X, y).n_components_
        found += rank
        if rank:
            print(f"seed {seed}: {rank} patterns in {X.shape[1]} x {X.shape[0]}, {len(set(y))} classes, {word}")
    print(f"{args.matrices} matrices of pure noise: {found} patterns found in all")


if __name__ == "__main__":
    main()
