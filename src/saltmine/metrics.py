"""Measures of a model: agreement with planted truth, reconstruction error, and description length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_array, check_consistent_length

from saltmine.arrays import Bools, Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.data.labels import class_numbers
from saltmine.data.stacking import StackedMatrix
from saltmine.data.validation import TableNames, as_binary, as_bools, reject_unreadable
from saltmine.mdl.code_length import item_codes
from saltmine.solver.scoring import code_length

__all__ = ["alteration_precision", "alteration_recall", "class_rank", "description_length", "f_measure", "residual"]


@dataclass(frozen=True)
class _Factors:
    """The factors of a fitted estimator or of planted truth, and the class number of every row."""

    components: Bools
    alterations: Bools
    usage: Bools
    numbers: Indices | None

    @classmethod
    def of(cls, model: Any) -> _Factors:
        suffix = "_" if hasattr(model, "components_") else ""
        try:
            factors = [getattr(model, name + suffix) for name in ("components", "alterations", "usage")]
            components, alterations, usage = (as_bools(factor) for factor in factors)
        except AttributeError:
            raise TypeError(
                f"{type(model).__name__} has no components, alterations and usage; pass a fitted model or the result "
                "of make_planted."
            ) from None
        labels = getattr(model, "row_labels_" if suffix else "y", None)
        return cls(components, alterations, usage, None if labels is None else class_numbers(labels)[1])

    def patterns(self, a: int) -> Floats:
        """Return the items of every pattern in class a, (r, n)."""
        return np.asarray(self.components | self.alterations[a], dtype=np.float64)

    def rows(self, a: int, numbers: Indices) -> Floats:
        """Return the usage of every pattern in class a, (m_a, r)."""
        return np.asarray(self.usage[numbers == a], dtype=np.float64)


def for_every_class(alterations: Bools, n_classes: int) -> Bools:
    """Return the alterations of every class; those of a model with one class are repeated."""
    return np.repeat(alterations, n_classes, axis=0) if len(alterations) == 1 else alterations


def f_measure(truth: Any, model: Any) -> float:
    """Return the micro-averaged F-measure of matched patterns, averaged over the classes.

    Parameters
    ----------
    truth : result of `make_planted`, or a fitted model
        Its labels are the classes of the rows.
    model : fitted model, or anything with ``components``, ``alterations`` and ``usage``

    Returns
    -------
    float
        Between 0 and 1; 1 if all cells of all patterns are found, and no others.

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
        tiles = [(factors.patterns(a), factors.rows(a, planted.numbers)) for factors in (planted, found)]
        match = _match_tiles(*tiles)
        precision, recall = _share(match.hits, match.found_total), _share(match.hits, match.planted)
        scores.append(2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0)
    return float(np.mean(scores))


def alteration_recall(truth: Any, model: Any) -> float:
    """Return the recall of the planted alterations (rec_V), averaged over the classes with any; NaN if none has.

    A planted alteration may be found in any pattern or alteration of the model.

    Parameters
    ----------
    truth : result of `make_planted`, or a fitted model
        Its labels are the classes of the rows.
    model : fitted model, or anything with ``components``, ``alterations`` and ``usage``

    Returns
    -------
    float
        Between 0 and 1, or NaN.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> alteration_recall(planted, planted)
    1.0
    """
    return _mean([_share(match.hits, match.planted) for match in _match_alterations(truth, model)])


def alteration_precision(truth: Any, model: Any) -> float:
    """Return the precision of the matches of the planted alterations, averaged over the classes with any match.

    A pattern that contains an alteration together with the shared items has full recall, but low precision.

    Parameters
    ----------
    truth : result of `make_planted`, or a fitted model
        Its labels are the classes of the rows.
    model : fitted model, or anything with ``components``, ``alterations`` and ``usage``

    Returns
    -------
    float
        Between 0 and 1, or NaN.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> alteration_precision(planted, planted)
    1.0
    """
    return _mean([match.hits / match.found for match in _match_alterations(truth, model) if match.found])


def _match_alterations(truth: Any, model: Any) -> Iterator[_Match]:
    """Match the planted alterations of every class that has any to patterns and alterations of the model."""
    planted, found = _comparable(truth, model)
    everything = np.concatenate([found.components, *found.alterations]).astype(np.float64)
    copies = 1 + len(found.alterations)
    for a in range(len(planted.alterations)):
        altered = planted.alterations[a].astype(np.float64)
        rows = planted.rows(a, planted.numbers)
        if rows.sum(axis=0) @ altered.sum(axis=1) > 0:
            yield _match_tiles((altered, rows), (everything, np.tile(found.rows(a, planted.numbers), copies)))


def class_rank(model: Any) -> NDArray[np.int64]:
    """Count, for every class, the patterns with more than one item and more than one row in it.

    Parameters
    ----------
    model : fitted model, or result of `make_planted`

    Returns
    -------
    (c,) int
        A number for every class, in the order of the sorted labels.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> class_rank(make_planted(100, [60, 40], rank=3, random_state=0)).tolist()
    [2, 2]
    """
    parts = _Factors.of(model)
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
        Binarized as in the fit, if the model has a ``binarize``.

    Returns
    -------
    int
        Cells that the model has and the data has not, and the reverse.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(100, [60, 40], rank=3, noise=0.0, random_state=0)
    >>> residual(planted, planted.X, planted.y)
    0
    """
    parts = _Factors.of(model)
    alterations = for_every_class(parts.alterations, len(class_numbers(y)[0]))
    bits, binary = _stack(X, y, (parts.components, alterations, parts.usage), getattr(model, "binarize", None))
    return int(bits.noise_counts(binary).sum())


def description_length(X: Any, y: Any, components: ArrayLike, alterations: ArrayLike, usage: ArrayLike) -> float:
    """Return the exact f, in nats, of any binary model of the data.

    Parameters
    ----------
    X : (m, n) array-like or sparse, 0/1
    y : (m,) labels
    components, alterations, usage : (r, n), (c, r, n), (m, r)
        An item that never occurs in ``X`` has no code: f is infinite if a pattern in use has one.

    Returns
    -------
    float
        The description length in nats.

    Examples
    --------
    >>> from saltmine.datasets import make_planted
    >>> p = make_planted(100, [60, 40], rank=3, random_state=0)
    >>> with_patterns = description_length(p.X, p.y, p.components, p.alterations, p.usage)
    >>> without = description_length(p.X, p.y, p.components[:0], p.alterations[:, :0], p.usage[:, :0])
    >>> with_patterns < without
    True
    """
    bits, model = _stack(X, y, (components, alterations, usage))
    used, codes = bits.used(model.Y), item_codes(bits.item_counts)
    length = code_length(bits, used.sum(axis=0), bits.noise_counts(model).sum(axis=0))
    for s, rows in enumerate(bits.layout.pack(model.Y.T)):
        hits = bits.hits(rows, np.arange(bits.shape[1]))
        # Alterations cost their zeros in their own class and the ones that they meet in the others.
        length += sum((used[a, s] + hits.sum(axis=0) - 2 * hits[a])[V[:, s]].sum() for a, V in enumerate(model.V))
        if used[:, s].any():
            length += sum(codes[part[:, s]].sum() for part in (model.X, *model.V))
    return float(length)


def _stack(
    X: Any, y: Any, factors: tuple[ArrayLike, ...], binarize: float | None = None
) -> tuple[BitMatrix, BinaryModel]:
    """Return data and factors (components, alterations and usage) stacked by class, with all items."""
    components, alterations, usage = (as_bools(factor) for factor in factors)
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
    model = BinaryModel(components.T, alterations.transpose(0, 2, 1), usage[data.order])
    return BitMatrix(data.matrix, data.blocks), model


def _comparable(truth: Any, model: Any) -> tuple[Any, _Factors]:
    """Return the factors of both, and check that their shapes agree."""
    planted, found = _Factors.of(truth), _Factors.of(model)
    if planted.numbers is None:
        raise TypeError(f"{type(truth).__name__} does not say which class its rows belong to (y or row_labels_).")
    shapes = [(len(factors.usage), factors.components.shape[1]) for factors in (planted, found)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"The truth has {shapes[0][0]} rows and {shapes[0][1]} columns, the model {shapes[1][0]} and "
            f"{shapes[1][1]}; compare models of the same data."
        )
    found = replace(found, alterations=for_every_class(found.alterations, len(planted.alterations)))
    if len(found.alterations) != len(planted.alterations):
        raise ValueError(
            f"The truth has {len(planted.alterations)} classes and the model {len(found.alterations)}; compare models "
            "of the same labels."
        )
    return planted, found


Tiles = tuple[Floats, Floats]


class _Match(NamedTuple):
    """Numbers of cells of tiles that were matched one to one."""

    hits: float  # in both tiles of a pair
    planted: float
    found: float  # of found tiles that overlap their partner
    found_total: float


def _match_tiles(planted: Tiles, found: Tiles) -> _Match:
    """Match tiles (items, rows) one to one by their F-measures; a tile without a partner has no hits."""
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


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
