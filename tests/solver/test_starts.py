"""Several starts of a search, side by side."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from saltmine.data.bits import BitMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import as_binary
from saltmine.datasets import make_planted
from saltmine.deadline import Deadline
from saltmine.solver.relaxed.operator import make_operator
from saltmine.solver.solution import SearchSettings
from saltmine.solver.starts import Start, count_starts, run_starts

SEEDS = [0, 12, 13, 14, 15]


@pytest.fixture(scope="module")
def data():
    planted = make_planted(100, [70, 60], rank=6, noise=0.1, random_state=1)
    order = np.argsort(planted.y, kind="stable")
    return as_binary(planted.X[order], None), BitMatrix(planted.X[order], [slice(0, 70), slice(70, 130)])


def settings_of(team, **options):
    def operator(matrix, blocks, weights):
        return make_operator(matrix, blocks, team, np.float32, weights, "auto")

    return SearchSettings(rng=np.random.default_rng(SEEDS[0]), team=team, make_operator=operator, **options)


def run(data, n_threads, seeds=SEEDS, **options):
    with ThreadTeam(n_threads) as team:
        settings = settings_of(team, **options)
        return run_starts(seeds[1:], settings.task(*data), settings)


def test_fewer_starts_for_larger_data():
    counts = [count_starts(200, n, 2) for n in (10, 100, 1000, 10_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 1


@pytest.mark.slow
def test_starts_differ_and_do_not_depend_on_the_number_of_threads(data):
    one, *others = (run(data, n_threads) for n_threads in (1, 2, 3, 7))
    assert len(one) == len(SEEDS)
    states = [start.local.state() for start in one]
    assert len({state.tobytes() for state in states}) > 1
    for starts_ in others:
        assert [start.history for start in starts_] == [start.history for start in one]
        for start, state in zip(starts_, states, strict=True):
            np.testing.assert_array_equal(start.local.state(), state)


def test_they_run_in_threads_of_their_own_the_first_in_the_one_that_asks(data, monkeypatch):
    seen, begin = [], Start.begin
    monkeypatch.setattr(Start, "begin", lambda self, *args: seen.append(threading.get_ident()) or begin(self, *args))
    run(data, 2, SEEDS[:3])
    assert len(seen) == 3
    assert len(set(seen)) == 2
    assert threading.get_ident() in seen
    seen.clear()
    run(data, 1, SEEDS[:3])
    assert set(seen) == {threading.get_ident()}


def test_only_the_asking_thread_is_told_and_the_progress_never_falls(data):
    told, threads = [], set()

    def on_refine(rank, length, done):
        told.append(done)
        threads.add(threading.get_ident())

    run(data, 2, SEEDS[:4], on_refine=on_refine)
    assert threads == {threading.get_ident()}
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 0.2


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_where_the_spectrum_shows_nothing_one_start_is_enough(n_threads):
    X = np.random.default_rng(0).random((20, 8)) < 0.5
    found = run((as_binary(X, None), BitMatrix(X, [slice(0, 10), slice(10, 20)])), n_threads)
    assert [start.differs for start in found] == [False]


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_an_interrupted_or_failed_start_ends_the_others(data, monkeypatch, failing, problem):
    cancelled, begin, cancel = [], Start.begin, Deadline.cancel
    monkeypatch.setattr(Deadline, "cancel", lambda self: cancelled.append(self) or cancel(self))

    def fail(self, *args):
        if self.settings.rng.bit_generator.seed_seq.entropy == SEEDS[failing]:
            raise problem("stop")
        return begin(self, *args)

    monkeypatch.setattr(Start, "begin", fail)
    with pytest.raises(problem, match="stop"):
        run(data, 2)
    assert len(set(cancelled)) >= 2
    assert all(deadline.is_over() for deadline in cancelled)
    assert not any(thread.name.startswith("saltmine-start") for thread in threading.enumerate())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_without_time_there_is_the_first_as_far_as_it_came(data, n_threads):
    with ThreadTeam(n_threads) as team:
        settings = settings_of(team, deadline=Deadline(0))
        found = run_starts(SEEDS[1:], settings.task(*data), settings)
    assert [start.ended for start in found] == [False]
    assert settings.deadline.was_over


@pytest.mark.slow
def test_starts_that_take_longer_than_there_is_time_are_left_out(data, monkeypatch):
    """The clock stands still but for the third start, which needs all of it."""
    now, begin = [0.0], Start.begin

    def slow(self, *args):
        if self.settings.rng.bit_generator.seed_seq.entropy == SEEDS[2]:
            now[0] += 100
        return begin(self, *args)

    monkeypatch.setattr(Start, "begin", slow)
    with ThreadTeam(1) as team:
        settings = replace(settings_of(team), deadline=Deadline(50, lambda: now[0]))
        found = run_starts(SEEDS[1:], settings.task(*data), settings)
    assert len(found) == 2
    assert settings.deadline.was_over


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("failing", [1, 2])
def test_a_start_that_cannot_be_made_ends_the_others(data, monkeypatch, n_threads, failing):
    made, make = [], Start.__init__

    def fail(self, k, *args):
        made.append(k)
        if k == failing:
            raise MemoryError("no room")
        make(self, k, *args)

    monkeypatch.setattr(Start, "__init__", fail)
    with pytest.raises(MemoryError, match="no room"):
        run(data, n_threads)
    assert made == list(range(failing + 1))
