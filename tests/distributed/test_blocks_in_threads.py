"""Blocks that several threads of this process make."""

import threading

import pytest

from saltmine.data.threads import ThreadTeam
from saltmine.distributed.executor import open_executor


def numbers_of(make, sources, n_threads):
    with ThreadTeam(n_threads) as team, open_executor(make, sources, None, team) as executor:
        return executor.query(lambda block: block)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_blocks_are_in_the_order_of_their_sources(n_threads):
    assert numbers_of(lambda source: 10 * source, iter(range(12)), n_threads) == list(range(0, 120, 10))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_after_a_failure_no_further_blocks_are_made(n_threads, problem):
    """The first block fails; the others wait for that, so that none can have been made before."""
    failed, taken = threading.Event(), []

    def make(source):
        taken.append(source)
        if source == 0:
            failed.set()
            raise problem("stop")
        failed.wait(10)
        return source

    with pytest.raises(problem, match="stop"):
        numbers_of(make, iter(range(100)), n_threads)
    assert len(taken) <= 2 * n_threads
