"""The moment when a fit has to end, and the phases of what comes before."""

import pytest

from saltmine.deadline import Deadline, Looks, TimeOver


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_without_a_limit_it_is_never_over(clock):
    for deadline in (Deadline(None, clock), Deadline(float("inf"), clock)):
        clock.now += 1e12
        assert not deadline.is_over()
        assert deadline.left() == float("inf")
        assert deadline.spent() == 0
        assert deadline.for_loops() == (-1.0, -1)
        with deadline.phase(0.1):
            deadline.check()
        assert not deadline.was_over


def test_it_is_over_when_the_time_is(clock):
    deadline = Deadline(10, clock)
    clock.now = 9.9
    assert not deadline.is_over()
    assert deadline.is_over(seconds=0.2)
    clock.now = 10.0
    with pytest.raises(TimeOver):
        deadline.check()
    assert deadline.was_over


def test_what_comes_after_the_search_has_its_time(clock):
    deadline = Deadline(10, clock)
    deadline.reserve = 3.0
    clock.now = 6.0
    assert deadline.left() == pytest.approx(1.0)
    clock.now = 7.0
    assert deadline.is_over()


def test_time_is_set_aside_for_the_very_end(clock):
    deadline, short, unlimited = Deadline(10, clock), Deadline(3, clock), Deadline(None, clock)
    clock.now = 2.0
    assert deadline.elapsed() == 2
    deadline.set_aside(3.0)
    assert deadline.left() == pytest.approx(5.0)
    deadline.reserve = 1.0
    assert deadline.left() == pytest.approx(4.0)
    # Never more than half of what is left.
    short.set_aside(3.0)
    assert short.left() == pytest.approx(0.5)
    unlimited.set_aside(3.0)
    assert unlimited.left() == float("inf")


def test_a_run_that_another_goes_on_from_searches_half_of_the_time_after_reading(clock):
    deadline = Deadline(10, clock, resumable=True)
    clock.now = 6.0
    deadline.set_aside(9.0)
    deadline.reserve = 100.0
    assert deadline.left() == pytest.approx(2.0)


@pytest.mark.parametrize(("seconds", "size"), [(None, 1000), (10, 1000), (5, 500), (0.1, 200)])
def test_a_sample_is_as_small_as_the_time(clock, seconds, size):
    deadline = Deadline(seconds, clock)
    assert deadline.fit_sample(1000, per_second=100, least=200) == size
    assert deadline.was_short == (size < 1000)
    assert deadline.changed_nothing == (size == 1000)


def test_a_run_that_goes_on_has_the_sample_of_the_one_before(clock):
    deadline = Deadline(1, clock, resumable=True)
    assert deadline.fit_sample(1000, per_second=100, least=200) == 1000
    assert deadline.changed_nothing


def test_a_phase_has_a_share_of_the_time_left(clock):
    deadline, reached = Deadline(10, clock), []
    with deadline.phase(0.5):
        clock.now = 4.0
        deadline.check()
        with deadline.phase(0.5):
            assert deadline.left() == pytest.approx(0.5)
            clock.now = 4.6
            deadline.check()
            pytest.fail("the inner phase is over")
        reached.append("inner")
        assert deadline.left() == pytest.approx(0.4)
    reached.append("outer")
    assert deadline.left() == pytest.approx(5.4)
    assert reached == ["inner", "outer"]
    assert deadline.was_over


def test_a_phase_does_not_hide_other_errors(clock):
    deadline = Deadline(10, clock)
    with pytest.raises(KeyError), deadline.phase(0.5):
        raise KeyError
    assert deadline.left() == 10


def test_copies_end_at_the_same_time_and_have_their_own_phases(clock):
    deadline = Deadline(10, clock)
    clock.now = 5.0
    copy = deadline.copy()
    with copy.phase(0.5):
        assert copy.left() == pytest.approx(2.5)
        assert deadline.left() == pytest.approx(5)
    assert copy.spent() == pytest.approx(0.5)


def test_phases_of_a_fit_that_goes_on_have_all_of_the_time(clock):
    deadline = Deadline(10, clock, resumable=True).copy()
    with deadline.phase(0.1):
        clock.now = 9.0
        deadline.check()
        assert deadline.left() == pytest.approx(1.0)
        clock.now = 10.0
        deadline.check()
        pytest.fail("the time is over")
    assert deadline.was_over


def test_what_comes_after_a_search_that_goes_on_has_no_more_than_half_of_the_time(clock):
    deadline = Deadline(10, clock, resumable=True)
    deadline.reserve = 3.0
    assert deadline.left() == 7.0
    deadline.reserve = 30.0
    assert deadline.left() == 5.0


def test_loops_that_look_use_up_looks():
    deadline = Deadline(10, Looks())
    seconds, looks = deadline.for_loops()
    assert (seconds, looks) == (-1.0, 9)
    deadline.after_loops(False, looks - 4)
    assert deadline.left() == 4
    deadline.after_loops(True, 0)
    assert deadline.was_over
