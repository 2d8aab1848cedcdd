"""Fits of data of every shape, threads, forks and interruptions: what the sanitizers look at (``make sanitize``)."""

import gc
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import Asso, CSalt, DiffNorm, Primp
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.datasets import make_planted, swap
from saltmine.solver.local_search import LocalSearch


def draw(m, n, density=0.3, seed=0):
    return np.random.default_rng(seed).random((m, n)) < density


def check(model, X):
    """Check what every model is: patterns of items that it has, used by rows, and rows that it can encode."""
    assert model.usage_.shape == (X.shape[0], model.n_components_)
    assert model.components_.shape == (model.n_components_, X.shape[1])
    assert model.transform(X).shape[0] == X.shape[0]


SHAPES = [(1, 1), (1, 200), (200, 1), (2, 2), (63, 20), (64, 20), (65, 20), (7, 130), (300, 9)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_any_shape(shape, density):
    X = draw(*shape, density)
    check(CSalt(random_state=0).fit(X, np.arange(len(X)) % 2), X)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(63, 64, 65), (1, 1), (1, 127), (128, 2), (5,) * 65], ids=str)
def test_classes_of_any_size(sizes):
    X, y = draw(sum(sizes), 40, 0.1), np.repeat(np.arange(len(sizes)), sizes)
    X[::3, :9] = True
    check(CSalt(random_state=1).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [1, 2, 64, 65])
def test_any_number_of_classes(n_classes):
    X, y = draw(210, 12), np.arange(210) % n_classes
    X[:, :4] |= (np.arange(210) % 3 == 0)[:, None]
    check(CSalt(random_state=0).fit(X, y), X)


def test_constant_and_duplicate_rows_and_columns():
    X = draw(90, 15, seed=3)
    X = np.hstack([X, X[:, :6], np.ones((90, 2), dtype=bool), np.zeros((90, 2), dtype=bool)])[np.arange(180) % 90]
    model = CSalt(random_state=0).fit(X, np.arange(180) % 2)
    check(model, X)
    assert not model.components_[:, -2:].any()


@pytest.mark.slow
@pytest.mark.parametrize("store", [sp.csr_array, sp.csc_array, np.asfortranarray, np.ascontiguousarray])
def test_any_storage(store):
    planted = make_planted(90, [50, 60], rank=3, noise=0.05, random_state=0)
    plain = CSalt(random_state=0).fit(planted.X, planted.y)
    stored = CSalt(random_state=0).fit(store(planted.X), planted.y)
    assert (stored.components_ == plain.components_).all()


@pytest.mark.slow
def test_blocks_of_columns_and_of_rows():
    wide, tall = draw(20, 50_000, 0.02), draw(60_000, 40, 0.05)
    wide[:9, :3000] = True
    tall[::5, :15] = True
    for X in (wide, tall):
        model = CSalt(random_state=0).fit(X, np.arange(len(X)) % 2)
        assert model.n_components_ >= 1
        assert model.usage_.shape == (len(X), model.n_components_)


@pytest.mark.slow
def test_groups_weights_and_other_methods():
    planted = make_planted(40, [60, 50], rank=3, noise=0.05, random_state=2)
    weights = np.arange(110) % 4
    model = CSalt(random_state=0).fit(planted.X, planted.y, sample_weight=weights)
    check(model, planted.X)
    check(CSalt(random_state=0).fit(planted.X, planted.y, groups=np.arange(110) // 3), planted.X)
    check(CSalt(random_state=0, algorithm="paper", max_iter=50).fit(planted.X, planted.y), planted.X)
    for method in (Primp(random_state=0), Asso(), DiffNorm()):
        check(method.fit(planted.X, planted.y), planted.X)
    assert swap(planted.X, random_state=0).sum() == planted.X.sum()


@pytest.mark.slow
def test_fits_side_by_side():
    planted = make_planted(200, [90, 80], rank=5, noise=0.05, random_state=0)

    def fit(seed):
        return CSalt(random_state=seed, n_jobs=2).fit(planted.X, planted.y).components_

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(fit, [7] * 3))
    assert all((one == found[0]).all() for one in found)


@pytest.mark.slow
def test_a_forked_process_leaves_the_threads_of_a_search_alone():
    bits = BitMatrix(draw(200, 30), [slice(0, 200)])
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 1), n_threads=2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        del local
        gc.collect()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert local.length > 0


@pytest.mark.slow
def test_a_fit_that_is_interrupted_can_be_made_again(interruptible):
    planted = make_planted(400, [400, 300], rank=12, noise=0.2, random_state=0)
    model = CSalt(random_state=0, n_restarts=50)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X, planted.y)
    timer.join()
    check(CSalt(random_state=0).fit(planted.X[:60], planted.y[:60]), planted.X[:60])
