"""What tests on Dask clusters share."""

from __future__ import annotations

import time


def actors(client, settle=20):
    """Return how many actors the workers hold, once none is left or some time is over."""
    deadline = time.monotonic() + settle
    while True:
        count = sum(client.run(lambda dask_worker: len(dask_worker.state.actors)).values())
        if not count or time.monotonic() > deadline:
            return count
        time.sleep(0.1)
