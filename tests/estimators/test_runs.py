"""Runs of a fit: seeds, threads, restarts, ranks, progress and interruption."""

import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from saltmine import CSalt, Primp
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.metrics import f_measure
from saltmine.progress import Progress
from tests.helpers.models import RESULTS, assert_same_model

# ---------------------------------------------------------------- search


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_whatever_the_threads():
    # Large enough for BLAS to sum in another order when it has another number of threads.
    planted = make_planted(500, [400, 400], rank=12, random_state=0)
    models = []
    for n_threads in (1, 3):
        with threadpool_limits(n_threads, user_api="blas"):
            model = CSalt(random_state=4, rank_step=20, max_rank=20, max_iter=60)
            models.append(model.fit(planted.X, planted.y))
    assert_same_model(*models)


@pytest.mark.slow
def test_fits_at_the_same_time_do_not_disturb_each_other_or_blas(planted):
    def blas_threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = blas_threads()
    inside = []
    quick = {"max_iter": 150, "max_rank": 5, "callback": lambda now: inside.append(max(blas_threads()))}
    alone = [CSalt(random_state=seed, **quick).fit(planted.X, planted.y) for seed in range(2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda seed: CSalt(random_state=seed, **quick).fit(planted.X, planted.y), range(2)))
    for one, two in zip(alone, together, strict=True):
        assert_same_model(one, two)
    assert set(inside) == {1}
    assert blas_threads() == before


def test_a_limit_held_by_another_thread_is_overcome_or_said():
    ready, over = threading.Event(), threading.Event()

    def hold():
        with threadpool_limits(2, user_api="blas"):
            ready.set()
            over.wait()

    other = threading.Thread(target=hold)
    other.start()
    ready.wait()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with ThreadTeam():
                most = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    finally:
        over.set()
        other.join()
    told = any("Another thread controls the threads of BLAS" in str(warning.message) for warning in caught)
    assert told == (most > 1)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_restarts_do_not_depend_on_the_user_s_joblib_settings(planted, backend):
    quick = {"max_iter": 50, "max_rank": 3, "random_state": 0, "n_restarts": 2}
    expected = CSalt(**quick).fit(planted.X, planted.y)
    with parallel_config(backend):
        assert_same_model(CSalt(n_jobs=2, **quick).fit(planted.X, planted.y), expected)


@pytest.mark.slow
def test_another_seed_starts_elsewhere(planted):
    one, two = (CSalt(random_state=seed, max_iter=50).fit(planted.X, planted.y) for seed in (1, 2))
    assert one.history_[0] != two.history_[0]


@pytest.mark.slow
def test_restarts_keep_the_lowest_description_length(planted):
    # The paper's algorithm, whose starts end in different places.
    quick = {"algorithm": "paper", "max_iter": 200, "max_rank": 5}
    several = CSalt(random_state=0, n_restarts=3, **quick).fit(planted.X, planted.y)
    lengths = []
    for skipped in range(3):
        # The k-th restart alone: a generator whose next draw is its seed.
        state = np.random.RandomState(0)
        state.randint(np.iinfo(np.int32).max, size=skipped)
        lengths.append(CSalt(random_state=state, **quick).fit(planted.X, planted.y).description_length_)
    assert several.description_length_ == min(lengths)
    assert len(set(lengths)) > 1


@pytest.mark.slow
def test_jobs_do_not_change_the_answer(planted):
    quick = {"max_iter": 150, "max_rank": 5, "random_state": 0, "n_restarts": 3}
    assert_same_model(
        CSalt(n_jobs=1, **quick).fit(planted.X, planted.y), CSalt(n_jobs=2, **quick).fit(planted.X, planted.y)
    )


@pytest.mark.slow
@pytest.mark.parametrize("max_rank", [1, 12])
def test_max_rank_limits_the_number_of_patterns(planted, max_rank):
    ranks = []
    settings = {"algorithm": "paper", "max_rank": max_rank, "max_iter": 100, "random_state": 0}
    model = CSalt(callback=lambda now: ranks.append(now.rank), **settings)
    model.fit(planted.X, planted.y)
    assert model.n_components_ <= max_rank
    assert max(ranks) <= max_rank
    many = CSalt(max_rank=max_rank, random_state=0).fit(planted.X, planted.y)
    assert many.n_components_ <= max_rank


@pytest.mark.slow
def test_primp_takes_labels_for_reporting_only(planted):
    plain = Primp(random_state=0).fit(planted.X)
    labelled = Primp(random_state=0).fit(planted.X, np.array(["a", "b"])[planted.y])
    np.testing.assert_array_equal(plain.components_, labelled.components_)
    np.testing.assert_array_equal(plain.usage_, labelled.usage_)
    assert plain.description_length_ == labelled.description_length_
    assert labelled.classes_.tolist() == ["a", "b"]
    assert labelled.alterations_.shape == (2, *labelled.components_.shape)
    assert not labelled.alterations_.any()
    np.testing.assert_array_equal(labelled.usage_counts_.sum(axis=0), plain.usage_counts_[0])
    np.testing.assert_array_equal(plain.transform(planted.X), labelled.transform(planted.X))
    assert f_measure(planted, labelled) == f_measure(planted, plain) > 0.9


# ---------------------------------------------------------------- interruption and progress


class Interrupt:
    """Send the process a real Ctrl-C at the n-th check."""

    def __init__(self, at):
        self.left = at

    def __call__(self, now):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_an_unfitted_model_unfitted(planted):
    model = CSalt(random_state=0, callback=Interrupt(at=3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X, planted.y)
    assert [name for name in vars(model) if name.endswith("_")] == []


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_a_fitted_model_as_it_was(planted):
    model = CSalt(random_state=0, max_iter=100).fit(planted.X, planted.y)
    before = {name: getattr(model, name) for name in RESULTS}
    model.set_params(callback=Interrupt(at=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X[:, :50], planted.y)
    assert model.n_features_in_ == 100
    for name in RESULTS:
        assert getattr(model, name) is before[name]
    assert model.predict(planted.X).shape == (180,)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("ending", [Interrupt(at=8), lambda now: 1 / 0], ids=["Ctrl-C", "error"])
def test_no_restart_goes_on_after_the_fit_has_ended(planted, ending):
    calls = []

    def callback(now):
        calls.append(now)
        if len(calls) >= 8:
            ending(now) if len(calls) > 8 or not isinstance(ending, Interrupt) else signal.raise_signal(signal.SIGINT)

    model = CSalt(random_state=0, n_restarts=4, n_jobs=2, callback=callback)
    # A worker of Dask that lived in this process may still hold threads of its own.
    before = set(threading.enumerate())
    with pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
        model.fit(planted.X, planted.y)
    after = len(calls)
    time.sleep(0.3)
    assert len(calls) == after
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("saltmine")]
    assert not hasattr(model, "components_")


def test_failed_input_leaves_a_fitted_model_as_it_was(planted):
    model = CSalt(random_state=0, max_iter=100).fit(planted.X, planted.y)
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        model.fit(np.full((4, 3), 2), [0, 0, 1, 1])
    assert model.n_features_in_ == 100


@pytest.mark.slow
def test_callback_gets_rank_iteration_and_objective(planted):
    seen = []
    model = CSalt(algorithm="paper", random_state=0, max_iter=200, callback=seen.append).fit(planted.X, planted.y)
    assert all(isinstance(now, Progress) for now in seen)
    assert {now.rank for now in seen} == {10}
    assert [now.iteration for now in seen] == list(range(10, 201, 10))
    assert [now.objective for now in seen] == model.history_.tolist()


def test_callback_follows_the_relaxed_solve_and_the_refinement(planted):
    seen = []
    model = CSalt(random_state=0, callback=seen.append).fit(planted.X, planted.y)
    relaxed = [now for now in seen if now.phase == "relaxed"]
    refined = seen[len(relaxed) :]
    assert {now.phase for now in refined} == {"refinement"}
    # Of several starts only the first is followed.
    assert [now.objective for now in relaxed] == model.history_.tolist()[: len(relaxed)]
    assert [now.iteration for now in relaxed] == sorted({now.iteration for now in relaxed})
    assert relaxed[-1].iteration <= relaxed[-1].max_iter
    assert refined[-1].rank == model.n_components_


@pytest.mark.slow
def test_history_runs_through_all_ranks(planted):
    seen = []
    model = CSalt(algorithm="paper", random_state=0, rank_step=1, max_rank=3, max_iter=50, callback=seen.append)
    model.fit(planted.X, planted.y)
    assert sorted({now.rank for now in seen}) == [1, 2, 3]
    assert [now.objective for now in seen] == model.history_.tolist()
    assert model.n_iter_ == 150


@pytest.mark.slow
def test_verbose_shows_a_bar_on_standard_error_only(planted, capfd):
    CSalt(random_state=0, max_iter=50, n_restarts=2, verbose=1).fit(planted.X, planted.y)
    out, err = capfd.readouterr()
    assert out == ""
    for word in ("CSalt 1/2", "CSalt 2/2", "patterns", "done", "described in"):
        assert word in err


def test_quiet_by_default(planted, capfd):
    CSalt(random_state=0, max_iter=50).fit(planted.X, planted.y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_datasets_and_metrics_are_found_without_importing_them():
    code = "import saltmine; saltmine.metrics.f_measure; saltmine.datasets.make_planted; saltmine.nothing"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "module 'saltmine' has no attribute 'nothing'" in run.stderr


def test_importing_does_not_load_what_only_some_need():
    code = "import sys, saltmine; print([m for m in ('matplotlib', 'rich.progress') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
