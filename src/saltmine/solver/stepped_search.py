"""A local search whose moves are steps of a checkpoint, and its usual series of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Concatenate

from saltmine.arrays import Words
from saltmine.checkpoint import State
from saltmine.data.binary_model import BinaryModel
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.relaxed_start import relaxed_start
from saltmine.solver.solution import SearchSettings, Task
from saltmine.solver.steps import Answer, Steps

# Rounds of moves on the binary model; one or two are the rule.
MAX_ROUNDS = 5
# Where the time is limited, the share of the time for moves that those before the tests have.
MOVING = 0.7


class SteppedSearch:
    """The patterns of now, and how the search went.

    Everything that changes the state is a step, so that an interrupted fit goes on from a checkpoint (`Steps`).

    Parameters
    ----------
    task : Task
    settings : SearchSettings
    name : str
        The part of the checkpoint that this search has.
    count_threads : function
        How many threads moves may have from now on.
    """

    def __init__(self, task: Task, settings: SearchSettings, name: str, count_threads: Callable[[], int]) -> None:
        self.task, self.settings, self.deadline = task, settings, settings.deadline
        self.n_iter, self.history = 0, list[float]()
        self._count_threads = count_threads
        self.local = self.new_search()
        self.steps = Steps(self, settings.part(name), settings.deadline)

    # ------------------------------------------------------------ the state

    def state(self) -> State:
        """Return all that the next steps depend on."""
        return {
            "local": self.local.state(),
            "n_iter": self.n_iter,
            "history": list(self.history),
            "random": self.settings.rng.bit_generator.state,
        }

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self.local = self.new_search(state["local"])
        self.n_iter, self.history = state["n_iter"], list(state["history"])
        self.settings.rng.bit_generator.state = state["random"]

    def new_search(self, state: Words | None = None) -> LocalSearch:
        """Return a search that begins without patterns, or from a state."""
        bits, settings = self.task.bits, self.settings
        search = LocalSearch(
            bits,
            BinaryModel.empty(*bits.shape, len(bits.blocks)),
            alterations=settings.alterations,
            alpha=settings.alpha,
            n_threads=self._count_threads(),
            deadline=settings.deadline,
        )
        if state is not None:
            search.restore(state)
        return search

    # ------------------------------------------------------------ steps

    def do(self, move: Callable[Concatenate[LocalSearch, ...], Answer], *arguments: Any) -> Answer:
        """Take a move of the local search as a step."""
        return self.steps.take(lambda: move(self.local, *arguments))

    def begin(self, share: float = 1.0) -> bool:
        """Begin anew from a relaxed solve; return whether it found anything to begin from.

        ``share`` of the time left is for the relaxed solve: rounded after fewer iterations it is still better than
        nothing.
        """
        with self.deadline.phase(share):
            model, iterations, checks = relaxed_start(self.task, self.settings)
        self.deadline.check()
        self.n_iter, self.history = self.n_iter + iterations, [*self.history, *checks]
        self.local = self.new_search()
        self.local.add(model)
        self.local.refit(trim=True)
        return iterations > 0

    def improve(self, begin: float, end: float) -> None:
        """Merge, split and refit until no move helps; then take away what chance explains."""

        def tell(done: float) -> None:
            if not self.steps.are_repeated:
                local = self.local
                self.settings.on_refine(len(local.patterns()), local.length, begin + done * (end - begin))

        self.do(LocalSearch.allow_differences)
        with self.deadline.phase(MOVING):
            for k in range(MAX_ROUNDS):
                tell(0.3 + 0.5 * k / MAX_ROUNDS)
                if self.settings.max_rank is None:
                    self.do(LocalSearch.split_unrelated_classes)
                merged = self.do(LocalSearch.merge)
                if not self.do(LocalSearch.split) and not merged:
                    break
                self.do(LocalSearch.refit)
        for k in range(MAX_ROUNDS):
            tell(0.8 + 0.2 * k / MAX_ROUNDS)
            if not self.steps.take(self._filter):
                break
            self.do(LocalSearch.add_typical)
            self.do(LocalSearch.refit)
        if self.do(LocalSearch.add_typical):
            self.do(LocalSearch.refit)

    def _filter(self) -> bool:
        """Take away what chance explains, and see how long that takes: it has to be done at the end."""
        begin = time.perf_counter()
        dropped = self.local.drop_insignificant()
        self.deadline.reserve = self.settings.expected_end(self.local, time.perf_counter() - begin)
        return dropped
