"""Data whose classes have patterns of their own, and whose labels are partly wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from saltmine.arrays import Bools, Indices
from saltmine.parameters import check_count, is_real, is_whole


@dataclass(frozen=True)
class ClassPatterns:
    """A generated matrix, its labels, and the patterns of every class.

    Attributes
    ----------
    X : (m, n) CSR, bool
    y : (m,) int
        Labels as given, some of them wrong.
    true_y : (m,) int
        The classes that the rows were made of.
    patterns : list of lists of arrays
        ``patterns[a]`` has the items of every pattern of class a.

    Examples
    --------
    >>> made = make_class_patterns(2, class_size=100, n_features=200, n_patterns=3, random_state=0)
    >>> [len(items) for items in made.patterns[0]]  # sizes of the patterns of the first class
    [10, 13, 12]
    """

    X: sp.csr_array
    y: NDArray[np.int64]
    true_y: NDArray[np.int64]
    patterns: list[list[Indices]]


def make_class_patterns(
    n_classes: int = 2,
    class_size: int = 1000,
    n_features: int = 5000,
    n_patterns: int = 10,
    pattern_size: tuple[int, int] = (5, 14),
    patterns_per_row: int = 3,
    loss: float = 0.025,
    random_items: int = 10,
    wrong_labels: float = 0.1,
    random_state: Any = None,
) -> ClassPatterns:
    """Plant patterns of single classes, then give some rows the label of another class.

    A row has some patterns of its class. Each of their items is lost with probability ``loss``, and random items are
    added. Rows are stacked by their true class.

    Parameters
    ----------
    n_classes, class_size, n_features : int
        Classes, rows of each, and columns.
    n_patterns : int
        Patterns of each class.
    pattern_size : (int, int)
        Fewest and most items of a pattern; all sizes in between are equally likely.
    patterns_per_row : int
        Different patterns of its class that a row has.
    loss : float
        Probability that a row lacks an item of a pattern that it has.
    random_items : int
        Different random columns that are set in every row.
    wrong_labels : float
        Probability that a row gets the label of another class, each of them equally likely.
    random_state : int, RandomState or None

    Returns
    -------
    ClassPatterns
        The data, both kinds of labels, and the patterns.

    Examples
    --------
    >>> made = make_class_patterns(2, class_size=100, n_features=200, random_state=0)
    >>> made.X.shape, len(made.patterns), len(made.patterns[0])
    ((200, 200), 2, 10)
    >>> float((made.y != made.true_y).mean())
    0.07
    """
    _check_counts(n_classes, class_size, n_features, n_patterns, patterns_per_row, random_items)
    _check_sizes(pattern_size, n_features)
    _check_probability("loss", loss)
    _check_probability("wrong_labels", wrong_labels)
    if n_classes == 1 and wrong_labels > 0:
        raise ValueError("With one class no label can be wrong; set wrong_labels=0 or n_classes to at least 2.")
    rng = check_random_state(random_state)
    patterns = [[_draw_items(n_features, pattern_size, rng) for _ in range(n_patterns)] for _ in range(n_classes)]
    X = np.vstack([_draw_rows(of_class, class_size, n_features, patterns_per_row, loss, rng) for of_class in patterns])
    X[np.arange(len(X))[:, None], _draw_distinct(len(X), n_features, random_items, rng)] = True
    true_y = np.repeat(np.arange(n_classes), class_size)
    is_wrong = rng.random_sample(len(true_y)) < wrong_labels
    # A step of 1 to K - 1 around the circle of classes leads to each of the others.
    steps = rng.randint(1, max(n_classes, 2), len(true_y))
    y = np.where(is_wrong, (true_y + steps) % n_classes, true_y)
    return ClassPatterns(sp.csr_array(X), y, true_y, patterns)


def _check_counts(
    n_classes: Any, class_size: Any, n_features: Any, n_patterns: Any, patterns_per_row: Any, random_items: Any
) -> None:
    check_count("n_classes", n_classes)
    check_count("class_size", class_size)
    check_count("n_features", n_features)
    check_count("n_patterns", n_patterns)
    check_count("patterns_per_row", patterns_per_row, least=0)
    check_count("random_items", random_items, least=0)
    if patterns_per_row > n_patterns:
        raise ValueError(
            f"A row cannot have {patterns_per_row} different patterns, as its class has {n_patterns}; plant more "
            "patterns or lower patterns_per_row."
        )
    if random_items > n_features:
        raise ValueError(
            f"{random_items} random items do not fit into {n_features} columns; make n_features larger or set fewer."
        )


def _check_sizes(sizes: Any, n_features: int) -> None:
    is_pair = isinstance(sizes, (tuple, list)) and len(sizes) == 2 and all(is_whole(size) for size in sizes)
    if not is_pair or not 1 <= sizes[0] <= sizes[1] <= n_features:
        raise ValueError(
            f"pattern_size must be the fewest and the most items of a pattern, between 1 and the {n_features} columns, "
            f"as (5, 14), not {sizes!r}."
        )


def _check_probability(name: str, value: Any) -> None:
    if not is_real(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a probability between 0 and 1, not {value!r}.")


def _draw_items(n_features: int, sizes: tuple[int, int], rng: Any) -> Indices:
    """Draw the items of a pattern."""
    items: Indices = np.sort(rng.choice(n_features, rng.randint(sizes[0], sizes[1] + 1), replace=False))
    return items


def _draw_distinct(n_rows: int, n_choices: int, n_chosen: int, rng: Any) -> Indices:
    """Draw so many different numbers below ``n_choices`` for every row."""
    drawn = np.empty((n_rows, n_chosen), dtype=np.intp)
    for row in drawn:
        row[:] = rng.choice(n_choices, n_chosen, replace=False)
    return drawn


def _draw_rows(patterns: list[Indices], n_rows: int, n_features: int, per_row: int, loss: float, rng: Any) -> Bools:
    """Draw the rows of a class: some of its patterns each, without what is lost."""
    uses = np.zeros((n_rows, len(patterns)), dtype=bool)
    uses[np.arange(n_rows)[:, None], _draw_distinct(n_rows, len(patterns), per_row, rng)] = True
    rows = np.zeros((n_rows, n_features), dtype=bool)
    for items, used in zip(patterns, uses.T, strict=True):
        using = np.flatnonzero(used)
        rows[np.ix_(using, items)] |= rng.random_sample((len(using), len(items))) >= loss
    return rows
