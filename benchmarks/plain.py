"""The paper's loop written down plainly in numpy: residuals, one product per printed term, nothing shared.

Kept as the yardstick for `CSalt(algorithm="paper")`, which takes the same steps in gram form. Run it to compare the
time of one iteration in one process:

    python -m benchmarks.plain
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.solver.paper import palm
from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from saltmine.solver.relaxed.operator import make_operator

Floats = NDArray[np.floating]
Many = list[Floats]

GAMMA = 1.00001


def prox(x: Floats, alpha: float | np.floating) -> Floats:
    return np.where(x <= 0.5, np.maximum(0, x - 2 * alpha), np.minimum(1, x + 2 * alpha))


def penalty(x: Floats) -> float:
    return float((1 - np.abs(1 - 2 * x)).sum())


def objective(D: Many, X: Floats, V: Many, Y: Many, u: Floats, mu: float) -> float:
    """Return F plus the binary penalties, term by term as docs/method/objective.md states them."""
    used = sum(Ya.sum(axis=0) for Ya in Y)
    r = X.shape[1]
    error = sum(((Da - Ya @ (X + Va).T) ** 2).sum() for Da, Ya, Va in zip(D, Y, V, strict=True))
    G = -((used + 1) * np.log((used + 1) / (used.sum() + r))).sum() + (X.T @ u).sum() + used.sum()
    G += sum((Va.T @ u).sum() for Va in V)
    YD = sum(Ya.T @ Da for Ya, Da in zip(Y, D, strict=True))
    S = sum(np.trace((Ya.T @ (1 - 2 * Da) + YD) @ Va) for Da, Ya, Va in zip(D, Y, V, strict=True))
    return float(0.5 * (mu * error + G + S) + penalty(X) + sum(map(penalty, V)) + sum(map(penalty, Y)))


def iterate(D: Many, X: Floats, V: Many, Y: Many, u: Floats, mu: float) -> tuple[Floats, Many, Many]:
    """Take one iteration of Algorithm 1."""
    c, r = len(D), X.shape[1]
    alpha = 1 / (GAMMA * mu * np.linalg.norm(sum(Ya.T @ Ya for Ya in Y)))
    N = [D[a] - Y[a] @ (X + V[a]).T for a in range(c)]
    X = prox(X - alpha * (-mu * sum(N[a].T @ Y[a] for a in range(c)) + 0.5 * u[:, None]), alpha)
    N = [D[a] - Y[a] @ (X + V[a]).T for a in range(c)]
    DY = sum(D[a].T @ Y[a] for a in range(c))
    new = []
    for a in range(c):
        nu = 1 / (GAMMA * mu * np.linalg.norm(Y[a].T @ Y[a]))
        S = 0.5 * (DY + (1 - 2 * D[a]).T @ Y[a])
        new.append(prox(V[a] - nu * (-mu * N[a].T @ Y[a] + 0.5 * u[:, None] + S), nu))
    V = new
    moduli = [mu * np.linalg.norm((X + V[a]).T @ (X + V[a])) + len(D[a]) for a in range(c)]
    beta = float(1 / (GAMMA * np.linalg.norm(moduli)))
    used = sum(Ya.sum(axis=0) for Ya in Y)
    codes = -0.5 * (np.log((used + 1) / (used.sum() + r)) - 1)
    new = []
    for a in range(c):
        N_a = D[a] - Y[a] @ (X + V[a]).T
        S = 0.5 * (D[a] @ sum(V[b] for b in range(c) if b != a) + (1 - D[a]) @ V[a])
        new.append(prox(Y[a] - beta * (-mu * N_a @ (X + V[a]) + codes + S), beta))
    return X, V, new


def run_plain(D: Many, start: Factors, blocks: list[slice], n_iter: int) -> float:
    """Return the objective after so many iterations."""
    counts = sum(Da.sum(axis=0) for Da in D)
    u, mu = -np.log(counts / counts.sum()), 1 + np.log(len(counts))
    X, V, Y = start.X, list(start.V), [start.Y[rows] for rows in blocks]
    for _ in range(n_iter):
        X, V, Y = iterate(D, X, V, Y, u, mu)
    return objective(D, X, V, Y, u, mu)


def compare(n: int = 800, m: int = 1000, rank: int = 30, n_iter: int = 50, rounds: int = 5) -> tuple[float, float]:
    """Return ms per iteration, plain and ours, medians of alternating rounds; looking at the objective at the end."""
    planted = make_planted(n, [m // 2, m - m // 2], 24, random_state=0)
    data = StackedMatrix.from_rows(planted.X, planted.y, 2)
    rng = np.random.default_rng(0)
    start = Factors(rng.random((n, rank)), rng.random((2, n, rank)), rng.random((m, rank)))
    D: Many = [np.asarray(data.matrix[rows], dtype=np.float64) for rows in data.blocks]
    plain_times, our_times = [], []
    for _ in range(rounds):
        with threadpool_limits(None):
            begin = time.perf_counter()
            plain = run_plain(D, start, data.blocks, n_iter)
            plain_times.append((time.perf_counter() - begin) / n_iter * 1e3)
        with ThreadTeam() as team:
            objective_ = RelaxedObjective(make_operator(data.matrix, data.blocks, team))
            begin = time.perf_counter()
            ours = palm(objective_, start, max_iter=n_iter, check_every=n_iter).history[-1]
            our_times.append((time.perf_counter() - begin) / n_iter * 1e3)
    if not np.isclose(plain, ours, rtol=1e-9):
        raise RuntimeError("the plain loop and the gram form do not take the same steps")
    return statistics.median(plain_times), statistics.median(our_times)


def main() -> None:
    plain, ours = compare()
    times = f"plain numpy {plain:.1f} ms, saltmine {ours:.1f} ms, ratio {ours / plain:.2f}"
    print(f"one iteration, 800 columns x 1000 rows, rank 30: {times}")


if __name__ == "__main__":
    main()
