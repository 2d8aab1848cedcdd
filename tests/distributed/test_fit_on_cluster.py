"""Fits on blocks: however the data is held and wherever the blocks are, the model is that of data in memory."""

from __future__ import annotations

import os
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from saltmine import CSalt, Primp
from saltmine.datasets import make_planted
from saltmine.distributed.errors import ClusterError
from saltmine.distributed.executor import DaskExecutor
from saltmine.solver import wide
from tests.helpers.clusters import actors
from tests.helpers.lazy_data import of_dask, of_npz, of_parquet, of_sparse_dask, of_sparse_npz, of_zarr, of_zarr_path

SAMPLE = 300
FIGURES = ("description_length_", "null_description_length_", "pattern_evidence_", "pattern_gain_", "alteration_gain_")
CLAIMS = ("use_p_values_", "use_q_values_", "alteration_p_values_", "alteration_q_values_")
FACTORS = ("components_", "alterations_", "usage_", "item_counts_", "noise_counts_", "usage_counts_", "class_counts_")


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(wide, "MIN_ITEMS", SAMPLE)
    monkeypatch.setattr(wide, "MAX_ITEMS", SAMPLE)


@pytest.fixture(scope="module")
def planted():
    return make_planted(2000, [120, 120], rank=4, noise=0.02, random_state=2)


@pytest.fixture(scope="module")
def cells(planted):
    """Return the data with empty, full and repeated columns; rows are in no order of their classes."""
    X = planted.X.copy()
    X[:, 100:110], X[:, 900:905], X[:, 1500:1600] = False, True, X[:, 1400:1500]
    assert (np.diff(planted.y) != 0).sum() >= 1
    return X.astype(np.uint8)


def of_memory(cells, folder):
    return cells


def of_sparse_memory(cells, folder):
    return sp.csr_array(cells)


lazy_kinds = [of_dask, of_sparse_dask, of_zarr, of_zarr_path, of_npz, of_sparse_npz, of_parquet]
# Blocks of every kind are made without a cluster as well; here it is how they come to the workers.
kinds = pytest.mark.parametrize("kind", [of_dask, of_zarr_path, of_sparse_npz, of_parquet, of_memory, of_sparse_memory])


@pytest.fixture(scope="module")
def expected(cells, planted):
    """Return the model of data in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide, "MIN_ITEMS", SAMPLE)
        patch.setattr(wide, "MAX_ITEMS", SAMPLE)
        model = CSalt(random_state=0).fit(cells, planted.y)
    assert model.n_components_ > 1
    assert model.alterations_.any()
    return model


def assert_same_fit(model, expected):
    for name in FACTORS:
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
    for name in (*FIGURES, *CLAIMS):
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    for name in ("carrier_counts_", "classes_", "row_labels_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
    assert model.n_features_in_ == expected.n_features_in_


@kinds
def test_a_cluster_gives_the_model_of_this_process(kind, cells, planted, expected, client, tmp_path):
    model = CSalt(random_state=0, client=client).fit(kind(cells, tmp_path), planted.y)
    assert_same_fit(model, expected)
    assert actors(client) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", lazy_kinds)
def test_so_do_blocks_without_a_cluster(kind, cells, planted, expected, tmp_path):
    assert_same_fit(CSalt(random_state=0).fit(kind(cells, tmp_path), planted.y), expected)


@pytest.fixture
def executors(monkeypatch):
    """Return a list of the executors on Dask that are made."""
    made = []

    class WatchedExecutor(DaskExecutor):
        def __init__(self, client, *arguments):
            super().__init__(client, *arguments)
            self.address = client.scheduler.address
            made.append(self)

    monkeypatch.setattr("saltmine.distributed.executor.DaskExecutor", WatchedExecutor)
    return made


@pytest.mark.parametrize("client_is_open", [True, False])
def test_the_cluster_may_be_named_or_open(client_is_open, cells, planted, expected, cluster, executors):
    data = of_dask(cells, None)
    if client_is_open:
        with Client(cluster):
            model = CSalt(random_state=0).fit(data, planted.y)
    else:
        model = CSalt(random_state=0, client=cluster.scheduler_address).fit(data, planted.y)
    assert [executor.address for executor in executors] == [cluster.scheduler_address]
    assert_same_fit(model, expected)


@pytest.mark.parametrize("kind", [of_npz, of_memory])
def test_small_data_is_read_as_a_whole(kind, cells, planted, client, tmp_path):
    few = np.ascontiguousarray(cells[:, 1400:1600])
    here = CSalt(random_state=0).fit(few, planted.y)
    assert here.n_components_ > 0
    assert_same_fit(CSalt(random_state=0, client=client).fit(kind(few, tmp_path), planted.y), here)


def test_data_without_labels(cells, client):
    here = Primp(random_state=0).fit(cells)
    assert here.n_components_ > 1
    assert_same_fit(Primp(random_state=0, client=client).fit(of_dask(cells, None)), here)


@pytest.mark.parametrize("use_cluster", [True, False])
def test_labels_split_the_reporting_of_primp(use_cluster, cells, planted, client):
    here = Primp(random_state=0).fit(cells, planted.y)
    assert here.n_components_ > 1
    assert len(here.usage_counts_) == 2
    assert not here.alterations_.any()
    there = Primp(random_state=0, client=client if use_cluster else None).fit(of_dask(cells, None), planted.y)
    assert_same_fit(there, here)
    pd.testing.assert_frame_equal(there.patterns(), here.patterns(), rtol=1e-9)


def test_the_best_of_several_starts(cells, planted, client):
    settings = {"random_state": 1, "n_restarts": 2}
    here = CSalt(**settings).fit(cells, planted.y)
    assert_same_fit(CSalt(client=client, **settings).fit(of_dask(cells, None), planted.y), here)


@pytest.mark.parametrize("make", [np.zeros, np.ones])
def test_data_that_says_nothing(make, planted, client):
    X = make((240, 1000), dtype=np.uint8)
    here = CSalt(random_state=0).fit(X, planted.y)
    there = CSalt(random_state=0, client=client).fit(of_dask(X, None), planted.y)
    # All ones are a typical row, and nothing else.
    assert there.typical_.tolist() == here.typical_.tolist() == [True] * int(X.any())
    assert there.description_length_ == pytest.approx(here.description_length_)


def test_names_come_along(cells, planted, client, tmp_path):
    model = CSalt(random_state=0, client=client).fit(of_parquet(cells, tmp_path), planted.y)
    assert model.n_components_ > 1
    assert set(model.patterns()["item"]) <= {f"item {column}" for column in range(cells.shape[1])}
    named = CSalt(random_state=0).fit(
        of_dask(cells, None), planted.y, item_names=[f"gene {k}" for k in range(2000)], row_names=list(range(240))
    )
    assert set(named.patterns()["item"]) <= {f"gene {column}" for column in range(cells.shape[1])}
    assert list(named.row_names_[:2]) == ["0", "1"]


def test_values_above_a_threshold_become_ones(cells, planted, expected, client):
    weighted = cells * np.random.default_rng(0).uniform(0.6, 3, cells.shape)
    model = CSalt(random_state=0, binarize=0.5, client=client).fit(of_dask(weighted, None), planted.y)
    assert_same_fit(model, expected)


@pytest.mark.parametrize("kind", [of_dask, of_zarr])
def test_arrays_that_are_read_lazily_are_encoded_as_well(kind, cells, expected, tmp_path):
    lazy = kind(cells, tmp_path)
    np.testing.assert_array_equal(expected.transform(lazy), expected.transform(cells))
    np.testing.assert_array_equal(expected.predict(lazy), expected.predict(cells))


# ---------------------------------------------------------------- trouble


def kill_a_worker(client):
    def process(dask_worker):
        return os.getpid() if dask_worker.state.actors else None

    holding = [found for found in client.run(process).values() if found]
    os.kill(holding[0], signal.SIGKILL)


def test_a_worker_killed_in_the_middle_of_a_fit(cells, planted, expected, client, executors):
    killed = []

    def callback(now):
        # From here on all items are solved in their blocks.
        if now.done >= wide.SEARCHED and not killed:
            killed.append(now)
            kill_a_worker(client)

    model = CSalt(random_state=0, client=client, callback=callback).fit(of_dask(cells, None), planted.y)
    assert len(killed) == 1
    assert [executor.n_rebuilt > 0 for executor in executors] == [True]
    assert_same_fit(model, expected)
    assert actors(client) == 0


@pytest.mark.parametrize(("error", "was_fitted"), [(KeyboardInterrupt, True), (ZeroDivisionError, False)])
def test_after_an_error_all_is_as_before(error, was_fitted, cells, planted, client):
    def callback(now):
        if now.done >= wide.SEARCHED:
            raise error

    model = CSalt(random_state=0, client=client)
    if was_fitted:
        model.fit(cells[:, :200], planted.y)
    before = dict(model.__dict__)
    model.callback = callback
    with pytest.raises(error):
        model.fit(of_dask(cells, None), planted.y)
    model.callback = None
    assert model.__dict__ == before
    assert actors(client) == 0
    if not was_fitted:
        with pytest.raises(NotFittedError):
            check_is_fitted(model)


def fail_to_read(block):
    raise AssertionError("a cell was read")


def assert_refused(error, sentence, model, X, y):
    with pytest.raises(error, match=sentence) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("use_cluster", [True, False])
def test_bad_settings_are_refused_before_anything_is_read(use_cluster, cells, planted, client):
    unread = of_dask(cells, None).map_blocks(fail_to_read, dtype=np.uint8)
    where = client if use_cluster else None
    assert_refused(ValueError, "X has 240 rows, but y has 239 labels", CSalt(client=where), unread, planted.y[1:])
    sentence = "fitted in blocks, which only algorithm='saltmine' does"
    assert_refused(ValueError, sentence, CSalt(algorithm="paper", client=where), unread, planted.y)
    assert_refused(ValueError, "item_names", NamedFit(client=where), unread, planted.y)


class NamedFit(CSalt):
    def fit(self, X, y):
        return super().fit(X, y, item_names=["too few"])


@pytest.mark.slow
def test_clusters_that_cannot_be_reached(cells, planted, monkeypatch):
    monkeypatch.setattr("saltmine.distributed.connect._REACH", 1)
    data = of_dask(cells, None)
    assert_refused(ClusterError, "No Dask scheduler answers at", CSalt(client="tcp://127.0.0.1:1"), data, planted.y)
    assert_refused(ValueError, r"client is 7; pass a distributed\.Client", CSalt(client=7), data, planted.y)


@pytest.mark.parametrize(
    ("kind", "use_cluster"), [(of_dask, True), (of_zarr, False), (of_npz, True), (of_npz, False), (of_parquet, False)]
)
def test_values_that_are_no_zeros_and_ones_are_named(kind, use_cluster, cells, planted, client, tmp_path):
    wrong = cells.copy()
    wrong[77, 1234] = 5
    model = CSalt(client=client if use_cluster else None)
    with pytest.raises(ValueError, match="5") as caught:
        model.fit(kind(wrong, tmp_path), planted.y)
    # Rows of files are counted within the file; columns of parquet files have names.
    assert "1234" in str(caught.value)
    assert "77" in str(caught.value) or "rows-" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert actors(client) == 0


def test_files_of_different_widths(cells, planted, client, tmp_path):
    sp.save_npz(tmp_path / "a", sp.csr_array(cells[:60]))
    sp.save_npz(tmp_path / "b", sp.csr_array(cells[60:, :-1]))
    with pytest.raises(ValueError, match=r"a\.npz has 2000 columns and .*b\.npz has 1999") as caught:
        CSalt(client=client).fit(tmp_path, planted.y)
    assert "\n" not in str(caught.value)
