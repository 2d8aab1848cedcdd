"""What every part of the solver is good for: each switched off in turn, on matrices that nothing was tuned on.

    python -m benchmarks.ablation

Means over the paper's four shapes, seeds from 5000 up.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.planted import Case, cases, plant
from experiments.measuring import timed
from experiments.planted import FIRST_SEED, SHAPES, true_length
from saltmine import CSalt
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.mdl import code_length
from saltmine.metrics import alteration_recall, class_rank, f_measure
from saltmine.solver import relaxed_start
from saltmine.solver.local_search import LocalSearch
from saltmine.solver.relaxed import accelerated
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.objective import Factors
from saltmine.solver.rounding import threshold

CASES = ("2 classes, noise 10%", "2 classes, noise 20%", "4 classes, noise 10%")


def _spectral_steps(self: AcceleratedDescent, gram: Any) -> Any:
    norm = float(np.linalg.norm(gram, 2))
    return np.full(len(gram), 1 / (self.mu * max(norm, 1)), dtype=np.float32)


def _unweighted(class_sizes: Any) -> Any:
    return 1.0 - np.eye(len(class_sizes))


def _round_at_half(factors: Factors, bits: BitMatrix) -> BinaryModel:
    return threshold(factors.X, factors.V, factors.Y, bits, 0.5, 0.5)


def _changed(*changes: tuple[Any, str, Any]) -> Callable[[], Any]:
    @contextmanager
    def change() -> Iterator[None]:
        with ExitStack() as stack:
            for target, name, value in changes:
                stack.enter_context(patch.object(target, name, value))
            yield

    return change


VARIANTS: dict[str, Callable[[], Any]] = {
    "all of it": _changed(),
    "no relaxed start": _changed((relaxed_start, "START_FACTOR", 0.0), (relaxed_start, "START_MORE", 0)),
    "start at twice the rank": _changed((relaxed_start, "START_FACTOR", 3.0)),
    "no growing penalty": _changed((relaxed_start, "RAMP", 1)),
    "no inertia": _changed((accelerated, "MAX_INERTIA", 0.0)),
    "one step per class (spectral norm)": _changed((AcceleratedDescent, "_steps", _spectral_steps)),
    "rounding at one half": _changed((relaxed_start, "_round", _round_at_half)),
    "unweighted cross term": _changed(
        (code_length, "cross_weights", _unweighted), (relaxed_start, "cross_weights", _unweighted)
    ),
    "no refit": _changed((LocalSearch, "refit", lambda self, trim=False: None)),
    "no merge": _changed((LocalSearch, "merge", lambda self: False)),
    "no split": _changed(
        (LocalSearch, "split", lambda self: False),
        (LocalSearch, "split_unrelated_classes", lambda self, max_rank=None: None),
    ),
    "no seeds": _changed((LocalSearch, "grow_from_residual", lambda self, *arguments, **options: False)),
    "no significance filter": _changed(
        (LocalSearch, "drop_insignificant", lambda self: False),
        (LocalSearch, "drop_until_significant", lambda self: None),
    ),
}


def measure(variant: str, case: Case, seed: int, shape: tuple[int, int]) -> list[float]:
    planted = plant(case, shape, seed)
    with VARIANTS[variant]():
        model, seconds = timed(lambda: CSalt(random_state=seed).fit(planted.X, planted.y))
    off = float(np.mean(class_rank(model) - class_rank(planted)))
    recall = alteration_recall(planted, model)
    return [f_measure(planted, model), recall, off, model.description_length_ / true_length(planted), seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description="Switch off the parts of the solver in turn.")
    parser.add_argument("--variant", default="", help="only variants whose name contains this")
    args = parser.parse_args()
    chosen = [case for case in cases() if case.name.startswith(CASES)]
    table = Table("case", "variant", "F", "rec_V", "class rank off", "f/f*", "seconds", title="means over the shapes")
    for case in chosen:
        for variant in VARIANTS:
            if args.variant in variant:
                rows = [measure(variant, case, FIRST_SEED + k, shape) for k, shape in enumerate(SHAPES)]
                F, recall, off, ratio, seconds = np.nanmean(rows, axis=0)
                numbers = f"{F:.3f}", f"{recall:.3f}", f"{off:+.1f}", f"{ratio:.3f}", f"{seconds:.1f}"
                table.add_row(case.name, variant, *numbers)
                Console(stderr=True).print(case.name, variant, *numbers, highlight=False)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
