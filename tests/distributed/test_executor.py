from __future__ import annotations

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from dask import delayed
from distributed import Client, LocalCluster

import saltmine
from saltmine.data.threads import ThreadTeam
from saltmine.distributed import executor as executor_module
from saltmine.distributed.connect import connect
from saltmine.distributed.errors import ClusterError
from saltmine.distributed.executor import DaskExecutor
from saltmine.solver.executor import LocalExecutor
from tests.helpers.blocks import Tally, kill
from tests.helpers.clusters import actors

N_BLOCKS = 5
SHAPE = (4, 3)
RNG = np.random.default_rng(11)
SOURCES = [RNG.random(SHAPE) for _ in range(N_BLOCKS)]
WEIGHTS = [RNG.random(SHAPE) for _ in range(4)]


@contextmanager
def small_cluster(n_workers=1, threads_per_worker=1, **options):
    """Yield a cluster in threads, where a worker can be closed without a nanny that starts another one."""
    options = {"n_workers": n_workers, "threads_per_worker": threads_per_worker, "processes": False, **options}
    with (
        LocalCluster(dashboard_address=":0", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


def make_changes(executor):
    """Change all blocks in several ways; return what the calls gave."""
    results = [executor.update(Tally.mix, weights) for weights in WEIGHTS]
    executor.update(Tally.add, 0.1)
    results.append(executor.query_each(Tally.plus, [(0.1 * number,) for number in range(N_BLOCKS)]))
    return [*results, executor.update(Tally.mix, WEIGHTS[0])]


def expected(actions):
    """Return what actions give on blocks of this process."""
    with ThreadTeam(2) as team, LocalExecutor(map(Tally, SOURCES), team) as executor:
        return actions(executor), executor.query(Tally.get)


def assert_as_expected(executor, actions, results=None):
    wanted, state = expected(actions)
    np.testing.assert_array_equal(actions(executor) if results is None else results, wanted)
    np.testing.assert_array_equal(executor.query(Tally.get), state)


def test_dask_gives_what_threads_give(client):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        assert len(executor) == N_BLOCKS
        assert_as_expected(executor, make_changes)
        assert executor.n_rebuilt == 0


def test_blocks_are_spread_evenly_and_freed(client):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        processes = executor.query(Tally.process)
        assert sorted(processes.count(process) for process in set(processes)) == [2, 3]
    assert actors(client) == 0


def test_sources_may_be_delayed_or_futures(client):
    sources = [SOURCES[0], delayed(np.add)(SOURCES[1], 0), client.submit(np.add, SOURCES[2], 0), *SOURCES[3:]]
    with DaskExecutor(client, Tally, sources) as executor:
        np.testing.assert_array_equal(executor.query(Tally.get), SOURCES)


def test_the_default_client_may_be_another(client):
    with client.as_current(), small_cluster(n_workers=2) as (_, other), DaskExecutor(other, Tally, SOURCES) as executor:
        assert_as_expected(executor, make_changes)
        assert actors(client) == 0


def test_threads_of_a_worker_work_side_by_side():
    with small_cluster(threads_per_worker=4) as (_, client), DaskExecutor(client, Meeting, range(4)) as executor:
        assert sorted(executor.query(Meeting.meet)) == [0, 1, 2, 3]


class Meeting:
    """Blocks that can go on only when all of them have been called."""

    barrier = threading.Barrier(4, timeout=20)

    def __init__(self, source):
        self.source = source

    def meet(self):
        return self.barrier.wait()


def test_a_worker_killed_between_rounds(client):
    def actions(executor):
        results = make_changes(executor)
        if isinstance(executor, DaskExecutor):
            os.kill(executor.query(Tally.process)[0], signal.SIGKILL)
        return [*results, *make_changes(executor)]

    with DaskExecutor(client, Tally, SOURCES) as executor:
        assert_as_expected(executor, actions)
        assert executor.n_rebuilt in (2, 3)
        # The nanny started another worker in time, and the blocks are spread over both again.
        assert len(set(executor.query(Tally.process))) == 2
    assert actors(client) == 0


def test_a_worker_killed_in_a_call(client, tmp_path):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        results = make_changes(executor)
        np.testing.assert_array_equal(executor.query(Tally.kill_once, tmp_path / "killed"), executor.query(Tally.get))
        assert executor.n_rebuilt > 0
        assert_as_expected(executor, make_changes, results)


def test_repeated_calls_have_the_arguments_of_their_time(client):
    weights = WEIGHTS[0].copy()
    with DaskExecutor(client, Tally, SOURCES) as executor:
        before = executor.update(Tally.mix, weights)
        state = executor.query(Tally.get)
        weights[:] = 0
        os.kill(executor.query(Tally.process)[-1], signal.SIGKILL)
        np.testing.assert_array_equal(executor.query(Tally.get), state)
        np.testing.assert_array_equal(before, [matrix.sum(axis=0) for matrix in state])


def test_cleared_calls_are_not_repeated(client):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        make_changes(executor)
        executor.clear_log()
        executor.update(Tally.set, WEIGHTS[0])
        executor.update(Tally.add, 1)
        os.kill(executor.query(Tally.process)[0], signal.SIGKILL)
        np.testing.assert_array_equal(executor.query(Tally.get), [WEIGHTS[0] + 1] * N_BLOCKS)


def test_a_cluster_scaled_down(cluster, client):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        results = make_changes(executor)
        cluster.scale(1)
        deadline = time.monotonic() + 30
        while len(client.nthreads()) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert_as_expected(executor, make_changes, results)
        assert len(set(executor.query(Tally.process))) == 1


@pytest.mark.slow
def test_a_worker_without_nanny_closed_in_peace():
    with small_cluster(n_workers=2) as (cluster, client), DaskExecutor(client, Tally, SOURCES) as executor:
        results = make_changes(executor)
        client.sync(cluster.workers[0].close)
        assert_as_expected(executor, make_changes, results)
        assert executor.n_rebuilt in (2, 3)


@pytest.mark.slow
def test_no_worker_left():
    with small_cluster() as (cluster, client), DaskExecutor(client, Tally, SOURCES, patience=1) as executor:
        client.sync(cluster.workers[0].close)
        with pytest.raises(ClusterError, match=r"lost its last worker, and no other one came within 1 seconds; start"):
            executor.query(Tally.get)


@pytest.mark.slow
def test_a_client_that_was_closed():
    with small_cluster() as (_, client), DaskExecutor(client, Tally, SOURCES) as executor:
        client.close()
        with pytest.raises(ClusterError, match="connection to the Dask scheduler was lost in the middle of the fit"):
            executor.query(Tally.get)


def test_a_block_lost_again_and_again(client, monkeypatch):
    monkeypatch.setattr(executor_module, "_ATTEMPTS", 1)
    sentence = "lost 1 times in one round of the fit; its workers may be running out of memory"
    with DaskExecutor(client, Deadly, [0]) as executor, pytest.raises(ClusterError, match=sentence):
        executor.query(Deadly.die)


class Deadly(Tally):
    def die(self):
        kill(self)


def test_a_block_that_kills_its_maker(cluster, client, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match=r"Block 1 of 1 cannot be made: every worker that tried died.*more memory"):
        DaskExecutor(client, kill, [0])
    assert actors(client) == 0


def test_errors_of_a_block_are_its_own(client):
    with DaskExecutor(client, Tally, SOURCES) as executor:
        with pytest.raises(OSError, match=r"^the block itself raised this$"):
            executor.query(Tally.fail)
        assert executor.n_rebuilt == 0
        np.testing.assert_array_equal(executor.query(Tally.get), SOURCES)


def test_errors_in_making_a_block(client):
    with pytest.raises(ValueError, match=r"^no block can be made of 'text'$"):
        DaskExecutor(client, Tally, [*SOURCES, "text"])
    assert actors(client) == 0


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_the_cluster_clean(client):
    executor = DaskExecutor(client, Tally, SOURCES)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), executor:
        executor.query(Tally.sleep, 1)
    timer.join()
    assert actors(client) == 0
    with DaskExecutor(client, Tally, SOURCES) as another:
        np.testing.assert_array_equal(another.query(Tally.get), SOURCES)


def test_connect_takes_clients_addresses_and_scheduler_files(client, tmp_path):
    with connect(client) as same:
        assert same is client
    path = tmp_path / "scheduler.json"
    # As a scheduler writes it. The client's own method fails once workers have measured anything: keys that are tuples.
    path.write_text(json.dumps({"type": "Scheduler", "address": client.scheduler.address, "workers": {}}))
    for where in (client.scheduler.address, path, str(path)):
        with connect(where) as own:
            assert own.submit(abs, -7).result() == 7
        assert own.status == "closed"
    assert client.status == "running"


class _Web(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.slow
def test_connect_refuses_what_is_no_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr("saltmine.distributed.connect._REACH", 1)
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    cases = {
        "tcp://127.0.0.1:9": "No Dask scheduler answers at tcp://127.0.0.1:9; check the address",
        "nonsense": "'nonsense' is no address of a Dask scheduler and no scheduler file; an address looks like",
        "http://host:8787": "'http://host:8787' is no address of a Dask scheduler",
        broken: "scheduler file .*broken.json cannot be used: it has no address of a scheduler; dask scheduler",
        tmp_path / "none.json": "scheduler file .*none.json cannot be used: No such file or directory; dask scheduler",
    }
    for where, sentence in cases.items():
        with pytest.raises(ClusterError, match=sentence), connect(where):
            pass
    with pytest.raises(ValueError, match=r"client is 7; pass a distributed\.Client, the address"), connect(7):
        pass
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Web) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(ClusterError, match=f"No Dask scheduler answers at {address}"), connect(address):
            pass
        server.shutdown()


def test_connect_refuses_clients_it_cannot_use(client):
    closed = Client(client.scheduler.address, loop=client.loop, set_as_default=False)
    closed.close()
    with pytest.raises(ClusterError, match="The Dask client is closed; make a new one"), connect(closed):
        pass

    async def use() -> None:
        with connect(client):
            pass

    # In its own loop every client is asynchronous.
    with pytest.raises(ClusterError, match="The Dask client is asynchronous; make it with"):
        client.sync(use)


def test_connect_refuses_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr("saltmine.distributed.connect._FIRST_WORKER", 0.2)
    sentence = r"The Dask cluster at inproc://.* has no workers; start some with dask worker"
    with small_cluster(n_workers=0) as (_, client), pytest.raises(ClusterError, match=sentence), connect(client):
        pass


_NO_SALTMINE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "saltmine":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""

_OTHER_SALTMINE = """
import sys, types

sys.modules["saltmine"] = types.ModuleType("saltmine")
sys.modules["saltmine"].__version__ = "0.0.1"
"""


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("module", "code", "sentence"),
    [
        ("sitecustomize", _NO_SALTMINE, rf"worker at (\S+) has no saltmine; install saltmine {saltmine.__version__}"),
        ("sitecustomize", _OTHER_SALTMINE, r"worker at (\S+) has saltmine 0\.0\.1, and here it is"),
    ],
)
def test_connect_refuses_a_worker_with_another_saltmine(tmp_path, module, code, sentence):
    (tmp_path / f"{module}.py").write_text(code)
    with small_cluster(protocol="tcp://") as (cluster, client), connect(client):
        known = set(client.nthreads())
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        worker = subprocess.Popen(command, cwd=tmp_path, env=environment, **streams)
        try:
            client.wait_for_workers(2, timeout=30)
            (stranger,) = set(client.nthreads()) - known
            with pytest.raises(ClusterError, match=sentence) as caught, connect(client):
                pass
            assert stranger in str(caught.value)
        finally:
            worker.kill()
            worker.wait()


def test_local_executors_raise_the_errors_of_their_blocks():
    with ThreadTeam(2) as team, LocalExecutor(map(Tally, SOURCES), team) as executor:
        assert len(executor) == N_BLOCKS
        with pytest.raises(OSError, match=r"^the block itself raised this$"):
            executor.query(Tally.fail)
        executor.clear_log()
        np.testing.assert_array_equal(executor.query(Tally.get), SOURCES)
    assert len(executor) == 0
