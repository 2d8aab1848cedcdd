"""The same data with rows, columns and classes in another order: what differs between the models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.claims import LARGE, PLANTED, SMALL, load
from benchmarks.speed.pairs import COLUMNS, ROWS
from experiments import planted as planted_experiment
from experiments.experiment import Row
from experiments.simulated_genomes import simulate_genomes
from saltmine import CSalt
from saltmine.data.order import inverse
from saltmine.datasets import make_planted

# Just above the columns, and the rows, that are searched without drawing a sample.
WIDE, WIDE_BASES = "56 x 60000 genome", 4.5e7
TALL, TALL_COLUMNS, TALL_ROWS = "50000 x 60 planted", 60, 50_000
# How often each is tried.
CASES = {**dict.fromkeys((*SMALL, *PLANTED), 16), **dict.fromkeys(LARGE, 8), WIDE: 4, TALL: 4}
QUICK = ("zoo", "lymph", "10 % noise")
# Floats are equal if they differ by less than this share.
TOLERANCE = 1e-9
# What is compared, and the axes: classes, patterns, items (columns) and rows.
FIGURES = {
    "description_length_": "",
    "null_description_length_": "",
    "temperature_": "",
    "components_": "pi",
    "alterations_": "cpi",
    "usage_": "rp",
    "typical_": "p",
    "pattern_evidence_": "p",
    "pattern_gain_": "p",
    "class_counts_": "c",
    "usage_counts_": "cp",
    "carrier_counts_": "cp",
    "all_counts_": "cp",
    "most_counts_": "cp",
    "alteration_gain_": "cp",
    "use_p_values_": "cp",
    "use_q_values_": "cp",
    "alteration_p_values_": "cp",
    "alteration_q_values_": "cp",
    "item_counts_": "ci",
    "noise_counts_": "ci",
}


@dataclass(frozen=True)
class Shuffle:
    """Another order of rows and columns, and other names of the classes, which sort in another order."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    names: dict[Any, str]

    @classmethod
    def draw(cls, shape: tuple[int, int], labels: NDArray[Any], rng: np.random.Generator) -> Shuffle:
        """Draw one for data of a shape."""
        classes = np.unique(labels)
        names = [f"class {number}" for number in rng.permutation(len(classes))]
        return cls(
            rng.permutation(shape[0]), rng.permutation(shape[1]), dict(zip(classes.tolist(), names, strict=True))
        )

    def data(self, X: Any) -> Any:
        """Return rows in another order."""
        moved = X[self.rows][:, self.columns]
        return sp.csr_array(moved) if sp.issparse(moved) else moved

    def labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the new names of the classes of the rows."""
        return np.array([self.names[label] for label in y[self.rows].tolist()])

    def back(self, figures: NDArray[Any], axes: str, before: Any, after: Any) -> NDArray[Any]:
        """Return figures of the model of the shuffled data in the order of the other model."""
        of_class = [after.classes_.tolist().index(self.names[label]) for label in before.classes_.tolist()]
        places = {"c": np.array(of_class), "i": inverse(self.columns), "r": inverse(self.rows)}
        for axis, kind in enumerate(axes):
            if kind in places:
                figures = np.take(figures, places[kind], axis=axis)
        return figures


def differences(before: Any, after: Any, shuffle: Shuffle) -> list[str]:
    """Return the names of what differs between two models, one of them of shuffled data."""
    differing = []
    for name, axes in FIGURES.items():
        one, other = (np.asarray(getattr(model, name)) for model in (before, after))
        if one.shape == other.shape:
            other = shuffle.back(other, axes, before, after)
        if one.shape != other.shape or not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            differing.append(name)
    return differing if _same_tables(before, after, shuffle) else [*differing, "patterns()"]


def _same_tables(before: Any, after: Any, shuffle: Shuffle) -> bool:
    one, other = before.patterns(), after.patterns()
    if before._item_names is None:
        other["item"] = shuffle.columns[other["item"]]
    old = {new: str(old) for old, new in shuffle.names.items()}
    other["role"] = other["role"].map(lambda role: old.get(role, role))
    ends = {f"{kind}_{new}": f"{kind}_{label}" for new, label in old.items() for kind in _OF_CLASSES}
    other = other.rename(columns=ends)[one.columns]
    if len(one) != len(other):
        return False
    one, other = (table.sort_values(["pattern", "item", "role"], ignore_index=True) for table in (one, other))
    try:
        pd.testing.assert_frame_equal(one, other, rtol=TOLERANCE, atol=TOLERANCE)
    except AssertionError:
        return False
    return True


_OF_CLASSES = ("usage", "all", "most", "support", "share", "lift")


def read_case(name: str, seed: int, data: Path) -> tuple[Any, NDArray[Any], list[str] | None]:
    """Return rows, labels and names of the items, where there are any."""
    if name == WIDE:
        genomes = simulate_genomes(WIDE_BASES, random_state=seed)
        return genomes.X, genomes.y, None
    if name == TALL:
        made = make_planted(TALL_COLUMNS, [TALL_ROWS // 2, TALL_ROWS // 2], rank=9, noise=0.1, random_state=seed)
        return made.X, made.y, None
    if name in PLANTED:
        usual = {**planted_experiment.USUAL, "columns": COLUMNS, "rows": ROWS}
        made = planted_experiment.plant({**usual, **PLANTED[name], "seed": seed})
        return made.X, made.y, None
    return load(name, data)


def order(name: str, seed: int, data: Path) -> Row:
    """Fit a table, and the same in another order; say what differs, and by how much f does."""
    X, y, names = read_case(name, seed, data)
    y = np.asarray(y)
    shuffle = Shuffle.draw(X.shape, y, np.random.default_rng(seed))
    before = CSalt(random_state=seed).fit(X, y, item_names=names)
    moved = None if names is None else [names[column] for column in shuffle.columns]
    after = CSalt(random_state=seed).fit(shuffle.data(X), shuffle.labels(y), item_names=moved)
    found = differences(before, after, shuffle)
    return {
        "patterns": int(before.n_components_),
        "differs": bool(found),
        "what": ", ".join(found),
        "f": after.description_length_ / before.description_length_ - 1,
    }
