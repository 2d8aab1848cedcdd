"""Asso on bit sets against Asso in plain numpy, in one process.

    python -m benchmarks.asso

1000 rows, 800 columns, 24 patterns at one threshold; times are the shortest of five after compilation. Both find the
same error, as they take the same steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.measuring import alternating_times
from saltmine import Asso
from saltmine.datasets import make_planted

RANK, TAU = 24, 0.25


def plain(data: NDArray[np.bool_], rank: int, tau: float) -> int:
    """Return the cells in error after ``rank`` greedy steps, one product with all candidates each."""
    ones = data.astype(np.float32)
    together = ones.T @ ones
    candidates = (together / np.maximum(np.diag(together), 1)[:, None] >= tau).astype(np.float32)
    # Single items say nothing beyond themselves; saltmine leaves them out.
    candidates = candidates[candidates.sum(axis=1) > 1]
    worth = 2 * ones - 1
    covered = np.zeros_like(data)
    for _ in range(rank):
        gains = worth @ candidates.T
        best = int(np.maximum(gains, 0).sum(axis=0).argmax())
        cells = np.ix_(gains[:, best] > 0, candidates[best] > 0)
        covered[cells] = True
        worth[cells] = 0
    return int((covered != data).sum())


def main() -> None:
    data = make_planted(800, [500, 500], RANK, noise=0.1, random_state=5000).X

    def ours() -> int:
        return int(Asso(rank=RANK, tau=TAU).fit(data).noise_counts_.sum())

    def theirs() -> int:
        return plain(data, RANK, TAU)

    error, same = ours(), theirs()
    seconds, reference = map(min, alternating_times([ours, theirs], rounds=5))
    print(f"saltmine     {seconds:7.2f} s   {error:,} cells in error")
    print(f"plain numpy  {reference:7.2f} s   {same:,} cells in error, {reference / seconds:.1f} x the time")


if __name__ == "__main__":
    main()
