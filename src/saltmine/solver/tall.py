"""Searches on data with more rows than a search can look at: on a sample of them, then on everything.

A sample of the rows shows what the patterns consist of; given that, every row of the whole is weighed on its own, and
the items are chosen anew by the counts of all rows (`binary.tall_extension`). It is the mirror image of `wide`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel, Bools
from saltmine.data.bits import BitMatrix, Ints
from saltmine.data.stacking import LabelledMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.distributed.executor import Crew
from saltmine.solver.mdl_search import Settings, Solution, Task, saltmine
from saltmine.solver.tall_extension import RowStart, TallExtension
from saltmine.solver.wide import SEARCHED, STARTED, MakeOperator, share_of

# Rows of a sample: so many cells, but neither too few to show anything nor more than the search can look at.
SAMPLE_CELLS, LEAST_ROWS, MOST_ROWS = 1 << 24, 2_000, 40_000
# Rows of a small class that are in the sample anyway.
LEAST_OF_CLASS = 200


def sample_size(n_items: int) -> int:
    """Return the number of rows that a search looks at, at most.

    Examples
    --------
    >>> sample_size(56), sample_size(2000), sample_size(10**6)
    (40000, 8388, 2000)
    """
    return int(np.clip(SAMPLE_CELLS // max(n_items, 1), LEAST_ROWS, MOST_ROWS))


def is_tall(shape: tuple[int, int]) -> bool:
    """Say whether data has more rows than a search looks at, and more than items.

    Examples
    --------
    >>> is_tall((1_000_000, 200)), is_tall((1995, 4442)), is_tall((60_000, 100_000))
    (True, False, False)
    """
    m, n = shape
    return m > sample_size(n) and m >= n


def sample_rows(numbers: NDArray[np.intp], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw about so many rows, of every class in proportion but never few of one that has more.

    Examples
    --------
    >>> import numpy as np
    >>> numbers = np.repeat([0, 1], [100_000, 300])
    >>> drawn = sample_rows(numbers, 5000, np.random.default_rng(0))
    >>> np.bincount(numbers[drawn])
    array([4985,  200])
    """
    sizes = np.bincount(numbers)
    shares = np.minimum(sizes, np.maximum(size * sizes // len(numbers), LEAST_OF_CLASS))
    of_classes = [np.flatnonzero(numbers == a) for a in range(len(sizes))]
    drawn = [rng.choice(rows, share, replace=False) for rows, share in zip(of_classes, shares, strict=True)]
    return np.sort(np.concatenate(drawn))


@dataclass(frozen=True)
class Sample:
    """Some rows of the data, and how many rows every class has in the whole."""

    rows: Bools  # (k, n)
    numbers: NDArray[np.intp]  # (k,): their classes
    sizes: Ints  # (c,)


def search_tall(
    sample: Sample,
    crew: Crew,
    settings: Settings,
    make_operator: MakeOperator,
    team: ThreadTeam,
    rng: np.random.Generator,
) -> tuple[TallExtension, Solution]:
    """Search a sample of the rows, and extend what is found to all rows of the crew.

    The solution has the items, length, score and judgement of the whole; who uses the patterns is in the blocks.
    """
    first, second = (
        share_of(settings.on_refine, STARTED, SEARCHED, STARTED),
        share_of(settings.on_refine, SEARCHED, 1.0),
    )
    extension = TallExtension(crew, alterations=settings.alterations, alpha=settings.alpha, tell=second)
    few = LabelledMatrix.from_rows(sample.rows, sample.numbers, len(sample.sizes), fold=True)
    if not len(few.items):
        start, n_iter, history = _no_start(extension), 1, list[float]()
    else:
        bits = BitMatrix(few.matrix, few.blocks, few.weights)
        task = Task(make_operator(few.matrix, few.blocks, few.weights), bits, team)
        found = saltmine(task, replace(settings, on_refine=first), rng)
        second(found.model.rank, found.score, 0.0)
        start, n_iter, history = _start(few, bits, found.model, sample.sizes), found.n_iter, found.history
    extension.run(start)
    judgement, length = extension.judge()
    n_iter += extension.sweeps
    return extension, Solution(extension.model(), length, extension.length, n_iter, history, judgement)


def _no_start(extension: TallExtension) -> RowStart:
    n, c = len(extension.item_counts), len(extension.sizes)
    return RowStart(np.zeros((0, c, n), dtype=bool), np.zeros(0), np.zeros(0), np.zeros(n, dtype=np.int64))


def _start(few: LabelledMatrix, bits: BitMatrix, model: BinaryModel, sizes: Ints) -> RowStart:
    """Say what a model of a sample tells of the whole, every class of which is so many times larger."""
    larger = sizes / np.maximum(bits.class_sizes, 1)
    used, weights = bits.used(model.Y), bits.weights.items
    carried = np.ascontiguousarray((model.X | model.V).transpose(2, 0, 1))
    density = np.empty(model.rank)
    for s, rows in enumerate(bits.layout.pack(model.Y.T)):
        ones = (bits.hits(rows, np.arange(bits.shape[1])) * carried[s]) @ weights
        cells = used[:, s] * (carried[s] @ weights)
        density[s] = (ones.sum() + 0.5) / (cells.sum() + 1.0)
    # A column that does not occur in the sample belongs to no pattern and has no errors yet.
    present = few.item_of >= 0
    noise = np.rint(larger @ bits.noise_counts(model)).astype(np.int64)
    return RowStart(carried[:, :, few.item_of] & present, density, larger @ used, noise[few.item_of] * present)
