"""Fits that are killed at random moments and go on from their checkpoint, against the same fit left alone.

    python -m benchmarks.trust.checkpoints "in memory" 5000 ../shared

A process that has imported everything, and has no threads of its own, forks one child per attempt. The child fits and
is killed (SIGKILL) after a random part of the time that the whole fit takes, again and again, until one comes to its
end. Checkpoints are written much more often than usual, so that many states are gone on from.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import saltmine.checkpoint
from benchmarks.speed.pairs import read_case
from experiments.experiment import Row
from saltmine import CSalt, Primp
from saltmine.datasets import make_planted

# Seconds between two checkpoints, at least; and after so many kills a fit is left alone.
INTERVAL, MOST_KILLS = 0.02, 1000
# What two fits have to have in common, to the last bit.
SAME = (
    "components_",
    "alterations_",
    "usage_",
    "item_counts_",
    "noise_counts_",
    "carrier_counts_",
    "pattern_evidence_",
    "pattern_gain_",
    "alteration_gain_",
    "use_q_values_",
    "alteration_q_values_",
    "history_",
    "n_iter_",
    "description_length_",
    "temperature_",
)
CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""

Data = tuple[Any, Any]


class Case(NamedTuple):
    """Data, and how it is fitted."""

    data: Callable[[int, Path], Data]
    make: Callable[..., Any] = CSalt
    parameters: Mapping[str, Any] = MappingProxyType({})
    on_cluster: bool = False


def _planted(columns: int, rows: int, rank: int = 8, noise: float = 0.05) -> Callable[[int, Path], Data]:
    def make(seed: int, data: Path) -> Data:
        made = make_planted(columns, [rows // 2, rows - rows // 2], rank=rank, noise=noise, random_state=seed)
        return made.X, made.y

    return make


def _lazy(make: Callable[[int, Path], Data], chunks: tuple[int, int]) -> Callable[[int, Path], Data]:
    def make_lazy(seed: int, data: Path) -> Data:
        import dask.array as da

        X, y = make(seed, data)
        return da.from_array(X, chunks=chunks), y

    return make_lazy


def _table(name: str) -> Callable[[int, Path], Data]:
    return lambda seed, data: read_case(name, seed, data)


WIDE, TALL = _planted(60_000, 60, 10), _planted(40, 60_000, 6)
CASES = {
    "in memory": Case(_planted(300, 500)),
    "without classes": Case(_planted(300, 500), Primp),
    "three restarts, two at a time": Case(_planted(300, 300, noise=0.2), CSalt, {"n_restarts": 3, "n_jobs": 2}),
    "published algorithm": Case(_planted(150, 240, 4), CSalt, {"algorithm": "paper", "max_iter": 2000}),
    "wide": Case(WIDE),
    "wide, read lazily": Case(_lazy(WIDE, (60, 20_000))),
    "wide, cluster": Case(_lazy(WIDE, (60, 20_000)), on_cluster=True),
    "tall": Case(TALL),
    "tall, cluster": Case(_lazy(TALL, (20_000, 40)), on_cluster=True),
    **{name: Case(_table(name)) for name in ("zoo", "soybean", "kr_vs_kp", "adult", "politics")},
}
QUICK = ("in memory", "wide", "zoo")


def checkpoints(name: str, seed: int, data: Path, kills: int = MOST_KILLS) -> Row:
    """Return how often a fit was killed, and whether it ended with the model of a fit left alone."""
    command = [sys.executable, "-m", "benchmarks.trust.checkpoints", name, str(seed), str(data), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def kill_and_go_on(case: Case, seed: int, data: Path, kills: int) -> Row:
    """Kill a fit at random moments, at most so many times, until it ends; compare it with one that was left alone."""
    rng, (X, y) = np.random.default_rng(seed), case.data(seed, data)
    with TemporaryDirectory() as folder, _cluster(case.on_cluster) as client:
        path, result = Path(folder, "fit.ckpt"), Path(folder, "result")
        parameters = {"random_state": seed, **case.parameters, **({"client": client} if client else {})}

        def fit(**more: Any) -> None:
            model = case.make(**parameters, **more).fit(X, y)
            result.write_text(digest_of(model))

        begin = time.monotonic()
        _wait_for(_start(fit), np.inf)
        seconds, alone = time.monotonic() - begin, result.read_text()
        n_kills, runs = 0, 0
        while True:
            runs += 1
            child = _start(lambda: fit(checkpoint=path))
            if _wait_for(child, rng.uniform(0, seconds) if n_kills < kills else np.inf):
                break
            n_kills += 1
        return {
            "seconds": round(seconds, 2),
            "kills": n_kills,
            "runs": runs,
            "identical": int(result.read_text() == alone),
            "left": int(any(Path(folder).glob("fit.ckpt*"))),
        }


def digest_of(model: Any) -> str:
    """Return a text that is another one if any bit of a fitted model is."""
    found = hashlib.sha256()
    for name in SAME:
        value = np.asarray(getattr(model, name))
        found.update(f"{name} {value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def _start(work: Callable[[], None]) -> int:
    """Do something in a child process, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        saltmine.checkpoint.INTERVAL = saltmine.checkpoint.LEAST = INTERVAL
        saltmine.checkpoint.SHARE = 1.0
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _wait_for(child: int, seconds: float) -> bool:
    """Return whether a child process has ended; kill it if it has not after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                raise RuntimeError(f"a fit ended with status {status}")
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextmanager
def _cluster(wanted: bool) -> Iterator[str | None]:
    """Start a Dask cluster in another process, and yield its address."""
    if not wanted:
        yield None
        return
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def main() -> None:
    name, seed, data, kills = (*sys.argv[1:], str(MOST_KILLS))[:4]
    print(json.dumps(kill_and_go_on(CASES[name], int(seed), Path(data), int(kills))))


if __name__ == "__main__":
    main()
