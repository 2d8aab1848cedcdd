"""What searches take and give: the task, how to go about it, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.checkpoint import Part
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.folding import Weights
from saltmine.data.item_counts import ItemCounts
from saltmine.data.order import Order, inverse
from saltmine.data.threads import ThreadTeam
from saltmine.data.validation import BinaryMatrix
from saltmine.deadline import Deadline
from saltmine.mdl.code_length import make_costs
from saltmine.mdl.scores import PatternScores, null_length
from saltmine.solver.relaxed.operator import Operator

# How much of the time is usually over after the relaxed solve, the first moves, and each time of looking for more.
USUALLY_DONE = (0.1, 0.2, 0.5, 0.8, 1.0)
# The same, of a search in a sample, after the relaxed solve and after the search in the sample.
STARTED, SEARCHED = USUALLY_DONE[0], 0.5
# Where the time is limited, the share of it for a search in a sample, and cells of the sample for every second.
OF_SAMPLE, CELLS_PER_SECOND = 0.5, 1.5e6

MakeOperator = Callable[[BinaryMatrix, list[slice], Weights], Operator]
#: Called with the number of patterns, f, and the share of the work that is done.
OnRefine = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Task:
    """What a search in memory works on; shared by all restarts."""

    matrix: BinaryMatrix
    bits: BitMatrix
    team: ThreadTeam
    make_operator: MakeOperator
    # Restarts side by side ask for the same at the same time; a cached property alone would make it for each.
    _lock: Lock = field(default_factory=Lock)

    @property
    def data(self) -> Operator:
        """What the relaxed solve multiplies by."""
        with self._lock:
            return self._data

    @property
    def merged(self) -> Task:
        """The same with all rows in one class."""
        with self._lock:
            return self._merged

    @cached_property
    def _data(self) -> Operator:
        return self.make_operator(self.matrix, self.bits.blocks, self.bits.weights)

    @cached_property
    def _merged(self) -> Task:
        return replace(self, bits=self.bits.merge_classes(), _lock=Lock())


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a search.

    ``on_check(rank, iteration, max_iter, objective)`` is called at every check of the relaxed objective,
    ``on_refine(rank, length, done)`` between the moves of the local search, with the share of the work that is done by
    what searches usually take. With ``merge_classes`` all rows are one class. ``part`` returns what a checkpoint has of
    a search in this one, by name. A sample has ``sample_cells`` at most, where they are given. ``expected_end(local,
    seconds)`` tells how long the rest of the fit will take after a local search whose tests take so many seconds.
    """

    rng: np.random.Generator
    team: ThreadTeam
    make_operator: MakeOperator
    alterations: bool = True
    merge_classes: bool = False
    alpha: float = 0.01
    max_rank: int | None = None
    rank_step: int = 10
    max_iter: int = 10_000
    tol: float = 0.005
    on_check: Callable[[int, int, int, float], None] = lambda rank, iteration, max_iter, objective: None
    on_refine: OnRefine = lambda rank, length, done: None
    deadline: Deadline = field(default_factory=Deadline)
    part: Callable[[str], Part | None] = lambda name: None
    sample_cells: int | None = None
    expected_end: Callable[[Any, float], float] = lambda local, seconds: 0.0

    def task(self, matrix: BinaryMatrix, bits: BitMatrix) -> Task:
        """Return the task of a search in this data."""
        return Task(matrix, bits, self.team, self.make_operator)


def rescale(on_refine: OnRefine, begin: float, end: float, since: float = 0.0) -> OnRefine:
    """Rescale a progress callback from [since, 1] to [begin, end]."""
    return lambda rank, length, done: on_refine(rank, length, begin + (done - since) / (1 - since) * (end - begin))


@dataclass
class Solution:
    """A binary model with its f, the iterations it took and the relaxed objective at every check, rank after rank.

    ``score`` is what the search minimises, f with its own specificity term; of several solutions the lowest is best.
    ``typical`` are the numbers of patterns that were asked for no evidence. ``finished`` says that the search was not
    cut short. A search by likelihood has the ``evidence`` of its patterns, (r,), and says whether their items go
    together ``within`` classes or only as classes differ, (r,), and which rows use them if their classes are not known:
    ``carriers``, (m, r).
    """

    model: BinaryModel
    length: float
    score: float
    n_iter: int = 0
    history: list[float] = field(default_factory=list)
    typical: list[int] = field(default_factory=list)
    finished: bool = True
    evidence: Floats | None = None
    within: Bools | None = None
    carriers: Bools | None = None

    @property
    def rank(self) -> int:
        """Return the number of patterns."""
        return self.model.rank


def without_patterns(bits: BitMatrix) -> Solution:
    """Return the model without patterns: all there is to say of data without a single one."""
    length = null_length(make_costs(bits.item_counts, bits.class_sizes, bits.weights.items), bits.item_counts)
    return Solution(BinaryModel.empty(*bits.shape, len(bits.blocks)), length, length)


@dataclass(frozen=True)
class Found:
    """A model of all the data with what a fitted estimator keeps of it; figures are those of `Solution`."""

    length: float
    score: float
    n_iter: int
    history: list[float]
    null_length: float
    scores: PatternScores
    items: ItemCounts
    usage: Bools  # (m, r), rows in the order of the input
    carrier_counts: Ints  # (c, r): rows that carry a pattern, whether they use it or not
    by_content: Indices  # (m,): the rows of the input, sorted by what they contain
    finished: bool = True
    within: Bools | None = None  # (r,), see `Solution`

    @property
    def rank(self) -> int:
        """Return the number of patterns."""
        return int(self.usage.shape[1])

    def in_order(self, order: Order) -> Found:
        """Return the same with rows, columns and classes in another order."""
        found = replace(self, items=self.items.in_order(order))
        if order.rows is not None:
            found = replace(found, usage=found.usage[order.rows], by_content=inverse(order.rows)[found.by_content])
        if order.classes is not None:
            scores, carriers = found.scores.of_classes(order.classes), found.carrier_counts[order.classes]
            found = replace(found, scores=scores, carrier_counts=carriers)
        return found
