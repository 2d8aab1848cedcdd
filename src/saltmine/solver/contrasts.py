"""Items whose combination classes use differently, whether or not the items go together.

A beam search for sets of items: from pairs, the item that makes the difference between a class and the others clearest
joins, while it pays for its choice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Words
from saltmine.solver.kernels import Data


class Contrast(NamedTuple):
    """A set of items, and the evidence that a class uses it more than the others."""

    items: Bools  # (n,)
    evidence: float


def find_contrasts(data: Data, columns: Words, least: float, n_threads: int = 1) -> list[Contrast]:
    """Return sets of items that a class uses more than the others, the clearest first.

    ``columns``, (n, W), are the cells to look at, ``least`` is the evidence that a set must show.
    """
    evidence, sizes, numbers = _core.find_contrasts(data, columns, least, n_threads)
    found = list[Contrast]()
    for shown, of_set in zip(evidence.tolist(), np.split(numbers, np.cumsum(sizes)[:-1]), strict=False):
        items = np.zeros(len(columns), dtype=bool)
        items[of_set] = True
        found.append(Contrast(items, shown))
    return found
