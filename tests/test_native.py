"""Calls of the compiled library: what does not fit is refused in words, and a user can interrupt."""

import gc
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from native import build
from saltmine import native
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.solver.local_search import LocalSearch

SOURCES = Path(build.__file__).parent
# Functions that return all that a function of the library can, or fail in all ways.
FUNCTIONS = """
#include "bind.hpp"

using namespace saltmine;

struct Pair { Array<const Int> first; double second; };
template <> struct saltmine::From<Pair> {
    static Pair take(Arguments& from) {
        auto first = From<Array<const Int>>::take(from);
        return {first, From<double>::take(from)};
    }
};
struct Counter { Int count = 0; };
static Int n_counters = 0;

void nothing() {}
Int add(Int a, Int b) { return a + b; }
double half(double a) { return a / 2; }
bool negate(bool a) { return !a; }
template <class T> std::vector<T> twice(Array<const T> a) {
    std::vector<T> found(a.begin(), a.end());
    for (T& each : found) each = static_cast<T>(each + each);
    return found;
}
std::vector<double> twice_d(Array<const double> a) { return twice(a); }
std::vector<float> twice_f(Array<const float> a) { return twice(a); }
std::vector<Int> twice_l(Array<const Int> a) { return twice(a); }
std::vector<Word> twice_L(Array<const Word> a) { return twice(a); }
std::vector<std::int32_t> twice_i(Array<const std::int32_t> a) { return twice(a); }
std::vector<std::uint8_t> twice_B(Array<const std::uint8_t> a) { return twice(a); }
std::vector<std::int8_t> twice_b(Array<const std::int8_t> a) { return twice(a); }
std::tuple<std::vector<Int>, Int, double, bool> several(Pair pair) {
    return {twice(pair.first), pair.first.size(), pair.second, true};
}
Int last_of_four(View<const Int, 4> a) { return a(a.shape[0] - 1, a.shape[1] - 1, a.shape[2] - 1, a.shape[3] - 1); }
void no_memory() { throw std::bad_alloc(); }
void broken() { throw std::runtime_error("the cause"); }
Counter* new_counter() { ++n_counters; return new Counter; }
Int count_on(Counter* counter) { return ++counter->count; }
void free_counter(Counter* counter) { --n_counters; delete counter; }
Int live_counters() { return n_counters; }
"""
STARTS = ("void ", "Int ", "double ", "bool ", "std::vector", "std::tuple", "Counter* ")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Build a library of these functions, with what is tested: the way that calls go."""
    compiler = build.find_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("library")
    names = [line.split("(")[0].split()[-1].lstrip("*") for line in FUNCTIONS.splitlines() if line.startswith(STARTS)]
    exports = "".join(f"SALTMINE_EXPORT({name})\n" for name in names)
    unit, made = folder / "functions.cpp", folder / "functions.so"
    unit.write_text(FUNCTIONS + exports)
    units = [str(SOURCES / "library.cpp"), str(unit)]
    subprocess.run(
        [*compiler, "-std=c++17", "-fPIC", "-shared", "-I", str(SOURCES), *units, "-o", str(made)], check=True
    )
    return native._load(made)


@pytest.fixture
def functions(library, monkeypatch):
    """Return the functions of that library by their names."""
    monkeypatch.setattr(native, "_library", lambda: library)
    return native._make


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


def test_numbers_come_back(functions):
    assert functions("nothing")() is None
    assert functions("add")(3, np.int64(-5)) == -2
    assert functions("half")(np.float64(-3.0)) == -1.5
    assert functions("negate")(False) is True
    assert functions("negate")(np.True_) is False


@pytest.mark.parametrize("letter", "dflLiBb")
def test_arrays_come_back_in_their_type(functions, letter):
    given = np.arange(5).astype(letter)
    found = functions(f"twice_{letter}")(given)
    assert found.dtype == given.dtype
    assert found.tolist() == (2 * given).tolist()
    found += 1  # it belongs to Python
    assert functions(f"twice_{letter}")(given[:0]).shape == (0,)


def test_tuples_are_taken_field_by_field_and_come_back(functions):
    doubled, size, real, truth = functions("several")((np.arange(3), 0.25))
    assert (doubled.tolist(), size, real, truth) == ([0, 2, 4], 3, 0.25, True)
    assert functions("last_of_four")(np.arange(120).reshape(2, 3, 4, 5)) == 119


def test_failures_are_exceptions(functions):
    with pytest.raises(MemoryError):
        functions("no_memory")()
    with pytest.raises(RuntimeError, match="broken: the cause"):
        functions("broken")()
    with pytest.raises(TypeError, match="add cannot take a str"):
        functions("add")(1, "2")
    with pytest.raises(TypeError, match="add: argument 2 is of kind D, not I"):
        functions("add")(1, 2.0)


def test_objects_are_freed_with_their_handle(functions):
    handle = native.Handle(functions("new_counter")(), functions("free_counter"))
    assert [functions("count_on")(handle) for _ in range(3)] == [1, 2, 3]
    assert functions("live_counters")() == 1
    del handle
    gc.collect()
    assert functions("live_counters")() == 0


def test_objects_with_threads_are_left_alone_in_a_forked_process():
    bits = BitMatrix(np.eye(200, 30, dtype=bool), [slice(0, 200)])
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 1), n_threads=2)
    # Whatever happens to the forked process, it ends.
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        del local
        gc.collect()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert local.length > 0


def test_a_library_that_is_missing_or_broken_is_an_import_error(tmp_path):
    with pytest.raises(ImportError, match=r"is missing: install saltmine again, or run `python native/build.py`"):
        native._load(tmp_path / "_native.so")
    (tmp_path / "_native.so").write_text("no library")
    with pytest.raises(ImportError, match=r"cannot be loaded: install saltmine again on this machine"):
        native._load(tmp_path / "_native.so")


def test_a_library_for_another_processor_is_an_import_error(tmp_path):
    compiler = build.find_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    other = 'extern "C" const char* saltmine_missing() { return "AVX-9"; } extern "C" void saltmine_failure() {}'
    (tmp_path / "other.cpp").write_text(other)
    made = tmp_path / "other.so"
    subprocess.run([*compiler, "-fPIC", "-shared", str(tmp_path / "other.cpp"), "-o", str(made)], check=True)
    with pytest.raises(ImportError, match="built for a processor with AVX-9: install it again on this machine"):
        native._load(made)


def trade_for_ever():
    rows = 1000
    native.trade_rows(np.arange(rows + 1), np.zeros(rows, dtype=np.int64), 1, 10**9, 0)


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
    assert native.join_strata(unaligned(words)).tolist() == native.join_strata(words).tolist()


def test_arrays_that_are_not_aligned_are_refused_if_they_are_written_to():
    keys = unaligned(np.zeros((2, 2), dtype=np.uint64))
    dense = np.ones((1, 2), dtype=bool)
    with pytest.raises(TypeError, match="may not be written to"):
        native.add_dense(dense, np.ones((1, 2), dtype=np.uint64), keys)
