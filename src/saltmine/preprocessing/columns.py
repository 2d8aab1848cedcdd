"""How one column becomes items: every row has at most one item of a column, given by its number.

An encoder takes a column and returns the number of each row's item, -1 where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

# Beyond it neighbouring whole numbers are the same floating-point number.
LARGEST = 2**53
# Numbers to find quantiles from: of more, every second, third, ... is looked at.
LOOKED_AT = 10_000
# Two values of which one is an item and the other its absence.
_YES_NO = [{"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"present", "absent"}, {"positive", "negative"},
           {"ja", "nein"}, {"oui", "non"}]  # fmt: skip
_YES = {"yes", "y", "true", "t", "present", "positive", "ja", "oui"}

Codes = NDArray[np.signedinteger[Any]]


class Column:
    """A column of a table; what is read off it is read once."""

    def __init__(self, values: pd.Series[Any], name: str) -> None:
        self.values = values
        self.name = name

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> NDArray[np.bool_] | None:
        """Where there is no value; None if there is one everywhere."""
        if getattr(self.values.dtype, "kind", "O") in "biu" and isinstance(self.values.dtype, np.dtype):
            return None
        gaps = self.values.isna().to_numpy(dtype=bool)
        return gaps if gaps.any() else None

    @cached_property
    def is_numeric(self) -> bool:
        """Whether it holds numbers or truth values, these also with gaps."""
        import pandas as pd

        if self.values.dtype == object:
            return pd.api.types.infer_dtype(self.values, skipna=True) == "boolean"
        return pd.api.types.is_numeric_dtype(self.values.dtype)

    @property
    def is_constant(self) -> bool:
        """Whether all rows, two at least, have the same value; a 0 is none, and where some have none they differ."""
        if len(self) < 2 or self.missing is not None:
            return False
        if not self.is_numeric:
            return len(self.texts[1]) == 1
        first = self.numbers[0]
        # Most columns show at their beginning that they differ.
        return bool(first != 0 and (self.numbers[:100] == first).all() and (self.numbers == first).all())

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The values as numbers, NaN where there is none."""
        if isinstance(self.values.dtype, np.dtype) and self.values.dtype.kind in "biuf":
            return self.values.to_numpy()
        try:
            return self.values.to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError):
            raise ValueError(
                f"Column {self.name!r} holds text, but it held numbers when the preparation was made."
            ) from None

    @property
    def present(self) -> NDArray[Any]:
        """The numbers that are there."""
        return self.numbers if self.missing is None else self.numbers[~self.missing]

    @cached_property
    def texts(self) -> tuple[NDArray[np.intp], list[str]]:
        """The number of each row's value among the distinct ones, -1 for a missing one, and these as text."""
        import pandas as pd

        if self.is_numeric:
            numbers, numeric = pd.factorize(self.numbers)
            return numbers, [value_text(value) for value in numeric]
        if hasattr(self.values.array, "__arrow_array__") and isinstance(self.values.dtype, pd.StringDtype):
            return _arrow_texts(self.values.array)
        numbers, distinct = pd.factorize(self.values)
        return numbers, [value_text(value) for value in distinct]


@dataclass(frozen=True)
class Flag:
    """A 0/1 column is an item itself."""

    column: str
    kind: ClassVar[str] = "flag"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [self.column]

    def encode(self, column: Column) -> Codes:
        """Return 0 where the row has the item."""
        numbers = column.numbers
        if not _is_flag(column.present):
            wrong = (numbers != 0) & (numbers != 1)
            row = int(np.flatnonzero(wrong if column.missing is None else wrong & ~column.missing)[0])
            raise ValueError(
                f"Column {self.column!r} holds {numbers[row]:g} in row {row}, but it was 0/1 when the preparation was "
                "made; give it the same kind of values."
            )
        codes: Codes = np.where(numbers == 1, np.int8(0), np.int8(-1))
        return codes


@dataclass(frozen=True)
class Values:
    """A column of categories has an item per value, as in ``colour=red``."""

    column: str
    values: tuple[str, ...]
    kind: ClassVar[str] = "values"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [f"{self.column}={value}" for value in self.values]

    def encode(self, column: Column) -> Codes:
        """Return the number of each row's value; a value that is not among them is no item."""
        numbers, distinct = column.texts
        known = {value: k for k, value in enumerate(self.values)}
        # Where all values of a batch are numbers, "01" or "1.0" comes as 1.
        alike = {_as_number(value): k for value, k in known.items()}
        alike = alike if len(alike) == len(known) else {}
        # The last place is for the number -1, a missing value.
        codes = [known.get(value, alike.get(_as_number(value), -1)) for value in distinct] + [-1]
        return np.array(codes, dtype=_smallest(len(self.values)))[numbers]


@dataclass(frozen=True)
class YesNo:
    """A column of yes and no is an item itself, as one of 0 and 1."""

    column: str
    yes: str
    kind: ClassVar[str] = "yes-no"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [self.column]

    def encode(self, column: Column) -> Codes:
        """Return 0 where the row has the item."""
        return Values(self.column, (self.yes,)).encode(column)


@dataclass(frozen=True)
class Constant:
    """A column with the same value in every row says nothing: no item."""

    column: str
    kind: ClassVar[str] = "constant"

    @property
    def items(self) -> list[str]:
        """Names of the items: none."""
        return []

    def encode(self, column: Column) -> Codes:
        """Return -1 for every row."""
        return np.full(len(column), -1, dtype=np.int8)


@dataclass(frozen=True)
class Intervals:
    """A numeric column is cut at thresholds, as in ``age<30``, ``30<=age<60``, ``age>=60``."""

    column: str
    thresholds: tuple[float, ...]
    kind: ClassVar[str] = "intervals"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        cuts = [number_text(threshold) for threshold in self.thresholds]
        between = [f"{low}<={self.column}<{high}" for low, high in pairwise(cuts)]
        return [f"{self.column}<{cuts[0]}", *between, f"{self.column}>={cuts[-1]}"]

    def encode(self, column: Column) -> Codes:
        """Return the number of each row's interval."""
        codes = np.zeros(len(column.numbers), dtype=_smallest(len(self.thresholds) + 1))
        for threshold in self.thresholds:
            codes += column.numbers >= threshold
        if column.missing is not None:
            codes[column.missing] = -1
        return codes


Encoder = Flag | YesNo | Values | Intervals | Constant


def choose_encoder(column: Column, bins: int, thresholds: list[float] | None) -> Encoder:
    """Look at a column and choose how it becomes items."""
    import pandas as pd

    name, dtype = column.name, column.values.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise ValueError(
            f"Column {name!r} holds dates or times; make it a number or a category first, such as the year, or leave "
            "it out (--ignore)."
        )
    if getattr(dtype, "kind", "O") == "c":
        raise ValueError(f"Column {name!r} holds complex numbers. Complex data not supported; take their real parts.")
    if thresholds is not None:
        if not column.is_numeric:
            raise ValueError(f"Column {name!r} has thresholds but holds text, not numbers; leave them out.")
        return Intervals(name, tuple(sorted({float(threshold) for threshold in thresholds})))
    if column.is_constant:
        return Constant(name)
    if not column.is_numeric:
        return _choose_values(column)
    numbers = column.present
    if _is_flag(numbers):
        return Flag(name)
    if pd.api.types.is_integer_dtype(dtype) and abs(column.values.dropna()).max() > LARGEST:
        raise ValueError(
            f"Column {name!r} holds whole numbers of more than 15 digits, which look like names; if it names the rows, "
            "say so (row_names, --row-names), else leave it out (--ignore)."
        )
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(np.isinf(column.numbers))[0])
        raise ValueError(f"Column {name!r} holds an infinite value (inf) in row {row}; replace it or drop the row.")
    few = _few_distinct(numbers, bins)
    if few is not None:
        return Values(name, tuple(number_text(value) for value in few))
    return Intervals(name, quantile_cuts(numbers, bins))


def _choose_values(column: Column) -> Values | YesNo:
    _, distinct = column.texts
    words = {text.strip().lower() for text in distinct}
    if len(distinct) == 2 and words in _YES_NO:
        return YesNo(column.name, next(text for text in distinct if text.strip().lower() in _YES))
    present = len(column.values) - (0 if column.missing is None else int(column.missing.sum()))
    if len(distinct) > max(20, present // 2):
        raise ValueError(
            f"Column {column.name!r} holds {len(distinct):,} different texts in {present:,} rows, too many for "
            "categories; if it names the rows, say so (row_names, --row-names), else leave it out (--ignore)."
        )
    return Values(column.name, tuple(sorted(set(distinct))))


def _is_flag(numbers: NDArray[Any]) -> bool:
    if numbers.dtype.kind == "b" or not len(numbers):
        return True
    if numbers.dtype.kind in "iu":
        return bool(numbers.min() >= 0 and numbers.max() <= 1)
    # Most columns of other numbers show at their beginning that they are not 0/1.
    return bool(np.isin(numbers[:100], (0, 1)).all() and ((numbers == 0) | (numbers == 1)).all())


def _few_distinct(numbers: NDArray[Any], most: int) -> NDArray[Any] | None:
    """Return the distinct numbers, sorted, unless there are more than so many."""
    if len(np.unique(numbers[:100])) > most:
        return None
    distinct = np.unique(numbers)
    return distinct if len(distinct) <= most else None


def quantile_cuts(numbers: NDArray[Any], bins: int) -> tuple[float, ...]:
    """Return thresholds that cut the numbers into parts of about equal size, as short to write as the data allows.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_cuts(np.array([1.0, 2.0, 3.25, 4.7]), bins=2)
    (3.0,)
    >>> quantile_cuts(np.array([0, 0, 0, 0, 0, 0, 0, 9.0]), bins=4)
    (9.0,)
    """
    ordered = np.sort(numbers[:: max(1, len(numbers) // LOOKED_AT)])
    if ordered[0] == ordered[-1]:
        ordered = np.sort(numbers)
    begins = {int(np.searchsorted(ordered, ordered[len(ordered) * k // bins])) for k in range(1, bins)}
    # Where most values are the smallest one, as with counts, it is on one side and all others are on the other.
    begins = begins - {0} or {int(np.searchsorted(ordered, ordered[0], side="right"))}
    return tuple(sorted(_shortest_between(float(ordered[k - 1]), float(ordered[k])) for k in begins))


def _shortest_between(below: float, at: float) -> float:
    """Return the number with the fewest digits above the first and not above the second: it cuts at the same place."""
    for digits in range(17):
        number = float(f"{at:.{digits}e}")
        if below < number <= at:
            return number
    return at


def _arrow_texts(array: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the number of each text of an Arrow array, and the distinct texts.

    Without pandas in between, several columns are looked at at the same time.
    """
    encoded = array.__arrow_array__().dictionary_encode().combine_chunks()
    numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers.astype(np.intp), encoded.dictionary.to_pylist()


def _smallest(n_items: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type for the numbers of so many items and one for missing values."""
    return np.int8 if n_items < 127 else np.int32


def value_text(value: Any) -> str:
    """Write a value as it is called in items, whatever type of column it comes from."""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    return number_text(float(value)) if isinstance(value, Real) else str(value)


def _as_number(text: str) -> str:
    """Write a text that is a number as `number_text` does."""
    try:
        return number_text(float(text))
    except (ValueError, OverflowError):
        return text


def number_text(number: float) -> str:
    """Write a number without digits that say nothing.

    Examples
    --------
    >>> number_text(60.0), number_text(0.25), number_text(1e-7)
    ('60', '0.25', '1e-07')
    """
    number = float(number)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
