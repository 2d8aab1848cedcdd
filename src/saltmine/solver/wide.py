"""Searches on data with more items than a search can look at: on a sample of them, then on everything.

The search for patterns takes many looks at the data. A sample of the items shows who uses which pattern; given that,
every item of the whole is chosen on its own (`binary.extension`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, Layout, Words
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.data.weights import Weights
from saltmine.distributed.executor import Crew, LocalCrew
from saltmine.solver.item_block import ItemBlock, carried_model
from saltmine.solver.mdl_search import USUALLY_DONE, Settings, Solution, Task, saltmine, without_patterns
from saltmine.solver.relaxed.operator import Operator
from saltmine.solver.wide_extension import Extension, Start

# Items of a sample: so many cells, but neither too few to show anything nor more than the search can look at.
SAMPLE_CELLS, LEAST_ITEMS, MOST_ITEMS = 1 << 24, 2_000, 40_000
# Cells of a block that one thread works on.
BLOCK_CELLS = 1 << 21
# How much of the time is usually over after the relaxed solve and after the search on the sample.
STARTED, SEARCHED = USUALLY_DONE[0], 0.5

MakeOperator = Callable[[BinaryMatrix, list[slice], Weights], Operator]
Tell = Callable[[int, float, float], None]


def sample_size(n_rows: int) -> int:
    """Return the number of items that a search looks at, at most.

    Examples
    --------
    >>> sample_size(56), sample_size(2000), sample_size(10**6)
    (40000, 8388, 2000)
    """
    return int(np.clip(SAMPLE_CELLS // max(n_rows, 1), LEAST_ITEMS, MOST_ITEMS))


def is_wide(shape: tuple[int, int]) -> bool:
    """Say whether data has more items than a search looks at, and more than rows.

    Examples
    --------
    >>> is_wide((56, 3_700_000)), is_wide((1995, 4442)), is_wide((100_000, 60_000))
    (True, False, False)
    """
    m, n = shape
    return n > max(sample_size(m), m)


@dataclass(frozen=True)
class Rows:
    """The rows of the data: their classes, how many of the input stand behind each, and their places in words."""

    blocks: list[slice]
    weights: NDArray[np.int64]
    layout: Layout

    @classmethod
    def of(cls, bits: BitMatrix) -> Rows:
        """Return the rows of a matrix."""
        return cls(bits.blocks, bits.weights.rows, bits.layout)


def search_wide(
    sample: Words,
    rows: Rows,
    crew: Crew,
    settings: Settings,
    make_operator: MakeOperator,
    team: ThreadTeam,
    rng: np.random.Generator,
) -> tuple[Extension, Solution]:
    """Search a sample of the columns, (k, W), and extend what is found to all items of the crew.

    The solution has no items, but usage, length, score and judgement of the whole; the items are in the blocks.
    """
    few = _fold(sample, rows)
    if len(sample):
        task = Task(make_operator(few.rows(), few.blocks, few.weights), few, team)
        found = saltmine(
            task, replace(settings, on_refine=share_of(settings.on_refine, STARTED, SEARCHED, STARTED)), rng
        )
    else:
        found = without_patterns(few)
    extension = Extension(crew, rows.layout, alterations=settings.alterations, alpha=settings.alpha)
    settings.on_refine(found.model.rank, found.score, SEARCHED)
    extension.run(_start(few, found.model))
    judgement, length = extension.judge()
    score, without = extension.score(), extension.null_length()
    usage = rows.layout.unpack(extension.plan.usage).T
    kept = extension.kept if score < without else np.zeros(0, dtype=np.intp)
    model = BinaryModel(
        np.zeros((0, len(kept)), bool), np.zeros((len(rows.blocks), 0, len(kept)), bool), usage[:, kept]
    )
    if not len(kept):
        score = length = without
    n_iter = found.n_iter + extension.turns
    return extension, Solution(model, length, score, n_iter, found.history, judgement.keep(kept))


def share_of(tell: Tell, begin: float, end: float, since: float = 0.0) -> Tell:
    """Return what tells of a part of the work, which counts from ``since`` to 1, as of its share in the whole."""
    return lambda rank, length, done: tell(rank, length, begin + (done - since) / (1 - since) * (end - begin))


def search_here(
    bits: BitMatrix,
    item_of: NDArray[np.intp],
    settings: Settings,
    make_operator: MakeOperator,
    team: ThreadTeam,
    rng: np.random.Generator,
) -> Solution:
    """Search data that this process holds; ``item_of`` is the item of every column of the input."""
    present = np.flatnonzero(item_of >= 0)
    size = min(sample_size(bits.weights.shape[0]), len(present))
    columns = np.sort(rng.choice(present, size, replace=False))
    blocks = [ItemBlock(bits.items(part)) for part in cut(bits.shape[1], bits.shape[0], BLOCK_CELLS)]
    crew = LocalCrew(blocks, team)
    sample = bits.columns[item_of[columns]]
    extension, found = search_wide(sample, Rows.of(bits), crew, settings, make_operator, team, rng)
    found.model = carried_model(blocks, extension.kept[: found.model.rank], found.model.Y)
    return found


def _fold(sample: Words, rows: Rows) -> BitMatrix:
    """Make one of identical columns of a sample."""
    as_bytes = np.ascontiguousarray(sample).view(np.dtype((np.void, sample.shape[1] * 8))).ravel()
    _, first, weights = np.unique(as_bytes, return_index=True, return_counts=True)
    order = np.argsort(first)
    columns = np.ascontiguousarray(sample[first[order]])
    return BitMatrix.of_columns(columns, rows.layout, rows.blocks, Weights(weights[order], rows.weights))


def _start(bits: BitMatrix, model: BinaryModel) -> Start:
    """Say what a model of a sample tells of the whole."""
    usage = bits.layout.pack(model.Y.T)
    used, weights = bits.used(model.Y), bits.weights.items
    density, share = np.full(model.rank, 0.5), np.zeros(model.rank)
    for s in range(model.rank):
        carried = model.X[:, s] | model.V[:, :, s]
        items = np.flatnonzero(carried.any(axis=0))
        hits = (bits.hits(usage[s], items) * carried[:, items]) @ weights[items]
        cells = used[:, s] * (carried @ weights)
        density[s] = (hits.sum() + 0.5) / (cells.sum() + 1.0)
        share[s] = weights[items].sum() / weights.sum()
    errors = float(bits.noise_counts(model).sum(axis=0) @ weights) / max(float(weights.sum()), 1.0)
    return Start(usage, density, share, errors)
