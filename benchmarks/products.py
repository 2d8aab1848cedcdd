"""Products with sparse data: an iteration of the relaxed solve against scipy, and dense against sparse, in one process.

    python -m benchmarks.products                 # random data of the shape and density of the paper's movie reviews
    python -m benchmarks.products matrix.npz      # your own: scipy sparse, first half of the rows against the second
    python -m benchmarks.products --crossing      # from which share of ones on dense products are faster

Medians of alternating rounds. scipy multiplies the CSR arrays of every class and their transposes, all prepared before.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.measuring import Work, alternating_times
from saltmine.data.threads import ThreadTeam
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.operator import Operator, make_operator

MOVIE_SHAPE, MOVIE_DENSITY = (1995, 4442), 0.037
DENSITIES = (0.005, 0.02, 0.1, 0.2, 0.3, 0.4, 0.6)
SHAPES = ((300, 300), (1000, 800), (2000, 4500), (56, 100_000), (100_000, 56))
RANKS = (10, 30, 60)
N_ITER = 20
SEED = 5000


def random_ones(shape: tuple[int, int], density: float) -> sp.csr_array:
    """Return independent ones; items differ in frequency, and each occurs at least once."""
    rng = np.random.default_rng(SEED)
    matrix = rng.random(shape) < density * rng.uniform(0.5, 1.5, size=shape[1])
    matrix[rng.integers(shape[0], size=shape[1]), np.arange(shape[1])] = True
    return sp.csr_array(matrix)


def halves(matrix: sp.csr_array) -> list[slice]:
    return [slice(0, matrix.shape[0] // 2), slice(matrix.shape[0] // 2, matrix.shape[0])]


def medians(works: list[Work], rounds: int) -> list[float]:
    """Return the median milliseconds of each, taking turns."""
    for work in works:
        work()
    return [1e3 * statistics.median(seconds) for seconds in alternating_times(works, rounds)]


def repeated(work: Work, times: int) -> Work:
    def several() -> None:
        for _ in range(times):
            work()

    return several


def both_products(data: Operator, rank: int, dtype: type[np.floating] = np.float32) -> Work:
    rng = np.random.default_rng(SEED)
    usage = rng.random((data.shape[0], rank)).astype(dtype)
    weights = rng.random((len(data.blocks), data.shape[1], rank)).astype(dtype)

    def work() -> None:
        data.transposed_times(usage)
        data.times(weights)

    return work


def scipy_products(matrix: sp.csr_array, blocks: list[slice], rank: int) -> Work:
    classes = [sp.csr_array(matrix[block], dtype=np.float32) for block in blocks]
    transposed = [sp.csr_array(data.T) for data in classes]
    rng = np.random.default_rng(SEED)
    usage = [rng.random((data.shape[0], rank), dtype=np.float32) for data in classes]
    weights = rng.random((len(blocks), matrix.shape[1], rank), dtype=np.float32)

    def work() -> None:
        for a in range(len(blocks)):
            transposed[a] @ usage[a]
            classes[a] @ weights[a]

    return work


def against_scipy(matrix: sp.csr_array, rank: int) -> None:
    blocks = halves(matrix)
    with ThreadTeam() as team:
        data = make_operator(matrix, blocks, team, np.float32)
        solver = AcceleratedDescent(data, cross_weights([block.stop - block.start for block in blocks]))
        start = solver.start(rank, np.random.default_rng(SEED))

        def iterations() -> None:
            solver.run(start, ramp=N_ITER, max_iter=N_ITER, check_every=N_ITER + 1)

        ours = repeated(both_products(data, rank), N_ITER)
        theirs = repeated(scipy_products(matrix, blocks, rank), N_ITER)
        whole, products, scipys = medians([iterations, ours, theirs], rounds=21)
    m, n = matrix.shape
    print(f"{m} x {n}, {matrix.nnz / (m * n):.1%} ones, {rank} patterns, {team.n_threads} threads")
    print(f"scipy's two products: {scipys / N_ITER:.2f} ms")
    print(f"our two products:     {products / N_ITER:.2f} ms, ratio {products / scipys:.2f}")
    print(f"a whole iteration:    {whole / N_ITER:.2f} ms, ratio {whole / scipys:.2f}")


def crossing(shape: tuple[int, int], rank: int, dtype: type[np.floating]) -> None:
    """Print how long dense products take against sparse ones, and where they take the same."""
    ratios = []
    with ThreadTeam() as team:
        for density in DENSITIES:
            matrix = random_ones(shape, density)
            kinds = [make_operator(matrix, halves(matrix), team, dtype, storage=kind) for kind in ("dense", "sparse")]
            works = [repeated(both_products(kind, rank, dtype), 3) for kind in kinds]
            dense, sparse = medians(works, rounds=9)
            ratios.append(dense / sparse)
    row = " ".join(f"{ratio:6.2f}" for ratio in ratios)
    print(f"{shape[0]:>7} x {shape[1]:<7} {rank:>4} {np.dtype(dtype).name}  {row}   {equal_at(np.array(ratios))}")


def equal_at(ratios: NDArray[np.float64]) -> str:
    """Return the share of ones at which the ratio is one, between the measured ones on logarithmic axes."""
    if ratios[-1] > 1:
        return f"above {DENSITIES[-1]:.0%}"
    if ratios[0] < 1:
        return f"below {DENSITIES[0]:.1%}"
    return f"{np.exp(np.interp(0, -np.log(ratios), np.log(DENSITIES))):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure products with sparse data.")
    parser.add_argument("matrix", type=Path, nargs="?", help="a scipy sparse matrix (.npz); random data without it")
    parser.add_argument("--rank", type=int, default=30, help="patterns")
    parser.add_argument("--crossing", action="store_true", help="compare dense and sparse over shares of ones")
    args = parser.parse_args()
    if args.crossing:
        print("time of dense products / time of sparse ones, by the share of ones, and where they are equal")
        print(" " * 31 + " ".join(f"{density:6.1%}" for density in DENSITIES))
        for shape in SHAPES:
            for rank in RANKS:
                crossing(shape, rank, np.float32)
        crossing(MOVIE_SHAPE, 30, np.float64)
        return
    if args.matrix is None:
        matrix = random_ones(MOVIE_SHAPE, MOVIE_DENSITY)
    else:
        matrix = sp.csr_array(sp.load_npz(args.matrix) != 0)
        matrix = sp.csr_array(matrix[:, matrix.sum(axis=0) > 0])
    against_scipy(matrix, args.rank)


if __name__ == "__main__":
    main()
