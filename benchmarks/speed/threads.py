"""One thread against two, and what that says about more of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.parts import Column, Runs
from benchmarks.scale import genome_like
from benchmarks.speed.pairs import read_case
from experiments.experiment import Row
from experiments.measuring import alternating_times
from saltmine import CSalt

ROUNDS = 2


def threads(name: str, seed: int, data: Path) -> Row:
    """Measure a fit on the clock with one thread and with two; "56 x 400,000" is a simulated matrix."""
    genome, _, columns = name.partition("56 x ")
    X, y = genome_like(int(columns.replace(",", "")), seed) if columns else read_case(genome, seed, data)

    def fit(n_threads: int) -> None:
        # A fit takes as many threads as the libraries for linear algebra may.
        with threadpool_limits(n_threads):
            CSalt(random_state=seed).fit(X, y)

    CSalt(random_state=seed).fit(X[:, :300], y)
    one, two = map(min, alternating_times([partial(fit, 1), partial(fit, 2)], ROUNDS))
    return {"one": round(one, 3), "two": round(two, 3)}


def serial_share(runs: Runs) -> float:
    """Return the share of the work that threads do not take part in, by Amdahl's law.

    With the share s, two threads take s + (1 - s) / 2 of the time of one.

    Examples
    --------
    >>> serial_share(Runs({"one": [10.0], "two": [7.5]}))
    0.5
    """
    of_one = runs["two"].median() / runs["one"].median()
    return float(min(max(2 * of_one - 1, 0.0), 1.0))


def speed_with(n_threads: int) -> Column:
    """Return a column: how many times faster than one thread as many would be."""

    def column(runs: Runs) -> str:
        serial = serial_share(runs)
        return f"{1 / (serial + (1 - serial) / n_threads):.1f}"

    return column
