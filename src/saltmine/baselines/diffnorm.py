"""DiffNorm: patterns that all classes share and patterns of single classes, without overlap in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saltmine.data.bits import BitMatrix
from saltmine.data.stacking import StackedMatrix
from saltmine.estimators.base import PatternModel
from saltmine.parameters import is_real
from saltmine.progress import Listener
from saltmine.solver.solution import Solution


class DiffNorm(PatternModel):
    """Pattern sets for all classes together and for each alone, by description length (Budhathoki & Vreeken 2015).

    Every row is covered by patterns of its class's sets, which do not overlap in it, and by single items: longer
    patterns first, then more frequent ones. What is minimised is the length of the pattern sets and of all covers,
    whose codes learn the usages as they go (prequential, pseudo-count 1/2). Candidates are unions of two patterns in
    use, those first that are estimated to gain most; one is kept in the set where it gains most, and patterns that it
    makes superfluous are dropped. There is nothing to tune, and no chance in it.

    A cover holds no item that the row lacks, so noise breaks patterns to pieces; and the codes know no zeros, so in
    dense data items that meet by chance pay as patterns. Thousands of small patterns are the rule there.

    Parameters
    ----------
    subsets : list of lists of labels, optional
        The classes of every pattern set, as ``[["a", "b"], ["a"], ["b"]]``; by default all classes together, and each
        alone.
    max_time : float, optional
        Seconds after which the search ends with what it has found; by default it ends when no candidate gains. The
        evidence for every pattern, which takes milliseconds each, is computed afterwards.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    components_, usage_, classes_, ... :
        As of `CSalt`. A pattern is used by the rows whose cover has it; `alterations_` is empty (all False).
    description_length_ : float
        The f of C-Salt, in nats, for comparison with other methods; DiffNorm minimises another length.
    history_ : (n_iter_ + 1,) float
        What DiffNorm minimises, in nats: without patterns, and after every pattern that was kept; empty for data
        without ones.
    encoded_length_ : float
        The last of it.

    Examples
    --------
    >>> from saltmine import DiffNorm
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(100, [200, 200], rank=3, noise=0.0, random_state=0)
    >>> model = DiffNorm().fit(planted.X, planted.y)
    >>> bool(model.encoded_length_ < model.history_[0])
    True
    """

    _kind: ClassVar[str] = "DiffNorm"
    _covers_exactly: ClassVar[bool] = True
    _history: ClassVar[tuple[str, str]] = ("pattern", "encoded length (nats)")
    _knows_classes: ClassVar[bool] = True
    _source: ClassVar[str] = (
        "Pattern sets by description length, K. Budhathoki and J. Vreeken, The Difference and the Norm: Characterising "
        "Similarities and Differences Between Databases, 2015."
    )

    def __init__(
        self,
        *,
        subsets: Sequence[Sequence[Any]] | None = None,
        max_time: float | None = None,
        binarize: float | None = None,
        verbose: int = 0,
        callback: Listener | None = None,
    ) -> None:
        self.subsets = subsets
        self.max_time = max_time
        self.binarize = binarize
        self.verbose = verbose
        self.callback = callback

    @property
    def encoded_length_(self) -> float:
        """Nats that DiffNorm takes for patterns and covers; none for data without ones."""
        return float(self.history_[-1]) if len(self.history_) else 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_time is not None and not (is_real(self.max_time) and self.max_time > 0):
            raise ValueError(f"max_time must be a number of seconds above 0, or None, not {self.max_time!r}.")

    def _classes(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        classes, numbers = super()._classes(y, n_rows)
        # The labels are known here, and class numbers only in the search.
        self._subsets = class_subsets(self.subsets, classes.tolist())
        return classes, numbers

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        # Compiled code is loaded when it is needed.
        from saltmine.baselines.diffnorm_search import diffnorm

        return self._run_once(lambda on_step: diffnorm(bits, self._subsets, self.max_time, on_step))


def class_subsets(subsets: Any, classes: list[Any]) -> NDArray[np.bool_]:
    """Return which classes belong to every subset, (J, c); without subsets, all classes and each alone.

    Examples
    --------
    >>> class_subsets([["b", "a"], ["b"]], ["a", "b", "c"]).astype(int)
    array([[1, 1, 0],
           [0, 1, 0]])
    """
    if subsets is None:
        subsets = [classes, *([label] for label in classes)] if len(classes) > 1 else [classes]
    if not _is_list(subsets) or not len(subsets) or not all(_is_list(subset) for subset in subsets):
        raise ValueError(f"subsets must be a list of lists of labels, as [['a', 'b'], ['a']], not {subsets!r}.")
    found = list[list[bool]]()
    for subset in subsets:
        labels = list(subset)
        if not labels:
            raise ValueError("subsets holds an empty list; give every subset the label of a class at least.")
        for label in labels:
            if _is_list(label):
                raise ValueError(f"subsets must be a list of lists of labels, as [['a', 'b'], ['a']], not {subsets!r}.")
            if label not in classes:
                known = ", ".join(repr(known) for known in classes)
                raise ValueError(f"subsets holds the label {label!r}, which y has not; y has {known}.")
            if labels.count(label) > 1:
                raise ValueError(f"subsets holds the label {label!r} twice in {labels!r}; once is enough.")
        members = [known in labels for known in classes]
        if members in found:
            raise ValueError(f"subsets holds the classes {labels!r} twice; once is enough.")
        found.append(members)
    return np.array(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
