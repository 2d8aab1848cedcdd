"""What tables, summaries, plots and reports know of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints
from saltmine.data.item_counts import ItemCounts

if TYPE_CHECKING:
    # The module imports this one.
    from saltmine.fitted.stability import Stability


class NearMiss(NamedTuple):
    """The strongest candidate where no pattern passed: columns of its items, its rows, and a bound on its chance."""

    items: list[int]
    rows: int
    chance: float


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
    row_weights_: Ints | None
    groups_: NDArray[Any] | None
    group_name_: str
    usage_counts_: Ints
    item_counts_: Ints
    noise_counts_: Ints
    carrier_counts_: Ints
    all_counts_: Ints | None
    most_counts_: Ints | None
    pattern_evidence_: Floats
    alteration_evidence_: Floats
    pattern_gain_: Floats
    alteration_gain_: Floats
    use_p_values_: Floats
    use_q_values_: Floats
    alteration_p_values_: Floats
    alteration_q_values_: Floats
    description_length_: float
    null_description_length_: float
    history_: Floats
    typical_: Bools
    of_few_groups_: Bools
    # False where a time limit ended the search.
    finished_: bool
    stability_: Stability | None
    near_miss_: NearMiss | None
    about_: dict[str, Any]
    preparation_: Any
    _items: ItemCounts
    # p-values of single items by groups, for distinct items, (c, items); None where rows were counted.
    _item_p_values: Floats | None
    # How frequent added items are among rows with most of the shared ones.
    _added_shares: Floats | None
    _added_rows: Ints | None
    _item_names: NDArray[Any] | None
    # Where the method was published, and what the steps and values of its history are.
    _source: str
    _history: tuple[str, str]
    # Whether the method looks for alterations, tests patterns against chance, and covers ones only.
    _can_alter: bool
    _is_tested: bool
    _covers_exactly: bool
    # Largest q-value with which a class is said to use a pattern more than the others.
    _level: float

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator."""
