"""How near a model comes to planted truth, and how well it describes data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_array, check_consistent_length

from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.labels import class_numbers
from saltmine.data.stacking import StackedMatrix
from saltmine.data.validation import TableNames, as_binary, reject_unreadable
from saltmine.solver import scoring


@dataclass(frozen=True)
class _Parts:
    """Factors of a fitted estimator or of planted truth, and the class number of every row."""

    components: NDArray[np.bool_]
    alterations: NDArray[np.bool_]
    usage: NDArray[np.bool_]
    numbers: NDArray[np.intp] | None

    @classmethod
    def of(cls, model: Any) -> _Parts:
        suffix = "_" if hasattr(model, "components_") else ""
        try:
            factors = [getattr(model, name + suffix) for name in ("components", "alterations", "usage")]
            components, alterations, usage = (np.asarray(factor, dtype=bool) for factor in factors)
        except AttributeError:
            raise TypeError(
                f"{type(model).__name__} has no components, alterations and usage; pass a fitted model or the result "
                "of make_planted."
            ) from None
        labels = getattr(model, "row_labels_" if suffix else "y", None)
        return cls(components, alterations, usage, None if labels is None else class_numbers(labels)[1])

    def patterns(self, a: int) -> NDArray[np.float64]:
        """Items of every pattern in class a, (r, n)."""
        return np.asarray(self.components | self.alterations[a], dtype=np.float64)

    def rows(self, a: int, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        """Usage of every pattern in class a, (m_a, r)."""
        return np.asarray(self.usage[numbers == a], dtype=np.float64)


def for_every_class(alterations: NDArray[np.bool_], n_classes: int) -> NDArray[np.bool_]:
    """Return alterations of as many classes: a model that knows none says the same of all of them."""
    return np.repeat(alterations, n_classes, axis=0) if len(alterations) == 1 else alterations


def f_measure(truth: Any, model: Any) -> float:
    """Micro-averaged F-measure of matched patterns, averaged over the classes.

    Parameters
    ----------
    truth : result of `make_planted`, or a fitted model
        Its labels say which row belongs to which class.
    model : fitted model, or anything with ``components``, ``alterations`` and ``usage``

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> f_measure(planted, planted)
    1.0
    """
    planted, found = _comparable(truth, model)
    scores = []
    for a in range(len(planted.alterations)):
        planted_tiles = planted.patterns(a), planted.rows(a, planted.numbers)
        found_tiles = found.patterns(a), found.rows(a, planted.numbers)
        match = _matched(planted_tiles, found_tiles)
        scores.append(_harmonic(_share(match.hits, match.found_in_all), _share(match.hits, match.planted)))
    return float(np.mean(scores))


def alteration_recall(truth: Any, model: Any) -> float:
    """Recall of the planted alterations (rec_V), averaged over the classes that have any; NaN if none has.

    A planted alteration may be found in any pattern or alteration of the model.
    """
    return _mean([_share(match.hits, match.planted) for match in _matched_alterations(truth, model)])


def alteration_precision(truth: Any, model: Any) -> float:
    """Precision of what the planted alterations are matched with, averaged over the classes where anything is.

    A pattern that has an alteration together with what it alters recalls it, but does not tell it from the rest.
    """
    return _mean([match.hits / match.found for match in _matched_alterations(truth, model) if match.found])


def _matched_alterations(truth: Any, model: Any) -> Iterator[_Match]:
    """Match the planted alterations of every class that has any with patterns and alterations of the model."""
    planted, found = _comparable(truth, model)
    everything = np.concatenate([found.components, *found.alterations]).astype(np.float64)
    copies = 1 + len(found.alterations)
    for a in range(len(planted.alterations)):
        altered = planted.alterations[a].astype(np.float64)
        rows = planted.rows(a, planted.numbers)
        if rows.sum(axis=0) @ altered.sum(axis=1) > 0:
            yield _matched((altered, rows), (everything, np.tile(found.rows(a, planted.numbers), copies)))


def class_rank(model: Any) -> NDArray[np.int64]:
    """Count, for every class, the patterns with more than one item and more than one row in it."""
    parts = _Parts.of(model)
    if parts.numbers is None:
        raise TypeError(f"{type(model).__name__} does not say which class its rows belong to (row_labels_ or y).")
    ranks = []
    for a in range(len(parts.alterations)):
        items, rows = parts.patterns(a).sum(axis=1), parts.rows(a, parts.numbers).sum(axis=0)
        ranks.append(np.count_nonzero((items > 1) & (rows > 1)))
    return np.array(ranks)


def residual(model: Any, X: Any, y: Any) -> int:
    """Count the cells in which the data and the model differ (RSS).

    Parameters
    ----------
    model : fitted model or planted truth
    X, y : the data it was fitted on, rows in the same order
        Made binary as the model did, where it has a ``binarize``.
    """
    parts = _Parts.of(model)
    alterations = for_every_class(parts.alterations, len(class_numbers(y)[0]))
    data, binary = _stack(X, y, parts.components, alterations, parts.usage, getattr(model, "binarize", None))
    return int(BitMatrix(data.matrix, data.blocks).noise_counts(binary).sum())


def description_length(X: Any, y: Any, components: ArrayLike, alterations: ArrayLike, usage: ArrayLike) -> float:
    """Return the exact f, in nats, of any binary model of the data.

    Parameters
    ----------
    X : (m, n) array-like or sparse, 0/1
    y : (m,) labels
    components, alterations, usage : (r, n), (c, r, n), (m, r)
        An item that never occurs in ``X`` has no code: f is infinite if a pattern in use has one.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> p = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> with_patterns = description_length(p.X, p.y, p.components, p.alterations, p.usage)
    >>> without = description_length(p.X, p.y, p.components[:0], p.alterations[:, :0], p.usage[:, :0])
    >>> with_patterns < without
    True
    """
    factors = [np.asarray(factor).astype(bool) for factor in (components, alterations, usage)]
    data, binary = _stack(X, y, factors[0], factors[1], factors[2])
    return scoring.description_length(BitMatrix(data.matrix, data.blocks), binary)


def _stack(
    X: Any,
    y: Any,
    components: NDArray[np.bool_],
    alterations: NDArray[np.bool_],
    usage: NDArray[np.bool_],
    binarize: float | None = None,
) -> tuple[StackedMatrix, BinaryModel]:
    """Bring data and factors into the form of the binary stage, all items kept."""
    names = TableNames.of(X)
    reject_unreadable(X, names)
    matrix = as_binary(check_array(X, accept_sparse="csr", ensure_all_finite=False), binarize, names)
    classes, numbers = class_numbers(y)
    check_consistent_length(matrix, numbers, usage)
    rank = usage.shape[1] if usage.ndim == 2 else -1
    expected = (len(classes), rank, matrix.shape[1])
    if usage.ndim != 2 or alterations.shape != expected or components.shape != expected[1:]:
        raise ValueError(
            f"{matrix.shape[0]} rows, {matrix.shape[1]} columns and {len(classes)} classes need components of shape "
            f"(r, {matrix.shape[1]}), alterations ({len(classes)}, r, {matrix.shape[1]}) and usage "
            f"({matrix.shape[0]}, r), not {components.shape}, {alterations.shape} and {usage.shape}."
        )
    data = StackedMatrix.from_rows(matrix, numbers, len(classes), keep_absent=True)
    return data, BinaryModel(components.T, alterations.transpose(0, 2, 1), usage[data.order])


def _comparable(truth: Any, model: Any) -> tuple[Any, _Parts]:
    planted, found = _Parts.of(truth), _Parts.of(model)
    if planted.numbers is None:
        raise TypeError(f"{type(truth).__name__} does not say which class its rows belong to (y or row_labels_).")
    same = planted.usage.shape[0] == found.usage.shape[0] and planted.components.shape[1:] == found.components.shape[1:]
    if not same:
        raise ValueError(
            f"The truth has {planted.usage.shape[0]} rows and {planted.components.shape[1]} columns, the model "
            f"{found.usage.shape[0]} and {found.components.shape[1]}; compare models of the same data."
        )
    alterations = for_every_class(found.alterations, len(planted.alterations))
    found = _Parts(found.components, alterations, found.usage, found.numbers)
    if len(found.alterations) != len(planted.alterations):
        raise ValueError(
            f"The truth has {len(planted.alterations)} classes and the model {len(found.alterations)}; compare models "
            "of the same labels."
        )
    return planted, found


Tiles = tuple[NDArray[np.float64], NDArray[np.float64]]


class _Match(NamedTuple):
    """Cells of tiles that were matched one to one."""

    hits: float  # in both tiles of a pair
    planted: float
    found: float  # of tiles whose partner has a cell of theirs
    found_in_all: float


def _matched(planted: Tiles, found: Tiles) -> _Match:
    """Match tiles (items, rows) one to one by their F-measures.

    What stays without a partner counts as matched with an empty tile.
    """
    overlap = (planted[0] @ found[0].T) * (planted[1].T @ found[1])
    planted_area = planted[0].sum(axis=1) * planted[1].sum(axis=0)
    found_area = found[0].sum(axis=1) * found[1].sum(axis=0)
    sums = planted_area[:, None] + found_area
    scores = np.divide(2 * overlap, sums, out=np.zeros_like(overlap), where=sums > 0)
    s, t = linear_sum_assignment(scores, maximize=True)
    hits = overlap[s, t]
    return _Match(hits.sum(), planted_area.sum(), found_area[t[hits > 0]].sum(), found_area.sum())


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 1.0


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
