"""DiffNorm: patterns that all classes share and patterns of single classes, without overlap in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saltmine.baselines.base import Baseline
from saltmine.names import quoted, shorten
from saltmine.parameters import check_max_time

if TYPE_CHECKING:
    from saltmine.estimators.fitting import BitMatrix, Solution, StackedMatrix


@dataclass(kw_only=True, eq=False, repr=False)
class DiffNorm(Baseline):
    """Pattern sets for all classes together and for each alone, by description length (Budhathoki & Vreeken 2015).

    Every row is covered by patterns of its class's sets, which do not overlap in the row, and by single items: longer
    patterns first, then more frequent ones. The search minimises the length of the pattern sets and of all covers,
    with codes that adapt to the usages (prequential, pseudo-count 1/2). Candidates are unions of two patterns in use,
    in the order of their estimated gain. A candidate is kept in the set where it gains most, and patterns that become
    superfluous are removed. There is nothing to tune, and the search is deterministic.

    A cover has no item that the row lacks, so noise breaks patterns into pieces. The codes ignore zeros, so in dense
    data items that occur together by chance become patterns, often thousands of small ones.

    Parameters
    ----------
    subsets : list of lists of labels, optional
        The classes of every pattern set, as ``[["a", "b"], ["a"], ["b"]]``; by default all classes together, and each
        alone.
    max_time : float, optional
        Seconds that a fit may take; it then ends with the patterns found so far, and ``finished_`` is False. By default
        it ends when no candidate gains.
    binarize, verbose, callback
        As in `CSalt`.

    Attributes
    ----------
    components_, usage_, classes_, ... :
        As in `CSalt`. The rows whose cover has a pattern use it; `alterations_` is empty (all False).
    description_length_ : float
        The f of C-Salt, in nats, for comparison with other methods; DiffNorm minimises another length.
    history_ : (iterations + 1,) float
        The length that DiffNorm minimises, in nats: without patterns, and after every pattern that was kept; empty for
        data without ones.
    encoded_length_ : float
        The last value of `history_`.

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
    _source: ClassVar[str] = (
        "Pattern sets by description length, K. Budhathoki and J. Vreeken, The Difference and the Norm: Characterising "
        "Similarities and Differences Between Databases, 2015."
    )

    subsets: Sequence[Sequence[Any]] | None = None
    max_time: float | None = None

    @property
    def encoded_length_(self) -> float:
        """Length of patterns and covers in nats; 0 for data without ones."""
        return float(self.history_[-1]) if len(self.history_) else 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_max_time(self.max_time)

    def _classes(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        classes, numbers = super()._classes(y, n_rows)
        # The search knows the classes by number only, not by label.
        self._subsets = class_subsets(self.subsets, classes.tolist())
        return classes, numbers

    def _search(self, data: StackedMatrix, bits: BitMatrix) -> Solution:
        # Compiled code would slow the import.
        from saltmine.baselines.diffnorm_search import diffnorm

        return self._run_once(lambda on_step: diffnorm(bits, self._subsets, self._deadline, on_step))


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
    listed = _is_list(subsets) and len(subsets) and all(_is_list(subset) for subset in subsets)
    if not listed or any(_is_list(label) for subset in subsets for label in subset):
        raise ValueError(f"subsets must be a list of lists of labels, as [['a', 'b'], ['a']], not {quoted(subsets)}.")
    found = list[list[bool]]()
    for labels in map(list, subsets):
        if not labels:
            raise ValueError("subsets holds an empty list; give every subset the label of a class at least.")
        for label in labels:
            if label not in classes:
                known = shorten(", ".join(map(quoted, classes)), 400)
                raise ValueError(f"subsets holds the label {quoted(label)}, which y has not; y has {known}.")
            if labels.count(label) > 1:
                raise ValueError(f"subsets holds the label {quoted(label)} twice in {quoted(labels)}; once is enough.")
        members = [known in labels for known in classes]
        if members in found:
            raise ValueError(f"subsets holds the classes {quoted(labels)} twice; once is enough.")
        found.append(members)
    return np.array(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
