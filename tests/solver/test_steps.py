"""Steps of a search: repeated after an interruption, and cut short by a deadline."""

import numpy as np
import pytest

from saltmine import checkpoint
from saltmine.checkpoint import Checkpoint
from saltmine.deadline import Deadline, Looks, TimeOver
from saltmine.solver.steps import Steps


@pytest.fixture(autouse=True)
def always_keep(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)


class Sum:
    """A search that adds up numbers and counts how often it did."""

    def __init__(self, part, deadline=None):
        self.total, self.calls = 0, 0
        self.steps = Steps(self, part, deadline or Deadline())

    def state(self):
        return {"total": self.total}

    def restore(self, state):
        self.total = state["total"]

    def add(self, number):
        self.total += number
        self.calls += 1
        return self.total > 5

    def run(self, numbers):
        return [self.steps.take(lambda number=number: self.add(number)) for number in numbers]


def part(folder):
    return Checkpoint(folder / "fit.ckpt", {}, {}).part("search")


def test_without_a_checkpoint_all_steps_are_taken():
    search = Sum(None)
    assert search.run([1, 2, 3]) == [False, False, True]
    assert search.calls == 3


@pytest.mark.parametrize("done", range(5))
def test_steps_that_were_taken_before_give_their_answer_only(tmp_path, done):
    Sum(part(tmp_path)).run([1, 2, 3, 4][:done])
    again = Sum(part(tmp_path))
    assert again.run([1, 2, 3, 4]) == [False, False, True, True]
    assert (again.total, again.calls) == (10, 4 - done)


def test_it_says_whether_it_repeats_steps(tmp_path):
    Sum(part(tmp_path)).run([1, 2])
    again = Sum(part(tmp_path))
    seen = []
    for number in (1, 2, 3):
        seen.append(again.steps.are_repeated)
        again.run([number])
    assert seen == [True, True, False]


def test_no_step_begins_when_the_time_is_over(tmp_path):
    deadline = Deadline(3, Looks())
    search = Sum(part(tmp_path), deadline)
    with pytest.raises(TimeOver):
        search.run([1] * 10)
    assert search.calls < 10
    assert deadline.was_over


def test_a_step_that_was_cut_short_is_taken_again_as_a_whole(tmp_path):
    deadline = Deadline(4, Looks())
    search = Sum(part(tmp_path), deadline)
    search.run([1])
    with pytest.raises(TimeOver):
        # It uses up the looks, as moves do.
        search.steps.take(lambda: [deadline.is_over() for _ in range(10)] and search.add(100))
    again = Sum(part(tmp_path))
    again.run([1, 2])
    assert again.total == 3


def test_however_short_a_run_was_the_steps_before_the_cut_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 1e9)
    monkeypatch.setattr(checkpoint, "HELD_SHARE", 0.0)
    for done in (2, 4, 6):
        search = Sum(part(tmp_path), Deadline(5, Looks()))
        with pytest.raises(TimeOver):
            search.run([1] * 9)
        assert len(part(tmp_path).state["answers"]) == done
        assert part(tmp_path).state["state"] == {"total": done}


def test_states_are_not_changed_by_later_steps(tmp_path):
    class Counts(Sum):
        def state(self):
            return {"counts": counts}

    counts = np.zeros(2)
    whole = Checkpoint(tmp_path / "fit.ckpt", {}, {})
    search = Counts(whole.part("one"))
    search.run([1])
    counts += 1
    whole.part("two").keep(dict, wait=0)
    again = Checkpoint(tmp_path / "fit.ckpt", {}, {}).part("one")
    assert again.state["state"]["counts"].tolist() == [0, 0]


def test_a_step_that_would_take_too_long_does_not_begin():
    search = Sum(None, Deadline(1000, Looks()))
    with pytest.raises(TimeOver):
        search.steps.take(lambda: search.add(1), seconds=2000)
    assert search.calls == 0


def test_the_last_state_is_kept_once(tmp_path):
    search = Sum(part(tmp_path))
    search.run([1, 2])
    search.steps.keep()
    before = (tmp_path / "fit.ckpt").stat().st_mtime_ns
    again = Sum(part(tmp_path))
    opened = (tmp_path / "fit.ckpt").stat().st_mtime_ns
    assert opened >= before
    again.run([1, 2])
    again.steps.keep()
    assert (tmp_path / "fit.ckpt").stat().st_mtime_ns == opened
