"""Calls of the compiled library: what does not fit is refused in words, and a user can interrupt."""

import threading

import numpy as np
import pytest

from saltmine import native


def keys(count=3):
    return np.zeros((count, 2), dtype=np.uint64)


def places(count=3):
    return np.zeros(count, dtype=np.int64)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((keys().astype(np.int64), places(), places()), "argument 1 is an array of i8, not u8"),
        ((keys().astype(">u8"), places(), places()), "argument 1 is not a plain array in C order"),
        ((keys(6)[::2], places(), places()), "argument 1 is not a plain array in C order"),
        ((np.asfortranarray(keys()), places(), places()), "argument 1 is not a plain array in C order"),
        ((keys(), places().astype(np.int32), places()), "argument 2 is an array of i4, not i8"),
        ((keys(), places()[None], places()), "argument 2 has another number of dimensions than 1"),
        ((keys(), places(), read_only(places())), "argument 3 may not be written to"),
        ((keys(), places(), 3), "argument 3 is of kind I, not A"),
        ((keys(), places()), "too few arguments"),
        ((keys(), places(), places(), places()), "too many arguments"),
        ((keys(), places(), None), "a NoneType"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        native.number_keys(*arguments)


def test_arrays_that_are_read_may_be_read_only():
    number, first = places(), places()
    assert native.number_keys(read_only(keys()), number, first) == 1


def test_a_function_that_is_missing_is_named():
    with pytest.raises(AttributeError, match=r"has no function no_such_thing: run `python native/build.py`"):
        native.no_such_thing()


def test_other_threads_run_during_a_call():
    starts, items = np.arange(10_001), np.zeros(10_000, dtype=np.int64)
    done = threading.Event()
    trading = threading.Thread(target=lambda: (native.trade_rows(starts, items, 1, 3000, 0), done.set()))
    trading.start()
    steps = 0
    while not done.wait(0.001):
        steps += 1
    trading.join()
    assert steps > 3
