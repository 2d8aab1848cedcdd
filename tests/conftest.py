from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

# Before scipy is imported: without it scikit-learn's check of array-API input would be skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import CSalt
from saltmine.baselines import joint_nmf_search
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.solver.relaxed.operator import DenseOperator, SparseOperator
from saltmine.solver.rounding import THRESHOLDS

EXPERIMENTS = Path(__file__).parent / "experiments"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# What workers do when they have nothing to do.
IDLE = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that use a cluster of processes or a browser, and those of the experiments as slow.

    Tests with the cluster come first, so that one process of a run starts it, and not all.
    """
    for item in items:
        if item.path.is_relative_to(EXPERIMENTS):
            item.add_marker("slow")
        for resource in ("cluster", "browser"):
            if resource in getattr(item, "fixturenames", ()):
                item.add_marker(resource)
    items.sort(key=lambda item: "cluster" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def cluster():
    """Return a Dask cluster of two worker processes; take ``client`` where tests may have killed them."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with dask.config.set(IDLE):
        cluster = distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """Return a client of a cluster with two living workers, whatever was done to them before."""
    from distributed import Client

    cluster.scale(2)
    with Client(cluster, set_as_default=False) as client:
        try:
            client.wait_for_workers(2, timeout=10)
        except TimeoutError:
            # A nanny gives up on a worker that is killed while it starts.
            cluster.scale(0)
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def browser():
    """Return Chromium without a window; skip the test where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt this process and its children, also where the run was started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def planted():
    """Small data with clear structure: fits in a second or two."""
    return make_planted(100, [90, 90], rank=3, noise=0.03, random_state=3)


@pytest.fixture(scope="session")
def fitted(planted):
    return CSalt(random_state=0).fit(planted.X, planted.y)


@pytest.fixture
def few_thresholds(monkeypatch):
    """Let a joint NMF try few thresholds, for tests of something else: most of its time is rounding."""
    monkeypatch.setattr(joint_nmf_search, "THRESHOLDS", THRESHOLDS[::4])


def make_dense(matrix, blocks, team, **options):
    return DenseOperator(matrix, blocks, team, **options)


def make_sparse(matrix, blocks, team, **options):
    return SparseOperator(sp.csr_array(matrix), blocks, team, **options)


@pytest.fixture(params=[make_dense, make_sparse], ids=["dense", "sparse"])
def operator_kind(request):
    """Every data operator: tests that take it run once on each."""
    return request.param


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def team(request):
    with ThreadTeam(request.param) as open_team:
        yield open_team


@pytest.fixture
def small_data():
    """Return a 13 x 9 matrix in three classes of different size, every item present."""
    rng = np.random.default_rng(7)
    matrix = rng.random((13, 9)) < 0.4
    matrix[0] = True
    return matrix, [slice(0, 5), slice(5, 6), slice(6, 13)]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(name, contents):
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return path

    return write
