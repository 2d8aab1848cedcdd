"""The search in data with more rows than a search can look at: in a sample of them, then in all.

A sample of the rows shows what the patterns consist of; given that, every row of the whole is weighed on its own, and
the items are chosen anew by the counts of all rows (`tall_model`). It is the mirror image of `wide`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.mdl.class_tests import use_log_p
from saltmine.mdl.scores import Tested
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.mdl_search import search_sample
from saltmine.solver.row_block import RowBlock
from saltmine.solver.sampling import draw
from saltmine.solver.solution import (
    CELLS_PER_SECOND,
    OF_SAMPLE,
    SEARCHED,
    STARTED,
    Found,
    SearchSettings,
    Solution,
    rescale,
)
from saltmine.solver.tall_model import TallModel, TallStart

# Rows of a sample: so many cells, but neither too few to show anything nor more than the search can look at.
SAMPLE_CELLS, MIN_ROWS, MAX_ROWS = 1 << 24, 2_000, 40_000
# Rows of a small class that are in the sample anyway.
MIN_ROWS_OF_CLASS = 200
# Where time is short, the sample has so many rows at least.
MIN_ROWS_IN_TIME = 500


def sample_size(n_items: int, cells: int | None = None) -> int:
    """Return the number of rows that a search looks at, at most; of so many cells, if given.

    Examples
    --------
    >>> sample_size(56), sample_size(2000), sample_size(10**6)
    (40000, 8388, 2000)
    """
    return int(np.clip((cells or SAMPLE_CELLS) // max(n_items, 1), MIN_ROWS, MAX_ROWS))


def is_tall(shape: tuple[int, int], cells: int | None = None) -> bool:
    """Return whether data has more rows than a search looks at, of so many cells if given, and more than items.

    Examples
    --------
    >>> is_tall((1_000_000, 200)), is_tall((1995, 4442)), is_tall((60_000, 100_000))
    (True, False, False)
    """
    m, n = shape
    return m > sample_size(n, cells) and m >= n


def sample_shares(class_sizes: Ints, size: int, least: int = MIN_ROWS_OF_CLASS) -> Floats:
    """Return the share of the rows of every class in a sample of about so many, with the least of each if it has them.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = np.array([100_000, 300])
    >>> np.round(sizes * sample_shares(sizes, 5000))
    array([4985.,  200.])
    """
    wanted = np.maximum(size * class_sizes // class_sizes.sum(), least)
    shares: Floats = np.minimum(wanted, class_sizes) / np.maximum(class_sizes, 1)
    return shares


@dataclass(frozen=True)
class RowSample:
    """Some rows of the data, and how many rows every class has in the whole."""

    rows: Bools  # (k, n)
    numbers: Indices  # (k,): their classes
    sizes: Ints  # (c,)


def search_tall(executor: BlockExecutor[RowBlock], labels: Labels, settings: SearchSettings) -> Found:
    """Search a sample of all rows, extend what is found to all of them, and collect it."""
    first = replace(settings, on_refine=rescale(settings.on_refine, STARTED, SEARCHED, STARTED))
    second = rescale(settings.on_refine, SEARCHED, 1.0)
    searched = labels.merged() if settings.merge_classes else labels
    sample = _draw(executor, np.bincount(searched.numbers, minlength=searched.n_classes), settings)
    model = TallModel(executor, alterations=settings.alterations, alpha=settings.alpha, on_refine=second)
    stacked = StackedMatrix.from_rows(sample.rows, sample.numbers, len(sample.sizes), fold=True)
    bits = BitMatrix(stacked.matrix, stacked.blocks, stacked.weights)
    with settings.deadline.phase(OF_SAMPLE):
        found = search_sample(stacked.matrix, bits, first)
    second(found.model.rank, found.score, 0.0)
    start = _start(stacked, bits, found, sample.sizes)
    model.run(start, settings.part("all rows"), settings.deadline)
    return replace(_collect(model, labels, found), finished=settings.deadline.changed_nothing)


def _draw(executor: BlockExecutor[RowBlock], class_sizes: Ints, settings: SearchSettings) -> RowSample:
    """Draw a sample of the rows of all blocks."""
    n_items = len(executor.query(RowBlock.count)[0][1])
    per_second = CELLS_PER_SECOND / max(n_items, 1)
    size = settings.deadline.fit_sample(sample_size(n_items, settings.sample_cells), per_second, MIN_ROWS_IN_TIME)
    # Of all classes together.
    least = settings.deadline.fit_sample(MIN_ROWS_OF_CLASS * len(class_sizes), per_second, MIN_ROWS_IN_TIME)
    shares = sample_shares(class_sizes, size, max(least // len(class_sizes), 1))
    rows, copies = draw(executor, RowBlock, shares, int(settings.rng.integers(2**63)))
    drawn = np.repeat(rows, copies)
    return RowSample(drawn["cells"], drawn["number"], class_sizes)


def _start(stacked: StackedMatrix, bits: BitMatrix, found: Solution, sizes: Ints) -> TallStart:
    """Return what a model of a sample says of the whole, every class of which is so many times larger."""
    model = found.model
    larger = sizes / np.maximum(bits.class_sizes, 1)
    errors = np.rint(larger @ bits.noise_counts(model)).astype(np.int64)
    # A column that does not occur in the sample belongs to no pattern and has no errors yet.
    present = stacked.item_of >= 0
    whole_carried = np.zeros((model.rank, len(model.V), len(present)), dtype=bool)
    for a, altered in enumerate(model.V):
        whole_carried[:, a, present] = (model.X | altered)[stacked.item_of[present]].T
    whole_errors = np.zeros(len(present), dtype=np.int64)
    whole_errors[present] = errors[stacked.item_of[present]]
    return TallStart(whole_carried, larger @ bits.used(model.Y), whole_errors, found.typical)


def _collect(tall: TallModel, labels: Labels, found: Solution) -> Found:
    """Return the model of all blocks with the counts that the tables need."""
    model, kept = tall.model(), tall.patterns()
    gain, added_gain, length = tall.gains()
    carriers, shape = tall.carriers(), (len(kept), len(tall.class_sizes))
    tested = Tested(
        together=np.array([tall.together(s) for s in kept]),
        choice=np.array([tall.item_choice(s) for s in kept]),
        use=use_log_p(carriers, labels.numbers, labels.n_classes, tall.strata_of_rows()),
        added=np.array([tall.added_log_p(s) for s in kept]).reshape(shape).T,
        adding=np.array([tall.adding(s) for s in kept], dtype=bool).reshape(shape).T,
    )
    scores = tested.scores(gain, added_gain, tall.log_alpha)
    if len(model.V) < labels.n_classes:
        # A search that took all classes for one found nothing that a class has alone.
        model = replace(model, V=np.zeros((labels.n_classes, *model.X.shape), dtype=bool))
    counts, occurs = tall.row_counts(model), tall.item_counts > 0
    small = np.min_scalar_type(-len(labels.numbers) - 1)
    items = ItemCounts(
        np.where(occurs, np.cumsum(occurs) - 1, -1),
        np.ascontiguousarray(model.X[occurs].T),
        model.V[:, occurs].transpose(0, 2, 1).copy(),
        counts.item_counts[:, occurs].astype(small),
        counts.noise_counts[:, occurs].astype(small),
        counts.hits.astype(small),
    )
    n_iter = max(found.n_iter, 1) + tall.sweeps
    figures = length, tall.length, n_iter, found.history, tall.null_length()
    return Found(*figures, scores, items, tall.usage(), labels.count(carriers), _sort_rows(tall, labels))


def _sort_rows(tall: TallModel, labels: Labels) -> Indices:
    """Return the rows in the order of their classes and of what they contain."""
    keys = np.concatenate(tall.executor.query(RowBlock.row_keys))
    return np.lexsort((keys, labels.numbers))
