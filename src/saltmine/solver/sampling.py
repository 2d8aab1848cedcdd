"""Samples that are drawn by content: the same columns, or rows, whatever their order and whatever the blocks.

A sample has so many copies of everything as its share of all copies, rounded up or down by a random number that is made
of its content and the seed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Floats, Indices, Ints
from saltmine.data.content_colours import mix
from saltmine.data.folding import Keys, group
from saltmine.solver.executor import BlockExecutor


class Sampled(Protocol):
    """A block that a sample can be drawn from."""

    def candidates(self, share: Any, seed: int, n_blocks: int) -> tuple[Keys, Floats]:
        """Return the keys of what may be in a sample, and the share of its copies that is."""

    def count_copies(self, keys: Keys) -> Ints:
        """Count the copies of each key here."""

    def sample(self, keys: Keys) -> Any:
        """Return what has these keys, which are all here."""


class Sample(NamedTuple):
    """Different things, sorted by their content, and how many copies of each are in the sample."""

    things: NDArray[Any]
    copies: Ints


def count_in_sample(keys: Keys, copies: Ints, share: Floats | float, seed: int) -> Ints:
    """Return how many copies are in a sample that has this share of all.

    Examples
    --------
    >>> keys = mix(np.arange(20_000, dtype=np.uint64).reshape(-1, 2))
    >>> counts = count_in_sample(keys, np.full(10_000, 3), 0.5, seed=0)
    >>> np.unique(counts).tolist(), bool(abs(counts.mean() - 1.5) < 0.02)
    ([1, 2], True)
    """
    drawn = (mix(keys ^ np.uint64(seed))[:, 0] >> np.uint64(11)) * 2.0**-53
    return np.floor(copies * share + drawn).astype(np.int64)


def find_candidates(keys: Keys, copies: Ints, share: Floats | float, seed: int, n_blocks: int) -> tuple[Keys, Floats]:
    """Return the keys of what may be in a sample, if no block has more copies of it than this one; and its share."""
    chosen = count_in_sample(keys, n_blocks * copies, share, seed) > 0
    return keys[chosen], np.broadcast_to(share, len(keys))[chosen]


def find(keys: Keys, among: Keys) -> Indices:
    """Return the places of keys among others, which are all different; -1 where they are not there.

    Examples
    --------
    >>> find(np.array([[3, 3], [1, 1]], dtype=np.uint64), np.array([[1, 1], [2, 2]], dtype=np.uint64)).tolist()
    [-1, 0]
    """
    number = group(np.concatenate([among, keys]))[0][len(among) :]
    return np.where(number < len(among), number, -1)


def draw(executor: BlockExecutor[Any], block: type[Sampled], share: Any, seed: int) -> Sample:
    """Draw a sample from all blocks, which are of this type; the share may be of many kinds."""
    parts = executor.query(block.candidates, share, seed, len(executor))
    keys, shares = (np.concatenate(part) for part in zip(*parts, strict=True))
    first = group(keys)[1]
    first = first[np.lexsort((keys[first, 1], keys[first, 0]))]
    keys, shares = keys[first], shares[first]
    here = np.stack(executor.query(block.count_copies, keys))
    copies = count_in_sample(keys, here.sum(axis=0), shares, seed)
    # The first block that has a thing gives it.
    source = np.where(copies > 0, (here > 0).argmax(axis=0), -1)
    own = [np.flatnonzero(source == number) for number in range(len(executor))]
    found = executor.query_each(block.sample, [(keys[of],) for of in own])
    order = np.argsort(np.concatenate(own))
    return Sample(np.concatenate(found)[order], copies[copies > 0])
