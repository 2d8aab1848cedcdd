"""A local search goes on from a state exactly as if it had never stopped."""

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel
from saltmine.deadline import Deadline, Looks
from saltmine.solver.local_search import LocalSearch
from tests.solver.test_local_search import planted_case, random_case

MOVES = ("refit", "merge", "split", "drop_insignificant", "add_typical", "refit", "merge", "add_contrasts")


def new_search(bits, **settings):
    return LocalSearch(bits, BinaryModel.empty(*bits.shape, len(bits.blocks)), **settings)


def copy_of(search, **settings):
    copy = new_search(search.bits, **settings)
    copy.restore(search.state())
    return copy


def assert_same(one, other):
    np.testing.assert_array_equal(one.state(), other.state())
    assert one.length == other.length
    np.testing.assert_array_equal(one.errors, other.errors)
    np.testing.assert_array_equal(one.background, other.background)
    np.testing.assert_array_equal(one.used, other.used)
    np.testing.assert_array_equal(one._open_ones(), other._open_ones())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sizes", [(205,), (70, 5, 130), (3,) * 70])
def test_it_goes_on_as_if_it_had_never_stopped(seed, sizes):
    bits, model, _ = random_case(seed, sizes=sizes, n=20, rank=6)
    search = new_search(bits)
    search.add(model)
    for move in MOVES:
        other = copy_of(search)
        assert_same(search, other)
        assert getattr(search, move)() == getattr(other, move)()
        assert_same(search, other)


def test_what_was_tried_in_vain_is_not_tried_again():
    bits, truth = planted_case()
    search = new_search(bits)
    search.add(truth)
    search.merge()
    search.split()
    before = search.state()
    other = copy_of(search)
    other.merge()
    other.split()
    np.testing.assert_array_equal(other.state(), before)


def test_growing_goes_on_with_the_same_random_numbers():
    bits, _ = planted_case(seed=3, noise=0.1)
    search, rngs = new_search(bits), [np.random.default_rng(5) for _ in range(2)]
    search.grow_from_residual(50, rngs[0])
    other = copy_of(search)
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    search.grow_from_residual(50, rngs[0])
    other.grow_from_residual(50, rngs[1])
    assert_same(search, other)


def test_a_state_may_go_on_with_another_number_of_threads():
    bits, truth = planted_case(seed=1, noise=0.1)
    search = new_search(bits)
    search.add(truth)
    search.refit(trim=True)
    other = copy_of(search, n_threads=3)
    for move in ("merge", "split", "refit", "drop_insignificant"):
        getattr(search, move)()
        getattr(other, move)()
        assert search.length == other.length
    found, same = search.model(), other.model()
    for part in ("X", "V", "Y"):
        np.testing.assert_array_equal(getattr(found, part), getattr(same, part))


def test_only_a_search_without_patterns_takes_a_state():
    bits, truth = planted_case()
    search = new_search(bits)
    search.add(truth)
    with pytest.raises(ValueError, match=r"^This is not the state of a search in this data"):
        search.restore(search.state())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_state_of_other_words_harms_the_search(seed):
    bits, truth = planted_case()
    search = new_search(bits)
    search.add(truth)
    search.merge()
    state, rng = search.state(), np.random.default_rng(seed)
    values, refused = np.array([0, 1, 7, 2**31, 2**63, 2**64 - 1], dtype=np.uint64), 0
    for _ in range(300):
        changed = state.copy()
        if rng.random() < 0.3:
            changed = changed[: rng.integers(len(state))]
        else:
            changed[rng.integers(60)] = rng.choice(values)
        other = new_search(bits)
        try:
            other.restore(changed)
        except ValueError:
            refused += 1
        else:
            other.refit()
    assert refused > 50


@pytest.mark.parametrize("looks", [*range(12), 20, 50, 100, 300])
def test_moves_that_end_early_leave_a_consistent_model(looks):
    bits, truth = planted_case(seed=2, noise=0.15)
    search = new_search(bits, deadline=Deadline(looks, Looks()))
    search.add(truth)
    before = search.length
    search.refit(trim=True)
    search.merge()
    search.split()
    search.grow_from_residual(30, np.random.default_rng(0))
    fresh = new_search(bits)
    fresh.add(search.model())
    search.update()
    assert search.length == pytest.approx(fresh.length, abs=1e-6)
    assert looks < 300 or search.length < before


def test_moves_without_time_change_nothing():
    bits, truth = planted_case(seed=2, noise=0.15)
    search = new_search(bits, deadline=Deadline(0, Looks()))
    search.add(truth)
    before = search.state()
    search.refit()
    assert not search.merge()
    assert not search.split()
    np.testing.assert_array_equal(search.state(), before)
    assert search.deadline.was_over
