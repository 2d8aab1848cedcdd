"""How long a fit takes, against the paper's loop in plain numpy and against NMF, in one process.

    python -m benchmarks.speed            # the plain loop: its time per iteration times the iterations it takes
    python -m benchmarks.speed --whole    # the plain loop run to its end: minutes

800 columns x 1000 rows, two classes, 24 patterns, 10 % noise; medians of alternating rounds. NMF is told the rank.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections import Counter
from functools import partial

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.plain import Floats, Many, iterate, objective
from experiments.measuring import alternating_times, timed
from experiments.planted import FIRST_SEED
from saltmine import CSalt
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import Planted, make_planted
from saltmine.mdl.code_length import cross_weights
from saltmine.progress import Progress
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.operator import make_operator

RANK = 24


def fits(matrices: list[Planted]) -> tuple[float, float]:
    """Return median seconds of a fit and of NMF, alternating."""
    ours, nmf = [], []
    CSalt(random_state=0).fit(matrices[0].X, matrices[0].y)  # loads the compiled code
    for planted in matrices:
        for seed in range(2):
            model = CSalt(random_state=seed)
            ours.append(timed(partial(model.fit, planted.X, planted.y))[1])
            baseline = NMF(RANK, solver="cd", init="nndsvd", random_state=seed)
            dense = planted.X.astype(np.float64)
            nmf.append(timed(partial(baseline.fit_transform, dense))[1])
    return statistics.median(ours), statistics.median(nmf)


def plain_fit(planted: Planted, whole: bool) -> float:
    """Return the seconds that the paper's loop takes in plain numpy, without rounding."""
    taken = Counter[int]()

    def note(now: Progress) -> None:
        taken[now.rank] = max(taken[now.rank], now.iteration)

    CSalt(algorithm="paper", random_state=0, callback=note).fit(planted.X, planted.y)
    D: Many = [planted.X[planted.y == a].astype(np.float64) for a in np.unique(planted.y)]
    counts = planted.X.sum(axis=0)
    u, mu = -np.log(counts / counts.sum()), 1 + np.log(len(counts))
    total = 0.0
    for rank, iterations in taken.items():
        rng = np.random.default_rng(rank)
        X: Floats = rng.random((len(u), rank))
        V: Many = [np.zeros_like(X) for _ in D]
        Y: Many = [rng.random((len(Da), rank)) for Da in D]
        steps = iterations if whole else 20

        def loop(X: Floats = X, V: Many = V, Y: Many = Y, steps: int = steps) -> None:
            for k in range(steps):
                X, V, Y = iterate(D, X, V, Y, u, mu)
                if k % 10 == 9:
                    objective(D, X, V, Y, u, mu)

        total += timed(loop)[1] / steps * iterations
    return total


def iteration(planted: Planted, rank: int, rounds: int = 9, n_iter: int = 40) -> tuple[float, float]:
    """Return ms of one iteration of the relaxed solve and of its two products alone, medians of alternating rounds."""
    data = StackedMatrix.from_rows(planted.X, planted.y, 2)
    with ThreadTeam() as team:
        operator = make_operator(data.matrix, data.blocks, team, np.float32)
        solver = AcceleratedDescent(operator, cross_weights([500, 500]))
        start = solver.start(rank, np.random.default_rng(0))
        weights = np.repeat(start.X[None], 2, axis=0)
        solver.run(start, ramp=2, max_iter=3)

        def bare() -> None:
            for _ in range(n_iter):
                operator.transposed_times(start.Y)
                operator.times(weights)

        times = alternating_times([lambda: solver.run(start, ramp=n_iter, max_iter=n_iter), bare], rounds)
    whole, products = (statistics.median(seconds) / n_iter * 1e3 for seconds in times)
    return whole, products


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description="Time a fit.")
    parser.add_argument("--whole", action="store_true", help="run the plain loop to its end")
    args = parser.parse_args()
    matrices = [make_planted(800, [500, 500], RANK, random_state=FIRST_SEED + k) for k in range(4)]
    ours, nmf = fits(matrices)
    print(f"a fit: {ours:.2f} s; NMF told the rank: {nmf:.2f} s, ratio {ours / nmf:.2f}")
    for rank in (30, 45):
        one, bare = iteration(matrices[0], rank)
        print(f"one iteration at rank {rank}: {one:.2f} ms; its two products: {bare:.2f} ms, ratio {one / bare:.2f}")
    plain = plain_fit(matrices[0], args.whole)
    print(f"the paper's loop in plain numpy: {plain:.0f} s, {plain / ours:.0f} times a fit")


if __name__ == "__main__":
    main()
