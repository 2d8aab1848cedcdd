"""The search in data with more items than a search can look at: in a sample of them, then in all.

The search for patterns takes many looks at the data. A sample of the items shows who uses which pattern; given that,
every item of the whole is chosen on its own (`wide_model`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from saltmine.arrays import Indices, Ints, Words
from saltmine.data.bits import BitMatrix, Layout
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.stacking import Labels
from saltmine.mdl.class_tests import size_strata, use_log_p
from saltmine.mdl.scores import Tested
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.mdl_search import search_sample
from saltmine.solver.scoring import pattern_densities
from saltmine.solver.solution import SEARCHED, STARTED, Found, SearchSettings, Solution, rescale
from saltmine.solver.wide_model import WideModel, WideStart

# Items of a sample: so many cells, but neither too few to show anything nor more than the search can look at.
SAMPLE_CELLS, MIN_ITEMS, MAX_ITEMS = 1 << 24, 2_000, 40_000


def sample_size(n_rows: int) -> int:
    """Return the number of items that a search looks at, at most.

    Examples
    --------
    >>> sample_size(56), sample_size(2000), sample_size(10**6)
    (40000, 8388, 2000)
    """
    return int(np.clip(SAMPLE_CELLS // max(n_rows, 1), MIN_ITEMS, MAX_ITEMS))


def is_wide(shape: tuple[int, int]) -> bool:
    """Return whether data has more items than a search looks at, and more than rows.

    Examples
    --------
    >>> is_wide((56, 3_700_000)), is_wide((1995, 4442)), is_wide((100_000, 60_000))
    (True, False, False)
    """
    m, n = shape
    return n > max(sample_size(m), m)


def search_wide(executor: BlockExecutor[ItemBlock], labels: Labels, settings: SearchSettings) -> Found:
    """Search a sample of all columns, extend what is found to all of them, and collect it."""
    blocks, weights = labels.blocks(), np.ones(len(labels.numbers), dtype=np.int64)
    layout = Layout(blocks, weights)
    if settings.merge_classes:
        blocks, layout = [slice(0, len(weights))], layout.merge_classes()
    sample = _fold(_draw(executor, len(weights), settings.rng), layout, blocks, weights)
    first = replace(settings, on_refine=rescale(settings.on_refine, STARTED, SEARCHED, STARTED))
    found = search_sample(sample.rows(), sample, first)
    settings.on_refine(found.model.rank, found.score, SEARCHED)
    model = WideModel(executor, layout, alterations=settings.alterations, alpha=settings.alpha)
    model.run(_start(sample, found))
    return _collect(model, labels, found)


def _draw(executor: BlockExecutor[ItemBlock], n_rows: int, rng: np.random.Generator) -> Words:
    """Draw columns that have a one from all blocks, packed, (k, W)."""
    edges = np.concatenate([[0], np.cumsum([present for _, _, present in executor.query(ItemBlock.count)])])
    size = min(sample_size(n_rows), int(edges[-1]))
    ranks = np.sort(rng.choice(int(edges[-1]), size, replace=False))
    own = [(ranks[(begin <= ranks) & (ranks < end)] - begin,) for begin, end in pairwise(edges.tolist())]
    return np.concatenate(executor.query_each(ItemBlock.sample, own))


def _fold(columns: Words, layout: Layout, blocks: list[slice], row_weights: Ints) -> BitMatrix:
    """Make one of identical columns of a sample."""
    as_bytes = np.ascontiguousarray(columns).view(np.dtype((np.void, columns.shape[1] * 8))).ravel()
    _, first, weights = np.unique(as_bytes, return_index=True, return_counts=True)
    order = np.argsort(first)
    distinct = np.ascontiguousarray(columns[first[order]])
    return BitMatrix.of_columns(distinct, layout, blocks, Weights(weights[order], row_weights))


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
    carriers = labels.count(labels.unstack(model.carriers()[:, kept]))
    figures = length, score, n_iter, found.history, null_length
    gain, added_gain = model.gains()
    scores = _test(model, labels, kept).scores(gain[kept], added_gain[:, kept], model.log_alpha)
    return Found(*figures, scores, items, labels.unstack(usage), carriers)


def _test(model: WideModel, labels: Labels, kept: Indices) -> Tested:
    """Test patterns by the classes of the labels; claims are corrected for each other, so only those that stay."""
    added, adding = model.added_log_p()
    numbers = np.sort(labels.numbers)
    strata = size_strata(model.row_sizes, np.ones(len(numbers), dtype=np.int64))
    return Tested(
        together=np.array([model.together(s) for s in kept]),
        choice=np.array([model.item_choice(s) for s in kept]),
        use=use_log_p(model.carriers()[:, kept], numbers, labels.n_classes, strata),
        added=added[kept].T,
        adding=adding[kept].T,
    )
