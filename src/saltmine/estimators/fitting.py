"""The middle of a fit: stack and fold, search, score.

In memory, in blocks or on a cluster differ by the executor that is passed. Everything compiled is imported from here,
so that estimators can be imported without compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saltmine.arrays import Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.blocks import column_sources, read_some, read_whole, row_sources  # noqa: F401  # read_some is for base, which reaches compiled code here
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.lazy import LazyMatrix
from saltmine.data.stacking import Labels, StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.executor import open_executor
from saltmine.estimators.runs import AnyResult, best_of_runs
from saltmine.fitted.encoding import CodeTable, Encoder, shared_codes, shorten
from saltmine.fitted.kinds import typical_rows
from saltmine.mdl.groups import item_log_p, make_units
from saltmine.progress import Listener, Progress
from saltmine.solver.group_tests import RowGroups, failed_alterations, test_groups, without_alterations
from saltmine.solver.item_block import make_item_block
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.mdl_search import mdl_search
from saltmine.solver.near_miss import strongest_pair
from saltmine.solver.paper import paper_search
from saltmine.solver.relaxed.device import on_device, open_device
from saltmine.solver.relaxed.operator import Operator, make_operator
from saltmine.solver.row_block import make_row_block
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
    "fit_by_description_length",
    "fit_in_memory",
    "item_p_values",
    "open_device",
    "read_whole",
    "strongest_pair",
]

SEARCHES: dict[str, Callable[[Task, SearchSettings], Solution]] = {"saltmine": mdl_search, "paper": paper_search}
# The paper's loop takes thousands of steps that add up; saltmine's few are rounded and refined.
PRECISION: dict[str, type[np.floating[Any]]] = {"saltmine": np.float32, "paper": np.float64}
# Turns of usage and code lengths at the end of a search; two or three are the rule.
SETTLING_ROUNDS = 5


def fit_in_memory(
    model: PatternModel, rows: BinaryMatrix, labels: Labels, search: Callable[[StackedMatrix, BitMatrix], Solution]
) -> Found:
    """Stack and fold data in memory, search it, and score what is found."""
    searched = labels if model._knows_classes else labels.merged()
    stacked = StackedMatrix.from_rows(rows, searched.numbers, searched.n_classes, fold=model._folds)
    bits = BitMatrix(stacked.matrix, stacked.blocks, stacked.weights)
    solution = search(stacked, bits) if len(stacked.items) else without_patterns(bits)
    return collect(solution, stacked, bits, rows, labels, model._folds, model._level)


def fit_by_description_length(
    model: MdlEstimator, data: LazyMatrix | BinaryMatrix, labels: Labels, client: Any
) -> Found:
    """Search for what `CSalt` and `Primp` find: in blocks where the data is wide or tall, else in memory."""
    classes: dict[str, Any] = {"n_classes": labels.n_classes, "merge_classes": not model._knows_classes}
    with ThreadTeam() as team:
        best = partial(_best, model, labels, team)
        if model.algorithm == "saltmine" and is_tall(data.shape):
            n_classes = labels.n_classes if model._knows_classes else 1
            sources = row_sources(data, labels, client, model.binarize, n_classes)
            with open_executor(partial(make_row_block, **classes), sources, client, team) as row_blocks:
                return best(partial(search_tall, row_blocks, labels), n_jobs=1)
        if model.algorithm == "saltmine" and is_wide(data.shape):
            sources = column_sources(data, client, model.binarize)
            make_block = partial(make_item_block, numbers=labels.numbers, **classes)
            with open_executor(make_block, sources, client, team) as item_blocks:
                return best(partial(search_wide, item_blocks, labels), n_jobs=1)
        if is_wide(data.shape) and (client is not None or isinstance(data, LazyMatrix)):
            raise ValueError("Data of this size is fitted in blocks, which only algorithm='saltmine' does.")

        def search(stacked: StackedMatrix, bits: BitMatrix) -> Solution:
            task = Task(stacked.matrix, bits, team, _operators(model, team))

            def run(settings: SearchSettings) -> Solution:
                found = SEARCHES[model.algorithm](task, settings)
                if model.algorithm != "saltmine":
                    return found
                return settle(found, stacked, bits, settings.alterations, settings.alpha)

            return best(run, n_jobs=model.n_jobs)

        return fit_in_memory(model, read_whole(data, model.binarize, client), labels, search)


def settle(solution: Solution, data: StackedMatrix, bits: BitMatrix, alterations: bool, alpha: float) -> Solution:
    """Let every row use the patterns that `transform` gives it, where that makes its description shorter.

    The search looks at one pattern after the other, for all rows; here it is one row after the other, for all patterns.
    What is no longer shown then is taken away, as long as the whole is shorter.
    """
    best, model = solution, solution.model
    numbers = np.repeat(np.arange(len(data.blocks)), [block.stop - block.start for block in data.blocks])
    for _ in range(SETTLING_ROUNDS):
        used, errors = bits.used(model.Y).sum(axis=0), bits.noise_counts(model).sum(axis=0)
        codes = shared_codes(used, errors, bits.weights.items)
        encoder = Encoder([CodeTable((model.X | V).T, *codes) for V in model.V])
        usage = shorten(data.matrix, model.Y, encoder, numbers)
        if np.array_equal(usage, model.Y):
            break
        nothing = BinaryModel.empty(*bits.shape, len(bits.blocks))
        local = LocalSearch(bits, nothing, alterations=alterations, alpha=alpha)
        local.add(BinaryModel(model.X, model.V, usage), best.typical)
        local.drop_until_significant()
        if local.length >= best.score:
            break
        model = local.model()
        typical = [k for k, s in enumerate(local.patterns()) if local.is_typical(s)]
        best = replace(best, model=model, length=description_length(bits, model), score=local.length, typical=typical)
    return best


def count_groups(model: PatternModel, rows: BinaryMatrix, labels: Labels, groups: Indices, found: Found) -> Found:
    """Test what was found by groups instead of rows; a method that tests loses the alterations that do not pass.

    A pattern that does not pass stays: it is what one group has, or a few.
    """
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
    )


def item_p_values(rows: BinaryMatrix, labels: Labels, groups: Indices, items: ItemCounts) -> Floats:
    """Test for every class and distinct item, by groups, that the class differs from the others, (c, items).

    Where rows and groups differ in opposite directions nothing is shown.
    """
    first, _ = items.distinct()
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
    search: Callable[[SearchSettings], AnyResult],
    n_jobs: int | None,
) -> AnyResult:
    """Search once per restart, and return the best result."""

    def run(restart: int, seed: int, tell: Listener) -> AnyResult:
        return search(_make_settings(model, labels, team, restart, seed, tell))

    return best_of_runs(model, run, model._seeds(), n_jobs)


def _operators(model: MdlEstimator, team: ThreadTeam) -> Callable[[BinaryMatrix, list[slice], Weights], Operator]:
    """Return how data becomes what the relaxed solve multiplies by."""

    def make(matrix: BinaryMatrix, blocks: list[slice], weights: Weights) -> Operator:
        if model.device is not None:
            return on_device(matrix, blocks, weights, model.device)
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
    )
