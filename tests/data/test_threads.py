"""Threads: every panel is worked on once, errors come through, and BLAS gets back what it was allowed."""

import threading
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

from saltmine.data.threads import ThreadTeam, cut


def blas_threads():
    found = [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]
    return max(found, default=1)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 200), st.integers(0, 50), st.integers(1, 300))
def test_panels_are_about_equal_and_have_at_most_so_many_cells(length, other, cells):
    panels = cut(length, other, cells)
    assert panels[0].start == 0
    assert panels[-1].stop == length
    assert all(one.stop == two.start for one, two in pairwise(panels))
    sizes = [panel.stop - panel.start for panel in panels]
    assert max(sizes) - min(sizes) <= 1
    if length:
        assert min(sizes) >= 1
        # No more cells than asked for, but for the rounding to whole rows.
        assert max(sizes) == 1 or (max(sizes) - 1) * other < cells
        # And no more panels than that takes.
        assert len(panels) == 1 or (len(panels) - 1) * cells < length * other


def test_the_usual_panel_has_half_a_million_cells():
    assert len(cut(1 << 19, 1)) == 1
    assert len(cut(1 << 20, 1)) == 2
    assert len(cut((1 << 20) + 2, 1)) == 3


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("n_panels", [0, 1, 3, 50])
def test_every_panel_is_worked_on_once(n_threads, n_panels):
    done = np.zeros(n_panels, dtype=int)

    def work(number, step):
        done[number] += step

    with ThreadTeam(n_threads) as team:
        team.run(work, [(number, 1) for number in range(n_panels)])
        team.run(work, ((number, 10) for number in range(n_panels)))
    assert done.tolist() == [11] * n_panels


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_work_at_the_same_time(n_threads):
    together = threading.Barrier(n_threads, timeout=30)
    seen = set()

    def work():
        together.wait()
        seen.add(threading.get_ident())

    with ThreadTeam(n_threads) as team:
        team.run(work, [()] * n_threads)
    assert len(seen) == n_threads
    assert threading.get_ident() in seen


def test_one_thread_is_the_calling_one():
    seen = []
    with ThreadTeam(1) as team:
        team.run(lambda: seen.append(threading.get_ident()), [()] * 3)
    assert seen == [threading.get_ident()] * 3


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("bad", [0, 4])
def test_an_error_comes_through_and_ends_the_work(n_threads, bad):
    done = []

    def work(number):
        if number == bad:
            raise ValueError(f"panel {number}")
        done.append(number)

    with ThreadTeam(n_threads) as team:
        with pytest.raises(ValueError, match=f"panel {bad}"):
            team.run(work, [(number,) for number in range(5)])
        assert bad not in done
        # The team can be used again.
        done.clear()
        team.run(work, [(7,)])
    assert done == [7]


def test_threads_are_gone_when_the_team_is_closed():
    with ThreadTeam(3) as team:
        team.run(lambda number: None, [(number,) for number in range(9)])
        assert any(thread.name.startswith("saltmine") for thread in threading.enumerate())
    assert not any(thread.name.startswith("saltmine") for thread in threading.enumerate())


def test_blas_has_one_thread_inside_and_as_many_as_before_outside():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadTeam() as team:
            assert team.n_threads == before
            assert blas_threads() == 1
            with ThreadTeam(5) as inner:
                assert inner.n_threads == 5
                assert blas_threads() == 1
            assert blas_threads() == 1
        assert blas_threads() == before


def test_who_cannot_limit_blas_says_so():
    ready, over = threading.Event(), threading.Event()

    def hold():
        with threadpool_limits(2, user_api="blas"):
            ready.set()
            over.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait(30)
    try:
        if blas_threads() < 2:
            pytest.skip("BLAS has one thread on this machine")
        # Whether another thread may change the limit depends on the library; if it may, there is nothing to say.
        with pytest.warns(UserWarning, match="Another thread controls") if _is_held() else nullcontext(), ThreadTeam(1):
            pass
    finally:
        over.set()
        holder.join()


def _is_held():
    with threadpool_limits(1, user_api="blas"):
        return blas_threads() > 1
