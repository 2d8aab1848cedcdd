"""Calls of the compiled core: what does not fit is refused in words, and a user can interrupt."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import saltmine
from saltmine import _core
from saltmine.mdl.code_length import make_costs


def keys(count=3):
    return np.zeros((count, 2), dtype=np.uint64)


def places(count=3):
    return np.zeros(count, dtype=np.int64)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((keys().astype(np.int64), places(), places()), id="another type"),
        pytest.param((keys().astype(">u8"), places(), places()), id="bytes in another order"),
        pytest.param((keys(6)[::2], places(), places()), id="every second row"),
        pytest.param((np.asfortranarray(keys()), places(), places()), id="in the order of Fortran"),
        pytest.param((keys(), places().astype(np.int32), places()), id="smaller numbers"),
        pytest.param((keys(), places()[None], places()), id="too many dimensions"),
        pytest.param((keys(), places(), read_only(places())), id="read-only, but written to"),
        pytest.param((keys(), places(), 3), id="a number"),
        pytest.param((keys(), places()), id="too few"),
        pytest.param((keys(), places(), places(), places()), id="too many"),
        pytest.param((keys(), places(), None), id="nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments):
    with pytest.raises(TypeError, match=r"number_keys\(\): incompatible function arguments"):
        _core.number_keys(*arguments)


def test_arrays_that_are_read_may_be_read_only():
    number, first = places(), places()
    assert _core.number_keys(read_only(keys()), number, first) == 1


def test_other_threads_run_during_a_call():
    starts, items = np.arange(10_001), np.zeros(10_000, dtype=np.int64)
    done = threading.Event()
    trading = threading.Thread(target=lambda: (_core.trade_rows(starts, items, 1, 3000, 0), done.set()))
    trading.start()
    steps = 0
    while not done.wait(0.001):
        steps += 1
    trading.join()
    assert steps > 3


def test_structs_are_tuples_with_their_fields():
    costs = make_costs(np.array([2, 3]), [5])
    assert _core.code_of_errors(costs, np.array([1, 0]), 0.0, 0.0, 0.0)[0] == 1.0
    for wrong in (costs[:-1], (*costs, 1), list(costs), (costs.codes, *costs[1:])):
        with pytest.raises(TypeError, match="incompatible"):
            _core.code_of_errors(wrong, np.array([1, 0]), 0.0, 0.0, 0.0)


def test_results_belong_to_python():
    found = _core.join_strata(np.array([3, 4, 5]))
    assert (found.dtype, found.flags.writeable) == (np.int64, True)
    found += 1
    assert _core.join_strata(np.zeros(0, dtype=np.int64)).shape == (0,)


def test_failures_are_exceptions():
    with pytest.raises(ValueError, match="counts of different numbers of groups"):
        _core.log_p_value(*[np.ones(k, dtype=np.int64) for k in (1, 1, 1, 2)])
    with pytest.raises(IndexError):
        _core.Encoder(1).set_code_table(1, np.ones((1, 1), dtype=bool), np.ones(1), np.ones(1))
    with pytest.raises(MemoryError):
        _core.Encoder(2**58)


def trade_for_ever():
    rows = 1000
    _core.trade_rows(np.arange(rows + 1), np.zeros(rows, dtype=np.int64), 1, 10**9, 0)


def test_a_call_can_be_interrupted(interruptible):
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        trade_for_ever()
    assert time.perf_counter() - begin < 30
    timer.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers of the system here")
def test_what_a_signal_handler_raises_is_raised_and_others_go_on():
    calls = []

    def handle(*_):
        calls.append(1)
        if len(calls) == 3:
            raise TimeoutError("third time")

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeoutError, match="third time"):
            trade_for_ever()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) == 3


def unaligned(values):
    buffer = np.zeros(values.nbytes + 1, dtype=np.uint8)
    moved = buffer[1:].view(values.dtype).reshape(values.shape)
    moved[:] = values
    assert not moved.flags.aligned
    return moved


def test_arrays_that_are_not_aligned_are_copied_if_they_are_only_read():
    words = np.array([3, 4, 5])
    assert _core.join_strata(unaligned(words)).tolist() == _core.join_strata(words).tolist()


def test_arrays_that_are_not_aligned_are_refused_if_they_are_written_to():
    keys = unaligned(np.zeros((2, 2), dtype=np.uint64))
    dense = np.ones((1, 2), dtype=bool)
    with pytest.raises(TypeError, match="incompatible"):
        _core.add_dense(dense, np.ones((1, 2), dtype=np.uint64), keys)


def test_a_missing_core_is_said(monkeypatch):
    monkeypatch.setattr(saltmine, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"compiled core of saltmine is missing: install saltmine again, as by"):
        saltmine.__getattr__("_core")
