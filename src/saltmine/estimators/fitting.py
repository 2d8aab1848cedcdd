"""The middle of a fit: stack and fold, search, score.

In memory, in blocks or on a cluster differ by the executor that is passed. Everything compiled is imported from here,
so that estimators can be imported without compiled code.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices
from saltmine.checkpoint import Checkpoint
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.blocks import column_sources, read_rows, read_whole, row_sources
from saltmine.data.canonical import canonical_order
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.lazy import LazyMatrix
from saltmine.data.order import Order
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import BinaryMatrix
from saltmine.deadline import Deadline
from saltmine.distributed.executor import open_executor
from saltmine.estimators.memory_need import sample_cells
from saltmine.estimators.resuming import digest_blocks, digest_rows, open_checkpoint
from saltmine.estimators.runs import AnyResult, best_of_runs
from saltmine.fitted.calibration import fit_temperature
from saltmine.fitted.encoding import CodeTable, Encoder, shared_codes, shorten
from saltmine.fitted.kinds import typical_rows
from saltmine.mdl.groups import item_log_p, make_units
from saltmine.mdl.row_model import RowModel, left_out_nats
from saltmine.memory import parse_size
from saltmine.progress import Listener, Progress
from saltmine.solver.block_order import arrange_item_blocks, arrange_row_blocks
from saltmine.solver.group_tests import RowGroups, failed_alterations, test_groups, without_alterations
from saltmine.solver.item_block import ItemBlock, make_item_block
from saltmine.solver.likelihood_search import likelihood_search
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.mdl_search import mdl_search
from saltmine.solver.near_miss import strongest_pair
from saltmine.solver.paper import paper_search
from saltmine.solver.relaxed.device import open_device
from saltmine.solver.relaxed.device_operator import DeviceOperator
from saltmine.solver.relaxed.operator import Operator, make_operator
from saltmine.solver.row_block import RowBlock, make_row_block
from saltmine.solver.scoring import collect, description_length
from saltmine.solver.solution import USUALLY_DONE, Found, SearchSettings, Solution, Task, without_patterns
from saltmine.solver.tall import is_tall, search_tall
from saltmine.solver.wide import is_wide, search_wide

if TYPE_CHECKING:
    from saltmine.estimators.base import PatternModel
    from saltmine.estimators.csalt import MdlEstimator

# Types that estimators name without importing compiled code.
__all__ = [
    "BitMatrix",
    "Found",
    "Labels",
    "Solution",
    "StackedMatrix",
    "count_groups",
    "estimate_rows",
    "fit_by_description_length",
    "fit_in_memory",
    "open_device",
    "read_rows",
    "read_whole",
    "strongest_pair",
]

SEARCHES: dict[str, Callable[[Task, SearchSettings], Solution]] = {
    "saltmine": mdl_search,
    "likelihood": likelihood_search,
    "paper": paper_search,
}
# The paper's loop takes thousands of steps that add up; saltmine's few are rounded and refined.
PRECISION: dict[str, type[np.floating[Any]]] = {"saltmine": np.float32, "likelihood": np.float32, "paper": np.float64}
# Turns of usage and code lengths at the end of a search; two or three are the rule.
SETTLING_ROUNDS = 5
# Seconds after a search: so many times those of its tests, and for every row and pattern, every class and pattern, and
# every fit.
TESTS_AFTER, PER_USE, PER_CLASS, AT_LEAST = 8.0, 6e-8, 4e-4, 0.01
# Where the time is limited, the share of it for the search before that.
SEARCHING = 0.92
# What is done with all data in the end takes so many times as long as reading and arranging blocks of rows, of columns.
AFTER_ROWS, AFTER_COLUMNS = 2.0, 1.5


def fit_in_memory(
    model: PatternModel, rows: BinaryMatrix, labels: Labels, search: Callable[[StackedMatrix, BitMatrix], Solution]
) -> Found:
    """Sort data in memory by its content, stack and fold it, search it, and score what is found."""
    searched = labels if model._knows_classes else labels.merged()
    order = _canonical_order(model, rows, labels)
    rows, labels, searched = order.sort(rows), labels.sort(order), searched.sort(order)
    stacked = StackedMatrix.from_rows(rows, searched.numbers, searched.n_classes, fold=model._folds)
    bits = BitMatrix(stacked.matrix, stacked.blocks, stacked.weights)
    solution = search(stacked, bits) if len(stacked.items) else without_patterns(bits)
    found = collect(solution, stacked, bits, rows, labels, model._folds, model._level)
    return found.in_order(order.back)


def _canonical_order(model: PatternModel, rows: BinaryMatrix, labels: Labels, groups: Indices | None = None) -> Order:
    """Return the order of data by its content; labels that the method does not know make no difference."""
    if model._knows_classes:
        order = canonical_order(rows, labels.numbers, labels.n_classes, groups, model._item_names)
        return order if model._sorts_classes else replace(order, classes=None)
    return replace(canonical_order(rows, labels.merged().numbers, 1, groups, model._item_names), classes=None)


def fit_by_description_length(
    model: MdlEstimator, data: LazyMatrix | BinaryMatrix, labels: Labels, client: Any
) -> Found:
    """Search for what `CSalt` and `Primp` find: in blocks where the data is wide or tall, else in memory."""
    found = _search_by_description_length(model, data, labels, client)
    # What comes after the search needs memory as well.
    _core.give_back_memory()
    return found


@contextmanager
def keeping_freed_memory() -> Iterator[None]:
    """Let arrays take the memory of those before them; at the end all of it goes back to the system."""
    _core.keep_freed_memory(True)
    try:
        yield
    finally:
        _core.keep_freed_memory(False)
        _core.give_back_memory()


def _search_by_description_length(
    model: MdlEstimator, data: LazyMatrix | BinaryMatrix, labels: Labels, client: Any
) -> Found:
    classes: dict[str, Any] = {"n_classes": labels.n_classes, "merge_classes": not model._knows_classes}
    with ThreadTeam() as team:
        n_classes = labels.n_classes if model._knows_classes else 1
        cells = None
        if model.max_memory is not None:
            limit, has_sample = parse_size(model.max_memory), model.algorithm == "saltmine"
            cells = sample_cells(data, n_classes, limit, has_sample, client is not None)
        best = partial(_best, model, labels, team, cells)
        # The content of data that is read lazily is known to the blocks only.
        is_lazy = isinstance(data, LazyMatrix)
        checkpoint = None if is_lazy else open_checkpoint(model, labels, partial(digest_rows, data))
        if model.algorithm == "saltmine" and is_tall(data.shape, cells):
            begin, sources = model._deadline.elapsed(), row_sources(data, labels, client, model.binarize, n_classes)
            with open_executor(partial(make_row_block, **classes), sources, client, team) as row_blocks:
                if is_lazy:
                    checkpoint = open_checkpoint(model, labels, partial(digest_blocks, row_blocks, RowBlock))
                merge, names = classes["merge_classes"], model._item_names
                order = arrange_row_blocks(row_blocks, labels, merge, names, data.shape[1])
                model._deadline.set_aside(AFTER_ROWS * (model._deadline.elapsed() - begin))
                found = best(checkpoint, partial(search_tall, row_blocks, labels.sort(order)), n_jobs=1)
                return found.in_order(order.back)
        if model.algorithm == "saltmine" and is_wide(data.shape, cells):
            begin, columns = model._deadline.elapsed(), column_sources(data, client, model.binarize)
            make_block = partial(make_item_block, numbers=labels.numbers, **classes)
            with open_executor(make_block, columns, client, team) as item_blocks:
                if is_lazy:
                    checkpoint = open_checkpoint(model, labels, partial(digest_blocks, item_blocks, ItemBlock))
                merge, names = classes["merge_classes"], model.row_names_
                order = arrange_item_blocks(item_blocks, labels, merge, names, data.shape[1])
                model._deadline.set_aside(AFTER_COLUMNS * (model._deadline.elapsed() - begin))
                found = best(checkpoint, partial(search_wide, item_blocks, labels.sort(order)), n_jobs=1)
                return found.in_order(order.back)
        if is_wide(data.shape) and (client is not None or isinstance(data, LazyMatrix)):
            raise ValueError("Data of this size is fitted in blocks, which only algorithm='saltmine' does.")

        rows = read_whole(data, model.binarize, client)
        if is_lazy:
            checkpoint = open_checkpoint(model, labels, partial(digest_rows, rows))

        def search(stacked: StackedMatrix, bits: BitMatrix) -> Solution:
            task = Task(stacked.matrix, bits, team, _operators(model, team))

            def run(settings: SearchSettings) -> Solution:
                if model.algorithm != "saltmine":
                    return SEARCHES[model.algorithm](task, settings)
                n_threads = team.n_threads or 1
                with settings.deadline.phase(SEARCHING):
                    found = mdl_search(task, settings)
                return settle(found, stacked, bits, settings.alterations, settings.alpha, settings.deadline, n_threads)

            return best(checkpoint, run, n_jobs=model.n_jobs)

        return fit_in_memory(model, rows, labels, search)


def settle(
    solution: Solution,
    data: StackedMatrix,
    bits: BitMatrix,
    alterations: bool,
    alpha: float,
    deadline: Deadline | None = None,
    n_threads: int = 1,
) -> Solution:
    """Let every row use the patterns that `transform` gives it, where that makes its description shorter.

    The search looks at one pattern after the other, for all rows; here it is one row after the other, for all patterns.
    What is no longer shown then is taken away, as long as the whole is shorter.
    """
    best, model, deadline = solution, solution.model, deadline or Deadline()
    numbers = np.repeat(np.arange(len(data.blocks)), [block.stop - block.start for block in data.blocks])
    for _ in range(SETTLING_ROUNDS):
        used, errors = bits.used(model.Y).sum(axis=0), bits.noise_counts(model).sum(axis=0)
        codes = shared_codes(used, errors, bits.weights.items)
        encoder = Encoder([CodeTable((model.X | V).T, *codes) for V in model.V])
        usage = shorten(data.matrix, model.Y, encoder, numbers)
        if np.array_equal(usage, model.Y):
            break
        nothing = BinaryModel.empty(*bits.shape, len(bits.blocks))
        local = LocalSearch(bits, nothing, alterations=alterations, alpha=alpha, n_threads=n_threads)
        local.add(BinaryModel(model.X, model.V, usage), best.typical)
        local.drop_until_significant()
        if local.length >= best.score:
            break
        model = local.model()
        typical = [k for k, s in enumerate(local.patterns()) if local.is_typical(s)]
        best = replace(best, model=model, length=description_length(bits, model), score=local.length, typical=typical)
        if deadline.is_over():
            break
    return replace(best, finished=best.finished and not deadline.was_over)


def estimate_rows(model: PatternModel, rows: BinaryMatrix, labels: Labels, within: Bools) -> RowModel:
    """Return the likelihood of rows by the patterns of a fitted model, columns in the order of the input."""
    if not model._knows_classes:
        labels = labels.merged()
    return RowModel.estimate(rows, labels.numbers, _binary_model(model), within)


def temperature_of_rows(
    model: PatternModel, rows: BinaryMatrix, numbers: Indices, within: Bools, by_content: Indices
) -> float:
    """Return by how much nats are to be divided so that rows that the estimates do not know show their classes best."""
    groups = np.arange(len(numbers)) if model.groups_ is None else np.unique(model.groups_, return_inverse=True)[1]
    left_out, nats = left_out_nats(rows, numbers, _binary_model(model), within, by_content, groups)
    return fit_temperature(nats, numbers[left_out], model._log_prior())


def _binary_model(model: PatternModel) -> BinaryModel:
    shared, altered = model.components_, model.alterations_ if model._knows_classes else model.alterations_[:1]
    return BinaryModel(shared.T, altered.transpose(0, 2, 1), model.usage_)


def count_groups(
    model: PatternModel, rows: BinaryMatrix, labels: Labels, groups: Indices, found: Found
) -> tuple[Found, Floats]:
    """Test what was found by groups instead of rows, and single items, (c, items), whose p-values are also returned.

    A method that tests loses the alterations that do not pass. A pattern that does not pass stays, with the kind
    "group".
    """
    order = _canonical_order(model, rows, labels, groups)
    rows, labels, groups = order.sort(rows), labels.sort(order), order.sort_groups(groups)
    counted = _count_groups(model, rows, labels, groups, found.in_order(order))
    p_values = item_p_values(rows, labels, groups, counted.items)
    return counted.in_order(order.back), order.back.sort_classes(p_values)


def _count_groups(model: PatternModel, rows: BinaryMatrix, labels: Labels, groups: Indices, found: Found) -> Found:
    searched = labels if model._knows_classes else labels.merged()
    data = StackedMatrix.from_rows(rows, searched.numbers, searched.n_classes, fold=model._folds, fold_rows=False)
    bits = BitMatrix(data.matrix, data.blocks, data.weights)
    of_rows = RowGroups(groups[data.order], labels.numbers[data.order], labels.n_classes)
    X, V = found.items.all_components[:, data.items], found.items.all_alterations[: searched.n_classes, :, data.items]
    binary = BinaryModel(X.T.copy(), V.transpose(0, 2, 1).copy(), found.usage[data.order])
    sizes = np.bincount(labels.numbers, minlength=labels.n_classes)
    typical = typical_rows(labels.count(found.usage), sizes, found.scores.evidence, model._level) & model._is_tested
    solution = Solution(binary, found.length, found.score, typical=np.flatnonzero(typical).tolist())
    while True:
        tests = test_groups(data, bits, solution.model, of_rows, model._level, solution.typical)
        failed = failed_alterations(tests.scores, solution.typical, model._level)
        if not model._is_tested or not failed.any():
            break
        kept, left = without_alterations(solution.model, failed, solution.typical)
        length, score = (description_length(bits, kept, printed=printed) for printed in (True, False))
        solution = settle(Solution(kept, length, score, typical=left), data, bits, True, model._level)
    items = found.items
    if solution.model is not binary:
        items = ItemCounts.of(bits, solution.model, data.item_of)
    return replace(
        found,
        length=solution.length,
        score=solution.score,
        scores=tests.scores,
        items=items,
        usage=solution.model.Y[data.row_of],
        carrier_counts=labels.count(tests.carriers[data.row_of]),
        by_content=np.arange(len(groups)),
    )


def item_p_values(rows: BinaryMatrix, labels: Labels, groups: Indices, items: ItemCounts) -> Floats:
    """Test for every class and distinct item, by groups, that the class differs from the others, (c, items).

    Where rows and groups differ in opposite directions nothing is shown.
    """
    first, _ = items.distinct
    sizes = np.asarray(rows.sum(axis=1)).ravel()
    log_p, more = item_log_p(rows[:, first], make_units(groups, labels.numbers, sizes), labels.n_classes)
    counts, of_class = items.item_counts.astype(np.int64), np.bincount(labels.numbers, minlength=labels.n_classes)
    others = of_class.sum() - of_class
    more_rows = counts * others[:, None] >= (counts.sum(axis=0) - counts) * of_class[:, None]
    return np.where(more == more_rows, np.exp(log_p), 1.0)


def _best(
    model: MdlEstimator,
    labels: Labels,
    team: ThreadTeam,
    cells: int | None,
    checkpoint: Checkpoint | None,
    search: Callable[[SearchSettings], AnyResult],
    n_jobs: int | None,
) -> AnyResult:
    """Search once per restart, and return the best result; samples have so many cells at most, where that is given."""
    deadline = model._deadline

    def run(restart: int, seed: int, tell: Listener) -> AnyResult:
        settings = replace(_make_settings(model, labels, team, restart, seed, tell), sample_cells=cells)
        if checkpoint is not None:
            settings = replace(settings, part=lambda name: checkpoint.part(f"restart {restart}, {name}"))
        return search(replace(settings, deadline=deadline.copy()))

    seeds = model._seeds() if checkpoint is None else checkpoint.facts["seeds"]
    found = best_of_runs(model, run, seeds, n_jobs)
    if checkpoint is not None and not found.finished and not checkpoint.has_advanced:
        reason = f"max_time={model.max_time:g} is too short for the next step of the search"
        warnings.warn(f"{reason}: this run got no further than the checkpoint; allow more time.", stacklevel=2)
    return found


def _operators(model: MdlEstimator, team: ThreadTeam) -> Callable[[BinaryMatrix, list[slice], Weights], Operator]:
    """Return how data becomes what the relaxed solve multiplies by."""

    def make(matrix: BinaryMatrix, blocks: list[slice], weights: Weights) -> Operator:
        if model.device is not None:
            return DeviceOperator(matrix, blocks, open_device(model.device), weights, model.storage)
        return make_operator(matrix, blocks, team, PRECISION[model.algorithm], weights, model.storage)

    return make


def _make_settings(
    model: MdlEstimator, labels: Labels, team: ThreadTeam, restart: int, seed: int, tell: Listener
) -> SearchSettings:
    """Return the settings of one restart, which reports its progress to ``tell``."""

    def on_check(rank: int, iteration: int, max_iter: int, objective: float) -> None:
        # The published algorithm knows how far it is at this rank; saltmine's relaxed solve is its shorter part.
        whole = USUALLY_DONE[0] if model.algorithm == "saltmine" else 1.0
        tell(Progress(restart, rank, iteration, max_iter, objective, done=whole * iteration / max_iter))

    def on_refine(rank: int, length: float, done: float) -> None:
        tell(Progress(restart, rank, 0, 0, length, "refinement", done))

    return SearchSettings(
        rng=np.random.default_rng(seed),
        team=team,
        make_operator=_operators(model, team),
        # What a single class carries alone, all classes carry: the definition leaves no alterations.
        alterations=model._knows_classes and labels.n_classes > 1,
        merge_classes=not model._knows_classes,
        alpha=model.alpha,
        max_rank=model.max_rank,
        rank_step=model.rank_step,
        max_iter=model.max_iter,
        tol=model.tol,
        on_check=on_check,
        on_refine=on_refine,
        expected_end=partial(_expected_end, labels),
    )


def _expected_end(labels: Labels, local: LocalSearch, seconds: float) -> float:
    """Return how long a fit in memory takes after the search, whose tests take so many seconds, as a rule.

    The tests are done once more, rows settle once, patterns are scored, the rows that have them are counted, and
    probabilities are calibrated.
    """
    m, rank = len(labels.numbers), len(local.patterns())
    counted = PER_USE * m * rank + PER_CLASS * rank * min(labels.n_classes, 4)
    return TESTS_AFTER * seconds + counted + AT_LEAST
