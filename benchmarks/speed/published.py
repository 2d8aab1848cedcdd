"""The paper's loop in plain numpy, and how much of an iteration of the relaxed solve its two products are."""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.plain import Floats, Many, iterate, objective
from benchmarks.speed.pairs import COLUMNS, RANK, ROWS
from experiments.experiment import Row
from experiments.measuring import alternating_times, timed
from saltmine import CSalt
from saltmine.comparison import load_compiled
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import Planted, make_planted
from saltmine.mdl.code_length import cross_weights
from saltmine.progress import Progress
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.operator import make_operator

# The plain loop takes minutes: its time is that of some iterations at every rank, times all that it takes there.
STEPS = 20


def published(name: str, seed: int, data: Path) -> Row:
    """Compare a fit with the paper's loop in plain numpy, without rounding."""
    planted = _plant(seed)
    load_compiled("csalt")
    ours = min(timed(lambda: CSalt(random_state=seed).fit(planted.X, planted.y))[1] for _ in range(3))
    return {"seconds": round(ours, 4), "plain": round(plain_seconds(planted), 1)}


def plain_seconds(planted: Planted) -> float:
    """Return the seconds that the paper's loop takes in plain numpy."""
    taken = Counter[int]()

    def note(now: Progress) -> None:
        taken[now.rank] = max(taken[now.rank], now.iteration)

    CSalt(algorithm="paper", random_state=0, callback=note).fit(planted.X, planted.y)
    D: Many = [planted.X[planted.y == a].astype(np.float64) for a in np.unique(planted.y)]
    counts = planted.X.sum(axis=0)
    u, mu = -np.log(counts / counts.sum()), 1 + np.log(len(counts))
    return sum(_step_seconds(D, u, mu, rank) * iterations for rank, iterations in taken.items())


def _step_seconds(D: Many, u: Floats, mu: float, rank: int) -> float:
    rng = np.random.default_rng(rank)
    X: Floats = rng.random((len(u), rank))
    V: Many = [np.zeros_like(X) for _ in D]
    Y: Many = [rng.random((len(Da), rank)) for Da in D]

    def loop(X: Floats = X, V: Many = V, Y: Many = Y) -> None:
        for k in range(STEPS):
            X, V, Y = iterate(D, X, V, Y, u, mu)
            if k % 10 == 9:
                objective(D, X, V, Y, u, mu)

    return timed(loop)[1] / STEPS


def iteration(name: str, seed: int, data: Path) -> Row:
    """Compare an iteration of the relaxed solve with its two products alone, medians of alternating rounds."""
    planted, rank, n_iter = _plant(seed), int(name.split()[1]), 40
    stacked = StackedMatrix.from_rows(planted.X, planted.y, 2)
    with ThreadTeam() as team:
        operator = make_operator(stacked.matrix, stacked.blocks, team, np.float32)
        solver = AcceleratedDescent(operator, cross_weights([ROWS // 2, ROWS // 2]))
        start = solver.start(rank, np.random.default_rng(0))
        weights = np.repeat(start.X[None], 2, axis=0)
        solver.run(start, ramp=2, max_iter=3)

        def bare() -> None:
            for _ in range(n_iter):
                operator.transposed_times(start.Y)
                operator.times(weights)

        times = alternating_times([lambda: solver.run(start, ramp=n_iter, max_iter=n_iter), bare], 9)
    whole, products = (statistics.median(seconds) / n_iter * 1e3 for seconds in times)
    return {"ms": round(whole, 3), "products_ms": round(products, 3)}


def _plant(seed: int) -> Planted:
    return make_planted(COLUMNS, [ROWS // 2, ROWS // 2], RANK, random_state=seed)
