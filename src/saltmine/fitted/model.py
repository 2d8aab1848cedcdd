"""What tables, summaries, plots and reports know of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.item_counts import ItemCounts

if TYPE_CHECKING:
    # The module imports this one.
    from saltmine.fitted.stability import Stability


@runtime_checkable
class FittedModel(Protocol):
    """Attributes of a fitted estimator; `CSalt` documents those without a leading underscore."""

    n_components_: int
    n_features_in_: int
    components_: Bools
    alterations_: Bools
    usage_: Bools
    classes_: NDArray[Any]
    class_counts_: Ints
    row_labels_: NDArray[Any]
    row_names_: NDArray[Any] | None
    usage_counts_: Ints
    item_counts_: Ints
    noise_counts_: Ints
    carrier_counts_: Ints
    pattern_evidence_: Floats
    alteration_evidence_: Floats
    pattern_gain_: Floats
    alteration_gain_: Floats
    description_length_: float
    null_description_length_: float
    history_: Floats
    stability_: Stability | None
    about_: dict[str, Any]
    _items: ItemCounts
    _item_names: NDArray[Any] | None
    # Where the method was published, and what the steps and values of its history are.
    _source: str
    _history: tuple[str, str]
    # Whether the method looks for alterations, tests patterns against chance, and covers ones only.
    _can_alter: bool
    _is_tested: bool
    _covers_exactly: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator."""


def specific_class(usage_counts: NDArray[Any]) -> Indices:
    """Return the class that alone uses each pattern; -1 where several classes do, or where there is only one class.

    Parameters
    ----------
    usage_counts : (c, r) int or bool
        Rows of every class that use each pattern.

    Examples
    --------
    >>> specific_class(np.array([[3, 0, 1], [2, 4, 0]])).tolist()
    [-1, 1, 0]
    >>> specific_class(np.array([[3, 0, 1]])).tolist()
    [-1, -1, -1]
    """
    used = usage_counts > 0
    is_specific = (used.sum(axis=0) == 1) & (len(used) > 1)
    return np.where(is_specific, used.argmax(axis=0), -1)
