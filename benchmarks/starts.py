"""Should the alterations of new patterns start at random, or from none? The paper only says "append random columns".

    python -m benchmarks.starts                 # about 12 minutes on two cores
    python -m benchmarks.starts --seeds 0 6     # other matrices

Two classes, 10 % noise, 800 columns x 1000 rows, 24 planted patterns.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed

from experiments.planted import true_length
from saltmine import CSalt
from saltmine.datasets import make_planted
from saltmine.metrics import alteration_recall, class_rank, f_measure
from saltmine.solver import paper
from saltmine.solver.relaxed.objective import Factors


def random_alterations(factors: Factors, count: int, rng: np.random.Generator) -> Factors:
    """Append random columns to X, V and Y."""
    n, m, c = factors.X.shape[0], factors.Y.shape[0], factors.V.shape[0]
    X, V, Y = rng.random((n, count)), rng.random((c, n, count)), rng.random((m, count))
    return Factors(np.hstack([factors.X, X]), np.concatenate([factors.V, V], axis=2), np.hstack([factors.Y, Y]))


STARTS = {"V from none (as it is)": paper._add_random_columns, "V random": random_alterations}


def measure(start: str, seed: int) -> tuple[float, ...]:
    paper._add_random_columns = STARTS[start]
    planted = make_planted(800, [500, 500], 24, random_state=seed)
    model = CSalt(algorithm="paper", random_state=seed).fit(planted.X, planted.y)
    excess = float((class_rank(model) - class_rank(planted)).mean())
    length = model.description_length_ / true_length(planted)
    return f_measure(planted, model), alteration_recall(planted, model), excess, length


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare starts of the alterations.")
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(5000, 5008), help="first seed, and the one after the last"
    )
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    args = parser.parse_args()
    seeds = range(*args.seeds)
    todo = [(start, seed) for start in STARTS for seed in seeds]
    results = np.array(Parallel(n_jobs=args.jobs)(delayed(measure)(*one) for one in todo))
    for start, rows in zip(STARTS, np.split(results, len(STARTS)), strict=True):
        F, rec_V, excess, f = rows.mean(axis=0)
        print(f"{start:24s} F {F:.3f}, rec_V {rec_V:.3f}, class rank {excess:+.1f}, f/f* {f:.3f}")


if __name__ == "__main__":
    main()
