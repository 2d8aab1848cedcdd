"""The search in data with more items than a search can look at: in a sample of them, then in all.

The search for patterns takes many looks at the data. A sample of the items shows who uses which pattern; given that,
every item of the whole is chosen on its own (`wide_model`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from saltmine.arrays import Indices
from saltmine.data.bits import BitMatrix, Layout
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import Labels
from saltmine.mdl.class_tests import size_strata, use_log_p
from saltmine.mdl.scores import Tested
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.mdl_search import search_sample
from saltmine.solver.sampling import Sample, draw
from saltmine.solver.scoring import pattern_densities
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
from saltmine.solver.wide_model import WideModel, WideStart

# Items of a sample: so many cells, but neither too few to show anything nor more than the search can look at.
SAMPLE_CELLS, MIN_ITEMS, MAX_ITEMS = 1 << 24, 2_000, 40_000
# Where time is short, the sample has so many items at least.
MIN_ITEMS_IN_TIME = 1_000


def sample_size(n_rows: int, cells: int | None = None) -> int:
    """Return the number of items that a search looks at, at most; of so many cells, if given.

    Examples
    --------
    >>> sample_size(56), sample_size(2000), sample_size(10**6)
    (40000, 8388, 2000)
    """
    return int(np.clip((cells or SAMPLE_CELLS) // max(n_rows, 1), MIN_ITEMS, MAX_ITEMS))


def is_wide(shape: tuple[int, int], cells: int | None = None) -> bool:
    """Return whether data has more items than a search looks at, of so many cells if given, and more than rows.

    Examples
    --------
    >>> is_wide((56, 3_700_000)), is_wide((1995, 4442)), is_wide((100_000, 60_000))
    (True, False, False)
    """
    m, n = shape
    return n > max(sample_size(m, cells), m)


def search_wide(executor: BlockExecutor[ItemBlock], labels: Labels, settings: SearchSettings) -> Found:
    """Search a sample of all columns, extend what is found to all of them, and collect it.

    The labels are those of the rows as the blocks have them, sorted by class and content.
    """
    blocks = (labels.merged() if settings.merge_classes else labels).blocks()
    weights = np.ones(len(labels.numbers), dtype=np.int64)
    layout = Layout(blocks, weights)
    columns, copies = _draw(executor, len(weights), settings)
    sample = BitMatrix.of_columns(columns, layout, blocks, Weights(copies, weights))
    first = replace(settings, on_refine=rescale(settings.on_refine, STARTED, SEARCHED, STARTED))
    with settings.deadline.phase(OF_SAMPLE):
        found = search_sample(sample.rows(), sample, first)
    settings.on_refine(found.model.rank, found.score, SEARCHED)
    model = WideModel(executor, layout, alterations=settings.alterations, alpha=settings.alpha)
    model.run(_start(sample, found), settings.part("all columns"), settings.deadline)
    return replace(_collect(model, labels, found), finished=settings.deadline.changed_nothing)


def _draw(executor: BlockExecutor[ItemBlock], n_rows: int, settings: SearchSettings) -> Sample:
    """Draw columns that have a one from all blocks, packed, (k, W)."""
    present = sum(present for _, _, present in executor.query(ItemBlock.count))
    size, per_second = min(sample_size(n_rows, settings.sample_cells), present), CELLS_PER_SECOND / max(n_rows, 1)
    share = min(settings.deadline.fit_sample(size, per_second, MIN_ITEMS_IN_TIME) / max(present, 1), 1.0)
    return draw(executor, ItemBlock, share, int(settings.rng.integers(2**63)))


def _start(bits: BitMatrix, found: Solution) -> WideStart:
    model, weights = found.model, bits.weights.items
    n_items = max(float(weights.sum()), 1.0)
    share = weights @ (model.X | model.V.any(axis=0)) / n_items
    errors = float(bits.noise_counts(model).sum(axis=0) @ weights) / n_items
    return WideStart(bits.layout.pack(model.Y.T), pattern_densities(bits, model), share, errors, found.typical)


def _collect(model: WideModel, labels: Labels, found: Solution) -> Found:
    """Return the model of all blocks with the counts that the tables need."""
    null_length, n_iter = model.null_length(), found.n_iter + model.turns
    kept = np.array(model.patterns(), dtype=np.intp)
    score, length = model.length(printed=False), model.length(printed=True)
    if score >= null_length:
        kept, score, length = kept[:0], null_length, null_length
    usage = model.layout.unpack(model.plan.usage[kept]).T
    items = ItemCounts.joined(model.executor.query(ItemBlock.item_counts, kept, usage))
    carriers = labels.count(model.carriers()[:, kept])
    figures = length, score, n_iter, found.history, null_length
    gain, added_gain = model.gains()
    scores = _test(model, labels, kept).scores(gain[kept], added_gain[:, kept], model.log_alpha)
    return Found(*figures, scores, items, usage, carriers, np.arange(len(usage)))


def _test(model: WideModel, labels: Labels, kept: Indices) -> Tested:
    """Test patterns by the classes of the labels; claims are corrected for each other, so only those that stay."""
    added, adding = model.added_log_p()
    strata = size_strata(model.row_sizes, np.ones(len(labels.numbers), dtype=np.int64))
    return Tested(
        together=np.array([model.together(s) for s in kept]),
        choice=np.array([model.item_choice(s) for s in kept]),
        use=use_log_p(model.carriers()[:, kept], labels.numbers, labels.n_classes, strata),
        added=added[kept].T,
        adding=adding[kept].T,
    )
